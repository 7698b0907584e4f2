// Configuration objects: accepted in both versions, wrong fields with their paths, and the values
// that they become.
#include "schedd/model/shared_directory.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::HasSubstr;

struct Case {
  std::string name, text, wanted;
};

std::string Object(const std::string& kind, const std::string& body,
                   const std::string& api_version = "kueue.x-k8s.io/v1beta1",
                   const std::string& metadata = "{name: a}") {
  return "{apiVersion: " + api_version + ", kind: " + kind + ", metadata: " + metadata +
         (body.empty() ? "" : ", " + body) + "}";
}

void ExpectProblems(const std::string& kind, const std::vector<Case>& cases,
                    const std::string& api_version = "kueue.x-k8s.io/v1beta1") {
  for (const auto& c : cases) {
    EXPECT_THAT(ProblemsOf(ParseObject(Yaml(Object(kind, c.text, api_version)))),
                HasSubstr(c.wanted))
        << c.name;
  }
}

ConfigView Applied(const std::string& text) {
  ConfigView config;
  const auto object = ParseObject(Yaml(text));
  EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().detail);
  if (object.ok()) {
    EXPECT_TRUE(ApplyTo(&config, object->kind, object->manifest).ok());
  }
  return config;
}

std::string Group(const std::string& quotas) {
  return "resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, " +
         quotas + "}]}]}]";
}

TEST(ClusterQueueObject, ReadsBothVersions) {
  for (const std::string version : {"v1beta1", "v1beta2"}) {
    const bool newer = version == "v1beta2";
    const ClusterQueue queue =
        Applied(Object("ClusterQueue",
                       std::string("spec: {") + (newer ? "cohortName" : "cohort") +
                           ": c, queueingStrategy: StrictFIFO, stopPolicy: HoldAndDrain, "
                           "flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: " +
                           (newer ? "MayStopSearch" : "Preempt") +
                           "}, "
                           "preemption: {reclaimWithinCohort: Never, withinClusterQueue: Never, "
                           "borrowWithinCohort: {policy: Never}}, admissionChecks: [], "
                           "namespaceSelector: {matchLabels: {team: x}, matchExpressions: [{key: "
                           "k, operator: In, values: [a]}]}, " +
                           Group("nominalQuota: 1500m, borrowingLimit: 2, lendingLimit: 1") + "}",
                       "kueue.x-k8s.io/" + version))
            .cluster_queues.at("a");
    EXPECT_EQ(queue.cohort, "c");
    EXPECT_EQ(queue.strategy, QueueingStrategy::kStrictFifo);
    EXPECT_EQ(queue.stop_policy, StopPolicy::kHoldAndDrain);
    EXPECT_EQ(queue.when_can_borrow, FungibilityPolicy::kTryNextFlavor);
    EXPECT_EQ(queue.when_can_preempt, FungibilityPolicy::kMayStopSearch);
    EXPECT_EQ(queue.namespace_selector->match_labels.at("team"), "x");
    EXPECT_EQ(queue.namespace_selector->match_expressions.at(0).values.at(0), "a");
    const Quota& quota = queue.resource_groups.at(0).flavors.at(0).resources.at(0).second;
    EXPECT_EQ(quota.nominal, 1500);
    EXPECT_EQ(quota.borrowing_limit, 2000);
    EXPECT_EQ(quota.lending_limit, 1000);
  }
}

TEST(ClusterQueueObject, TakesEveryNamespaceUnlessASelectorSaysOtherwise) {
  const auto selector = [](const std::string& body) {
    return Applied(Object("ClusterQueue", body)).cluster_queues.at("a").namespace_selector;
  };
  for (const auto* all : {"spec: {}", "spec: {namespaceSelector: {}}"}) {
    ASSERT_TRUE(selector(all).has_value()) << all;
    EXPECT_TRUE(selector(all)->match_labels.empty()) << all;
    EXPECT_TRUE(selector(all)->match_expressions.empty()) << all;
  }
  EXPECT_FALSE(selector("spec: {namespaceSelector: null}").has_value()) << "null is none";
  EXPECT_EQ(selector("spec: {namespaceSelector: {matchLabels: {team: x}}}")->match_labels.size(),
            1U);
  EXPECT_EQ(Applied(Object("ClusterQueue", "spec: {}")).cluster_queues.at("a").when_can_preempt,
            FungibilityPolicy::kTryNextFlavor);
}

