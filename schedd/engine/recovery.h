// Recovery: at start and after every failed write it takes the lead, reads the world again from the
// store, recomputes and compares the amounts, and has every attempt go on from the state of its
// row. While another daemon leads it reads copies of the world instead, from which reads are
// served. On the engine thread only.
#pragma once

#include <optional>
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
  /// A view was published, that of a leader if it is `ready`: the lease's board learns whose it is.
  void Published(bool ready);
  /// Why the engine is not ready, in a sentence; "" if it is ready.
  const std::string& Problem() const;

 private:
  bool Fail(const char* step, const Error& error);
  /// The lead was refused with `error`: another daemon leads.
  void StandBy(const Error& error);
  /// Reads a copy if it is time for one.
  void Copy();
  WallTime FinishedSince() const;
  void Rebuild(StoredWorld loaded, WallTime since);
  CommittedState ReadJobs(const StoredWorld& loaded);
  void CorrectUsage(const std::vector<UsageRow>& stored);
  void Redrive();
  void RedriveRow(const DispatchKey& key, std::set<std::string>* to_list);
  void RedriveHolder(const JobPtr& job);
  void FollowAgain(const JobPtr& job, const DispatchRow* row);
  void CleanUpDeleted();

  Owners& owners_;
  Monotonic next_try_{};
  int failures_ = 0;
  Monotonic next_copy_{};
  std::optional<Monotonic> copied_;  // a copy that is to be published
  std::string problem_ = "recovery has not run yet";
};

}  // namespace muster
