#include "schedd/core/member/placement_ask.h"

#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

ResourceSelector Named(const std::string& name, const std::string& kind = "Job",
                       const std::string& group = "batch") {
  ResourceSelector selector;
  selector.group = group;
  selector.version = "v1";
  selector.kind = kind;
  selector.name = name;
  return selector;
}

ResourceSelector Labelled(const LabelMap& labels) {
  ResourceSelector selector = Named("");
  selector.labels = LabelSelector{labels, {}};
  return selector;
}

ResourceSelector Space(const std::string& name,
                       SelectionScope scope = SelectionScope::kNamespaceWithResources) {
  ResourceSelector selector = Named(name, "Namespace", "");
  selector.scope = scope;
  return selector;
}

class PlacementAskTest : public ::testing::Test {
 protected:
  PlacementAskTest() {
    world_.Queue("cq", "", {});
    config().namespaces["ml"] = {"ml", {{"team", "vision"}}, ""};
    world_.AddLocalQueue("ml", "lq", "cq");
    job_ = world_.Job("cq", 0, {});
    job_->name = "train";
    job_->ns = "ml";
    job_->local_queue = "lq";
  }
  ConfigView& config() { return world_.config(); }
  Placement& Put(const std::string& ns, const std::string& name,
                 const std::vector<ResourceSelector>& selectors = {}) {
    auto placement = std::make_shared<Placement>();
    placement->ns = ns;
    placement->name = name;
    placement->selectors = selectors;
    table_.Put(placement);
    config().placements = std::make_shared<const PlacementTable>(table_);
    return *placement;
  }
  void Erase(const std::string& ns, const std::string& name) {
    table_.Erase(ns, name);
    config().placements = std::make_shared<const PlacementTable>(table_);
  }
  void Own(const JobPlacement& own) { job_->placement = std::make_shared<const JobPlacement>(own); }
  PlacementAsk Ask(std::int64_t seconds_later = 0) {
    return AskOf(config(), AdmissionSettings{}, *job_,
                 {job_->submit_time.us + seconds_later * kMicrosPerSecond});
  }
  // The governing placement; "" if there is none.
  std::string Governor() {
    const PlacementPtr found = GoverningPlacement(config(), *job_, nullptr);
    return found == nullptr ? "" : MentionOf(*found);
  }

  World world_;
  PlacementTable table_;
  std::shared_ptr<JobRecord> job_;
};

TEST_F(PlacementAskTest, Governor_IsTheNearestOfAll_AndTheNextWhenItGoes) {
  Put("", "annotated");
  Put("", "of-queue");
  Put("", "of-cluster-queue");
  Put("", "of-namespace");
  Put("", "z-by-name", {Space("ml")});
  ResourceSelector by_label = Space("");
  by_label.labels = LabelSelector{{{"team", "vision"}}, {}};
  Put("", "y-by-label", {by_label});
  Put("ml", "selects-kind", {Named("")});
  Put("ml", "names-b", {Named("other"), Named("train")});
  Put("ml", "names-a", {Named("train")});
  Own({{}, "annotated", "", {}, false});
  config().local_queues[{"ml", "lq"}].placement = "of-queue";
  config().cluster_queues["cq"].placement = "of-cluster-queue";
  config().namespaces["ml"].placement = "of-namespace";
  EXPECT_EQ(Governor(), "ResourcePlacement ml/names-a");
  Erase("ml", "names-a");
  EXPECT_EQ(Governor(), "ResourcePlacement ml/names-b");
  Erase("ml", "names-b");
  EXPECT_EQ(Governor(), "ResourcePlacement ml/selects-kind");
  Erase("ml", "selects-kind");
  EXPECT_EQ(Governor(), "ClusterResourcePlacement y-by-label") << "the smaller name";
  Erase("", "y-by-label");
  EXPECT_EQ(Governor(), "ClusterResourcePlacement z-by-name");
  Erase("", "z-by-name");
  EXPECT_EQ(Governor(), "ClusterResourcePlacement annotated");
  job_->placement = nullptr;
  EXPECT_EQ(Governor(), "ClusterResourcePlacement of-queue");
  config().local_queues[{"ml", "lq"}].placement = "";
  EXPECT_EQ(Governor(), "ClusterResourcePlacement of-cluster-queue");
  config().cluster_queues["cq"].placement = "";
  EXPECT_EQ(Governor(), "ClusterResourcePlacement of-namespace");
  config().namespaces["ml"].placement = "";
  EXPECT_EQ(Governor(), "");
  EXPECT_TRUE(Ask().empty());
}