TEST(ClusterQueueObject, RefusesWrongFieldsWithTheirPath) {
  const std::string flavor = "spec.resourceGroups[0].flavors[0].";
  std::string many_groups, many_flavors, seventeen;
  for (int i = 0; i < 65; ++i)
    many_flavors +=
        "{name: f" + std::to_string(i) + ", resources: [{name: cpu, nominalQuota: 1}]}, ";
  for (int i = 0; i < 17; ++i) {
    const std::string n = std::to_string(i);
    many_groups += "{coveredResources: [r" + n + "], flavors: [{name: f" + n +
                   ", resources: [{name: r" + n + ", nominalQuota: 1}]}]}, ";
  }
  ExpectProblems(
      "ClusterQueue",
      {
          {"an unknown field", "spec: {quota: 3}", "spec.quota: unknown field"},
          {"an unknown top-level field", "sepc: {}", "sepc: unknown field"},
          {"a strategy", "spec: {queueingStrategy: LIFO}",
           "spec.queueingStrategy: must be one of BestEffortFIFO, StrictFIFO"},
          {"a stop policy", "spec: {stopPolicy: Stop}", "spec.stopPolicy: must be one of"},
          {"a bad cohort", "spec: {cohort: A_b}", "spec.cohort: must be at most 253"},
          {"two cohorts", "spec: {cohort: a, cohortName: b}",
           "spec.cohortName: differs from cohort"},
          {"no quota", "spec: {cohort: c, " + Group("borrowingLimit: 1") + "}",
           flavor + "resources[0].nominalQuota: is required"},
          {"half a GPU as quota",
           "spec: {resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: a, "
           "resources: [{name: nvidia.com/gpu, nominalQuota: 1.5}]}]}]}",
           flavor + "resources[0].nominalQuota: must be a whole number"},
          {"half a GPU to borrow",
           "spec: {cohort: c, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: "
           "[{name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 2, borrowingLimit: 500m, "
           "lendingLimit: 1500m}]}]}]}",
           flavor + "resources[0].lendingLimit: must be a whole number"},
          {"half a pod",
           "spec: {resourceGroups: [{coveredResources: [pods], flavors: [{name: a, resources: "
           "[{name: pods, nominalQuota: 2.5}]}]}]}",
           flavor + "resources[0].nominalQuota: must be a whole number"},
          {"a tenth of a byte",
           "spec: {resourceGroups: [{coveredResources: [memory], flavors: [{name: a, resources: "
           "[{name: memory, nominalQuota: 100m}]}]}]}",
           flavor + "resources[0].nominalQuota: must be a whole number"},
          {"a negative quota", "spec: {" + Group("nominalQuota: -1") + "}",
           flavor + "resources[0].nominalQuota: must not be negative"},
          {"an overflowing quota", "spec: {" + Group("nominalQuota: 99999999999999999999E") + "}",
           "nominalQuota: \"99999999999999999999E\" is beyond 64 bits"},
          {"a limit without cohort", "spec: {" + Group("nominalQuota: 1, borrowingLimit: 1") + "}",
           "borrowingLimit: must be nil when cohort is empty"},
          {"lending without cohort", "spec: {" + Group("nominalQuota: 1, lendingLimit: 1") + "}",
           "lendingLimit: must be nil when cohort is empty"},
          {"lending more than owned",
           "spec: {cohort: c, " + Group("nominalQuota: 1, lendingLimit: 2") + "}",
           "lendingLimit: must be less than or equal to the nominalQuota"},
          {"resources in another order",
           "spec: {resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: f, "
           "resources: [{name: memory, nominalQuota: 1}, {name: cpu, nominalQuota: 1}]}]}]}",
           flavor + "resources[0].name: must match the name in coveredResources"},
          {"a resource missing",
           "spec: {resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: f, "
           "resources: [{name: cpu, nominalQuota: 1}]}]}]}",
           flavor + "resources: must have the same number"},
          {"a resource too many",
           "spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: "
           "[{name: cpu, nominalQuota: 1}, {name: x, nominalQuota: 1}]}]}]}",
           flavor + "resources[1].name: must match"},
          {"a resource in two groups",
           "spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: "
           "[{name: cpu, nominalQuota: 1}]}]}, {coveredResources: [cpu], flavors: [{name: g, "
           "resources: [{name: cpu, nominalQuota: 1}]}]}]}",
           "spec.resourceGroups[1].coveredResources[0]: duplicate"},
          {"a flavor in two groups",
           "spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: "
           "[{name: cpu, nominalQuota: 1}]}]}, {coveredResources: [memory], flavors: [{name: f, "
           "resources: [{name: memory, nominalQuota: 1}]}]}]}",
           "spec.resourceGroups[1].flavors[0].name: duplicate"},
          {"a group of nothing", "spec: {resourceGroups: [{coveredResources: [], flavors: []}]}",
           "spec.resourceGroups[0].coveredResources: must name at least one"},
          {"17 groups", "spec: {resourceGroups: [" + many_groups + "]}",
           "spec.resourceGroups: must have at most 16 groups"},
          {"65 flavors",
           "spec: {resourceGroups: [{coveredResources: [cpu], flavors: [" + many_flavors + "]}]}",
           "spec.resourceGroups[0].flavors: must have at most 64"},
          {"a selector that does not parse",
           "spec: {namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}",
           "matchExpressions[0].values: must not be empty"},
          {"a selector by numbers",
           "spec: {namespaceSelector: {matchExpressions: [{key: a, operator: Gt, values: "
           "[\"1\"]}]}}",
           "operator: must be one of In, NotIn"},
      });
}

