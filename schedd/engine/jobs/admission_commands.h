// AdmissionCommands: commands by which controllers and users change a job's admission: states of
// admission checks, activity, priority, reclaimable pods. On the engine thread only.
#pragma once

#include "schedd/engine/jobs/attempts.h"

namespace muster {

class AdmissionCommands {
 public:
  /// All must outlive it.
  AdmissionCommands(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
                    LiveJobs& jobs, Attempts& attempts)
      : context_(context), commits_(commits), config_(config), jobs_(jobs), attempts_(attempts) {}

  void Handle(SetCheckStatusCommand command);
  void Handle(ChangeJobCommand command);

 private:
  Result<JobPtr> SetCheck(const SetCheckStatusCommand& command);
  Result<JobPtr> ChangeSpec(const ChangeJobCommand& command);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  LiveJobs& jobs_;
  Attempts& attempts_;
};

}  // namespace muster
