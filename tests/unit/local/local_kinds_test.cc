// What the controllers do as those of Kubernetes and the operators do: back-offs, the order of
// reasons, restart policies, deadlines of tries.
#include "tests/unit/local/controller_world.h"

namespace muster::local {
namespace {

constexpr std::int64_t kSecond = kMicrosPerSecond;
using Indexes = std::vector<std::int32_t>;

World JobSet(const std::string& spec) {
  return World("jobset.x-k8s.io/v1alpha2", "JobSet", "{" + spec + "}");
}
World RayJob(const std::string& more) {
  return World("ray.io/v1", "RayJob",
               "{" + more + R"("entrypoint":"x","rayClusterSpec":{"headGroupSpec":{"template":{
    "spec":{"containers":[{"name":"h"}]}}}}})");
}
World Groups(const std::string& policy) {
  return World("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
               R"({"leaderWorkerTemplate":{)" +
                   (policy.empty() ? "" : R"("restartPolicy":")" + policy + R"(",)") +
                   R"("size":2,"workerTemplate":{"spec":{}}}})");
}

// --- Job
// -----------------------------------------------------------------------------------------

TEST(JobBackOff, WithoutOneForEachIndex_HoldsBackAllNewPods) {
  World world = Job(R"({"parallelism":2,"completions":4,"completionMode":"Indexed"})");
  world.Step();
  world.End(0, 1);
  world.Step();
  EXPECT_EQ(world.Indexes(), (Indexes{1})) << "another index was started";
  EXPECT_EQ(world.last.wake_at.us, world.pods[0].ended.us + kPodBackoffUs);
  world.now = world.last.wake_at;
  world.Step();
  EXPECT_EQ(world.Indexes(), (Indexes{1, 0}));
}

TEST(JobBackOff, CountsFailuresAfterTheLastSuccess_ByWhenThePodsEnded) {
  World world = Job(R"({"parallelism":2,"completions":3})");
  world.Step();
  world.End(1, 1);
  world.End(0, 0);
  world.Step();
  ASSERT_EQ(world.Live(), 2) << "the success came last: nothing waits";
  world.End(2, 0);
  world.End(3, 1);
  world.Step();
  EXPECT_EQ(world.Live(), 0);
  EXPECT_EQ(world.last.wake_at.us, world.pods[3].ended.us + kPodBackoffUs);
}

TEST(JobBackOff, GrowsWithFailuresThatAreIgnored) {
  const std::string ignore =
      R"("podFailurePolicy":{"rules":[{"action":"Ignore","onExitCodes":{"operator":"In","values":[7]}}]},)"
      R"("completions":1)";
  const std::pair<const char*, std::string> cases[] = {
      {"not indexed", ""},
      {"indexed", R"("completionMode":"Indexed",)"},
      {"with a limit for each index", R"("completionMode":"Indexed","backoffLimitPerIndex":1,)"},
  };
  for (const auto& [what, mode] : cases) {
    World world = Job("{" + mode + ignore + "}");
    world.Step();
    for (const std::int64_t pause : {1, 2, 4, 8}) {
      const std::size_t pods = world.pods.size();
      world.End(pods - 1, 7);
      ASSERT_NE(world.Step().phase, RemotePhase::kFailed) << what << ": it is ignored";
      ASSERT_EQ(world.pods.size(), pods) << what << ": no back-off";
      EXPECT_EQ(world.last.wake_at.us, world.pods.back().ended.us + pause * kPodBackoffUs) << what;
      world.now = world.last.wake_at;
      world.Step();
      ASSERT_EQ(world.pods.size(), pods + 1) << what;
    }
  }
}

TEST(JobEnds, FailedIndexesComeBeforeTheSuccessPolicy) {
  const std::string spec =
      R"({"parallelism":2,"completions":2,"completionMode":"Indexed","backoffLimitPerIndex":0,)"
      R"("successPolicy":{"rules":[{"succeededIndexes":"0"}]}})";
  const struct {
    const char* what;
    std::vector<std::size_t> order;  // of the ends of index 0, a success, and 1, a failure
    RemotePhase phase;
  } cases[] = {
      {"the success policy is met while an index runs", {0}, RemotePhase::kSucceeded},
      {"all indexes have ended by then", {1, 0}, RemotePhase::kFailed},
  };
  for (const auto& one : cases) {
    World world = Job(spec);
    world.Step();
    for (const std::size_t pod : one.order) {
      ASSERT_NE(world.Step().phase, RemotePhase::kFailed) << one.what;
      world.End(pod, pod == 0 ? 0 : 1);
    }
    EXPECT_EQ(world.Step().phase, one.phase) << one.what;
  }
}

