// Alarms: what time alone changes of one job: ends of back-offs, pods that are not ready, time
// limits, retention of deactivated jobs. Each job has at most one alarm, at the earliest of its
// deadlines; it is set anew with every change of its record. On the engine thread only.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>

#include "schedd/engine/jobs/job_commands.h"

namespace muster {

class Alarms : public JobFollower {
 public:
  /// All must outlive it.
  Alarms(EngineContext& context, const LiveConfig& config, WaitingJobs& waiting, LiveJobs& jobs,
         Attempts& attempts, JobCommands& commands)
      : context_(context),
        config_(config),
        waiting_(waiting),
        jobs_(jobs),
        attempts_(attempts),
        commands_(commands) {}

  void Reset();
  /// Rings the alarms whose time has come, some at once; false if there were none.
  bool Fire();
  /// Not set: there is none.
  WallTime Next() const { return alarms_.empty() ? WallTime{} : alarms_.begin()->first; }
  /// True while pods of some job are not ready, if that blocks admission (rule A51).
  bool SomePodsUnready() const { return !unready_.empty(); }

  void Enter(const JobPtr& job) override { Set(*job); }
  void Change(const JobRecord&, const JobPtr& job) override { Set(*job); }
  void ChangeSoft(const JobPtr& job) override { Set(*job); }

 private:
  void Set(const JobRecord& job);
  void TrackPods(const JobRecord& job);
  void Ring(const JobPtr& job);

  EngineContext& context_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  JobCommands& commands_;
  std::set<std::pair<WallTime, JobId>> alarms_;
  std::unordered_map<JobId, WallTime> alarm_of_;
  std::set<JobId> unready_;  // not all pods ready; kept only if that blocks admission
};

}  // namespace muster
