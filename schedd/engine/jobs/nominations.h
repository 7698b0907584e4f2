// Nominations: the record of dispatch modes (rules P33, P34): which members' own queues are asked
// to admit a job, and which one has. Between the two the job holds quota and waits with an
// admission check that is not ready. On the engine thread only.
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

  /// The members that are asked, from schedd/nomination or, in mode External, from a controller.
  void Handle(NominateCommand command);
  /// The first member to admit the job gets it, and the job is dispatched there in the same commit.
  /// The copies on other members are withdrawn after that; a later admission is refused.
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