// --- JobSet
// --------------------------------------------------------------------------------------

TEST(JobSetPods, AreToldTheCoordinator) {
  const std::string jobs =
      R"("replicatedJobs":[{"name":"driver","template":{"spec":{}}},{"name":"w","template":{"spec":{}}}])";
  const struct {
    const char* what;
    std::string spec, address;
  } cases[] = {
      {"none", "", ""},
      {"the first pod", R"("coordinator":{"replicatedJob":"driver"},)", "j-driver-0-0.j"},
      {"another pod below a subdomain",
       R"("network":{"subdomain":"net"},"coordinator":{"replicatedJob":"w","jobIndex":1,"podIndex":2},)",
       "j-w-1-2.net"},
  };
  for (const auto& one : cases) {
    World world = JobSet(one.spec + jobs);
    world.Step();
    ASSERT_EQ(world.wishes.size(), 2u) << one.what;
    for (PodWish& wish : world.wishes) {
      EXPECT_EQ(wish.labels["jobset.sigs.k8s.io/coordinator"], one.address) << one.what;
      EXPECT_EQ(wish.annotations["jobset.sigs.k8s.io/coordinator"], one.address) << one.what;
    }
  }
}

// Two children of `a` and one of `b` fail before the controller looks; those of `a` have failed
// for good later than the one of `b`, the second before the first.
TEST(JobSetFailures, AreJudgedByTheFirstRuleThatFitsAny_AndTheChildThatFailedFirst) {
  const std::string job = R"("template":{"spec":{"backoffLimit":0,"template":{"spec":{}}}})";
  const std::string jobs =
      R"("replicatedJobs":[{"name":"a","replicas":2,)" + job + R"(},{"name":"b",)" + job + "}]";
  const std::string of_a = R"({"action":"RestartJobSet","targetReplicatedJobs":["a"]})",
                    of_b = R"({"action":"FailJobSet","targetReplicatedJobs":["b"]})",
                    end_a = R"({"action":"FailJobSet","targetReplicatedJobs":["a"]})";
  const struct {
    const char* what;
    std::string rules;
    bool restarts;
    const char* named;
  } cases[] = {
      {"the rule of b stands first", of_b + "," + of_a, false, "job b-0 failed"},
      {"the rule of a stands first", of_a + "," + of_b, true, ""},
      {"of several that a rule fits the first to fail is named", end_a, false, "job a-1 failed"},
  };
  for (const auto& one : cases) {
    World world =
        JobSet(R"("failurePolicy":{"maxRestarts":1,"rules":[)" + one.rules + "]}," + jobs);
    world.Step();
    ASSERT_EQ(world.pods.size(), 3u) << one.what;
    for (const std::size_t pod : {2, 1, 0}) world.End(pod, 1);
    const ControllerOutput output = world.Step();
    EXPECT_EQ(output.phase, one.restarts ? RemotePhase::kRunning : RemotePhase::kFailed)
        << one.what;
    EXPECT_EQ(output.message.substr(0, 14), one.named) << one.what;
  }
}

TEST(JobSetFailures, OfAJobWhosePodRestartedInPlaceTooOften_IsAsOldAsItsDiscovery) {
  World world =
      JobSet(R"("replicatedJobs":[{"name":"a","replicas":2,"template":{"spec":{"backoffLimit":0,)"
             R"("template":{"spec":{"restartPolicy":"OnFailure"}}}}}])");
  world.Step();
  ASSERT_EQ(world.pods.size(), 2u);
  world.pods[0].restarts = 1;
  world.End(1, 1);
  EXPECT_EQ(world.Step().message.substr(0, 14), "job a-1 failed");
}

// --- after a restart of the daemon
// ---------------------------------------------------------------

