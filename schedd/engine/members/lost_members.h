// LostMembers: members that do not answer or were created anew (rule D16), and their facts: since
// when they are silent, what their jobs show, and when the policy of a ClusterQueue writes an
// attempt off. Quota stays charged until then. On the engine thread only.
#pragma once

#include <string>

#include "schedd/engine/decide/machines.h"
#include "schedd/engine/jobs/attempts.h"
#include "schedd/engine/live/held_ends.h"

namespace muster {

class LostMembers {
 public:
  /// All must outlive it.
  LostMembers(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
              KnownMembers& members, WaitingJobs& waiting, LiveJobs& jobs, DispatchRows& rows,
              Attempts& attempts, Machines& machines, HeldEnds& held_ends)
      : context_(context),
        commits_(commits),
        config_(config),
        members_(members),
        waiting_(waiting),
        jobs_(jobs),
        rows_(rows),
        attempts_(attempts),
        machines_(machines),
        held_ends_(held_ends) {}

  /// Takes facts of a member and does what they make necessary: lists, wakes, losses.
  void Handle(FactsCommand command);
  /// Gives up attempts on a member of which an administrator says that nothing runs there.
  void Handle(FenceCommand command);
  /// Takes facts and does nothing else; true if the member answers again. Used while the engine is
  /// not ready.
  bool TakeFacts(ClusterFacts told);
  /// For a recovery: reads from the rows which members were silent and since when, and loses
  /// attempts on members that were created anew.
  void Restore();
  /// Goes over attempts on lost members, if it is time; true if it changed some.
  bool Fire();
  /// When Fire has something to do, if any member is silent.
  Monotonic Next() const { return next_check_; }

 private:
  void LoseRecreated(const std::string& cluster);
  bool IsWrittenOff(const DispatchRow& row, Monotonic since) const;
  std::size_t GiveUp(const FenceCommand& command);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  KnownMembers& members_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  DispatchRows& rows_;
  Attempts& attempts_;
  Machines& machines_;
  HeldEnds& held_ends_;
  Monotonic next_check_{};
};

}  // namespace muster
