// The facts that a member reports: its capacity, the use by pods of others, machines, version and
// kinds; and its facts when the pods of others cannot be listed.
#include <chrono>
#include <thread>

#include "backends/k8s/session.h"
#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kUnseen[] = "pods of others cannot be seen: their room counts as free";
// Trouble that lasts 3 s is shown within 1 s more.
constexpr auto kTroubleShown = std::chrono::milliseconds(4500);
constexpr char kOthers[] = "muster.io/instance!=";

// The fake member has four nodes of 64 cpu, 256Gi, 8 nvidia.com/gpu and 110 pods, each in a zone
// of its own.
class FactsTest : public BackendWorld {
 protected:
  // A pod of another user, which the member binds and runs.
  void AddPod(const std::string& name, const std::string& cpu, json::object more = {},
              json::object labels = {}) {
    json::object spec = std::move(more);
    spec["containers"] =
        json::array{{{"name", "c"},
                     {"image", "i"},
                     {"resources", {{"requests", {{"cpu", cpu}, {"memory", "1Gi"}}}}}}};
    const json::object pod{{"apiVersion", "v1"},
                           {"kind", "Pod"},
                           {"metadata", {{"name", name}, {"labels", std::move(labels)}}},
                           {"spec", std::move(spec)}};
    const auto made = member_.Call("POST", kPods, json::serialize(pod));
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void DeletePod(const std::string& name) {
    member_.Call("DELETE", std::string(kPods) + "/" + name + "?gracePeriodSeconds=0");
  }
  ClusterFacts AwaitOthers(std::int64_t cpu) {
    return sink_.AwaitFacts([&](const ClusterFacts& facts) {
      return facts.healthy && AmountOf(facts.used_by_others, "cpu") == cpu;
    });
  }
  int Refuse(const char* verb, std::int64_t times = -1) {
    return member_.Inject({.kind = FaultKind::kAnswer,
                           .verb = verb,
                           .path = "/pods",
                           .labels = kOthers,
                           .times = times,
                           .status = 403,
                           .reason = "Forbidden",
                           .message = "pods is forbidden"});
  }
  static bool Unseen(const ClusterFacts& facts) {
    return facts.message.find(kUnseen) != std::string::npos;
  }
};

TEST_F(FactsTest, TellOfNodes_VersionAndKinds_AndChangeWithThem) {
  Connect();
  const ClusterFacts all =
      sink_.AwaitFacts([](const ClusterFacts& facts) { return !facts.allocatable.empty(); });
  const ResourceList whole{
      {"cpu", 256'000}, {"memory", 1024 * kGi}, {"nvidia.com/gpu", 32}, {"pods", 440}};
  EXPECT_EQ(all.incarnation, member_.incarnation());
  EXPECT_EQ(all.labels.at("zone"), "a");
  EXPECT_EQ(all.allocatable, whole);
  EXPECT_EQ(all.capacity, whole);
  EXPECT_TRUE(all.used_by_others.empty());
  EXPECT_EQ(all.node_count, 4);
  EXPECT_EQ(all.version, "v1.36.3");
  ASSERT_NE(all.kinds, nullptr);
  EXPECT_EQ(*all.kinds, (std::vector<std::string>{"Job", "JobSet", "LeaderWorkerSet", "PyTorchJob",
                                                  "RayCluster", "RayJob"}));
  ASSERT_NE(all.machines, nullptr);
  ASSERT_EQ(all.machines->size(), 4u);
  const MachineGroup& first = all.machines->front();
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(
      first.free,
      (ResourceList{{"cpu", 64'000}, {"memory", 256 * kGi}, {"nvidia.com/gpu", 8}, {"pods", 110}}));
  EXPECT_EQ(first.labels, (LabelMap{{"kubernetes.io/arch", "amd64"},
                                    {"kubernetes.io/os", "linux"},
                                    {"topology.kubernetes.io/zone", "zone-1"}}));
  EXPECT_FALSE(Unseen(all)) << all.message;
  member_.SetNodeReady("node-1", false);
  const ClusterFacts fewer = sink_.AwaitFacts(
      [](const ClusterFacts& facts) { return AmountOf(facts.allocatable, "cpu") == 192'000; });
  EXPECT_EQ(fewer.capacity, whole) << "the node is still there";
  EXPECT_EQ(fewer.node_count, 4);
  EXPECT_EQ(fewer.machines->size(), 3u);
}

TEST_F(FactsTest, AKindThatIsNotInstalled_IsNotTold) {
  member_.SetInstalled("rayjobs", false);
  Connect();
  const ClusterFacts facts = sink_.AwaitFacts([](const ClusterFacts& one) { return one.healthy; });
  ASSERT_NE(facts.kinds, nullptr);
  EXPECT_EQ(*facts.kinds, (std::vector<std::string>{"Job", "JobSet", "LeaderWorkerSet",
                                                    "PyTorchJob", "RayCluster"}));
}

TEST_F(FactsTest, PodsOfOthersTakeRoom_FromTheFirstListOn_UntilTheyAreGone) {
  AddPod("before", "2", {{"nodeName", "node-1"}});
  Connect();
  AwaitOthers(2000);
  AddPod("bound", "3", {{"nodeName", "node-2"}});
  AddPod("waits", "50", {{"nodeSelector", {{"no", "such-node"}}}});
  AddPod("theirs", "4", {{"nodeName", "node-2"}}, {{kInstanceLabel, "another"}});
  const ClusterFacts told = AwaitOthers(9000);
  EXPECT_EQ(told.used_by_others, (ResourceList{{"cpu", 9000}, {"memory", 3 * kGi}, {"pods", 3}}));
  EXPECT_EQ(AmountOf(told.allocatable, "cpu"), 256'000) << "what nodes offer stays";
  EXPECT_EQ(AmountOf(told.machines->back().free, "cpu"), 57'000);
  EXPECT_EQ(AmountOf(told.machines->back().free, "pods"), 108);
  EXPECT_EQ(told.machines->back().labels.at("topology.kubernetes.io/zone"), "zone-2");
  DeletePod("bound");
  AwaitOthers(6000);
  member_.SetStatus(std::string(kPods) + "/theirs", R"({"phase":"Succeeded"})");
  AwaitOthers(2000);
}

TEST_F(FactsTest, OurPodsTakeRoomOnMachines_AndAreNotOthers) {
  Connect();
  AddPod("other", "1");
  AwaitOthers(1000);
  const auto free_places = [](const ClusterFacts& facts) {
    std::int64_t sum = 0;
    for (const MachineGroup& group : *facts.machines)
      sum += AmountOf(group.free, "pods") * group.count;
    return sum;
  };
  ASSERT_TRUE(Run(Key(), {}).ok());
  const ClusterFacts told =
      sink_.AwaitFacts([&](const ClusterFacts& facts) { return free_places(facts) == 438; });
  EXPECT_EQ(AmountOf(told.used_by_others, "pods"), 1);
}

TEST_F(FactsTest, AMemberThatDoesNotShowPodsOfOthers_IsHealthyAndSaysSo) {
  AddPod("other", "2");
  Refuse("list");
  Connect();
  const ClusterFacts told = sink_.AwaitFacts(Unseen);
  EXPECT_TRUE(told.healthy);
  EXPECT_TRUE(told.used_by_others.empty());
  EXPECT_TRUE(Ensure(JobOf(Key(), true)).ok());
  EXPECT_EQ(List().size(), 1u);
  std::this_thread::sleep_for(kTroubleShown);
  const auto later = muster::testing::Wait<ClusterFacts>(
      [&](Callback<ClusterFacts> done) { backend_->Facts("m", std::move(done)); });
  EXPECT_TRUE(later->healthy) << later->message;
}

TEST_F(FactsTest, PodsOfOthersThatMayNoLongerBeSeen_CountAsFree) {
  AddPod("other", "2");
  Connect();
  AwaitOthers(2000);
  Refuse("list");
  Refuse("watch");
  member_.CloseWatches();
  const ClusterFacts told = sink_.AwaitFacts(Unseen);
  EXPECT_TRUE(told.healthy);
  EXPECT_TRUE(told.used_by_others.empty());
  EXPECT_EQ(AmountOf(told.machines->back().free, "cpu"), 64'000);
}

// A member that lists the pods of others slowly.
class SlowPodsTest : public FactsTest {
 protected:
  void Open() {
    auto access = LoadKubeconfig(kubeconfig_, {});
    MUSTER_CHECK(access.ok());
    SessionOptions options;
    options.member = "m";
    options.instance_id = kInstance;
    options.others_within_ms = 50;
    session_ = Session::Make({clock_, timers_, random_, io_}, std::move(*access), options, sink_,
                             [](Renewal) {});
  }
  ~SlowPodsTest() override {
    member_.ClearFaults();
    if (session_ != nullptr) session_->Close();
  }

  IoThreads io_;
  std::shared_ptr<Session> session_;
};

TEST_F(SlowPodsTest, AreNotWaitedFor_AndCountWhenTheyHaveCome) {
  AddPod("other", "2");
  member_.Inject({.kind = FaultKind::kDelay,
                  .verb = "list",
                  .path = "/pods",
                  .labels = kOthers,
                  .delay_ms = 6000});
  Open();
  const ClusterFacts early = sink_.AwaitFacts([](const ClusterFacts& one) { return one.healthy; });
  EXPECT_TRUE(Unseen(early)) << early.message;
  EXPECT_TRUE(early.used_by_others.empty());
  const ClusterFacts told = AwaitOthers(2000);
  EXPECT_FALSE(Unseen(told)) << told.message;
}

}  // namespace
}  // namespace muster::k8s
