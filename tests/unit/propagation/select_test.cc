// The configuration objects that a placement selects, their order, and the part of them that is
// sent.
#include "tests/unit/propagation/step_world.h"

namespace muster::propagation::testing {
namespace {

using ::testing::HasSubstr;

class SelectTest : public ::testing::Test {
 protected:
  SelectTest() {
    world_.PutSpace("ml", R"({"team":"ml"})");
    world_.PutSpace("web");
    world_.PutSpace("kube-system");
    world_.PutQueue("gpu", "None", R"({"tier":"gold"})");
    world_.PutQueue("cpu");
    world_.PutLocalQueue("ml", "train", R"({"tier":"gold"})");
    world_.PutLocalQueue("ml", "test");
    world_.PutLocalQueue("web", "front");
    world_.PutConfigMap("ml", "settings");
    world_.PutConfigMap("ml", "kube-root-ca.crt");
    world_.PutConfigMap("kube-system", "dns");
    world_.PutSecret("ml", "token");
    world_.Put(ObjectKind::kWorkloadPriorityClass, "", "high",
               R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"WorkloadPriorityClass",)"
               R"("metadata":{"name":"high"},"value":10})");
    world_.Put(ObjectKind::kResourceFlavor, "", "a100",
               R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ResourceFlavor",)"
               R"("metadata":{"name":"a100"}})");
    world_.Put(ObjectKind::kResourcePlacement, "ml", "p",
               R"({"apiVersion":"placement.kubernetes-fleet.io/v1beta1",)"
               R"("kind":"ResourcePlacement","metadata":{"name":"p","namespace":"ml"}})");
    world_.Put(ObjectKind::kResourceOverride, "ml", "o",
               R"({"apiVersion":"placement.kubernetes-fleet.io/v1beta1",)"
               R"("kind":"ResourceOverride","metadata":{"name":"o","namespace":"ml"}})");
  }

  Selection Select(const std::string& ns, const std::vector<ResourceSelector>& selectors) const {
    Placement placement;
    placement.ns = ns;
    placement.name = "p";
    placement.selectors = selectors;
    return SelectResources(world_.view(), placement);
  }
  std::string NamesOf(const std::string& ns, const std::vector<ResourceSelector>& selectors) const {
    return Names(Select(ns, selectors).resources);
  }
  std::string ManifestOf(const std::string& ns, const ResourceSelector& selector) const {
    const Selection selection = Select(ns, {selector});
    return selection.resources.size() == 1 ? selection.resources[0].manifest : "";
  }

