// What the fake member's controllers do with each kind, on a clock that the test moves.
#include <gtest/gtest.h>

#include "tests/unit/fake_member/manifests.h"
#include "tests/unit/fake_member/plain_client.h"

namespace muster::fake {
namespace {

class FakeControllers : public ::testing::Test {
 protected:
  static FakeMemberOptions StillTime() {
    FakeMemberOptions options;
    options.manual_clock = true;
    return options;
  }
  void Make(const std::string& path, const std::string& manifest) {
    const PlainAnswer made = client_.Post(path, manifest);
    ASSERT_EQ(made.status, 201) << made.body;
  }
  json::object Status(const std::string& path) {
    const json::object object = member_.Object(path);
    const json::object* status = FindObject(object, {"status"});
    return status == nullptr ? json::object() : *status;
  }
  // The names of the pods there are, each with its phase.
  std::vector<std::string> Pods() {
    std::vector<std::string> all;
    const json::object list = OwnObject(member_.Call("GET", kPods).body);
    for (const json::value& one : Items(list, {"items"})) {
      all.push_back(Text(one.as_object(), {"metadata", "name"}) + " " +
                    Text(one.as_object(), {"status", "phase"}));
    }
    return all;
  }
  std::string Reason(const std::string& path, const std::string& type) {
    const json::object status = Status(path);
    const json::object* condition = Condition(status, type);
    return condition == nullptr ? ""
                                : Text(*condition, {"status"}) + " " + Text(*condition, {"reason"});
  }
  FakeMember member_{StillTime()};
  PlainClient client_{member_};
};

TEST_F(FakeControllers, AJob_WaitsSuspended_RunsWhenReleased_AndEndsAfterItsTime) {
  Make(kJobs, Job("a", kRun, R"("suspend":true,)"));
  const std::string path = kJobs + "/a";
  EXPECT_EQ(Reason(path, "Suspended"), "True JobSuspended");
  EXPECT_TRUE(Pods().empty());
  member_.Advance(60'000);
  EXPECT_TRUE(Pods().empty());
  client_.JsonPatch(path, kRelease);
  EXPECT_EQ(Reason(path, "Suspended"), "False JobResumed");
  EXPECT_EQ(Number(Status(path), {"active"}), 1);
  EXPECT_EQ(Number(Status(path), {"ready"}), 1);
  EXPECT_EQ(member_.ActivePods("u", 1).size(), 1u);
  member_.Advance(4'999);
  EXPECT_EQ(Reason(path, "Complete"), "");
  member_.Advance(1);
  EXPECT_EQ(Reason(path, "Complete"), "True CompletionsReached");
  EXPECT_EQ(Reason(path, "SuccessCriteriaMet"), "True CompletionsReached");
  EXPECT_EQ(Number(Status(path), {"succeeded"}), 1);
  EXPECT_TRUE(member_.ActivePods("u", 1).empty());
  EXPECT_EQ(member_.counts().pods_created, (std::map<std::string, std::int64_t>{{"u/1", 1}}));
}

TEST_F(FakeControllers, AJob_SuspendedWhileItRuns_LosesItsPods) {
  Make(kJobs, Job("a", kRun, R"("parallelism":2,"completions":2,)"));
  EXPECT_EQ(Pods().size(), 2u);
  client_.JsonPatch(kJobs + "/a", R"([{"op":"replace","path":"/spec/suspend","value":true}])");
  EXPECT_TRUE(Pods().empty());
  EXPECT_EQ(Text(Status(kJobs + "/a"), {"startTime"}), "");
  EXPECT_EQ(Number(Status(kJobs + "/a"), {"active"}), 0);
}

TEST_F(FakeControllers, AJob_FailsBeyondItsBackoffLimit) {
  Make(kJobs, Job("a", kFail, R"("backoffLimit":1,)"));
  const std::string path = kJobs + "/a";
  member_.Advance(5'000);
  EXPECT_EQ(Number(Status(path), {"failed"}), 1);
  EXPECT_EQ(Reason(path, "Failed"), "");
  member_.Advance(5'000);
  EXPECT_EQ(Reason(path, "FailureTarget"), "True BackoffLimitExceeded");
  EXPECT_EQ(Reason(path, "Failed"), "True BackoffLimitExceeded");
  const json::object pods = OwnObject(member_.Call("GET", kPods).body);
  const json::object& pod = Items(pods, {"items"}).at(0).as_object();
  const json::object& container = Items(pod, {"status", "containerStatuses"}).at(0).as_object();
  EXPECT_EQ(Number(container, {"state", "terminated", "exitCode"}), 42);
}

TEST_F(FakeControllers, AJob_HasADeadline_AndATimeToLive) {
  Make(kJobs, Job("late", "", R"("activeDeadlineSeconds":10,)"));
  Make(kJobs, Job("ttl", kRun, R"("ttlSecondsAfterFinished":60,)"));
  member_.Advance(10'000);
  EXPECT_EQ(Reason(kJobs + "/late", "Failed"), "True DeadlineExceeded");
  EXPECT_EQ(client_.Get(kJobs + "/ttl").status, 200);
  member_.Advance(60'000);
  EXPECT_EQ(client_.Get(kJobs + "/ttl").status, 404);
}

TEST_F(FakeControllers, AnIndexedJob_CountsItsIndexes_AndScales) {
  Make(kJobs, Job("a", kRun, R"("completionMode":"Indexed","completions":5,"parallelism":3,)"));
  EXPECT_EQ(Pods().size(), 3u);
  EXPECT_TRUE(Pods()[2].starts_with("a-2-"));
  member_.Advance(5'000);
  EXPECT_EQ(Text(Status(kJobs + "/a"), {"completedIndexes"}), "0-2");
  client_.JsonPatch(kJobs + "/a", R"([{"op":"replace","path":"/spec/parallelism","value":1}])");
  EXPECT_EQ(member_.ActivePods("u", 1).size(), 1u);
  member_.Advance(5'000);
  member_.Advance(5'000);
  EXPECT_EQ(Reason(kJobs + "/a", "Complete"), "True CompletionsReached");
}

TEST_F(FakeControllers, AJobOfAnotherController_IsLeftAlone) {
  Make(kJobs, Job("a", kRun, R"("managedBy":"example.com/x",)"));
  member_.Advance(60'000);
  EXPECT_TRUE(Pods().empty());
  EXPECT_TRUE(Status(kJobs + "/a").empty());
}

TEST_F(FakeControllers, APodThatFitsNoNode_WaitsForOne_AndADisruptedOneIsToldAsSuch) {
  const std::string manifest =
      R"({"kind":"Job","metadata":{"name":"a"},"spec":{"template":{"spec":{"restartPolicy":"Never",)"
      R"("nodeSelector":{"pool":"gpu"},"containers":[{"name":"x"}]}}}})";
  Make(kJobs, manifest);
  ASSERT_EQ(Pods().size(), 1u);
  const std::string pod = Pods()[0].substr(0, Pods()[0].find(' '));
  EXPECT_EQ(Reason(kPods + "/" + pod, "PodScheduled"), "False Unschedulable");
  member_.Call("PATCH", "/api/v1/nodes/node-1", R"({"metadata":{"labels":{"pool":"gpu"}}})",
               "application/merge-patch+json");
  EXPECT_EQ(Text(member_.Object(kPods + "/" + pod), {"spec", "nodeName"}), "node-1");
  EXPECT_EQ(Text(Status(kPods + "/" + pod), {"phase"}), "Running");
  member_.SetNodeReady("node-1", false);
  EXPECT_EQ(Reason("/api/v1/nodes/node-1", "Ready"), "False KubeletReady");
  member_.Disrupt("default", pod, "DeletionByTaintManager");
  EXPECT_EQ(Reason(kPods + "/" + pod, "DisruptionTarget"), "True DeletionByTaintManager");
  EXPECT_EQ(Number(Status(kJobs + "/a"), {"failed"}), 1);
}

TEST_F(FakeControllers, APodQuota_HoldsPodsBack_WithAnEvent) {
  member_.SetPodQuota("default", 0);
  Make(kJobs, Job("a", kRun));
  EXPECT_TRUE(Pods().empty());
  const PlainAnswer events =
      client_.Get("/api/v1/namespaces/default/events?fieldSelector=reason%3DFailedCreate");
  EXPECT_NE(events.body.find("exceeded quota"), std::string::npos);
  member_.SetPodQuota("default", -1);
  EXPECT_EQ(Pods().size(), 1u);
}

TEST_F(FakeControllers, StartAndStopOfPods_TakeTheirTime) {
  Make(kJobs, Job("a", R"("bed.test/start":"3s","bed.test/run":"5s")"));
  EXPECT_TRUE(Pods()[0].ends_with("Pending"));
  member_.Advance(3'000);
  EXPECT_TRUE(Pods()[0].ends_with("Running"));
  member_.Advance(5'000);
  EXPECT_TRUE(Pods()[0].ends_with("Succeeded"));
}

std::string JobSetOf(const std::string& lives, const std::string& more) {
  const std::string job =
      R"("template":{"spec":{"backoffLimit":0,"template":)" + PodTemplate(lives) + "}}}";
  return R"({"kind":"JobSet","metadata":{"name":"s"},"spec":{)" + more +
         R"("replicatedJobs":[{"name":"a","replicas":2,)" + job + R"(,{"name":"b",)" + job + "]}}";
}

TEST_F(FakeControllers, AJobSet_MakesItsJobsSuspended_AndCompletes) {
  Make(kJobSets, JobSetOf(kRun, R"("suspend":true,)"));
  const std::string path = kJobSets + "/s";
  EXPECT_EQ(Reason(path, "Suspended"), "True SuspendedJobs");
  EXPECT_TRUE(Flag(member_.Object(kJobs + "/s-a-1"), {"spec", "suspend"}));
  const json::object waiting = Status(path);
  EXPECT_EQ(Number(Items(waiting, {"replicatedJobsStatus"}).at(0).as_object(), {"suspended"}), 2);
  client_.JsonPatch(path, kRelease);
  EXPECT_EQ(Reason(path, "Suspended"), "False ResumeJobs");
  const json::object running = Status(path);
  EXPECT_EQ(Number(Items(running, {"replicatedJobsStatus"}).at(0).as_object(), {"ready"}), 2);
  member_.Advance(5'000);
  EXPECT_EQ(Reason(path, "Completed"), "True AllJobsCompleted");
  EXPECT_EQ(Text(Status(path), {"terminalState"}), "Completed");
}

TEST_F(FakeControllers, AJobSet_RestartsAllJobs_ThenFails) {
  Make(kJobSets, JobSetOf(kFail, R"("failurePolicy":{"maxRestarts":1},)"));
  const std::string path = kJobSets + "/s";
  member_.Advance(5'000);
  EXPECT_EQ(Number(Status(path), {"restarts"}), 1);
  EXPECT_EQ(Text(member_.Object(kJobs + "/s-a-0"),
                 {"metadata", "labels", "jobset.sigs.k8s.io/restart-attempt"}),
            "1");
  member_.Advance(5'000);
  EXPECT_EQ(Reason(path, "Failed"), "True ReachedMaxRestarts");
  EXPECT_EQ(member_.counts().pods_created["u/1"], 6);
}

std::string TorchOf(const std::string& lives, const std::string& policy) {
  const std::string pod = R"("restartPolicy":")" + policy + R"(","template":)" + PodTemplate(lives);
  return R"({"kind":"PyTorchJob","metadata":{"name":"p"},"spec":{"runPolicy":{"suspend":true,"backoffLimit":3},)"
         R"("pytorchReplicaSpecs":{"Master":{"replicas":1,)" +
         pod + R"(},"Worker":{"replicas":2,)" + pod + "}}}}";
}

TEST_F(FakeControllers, APyTorchJob_IsSuspended_Runs_AndSucceedsWithItsMaster) {
  Make(kTorch, TorchOf(kRun, "Never"));
  const std::string path = kTorch + "/p";
  const std::string release =
      R"([{"op":"replace","path":"/spec/runPolicy/suspend","value":false}])";
  EXPECT_EQ(Reason(path, "Suspended"), "True PyTorchJobSuspended");
  client_.JsonPatch(path, release);
  EXPECT_EQ(Reason(path, "Suspended"), "False PyTorchJobResumed");
  EXPECT_EQ(Reason(path, "Running"), "True PyTorchJobRunning");
  EXPECT_EQ(Number(Status(path), {"replicaStatuses", "Worker", "active"}), 2);
  EXPECT_EQ(Pods().front(), "p-master-0 Running");
  member_.Advance(5'000);
  EXPECT_EQ(Reason(path, "Succeeded"), "True PyTorchJobSucceeded");
  EXPECT_EQ(Reason(path, "Running"), "False PyTorchJobRunning");
}

TEST_F(FakeControllers, APyTorchJob_FailsAtOnce_WhereNothingIsRetried) {
  Make(kTorch, TorchOf(kFail, "Never"));
  client_.JsonPatch(kTorch + "/p",
                    R"([{"op":"replace","path":"/spec/runPolicy/suspend","value":false}])");
  member_.Advance(5'000);
  EXPECT_EQ(Reason(kTorch + "/p", "Failed"), "True PyTorchJobFailed");
}

std::string RayClusterSpec() {
  return R"({"headGroupSpec":{"rayStartParams":{},"template":)" + PodTemplate("", "Always") +
         R"(},"workerGroupSpecs":[{"groupName":"w","replicas":2,"rayStartParams":{},"template":)" +
         PodTemplate("", "Always") + "}]}";
}

TEST_F(FakeControllers, ARayJob_MakesItsCluster_RunsItsSubmitter_AndShutsDown) {
  Make(
      kRayJobs,
      R"({"kind":"RayJob","metadata":{"name":"r","labels":{"muster.io/job-uid":"u"},"annotations":{"bed.test/run":"5s"}},)"
      R"("spec":{"suspend":true,"shutdownAfterJobFinishes":true,"rayClusterSpec":)" +
          RayClusterSpec() + "}}");
  const std::string path = kRayJobs + "/r";
  EXPECT_EQ(Text(Status(path), {"jobDeploymentStatus"}), "Suspended");
  client_.JsonPatch(path, kRelease);
  EXPECT_EQ(Text(Status(path), {"jobDeploymentStatus"}), "Running");
  EXPECT_EQ(Text(Status(path), {"jobStatus"}), "RUNNING");
  EXPECT_EQ(Pods().size(), 4u);
  const json::object cluster =
      member_.Object(kRayClusters + "/" + Text(Status(path), {"rayClusterName"}));
  EXPECT_EQ(Text(cluster, {"metadata", "labels", "muster.io/job-uid"}), "u");
  EXPECT_EQ(Text(cluster, {"status", "state"}), "ready");
  member_.Advance(5'000);
  EXPECT_EQ(Text(Status(path), {"jobDeploymentStatus"}), "Complete");
  EXPECT_EQ(Text(Status(path), {"jobStatus"}), "SUCCEEDED");
  EXPECT_EQ(Pods().size(), 1u) << "only the submitter is left";
}

TEST_F(FakeControllers, ARayJob_ThatCannotBeSuspended_IsRefused_AndASuspendedOneLosesItsCluster) {
  Make(kRayJobs,
       R"({"kind":"RayJob","metadata":{"name":"bad"},"spec":{"suspend":true,"rayClusterSpec":)" +
           RayClusterSpec() + "}}");
  EXPECT_EQ(Text(Status(kRayJobs + "/bad"), {"jobDeploymentStatus"}), "ValidationFailed");
  Make(
      kRayJobs,
      R"({"kind":"RayJob","metadata":{"name":"r"},"spec":{"shutdownAfterJobFinishes":true,"rayClusterSpec":)" +
          RayClusterSpec() + "}}");
  EXPECT_EQ(Pods().size(), 4u);
  client_.JsonPatch(kRayJobs + "/r", R"([{"op":"add","path":"/spec/suspend","value":true}])");
  EXPECT_EQ(Text(Status(kRayJobs + "/r"), {"jobDeploymentStatus"}), "Suspended");
  EXPECT_TRUE(Pods().empty());
}

TEST_F(FakeControllers, ARayCluster_FollowsItsSuspension) {
  std::string spec = RayClusterSpec();
  spec.insert(1, R"("suspend":true,)");
  Make(kRayClusters, R"({"kind":"RayCluster","metadata":{"name":"c"},"spec":)" + spec + "}");
  EXPECT_EQ(Text(Status(kRayClusters + "/c"), {"state"}), "suspended");
  client_.JsonPatch(kRayClusters + "/c", kRelease);
  EXPECT_EQ(Text(Status(kRayClusters + "/c"), {"state"}), "ready");
  EXPECT_EQ(Number(Status(kRayClusters + "/c"), {"readyWorkerReplicas"}), 2);
  client_.JsonPatch(kRayClusters + "/c",
                    R"([{"op":"replace","path":"/spec/suspend","value":true}])");
  EXPECT_EQ(Text(Status(kRayClusters + "/c"), {"state"}), "suspended");
  EXPECT_TRUE(Pods().empty());
}

TEST_F(FakeControllers, ALeaderWorkerSet_IsScaled_AndMakesFailedGroupsAnew) {
  Make(
      kSets,
      R"({"kind":"LeaderWorkerSet","metadata":{"name":"l"},"spec":{"replicas":0,"leaderWorkerTemplate":{"size":2,"workerTemplate":)" +
          PodTemplate("", "Always") + "}}}");
  const std::string path = kSets + "/l";
  EXPECT_TRUE(Pods().empty());
  const PlainAnswer scaled = client_.Ask("PATCH", path + "/scale", R"({"spec":{"replicas":2}})",
                                         "application/merge-patch+json");
  EXPECT_EQ(Number(scaled.object(), {"spec", "replicas"}), 2);
  EXPECT_EQ(Reason(path, "Available"), "True AllGroupsReady");
  EXPECT_EQ(Pods(), (std::vector<std::string>{"l-0 Running", "l-0-1 Running", "l-1 Running",
                                              "l-1-1 Running"}));
  member_.Disrupt("default", "l-1-1", "EvictionByEvictionAPI");
  EXPECT_EQ(member_.counts().pods_created["u/1"], 6) << "the whole group was made again";
  EXPECT_EQ(Number(Status(path), {"readyReplicas"}), 2);
  client_.Ask("PATCH", path + "/scale", R"({"spec":{"replicas":0}})",
              "application/merge-patch+json");
  EXPECT_TRUE(Pods().empty());
}

TEST_F(FakeControllers, SwitchedOff_NothingHappens_AndATestSetsTheStatus) {
  member_.SetControllers(false);
  Make(kJobs, Job("a", kRun));
  EXPECT_TRUE(Pods().empty());
  member_.SetStatus(kJobs + "/a", R"({"active":3})");
  EXPECT_EQ(Number(Status(kJobs + "/a"), {"active"}), 3);
  member_.SetControllers(true);
  EXPECT_EQ(Number(Status(kJobs + "/a"), {"active"}), 1);
}

}  // namespace
}  // namespace muster::fake
