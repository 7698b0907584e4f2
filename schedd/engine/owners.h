// Owners: all parts of the engine's state. Each part belongs to one class with an interface of its
// own; they are declared in the order of their dependencies. An owner is given references to owners
// above it and never to owners below; changes reach those by the followers that owners.cc adds.
#pragma once

#include "schedd/engine/commit/audit_trail.h"
#include "schedd/engine/configure/configuration.h"
#include "schedd/engine/decide/decider.h"
#include "schedd/engine/jobs/admission_commands.h"
#include "schedd/engine/jobs/array_tasks.h"
#include "schedd/engine/jobs/batch_commands.h"
#include "schedd/engine/jobs/nominations.h"
#include "schedd/engine/jobs/retention.h"
#include "schedd/engine/jobs/submissions.h"
#include "schedd/engine/members/leaving.h"
#include "schedd/engine/members/lost_members.h"
#include "schedd/engine/members/member_reports.h"
#include "schedd/engine/members/restored_jobs.h"

namespace muster {

struct Owners : DurableListener {
  explicit Owners(EngineContext& context_in);

  /// Called by CommitPipeline for each durable transaction: schedules the retention of ended jobs,
  /// wakes queues, queues jobs that wait again.
  void OnDurable(const Transaction& done, const std::vector<JobPtr>& ended) override;

  EngineContext& context;
  CommitPipeline commits;
  AuditTrail audit;

  LiveConfig config;
  KnownMembers members;
  HeldEnds held_ends;
  Works works;
  WaitingJobs waiting;
  LiveJobs jobs;
  DispatchRows rows;

  JobIds job_ids;
  Arrays arrays;
  Attempts attempts;
  ArrayTasks array_tasks;
  Dependencies dependencies;
  Partitions partitions;
  BatchCommands batch_commands;
  JobCommands job_commands;
  AdmissionCommands admission_commands;
  Nominations nominations;
  Alarms alarms;
  StandInQueue stand_ins;
  NodeFailures node_failures;
  ResourceChecks checks;
  TenantCounts tenants;
  Submissions submissions;
  Retention retention;

  Machines machines;
  Decider decider;
  Configuration configuration;

  Orphans orphans;
  MemberReports reports;
  LostMembers lost_members;
  Leaving leaving;
  RestoredJobs restored;
};

}  // namespace muster
