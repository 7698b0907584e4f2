// The pure controllers in a small world that starts the pods that they want and ends pods as a test
// says.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "backends/local/controllers/job_run.h"
#include "backends/local/pods/variables.h"
#include "tests/unit/local/controller_world.h"

namespace muster::local {
namespace {

TEST(JobController, AWorkQueueIsFinishedByThePodsThatRunWhenTheFirstOneHasSucceeded) {
  World world = Job(R"({"parallelism":3})");
  world.Step();
  ASSERT_EQ(world.Live(), 3);
  world.End(0, 0);
  world.Step();
  EXPECT_TRUE(world.last.stop.empty()) << "the others work on";
  EXPECT_EQ(world.Live(), 2);
  EXPECT_EQ(world.last.phase, RemotePhase::kRunning);
  world.End(1, 1);
  world.Step();
  EXPECT_EQ(world.pods.size(), 3u) << "and none is started again";
  EXPECT_EQ(world.Live(), 1);
  world.End(2, 0);
  EXPECT_EQ(world.Step().phase, RemotePhase::kSucceeded);
}

TEST(JobController, WithABackOffForEachIndex_NoneWaitsForTheFailuresOfOthers) {
  World world = Job(
      R"({"parallelism":4,"completions":4,"completionMode":"Indexed","backoffLimitPerIndex":9})");
  world.Step();
  ASSERT_EQ(world.Indexes(), (std::vector<std::int32_t>{0, 1, 2, 3}));
  for (const std::size_t pod : {0, 1, 2}) world.End(pod, 1);
  world.Step();
  EXPECT_EQ(world.Indexes(), (std::vector<std::int32_t>{3}));
  world.now.us += kPodBackoffUs;
  world.Step();
  EXPECT_EQ(world.Indexes(), (std::vector<std::int32_t>{3, 0, 1, 2}))
      << "each has failed once and waits for ten seconds";
  world.End(4, 1);  // index 0, for the second time
  world.Step();
  const WallTime again = world.last.wake_at;
  EXPECT_EQ(again.us, world.pods[4].ended.us + 2 * kPodBackoffUs);
  world.End(5, 1);  // index 1
  world.Step();
  EXPECT_EQ(world.last.wake_at.us, again.us) << "another failure does not move it";
  world.now = again;
  world.Step();
  EXPECT_EQ(world.Indexes(), (std::vector<std::int32_t>{3, 2, 0}));
}

TEST(JobController, RestartsInPlaceCountAgainstTheLimitWithOnFailureOnly) {
  const auto phase = [](const std::string& policy) {
    World world =
        Job(R"({"backoffLimit":2,"template":{"spec":{"restartPolicy":")" + policy + R"("}}})");
    world.Step();
    world.pods[0].restarts = 5;
    return world.Step().phase;
  };
  EXPECT_EQ(phase("OnFailure"), RemotePhase::kFailed);
  EXPECT_EQ(phase("Never"), RemotePhase::kRunning) << "a sidecar was started again";
}

TEST(JobController, RunsNoMoreThanParallelism_UntilCompletions) {
  World world = Job(R"({"parallelism":2,"completions":3})");
  world.Step();
  EXPECT_EQ(world.Live(), 2);
  world.End(0, 0);
  world.Step();
  EXPECT_EQ(world.Live(), 2);
  world.End(1, 0);
  world.Step();
  EXPECT_EQ(world.Live(), 1) << "a fourth pod was started";
  world.End(2, 0);
  EXPECT_EQ(world.Step().phase, RemotePhase::kSucceeded);
  EXPECT_EQ(world.pods.size(), 3u);
}

TEST(JobController, PodsBeyondWhatIsStillToBeCompleted_AreReclaimable) {
  World world = Job(R"({"parallelism":3,"completions":5})");
  world.Step();
  std::vector<std::int32_t> reclaimable;
  for (std::size_t pod = 0; pod < 4; ++pod) {
    world.End(pod, 0);
    world.Step();
    reclaimable.push_back(world.last.reclaimable.empty() ? 0 : world.last.reclaimable[0].count);
  }
  EXPECT_EQ(reclaimable, (std::vector<std::int32_t>{0, 0, 1, 2}));
  EXPECT_EQ(world.last.reclaimable[0].pod_set, "main");
  EXPECT_EQ(world.Live(), 1) << "what is not reclaimable runs";
}

TEST(JobController, APodSetIsCalledAsTheTemplateSays_AsTheOneOfAWorkloadIs) {
  World world = Job(
      R"({"parallelism":2,"completions":2,"template":{"metadata":{"labels":{"muster.io/pod-set":"trainers"}}}})");
  world.Step();
  EXPECT_EQ(world.pods[0].identity.pod_set, "trainers");
  world.End(0, 0);
  world.Step();
  EXPECT_EQ(world.last.reclaimable, (std::vector<ReclaimablePods>{{"trainers", 1}}));
}

TEST(JobController, WhichPodsAreReclaimable_FollowsFromTheJobsNumbers) {
  const struct {
    const char* what;
    const char* spec;
    std::int32_t reclaimable;  // when the first pod has ended with the code
    int code;
  } cases[] = {
      {"as many completions as pods", R"({"parallelism":3,"completions":3})", 1, 0},
      {"more pods than completions", R"({"parallelism":8,"completions":3})", 1, 0},
      {"no completions: a work queue", R"({"parallelism":3})", 0, 0},
      {"one pod at a time", R"({"parallelism":1,"completions":3})", 0, 0},
      {"a failed pod is started again", R"({"parallelism":3,"completions":3})", 0, 1},
      {"an index that failed for good is done",
       R"({"parallelism":3,"completions":3,"completionMode":"Indexed","backoffLimitPerIndex":0})",
       1, 1},
  };
  for (const auto& one : cases) {
    World world = Job(one.spec);
    world.Step();
    world.End(0, one.code);
    world.Step();
    const auto& told = world.last.reclaimable;
    EXPECT_EQ(told.empty() ? 0 : told[0].count, one.reclaimable) << one.what;
  }
}

TEST(JobController, AnIndexedJob_GivesEachPodItsIndex_AndReplacesTheFailedOne) {
  World world = Job(R"({"parallelism":2,"completions":2,"completionMode":"Indexed"})");
  world.Step();
  ASSERT_EQ(world.wishes.size(), 2u);
  EXPECT_EQ(World::Variable(world.wishes[1], "JOB_COMPLETION_INDEX"), "1");
  EXPECT_EQ(world.wishes[1].host_name, "j-1");
  world.End(1, 9);
  world.Step();
  EXPECT_EQ(world.pods.size(), 2u) << "no back-off before the retry";
  EXPECT_TRUE(world.last.wake_at.set());
  world.now = world.last.wake_at;
  world.Step();
  ASSERT_EQ(world.pods.size(), 3u);
  EXPECT_EQ(world.pods[2].identity.index, 1);
  EXPECT_NE(world.pods[2].identity.id, world.pods[1].identity.id);
}

TEST(JobController, AJobThatGrows_StartsMore_AndOneThatShrinks_StopsTheNewest) {
  World world = Job(R"({"parallelism":2,"backoffLimit":0})");
  world.Step();
  world.SetSpec(R"({"parallelism":4,"backoffLimit":0})");
  EXPECT_EQ(world.Step().phase, RemotePhase::kRunning);
  EXPECT_EQ(world.Live(), 4);
  world.SetSpec(R"({"parallelism":1,"backoffLimit":0})");
  EXPECT_EQ(world.Step().phase, RemotePhase::kRunning) << "what was stopped has not failed";
  EXPECT_EQ(world.pods.size(), 4u);
  EXPECT_TRUE(world.pods[0].live());
  EXPECT_EQ(world.Live(), 1);
  world.End(0, 0);
  EXPECT_EQ(world.Step().phase, RemotePhase::kSucceeded);
}

TEST(JobController, AJobThatShrinks_StopsWhatDoesNotRunYet_First) {
  World world = Job(R"({"parallelism":3})");
  world.Step();
  world.pods[0].phase = PodPhase::kPending;
  world.SetSpec(R"({"parallelism":2})");
  world.Step();
  EXPECT_EQ(world.last.stop, std::vector<std::string>());
  EXPECT_FALSE(world.pods[0].live());
  EXPECT_EQ(world.Live(), 2);
}

TEST(JobController, AnIndexedJob_FollowsItsCompletions) {
  const auto spec = [](int pods) {
    const std::string count = std::to_string(pods);
    return R"({"completionMode":"Indexed","parallelism":)" + count + R"(,"completions":)" + count +
           "}";
  };
  World world = Job(spec(3));
  world.Step();
  world.SetSpec(spec(1));
  world.Step();
  EXPECT_EQ(world.Indexes(), (std::vector<std::int32_t>{0}));
  world.SetSpec(spec(2));
  world.Step();
  EXPECT_EQ(world.Indexes(), (std::vector<std::int32_t>{0, 1}));
  world.End(0, 0);
  world.Step();
  world.SetSpec(spec(1));
  EXPECT_EQ(world.Step().phase, RemotePhase::kSucceeded);
}

TEST(JobController, BackoffLimit_FailsTheJob_AndStopsTheRest) {
  World world = Job(R"({"parallelism":2,"completions":2,"backoffLimit":0})");
  world.Step();
  world.End(0, 1);
  EXPECT_EQ(world.Step().phase, RemotePhase::kFailed);
  EXPECT_EQ(world.last.reason, Reason::kBackoffLimitExceeded);
  EXPECT_EQ(world.Live(), 0);
}

TEST(JobController, PodFailurePolicy_DecidesByExitCode) {
  const std::string spec = R"({"backoffLimit":3,"podFailurePolicy":{"rules":[
    {"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}},
    {"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget"}]}]}})";
  World fails = Job(spec);
  fails.Step();
  fails.End(0, 42);
  EXPECT_EQ(fails.Step().reason, Reason::kPodFailurePolicy);
  World ignores = Job(spec);
  for (int i = 0; i < 6; ++i) {
    ignores.now.us += 3600 * kMicrosPerSecond;
    ignores.Step();
    ignores.End(ignores.pods.size() - 1, 137);
    ignores.pods.back().lost = true;
  }
  EXPECT_NE(ignores.Step().phase, RemotePhase::kFailed) << "ignored failures were counted";
}