TEST(CohortObject, MayLendMoreThanItOwnsButNeedsAParentForLimits) {
  const Cohort cohort =
      Applied(Object("Cohort",
                     "spec: {parentName: root, " + Group("nominalQuota: 1, lendingLimit: 5") + "}"))
          .cohorts.at("a");
  EXPECT_EQ(cohort.parent, "root");
  EXPECT_EQ(cohort.resource_groups.at(0).flavors.at(0).resources.at(0).second.lending_limit, 5000);
  EXPECT_EQ(Applied(Object("Cohort", "spec: {parent: root}")).cohorts.at("a").parent, "root");
  ExpectProblems("Cohort", {
                               {"a limit without parent",
                                "spec: {" + Group("nominalQuota: 1, borrowingLimit: 1") + "}",
                                "borrowingLimit: must be nil when parent is empty"},
                           });
}

TEST(ResourceFlavorObject, ReadsLabelsTaintsAndTolerations) {
  const ResourceFlavor flavor =
      Applied(
          Object("ResourceFlavor",
                 "spec: {nodeLabels: {gpu-type: a100}, nodeTaints: [{key: spot, value: \"true\", "
                 "effect: NoSchedule}], tolerations: [{key: spot, operator: Exists}]}"))
          .flavors.at("a");
  EXPECT_EQ(flavor.node_labels.at("gpu-type"), "a100");
  EXPECT_EQ(flavor.node_taints.at(0).effect, "NoSchedule");
  EXPECT_EQ(flavor.tolerations.at(0).op, "Exists");
  ExpectProblems(
      "ResourceFlavor",
      {
          {"a topology without labels", "spec: {topologyName: rack}",
           "spec.topologyName: needs at least one nodeLabel"},
          {"a taint without effect", "spec: {nodeTaints: [{key: a}]}",
           "spec.nodeTaints[0].effect: is required"},
          {"a taint twice",
           "spec: {nodeTaints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]}",
           "spec.nodeTaints[1]: key and effect must be unique"},
          {"a toleration by value", "spec: {tolerations: [{key: a, operator: Exists, value: x}]}",
           "spec.tolerations[0].value: must be empty"},
          {"nine labels",
           "spec: {nodeLabels: {a: x, b: x, c: x, d: x, e: x, f: x, g: x, h: x, i: x}}",
           "spec.nodeLabels: must have at most 8"},
          {"a label that is a number", "spec: {nodeLabels: {a: 1}}",
           "spec.nodeLabels[a]: must be a string"},
      });
}

TEST(LocalQueueObject, PointsToOneClusterQueueForGood) {
  ConfigView config = Applied(Object("LocalQueue", "spec: {clusterQueue: cq, stopPolicy: Hold}",
                                     "kueue.x-k8s.io/v1beta1", "{name: a, namespace: team}"));
  EXPECT_EQ(config.local_queues.at({"team", "a"}).stop_policy, StopPolicy::kHold);
  const auto other =
      ParseObject(Yaml(Object("LocalQueue", "spec: {clusterQueue: other}", "kueue.x-k8s.io/v1beta1",
                              "{name: a, namespace: team}")));
  ASSERT_TRUE(other.ok());
  EXPECT_THAT(ProblemsOf(ApplyTo(&config, other->kind, other->manifest)),
              HasSubstr("spec.clusterQueue: field is immutable"));
  EXPECT_EQ(config.local_queues.at({"team", "a"}).cluster_queue, "cq");
  RemoveFrom(&config, ObjectKind::kLocalQueue, "team", "a");
  EXPECT_TRUE(config.local_queues.empty());
  ExpectProblems("LocalQueue", {{"no queue", "spec: {}", "spec.clusterQueue: is required"},
                                {"no spec", "", "spec: is required"}});
}

