// NodeFailures: reacts to machines that fail under jobs with a topology assignment (rule A48). On
// the engine thread only.
#pragma once

#include <string>
#include <vector>

#include "schedd/engine/jobs/attempts.h"

namespace muster {

class NodeFailures {
 public:
  /// All must outlive it.
  NodeFailures(EngineContext& context, const LiveConfig& config, LiveJobs& jobs, Attempts& attempts)
      : context_(context), config_(config), jobs_(jobs), attempts_(attempts) {}

  /// Called after every change of a member's declaration, and after a recovery.
  void Check();

 private:
  void Note(const JobPtr& job, const std::vector<std::string>& failed);

  EngineContext& context_;
  const LiveConfig& config_;
  LiveJobs& jobs_;
  Attempts& attempts_;
};

}  // namespace muster