TEST(JobController, BackoffLimitPerIndex_FailsAtTheEnd_AfterTheOthersRan) {
  World world = Job(
      R"({"parallelism":1,"completions":2,"completionMode":"Indexed","backoffLimitPerIndex":0})");
  world.Step();
  world.End(0, 1);
  world.Step();
  ASSERT_EQ(world.pods.size(), 2u);
  EXPECT_EQ(world.pods[1].identity.index, 1);
  world.End(1, 0);
  EXPECT_EQ(world.Step().phase, RemotePhase::kFailed);
}

TEST(JobController, SuccessPolicy_EndsTheJobEarly) {
  World world = Job(R"({"parallelism":3,"completions":3,"completionMode":"Indexed",
    "successPolicy":{"rules":[{"succeededIndexes":"0"}]}})");
  world.Step();
  world.End(0, 0);
  EXPECT_EQ(world.Step().phase, RemotePhase::kSucceeded);
  EXPECT_EQ(world.Live(), 0);
}

TEST(JobController, ActiveDeadline_FailsTheJob) {
  World world = Job(R"({"activeDeadlineSeconds":5})");
  world.now = {1};
  world.Step();
  EXPECT_EQ(world.last.wake_at.us, 1 + 5 * kMicrosPerSecond);
  world.now = world.last.wake_at;
  EXPECT_EQ(world.Step().reason, Reason::kDeadlineExceeded);
}

