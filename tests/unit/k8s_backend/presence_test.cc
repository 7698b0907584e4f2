// Objects that a member no longer reports: deleted, without their labels, or deleted with children
// that still run.
#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

constexpr char kMerge[] = "application/merge-patch+json";
constexpr char kPodsPath[] = "/api/v1/namespaces/default/pods";

class PresenceTest : public BackendWorld {
 protected:
  Result<Presence> Confirm(const DispatchKey& key, const RemoteObject& object,
                           const std::string& uid) {
    return muster::testing::Wait<Presence>(
        [&](Callback<Presence> done) { backend_->Confirm(key, object, uid, std::move(done)); });
  }
  Result<Presence> Confirm(const DispatchKey& key, const std::string& uid) {
    return Confirm(key, {"batch/v1", "Job", "default", "work"}, uid);
  }
  // A job that runs until it is ended.
  std::string Running(const DispatchKey& key) {
    const auto made = Run(key, {});
    EXPECT_TRUE(made.ok());
    sink_.recording.AwaitPhase(key, RemotePhase::kRunning);
    return made->remote_uid;
  }
  void Patch(const std::string& path, const std::string& patch) {
    EXPECT_EQ(member_.Call("PATCH", path, patch, kMerge).status, 200) << patch;
  }
  void DeleteWith(const std::string& path, const std::string& policy) {
    EXPECT_EQ(member_.Call("DELETE", path + "?propagationPolicy=" + policy).status, 200);
  }
  // The objects of the attempt that are left on the member.
  std::size_t Pods(const DispatchKey& key) {
    return member_.ActivePods(key.job_uid.ToString(), key.attempt).size();
  }

  // An object of another kind, created and released.
  std::string Started(const DispatchKey& key, const RemoteObject& object, json::object spec) {
    const json::object labels = json::object{{kInstanceLabel, kInstance},
                                             {kJobUidLabel, key.job_uid.ToString()},
                                             {kAttemptLabel, std::to_string(key.attempt)}};
    const json::object manifest{
        {"apiVersion", object.api_version},
        {"kind", object.kind},
        {"metadata", {{"name", object.name}, {"namespace", object.ns}, {"labels", labels}}},
        {"spec", std::move(spec)}};
    DispatchOrder order = muster::testing::OrderOf(key, object.api_version, object.kind,
                                                   object.name, json::serialize(manifest));
    order.suspended = false;
    order.sequence = 7;
    const auto made = Ensure(order);
    EXPECT_TRUE(made.ok()) << object.kind << ": " << (made.ok() ? "" : made.error().detail);
    return made.ok() ? made->remote_uid : "";
  }
  static json::object Template(const DispatchKey& key, const std::string& container,
                               const std::string& restart) {
    const json::object labels{{kInstanceLabel, kInstance},
                              {kJobUidLabel, key.job_uid.ToString()},
                              {kAttemptLabel, std::to_string(key.attempt)},
                              {kPodSetLabel, "main"}};
    return {{"metadata", {{"labels", labels}}},
            {"spec",
             {{"restartPolicy", restart},
              {"containers", json::array{{{"name", container}, {"image", "busybox"}}}}}}};
  }
};

TEST_F(PresenceTest, AnObjectThatLostALabel_GetsItBack_AndIsToldOfAgain) {
  Connect();
  for (const char* label : {"muster.io/instance", "muster.io/job-uid", "muster.io/attempt"}) {
    const DispatchKey key = Key();
    const std::string uid = Running(key);
    const std::string path = std::string(kJobs) + "/work";
    Patch(path, R"({"metadata":{"labels":{")" + std::string(label) + R"(":null}}})");
    sink_.recording.AwaitPhase(key, RemotePhase::kMissing);
    const std::size_t told = sink_.recording.Of(key).size();
    const auto presence = Confirm(key, uid);
    ASSERT_TRUE(presence.ok()) << presence.error().detail;
    EXPECT_TRUE(presence->there) << label;
    EXPECT_NE(presence->note.find("put back"), std::string::npos) << presence->note;
    EXPECT_EQ(TextAt(path, "/metadata/labels/muster.io~1instance"), kInstance) << label;
    EXPECT_EQ(TextAt(path, "/metadata/labels/muster.io~1job-uid"), key.job_uid.ToString()) << label;
    EXPECT_EQ(TextAt(path, "/metadata/labels/muster.io~1attempt"), "1") << label;
    const auto again = [&] {
      const std::vector<Observation> all = sink_.recording.Of(key);
      return all.size() > told && all.back().phase == RemotePhase::kRunning;
    };
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!again() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_TRUE(again()) << label;
    EXPECT_EQ(Pods(key), 1u) << "nothing of it was touched";
    ASSERT_TRUE(Remove(key, At("work", uid)).ok());
  }
}

