// How dependencies are judged: each type against each state of its parent, arrays, several at once,
// and that what has failed stays failed.
#include "schedd/lifecycle/dependencies.h"

#include <gtest/gtest.h>

#include <random>

#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/dependency_text.h"

namespace muster {
namespace {

constexpr WallTime kStart{1'700'000'000'000'000};

using enum DependencyVerdict;
using Type = DependencyType;

JobPtr Parent(JobState state, WallTime start = {}) {
  auto job = std::make_shared<JobRecord>();
  job->id = JobId{7};
  job->state = state;
  job->start_time = start;
  if (IsTerminal(state)) job->end_time = kStart;
  return job;
}

ParentState StateOf(const std::vector<JobPtr>& parents) {
  ParentState state;
  for (const JobPtr& job : parents) state.Count(*job, +1);
  return state;
}

DependencyVerdict Judge(Type type, const std::vector<JobPtr>& parents, std::int32_t minutes = 0,
                        WallTime now = kStart) {
  return JudgeDependency({type, JobId{7}, -1, minutes, false}, StateOf(parents), now).verdict;
}

TEST(Dependency, EachType_InEachStateOfItsParent_IsJudgedAsInSlurm) {
  struct Row {
    JobState state;
    DependencyVerdict after, any, ok, not_ok;
  };
  const Row rows[] = {
      {JobState::kHeld, kWaits, kWaits, kWaits, kWaits},
      {JobState::kPending, kWaits, kWaits, kWaits, kWaits},
      {JobState::kReserved, kWaits, kWaits, kWaits, kWaits},
      {JobState::kAdmitted, kMet, kWaits, kWaits, kWaits},
      {JobState::kRunning, kMet, kWaits, kWaits, kWaits},
      {JobState::kSucceeded, kMet, kMet, kMet, kNever},
      {JobState::kFailed, kMet, kMet, kNever, kMet},
      {JobState::kCancelled, kMet, kMet, kNever, kMet},
  };
  for (const Row& row : rows) {
    const std::vector<JobPtr> parent = {Parent(row.state)};
    const std::string name(JobStateName(row.state));
    EXPECT_EQ(Judge(Type::kAfter, parent), row.after) << name;
    EXPECT_EQ(Judge(Type::kAfterAny, parent), row.any) << name;
    EXPECT_EQ(Judge(Type::kAfterBurstBuffer, parent), row.any) << name;
    EXPECT_EQ(Judge(Type::kAfterOk, parent), row.ok) << name;
    EXPECT_EQ(Judge(Type::kAfterCorr, parent), row.ok) << name;
    EXPECT_EQ(Judge(Type::kAfterNotOk, parent), row.not_ok) << name;
  }
}

TEST(Dependency, OnAJobThatNobodyKnows_IsNeverMet) {
  for (const Type type : {Type::kAfter, Type::kAfterAny, Type::kAfterOk, Type::kAfterNotOk})
    EXPECT_EQ(Judge(type, {}), kNever);
}

TEST(Dependency, AfterWithMinutes_WaitsSoLongFromTheStart) {
  const std::vector<JobPtr> runs = {Parent(JobState::kRunning, kStart)};
  const Dependency dependency{Type::kAfter, JobId{7}, -1, 5, false};
  const auto early = JudgeDependency(dependency, StateOf(runs), kStart.PlusSeconds(299));
  EXPECT_EQ(early.verdict, kWaits);
  EXPECT_EQ(early.due, kStart.PlusSeconds(300));
  EXPECT_EQ(Judge(Type::kAfter, runs, 5, kStart.PlusSeconds(300)), kMet);
  const std::vector<JobPtr> admitted = {Parent(JobState::kAdmitted)};
  EXPECT_EQ(Judge(Type::kAfter, admitted, 5, kStart.PlusSeconds(9000)), kWaits);
  EXPECT_FALSE(JudgeDependency(dependency, StateOf(admitted), kStart).due.set());
  const std::vector<JobPtr> cancelled = {Parent(JobState::kCancelled)};
  EXPECT_EQ(Judge(Type::kAfter, cancelled, 5, kStart.PlusSeconds(300)), kMet)
      << "counted from its end, because it has no start";
}

TEST(Dependency, OfAnArray_IsJudgedByAllOfItsTasks) {
  const auto tasks = [](std::initializer_list<JobState> states) {
    std::vector<JobPtr> out;
    for (const JobState state : states) out.push_back(Parent(state));
    return out;
  };
  const auto mixed = tasks({JobState::kSucceeded, JobState::kFailed, JobState::kRunning});
  EXPECT_EQ(Judge(Type::kAfter, mixed), kMet);
  EXPECT_EQ(Judge(Type::kAfterAny, mixed), kWaits);
  EXPECT_EQ(Judge(Type::kAfterOk, mixed), kNever) << "one has failed";
  EXPECT_EQ(Judge(Type::kAfterNotOk, mixed), kWaits) << "judged when all have ended";
  EXPECT_TRUE(JudgeDependency({Type::kAfterNotOk, JobId{7}}, StateOf(mixed), kStart).narrows);
  const auto good = tasks({JobState::kSucceeded, JobState::kSucceeded});
  EXPECT_EQ(Judge(Type::kAfterOk, good), kMet);
  EXPECT_EQ(Judge(Type::kAfterNotOk, good), kNever);
  const auto worst = tasks({JobState::kSucceeded, JobState::kCancelled});
  EXPECT_EQ(Judge(Type::kAfterNotOk, worst), kMet);
  EXPECT_EQ(Judge(Type::kAfterAny, worst), kMet);
}

BatchState Two(bool any) {
  BatchState state;
  state.any_dependency = any;
  state.dependencies = {{Type::kAfterOk, JobId{7}}, {Type::kAfterAny, JobId{8}}};
  return state;
}

TEST(Dependencies, MetOnesLeaveTheList_AndOneThatFailedStays) {
  BatchState state = Two(false);
  EXPECT_TRUE(TakeJudgement(&state, 1, {kMet}));
  EXPECT_EQ(DependencyText(state), "afterok:7(unfulfilled)");
  EXPECT_TRUE(TakeJudgement(&state, 0, {kNever}));
  EXPECT_EQ(DependencyText(state), "afterok:7(failed)");
  EXPECT_FALSE(TakeJudgement(&state, 0, {kMet})) << "its parent ran again and succeeded: too late";
  EXPECT_TRUE(NeverStarts(state));
}

TEST(Dependencies, OfWhichOneIsEnough_GoAllWithTheFirstThatIsMet) {
  BatchState state = Two(true);
  EXPECT_EQ(DependencyText(state), "afterok:7(unfulfilled)?afterany:8(unfulfilled)");
  EXPECT_TRUE(TakeJudgement(&state, 0, {kNever}));
  EXPECT_FALSE(NeverStarts(state));
  EXPECT_TRUE(TakeJudgement(&state, 1, {kMet}));
  EXPECT_TRUE(state.dependencies.empty());
  BatchState lost = Two(true);
  TakeJudgement(&lost, 0, {kNever});
  TakeJudgement(&lost, 1, {kNever});
  EXPECT_TRUE(NeverStarts(lost));
}

// Whatever the order of ends: the outcome of a set of dependencies depends on the ends alone, and a
// verdict other than kWaits never changes.
TEST(Dependencies, InEveryOrderOfEnds_TheOutcomeIsTheSame) {
  std::mt19937 random(7);
  const auto pick = [&random](std::size_t below) { return random() % below; };
  constexpr Type kTypes[] = {Type::kAfterAny, Type::kAfterOk, Type::kAfterNotOk};
  constexpr JobState kEnds[] = {JobState::kSucceeded, JobState::kFailed, JobState::kCancelled};
  for (int round = 0; round < 500; ++round) {
    BatchState state;
    state.any_dependency = pick(2) == 0;
    std::vector<JobState> ends;
    for (std::size_t i = 0; i < 1 + pick(5); ++i) {
      state.dependencies.push_back({kTypes[pick(3)], JobId{static_cast<std::int64_t>(i) + 1}});
      ends.push_back(kEnds[pick(3)]);
    }
    std::size_t met = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const bool ok = ends[i] == JobState::kSucceeded;
      const Type type = state.dependencies[i].type;
      if (type == Type::kAfterAny || (type == Type::kAfterOk) == ok) ++met;
    }
    const bool starts = state.any_dependency ? met > 0 : met == ends.size();
    std::vector<std::size_t> order(ends.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t ended : order) {
      for (std::size_t i = 0; i < state.dependencies.size(); ++i) {
        const Dependency one = state.dependencies[i];
        if (one.job.value != static_cast<std::int64_t>(ended) + 1) continue;
        const std::vector<JobPtr> parent = {Parent(ends[ended])};
        TakeJudgement(&state, i, JudgeDependency(one, StateOf(parent), kStart));
        break;
      }
    }
    EXPECT_EQ(state.dependencies.empty(), starts);
    EXPECT_EQ(NeverStarts(state), !starts);
  }
}

TEST(BatchGate, SaysWhyAScriptWaits) {
  JobRecord job;
  job.batch = std::make_shared<BatchDetails>();
  EXPECT_EQ(changes::BatchGate(job).reason, Reason::kNone);
  changes::ChangeBatch(&job, [](BatchState* state) {
    state->dependencies = {{Type::kAfterOk, JobId{7}}};
    state->partition_problem = "PartitionTimeLimit";
  });
  EXPECT_EQ(changes::BatchGate(job).reason, Reason::kDependency);
  EXPECT_FALSE(changes::BatchGateOpen(job));
  changes::ChangeBatch(&job, [](BatchState* state) { state->dependencies[0].failed = true; });
  EXPECT_EQ(changes::BatchGate(job).reason, Reason::kDependencyNeverSatisfied);
  changes::ChangeBatch(&job, [](BatchState* state) { state->dependencies.clear(); });
  EXPECT_EQ(changes::BatchGate(job).reason, Reason::kPartitionTimeLimit);
  changes::ChangeBatch(&job, [](BatchState* state) { state->partition_problem.clear(); });
  EXPECT_EQ(job.batch_state, nullptr) << "all of it has its default";
}

TEST(Partition, ItsMemoryPerCpu_HoldsForEachComponent) {
  JobRecord job;
  auto batch = std::make_shared<BatchDetails>();
  batch->components = {{"component-1", 1, 1, 2}};
  job.batch = std::move(batch);
  const auto wants = [&job](std::int64_t mb) {
    auto sets = std::make_shared<PodSets>();
    sets->push_back({"component-1", 1, {{"cpu", 2000}, {"memory", mb * 1024 * 1024}}, nullptr});
    job.pod_sets = std::move(sets);
    return changes::PartitionProblem(job, {.max_mem_per_cpu_mb = 1000});
  };
  EXPECT_EQ(wants(2000), "");
  EXPECT_EQ(wants(2002), "PartitionMemoryLimit");
}

TEST(Partition, ItsLimits_GiveSlurmsReasons) {
  using State = PartitionProperties::State;
  struct Row {
    const char* wanted;
    std::int64_t limit_s;
    std::int32_t nodes;
    std::int64_t mem_per_cpu_mb;
    PartitionProperties partition;
  };
  const PartitionProperties limits = {
      .max_time_s = 3600, .min_nodes = 2, .max_nodes = 4, .max_mem_per_cpu_mb = 1000};
  const Row rows[] = {
      {"", 3600, 4, 1000, limits},
      {"PartitionTimeLimit", 3601, 4, 1000, limits},
      {"PartitionTimeLimit", 0, 4, 1000, limits},  // no limit at all
      {"PartitionNodeLimit", 60, 5, 1000, limits},
      {"PartitionNodeLimit", 60, 1, 1000, limits},
      {"PartitionMemoryLimit", 60, 4, 1001, limits},
      {"PartitionDown", 60, 1, 0, {.state = State::kDown}},
      {"PartitionInactive", 60, 1, 0, {.state = State::kInactive}},
      {"", 60, 1, 0, {.state = State::kDrain}},  // those it has start
      {"", 0, 9, 9000, {}},
  };
  for (const Row& row : rows) {
    JobRecord job;
    auto batch = std::make_shared<BatchDetails>();
    batch->nodes = batch->max_nodes = row.nodes;
    batch->mem_per_cpu_mb = row.mem_per_cpu_mb;
    job.batch = batch;
    job.time_limit_s = row.limit_s;
    EXPECT_EQ(changes::PartitionProblem(job, row.partition), row.wanted);
  }
}

TEST(Partition, DeclaredMachines_BoundTheNodesOfAJob_WhereEveryMemberDeclaresThem) {
  ConfigView config;
  EXPECT_EQ(changes::DeclaredMachines(config), 0);
  config.member_clusters["a"].nodes.resize(2);
  config.member_clusters["b"].nodes.resize(3);
  EXPECT_EQ(changes::DeclaredMachines(config), 3);
  JobRecord job;
  auto batch = std::make_shared<BatchDetails>();
  batch->nodes = batch->max_nodes = 4;
  job.batch = batch;
  EXPECT_EQ(changes::PartitionProblem(job, {}, 3), "PartitionNodeLimit");
  EXPECT_EQ(changes::PartitionProblem(job, {}, 4), "");
  config.member_clusters["c"];
  EXPECT_EQ(changes::DeclaredMachines(config), 0) << "c declares none";
}

TEST(Partition, TimeMin_CountsInsteadOfALongerLimit) {
  JobRecord job;
  auto batch = std::make_shared<BatchDetails>();
  batch->time_min_s = 1800;
  job.batch = batch;
  job.time_limit_s = 7200;
  EXPECT_EQ(changes::PartitionProblem(job, {.max_time_s = 3600}), "");
}

TEST(Priority, OfAScriptIsShownAsSlurmShowsIt) {
  JobRecord job;
  job.batch = std::make_shared<BatchDetails>();
  job.priority = 0;
  EXPECT_EQ(changes::ShownPriority(job), 1) << "0 means held";
  job.priority = 100;
  changes::ChangeBatch(&job, [](BatchState* state) { state->nice = 30; });
  EXPECT_EQ(changes::ShownPriority(job), 70);
  EXPECT_EQ(EffectivePriority(job, AdmissionSettings{}), 70);
  changes::ChangeBatch(&job, [](BatchState* state) { state->own_priority = 5; });
  EXPECT_EQ(changes::ShownPriority(job), 1);
  EXPECT_EQ(EffectivePriority(job, AdmissionSettings{}), -25);
  job.suspended_by_user = true;
  job.state = JobState::kHeld;
  EXPECT_EQ(changes::ShownPriority(job), 0);
}

}  // namespace
}  // namespace muster