TEST_F(PlacementAskTest, ResourcePlacements_SelectInTheirOwnNamespace_ByKindNameOrLabels) {
  Own({{{"tier", "gold"}}, "", "", {}, false});
  struct Case {
    const char* name;
    std::string ns;
    ResourceSelector selector;
    bool governs;
  };
  ResourceSelector any = Labelled({});
  for (const Case& one : std::vector<Case>{
           {"by name", "ml", Named("train"), true},
           {"another name", "ml", Named("train2"), false},
           {"another namespace", "default", Named("train"), false},
           {"another kind of that name", "ml", Named("train", "RayJob", "ray.io"), false},
           {"another group", "ml", Named("train", "Job", "ray.io"), false},
           {"its labels", "ml", Labelled({{"tier", "gold"}}), true},
           {"other labels", "ml", Labelled({{"tier", "tin"}}), false},
           {"every label", "ml", any, true},
           {"its kind", "ml", Named(""), true},
           {"another kind", "ml", Named("", "RayJob", "ray.io"), false},
       }) {
    Put(one.ns, "x", {one.selector});
    EXPECT_EQ(Governor(), one.governs ? "ResourcePlacement ml/x" : "") << one.name;
    Erase(one.ns, "x");
  }
  job_->placement = nullptr;
  Put("ml", "x", {Labelled({{"tier", "gold"}})});
  EXPECT_EQ(Governor(), "") << "without labels";
}

TEST_F(PlacementAskTest, VariantOfAJob_GoesByWhatNamesTheJob) {
  Put("ml", "by-name", {Named("train")});
  job_->name = "train-variant-spot";
  EXPECT_EQ(Governor(), "");
  AdmissionState state;
  state.concurrent_parent = "ml/train";
  job_->admission_state = std::make_shared<const AdmissionState>(state);
  EXPECT_EQ(Governor(), "ResourcePlacement ml/by-name");
  EXPECT_TRUE(Selects(Named("train"), *job_));
}

TEST_F(PlacementAskTest, ClusterResourcePlacements_TakeJobsOnlyWithTheContentOfTheirNamespace) {
  struct Case {
    const char* name;
    std::vector<ResourceSelector> selectors;
    bool governs;
  };
  using Scope = SelectionScope;
  ResourceSelector by_name_label = Space("");
  by_name_label.labels = LabelSelector{{{"kubernetes.io/metadata.name", "ml"}}, {}};
  for (const Case& one : std::vector<Case>{
           {"with content", {Space("ml")}, true},
           {"the namespace only", {Space("ml", Scope::kNamespaceOnly)}, false},
           {"another namespace", {Space("default")}, false},
           {"every namespace", {Space("")}, true},
           {"by the label that Kubernetes sets", {by_name_label}, true},
           {"a job of the scope",
            {Space("ml", Scope::kNamespaceWithResourceSelectors), Named("train")},
            true},
           {"another job of the scope",
            {Space("ml", Scope::kNamespaceWithResourceSelectors), Named("other")},
            false},
           {"a job without its namespace", {Named("train")}, false},
           {"the scope alone", {Space("ml", Scope::kNamespaceWithResourceSelectors)}, false},
       }) {
    Put("", "x", one.selectors);
    EXPECT_EQ(Governor(), one.governs ? "ClusterResourcePlacement x" : "") << one.name;
    Erase("", "x");
  }
}

TEST_F(PlacementAskTest, ReservedNamespaces_AreTakenByNoPlacement) {
  ResourceSelector labelled = Space("");
  labelled.labels = LabelSelector{{{"team", "vision"}}, {}};
  const LabelMap labels{{"team", "vision"}};
  for (const auto& [ns, takes] : std::map<std::string, bool>{
           {"ml", true}, {"default", false}, {"kube-system", false}, {"fleet-hub", false}}) {
    EXPECT_EQ(SelectsNamespace(Space(""), {ns, labels, {}}), takes) << ns;
    EXPECT_EQ(SelectsNamespace(labelled, {ns, labels, {}}), takes) << ns;
  }
}

TEST_F(PlacementAskTest, Annotation_PrefersTheNamespacesOwnPlacement_AndOneThatLeadsNowhereIsSaid) {
  config().local_queues[{"ml", "lq"}].placement = "gpu";
  PlacementAsk ask = Ask();
  EXPECT_EQ(ask.placement, nullptr);
  EXPECT_EQ(ask.obstacle,
            "annotation muster.io/placement of LocalQueue ml/lq names gpu, but there is neither a "
            "ResourcePlacement ml/gpu nor a ClusterResourcePlacement gpu");
  EXPECT_FALSE(ask.empty());
  Put("", "gpu");
  EXPECT_EQ(Governor(), "ClusterResourcePlacement gpu");
  EXPECT_EQ(Ask().obstacle, "");
  Put("ml", "gpu");
  EXPECT_EQ(Governor(), "ResourcePlacement ml/gpu");
  Own({{}, "none", "", {}, false});
  EXPECT_EQ(Ask().obstacle,
            "annotation muster.io/placement of the job names none, but there is neither a "
            "ResourcePlacement ml/none nor a ClusterResourcePlacement none")
      << "a name that leads nowhere does not fall back to the queue's";
}