  StepWorld world_;
};

ResourceSelector Labelled(ResourceSelector selector, const LabelMap& labels) {
  selector.labels = LabelSelector{labels, {}};
  return selector;
}

TEST_F(SelectTest, Selectors_TakeObjectsByNameByLabelsAndAllOfAKind) {
  struct Case {
    const char* what;
    const char* ns;
    std::vector<ResourceSelector> selectors;
    const char* selected;
  };
  const ResourceSelector queues = Selecting(kKueue, "LocalQueue");
  constexpr auto kOnly = SelectionScope::kNamespaceOnly;
  constexpr auto kInside = SelectionScope::kNamespaceWithResourceSelectors;
  for (const Case& one : std::vector<Case>{
           {"by name", "", {Selecting(kKueue, "ClusterQueue", "gpu")}, "ClusterQueue gpu"},
           {"a name that there is not", "", {Selecting(kKueue, "ClusterQueue", "none")}, ""},
           {"the kind of another group", "", {Selecting("x.io", "ClusterQueue", "gpu")}, ""},
           {"all of a kind",
            "",
            {Selecting(kKueue, "ClusterQueue")},
            "ClusterQueue cpu, ClusterQueue gpu"},
           {"by labels",
            "",
            {Labelled(Selecting(kKueue, "ClusterQueue"), {{"tier", "gold"}})},
            "ClusterQueue gpu"},
           {"the same by two selectors is taken once",
            "",
            {Selecting(kKueue, "ClusterQueue", "gpu"),
             Labelled(Selecting(kKueue, "ClusterQueue"), {{"tier", "gold"}})},
            "ClusterQueue gpu"},
           {"in the order in which they are applied",
            "",
            {Selecting(kKueue, "ClusterQueue", "gpu"), Selecting(kKueue, "ResourceFlavor"),
             Selecting(kKueue, "WorkloadPriorityClass"), Space("web", kOnly)},
            "Namespace web, WorkloadPriorityClass high, ResourceFlavor a100, ClusterQueue gpu"},
           {"a namespace alone", "", {Space("ml", kOnly)}, "Namespace ml"},
           {"a namespace with what lies in it, without placements, overrides and what clusters "
            "make",
            "",
            {Space("ml")},
            "Namespace ml, ConfigMap ml/settings, Secret ml/token, LocalQueue ml/test, "
            "LocalQueue ml/train"},
           {"namespaces by labels",
            "",
            {Labelled(Space("", kOnly), {{"team", "ml"}})},
            "Namespace ml"},
           {"all namespaces, without reserved ones",
            "",
            {Space("", kOnly)},
            "Namespace ml, Namespace web"},
           {"a reserved namespace is never taken", "", {Space("kube-system")}, ""},
           {"inside a namespace what the other selectors pick, and of the cluster beside it",
            "",
            {Space("ml", kInside), Labelled(queues, {{"tier", "gold"}}),
             Selecting(kKueue, "ClusterQueue", "cpu")},
            "Namespace ml, ClusterQueue cpu, LocalQueue ml/train"},
           {"of a namespace nothing unless a namespace is selected so", "", {queues}, ""},
           {"a placement of a namespace looks into its own",
            "web",
            {queues},
            "LocalQueue web/front"},
           {"and takes nothing of the cluster",
            "web",
            {Selecting(kKueue, "ClusterQueue"), Space("web")},
            ""},
           {"jobs have their own way", "ml", {Selecting("batch", "Job", "train")}, ""},
           {"members are never taken",
            "",
            {Selecting("cluster.kubernetes-fleet.io", "MemberCluster")},
            ""},
       }) {
    const Selection selection = Select(one.ns, one.selectors);
    EXPECT_EQ(Names(selection.resources), one.selected) << one.what;
    EXPECT_EQ(selection.obstacle, "") << one.what;
    EXPECT_EQ(selection.hash.empty(), selection.resources.empty()) << one.what;
  }
}

TEST_F(SelectTest, Objects_AreSentAsTheirAuthorWroteThem_WithoutServerFieldsAndOwnMarks) {
  world_.Put(ObjectKind::kLocalQueue, "ml", "q", R"({
    "apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{
      "name":"q","uid":"1","resourceVersion":"7","generation":2,"creationTimestamp":"t",
      "managedFields":[],"ownerReferences":[],"finalizers":["f"],"deletionTimestamp":"t",
      "selfLink":"/x","labels":{"muster.io/instance":"x","tier":"gold"},
      "annotations":{"muster.io/placement":"p","a":"b",
        "kubectl.kubernetes.io/last-applied-configuration":"{}"}},
    "spec":{"clusterQueue":"gpu"},"status":{"pendingWorkloads":1}})");
  EXPECT_EQ(ManifestOf("ml", Selecting(kKueue, "LocalQueue", "q")),
            R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",)"
            R"("metadata":{"name":"q","namespace":"ml","labels":{"tier":"gold"},)"
            R"("annotations":{"a":"b"}},"spec":{"clusterQueue":"gpu"}})");
}