TEST_F(PresenceTest, AllMarksArePutBack_FinalizerAndAnnotationToo) {
  Connect();
  const DispatchKey key = Key();
  const std::string uid = Running(key);
  const std::string path = std::string(kJobs) + "/work";
  Patch(path, R"({"metadata":{"labels":null,"annotations":null,"finalizers":null}})");
  const auto presence = Confirm(key, uid);
  ASSERT_TRUE(presence.ok()) << presence.error().detail;
  EXPECT_TRUE(presence->there);
  EXPECT_EQ(TextAt(path, "/metadata/labels/muster.io~1instance"), kInstance);
  EXPECT_EQ(TextAt(path, "/metadata/annotations/muster.io~1released"), "true");
  EXPECT_EQ(TextAt(path, "/metadata/finalizers/0"), kRecordFinalizer);
  EXPECT_EQ(Confirm(key, uid)->note, "") << "nothing is wrong with it any more";
}

TEST_F(PresenceTest, WhoTakesThemAwayAgainAndAgain_IsNotAnsweredAtOnce) {
  Connect();
  const DispatchKey key = Key();
  const std::string uid = Running(key);
  const std::string path = std::string(kJobs) + "/work";
  const std::string strip = R"({"metadata":{"labels":{"muster.io/instance":null}}})";
  Patch(path, strip);
  ASSERT_TRUE(Confirm(key, uid).ok());
  Patch(path, strip);
  const auto again = Confirm(key, uid);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kUnavailable) << "asked again after a while";
  ASSERT_TRUE(Remove(key, At("work", uid)).ok()) << "a removal goes by name and uid";
  EXPECT_EQ(StatusOf(path), 404);
  EXPECT_EQ(Pods(key), 0u);
}

TEST_F(PresenceTest, WhatIsGone_OrHasAnotherUid_IsGone) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  const auto other = Confirm(key, "00000000-0000-4000-8000-000000000000");
  ASSERT_TRUE(other.ok()) << other.error().detail;
  EXPECT_FALSE(other->there);
  EXPECT_TRUE(Confirm(key, made->remote_uid)->there);
  ASSERT_TRUE(Remove(key, At("work", made->remote_uid)).ok());
  const auto gone = Confirm(key, made->remote_uid);
  ASSERT_TRUE(gone.ok());
  EXPECT_FALSE(gone->there);
  EXPECT_EQ(gone->note, "");
}

TEST_F(PresenceTest, AQuestionThatIsNotAnswered_ProvesNothing) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  for (const int status : {403, 500, 503}) {
    const int fault = member_.Inject({.kind = FaultKind::kAnswer,
                                      .verb = "get",
                                      .path = "/jobs",
                                      .times = -1,
                                      .status = status,
                                      .reason = "laid",
                                      .message = "by the test"});
    EXPECT_FALSE(Confirm(key, made->remote_uid).ok()) << status;
    member_.Withdraw(fault);
  }
  EXPECT_TRUE(Confirm(key, made->remote_uid)->there);
}

