// Owners: every part of the engine's state, each behind an interface of its own, in the order in
// which they depend on each other: an owner is given those above it and never asks those below.
// What a change makes others do goes by the followers that are added here.
#pragma once

#include "schedd/engine/configure/configuration.h"
#include "schedd/engine/decide/decider.h"
#include "schedd/engine/jobs/admission_commands.h"
#include "schedd/engine/jobs/nominations.h"
#include "schedd/engine/jobs/retention.h"
#include "schedd/engine/jobs/submissions.h"
#include "schedd/engine/members/leaving.h"
#include "schedd/engine/members/lost_members.h"
#include "schedd/engine/members/member_reports.h"

namespace muster {

struct Owners : DurableListener {
  explicit Owners(EngineContext& context_in);

  /// What a durable transaction frees and makes wait.
  void OnDurable(const Transaction& done, const std::vector<JobPtr>& ended) override;

  EngineContext& context;
  CommitPipeline commits;

  LiveConfig config;
  KnownMembers members;
  HeldEnds held_ends;
  Works works;
  WaitingJobs waiting;
  LiveJobs jobs;
  DispatchRows rows;

  Attempts attempts;
  JobCommands job_commands;
  AdmissionCommands admission_commands;
  Nominations nominations;
  Alarms alarms;
  StandInQueue stand_ins;
  NodeFailures node_failures;
  ResourceChecks checks;
  Submissions submissions;
  Retention retention;

  Machines machines;
  Decider decider;
  Configuration configuration;

  Orphans orphans;
  MemberReports reports;
  LostMembers lost_members;
  Leaving leaving;
};

}  // namespace muster
