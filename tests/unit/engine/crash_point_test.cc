// Crash points: everything that takes two steps is killed after every step of the engine and after
// every order to a member, and must end as if there had been no crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/text/json.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

// A story that is longer has no end.
constexpr int kStepsMax = 200;

struct Story {
  const char* name;
  std::function<void(EngineWorld*)> prepare;
  // Posts the commands that begin the story, or lets time pass; it does not settle. It is repeated
  // if a crash lost it.
  std::function<void(EngineWorld*)> begin;
  std::function<bool(const EngineWorld&)> begun;
  std::function<void(EngineWorld*)> expect;
  AdmissionSettings settings = {};
};

JobId Named(const EngineWorld& world, const std::string& name) {
  JobId id;
  world.engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (job->name == name) id = job->id;
    return true;
  });
  return id;
}

JobPtr JobNamed(const EngineWorld& world, const std::string& name) {
  return world.Job(Named(world, name));
}

JobSpec Spec(const std::string& name, const std::string& queue, std::int64_t cpu) {
  JobSpec spec;
  spec.name = name;
  spec.queue = queue;
  spec.cluster_queue = queue == "queue" ? "cq" : queue;
  spec.pods = {Pods{1, {{"cpu", cpu}}}};
  return spec;
}

void PostSubmit(EngineWorld* world, const JobSpec& spec) {
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission(spec));
  command.done = [](const auto&) {};
  world->engine->Post(std::move(command));
}

void PostActive(EngineWorld* world, const std::string& name, bool active) {
  ChangeJobCommand command;
  command.job = Named(*world, name);
  command.active = active;
  command.done = [](const auto&) {};
  world->engine->Post(std::move(command));
}

void PostCheck(EngineWorld* world, CheckState state) {
  AdmissionCheckStatus says;
  says.name = "budget";
  says.state = state;
  says.message = "as told";
  says.requeue_after_s = 30;
  SetCheckStatusCommand command;
  command.job = Named(*world, "job");
  command.checks = {says};
  command.done = [](const auto&) {};
  world->engine->Post(std::move(command));
}

void PostApply(EngineWorld* world, std::vector<ObjectChange> changes) {
  ApplyCommand command;
  command.changes = std::move(changes);
  command.done = [](const auto&) {};
  world->engine->Post(std::move(command));
}

void RunOne(EngineWorld* world) {
  world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_NE(world->Submit(Spec("job", "queue", 4000)), nullptr);
  world->Run();
  ASSERT_EQ(JobNamed(*world, "job")->state, JobState::kRunning);
}

void ReserveOne(EngineWorld* world) {
  world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(
      world->Apply({CheckObject("budget"), ClusterQueueObject({.checks = {"budget"}})}).ok());
  ASSERT_TRUE(world->ActivateCheck("budget").ok());
  ASSERT_NE(world->Submit(Spec("job", "queue", 4000)), nullptr);
  ASSERT_EQ(JobNamed(*world, "job")->state, JobState::kReserved);
}

// The job waits, was evicted exactly once for this reason, and holds no quota.
void ExpectEvictedOnce(EngineWorld* world, const std::string& name, const std::string& reason) {
  const JobPtr job = JobNamed(*world, name);
  EXPECT_EQ(job->state, JobState::kPending);
  ASSERT_EQ(StateOf(*job).evictions.size(), 1U);
  EXPECT_EQ(StateOf(*job).evictions[0].reason, reason);
  EXPECT_EQ(StateOf(*job).evictions[0].count, 1);
  EXPECT_FALSE(IsTrue(*job, "QuotaReserved"));
  EXPECT_FALSE(IsTrue(*job, "Admitted"));
}

bool IsEvicted(const EngineWorld& world, const std::string& name) {
  return IsTrue(*JobNamed(world, name), "Evicted");
}

