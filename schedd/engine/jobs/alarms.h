// Alarms: changes of jobs that time alone makes due: ends of back-offs, pods that are not ready,
// maximum execution times, retention of deactivated jobs. Each job has at most one alarm at its
// earliest deadline of either clock, which is set anew with each change of its record. On the
// engine thread only.
#pragma once

#include <set>

#include "schedd/engine/jobs/due_times.h"
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
  /// When the next alarm is due that goes by Clock::WallNow; not set if there is none.
  WallTime Next() const { return elapsed_.Next(); }
  /// The same of absolute times that users have named, which go by Clock::CalendarNow.
  WallTime NextOfCalendar() const { return calendar_.Next(); }
  /// True while pods of an admitted job are not ready, if that blocks admission (rule A23, step l).
  bool SomePodsUnready() const { return !unready_.empty(); }

  void Enter(const JobPtr& job) override { Set(*job); }
  void Change(const JobRecord&, const JobPtr& job) override { Set(*job); }
  void ChangeSoft(const JobPtr& job) override { Set(*job); }

 private:
  void Set(const JobRecord& job);
  void TrackPods(const JobRecord& job);
  void Ring(const JobPtr& job, WallTime now, WallTime today);

  EngineContext& context_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  JobCommands& commands_;
  DueTimes elapsed_, calendar_;
  // Admitted jobs whose pods are not all ready; kept only if that blocks admission.
  std::set<JobId> unready_;
};

}  // namespace muster