TEST(Epochs, PodsOfAnEarlierOneAreStopped_AlsoIfTheDaemonDiedBeforeItAskedThemTo) {
  const struct {
    const char* what;
    World world;
    json::object memo;
  } cases[] = {
      {"JobSet",
       JobSet(R"("replicatedJobs":[{"name":"a","template":{"spec":{}}}])"),
       {{"restarts", 1}, {"counted", 1}}},
      {"RayJob", RayJob(R"("backoffLimit":1,)"), {{"retries", 1}}},
      {"LeaderWorkerSet", Groups(""), {{"epochs", {{"j-0", 1}}}}},
  };
  for (const auto& one : cases) {
    World world = one.world;
    world.Step();
    const int live = world.Live();
    ASSERT_GT(live, 0) << one.what;
    world.SetMemo(one.memo);
    world.Step();
    EXPECT_EQ(world.LiveOf(0), 0) << one.what << ": old pods live beside the new ones";
    EXPECT_EQ(world.LiveOf(1), live) << one.what;
  }
}

// --- Ray
// -----------------------------------------------------------------------------------------

TEST(RayPods, ThatEndAreReplacedAfterAPause_WhicheverWayTheyEnd) {
  for (const int code : {0, 1}) {
    World world("ray.io/v1", "RayCluster",
                R"({"headGroupSpec":{"template":{"spec":{"containers":[{"name":"h"}]}}}})");
    world.Step();
    for (const std::int64_t pause : {1, 2, 4}) {
      const std::size_t pods = world.pods.size();
      world.End(pods - 1, code);
      world.Step();
      ASSERT_EQ(world.pods.size(), pods) << "exit code " << code << ": no pause";
      EXPECT_EQ(world.last.wake_at.us, world.pods.back().ended.us + pause * kPodBackoffUs) << code;
      world.now = world.last.wake_at;
      world.Step();
      ASSERT_EQ(world.pods.size(), pods + 1) << code;
    }
  }
}

// The submitter of the present try, which is its newest pod.
void FailSubmitter(World* world) {
  ASSERT_EQ(world->pods.back().identity.pod_set, "submitter");
  world->End(world->pods.size() - 1, 1);
  world->Step();
}

TEST(RayJobDeadlines, TheActiveOneIsThatOfATry_AndIsNotRepeated) {
  World world = RayJob(R"("backoffLimit":2,"activeDeadlineSeconds":100,)");
  world.started = world.now;
  world.Step();
  world.now.us += 80 * kSecond;
  FailSubmitter(&world);
  ASSERT_EQ(world.LiveOf(1), 2);
  const WallTime second = world.now;
  EXPECT_EQ(world.last.wake_at.us, second.us + 100 * kSecond);
  // A suspension moves it.
  world.paused_us = 50 * kSecond;
  world.started.us += world.paused_us;
  world.now.us += 149 * kSecond;
  EXPECT_EQ(world.Step().phase, RemotePhase::kRunning);
  world.now = second.Plus(150 * kSecond);
  EXPECT_EQ(world.Step().reason, Reason::kDeadlineExceeded);
  EXPECT_EQ(world.last.phase, RemotePhase::kFailed);
  EXPECT_EQ(world.Live(), 0);
}

TEST(RayJobDeadlines, ATryThatDoesNotRunBeforeThePreRunningOneHasFailed) {
  World waits = RayJob(R"("backoffLimit":1,"preRunningDeadlineSeconds":60,)");
  waits.pods_run = false;
  waits.started = waits.now;
  waits.Step();
  EXPECT_EQ(waits.last.wake_at.us, waits.started.us + 60 * kSecond);
  waits.now = waits.last.wake_at;
  EXPECT_EQ(waits.Step().phase, RemotePhase::kPending);
  EXPECT_EQ(waits.LiveOf(0), 0);
  EXPECT_EQ(waits.LiveOf(1), 1) << "the failed try is repeated";
  EXPECT_EQ(waits.last.wake_at.us, waits.now.us + 60 * kSecond);
  waits.now = waits.last.wake_at;
  EXPECT_EQ(waits.Step().phase, RemotePhase::kFailed);
  EXPECT_NE(waits.last.message.find("preRunningDeadlineSeconds"), std::string::npos);
  EXPECT_EQ(waits.Live(), 0);

  World runs = RayJob(R"("preRunningDeadlineSeconds":60,)");
  runs.started = runs.now;
  runs.Step();
  runs.now.us += 3600 * kSecond;
  EXPECT_EQ(runs.Step().phase, RemotePhase::kRunning) << "its submitter runs";
}