TEST(Deadlines, BeyondAnyClock_NeverPass) {
  const struct {
    const char* api_version;
    const char* kind;
    std::string before, after;  // of the number
  } kKinds[] = {
      {"batch/v1", "Job", R"({"activeDeadlineSeconds":)", "}"},
      {"kubeflow.org/v1", "PyTorchJob",
       R"({"pytorchReplicaSpecs":{"Worker":{"replicas":1,"template":{"spec":{}}}},)"
       R"("runPolicy":{"activeDeadlineSeconds":)",
       "}}"},
      {"ray.io/v1", "RayJob",
       R"({"rayClusterSpec":{"headGroupSpec":{"template":{"spec":{}}}},"activeDeadlineSeconds":)",
       "}"},
  };
  for (const auto& kind : kKinds) {
    for (const char* seconds : {"10000000000000", "9223372036854775807"}) {
      World world(kind.api_version, kind.kind, kind.before + seconds + kind.after);
      world.Step();
      world.now = WallTime{4'000'000'000'000'000};
      const ControllerOutput output = world.Step();
      EXPECT_NE(output.phase, RemotePhase::kFailed) << kind.kind << " " << seconds;
      EXPECT_NE(output.reason, Reason::kDeadlineExceeded) << kind.kind << " " << seconds;
    }
  }
}

TEST(Backoff, DoublesUpToItsMost_WhateverTheFirstIs) {
  const struct {
    std::int64_t first;
    std::int32_t doublings;
    std::int64_t most, us;
  } kCases[] = {{10, 0, 300, 10},  {10, 3, 300, 80},
                {10, 6, 300, 300}, {10, 2'000'000'000, 300, 300},
                {10, -1, 300, 10}, {std::numeric_limits<std::int64_t>::max(), 20, 300, 300}};
  for (const auto& one : kCases)
    EXPECT_EQ(BackoffUs(one.first, one.doublings, one.most), one.us) << one.doublings;
}

World Set(const std::string& more, const std::string& depends = "") {
  const std::string job = R"("template":{"spec":{"backoffLimit":0,"template":{"spec":{}}}})";
  return World("jobset.x-k8s.io/v1alpha2", "JobSet",
               "{" + more + R"("replicatedJobs":[{"name":"a","replicas":2,)" + job +
                   R"(},{"name":"b",)" + depends + job + "}]}");
}

TEST(JobSetController, PodsOfChildrenThatHaveSucceeded_AreReclaimable) {
  World world("jobset.x-k8s.io/v1alpha2", "JobSet",
              R"({"replicatedJobs":[
                {"name":"Worker","replicas":2,"template":{"spec":{"parallelism":2,"completions":2}}},
                {"name":"other","replicas":1,"template":{"spec":{}}}]})");
  world.Step();
  ASSERT_EQ(world.pods.size(), 5u);
  world.End(0, 0);
  world.Step();
  EXPECT_TRUE(world.last.reclaimable.empty()) << "one pod of the child still runs";
  world.End(1, 0);
  world.Step();
  EXPECT_EQ(world.last.reclaimable, (std::vector<ReclaimablePods>{{"worker", 2}}));
  world.End(2, 0);
  world.End(3, 0);
  world.Step();
  EXPECT_EQ(world.last.reclaimable, (std::vector<ReclaimablePods>{{"worker", 4}}));
}