TEST_F(SelectTest, Marks_ThatAreAllLeftOut_LeaveNoEmptyObject) {
  world_.Put(ObjectKind::kConfigMap, "ml", "q",
             R"({"apiVersion":"v1","kind":"ConfigMap",)"
             R"("metadata":{"name":"q","annotations":{"muster.io/x":"y"}}})");
  EXPECT_EQ(ManifestOf("ml", Selecting("", "ConfigMap", "q")),
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"q","namespace":"ml"}})");
}

TEST_F(SelectTest, ANamespace_IsSentWithItsNameLabelsAndAnnotationsOnly) {
  world_.Put(ObjectKind::kNamespace, "", "ml",
             R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ml","generateName":"m",)"
             R"("labels":{"a":"b"}},"spec":{"finalizers":["kubernetes"]}})");
  EXPECT_EQ(
      ManifestOf("", Space("ml", SelectionScope::kNamespaceOnly)),
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ml","labels":{"a":"b"}}})");
}

TEST_F(SelectTest, TheVersion_IsTheOneThatTheObjectWasAppliedWith) {
  const Selection selection = Select("", {Selecting(kKueue, "ClusterQueue", "gpu")});
  ASSERT_EQ(selection.resources.size(), 1u);
  EXPECT_EQ(selection.resources[0].ref,
            (ResourceRef{kKueue, "v1beta1", "ClusterQueue", "", "gpu"}));
}

TEST_F(SelectTest, Secrets_ThatOpenMembersOrThatClustersMake_AreLeftOut) {
  world_.PutSecret("ml", "way");
  world_.PutSecret("web", "way");
  world_.PutSecret("ml", "sa", "kubernetes.io/service-account-token");
  world_.Put(
      ObjectKind::kMemberCluster, "", "east",
      R"({"metadata":{"name":"east","annotations":{"muster.io/kubeconfig-secret":"ml/way"}}})");
  const ResourceSelector secrets = Selecting("", "Secret");
  EXPECT_EQ(NamesOf("ml", {secrets}), "Secret ml/token");
  EXPECT_EQ(NamesOf("ml", {Selecting("", "Secret", "way")}), "");  // not by name either
  EXPECT_EQ(NamesOf("web", {secrets}), "Secret web/way");          // another of that name
}

TEST_F(SelectTest, AnEnvelope_IsReplacedByWhatItHolds) {
  world_.PutEnvelope("ml", "bundle", {{"apps/v1", "Deployment", "app"}, {"v1", "Service", "app"}});
  world_.PutEnvelope("", "roles", {{"rbac.authorization.k8s.io/v1", "ClusterRole", "reader"}});
  constexpr const char* kGroup = "placement.kubernetes-fleet.io";
  const Selection bundle = Select("ml", {Selecting(kGroup, "ResourceEnvelope", "bundle")});
  EXPECT_EQ(Names(bundle.resources),
            "Deployment ml/app <ResourceEnvelope/bundle>, Service ml/app "
            "<ResourceEnvelope/bundle>");
  EXPECT_EQ(bundle.resources[0].manifest, R"({"apiVersion":"apps/v1","kind":"Deployment",)"
                                          R"("metadata":{"name":"app","namespace":"ml"}})");
  EXPECT_EQ(NamesOf("", {Selecting(kGroup, "ClusterResourceEnvelope")}),
            "ClusterRole reader <ClusterResourceEnvelope/roles>");
  EXPECT_THAT(NamesOf("", {Space("ml")}), HasSubstr("Service ml/app <ResourceEnvelope/bundle>"));
  EXPECT_EQ(Names(Select("ml", {Selecting(kGroup, "ResourceEnvelope", "bundle"),
                                Selecting(kGroup, "ResourceEnvelope")})
                      .resources),
            Names(bundle.resources));
}

