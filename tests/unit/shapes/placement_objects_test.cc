// ClusterResourcePlacement and ResourcePlacement, and the placement fields of jobs, queues and
// members: the values read, and wrong fields with their paths.
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kJobs[] = "resourceSelectors: [{group: batch, version: v1, kind: Job}]";
constexpr char kTeam[] =
    "resourceSelectors: [{group: '', version: v1, kind: Namespace, name: team}]";

struct Case {
  std::string name, text, wanted;
};

std::string Manifest(const std::string& kind, const std::string& spec,
                     const std::string& metadata) {
  return "{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: " + kind +
         ", metadata: " + metadata + ", spec: {" + spec + "}}";
}
std::string Namespaced(const std::string& spec,
                       const std::string& metadata = "{name: p, namespace: ml}") {
  return Manifest("ResourcePlacement", spec, metadata);
}
std::string OfCluster(const std::string& spec) {
  return Manifest("ClusterResourcePlacement", spec, "{name: p}");
}

std::string Problem(const std::string& manifest) { return ProblemsOf(ParseObject(Yaml(manifest))); }

Status Apply(ConfigView* config, const std::string& manifest) {
  const auto object = ParseObject(Yaml(manifest));
  if (!object.ok()) return object.error();
  return ApplyTo(config, object->kind, object->manifest);
}

Placement Read(const std::string& manifest) {
  ConfigView config;
  const Status applied = Apply(&config, manifest);
  EXPECT_TRUE(applied.ok()) << (applied.ok() ? "" : applied.error().detail) << "\n" << manifest;
  if (!applied.ok()) return {};
  return *config.placements->all().begin()->second;
}