TEST(JobSetController, ADeadlineOfAChildDoesNotRunWhileTheJobIsSuspended) {
  World world("jobset.x-k8s.io/v1alpha2", "JobSet",
              R"({"replicatedJobs":[
                {"name":"a","template":{"spec":{"activeDeadlineSeconds":10,"template":{"spec":{}}}}}]})");
  world.Step();
  world.now.us += 25 * kMicrosPerSecond;
  world.paused_us = 20 * kMicrosPerSecond;
  EXPECT_EQ(world.Step().phase, RemotePhase::kRunning);
  world.now.us += 5 * kMicrosPerSecond;
  EXPECT_EQ(world.Step().phase, RemotePhase::kFailed);
}

TEST(JobSetController, DependsOn_WaitsForCompletion) {
  World world = Set("", R"("dependsOn":[{"name":"a","status":"Complete"}],)");
  world.Step();
  EXPECT_EQ(world.Live(), 2);
  world.End(0, 0);
  world.End(1, 0);
  world.Step();
  ASSERT_EQ(world.pods.size(), 3u);
  EXPECT_EQ(world.pods[2].identity.owner, "j-b-0");
  world.End(2, 0);
  EXPECT_EQ(world.Step().phase, RemotePhase::kSucceeded);
}

TEST(JobSetController, AFailedJob_FailsTheSet_OrRestartsAllOfIt) {
  World strict = Set("");
  strict.Step();
  strict.End(0, 1);
  EXPECT_EQ(strict.Step().phase, RemotePhase::kFailed);
  World patient = Set(R"("failurePolicy":{"maxRestarts":1},)");
  patient.Step();
  ASSERT_EQ(patient.pods.size(), 3u);
  patient.End(0, 1);
  EXPECT_NE(patient.Step().phase, RemotePhase::kFailed);
  EXPECT_EQ(patient.pods.size(), 6u) << "all three jobs start over";
  EXPECT_EQ(patient.Live(), 3);
  EXPECT_EQ(World::Variable(patient.wishes[4], "JOBSET_RESTART_ATTEMPT"), "1");
  patient.End(3, 1);
  EXPECT_EQ(patient.Step().phase, RemotePhase::kFailed);
}