TEST_F(PlacementAskTest, PolicyThatPicksNoCluster_IsAnObstacle) {
  Placement& placement = Put("ml", "x", {Named("train")});
  placement.policy.type = PlacementType::kPickN;
  placement.policy.number_of_clusters = 0;
  EXPECT_EQ(Ask().obstacle, "ResourcePlacement ml/x picks no cluster: its numberOfClusters is 0");
  placement.policy.number_of_clusters = 1;
  EXPECT_EQ(Ask().obstacle, "");
}

TEST_F(PlacementAskTest, JobsOwnWord_CountsIfItAsksForSomething) {
  Own({{{"tier", "gold"}}, "", "", {}, false});
  EXPECT_TRUE(Ask().empty()) << "labels alone ask for nothing";
  Own({{}, "", "west", {}, false});
  EXPECT_EQ(Ask().own, job_->placement);
  Own({{}, "", "", {"imagenet"}, false});
  EXPECT_EQ(Ask().own, job_->placement);
}

TEST_F(PlacementAskTest, AvoidedMembers_AreThoseOfWhichTheTimeIsNotOver) {
  ChangeState(job_.get(), [&](AdmissionState* state) {
    const std::int64_t from = job_->submit_time.us;
    state->avoided = {{"east", {from + 10 * kMicrosPerSecond}},
                      {"west", {from + 20 * kMicrosPerSecond}}};
  });
  EXPECT_EQ(Ask(9).avoided.size(), 2u);
  ASSERT_EQ(Ask(10).avoided.size(), 1u);
  EXPECT_EQ(Ask(10).avoided[0].cluster, "west");
  EXPECT_TRUE(Ask(20).empty());
}

TEST_F(PlacementAskTest, Waiting_CountsFromTheSubmission_AndAgainFromTheReturnToTheQueue) {
  Placement& placement = Put("ml", "x", {Named("train")});
  EXPECT_EQ(Ask(70).waited_s, 0) << "counted for groups only";
  placement.policy.groups = {{"a", {}, {}, 60}, {"b", {}, {}, 0}};
  EXPECT_EQ(Ask(70).waited_s, 70);
  const auto at = [&](std::int64_t seconds) {
    return WallTime{job_->submit_time.us + seconds * kMicrosPerSecond};
  };
  MarkWaiting(job_.get(), Reason::kWaitingForCapacity, "", AdmissionSettings{}, at(30));
  EXPECT_EQ(Ask(70).waited_s, 70) << "that it is looked at does not begin anything";
  ReserveQuota(job_.get(), std::make_shared<const Admission>(), at(100));
  job_->attempt = 1;
  MarkEvicted(job_.get(), {"Preempted", "", ""}, at(200));
  ReturnToQueue(job_.get(), AdmissionSettings{}, at(210));
  EXPECT_EQ(Ask(250).waited_s, 40);
}

TEST(PlacementTableTest, ReplacedPlacement_IsFoundByWhatItSaysNow) {
  PlacementTable table;
  const auto put = [&](const std::vector<ResourceSelector>& selectors) {
    auto placement = std::make_shared<Placement>();
    placement->ns = "ml";
    placement->name = "x";
    placement->selectors = selectors;
    table.Put(std::move(placement));
  };
  put({Named("a"), Named("a"), Labelled({})});
  EXPECT_EQ(table.Naming("ml", "batch", "Job", "a").size(), 1u);
  EXPECT_EQ(table.Selecting("ml").size(), 1u);
  put({Named("b")});
  EXPECT_TRUE(table.Naming("ml", "batch", "Job", "a").empty());
  EXPECT_EQ(table.Naming("ml", "batch", "Job", "b").size(), 1u);
  EXPECT_TRUE(table.Naming("ml", "ray.io", "Job", "b").empty());
  EXPECT_TRUE(table.Selecting("ml").empty());
  table.Erase("ml", "none");
  table.Erase("ml", "x");
  EXPECT_TRUE(table.all().empty());
  EXPECT_TRUE(table.Naming("ml", "batch", "Job", "b").empty());
}

TEST(PlacementTableTest, FindsByNamespaceAndName) {
  PlacementTable table;
  for (const auto& [ns, name] : {std::pair("ml", "a"), std::pair("", "z"), std::pair("", "b")}) {
    auto placement = std::make_shared<Placement>();
    placement->ns = ns;
    placement->name = name;
    table.Put(std::move(placement));
  }
  EXPECT_EQ(table.Find("", "z")->name, "z");
  EXPECT_EQ(table.Find("ml", "a")->ns, "ml");
  EXPECT_EQ(table.Find("", "a"), nullptr);
}

}  // namespace
}  // namespace muster::core::testing
