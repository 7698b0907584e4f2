// Nominations: members whose own queues are asked to admit a job (dispatch modes; rule P33): which
// ones are asked, and which one has admitted it first. Between the two the job holds quota as one
// with an admission check that is not ready. On the engine thread only.
#pragma once

#include "schedd/engine/jobs/attempts.h"

namespace muster {

class Nominations {
 public:
  /// All must outlive it.
  Nominations(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
              const KnownMembers& members, LiveJobs& jobs, Attempts& attempts)
      : context_(context),
        commits_(commits),
        config_(config),
        members_(members),
        jobs_(jobs),
        attempts_(attempts) {}

  void Handle(NominateCommand command);
  /// The first member to say so gets the job, and it is dispatched there in the same commit: the
  /// copies on other members are withdrawn after it, and a member that admits it later comes too
  /// late.
  void Handle(ChooseMemberCommand command);

 private:
  Result<JobPtr> Nominate(const NominateCommand& command);
  Result<JobPtr> Choose(const ChooseMemberCommand& command);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  const KnownMembers& members_;
  LiveJobs& jobs_;
  Attempts& attempts_;
};

}  // namespace muster