TEST(QueueObjects, MayNameTheImageOfTheirBatchScripts) {
  const std::string named =
      "{name: a, namespace: team, annotations: {muster.io/default-image: \"r.example/py:3\"}}";
  const std::string api = "kueue.x-k8s.io/v1beta1";
  const ConfigView local = Applied(Object("LocalQueue", "spec: {clusterQueue: cq}", api, named));
  EXPECT_EQ(local.local_queues.at({"team", "a"}).default_image, "r.example/py:3");
  const std::string cluster_wide =
      "{name: a, annotations: {muster.io/default-image: \"r.example/py:3\"}}";
  const ConfigView cluster = Applied(
      Object("ClusterQueue", "spec: {" + Group("nominalQuota: 1") + "}", api, cluster_wide));
  EXPECT_EQ(cluster.cluster_queues.at("a").default_image, "r.example/py:3");
  const std::string spaced =
      "{name: a, namespace: team, annotations: {muster.io/default-image: two words}}";
  EXPECT_THAT(
      ProblemsOf(ParseObject(Yaml(Object("LocalQueue", "spec: {clusterQueue: cq}", api, spaced)))),
      HasSubstr("must be the name of an image"));
}

TEST(QueueObjects, MayNameToolsAndDirectoriesOfTheirBatchScripts) {
  const std::string api = "kueue.x-k8s.io/v1beta1";
  const auto queue = [&](const std::string& annotations) {
    return Object("LocalQueue", "spec: {clusterQueue: cq}", api,
                  "{name: a, namespace: team, annotations: {" + annotations + "}}");
  };
  const ConfigView config =
      Applied(queue("muster.io/tools-image: \"tools:1\", muster.io/shared-directories: "
                    "\"home:/home,d:/data:ro\""));
  EXPECT_EQ(config.local_queues.at({"team", "a"}).tools_image, "tools:1");
  EXPECT_EQ(config.local_queues.at({"team", "a"}).shared_directories, "home:/home,d:/data:ro");
  const auto read = ParseSharedDirectories("home:/home,d:/data/sets:ro");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read,
            (std::vector<SharedDirectory>{{"home", "/home", false}, {"d", "/data/sets", true}}));
  EXPECT_TRUE(ParseSharedDirectories("")->empty());
  for (const char* wrong : {"home", "home:", "home:home", "Home:/home", "home:/", "home:/a/../b",
                            "home:/a//b", "home:/a:rw", "home:/a,", "a:/x,b:/x", "a:/opt/muster",
                            "a:/tmp/muster-batch/x", "a:/with space"}) {
    EXPECT_FALSE(ParseSharedDirectories(wrong).ok()) << wrong;
    EXPECT_THAT(ProblemsOf(ParseObject(
                    Yaml(queue("muster.io/shared-directories: \"" + std::string(wrong) + "\"")))),
                HasSubstr("muster.io/shared-directories"));
  }
}

TEST(PriorityClassObject, HasAValue) {
  EXPECT_EQ(Applied(Object("WorkloadPriorityClass", "value: -5, description: low"))
                .priority_classes.at("a")
                .value,
            -5);
  ExpectProblems("WorkloadPriorityClass",
                 {
                     {"no value", "description: x", "value: is required"},
                     {"beyond 32 bits", "value: 3000000000", "value: must be at most 2147483647"},
                 });
}