TEST_F(PresenceTest, WhatAnOrphaningDeletionLeaves_IsFoundAndRemoved) {
  Connect();
  struct Case {
    RemoteObject object;
    std::string path;
    std::function<json::object(const DispatchKey&)> spec;
    const char* left;
  };
  const auto job_spec = [](const DispatchKey& key) {
    return json::object{{"backoffLimit", 0}, {"template", Template(key, "main", "Never")}};
  };
  const Case cases[] =
      {
          {{"batch/v1", "Job", "default", "plain"},
           std::string(kJobs) + "/plain",
           job_spec,
           "1 pod"},
          {{"jobset.x-k8s.io/v1alpha2", "JobSet", "default", "set"},
           "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/set",
           [&](const DispatchKey& key) {
    return json::object{
        {"replicatedJobs",
         json::array{{{"name", "a"}, {"replicas", 2}, {"template", {{"spec", job_spec(key)}}}}}}};
           },
           "2 Jobs and 2 pods"},
          {{"kubeflow.org/v1", "PyTorchJob", "default", "torch"},
           "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/torch",
           [](const DispatchKey& key) {
    return json::object{
        {"runPolicy", json::object{{"suspend", false}}},
        {"pytorchReplicaSpecs",
         {{"Master", {{"replicas", 1}, {"template", Template(key, "pytorch", "Never")}}},
          {"Worker", {{"replicas", 2}, {"template", Template(key, "pytorch", "Never")}}}}}};
           },
           "3 pods"},
             {{"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "default", "serve"},
              "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets/serve",
              [](const DispatchKey& key) {
    return json::object{{"replicas", 1},
                        {"leaderWorkerTemplate",
                         {{"size", 2}, {"workerTemplate", Template(key, "main", "Always")}}}};
              },
              "2 pods"},
      {{"ray.io/v1", "RayJob", "default", "ray"},
       "/apis/ray.io/v1/namespaces/default/rayjobs/ray",
       [](const DispatchKey& key) {
    return json::object{
        {"entrypoint", "x"},
        {"shutdownAfterJobFinishes", true},
        {"submitterPodTemplate", Template(key, "submit", "Never")},
        {"rayClusterSpec", {{"headGroupSpec", {{"template", Template(key, "head", "Always")}}}}}};
       },
       "1 RayCluster"},
      };
  for (const Case& one : cases) {
    const DispatchKey key = Key();
    const std::string uid = Started(key, one.object, one.spec(key));
    ASSERT_NE(uid, "");
    sink_.recording.AwaitPhase(key, RemotePhase::kRunning);
    const std::size_t pods = Pods(key);
    ASSERT_GT(pods, 0u) << one.object.kind;
    DeleteWith(one.path, "Orphan");
    ASSERT_TRUE(muster::testing::Wait<Done>([&](Callback<Done> done) {
                  backend_->Acknowledge(key, one.object, uid, std::move(done));
                }).ok());
    ASSERT_EQ(StatusOf(one.path), 404) << one.object.kind;
    ASSERT_EQ(Pods(key), pods) << one.object.kind << ": they run on";
    const auto gone = Confirm(key, one.object, uid);
    ASSERT_TRUE(gone.ok()) << one.object.kind << ": " << gone.error().detail;
    EXPECT_FALSE(gone->there);
    EXPECT_NE(gone->note.find(one.left), std::string::npos)
        << one.object.kind << ": " << gone->note;
    EXPECT_EQ(Pods(key), 0u) << one.object.kind << ": only now is it gone";
    EXPECT_TRUE(member_.counts().foreign_writes.empty()) << one.object.kind;
  }
}

TEST_F(PresenceTest, ARemovalAfterAnOrphaningDeletion_TakesWhatIsLeft) {
  Connect();
  const DispatchKey key = Key();
  const std::string uid = Running(key);
  DeleteWith(std::string(kJobs) + "/work", "Orphan");
  ASSERT_TRUE(Acknowledge(key, uid).ok());
  ASSERT_EQ(Pods(key), 1u);
  const auto removed = Remove(key, At("work", uid));
  ASSERT_TRUE(removed.ok()) << removed.error().detail;
  EXPECT_EQ(Pods(key), 0u);
}

TEST_F(PresenceTest, WhatBelongsToACopyUnderOurLabels_IsNotTouched) {
  Connect();
  const DispatchKey key = Key();
  const std::string uid = Running(key);
  ASSERT_TRUE(Remove(key, At("work", uid)).ok());
  const json::value manifest = json::parse(JobOf(key, false, {}, "work-copy").object.json);
  ASSERT_EQ(member_.Call("POST", kJobs, json::serialize(manifest)).status, 201);
  // A pod of a user who has copied the labels, under another name.
  json::object pod = Template(key, "main", "Never");
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"].as_object()["name"] = "spoofed";
  ASSERT_EQ(member_.Call("POST", kPodsPath, json::serialize(pod)).status, 201);
  const auto gone = Confirm(key, uid);
  ASSERT_TRUE(gone.ok()) << gone.error().detail;
  EXPECT_FALSE(gone->there);
  EXPECT_EQ(gone->note, "");
  EXPECT_EQ(Pods(key), 2u);
  EXPECT_TRUE(member_.counts().foreign_writes.empty());
}

TEST_F(PresenceTest, ARemovalThatMeetsAConflict_LooksAgainByTheUid) {
  Connect();
  const DispatchKey key = Key();
  const std::string uid = Running(key);
  member_.Inject({.kind = FaultKind::kAnswer,
                  .verb = "delete",
                  .path = "/jobs",
                  .status = 409,
                  .reason = "Conflict",
                  .message = "the object has been modified"});
  const auto removed = Remove(key, At("work", uid));
  ASSERT_TRUE(removed.ok()) << removed.error().detail;
  EXPECT_TRUE(removed->existed);
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 404);
  EXPECT_EQ(Pods(key), 0u);
}

}  // namespace
}  // namespace muster::k8s