TEST(RayJobController, Submits_WhenTheClusterRuns_AndTearsItDown) {
  World world("ray.io/v1", "RayJob", R"({"entrypoint":"python x.py","rayClusterSpec":{
    "headGroupSpec":{"template":{"spec":{"containers":[{"name":"h"}]}}},
    "workerGroupSpecs":[{"groupName":"w","replicas":2,"template":{"spec":{"containers":[{"name":"w"}]}}}]}})");
  world.Step();
  ASSERT_EQ(world.pods.size(), 4u);
  EXPECT_EQ(world.pods[3].identity.pod_set, "submitter") << "the submitter comes last";
  EXPECT_EQ(World::Variable(world.wishes[3], "RAY_ADDRESS"), "127.0.0.1:4711");
  EXPECT_EQ(world.last.phase, RemotePhase::kRunning);
  world.End(3, 0);
  EXPECT_EQ(world.Step().phase, RemotePhase::kSucceeded);
  EXPECT_EQ(world.Live(), 0) << "the cluster outlived its job";
}

TEST(RayJobController, AnEntrypointThatFails_IsRunAgainByTheRayJobsBackoffLimitAlone) {
  for (const auto& [spec, tries] : {std::pair("", 1), std::pair(R"("backoffLimit":2,)", 3),
                                    std::pair(R"("submitterConfig":{"backoffLimit":5},)", 1)}) {
    World world("ray.io/v1", "RayJob",
                std::string("{") + spec + R"("entrypoint":"x","rayClusterSpec":{
      "headGroupSpec":{"template":{"spec":{"containers":[{"name":"h"}]}}}}})");
    int runs = 0;
    for (world.Step(); world.last.phase != RemotePhase::kFailed && runs < 9; world.Step()) {
      world.now.us += 3600 * kMicrosPerSecond;
      for (std::size_t i = 0; i < world.pods.size(); ++i) {
        if (world.pods[i].identity.pod_set != "submitter" || !world.pods[i].live()) continue;
        ++runs;
        world.End(i, 1);
      }
    }
    EXPECT_EQ(runs, tries) << spec;
  }
}

