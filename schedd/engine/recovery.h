// Recovery: at start and after every failed write it takes the lead, reads the world again from the
// store, recomputes and compares the amounts, and has every attempt go on from the state of its
// row. On the engine thread only.
#pragma once

#include <string>

#include "schedd/engine/owners.h"

namespace muster {

class Recovery {
 public:
  /// `owners` must outlive this.
  explicit Recovery(Owners& owners) : owners_(owners) {}

  /// True if it is time for the next try.
  bool Due() const { return owners_.context.clock.Now() >= next_try_; }
  Monotonic next_try() const { return next_try_; }
  /// One try; true if the engine is ready afterwards. Nothing may be on its way to the store.
  bool Try();
  /// Why the engine is not ready, in a sentence; "" if it is ready.
  const std::string& Problem() const;

 private:
  bool Fail(const char* step, const Error& error);
  void Rebuild(StoredWorld loaded, WallTime since);
  CommittedState ReadJobs(const StoredWorld& loaded);
  void CorrectUsage(const std::vector<UsageRow>& stored);
  void Redrive();
  void RedriveRow(const DispatchKey& key, std::set<std::string>* to_list);
  void RedriveHolder(const JobPtr& job);
  void CleanUpDeleted();

  Owners& owners_;
  Monotonic next_try_{};
  int failures_ = 0;
  std::string problem_ = "recovery has not run yet";
};

}  // namespace muster
