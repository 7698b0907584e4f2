// LostMembers: members that do not answer, or are not what they were (rule D16): since when, what
// their jobs show, and what the policy of a job's ClusterQueue makes of its attempt. Quota stays
// charged until an attempt is written off. On the engine thread only.
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

  void Handle(FactsCommand command);
  void Handle(FenceCommand command);
  /// Takes facts without acting on them; true if the member answers again.
  bool TakeFacts(ClusterFacts told);
  /// After a start the rows say since when a member has been away; it may answer by now. And what
  /// members that were created anew had is gone with them.
  void Restore();
  /// What becomes of attempts on lost members, some at once; false if it is not time.
  bool Fire();
  /// When Fire has something to do.
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
  Monotonic next_check_{};  // if there are any
};

}  // namespace muster