// The launcher takes manifests that no API has looked at.
TEST(RayJobController, ASubmitterWithoutASoundContainer_IsLeftToTheCheckOfItsPod) {
  for (const char* container : {"1", "null", "[]", "\"c\""}) {
    World world("ray.io/v1", "RayJob",
                std::string(R"({"entrypoint":"x","rayClusterSpec":{
      "headGroupSpec":{"template":{"spec":{"containers":[{"name":"h"}]}}}},
      "submitterPodTemplate":{"spec":{"containers":[)") +
                    container + "]}}}");
    world.Step();
    ASSERT_EQ(world.pods.size(), 2u) << container;
    EXPECT_EQ(world.pods[1].identity.pod_set, "submitter") << container;
  }
}

TEST(PyTorchController, RanksAndRendezvous_AreEachPodsOwn) {
  World world("kubeflow.org/v1", "PyTorchJob", R"({"nprocPerNode":"2","pytorchReplicaSpecs":{
    "Master":{"restartPolicy":"Never","template":{"spec":{}}},
    "Worker":{"replicas":2,"restartPolicy":"ExitCode","template":{"spec":{}}}}})");
  world.Step();
  ASSERT_EQ(world.wishes.size(), 3u);
  EXPECT_EQ(world.wishes[2].identity.name, "j-worker-1");
  EXPECT_EQ(World::Variable(world.wishes[2], "RANK"), "2");
  EXPECT_EQ(World::Variable(world.wishes[2], "WORLD_SIZE"), "6");
  EXPECT_EQ(World::Variable(world.wishes[2], "MASTER_PORT"), "4711");
  world.End(1, 137);
  world.now.us += 3600 * kMicrosPerSecond;
  world.Step();
  EXPECT_EQ(world.pods.size(), 4u) << "ExitCode: a killed worker comes back";
  world.End(2, 1);
  EXPECT_EQ(world.Step().phase, RemotePhase::kFailed) << "ExitCode: exit 1 is for good";
}

TEST(LeaderWorkerSetController, OneBrokenPod_RecreatesItsGroupOnly) {
  World world("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
              R"({"replicas":2,"leaderWorkerTemplate":{"size":2,"workerTemplate":{"spec":{}}}})");
  EXPECT_EQ(world.Step().phase, RemotePhase::kRunning);
  ASSERT_EQ(world.pods.size(), 4u);
  EXPECT_EQ(world.pods[1].identity.name, "j-0-1");
  EXPECT_EQ(World::Variable(world.wishes[1], "LWS_WORKER_INDEX"), "1");
  EXPECT_EQ(World::Variable(world.wishes[1], "LWS_GROUP_SIZE"), "2");
  world.pods[1].restarts = 1;
  world.Step();
  EXPECT_EQ(world.pods.size(), 6u);
  EXPECT_EQ(world.Live(), 4);
  EXPECT_FALSE(world.pods[0].live()) << "the leader goes with its worker";
  EXPECT_TRUE(world.pods[2].live()) << "the other group was touched";
}

TEST(Variables, ExpandAsKubernetesDoes) {
  Environment environment;
  environment.Set("A", "1");
  environment.SetExpanded("B", "$(A)$(A)");
  struct Row {
    std::string text, expanded;
  };
  for (const Row& row : std::vector<Row>{{"$(B)", "11"},
                                         {"$$(B)", "$(B)"},
                                         {"$(NO)", "$(NO)"},
                                         {"$", "$"},
                                         {"a$b", "a$b"},
                                         {"$(A", "$(A"},
                                         {"$$$(A)", "$1"}}) {
    EXPECT_EQ(environment.Expand(row.text), row.expanded) << row.text;
  }
}

}  // namespace
}  // namespace muster::local