TEST(CoreObjects, AreCheckedLikeKubernetesDoes) {
  ExpectProblems("Namespace", {{"an unknown field", "data: {}", "data: unknown field"}}, "v1");
  EXPECT_THAT(ProblemsOf(ParseObject(Yaml(Object("Namespace", "", "v1", "{name: a.b}")))),
              HasSubstr("metadata.name: must be at most 63"));
  EXPECT_THAT(
      ProblemsOf(ParseObject(Yaml(Object("Namespace", "", "v1", "{name: a, namespace: b}")))),
      HasSubstr("metadata.namespace: a Namespace belongs to no namespace"));
  ExpectProblems(
      "ConfigMap",
      {
          {"a number", "data: {port: 8080}", "data[port]: must be a string"},
          {"a path as key", "data: {\"a/b\": x}", "data[a/b]: a key must be"},
          {"bad base64", "binaryData: {a: \"*\"}", "binaryData[a]: must be base64"},
          {"one key twice", "data: {a: x}, binaryData: {a: eA==}", "binaryData[a]: is in data too"},
      },
      "v1");
  ExpectProblems("Secret", {{"bad base64", "data: {a: \"x\"}", "data[a]: must be base64"}}, "v1");
  const auto secret = ParseObject(Yaml(
      Object("Secret", "type: Opaque, data: {a: eA==, b: eQ==}, stringData: {b: hello}", "v1")));
  ASSERT_TRUE(secret.ok()) << secret.error().detail;
  EXPECT_EQ(TextAt(secret->manifest, {"data"}), R"({"a":"eA==","b":"aGVsbG8="})");
  EXPECT_EQ(TextAt(secret->manifest, {"stringData"}), "absent");
}

TEST(MemberClusterObject, IsTheDaemonsOwn) {
  const std::string api = "cluster.kubernetes-fleet.io/v1beta1";
  EXPECT_THAT(
      ProblemsOf(ParseObject(Yaml(Object("MemberCluster", "spec: {}", api)))),
      HasSubstr(
          "metadata.annotations[muster.io/backend]: member clusters are declared to musterd"));
  const MemberCluster cluster =
      Applied(Object("MemberCluster", "spec: {taints: [{key: a, effect: NoSchedule}]}", api,
                     "{name: east, labels: {zone: z}, annotations: {muster.io/backend: local, "
                     "muster.io/any-flavor: \"true\", muster.io/cordoned: \"true\", "
                     "muster.io/allocatable: '{\"cpu\":\"4\",\"nvidia.com/gpu\":8}'}}"))
          .member_clusters.at("east");
  EXPECT_EQ(cluster.backend, "local");
  EXPECT_TRUE(cluster.any_flavor);
  EXPECT_TRUE(cluster.cordoned);
  EXPECT_EQ(AmountOf(cluster.allocatable, "cpu"), 4000);
  EXPECT_EQ(AmountOf(cluster.allocatable, "nvidia.com/gpu"), 8);
  EXPECT_EQ(cluster.taints.at(0).key, "a");
  EXPECT_EQ(cluster.labels.at("zone"), "z");
}

TEST(ParseObject, IdentifiesNormalisesAndNamesWhatItDoesNotKnow) {
  const auto object =
      ParseObject(Yaml(Object("ClusterQueue", "spec: {}, status: {x: 1}", "kueue.x-k8s.io/v1beta1",
                              "{name: a, resourceVersion: \"42\", uid: u, managedFields: [], "
                              "creationTimestamp: null, labels: {x: \"y\"}}")));
  ASSERT_TRUE(object.ok()) << object.error().detail;
  EXPECT_EQ(object->expected_resource_version, 42);
  EXPECT_EQ(
      WriteJson(object->manifest),
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue","metadata":{"name":"a","labels":{"x":"y"}},"spec":{}})");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {Object("MultiKueueConfig", ""),
       "kind: MultiKueueConfig of kueue.x-k8s.io is not supported by this version"},
      {Object("ClusterQueue", "", "kueue.x-k8s.io/v1alpha1"),
       "apiVersion: ClusterQueue is served in v1beta1 and v1beta2, not \"v1alpha1\""},
      {Object("Deployment", "", "apps/v1"),
       "kind: no object of this kind is known: \"apps/v1, Deployment\""},
      {"{kind: Namespace}", "apiVersion: is required"},
      {"{apiVersion: v1, kind: Namespace}", "metadata: is required"},
      {Object("Namespace", "", "v1", "{}"), "metadata.name: is required"},
      {Object("Namespace", "", "v1", "{name: a, resourceVersion: x1}"),
       "metadata.resourceVersion: must be a number"},
  };
  for (const auto& [text, problem] : cases)
    EXPECT_THAT(ProblemsOf(ParseObject(Yaml(text))), HasSubstr(problem)) << text;
}

}  // namespace
}  // namespace muster::shapes
