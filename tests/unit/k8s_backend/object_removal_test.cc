// Configuration objects on a fake member: removed, left behind, and reported when others change
// them.
#include "tests/unit/k8s_backend/object_world.h"

namespace muster::k8s {
namespace {

constexpr char kNamespace[] = "/api/v1/namespaces/ml";

class ObjectRemovalTest : public ObjectWorld {
 protected:
  static ResourceRef NamespaceRef() { return {"", "v1", "Namespace", "", "ml"}; }
  static ObjectOrder NamespaceOrder() {
    return Order(NamespaceRef(), R"({"metadata":{"name":"ml","labels":{"team":"a"}}})");
  }
  // Repeats the removal until the object is gone: garbage collection and finalizers need time.
  static DispatchOrder JobInside(const DispatchKey& key, bool suspended) {
    DispatchOrder job = JobOf(key, suspended);
    job.object.ns = "ml";
    json::value manifest = ParseJson(job.object.json).value();
    manifest.as_object()["metadata"].as_object()["namespace"] = "ml";
    job.object.json = json::serialize(manifest);
    return job;
  }
  void RemoveWholly(const ResourceRef& ref) {
    for (int i = 0; i < 500; ++i) {
      const auto removed = RemoveIt(ref);
      ASSERT_TRUE(removed.ok()) << removed.error().detail;
      if (*removed) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "it never went";
  }
};

TEST_F(ObjectRemovalTest, WhatIsOursGoes_AndWhatIsGoneIsNoError) {
  Connect();
  Must(QueueOrder("9"));
  RemoveWholly(QueueRef());
  EXPECT_EQ(StatusOf(kQueue), 404);
  const auto again = RemoveIt(QueueRef());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again);
  member_.SetInstalled("cohorts", false);
  const auto unserved = RemoveIt({"kueue.x-k8s.io", "v1beta1", "Cohort", "", "c"});
  ASSERT_TRUE(unserved.ok());
  EXPECT_TRUE(*unserved) << "objects go with their kind";
}

TEST_F(ObjectRemovalTest, WhatIsNotOursStays) {
  Connect();
  MakeForeignQueue("1");
  EXPECT_TRUE(RemoveIt(QueueRef()).value()) << "it is not there for us";
  EXPECT_EQ(StatusOf(kQueue), 200);
  Must(QueueOrder("9"));
  EXPECT_TRUE(RemoveIt(QueueRef(), false, "ml/other").value());
  EXPECT_EQ(StatusOf(kQueue), 200);
  Edit(kQueue, R"({"metadata":{"annotations":{"muster.io/placement":null}}})");
  EXPECT_TRUE(RemoveIt(QueueRef()).value()) << "somebody has taken it from us";
  EXPECT_EQ(StatusOf(kQueue), 200);
}

TEST_F(ObjectRemovalTest, AnAbandonedObjectStays_AsNobodys) {
  Connect();
  Must(QueueOrder("9"));
  const auto left = RemoveIt(QueueRef(), true);
  ASSERT_TRUE(left.ok());
  EXPECT_TRUE(*left);
  const json::object metadata = member_.Object(kQueue).at("metadata").as_object();
  const std::string text = json::serialize(metadata);
  EXPECT_EQ(text.find("muster.io/"), std::string::npos) << text;
  EXPECT_EQ(TextAt(kQueue, "/metadata/labels/team"), "a");
  EXPECT_EQ(Quota(), "9");
}

TEST_F(ObjectRemovalTest, AFinalizerThatHangs_IsWaitedFor) {
  Connect();
  Must(QueueOrder("9"));
  Edit(kQueue, R"({"metadata":{"finalizers":["kueue.x-k8s.io/resource-in-use"]}})");
  EXPECT_FALSE(RemoveIt(QueueRef()).value());
  EXPECT_FALSE(RemoveIt(QueueRef()).value());
  Edit(kQueue, R"({"metadata":{"finalizers":null}})");
  RemoveWholly(QueueRef());
}

TEST_F(ObjectRemovalTest, ANamespaceThatWeMade_GoesWithWhatIsInIt) {
  Connect();
  ASSERT_EQ(Must(NamespaceOrder()).status.availability, ManifestAvailability::kAvailable);
  Must(Order({"", "v1", "ConfigMap", "ml", "cm"}, R"({"metadata":{"name":"cm"}})"));
  RemoveWholly(NamespaceRef());
  EXPECT_EQ(StatusOf(kNamespace), 404);
  EXPECT_EQ(StatusOf("/api/v1/namespaces/ml/configmaps/cm"), 404);
}

TEST_F(ObjectRemovalTest, ANamespaceThatWasThereBefore_IsLetGoAndStays) {
  Connect();
  MakeForeign("/api/v1/namespaces", R"({"metadata":{"name":"ml"}})");
  ASSERT_EQ(Must(NamespaceOrder()).status.result, ManifestResult::kApplied);
  EXPECT_EQ(OwnerOf(kNamespace), "here//crp");
  EXPECT_TRUE(RemoveIt(NamespaceRef()).value());
  EXPECT_EQ(StatusOf(kNamespace), 200);
  EXPECT_EQ(OwnerOf(kNamespace), "");
  // Objects of any other kind are removed, as in KubeFleet.
  MakeForeignQueue("1");
  Must(QueueOrder("9"));
  RemoveWholly(QueueRef());
  EXPECT_EQ(StatusOf(kQueue), 404);
}

TEST_F(ObjectRemovalTest, ANamespaceWithJobsOfMuster_WaitsForThem) {
  Connect();
  Must(NamespaceOrder());
  const DispatchKey key = Key();
  const auto made = Ensure(JobInside(key, true));
  ASSERT_TRUE(made.ok()) << made.error().detail;
  List();  // the reflectors have reported it
  EXPECT_FALSE(RemoveIt(NamespaceRef()).value());
  EXPECT_EQ(TextAt(kNamespace, "/status/phase"), "Active");
  RemovePolicy policy;
  policy.object = {"batch/v1", "Job", "ml", "work"};
  policy.expected_uid = made->remote_uid;
  ASSERT_TRUE(Remove(key, policy).ok());
  RemoveWholly(NamespaceRef());
}

TEST_F(ObjectRemovalTest, ANamespaceWithAnEndedJob_WaitsForItsRecord_AndTakesItAlong) {
  Connect();
  Must(NamespaceOrder());
  const DispatchKey key = Key();
  const auto made = Ensure(JobInside(key, false));
  ASSERT_TRUE(made.ok()) << made.error().detail;
  EXPECT_EQ(sink_.recording.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  EXPECT_FALSE(RemoveIt(NamespaceRef()).value()) << "nobody has it on record";
  const Status recorded = muster::testing::Wait<Done>([&](Callback<Done> done) {
    backend_->Acknowledge(key, {"batch/v1", "Job", "ml", "work"}, made->remote_uid,
                          std::move(done));
  });
  ASSERT_TRUE(recorded.ok()) << recorded.error().detail;
  RemoveWholly(NamespaceRef());
  EXPECT_EQ(StatusOf("/apis/batch/v1/namespaces/ml/jobs/work"), 404);
}

TEST_F(ObjectRemovalTest, ARefusalIsTold_AndTheUidIsAPrecondition) {
  Connect();
  Must(QueueOrder("9"));
  member_.Inject({.kind = FaultKind::kAnswer,
                  .verb = "delete",
                  .path = "/clusterqueues/cq",
                  .status = 403,
                  .reason = "Forbidden",
                  .message = "not you"});
  const auto refused = RemoveIt(QueueRef());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_EQ(refused.error().detail, "not you");
  const int fault = member_.Inject({.kind = FaultKind::kAnswer,
                                    .verb = "delete",
                                    .path = "/clusterqueues/cq",
                                    .status = 409,
                                    .reason = "Conflict",
                                    .message = "another uid"});
  RemoveWholly(QueueRef());
  EXPECT_EQ(member_.Struck(fault), 1) << "looked at again";
}

class ObjectListenTest : public ObjectWorld {
 protected:
  void Listen() {
    objects().Listen([this](const std::string& cluster) {
      EXPECT_EQ(cluster, "m");
      ++told_;
    });
  }
  ~ObjectListenTest() override {
    if (backend_ != nullptr) objects().Listen(nullptr);
  }
  void AwaitTold(int more_than) {
    for (int i = 0; i < 6000 && told_ <= more_than; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GT(told_, more_than);
  }
  void AwaitWatch() {
    for (int i = 0; i < 6000 && Requests("watch clusterqueues") == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_GT(Requests("watch clusterqueues"), 0);
  }
  std::atomic<int> told_{0};
};

TEST_F(ObjectListenTest, ChangesByOthersAreTold_AndNotOurOwn) {
  Connect();
  Listen();
  const ObjectOutcome made = Must(QueueOrder("9"));
  AwaitWatch();
  const int at_first = told_;
  const ObjectOutcome looked = Must(After(QueueOrder("9"), made));
  Edit(kQueue, R"({"spec":{"nominalQuota":"1"}})");
  AwaitTold(at_first);
  Must(After(QueueOrder("9"), looked));
  int before = told_;
  member_.Call("DELETE", kQueue);
  AwaitTold(before);
  MakeForeign("/apis/kueue.x-k8s.io/v1beta1/clusterqueues", R"({"metadata":{"name":"other"}})");
  member_.SendBookmarks();
  before = told_;
  Must(QueueOrder("9"));
  member_.SetStatus(kQueue, R"({"pendingWorkloads":5})");
  Edit("/apis/kueue.x-k8s.io/v1beta1/clusterqueues/other", R"({"spec":{"a":1}})");
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(told_, before) << "a controller's word in the status, an object that is not ours";
}

}  // namespace
}  // namespace muster::k8s