TEST_F(SelectTest, WhatCannotBeSent_IsToldInASentence) {
  constexpr const char* kGroup = "placement.kubernetes-fleet.io";
  world_.PutEnvelope("ml", "one", {{"v1", "ConfigMap", "settings"}});
  world_.PutEnvelope("ml", "two", {{"v1", "ConfigMap", "settings"}});
  EXPECT_EQ(Select("ml", {Selecting(kGroup, "ResourceEnvelope", "one")}).obstacle, "");
  EXPECT_EQ(Select("ml", {Selecting(kGroup, "ResourceEnvelope")}).obstacle,
            "ConfigMap ml/settings is selected twice: in ResourceEnvelope/one and in "
            "ResourceEnvelope/two");
  EXPECT_EQ(Select("ml", {Selecting("", "ConfigMap", "settings"),
                          Selecting(kGroup, "ResourceEnvelope", "one")})
                .obstacle,
            "ConfigMap ml/settings is selected twice: as itself and in ResourceEnvelope/one");
  EXPECT_EQ(Select("kube-system", {Selecting("", "ConfigMap")}).obstacle,
            "namespace kube-system is reserved: nothing in it is sent to members");
  EXPECT_EQ(NamesOf("kube-system", {Selecting("", "ConfigMap")}), "");
}

TEST_F(SelectTest, AnEnvelopeThatIsStoredAndCannotBeRead_IsAnObstacle) {
  world_.PutEnvelope("ml", "one", {{"v1", "ConfigMap", "settings"}});
  world_.mutable_config().envelopes.clear();
  world_.PutSpace("other");
  EXPECT_EQ(Select("ml", {Selecting("placement.kubernetes-fleet.io", "ResourceEnvelope")}).obstacle,
            "ResourceEnvelope one as it is stored cannot be read");
}

TEST_F(SelectTest, TooManyObjectsAndTooManyBytes_AreToldInASentence) {
  for (int i = 0; i < 1001; ++i) world_.PutConfigMap("web", "c" + std::to_string(i));
  EXPECT_EQ(Select("web", {Selecting("", "ConfigMap")}).obstacle,
            "it selects 1001 objects, which is more than 1000");
  world_.Delete(ObjectKind::kConfigMap, "web", "c7");
  EXPECT_EQ(Select("web", {Selecting("", "ConfigMap")}).obstacle, "");
  for (int i = 0; i < 9; ++i)
    world_.PutConfigMap("ml", "c" + std::to_string(i), std::string(1 << 20, 'x'));
  EXPECT_THAT(Select("ml", {Selecting("", "ConfigMap")}).obstacle,
              HasSubstr("bytes, which is more than 8388608"));
}

TEST_F(SelectTest, TheHash_ChangesWithWhatIsSentOnly) {
  const std::vector<ResourceSelector> all{Space("ml"), Selecting(kKueue, "ClusterQueue", "gpu")};
  const std::string first = Select("", all).hash;
  EXPECT_EQ(first.size(), 32u);
  world_.PutQueue("cpu", "Hold");  // not selected
  EXPECT_EQ(Select("", all).hash, first);
  world_.PutQueue("gpu", "Hold", R"({"tier":"gold","muster.io/x":"y"})");
  const std::string held = Select("", all).hash;
  EXPECT_NE(held, first);
  world_.PutQueue("gpu", "Hold", R"({"tier":"gold","muster.io/x":"z"})");  // not sent
  EXPECT_EQ(Select("", all).hash, held);
  world_.PutConfigMap("ml", "more");
  EXPECT_NE(Select("", all).hash, held);
}

TEST_F(SelectTest, APlacementOfJobs_SelectsNoObjects) {
  const auto selects = [](const std::vector<ResourceSelector>& selectors) {
    Placement placement;
    placement.selectors = selectors;
    return SelectsObjects(placement);
  };
  EXPECT_FALSE(selects({Selecting("batch", "Job"), Selecting("ray.io", "RayJob", "x")}));
  EXPECT_TRUE(selects({Selecting("batch", "Job"), Space("ml")}));
  EXPECT_TRUE(selects({Selecting("placement.kubernetes-fleet.io", "ResourceEnvelope", "x")}));
}

}  // namespace
}  // namespace muster::propagation::testing