Story Preemption() {
  return {"a borrower is preempted",
          [](EngineWorld* world) {
    world->Declare({{"cpu", 4000}}, {{"cpu", 64000}});
    ASSERT_TRUE(world
                    ->Apply({ClusterQueueObject({.name = "b", .cohort = "all"}),
                             ClusterQueueObject({.name = "l", .cohort = "all", .reclaim = "Any"}),
                             LocalQueueObject("b", "b"), LocalQueueObject("l", "l")})
                    .ok());
    ASSERT_NE(world->Submit(Spec("borrower", "b", 8000)), nullptr);
    world->Run();
          },
          [](EngineWorld* world) { PostSubmit(world, Spec("owner", "l", 4000)); },
          [](const EngineWorld& world) { return Named(world, "owner").value != 0; },
          [](EngineWorld* world) {
    ExpectEvictedOnce(world, "borrower", "Preempted");
    EXPECT_EQ(JobNamed(*world, "owner")->state, JobState::kRunning);
    EXPECT_EQ(world->UsedCpu("b"), 0);
    EXPECT_EQ(world->UsedCpu("l"), 4000);
  }};
}

Story Retry() {
  return {"a check asks for a retry", ReserveOne,
          [](EngineWorld* world) { PostCheck(world, CheckState::kRetry); },
          [](const EngineWorld& world) { return IsEvicted(world, "job"); },
          [](EngineWorld* world) {
    ExpectEvictedOnce(world, "job", "AdmissionCheck");
    EXPECT_EQ(StateOf(*JobNamed(*world, "job")).checks[0].retry_count, 1);
    world->clock.Advance(30'000);
    world->Run();
    EXPECT_EQ(JobNamed(*world, "job")->state, JobState::kReserved);
          }};
}

Story RetryOfARunningJob() {
  Story story = Retry();
  story.name = "a check takes a running job back";
  story.prepare = [](EngineWorld* world) {
    ReserveOne(world);
    PostCheck(world, CheckState::kReady);
    world->Run();
    ASSERT_EQ(JobNamed(*world, "job")->state, JobState::kRunning);
  };
  return story;
}

void ExpectDeactivated(EngineWorld* world, const std::string& reason) {
  ExpectEvictedOnce(world, "job", reason);
  EXPECT_EQ(JobNamed(*world, "job")->reason, Reason::kDeactivated);
  EXPECT_FALSE(StateOf(*JobNamed(*world, "job")).active);
  EXPECT_EQ(world->UsedCpu(), 0);
}

Story Rejection() {
  return {"a check rejects", ReserveOne,
          [](EngineWorld* world) { PostCheck(world, CheckState::kRejected); },
          [](const EngineWorld& world) { return IsEvicted(world, "job"); },
          [](EngineWorld* world) { ExpectDeactivated(world, "DeactivatedDueToAdmissionCheck"); }};
}

Story Deactivation() {
  return {"a user deactivates", RunOne, [](EngineWorld* world) { PostActive(world, "job", false); },
          [](const EngineWorld& world) { return IsEvicted(world, "job"); },
          [](EngineWorld* world) {
    ExpectDeactivated(world, "Deactivated");
    PostActive(world, "job", true);
    world->Run();
    EXPECT_EQ(JobNamed(*world, "job")->state, JobState::kRunning);
          }};
}

Story TooLong() {
  return {"a job exceeds its execution time",
          [](EngineWorld* world) {
    world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    JobSpec spec = Spec("job", "queue", 4000);
    spec.max_execution_s = 60;
    ASSERT_NE(world->Submit(spec), nullptr);
    world->Run();
          },
          [](EngineWorld* world) { world->clock.Advance(60'000); },
          [](const EngineWorld& world) { return IsEvicted(world, "job"); },
          [](EngineWorld* world) {
    ExpectDeactivated(world, "DeactivatedDueToMaximumExecutionTimeExceeded");
  }};
}

Story NotReady() {
  Story story{"pods are not ready in time",
              [](EngineWorld* world) {
    world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    ASSERT_NE(world->Submit(Spec("job", "queue", 4000)), nullptr);
              },
              [](EngineWorld* world) { world->clock.Advance(60'000); },
              [](const EngineWorld& world) { return IsEvicted(world, "job"); },
              [](EngineWorld* world) {
    ExpectEvictedOnce(world, "job", "PodsReadyTimeout");
    EXPECT_EQ(StateOf(*JobNamed(*world, "job")).requeue_count, 1);
    EXPECT_EQ(world->UsedCpu(), 0);
  }};
  story.settings.pods_ready.timeout_s = 60;
  return story;
}

Story Drained() {
  return {"a queue is drained and restarted", RunOne,
          [](EngineWorld* world) {
    PostApply(world, {ClusterQueueObject({.stop_policy = "HoldAndDrain"})});
          },
          [](const EngineWorld& world) { return IsEvicted(world, "job"); },
          [](EngineWorld* world) {
    ExpectEvictedOnce(world, "job", "ClusterQueueStopped");
    ASSERT_TRUE(world->Apply({ClusterQueueObject({})}).ok());
    world->Run();
    EXPECT_EQ(JobNamed(*world, "job")->state, JobState::kRunning);
  }};
}

Story MemberDrained() {
  return {"a member is drained",
          [](EngineWorld* world) {
    RunOne(world);
    ASSERT_TRUE(world->Apply({MemberObject("west", {{"cpu", 8000}})}).ok());
          },
          [](EngineWorld* world) {
    world->engine->Post(DrainCommand{{"root", "test"}, "east", false, [](auto) {}});
  },
      [](const EngineWorld& world) {
    return world.engine->View()->config->member_clusters.at("east").draining;
      }, [](EngineWorld* world) {
        const JobPtr job = JobNamed(*world, "job");
        EXPECT_EQ(job->state, JobState::kRunning);
        EXPECT_EQ(job->cluster, "west");
        EXPECT_EQ(job->attempt, 2);
        ASSERT_EQ(StateOf(*job).evictions.size(), 1U);
        EXPECT_EQ(StateOf(*job).evictions[0].reason, "ClusterDrained");
        EXPECT_EQ(StateOf(*job).evictions[0].count, 1);
      }};
}

WorkPtr BoundWork() {
  auto work = std::make_shared<Work>();
  work->placement = "queues";
  work->cluster = "east";
  work->state = WorkState::kBound;
  work->snapshot = 0;
  return work;
}

Story WorksRecorded() {
  return {"a work and its snapshot are recorded",
          [](EngineWorld* world) {
    world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
          },
          [](EngineWorld* world) {
    auto snapshot = std::make_shared<ResourceSnapshot>();
    snapshot->placement = "queues";
    RecordWorksCommand command;
    command.works = {BoundWork()};
    command.snapshots = {snapshot};
    command.done = [](const auto&) {};
    world->engine->Post(std::move(command));
  },
      [](const EngineWorld& world) { return !world.engine->View()->works->works.empty(); },
      [](EngineWorld* world) {
    const WorkTable& table = *world->engine->View()->works;
    EXPECT_EQ(table.works.size(), 1U);
    EXPECT_EQ(*table.works.at(KeyOf(*BoundWork())), *BoundWork());
    EXPECT_TRUE(table.snapshots.contains({"", "queues", 0})) << "both or none";
      }};
}

// The object of the placement group, named "now" in the namespace of the jobs.
ObjectChange PlacementObject(ObjectKind kind, const char* kind_name, const std::string& spec) {
  ObjectChange change;
  change.kind = kind;
  change.ns = "default";
  change.name = "now";
  change.manifest =
      WriteJson(json::object{{"apiVersion", "placement.kubernetes-fleet.io/v1beta1"},
                             {"kind", kind_name},
                             {"metadata", {{"namespace", "default"}, {"name", "now"}}},
                             {"spec", *ParseJson(spec)}});
  return change;
}

Story EvictedFromAMember() {
  return {"an eviction object takes a job off a member",
          [](EngineWorld* world) {
    RunOne(world);
    ASSERT_TRUE(world
                    ->Apply({MemberObject("west", {{"cpu", 8000}}),
                             PlacementObject(ObjectKind::kResourcePlacement, "ResourcePlacement",
                                             R"({"resourceSelectors":[{"group":"batch",
                                             "version":"v1","kind":"Job"}],"policy":
                                             {"placementType":"PickN","numberOfClusters":1}})")})
                    .ok());
          },
          [](EngineWorld* world) {
    PostApply(world,
              {PlacementObject(ObjectKind::kResourcePlacementEviction, "ResourcePlacementEviction",
                               R"({"placementName":"now","clusterName":"east"})")});
  },
      [](const EngineWorld& world) {
    return world.engine->View()->objects->contains(
        {ObjectKind::kResourcePlacementEviction, "default", "now"});
      }, [](EngineWorld* world) {
        const JobPtr job = JobNamed(*world, "job");
        EXPECT_EQ(job->state, JobState::kRunning);
        EXPECT_EQ(job->attempt, 2);
        ASSERT_EQ(StateOf(*job).evictions.size(), 1U);
        EXPECT_EQ(StateOf(*job).evictions[0].reason, "PlacementEviction");
        EXPECT_EQ(StateOf(*job).evictions[0].count, 1);
      }};
}

Story Tainted() {
  return {"a taint takes a job off a member",
          [](EngineWorld* world) {
    RunOne(world);
    ASSERT_TRUE(world->Apply({MemberObject("west", {{"cpu", 8000}})}).ok());
          },
          [](EngineWorld* world) {
    PostApply(world, {WithSpec(MemberObject("east", {{"cpu", 8000}}), "taints",
                               R"([{"key":"work","effect":"NoExecute"}])")});
  },
      [](const EngineWorld& world) {
    return !world.engine->View()->config->member_clusters.at("east").taints.empty();
      }, [](EngineWorld* world) {
        const JobPtr job = JobNamed(*world, "job");
        EXPECT_EQ(job->state, JobState::kRunning);
        EXPECT_EQ(job->cluster, "west");
        EXPECT_EQ(job->attempt, 2);
        ASSERT_EQ(StateOf(*job).evictions.size(), 1U);
        EXPECT_EQ(StateOf(*job).evictions[0].reason, "ClusterTainted");
      }};
}

Story PodsGivenBack() {
  return {"pods that ended give their quota back",
          [](EngineWorld* world) {
    world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    JobSpec spec = Spec("wide", "queue", 1000);
    spec.pods[0].count = 4;
    ASSERT_NE(world->Submit(spec), nullptr);
    ASSERT_NE(world->Submit(Spec("next", "queue", 2000)), nullptr);
    world->Run();
          },
          [](EngineWorld* world) {
    const JobPtr wide = JobNamed(*world, "wide");
    world->members.Progress({wide->uid, wide->attempt, wide->cluster}, 6, {{"main", 2}});
  },
      [](const EngineWorld& world) {
    return !StateOf(*JobNamed(world, "wide")).reclaimable.empty();
      }, [](EngineWorld* world) {
        EXPECT_EQ(JobNamed(*world, "next")->state, JobState::kRunning);
        EXPECT_EQ(world->UsedCpu(), 4000);
      }};
}

// Runs one step of the engine, or carries out one order; false if there is neither.
bool OneStep(EngineWorld* world) {
  if (world->engine->Step()) return true;
  if (world->members.orders.empty()) return false;
  world->members.Carry();
  return true;
}

class CrashPoints : public testing::TestWithParam<Story (*)()> {};

TEST_P(CrashPoints, AKillAfterAnyStepChangesNothingOfTheEnd) {
  const Story story = GetParam()();
  for (int killed_after = 0; killed_after < kStepsMax; ++killed_after) {
    SCOPED_TRACE(std::string(story.name) + ", killed after step " + std::to_string(killed_after));
    EngineWorld world(1, OptionsWith(story.settings));
    story.prepare(&world);
    story.begin(&world);
    bool at_rest = false;
    for (int step = 0; step < killed_after && !at_rest; ++step) at_rest = !OneStep(&world);
    world.Restart();
    world.Run();
    if (!story.begun(world)) {
      story.begin(&world);
      world.Run();
    }
    story.expect(&world);
    EXPECT_LE(world.members.most_active_of_one_job, 1U);
    EXPECT_THAT(world.metrics->Expose(), HasSubstr("muster_reconcile_corrections_total 0"));
    if (HasFailure() || at_rest) return;
  }
  FAIL() << story.name << " does not come to rest";
}

INSTANTIATE_TEST_SUITE_P(Stories, CrashPoints,
                         testing::Values(&Preemption, &Retry, &RetryOfARunningJob, &Rejection,
                                         &Deactivation, &TooLong, &NotReady, &Drained,
                                         &MemberDrained, &EvictedFromAMember, &Tainted,
                                         &WorksRecorded, &PodsGivenBack),
                         [](const auto& tested) {
  std::string name = tested.param().name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace muster::test