// --- PyTorchJob
// ----------------------------------------------------------------------------------

TEST(PyTorchBackoffLimit, CountsRestartsInPodsThatRun) {
  const struct {
    const char* what;
    const char* restart;
    int limit;
    std::int32_t restarts;  // of the first worker's container
    int code;               // with which that worker ends; -1: it runs
    RemotePhase phase;
  } cases[] = {
      {"as many restarts as the limit", "OnFailure", 3, 3, -1, RemotePhase::kFailed},
      {"fewer", "OnFailure", 3, 2, -1, RemotePhase::kRunning},
      {"a limit of 0 and one restart", "OnFailure", 0, 1, -1, RemotePhase::kFailed},
      {"a sidecar restarts beside a container that may not", "Never", 1, 5, -1,
       RemotePhase::kRunning},
      {"a pod that has succeeded since", "OnFailure", 3, 3, 0, RemotePhase::kRunning},
      {"a pod that was killed and is replaced", "ExitCode", 1, 0, 137, RemotePhase::kPending},
      {"a limit of 0 and a pod that has failed", "ExitCode", 0, 0, 137, RemotePhase::kFailed},
  };
  for (const auto& one : cases) {
    World world("kubeflow.org/v1", "PyTorchJob",
                R"({"runPolicy":{"backoffLimit":)" + std::to_string(one.limit) +
                    R"(},"pytorchReplicaSpecs":{"Worker":{"replicas":2,"restartPolicy":")" +
                    one.restart + R"(","template":{"spec":{}}}}})");
    world.Step();
    world.pods[0].restarts = one.restarts;
    if (one.code >= 0) world.End(0, one.code);
    EXPECT_EQ(world.Step().phase, one.phase) << one.what;
  }
}

// --- LeaderWorkerSet
// -----------------------------------------------------------------------------

TEST(LeaderWorkerSetRestarts, FollowThePolicy) {
  const struct {
    const char* policy;
    bool recreated_while_starting, recreated;
  } cases[] = {
      {"", true, true},
      {"RecreateGroupOnPodRestart", true, true},
      {"RecreateGroupAfterStart", false, true},
      {"None", false, false},
      {"Default", false, false},  // the deprecated name of None
  };
  for (const auto& one : cases) {
    World starting = Groups(one.policy);
    starting.Step();
    starting.pods[1].phase = PodPhase::kPending;
    starting.pods[0].restarts = 1;
    starting.Step();
    EXPECT_EQ(starting.LiveOf(1) > 0, one.recreated_while_starting) << one.policy;
    World running = Groups(one.policy);
    running.Step();
    running.pods[0].restarts = 1;
    running.Step();
    EXPECT_EQ(running.LiveOf(1) > 0, one.recreated) << one.policy;
  }
}

TEST(LeaderWorkerSetRestarts, AfterStart_WhatHappenedBeforeIsForgiven) {
  World world = Groups("RecreateGroupAfterStart");
  world.Step();
  world.pods[1].phase = PodPhase::kPending;
  world.pods[0].restarts = 2;
  world.Step();
  world.pods[1].phase = PodPhase::kRunning;
  world.Step();
  EXPECT_EQ(world.LiveOf(0), 2) << "the group has started by now";
  world.pods[0].restarts = 3;
  world.Step();
  EXPECT_EQ(world.LiveOf(0), 0);
  EXPECT_EQ(world.LiveOf(1), 2);
}

TEST(LeaderWorkerSetRestarts, OfPodsThatEndHaveAPause) {
  World world = Groups("None");
  world.Step();
  world.End(1, 0);
  world.Step();
  EXPECT_EQ(world.pods.size(), 2u) << "no pause";
  EXPECT_EQ(world.last.wake_at.us, world.pods[1].ended.us + kPodBackoffUs);
}

}  // namespace
}  // namespace muster::local
