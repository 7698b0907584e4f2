// Alarms: changes of jobs that time alone makes due: ends of back-offs, pods that are not ready,
// maximum execution times, retention of deactivated jobs. Each job has at most one alarm, at its
// earliest deadline, which is set anew with each change of its record. On the engine thread only.
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

  /// Forgets all alarms, for a recovery.
  void Reset();
  /// Carries out the alarms that are due, a bounded number at once; false if none was.
  bool Fire();
  /// When the next alarm is due; not set if there is none.
  WallTime Next() const { return alarms_.empty() ? WallTime{} : alarms_.begin()->first; }
  /// True while pods of an admitted job are not ready, if that blocks admission (rule A23, step l).
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
  // Admitted jobs whose pods are not all ready; kept only if that blocks admission.
  std::set<JobId> unready_;
};

}  // namespace muster