// Specs of a ResourcePlacement of all Jobs, with this policy.
std::string Policy(const std::string& policy) {
  return std::string(kJobs) + ", policy: {" + policy + "}";
}
std::string Some(const std::string& more) {
  return Policy("placementType: PickN, numberOfClusters: 1, " + more);
}
std::string Required(const std::string& terms) {
  return Policy(
      "affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "{clusterSelectorTerms: [" +
      terms + "]}}}");
}
std::string Preferred(const std::string& terms) {
  return Some("affinity: {clusterAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [" +
              terms + "]}}");
}
std::string Expressions(const std::string& expressions) {
  return Required("{propertySelector: {matchExpressions: [" + expressions + "]}}");
}

void ExpectProblems(const std::vector<Case>& cases) {
  for (const Case& c : cases)
    EXPECT_THAT(Problem(Namespaced(c.text)), HasSubstr(c.wanted)) << c.name;
}

TEST(PlacementObject, IsReadInBothVersionsWithKubeFleetsDefaults) {
  for (const std::string version : {"v1beta1", "v1"}) {
    const Placement placement = Read(
        "{apiVersion: placement.kubernetes-fleet.io/" + version +
        ", kind: ResourcePlacement, metadata: {name: p, namespace: ml}, spec: {" + kJobs + "}}");
    EXPECT_EQ(placement.ns, "ml");
    EXPECT_EQ(placement.name, "p");
    ASSERT_EQ(placement.selectors.size(), 1U);
    EXPECT_EQ(placement.selectors[0], (ResourceSelector{"batch", "v1", "Job", "", std::nullopt}));
    EXPECT_EQ(placement.policy, PlacementPolicy{}) << "no policy is PickAll";
    EXPECT_FALSE(placement.has_policy);
  }
  EXPECT_THAT(Problem("{apiVersion: placement.kubernetes-fleet.io/v2, kind: ResourcePlacement, "
                      "metadata: {name: p}, spec: {}}"),
              HasSubstr("ResourcePlacement is served in v1beta1 and v1, not \"v2\""));
  EXPECT_THAT(Problem("{apiVersion: placement.kubernetes-fleet.io/v1, kind: StagedUpdateRun, "
                      "metadata: {name: p}}"),
              HasSubstr("kind: StagedUpdateRun of placement.kubernetes-fleet.io is not supported"));
}

TEST(PlacementObject, SelectsEachKindOfJobByNameByLabelsOrAsAWhole) {
  const std::pair<const char*, const char*> kinds[] = {
      {"batch", "v1, kind: Job"},
      {"ray.io", "v1, kind: RayJob"},
      {"ray.io", "v1, kind: RayCluster"},
      {"kubeflow.org", "v1, kind: PyTorchJob"},
      {"jobset.x-k8s.io", "v1alpha2, kind: JobSet"},
      {"leaderworkerset.x-k8s.io", "v1, kind: LeaderWorkerSet"},
      {"kueue.x-k8s.io", "v1beta1, kind: Workload"},
      {"kueue.x-k8s.io", "v1beta2, kind: Workload"},
      {"muster.io", "v1, kind: BatchScript"}};
  for (const auto& [group, rest] : kinds) {
    const std::string kind = std::string("{group: ") + group + ", version: " + rest;
    EXPECT_EQ(Problem(Namespaced("resourceSelectors: [" + kind + "}]")), "") << rest;
    const Placement named = Read(Namespaced("resourceSelectors: [" + kind + ", name: train}]"));
    EXPECT_EQ(named.selectors.at(0).group, group);
    EXPECT_EQ(named.selectors.at(0).name, "train");
    EXPECT_FALSE(named.selectors.at(0).labels.has_value());
  }
  const Placement labelled = Read(Namespaced(
      "resourceSelectors: [{group: batch, version: v1, kind: Job, selectionScope: "
      "NamespaceWithResources, labelSelector: {matchLabels: {team: vision}, matchExpressions: "
      "[{key: tier, operator: NotIn, values: [test]}]}}]"));
  ASSERT_TRUE(labelled.selectors.at(0).labels.has_value());
  EXPECT_TRUE(Matches(*labelled.selectors[0].labels, {{"team", "vision"}}));
  EXPECT_FALSE(Matches(*labelled.selectors[0].labels, {{"team", "vision"}, {"tier", "test"}}));
}

TEST(PlacementObject, OfTheClusterSelectsNamespacesWithTheirScopes) {
  const auto scope = [](const std::string& more) {
    return Read(OfCluster("resourceSelectors: [{group: '', version: v1, kind: Namespace, name: ml" +
                          more + "}]"))
        .selectors.at(0)
        .scope;
  };
  EXPECT_EQ(scope(""), SelectionScope::kNamespaceWithResources);
  EXPECT_EQ(scope(", selectionScope: NamespaceOnly"), SelectionScope::kNamespaceOnly);
  const Placement inside = Read(OfCluster(
      "resourceSelectors: [{group: batch, version: v1, kind: Job, name: train}, {group: '', "
      "version: v1, kind: Namespace, name: ml, selectionScope: NamespaceWithResourceSelectors}]"));
  EXPECT_EQ(inside.ns, "");
  EXPECT_EQ(inside.selectors.at(1).scope, SelectionScope::kNamespaceWithResourceSelectors);
  EXPECT_EQ(inside.selectors.at(0).name, "train");
}

TEST(PlacementObject, SelectorsOfAClusterResourcePlacementThatCannotBe) {
  const std::string ns = "{group: '', version: v1, kind: Namespace";
  const std::string inside = ", selectionScope: NamespaceWithResourceSelectors}";
  const std::vector<Case> cases = {
      {"default is nobody's to place", ns + ", name: default}",
       "spec.resourceSelectors[0].name: namespace \"default\" cannot be selected"},
      {"those of Kubernetes are not", ns + ", name: kube-system}",
       "spec.resourceSelectors[0].name: namespace \"kube-system\" cannot be selected"},
      {"those of KubeFleet are not", ns + ", name: fleet-member-a}",
       "spec.resourceSelectors[0].name: namespace \"fleet-member-a\" cannot be selected"},
      {"a Namespace of another version", "{group: '', version: v2, kind: Namespace, name: a}",
       "spec.resourceSelectors[0].version: Namespace is served in v1"},
      {"the same namespace twice",
       ns + ", name: a}, " + ns +
           ", name: a, selectionScope: "
           "NamespaceOnly}",
       "spec.resourceSelectors[1]: selects the same as resourceSelectors[0]"},
      {"objects inside a namespace without its name", ns + inside,
       "spec.resourceSelectors[0].selectionScope: NamespaceWithResourceSelectors needs the "
       "namespace's name"},
      {"two namespaces with selectors inside",
       ns + ", name: a" + inside + ", " + ns + ", name: b" + inside,
       "spec.resourceSelectors[1].selectionScope: NamespaceWithResourceSelectors may be said but "
       "once"},
      {"another namespace beside", ns + ", name: a" + inside + ", " + ns + ", name: b}",
       "spec.resourceSelectors[1]: no other Namespace may be selected beside"},
      {"a job without its namespace", "{group: batch, version: v1, kind: Job, name: a}",
       "spec.resourceSelectors[0].kind: Job lies in a namespace"},
      {"a ConfigMap without its namespace", "{group: '', version: v1, kind: ConfigMap, name: a}",
       "spec.resourceSelectors[0].kind: ConfigMap lies in a namespace: select that with "
       "NamespaceWithResourceSelectors beside it"},
      {"an envelope beside a whole namespace",
       ns + ", name: a}, {group: placement.kubernetes-fleet.io, version: v1, kind: "
            "ResourceEnvelope, name: a}",
       "spec.resourceSelectors[1].kind: ResourceEnvelope lies in a namespace"},
      {"a member", "{group: cluster.kubernetes-fleet.io, version: v1beta1, kind: MemberCluster}",
       "spec.resourceSelectors[0].kind: MemberCluster is never placed"},
      {"a role, which is for Muster itself",
       "{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}",
       "spec.resourceSelectors[0].kind: ClusterRole is for Muster itself and not sent: put that of "
       "a member into a ClusterResourceEnvelope or ResourceEnvelope"},
      {"an object that Muster has not", "{group: apps, version: v1, kind: Deployment}",
       "is no kind that Muster keeps: put it into a ClusterResourceEnvelope or ResourceEnvelope"},
      {"an unknown scope", ns + ", name: a, selectionScope: All}",
       "spec.resourceSelectors[0].selectionScope: must be one of"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Problem(OfCluster("resourceSelectors: [" + c.text + "]")), HasSubstr(c.wanted))
        << c.name;
  }
}

TEST(PlacementObject, SelectorsThatCannotBe) {
  const std::string job = "{group: batch, version: v1, kind: Job";
  const auto list = [](const std::string& items) { return "resourceSelectors: [" + items + "]"; };
  std::string many;
  for (int i = 0; i <= 100; ++i) many += job + ", name: j" + std::to_string(i) + "},";
  ExpectProblems({
      {"none at all", "", "spec.resourceSelectors: is required"},
      {"an empty list", list(""), "spec.resourceSelectors: must have at least one entry"},
      {"more than a hundred", list(many), "spec.resourceSelectors: must have at most 100 entries"},
      {"without a group", list("{version: v1, kind: Job}"),
       "spec.resourceSelectors[0].group: is required"},
      {"without a version", list("{group: batch, kind: Job}"),
       "spec.resourceSelectors[0].version: is required"},
      {"without a kind", list("{group: batch, version: v1}"),
       "spec.resourceSelectors[0].kind: is required"},
      {"an unknown field", list(job + ", namespace: a}"),
       "spec.resourceSelectors[0].namespace: unknown field"},
      {"both name and labels", list(job + ", name: a, labelSelector: {}}"),
       "spec.resourceSelectors[0].labelSelector: must not be given together with name"},
      {"an empty name", list(job + ", name: ''}"),
       "spec.resourceSelectors[0].name: must not be empty"},
      {"a name that no job has", list(job + ", name: A_b}"),
       "spec.resourceSelectors[0].name: must"},
      {"a bad label selector",
       list(job + ", labelSelector: {matchExpressions: [{key: a, operator: "
                  "In}]}}"),
       "labelSelector.matchExpressions[0].values: must not be empty for In and NotIn"},
      {"by the label of the queue",
       list(job + ", labelSelector: {matchLabels: {kueue.x-k8s.io/queue-name: q}}}"),
       "labelSelector.matchLabels[kueue.x-k8s.io/queue-name]: is not looked at by placements"},
      {"by the priority class in an expression",
       list(job + ", labelSelector: {matchExpressions: [{key: kueue.x-k8s.io/priority-class, "
                  "operator: Exists}]}}"),
       "labelSelector.matchExpressions[0].key: is not looked at by placements"},
      {"the same twice in another version",
       list("{group: kueue.x-k8s.io, version: v1beta1, kind: Workload, name: a}, {group: "
            "kueue.x-k8s.io, version: v1beta2, kind: Workload, name: a}"),
       "spec.resourceSelectors[1]: selects the same as resourceSelectors[0]"},
      {"a version that is not served", list("{group: batch, version: v1beta1, kind: Job}"),
       "spec.resourceSelectors[0].version: Job is served in v1, not \"v1beta1\""},
      {"a scope on a job", list(job + ", selectionScope: NamespaceOnly}"),
       "spec.resourceSelectors[0].selectionScope: is only for Namespaces in a "
       "ClusterResourcePlacement"},
      {"a Namespace", list("{group: '', version: v1, kind: Namespace, name: a}"),
       "spec.resourceSelectors[0].kind: Namespace lies in no namespace: select it in a "
       "ClusterResourcePlacement"},
      {"Pods", list("{group: '', version: v1, kind: Pod}"),
       "spec.resourceSelectors[0].kind: Pod is never placed"},
      {"leases", list("{group: coordination.k8s.io, version: v1, kind: Lease}"),
       "spec.resourceSelectors[0].kind: Lease is never placed"},
      {"objects of KubeFleet",
       list("{group: cluster.kubernetes-fleet.io, version: v1beta1, kind: MemberCluster}"),
       "spec.resourceSelectors[0].kind: MemberCluster is never placed"},
      {"a queue of the cluster",
       list("{group: kueue.x-k8s.io, version: v1beta1, kind: ClusterQueue, name: q}"),
       "spec.resourceSelectors[0].kind: ClusterQueue lies in no namespace: select it in a "
       "ClusterResourcePlacement"},
      {"a queue of a version that is not served",
       list("{group: kueue.x-k8s.io, version: v1, kind: LocalQueue, name: q}"),
       "spec.resourceSelectors[0].version: LocalQueue is served in v1beta1 and v1beta2, not "
       "\"v1\""},
      {"the same queue in two versions",
       list("{group: kueue.x-k8s.io, version: v1beta1, kind: LocalQueue, name: q}, {group: "
            "kueue.x-k8s.io, version: v1beta2, kind: LocalQueue, name: q}"),
       "spec.resourceSelectors[1]: selects the same as resourceSelectors[0]"},
      {"another placement",
       list("{group: placement.kubernetes-fleet.io, version: v1, kind: ResourcePlacement}"),
       "spec.resourceSelectors[0].kind: ResourcePlacement is never placed"},
      {"an override",
       list("{group: placement.kubernetes-fleet.io, version: v1, kind: ResourceOverride}"),
       "spec.resourceSelectors[0].kind: ResourceOverride is never placed"},
      {"an object that Muster has not", list("{group: apps, version: v1, kind: Deployment}"),
       "spec.resourceSelectors[0].kind: \"apps/v1, Deployment\" is no kind that Muster keeps: put "
       "it into a ResourceEnvelope"},
      {"a Job of another group", list("{group: example.org, version: v1, kind: Job}"),
       "is no kind that Muster keeps"},
  });
}

TEST(PlacementObject, EachPlacementTypeHasItsOwnFields) {
  const Placement fixed =
      Read(Namespaced(Policy("placementType: PickFixed, clusterNames: [east, west]")));
  EXPECT_TRUE(fixed.has_policy);
  EXPECT_EQ(fixed.policy.type, PlacementType::kPickFixed);
  EXPECT_THAT(fixed.policy.cluster_names, ElementsAre("east", "west"));
  EXPECT_EQ(Read(Namespaced(Policy("placementType: PickN, numberOfClusters: 0")))
                .policy.number_of_clusters,
            0);
  EXPECT_EQ(Read(Namespaced(Policy(""))).policy.type, PlacementType::kPickAll);
  std::string many;
  for (int i = 0; i <= 100; ++i) many += "c" + std::to_string(i) + ",";
  const std::string affinity = "affinity: {clusterAffinity: {}}";
  ExpectProblems({
      {"an unknown type", Policy("placementType: PickOne"),
       "spec.policy.placementType: must be one of"},
      {"an unknown field", Policy("clusters: [a]"), "spec.policy.clusters: unknown field"},
      {"PickAll with names", Policy("clusterNames: [a]"),
       "spec.policy.clusterNames: is only for placementType PickFixed"},
      {"PickAll with a number", Policy("numberOfClusters: 1"),
       "spec.policy.numberOfClusters: is only for placementType PickN"},
      {"PickAll with spread", Policy("topologySpreadConstraints: []"),
       "spec.policy.topologySpreadConstraints: is only for placementType PickN"},
      {"PickAll with preferences",
       Policy("affinity: {clusterAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
              "[{weight: 1, preference: {}}]}}"),
       "preferredDuringSchedulingIgnoredDuringExecution: is only for placementType PickN"},
      {"PickFixed without names", Policy("placementType: PickFixed"),
       "spec.policy.clusterNames: is required"},
      {"PickFixed of nobody", Policy("placementType: PickFixed, clusterNames: []"),
       "spec.policy.clusterNames: must name at least one member cluster"},
      {"PickFixed twice the same", Policy("placementType: PickFixed, clusterNames: [a, a]"),
       "spec.policy.clusterNames[1]: must be unique: \"a\""},
      {"PickFixed of no name", Policy("placementType: PickFixed, clusterNames: ['']"),
       "spec.policy.clusterNames[0]: must be the name of a member cluster"},
      {"PickFixed of too many", Policy("placementType: PickFixed, clusterNames: [" + many + "]"),
       "spec.policy.clusterNames: must have at most 100 entries"},
      {"PickFixed with a number",
       Policy("placementType: PickFixed, clusterNames: [a], numberOfClusters: 1"),
       "spec.policy.numberOfClusters: is only for placementType PickN"},
      {"PickFixed with affinity",
       Policy("placementType: PickFixed, clusterNames: [a], " + affinity),
       "spec.policy.affinity: is not for placementType PickFixed"},
      {"PickFixed with tolerations",
       Policy("placementType: PickFixed, clusterNames: [a], tolerations: []"),
       "spec.policy.tolerations: is not for placementType PickFixed"},
      {"PickFixed with spread",
       Policy("placementType: PickFixed, clusterNames: [a], topologySpreadConstraints: []"),
       "spec.policy.topologySpreadConstraints: is only for placementType PickN"},
      {"PickN without a number", Policy("placementType: PickN"),
       "spec.policy.numberOfClusters: is required"},
      {"PickN of less than none", Policy("placementType: PickN, numberOfClusters: -1"),
       "spec.policy.numberOfClusters: must be at least 0"},
      {"PickN with names", Some("clusterNames: [a]"),
       "spec.policy.clusterNames: is only for placementType PickFixed"},
  });
}

TEST(PlacementObject, RequiredTermsAreReadWithTheirProperties) {
  const Placement placement = Read(Namespaced(Required(
      "{labelSelector: {matchLabels: {region: eu}}, propertySelector: {matchExpressions: ["
      "{name: resources.kubernetes-fleet.io/available-nvidia.com/gpu, operator: Ge, values: "
      "['8']}, "
      "{name: resources.kubernetes-fleet.io/allocatable-ephemeral-storage, operator: Gt, values: "
      "[1Gi]}, "
      "{name: muster.io/cost.nvidia.com/gpu, operator: Le, values: ['1.5']}, "
      "{name: kubernetes.azure.com/vm-sizes/Standard_D2/count, operator: Ne, values: ['0']}, "
      "{name: k8s.io/k8s-version, operator: In, values: [v1.34.1, v1.33.0]}, "
      "{name: rack, operator: DoesNotExist}]}}, {}")));
  ASSERT_EQ(placement.policy.required.size(), 2U);
  const ClusterSelectorTerm& term = placement.policy.required[0];
  EXPECT_EQ(term.labels.match_labels.at("region"), "eu");
  ASSERT_EQ(term.properties.size(), 6U);
  EXPECT_EQ(term.properties[0].op, PropertyOperator::kGe);
  EXPECT_TRUE(term.properties[0].amount == PropertyAmount{8'000'000'000});
  EXPECT_TRUE(term.properties[1].amount == PropertyAmount{1 << 30} * 1'000'000'000);
  EXPECT_TRUE(term.properties[2].amount == PropertyAmount{1'500'000'000});
  EXPECT_EQ(term.properties[3].name, "kubernetes.azure.com/vm-sizes/Standard_D2/count");
  EXPECT_THAT(term.properties[4].values, ElementsAre("v1.34.1", "v1.33.0"));
  EXPECT_EQ(term.properties[5].op, PropertyOperator::kDoesNotExist);
  EXPECT_EQ(placement.policy.required[1], ClusterSelectorTerm{});
}

TEST(PlacementObject, RequiredTermsThatCannotBe) {
  std::string eleven;
  for (int i = 0; i < 11; ++i) eleven += "{},";
  ExpectProblems({
      {"more than ten", Required(eleven), "clusterSelectorTerms: must have at most 10 entries"},
      {"a sorter", Required("{propertySorter: {name: a, sortOrder: Ascending}}"),
       "clusterSelectorTerms[0].propertySorter: is not allowed in a required term"},
      {"an unknown field", Required("{weight: 1}"),
       "clusterSelectorTerms[0].weight: unknown field"},
      {"no terms",
       Policy("affinity: {clusterAffinity: "
              "{requiredDuringSchedulingIgnoredDuringExecution: {}}}"),
       "clusterSelectorTerms: is required"},
      {"affinity to nodes", Policy("affinity: {nodeAffinity: {}}"),
       "spec.policy.affinity.nodeAffinity: unknown field"},
      {"no name", Expressions("{operator: Gt, values: ['1']}"), "[0].name: is required"},
      {"a name that is none", Expressions("{name: a b, operator: Gt, values: ['1']}"),
       "[0].name: must be the name of a property"},
      {"a measure that is none",
       Expressions("{name: resources.kubernetes-fleet.io/used-cpu, operator: Gt, values: ['1']}"),
       "[0].name: must be resources.kubernetes-fleet.io/ and then total-, allocatable- or "
       "available-"},
      {"an unknown operator", Expressions("{name: a, operator: Above, values: ['1']}"),
       "[0].operator: must be one of"},
      {"no value", Expressions("{name: a, operator: Gt}"),
       "[0].values: must be exactly one quantity for Gt"},
      {"two values", Expressions("{name: a, operator: Eq, values: ['1', '2']}"),
       "[0].values: must be exactly one quantity for Eq"},
      {"a value that is no quantity", Expressions("{name: a, operator: Lt, values: [much]}"),
       "matchExpressions[0].values[0]:"},
      {"a number without quotes", Expressions("{name: a, operator: Lt, values: [1]}"),
       "matchExpressions[0].values[0]: must be a string"},
      {"a version that is none",
       Expressions("{name: k8s.io/k8s-version, operator: Gt, values: [v1.x]}"),
       "matchExpressions[0].values[0]: must be a version such as v1.34"},
      {"In nothing", Expressions("{name: a, operator: In}"),
       "[0].values: must not be empty for In and NotIn"},
      {"Exists with a value", Expressions("{name: a, operator: Exists, values: [x]}"),
       "[0].values: must be empty for Exists and DoesNotExist"},
  });
}

TEST(PlacementObject, BoundsThatContradictEachOtherInOneTermAreRefused) {
  struct BoundCase {
    const char* first;
    const char* second;
    bool contradict;
  };
  const BoundCase cases[] = {
      {"Gt, values: ['3']", "Lt, values: ['3']", true},
      {"Ge, values: ['3']", "Lt, values: ['3']", true},
      {"Ge, values: ['3']", "Le, values: ['3']", false},
      {"Gt, values: ['2']", "Lt, values: ['3']", false},
      {"Gt, values: ['3']", "Le, values: ['2900m']", true},
      {"Eq, values: ['3']", "Eq, values: ['4']", true},
      {"Eq, values: ['3']", "Eq, values: ['3000m']", false},
      {"Eq, values: ['3']", "Ne, values: ['3']", true},
      {"Eq, values: ['3']", "Gt, values: ['3']", true},
      {"Ne, values: ['3']", "Ne, values: ['4']", false},
      {"DoesNotExist", "Lt, values: ['3']", true},
      {"Exists", "DoesNotExist", true},
      {"NotIn, values: [x]", "DoesNotExist", true},
  };
  for (const BoundCase& c : cases) {
    const auto both = [&](const std::string& name) {
      return Problem(
          Namespaced(Expressions(std::string("{name: a, operator: ") + c.first +
                                 "}, {name: " + name + ", operator: " + c.second + "}")));
    };
    EXPECT_EQ(both("b"), "") << "of different properties: " << c.first << " and " << c.second;
    if (c.contradict) {
      EXPECT_THAT(both("a"),
                  HasSubstr("matchExpressions[1]: contradicts what the term says of \"a\""))
          << c.first << " and " << c.second;
    } else {
      EXPECT_EQ(both("a"), "") << c.first << " and " << c.second;
    }
  }
  const std::string versions = Expressions(
      "{name: k8s.io/k8s-version, operator: Ge, values: [v1.30]}, {name: "
      "k8s.io/k8s-version, operator: Lt, values: ['1.34.0-rc.1']}");
  EXPECT_EQ(Problem(Namespaced(versions)), "") << "of versions";
  const std::string other_term = Required(
      "{propertySelector: {matchExpressions: [{name: a, operator: Gt, values: ['3']}]}}, "
      "{propertySelector: {matchExpressions: [{name: a, operator: Lt, values: ['3']}]}}");
  EXPECT_EQ(Problem(Namespaced(other_term)), "") << "terms are alternatives";
}

TEST(PlacementObject, PreferredTermsAreReadAndCheckedWithinTheirWeights) {
  const Placement placement = Read(Namespaced(Preferred(
      "{weight: -100, preference: {labelSelector: {matchLabels: {spot: 'true'}}}}, {weight: 100, "
      "preference: {propertySorter: {name: kubernetes-fleet.io/node-count, sortOrder: "
      "Ascending}}}")));
  ASSERT_EQ(placement.policy.preferred.size(), 2U);
  EXPECT_EQ(placement.policy.preferred[0].weight, -100);
  EXPECT_EQ(placement.policy.preferred[0].labels.match_labels.at("spot"), "true");
  EXPECT_FALSE(placement.policy.preferred[0].sorter.has_value());
  EXPECT_EQ(placement.policy.preferred[1].sorter,
            (PropertySorter{"kubernetes-fleet.io/node-count", false}));
  ExpectProblems({
      {"too heavy", Preferred("{weight: 101, preference: {}}"), "[0].weight: must be at most 100"},
      {"too light", Preferred("{weight: -101, preference: {}}"),
       "[0].weight: must be at least -100"},
      {"without a weight", Preferred("{preference: {}}"), "[0].weight: is required"},
      {"without a preference", Preferred("{weight: 1}"), "[0].preference: is required"},
      {"a selector of properties", Preferred("{weight: 1, preference: {propertySelector: {}}}"),
       "[0].preference.propertySelector: is not allowed in a preferred term"},
      {"a sorter without an order",
       Preferred("{weight: 1, preference: {propertySorter: {name: a}}}"),
       "propertySorter.sortOrder: is required"},
      {"a sorter without a name",
       Preferred("{weight: 1, preference: {propertySorter: {sortOrder: Ascending}}}"),
       "propertySorter.name: is required"},
      {"a sorter of texts",
       Preferred("{weight: 1, preference: {propertySorter: {name: k8s.io/k8s-version, sortOrder: "
                 "Ascending}}}"),
       "propertySorter.name: is a text: members are sorted by quantities"},
  });
}

TEST(PlacementObject, SpreadAndTolerationsAreReadAndChecked) {
  const PlacementPolicy policy =
      Read(Namespaced(Some("topologySpreadConstraints: [{topologyKey: zone}, {maxSkew: 3, "
                           "topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}], tolerations: "
                           "[{key: gpu, value: a100}, {operator: Exists, effect: NoExecute}]")))
          .policy;
  EXPECT_THAT(policy.spread,
              ElementsAre(ClusterSpread{1, "zone", false}, ClusterSpread{3, "zone", true}));
  EXPECT_THAT(policy.tolerations,
              ElementsAre(Toleration{"gpu", "Equal", "a100", "", std::nullopt},
                          Toleration{"", "Exists", "", "NoExecute", std::nullopt}));
  std::string many;
  for (int i = 0; i <= 100; ++i) many += "{key: k" + std::to_string(i) + ", operator: Exists},";
  ExpectProblems({
      {"no key", Some("topologySpreadConstraints: [{maxSkew: 1}]"),
       "topologySpreadConstraints[0].topologyKey: is required"},
      {"a skew of none", Some("topologySpreadConstraints: [{maxSkew: 0, topologyKey: a}]"),
       "topologySpreadConstraints[0].maxSkew: must be at least 1"},
      {"an unknown action",
       Some("topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: Wait}]"),
       "topologySpreadConstraints[0].whenUnsatisfiable: must be one of"},
      {"the same twice",
       Some("topologySpreadConstraints: [{topologyKey: a}, {topologyKey: a, "
            "maxSkew: 2}]"),
       "topologySpreadConstraints[1]: topologyKey and whenUnsatisfiable must be unique"},
      {"too many tolerations", Some("tolerations: [" + many + "]"),
       "spec.policy.tolerations: must have at most 100 entries"},
      {"a toleration twice", Some("tolerations: [{key: a}, {key: a}]"),
       "spec.policy.tolerations[1]: must be unique"},
      {"no key and Equal", Some("tolerations: [{value: a}]"),
       "spec.policy.tolerations[0].operator: must be Exists when key is empty"},
      {"an effect that members have not", Some("tolerations: [{key: a, effect: PreferNoSchedule}]"),
       "spec.policy.tolerations[0].effect: must be NoSchedule or NoExecute"},
      {"for a while, of no NoExecute",
       Some("tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 5}]"),
       "spec.policy.tolerations[0].effect: must be NoExecute when tolerationSeconds is set"},
  });
}

TEST(PlacementObject, StrategiesThatHaveNothingToDoForAJobAreTaken) {
  const std::string strategies[] = {
      "type: RollingUpdate, rollingUpdate: {maxUnavailable: 25%, maxSurge: 100%, "
      "unavailablePeriodSeconds: 0}",
      "rollingUpdate: {maxUnavailable: 1, maxSurge: '3'}",
      "applyStrategy: {whenToApply: Always, comparisonOption: PartialComparison, type: "
      "ClientSideApply, allowCoOwnership: false, whenToTakeOver: Never}",
      "applyStrategy: {type: ServerSideApply, serverSideApplyConfig: {force: true}}",
      "deleteStrategy: {propagationPolicy: Delete}",
      "reportBackStrategy: {type: Mirror, destination: OriginalResource}",
      "reportBackStrategy: {type: Disabled}",
  };
  for (const std::string& strategy : strategies) {
    EXPECT_EQ(Problem(Namespaced(std::string(kJobs) + ", strategy: {" + strategy + "}")), "")
        << strategy;
  }
  EXPECT_EQ(Problem(Namespaced(std::string(kJobs) + ", revisionHistoryLimit: 1000")), "");
  EXPECT_EQ(Problem(OfCluster(std::string(kTeam) + ", statusReportingScope: ClusterScopeOnly")),
            "");
}

TEST(PlacementObject, StrategiesThatCannotBeHonouredAreRefused) {
  const auto strategy = [](const std::string& text) {
    return std::string(kJobs) + ", strategy: {" + text + "}";
  };
  ExpectProblems({
      {"staged runs", strategy("type: External"), "spec.strategy.type: External"},
      {"another type", strategy("type: Recreate"), "spec.strategy.type: must be one of"},
      {"more than all", strategy("rollingUpdate: {maxUnavailable: 101%}"),
       "spec.strategy.rollingUpdate.maxUnavailable: must be a number of member clusters or a "
       "percentage"},
      {"less than none", strategy("rollingUpdate: {maxSurge: -1}"),
       "spec.strategy.rollingUpdate.maxSurge: must be at least 0"},
      {"half of one", strategy("rollingUpdate: {maxSurge: 1.5}"),
       "spec.strategy.rollingUpdate.maxSurge: must be a number of member clusters"},
      {"a percent sign alone", strategy("rollingUpdate: {maxSurge: '%'}"),
       "spec.strategy.rollingUpdate.maxSurge: must be a number of member clusters"},
      {"a negative time", strategy("rollingUpdate: {unavailablePeriodSeconds: -1}"),
       "unavailablePeriodSeconds: must be at least 0"},
      {"an unknown field", strategy("rollingUpdate: {partition: 1}"),
       "spec.strategy.rollingUpdate.partition: unknown field"},
      {"an unknown time to apply", strategy("applyStrategy: {whenToApply: Never}"),
       "spec.strategy.applyStrategy.whenToApply: must be one of"},
      {"reports alone", strategy("applyStrategy: {type: ReportDiff}"),
       "spec.strategy.applyStrategy.type: ReportDiff is only for configuration objects"},
      {"comparison in full", strategy("applyStrategy: {comparisonOption: FullComparison}"),
       "spec.strategy.applyStrategy.comparisonOption: FullComparison is only for configuration"},
      {"owners beside", strategy("applyStrategy: {allowCoOwnership: true}"),
       "spec.strategy.applyStrategy.allowCoOwnership: is only for configuration objects"},
      {"force without server-side apply",
       strategy("applyStrategy: {serverSideApplyConfig: {force: true}}"),
       "serverSideApplyConfig: is only for type ServerSideApply"},
      {"taking over", strategy("applyStrategy: {whenToTakeOver: Always}"),
       "spec.strategy.applyStrategy.whenToTakeOver: Always is only for configuration objects"},
      {"abandoning", strategy("deleteStrategy: {propagationPolicy: Abandon}"),
       "spec.strategy.deleteStrategy.propagationPolicy: Abandon is only for configuration objects"},
      {"status into works", strategy("reportBackStrategy: {type: Mirror, destination: WorkAPI}"),
       "spec.strategy.reportBackStrategy.destination: WorkAPI is not supported"},
      {"a mirror of nothing", strategy("reportBackStrategy: {type: Mirror}"),
       "spec.strategy.reportBackStrategy.destination: is required"},
      {"a destination of nothing",
       strategy("reportBackStrategy: {type: Disabled, destination: OriginalResource}"),
       "spec.strategy.reportBackStrategy.destination: is only for type Mirror"},
      {"no history", std::string(kJobs) + ", revisionHistoryLimit: 0",
       "spec.revisionHistoryLimit: must be at least 1"},
      {"too much history", std::string(kJobs) + ", revisionHistoryLimit: 1001",
       "spec.revisionHistoryLimit: must be at most 1000"},
      {"status in a namespace", std::string(kJobs) + ", statusReportingScope: NamespaceAccessible",
       "spec.statusReportingScope: NamespaceAccessible is only for a ClusterResourcePlacement"},
      {"an unknown field of the spec", std::string(kJobs) + ", paused: true",
       "spec.paused: unknown field"},
  });
  EXPECT_THAT(
      Problem(OfCluster(std::string(kTeam) + ", statusReportingScope: NamespaceAccessible")),
      HasSubstr("spec.statusReportingScope: NamespaceAccessible is not supported"));
  EXPECT_THAT(Problem(Namespaced(kJobs, "{name: " + std::string(64, 'a') + "}")),
              HasSubstr("metadata.name: must be at most 63 bytes"));
}

TEST(PlacementObject, AnnotationsAddWhatMusterHasBeyondKubeFleet) {
  const auto annotated = [](const std::string& spec, const std::string& annotations) {
    return Namespaced(spec, "{name: p, namespace: ml, annotations: {" + annotations + "}}");
  };
  const PlacementPolicy policy =
      Read(annotated(Policy("placementType: PickN, numberOfClusters: 1"),
                     "muster.io/tie-break: kubefleet, muster.io/score-over: feasible, "
                     "muster.io/cluster-groups: '[{\"name\":\"owned\",\"clusters\":[\"a\",\"b\"],"
                     "\"waitSeconds\":300},{\"name\":\"cloud\",\"labels\":{\"tier\":\"cloud\"}}]', "
                     "example.org/note: x"))
          .policy;
  EXPECT_TRUE(policy.kubefleet_tie_break);
  EXPECT_TRUE(policy.score_over_feasible);
  ASSERT_EQ(policy.groups.size(), 2U);
  EXPECT_EQ(policy.groups[0], (ClusterGroup{"owned", {"a", "b"}, std::nullopt, 300}));
  EXPECT_EQ(policy.groups[1],
            (ClusterGroup{"cloud", {}, LabelSelector{{{"tier", "cloud"}}, {}}, 0}));
  const auto groups = [](const std::string& json) {
    return "muster.io/cluster-groups: '" + json + "'";
  };
  std::string many;
  for (int i = 0; i <= 20; ++i)
    many += R"({"name":"g)" + std::to_string(i) + R"(","clusters":["a"]},)";
  many.pop_back();
  const std::vector<Case> cases = {
      {"another tie-break", "muster.io/tie-break: random", "[muster.io/tie-break]: must be"},
      {"rebalancing", "muster.io/rebalance: 'true'", "[muster.io/rebalance]: is for ClusterQueues"},
      {"scores over what", "muster.io/score-over: all", "[muster.io/score-over]: must be"},
      {"scores of PickAll", "muster.io/score-over: feasible",
       "[muster.io/score-over]: is only for placementType PickN"},
      {"a mistyped one", "muster.io/tiebreak: kubefleet", "[muster.io/tiebreak]: unknown"},
      {"groups that are no list", groups("{}"), "must be a JSON list of groups"},
      {"no groups", groups("[]"), "must be a JSON list of groups"},
      {"too many groups", groups("[" + many + "]"), "must have at most 20 groups"},
      {"a group without a name", groups(R"([{"clusters":["a"]}])"), "[0].name: is required"},
      {"a group of nothing", groups(R"([{"name":"a"}])"), "must have either clusters or labels"},
      {"a group of both", groups(R"([{"name":"a","clusters":["a"],"labels":{}}])"),
       "must have either clusters or labels"},
      {"two groups of one name",
       groups(R"([{"name":"a","clusters":["a"]},{"name":"a","clusters":["b"]}])"),
       "[1].name: must be unique"},
      {"an empty group", groups(R"([{"name":"a","clusters":[]}])"),
       "must name at least one member cluster"},
      {"a wait of less than none", groups(R"([{"name":"a","clusters":["a"],"waitSeconds":-1}])"),
       "waitSeconds: must be at least 0"},
      {"an unknown field", groups(R"([{"name":"a","clusters":["a"],"wait":1}])"),
       "wait: unknown field"},
  };
  for (const Case& c : cases)
    EXPECT_THAT(Problem(annotated(kJobs, c.text)), HasSubstr(c.wanted)) << c.name;
}

TEST(PlacementChange, KeepsWhatKubeFleetKeeps) {
  const std::string some = "placementType: PickN, numberOfClusters: 1";
  const std::string two = some + ", tolerations: [{key: a}, {key: b, operator: Exists}]";
  struct ChangeCase {
    const char* name;
    std::string before, after, wanted;
  };
  const ChangeCase cases[] = {
      {"a policy may come later", kJobs, Policy("placementType: PickAll"), ""},
      {"but not of another type than the default", kJobs, Policy(some),
       "spec.policy.placementType: field is immutable: it is \"PickAll\""},
      {"it may not go", Policy("placementType: PickAll"), kJobs,
       "spec.policy: may not be removed once it is set"},
      {"its type stays", Policy(some), Policy("placementType: PickFixed, clusterNames: [a]"),
       "spec.policy.placementType: field is immutable: it is \"PickN\""},
      {"its number may change", Policy(some), Policy("placementType: PickN, numberOfClusters: 3"),
       ""},
      {"tolerations may be added", Policy(some), Policy(two), ""},
      {"in any order", Policy(two),
       Policy(some + ", tolerations: [{key: c}, {key: b, operator: Exists}, {key: a}]"), ""},
      {"not removed", Policy(two), Policy(some + ", tolerations: [{key: a}]"),
       "spec.policy.tolerations: may only be added to: the one of \"b\""},
      {"nor changed", Policy(two),
       Policy(some + ", tolerations: [{key: a, value: x}, {key: b, operator: Exists}]"),
       "spec.policy.tolerations: may only be added to: the one of \"a\""},
  };
  for (const ChangeCase& c : cases) {
    ConfigView config;
    ASSERT_TRUE(Apply(&config, Namespaced(c.before)).ok()) << c.name;
    const Status changed = Apply(&config, Namespaced(c.after));
    if (c.wanted.empty()) {
      EXPECT_TRUE(changed.ok()) << c.name;
    } else {
      ASSERT_FALSE(changed.ok()) << c.name;
      EXPECT_THAT(changed.error().detail, HasSubstr(c.wanted)) << c.name;
    }
    RemoveFrom(&config, ObjectKind::kResourcePlacement, "ml", "p");
    EXPECT_TRUE(Apply(&config, Namespaced(c.after)).ok()) << c.name << ": made anew it may be all";
  }
}

TEST(PlacementTable, OfAnotherConfigurationIsNeverTouched) {
  ConfigView first;
  ASSERT_TRUE(Apply(&first, Namespaced(kJobs, "{name: a, namespace: ml}")).ok());
  const ConfigView before = first;
  ConfigView second = first;
  ASSERT_TRUE(Apply(&second, Namespaced(kJobs, "{name: b, namespace: ml}")).ok());
  ASSERT_TRUE(Apply(&second, OfCluster(kTeam)).ok());
  RemoveFrom(&second, ObjectKind::kResourcePlacement, "ml", "a");
  RemoveFrom(&second, ObjectKind::kResourcePlacement, "ml", "nobody");
  EXPECT_EQ(before.placements->all().size(), 1U);
  EXPECT_NE(before.placements->Find("ml", "a"), nullptr);
  EXPECT_EQ(second.placements->Find("ml", "a"), nullptr);
  EXPECT_NE(second.placements->Find("ml", "b"), nullptr);
  EXPECT_NE(second.placements->Find("", "p"), nullptr);
  RemoveFrom(&second, ObjectKind::kClusterResourcePlacement, "", "p");
  EXPECT_EQ(second.placements->all().size(), 1U);
}

std::string JobWith(const std::string& metadata) {
  return "{apiVersion: batch/v1, kind: Job, metadata: {name: a, " + metadata +
         "}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}";
}

TEST(JobPlacement, IsReadFromLabelsAndAnnotations) {
  const ParsedJob job = Job(Yaml(JobWith(
      "labels: {team: vision, kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/priority-class: high, "
      "kueue.x-k8s.io/max-exec-time-seconds: '60'}, annotations: {muster.io/placement: train, "
      "muster.io/cluster: east, muster.io/datasets: 'imagenet, s3://c4,imagenet', "
      "muster.io/datasets-required: 'true', muster.io/checkpointable: 'true'}")));
  ASSERT_NE(job.placement, nullptr);
  EXPECT_EQ(job.placement->labels, (LabelMap{{"team", "vision"}}));
  EXPECT_EQ(job.placement->placement, "train");
  EXPECT_EQ(job.placement->cluster, "east");
  EXPECT_THAT(job.placement->datasets, ElementsAre("imagenet", "s3://c4"));
  EXPECT_TRUE(job.placement->datasets_required);
  EXPECT_TRUE(job.placement->checkpointable);
  const ParsedJob plain =
      Job(Yaml(JobWith("labels: {kueue.x-k8s.io/queue-name: q}, annotations: {a: b}")));
  EXPECT_EQ(plain.placement, nullptr) << "a job that says nothing has none";
  const ParsedJob moved = Job(Yaml(JobWith("annotations: {muster.io/checkpointable: 'true'}")));
  ASSERT_NE(moved.placement, nullptr) << "that alone is something";
  EXPECT_EQ(Job(Yaml(JobWith("annotations: {muster.io/checkpointable: 'false'}"))).placement,
            nullptr);
}

TEST(JobPlacement, AnnotationsThatCannotBe) {
  std::string many = "d0";
  for (int i = 1; i <= 32; ++i) many += ",d" + std::to_string(i);
  const std::vector<Case> cases = {
      {"no placement's name", "muster.io/placement: A b",
       "[muster.io/placement]: must be the name"},
      {"an empty one", "muster.io/placement: ''", "[muster.io/placement]: must be the name"},
      {"no member's name", "muster.io/cluster: 'a,b'", "[muster.io/cluster]: must be the name"},
      {"an empty dataset", "muster.io/datasets: 'a,,b'", "[muster.io/datasets]: must be names"},
      {"too many datasets", "muster.io/datasets: '" + many + "'",
       "[muster.io/datasets]: must be at most 32 names"},
      {"required without any", "muster.io/datasets-required: 'true'",
       "[muster.io/datasets-required]: needs annotation muster.io/datasets"},
      {"neither true nor false", "muster.io/datasets: a, muster.io/datasets-required: 'yes'",
       "[muster.io/datasets-required]: must be one of"},
      {"perhaps to be moved", "muster.io/checkpointable: 'yes'",
       "[muster.io/checkpointable]: must be one of"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ProblemsOf(ParseJob(Yaml(JobWith("annotations: {" + c.text + "}")))),
                HasSubstr("metadata.annotations" + c.wanted))
        << c.name;
  }
}

TEST(DefaultPlacement, IsNamedByQueuesAndNamespaces) {
  const std::string metadata = "metadata: {name: a, annotations: {muster.io/placement: p}}";
  ConfigView config;
  for (const std::string& document :
       {"{apiVersion: v1, kind: Namespace, " + metadata + "}",
        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, " + metadata + ", spec: {}}",
        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, " + metadata +
            ", spec: {clusterQueue: a}}"})
    ASSERT_TRUE(Apply(&config, document).ok()) << document;
  EXPECT_EQ(config.namespaces.at("a").placement, "p");
  EXPECT_EQ(config.cluster_queues.at("a").placement, "p");
  EXPECT_EQ(config.local_queues.begin()->second.placement, "p");
  EXPECT_THAT(Problem("{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: "
                      "{muster.io/placement: 'a b'}}}"),
              HasSubstr("metadata.annotations[muster.io/placement]: must be the name"));
}

std::string Member(const std::string& annotations, const std::string& spec) {
  return "{apiVersion: cluster.kubernetes-fleet.io/v1beta1, kind: MemberCluster, metadata: {name: "
         "east, annotations: {muster.io/backend: local" +
         annotations + "}}, spec: {" + spec + "}}";
}

TEST(MemberClusterObject, DeclaresPropertiesDatasetsAndTaints) {
  ConfigView config;
  ASSERT_TRUE(
      Apply(&config,
            Member(", muster.io/properties: '{\"muster.io/cost.cpu\": 0.25, "
                   "\"kubernetes.azure.com/per-cpu-core-cost\": \"40m\", \"region\": \"eu-1\"}', "
                   "muster.io/datasets: 'imagenet,c4'",
                   "taints: [{key: gpu, effect: NoExecute}], heartbeatPeriodSeconds: 15"))
          .ok());
  const MemberCluster& member = config.member_clusters.at("east");
  EXPECT_EQ(member.properties.amounts.size(), 2U);
  EXPECT_TRUE(member.properties.amounts.at("muster.io/cost.cpu") == 250'000'000);
  EXPECT_TRUE(member.properties.amounts.at("kubernetes.azure.com/per-cpu-core-cost") == 40'000'000);
  EXPECT_EQ(member.properties.texts.at("region"), "eu-1");
  EXPECT_EQ(member.properties.texts.at("kubernetes.azure.com/per-cpu-core-cost"), "40m");
  EXPECT_THAT(member.datasets, ElementsAre("c4", "imagenet"));
  EXPECT_EQ(member.taints.at(0).effect, "NoExecute");
  EXPECT_EQ(member.heartbeat_s, 15);
  ASSERT_TRUE(Apply(&config, Member("", "")).ok());
  EXPECT_EQ(config.member_clusters.at("east").heartbeat_s, 60);
}

TEST(MemberClusterObject, DeclarationsThatCannotBe) {
  std::string taints, properties;
  for (int i = 0; i <= 100; ++i) taints += "{key: k" + std::to_string(i) + ", effect: NoSchedule},";
  for (int i = 0; i <= 200; ++i)
    properties += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\":\"1\"";
  const auto declares = [](const std::string& json) {
    return Member(", muster.io/properties: '" + json + "'", "");
  };
  const std::vector<Case> cases = {
      {"no object", declares("[]"), "[muster.io/properties]: must be a JSON object"},
      {"no name", declares(R"({"a b": "1"})"), "\"a b\": must be the name of a property"},
      {"a list", declares(R"({"a": []})"), "\"a\": must be a quantity or a text"},
      {"too many", declares("{" + properties + "}"), "must have at most 200 properties"},
      {"a taint that does not repel", Member("", "taints: [{key: a, effect: PreferNoSchedule}]"),
       "spec.taints[0].effect: must be NoSchedule or NoExecute"},
      {"a taint twice",
       Member("", "taints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoSchedule}]"),
       "spec.taints[1]: key and effect must be unique"},
      {"too many taints", Member("", "taints: [" + taints + "]"),
       "spec.taints: must have at most 100 entries"},
      {"a heartbeat out of its range", Member("", "heartbeatPeriodSeconds: 601"),
       "spec.heartbeatPeriodSeconds: must be at most 600"},
      {"a heartbeat of no time", Member("", "heartbeatPeriodSeconds: 0"),
       "spec.heartbeatPeriodSeconds: must be at least 1"},
      {"an identity", Member("", "identity: {kind: User}"), "spec.identity: is not supported"},
      {"how to delete it", Member("", "deleteOptions: {validationMode: Skip}"),
       "spec.deleteOptions: is not supported"},
  };
  for (const Case& c : cases) EXPECT_THAT(Problem(c.text), HasSubstr(c.wanted)) << c.name;
}

}  // namespace
}  // namespace muster::shapes
