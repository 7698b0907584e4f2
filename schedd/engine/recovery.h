// Recovery: at start and after every failed write it takes the lead, reads the world again from the
// store, recomputes and compares the amounts, and has every attempt go on from the state of its
// row. While another daemon leads it reads copies of the world instead, from which reads are
// served. On the engine thread only.
#pragma once

#include <future>
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
  /// The database was not read. A leader for which that goes on leaves the lead to others.
  bool FailToRead(const Error& error);
  /// Begins to read a copy if it is time for one, and takes one that has been read.
  void Copy();
  /// The copy of the world becomes the one that reads are served from.
  void UseCopy(Result<StoredWorld> loaded, Monotonic begun);
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
  std::optional<Monotonic> unread_since_;  // the first of the reads that failed in a row
  Monotonic led_{};                        // when it took the lead last
  std::future<Result<StoredWorld>> copy_;  // being read, and since when
  Monotonic copy_begun_{};
  WallTime copy_since_;
  Monotonic next_copy_{};
  std::optional<Monotonic> copied_;  // a copy that is to be published
  std::string problem_ = "recovery has not run yet";
};

}  // namespace muster
