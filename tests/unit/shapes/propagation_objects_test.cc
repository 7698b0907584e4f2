// Propagation to members: configuration objects that placements select, their strategies, overrides
// and envelopes (rules P3, P21, P25, P28, P29).
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Case {
  std::string name, text, wanted;
};

constexpr char kGroup[] = "placement.kubernetes-fleet.io/";

std::string Problem(const std::string& manifest) { return ProblemsOf(ParseObject(Yaml(manifest))); }

Status Apply(ConfigView* config, const std::string& manifest) {
  const auto object = ParseObject(Yaml(manifest));
  if (!object.ok()) return object.error();
  return ApplyTo(config, object->kind, object->manifest);
}

std::string Manifest(const std::string& kind, const std::string& more,
                     const std::string& version = "v1beta1") {
  const std::string metadata =
      kind.starts_with("Cluster") ? "{name: a}" : "{name: a, namespace: ml}";
  return std::string("{apiVersion: ") + kGroup + version + ", kind: " + kind +
         ", metadata: " + metadata + ", " + more + "}";
}

// --- selectors

std::string Selecting(const std::string& selectors, const std::string& more = "") {
  return Manifest("ResourcePlacement",
                  "spec: {resourceSelectors: [" + selectors + "]" + more + "}");
}
std::string ClusterSelecting(const std::string& selectors, const std::string& more = "") {
  return Manifest("ClusterResourcePlacement",
                  "spec: {resourceSelectors: [" + selectors + "]" + more + "}");
}

TEST(PropagatedObjects, AreSelectedInTheirNamespaceInEveryServedVersion) {
  for (const char* selector :
       {"{group: kueue.x-k8s.io, version: v1beta1, kind: LocalQueue, name: q}",
        "{group: kueue.x-k8s.io, version: v1beta2, kind: LocalQueue}",
        "{group: '', version: v1, kind: ConfigMap, name: c}",
        "{group: '', version: v1, kind: Secret, labelSelector: {matchLabels: {a: b}}}",
        "{group: '', version: v1, kind: LimitRange, name: l}",
        "{group: placement.kubernetes-fleet.io, version: v1beta1, kind: ResourceEnvelope, name: e}",
        "{group: placement.kubernetes-fleet.io, version: v1, kind: ResourceEnvelope}"}) {
    EXPECT_EQ(Problem(Selecting(selector)), "") << selector;
    EXPECT_EQ(Problem(ClusterSelecting(std::string(selector) +
                                       ", {group: '', version: v1, kind: Namespace, name: ml, "
                                       "selectionScope: NamespaceWithResourceSelectors}")),
              "")
        << selector;
    EXPECT_THAT(Problem(ClusterSelecting(selector)), HasSubstr("spec.resourceSelectors[0].kind: "))
        << selector;
  }
}

TEST(PropagatedObjects, OfTheClusterAreSelectedByPlacementsOfTheCluster) {
  for (const char* kind :
       {"kueue.x-k8s.io, version: v1beta2, kind: ClusterQueue",
        "kueue.x-k8s.io, version: v1beta1, kind: ResourceFlavor",
        "kueue.x-k8s.io, version: v1beta1, kind: Cohort",
        "kueue.x-k8s.io, version: v1beta1, kind: WorkloadPriorityClass",
        "kueue.x-k8s.io, version: v1beta1, kind: AdmissionCheck",
        "kueue.x-k8s.io, version: v1beta1, kind: Topology", "'', version: v1, kind: Namespace",
        "node.k8s.io, version: v1, kind: RuntimeClass",
        "placement.kubernetes-fleet.io, version: v1, kind: ClusterResourceEnvelope"}) {
    const std::string selector = std::string("{group: ") + kind + "}";
    EXPECT_EQ(Problem(ClusterSelecting(selector)), "") << kind;
    EXPECT_THAT(Problem(Selecting(selector)), HasSubstr("lies in no namespace")) << kind;
  }
}

// --- strategies

constexpr char kQueue[] = "{group: kueue.x-k8s.io, version: v1beta1, kind: LocalQueue, name: q}";
constexpr char kJob[] = "{group: batch, version: v1, kind: Job}";

Placement Read(const std::string& manifest) {
  ConfigView config;
  const Status applied = Apply(&config, manifest);
  EXPECT_TRUE(applied.ok()) << (applied.ok() ? "" : applied.error().detail) << "\n" << manifest;
  if (!applied.ok()) return {};
  return *config.placements->all().begin()->second;
}

Placement WithStrategy(const std::string& strategy, const std::string& more = "") {
  return Read(Selecting(kQueue, ", strategy: {" + strategy + "}" + more));
}

TEST(PropagationStrategy, IsKubeFleetsWhereNothingIsSaid) {
  const Placement placement = Read(Selecting(kQueue));
  EXPECT_EQ(placement.rollout, (RollingUpdate{{25, true}, {25, true}, 60}));
  EXPECT_EQ(placement.apply.type, ApplyType::kClientSide);
  EXPECT_EQ(placement.apply, ApplyStrategy{});
  EXPECT_EQ(placement.apply.take_over, TakeOver::kAlways);
  EXPECT_FALSE(placement.abandon);
  EXPECT_EQ(placement.revision_history_limit, 10);
}

TEST(PropagationStrategy, IsKeptAsItIsWritten) {
  EXPECT_EQ(WithStrategy("rollingUpdate: {maxUnavailable: 2, maxSurge: '3', "
                         "unavailablePeriodSeconds: 0}")
                .rollout,
            (RollingUpdate{{2, false}, {3, false}, 0}));
  EXPECT_EQ(WithStrategy("rollingUpdate: {maxUnavailable: 100%, maxSurge: 0%}").rollout,
            (RollingUpdate{{100, true}, {0, true}, 60}));
  EXPECT_EQ(WithStrategy("applyStrategy: {type: ServerSideApply, serverSideApplyConfig: {force: "
                         "true}, whenToApply: IfNotDrifted, whenToTakeOver: IfNoDiff}")
                .apply,
            (ApplyStrategy{ApplyType::kServerSide, true, false, false, true, TakeOver::kIfNoDiff}));
  EXPECT_EQ(WithStrategy("applyStrategy: {type: ReportDiff, comparisonOption: FullComparison, "
                         "allowCoOwnership: true, whenToTakeOver: Never}")
                .apply,
            (ApplyStrategy{ApplyType::kReportDiff, false, true, true, false, TakeOver::kNever}));
  EXPECT_FALSE(WithStrategy("applyStrategy: {type: ServerSideApply}").apply.force_conflicts);
  EXPECT_TRUE(WithStrategy("deleteStrategy: {propagationPolicy: Abandon}").abandon);
  EXPECT_FALSE(WithStrategy("deleteStrategy: {propagationPolicy: Delete}").abandon);
  EXPECT_EQ(WithStrategy("", ", revisionHistoryLimit: 1").revision_history_limit, 1);
  EXPECT_EQ(WithStrategy("reportBackStrategy: {type: Disabled}").apply, ApplyStrategy{});
}

TEST(PropagationStrategy, OfJobsBesideConfigurationIsThatOfTheConfiguration) {
  const std::string strategy =
      ", strategy: {applyStrategy: {type: ReportDiff}, deleteStrategy: {propagationPolicy: "
      "Abandon}}";
  EXPECT_EQ(Problem(Selecting(std::string(kJob) + ", " + kQueue, strategy)), "");
  EXPECT_EQ(
      Problem(ClusterSelecting("{group: '', version: v1, kind: Namespace, name: ml}", strategy)),
      "")
      << "a namespace is an object itself";
  EXPECT_THAT(Problem(Selecting(kJob, strategy)),
              HasSubstr("spec.strategy.applyStrategy.type: ReportDiff is only for configuration"));
}

TEST(PropagationStrategy, ThatCannotBeIsRefusedByItsField) {
  const Case cases[] = {
      {"staged runs", "type: External", "spec.strategy.type: External"},
      {"a mirror", "reportBackStrategy: {type: Mirror, destination: OriginalResource}",
       "spec.strategy.reportBackStrategy.type: Mirror is only for jobs"},
      {"a destination of nothing", "reportBackStrategy: {destination: WorkAPI}",
       "spec.strategy.reportBackStrategy.destination: is only for type Mirror"},
      {"force of the wrong way", "applyStrategy: {type: ReportDiff, serverSideApplyConfig: {}}",
       "spec.strategy.applyStrategy.serverSideApplyConfig: is only for type ServerSideApply"},
      {"an unknown way", "applyStrategy: {type: Replace}",
       "spec.strategy.applyStrategy.type: must be one of"},
      {"an unknown taking over", "applyStrategy: {whenToTakeOver: Sometimes}",
       "spec.strategy.applyStrategy.whenToTakeOver: must be one of"},
      {"an unknown comparison", "applyStrategy: {comparisonOption: Some}",
       "spec.strategy.applyStrategy.comparisonOption: must be one of"},
      {"an unknown end", "deleteStrategy: {propagationPolicy: Orphan}",
       "spec.strategy.deleteStrategy.propagationPolicy: must be one of"},
      {"more than all", "rollingUpdate: {maxUnavailable: 101%}",
       "spec.strategy.rollingUpdate.maxUnavailable: must be a number of member clusters"},
      {"a hundred in many digits", "rollingUpdate: {maxSurge: 010%}",
       "spec.strategy.rollingUpdate.maxSurge: must be a number of member clusters"},
  };
  for (const Case& c : cases) {
    const std::string problem = Problem(Selecting(kQueue, ", strategy: {" + c.text + "}"));
    EXPECT_THAT(problem, HasSubstr(c.wanted)) << c.name;
    EXPECT_EQ(std::count(problem.begin(), problem.end(), '\n'), 1) << c.name << ": " << problem;
  }
}

// --- overrides

constexpr char kAll[] =
    "policy: {overrideRules: [{clusterSelector: {}, jsonPatchOverrides: [{op: "
    "remove, path: /spec/x}]}]}";

std::string ClusterOverride(const std::string& spec) {
  return Manifest("ClusterResourceOverride", "spec: {" + spec + "}");
}
std::string OverrideOf(const std::string& spec) {
  return Manifest("ResourceOverride", "spec: {" + spec + "}");
}
std::string OfQueue(const std::string& rules) {
  return OverrideOf(std::string("resourceSelectors: [") + kQueue + "], policy: {overrideRules: [" +
                    rules + "]}");
}
std::string Patched(const std::string& patches) {
  return OfQueue("{clusterSelector: {}, jsonPatchOverrides: [" + patches + "]}");
}

TEST(Override, IsReadWithItsResourcesAndRules) {
  ConfigView config;
  ASSERT_TRUE(
      Apply(
          &config,
          ClusterOverride(
              "placement: {name: p}, clusterResourceSelectors: [{group: kueue.x-k8s.io, version: "
              "v1beta1, kind: ClusterQueue, name: q}, {group: '', version: v1, kind: Namespace, "
              "name: ml}, {group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, "
              "name: 'x:reader'}], policy: {overrideRules: [{clusterSelector: "
              "{clusterSelectorTerms: [{labelSelector: {matchLabels: {env: prod}}}, {}]}, "
              "jsonPatchOverrides: [{op: add, path: /metadata/labels/a~1b, value: "
              "'c-${MEMBER-CLUSTER-NAME}'}, {op: replace, path: /spec, value: {n: "
              "['${MEMBER-CLUSTER-LABEL-KEY-example.org/zone}', '${OTHER}']}}, {op: remove, path: "
              "/spec/m}]}, {clusterSelector: {}, overrideType: Delete}, {jsonPatchOverrides: "
              "[{op: remove, path: /x}]}]}"))
          .ok());
  const ResourceOverride& one = config.overrides.at({"", "a"});
  EXPECT_EQ(one.name, "a");
  EXPECT_EQ(one.placement, "p");
  EXPECT_TRUE(one.placement_of_cluster);
  EXPECT_THAT(
      one.resources,
      ElementsAre(ResourceRef{"kueue.x-k8s.io", "v1beta1", "ClusterQueue", "", "q"},
                  ResourceRef{"", "v1", "Namespace", "", "ml"},
                  ResourceRef{"rbac.authorization.k8s.io", "v1", "ClusterRole", "", "x:reader"}));
  ASSERT_EQ(one.rules.size(), 3U);
  ASSERT_TRUE(one.rules[0].clusters.has_value());
  EXPECT_THAT(*one.rules[0].clusters,
              ElementsAre(LabelSelector{{{"env", "prod"}}, {}}, LabelSelector{}));
  EXPECT_THAT(
      one.rules[0].patches,
      ElementsAre(
          JsonPatch{PatchOp::kAdd, "/metadata/labels/a~1b", R"("c-${MEMBER-CLUSTER-NAME}")"},
          JsonPatch{PatchOp::kReplace, "/spec",
                    R"({"n":["${MEMBER-CLUSTER-LABEL-KEY-example.org/zone}","${OTHER}"]})"},
          JsonPatch{PatchOp::kRemove, "/spec/m", ""}));
  EXPECT_TRUE(one.rules[1].remove);
  ASSERT_TRUE(one.rules[1].clusters.has_value());
  EXPECT_TRUE(one.rules[1].clusters->empty()) << "every member";
  EXPECT_FALSE(one.rules[2].clusters.has_value()) << "no member";
  RemoveFrom(&config, ObjectKind::kClusterResourceOverride, "", "a");
  EXPECT_TRUE(config.overrides.empty());
}

TEST(Override, OfANamespaceIsForWhatLiesInIt) {
  ConfigView config;
  for (const char* version : {"v1beta1", "v1"}) {
    ASSERT_TRUE(
        Apply(&config, Manifest("ResourceOverride",
                                std::string("spec: {placement: {name: p, scope: Namespaced}, "
                                            "resourceSelectors: [") +
                                    kQueue + "], " + kAll + "}",
                                version))
            .ok())
        << version;
  }
  const ResourceOverride& one = config.overrides.at({"ml", "a"});
  EXPECT_FALSE(one.placement_of_cluster);
  EXPECT_THAT(one.resources,
              ElementsAre(ResourceRef{"kueue.x-k8s.io", "v1beta1", "LocalQueue", "ml", "q"}));
  ASSERT_TRUE(Apply(&config, ClusterOverride("clusterResourceSelectors: [{group: '', version: v1, "
                                             "kind: Namespace, name: ml}], " +
                                             std::string(kAll)))
                  .ok());
  EXPECT_EQ(config.overrides.at({"", "a"}).placement, "") << "for every placement";
  RemoveFrom(&config, ObjectKind::kResourceOverride, "ml", "a");
  EXPECT_EQ(config.overrides.size(), 1U) << "that of the cluster stays";
}

TEST(Override, StaysWithItsPlacement) {
  const auto with = [](const std::string& placement) {
    return OverrideOf(placement + std::string("resourceSelectors: [") + kQueue + "], " + kAll);
  };
  const std::string none, cluster = "placement: {name: p}, ",
                          namespaced = "placement: {name: p, scope: Namespaced}, ",
                          other = "placement: {name: o}, ";
  const struct {
    const char* name;
    std::string before, after, wanted;
  } cases[] = {
      {"the same", cluster, cluster, ""},
      {"the scope that is the default", cluster, "placement: {name: p, scope: Cluster}, ", ""},
      {"another name", cluster, other, "it is for ClusterResourcePlacement p"},
      {"another scope", namespaced, cluster, "it is for ResourcePlacement p"},
      {"taken away", cluster, none, "it is for ClusterResourcePlacement p"},
      {"added", none, cluster, "it is for every placement"},
  };
  for (const auto& c : cases) {
    ConfigView config;
    ASSERT_TRUE(Apply(&config, with(c.before)).ok()) << c.name;
    const Status changed = Apply(&config, with(c.after));
    EXPECT_EQ(changed.ok(), c.wanted.empty()) << c.name;
    if (changed.ok()) continue;
    EXPECT_EQ(changed.error().fields.at(0).field, "spec.placement") << c.name;
    EXPECT_THAT(changed.error().detail, HasSubstr(c.wanted)) << c.name;
  }
}

TEST(Override, ResourcesThatCannotBe) {
  const auto selectors = [](const std::string& items) {
    return OverrideOf("resourceSelectors: [" + items + "], " + kAll);
  };
  const auto of_cluster = [](const std::string& items) {
    return ClusterOverride("clusterResourceSelectors: [" + items + "], " + kAll);
  };
  std::string many;
  for (int i = 0; i <= 20; ++i)
    many += "{group: '', version: v1, kind: ConfigMap, name: c" + std::to_string(i) + "},";
  const std::string map = "{group: '', version: v1, kind: ConfigMap";
  const Case cases[] = {
      {"none at all", OverrideOf(kAll), "spec.resourceSelectors: is required"},
      {"an empty list", selectors(""), "spec.resourceSelectors: must have at least one entry"},
      {"too many", selectors(many), "spec.resourceSelectors: must have at most 20 entries"},
      {"without a name", selectors(map + "}"), "spec.resourceSelectors[0].name: is required"},
      {"of no name", selectors(map + ", name: ''}"),
       "spec.resourceSelectors[0].name: must not be empty"},
      {"by labels", selectors(map + ", name: c, labelSelector: {}}"),
       "spec.resourceSelectors[0].labelSelector: is not for overrides"},
      {"with a scope", selectors(map + ", name: c, selectionScope: NamespaceOnly}"),
       "spec.resourceSelectors[0].selectionScope: unknown field"},
      {"twice", selectors(map + ", name: c}, " + map + ", name: c}"),
       "spec.resourceSelectors[1]: must be unique"},
      {"a job", selectors("{group: batch, version: v1, kind: Job, name: a}"),
       "spec.resourceSelectors[0].kind: Job is a kind of job"},
      {"an envelope",
       selectors("{group: placement.kubernetes-fleet.io, version: v1, kind: ResourceEnvelope, "
                 "name: a}"),
       "spec.resourceSelectors[0].kind: ResourceEnvelope is not sent itself"},
      {"a Pod", selectors("{group: '', version: v1, kind: Pod, name: a}"),
       "spec.resourceSelectors[0].kind: Pod is never placed"},
      {"an object of the cluster in a namespace",
       selectors("{group: kueue.x-k8s.io, version: v1beta1, kind: ClusterQueue, name: a}"),
       "spec.resourceSelectors[0].kind: ClusterQueue lies in no namespace"},
      {"a role of the cluster in a namespace",
       selectors("{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, name: a}"),
       "spec.resourceSelectors[0].kind: ClusterRole lies in no namespace"},
      {"an object of a namespace in the cluster's", of_cluster(map + ", name: c}"),
       "spec.clusterResourceSelectors[0].kind: ConfigMap lies in a namespace"},
      {"a namespace that is never placed",
       of_cluster("{group: '', version: v1, kind: Namespace, name: kube-system}"),
       "spec.clusterResourceSelectors[0].name: namespace \"kube-system\" is never placed"},
      {"a version that is not served",
       of_cluster("{group: kueue.x-k8s.io, version: v2, kind: ClusterQueue, name: a}"),
       "spec.clusterResourceSelectors[0].version: ClusterQueue is served in"},
      {"the other kind's field", ClusterOverride("resourceSelectors: [], " + std::string(kAll)),
       "spec.resourceSelectors: unknown field"},
      {"a placement without a name",
       OverrideOf(std::string("placement: {}, resourceSelectors: [") + kQueue + "], " + kAll),
       "spec.placement.name: is required"},
      {"a placement of another scope",
       ClusterOverride("placement: {name: p, scope: Namespaced}, clusterResourceSelectors: "
                       "[{group: '', version: v1, kind: Namespace, name: ml}], " +
                       std::string(kAll)),
       "spec.placement.scope: must be Cluster"},
  };
  for (const Case& c : cases) EXPECT_THAT(Problem(c.text), HasSubstr(c.wanted)) << c.name;
}

TEST(Override, RulesThatCannotBe) {
  const std::string patch = "{op: remove, path: /spec/x}";
  std::string rules, patches;
  for (int i = 0; i <= 20; ++i) {
    rules += "{clusterSelector: {}, overrideType: Delete},";
    patches += patch + ",";
  }
  const Case cases[] = {
      {"no policy", OverrideOf(std::string("resourceSelectors: [") + kQueue + "]"),
       "spec.policy: is required"},
      {"no rules", OfQueue(""), "spec.policy.overrideRules: must have at least one entry"},
      {"too many rules", OfQueue(rules), "spec.policy.overrideRules: must have at most 20 entries"},
      {"no patches", OfQueue("{clusterSelector: {}}"),
       "spec.policy.overrideRules[0].jsonPatchOverrides: is required"},
      {"an empty list of patches", Patched(""), "jsonPatchOverrides: must have at least one entry"},
      {"too many patches", Patched(patches), "jsonPatchOverrides: must have at most 20 entries"},
      {"patches of what is deleted",
       OfQueue("{clusterSelector: {}, overrideType: Delete, jsonPatchOverrides: [" + patch + "]}"),
       "overrideRules[0].jsonPatchOverrides: is not for overrideType Delete"},
      {"an unknown type", OfQueue("{clusterSelector: {}, overrideType: Merge}"),
       "overrideRules[0].overrideType: must be one of JSONPatch, Delete"},
      {"members by their properties",
       OfQueue("{clusterSelector: {clusterSelectorTerms: [{propertySelector: {}}]}, overrideType: "
               "Delete}"),
       "clusterSelectorTerms[0].propertySelector: is not for overrides"},
      {"a bad label selector",
       OfQueue("{clusterSelector: {clusterSelectorTerms: [{labelSelector: {matchExpressions: "
               "[{key: a, operator: In}]}}]}, overrideType: Delete}"),
       "matchExpressions[0].values: must not be empty"},
      {"an unknown operation", Patched("{op: move, path: /spec/x}"),
       "jsonPatchOverrides[0].op: must be one of add, remove, replace"},
      {"no operation", Patched("{path: /spec/x}"), "jsonPatchOverrides[0].op: is required"},
      {"no path", Patched("{op: remove}"), "jsonPatchOverrides[0].path: is required"},
      {"a value that is removed", Patched("{op: remove, path: /spec/x, value: 1}"),
       "jsonPatchOverrides[0].value: is not for remove"},
      {"nothing to add", Patched("{op: add, path: /spec/x}"),
       "jsonPatchOverrides[0].value: is required"},
      {"null to put there", Patched("{op: replace, path: /spec/x, value: null}"),
       "jsonPatchOverrides[0].value: is required"},
  };
  for (const Case& c : cases) {
    const std::string problem = Problem(c.text);
    EXPECT_THAT(problem, HasSubstr(c.wanted)) << c.name;
    EXPECT_EQ(std::count(problem.begin(), problem.end(), '\n'), 1) << c.name << ": " << problem;
  }
}

TEST(Override, PathsLeaveAnObjectTheOneThatItIs) {
  const Case cases[] = {
      {"a field", "/spec/clusterQueue", ""},
      {"an element", "/spec/a/0", ""},
      {"the end of a list", "/spec/a/-", ""},
      {"a label with a slash in its key", "/metadata/labels/a~1b", ""},
      {"all annotations", "/metadata/annotations", ""},
      {"data of a map", "/data/kind", ""},
      {"the whole", "", "must begin with '/'"},
      {"no pointer", "spec/x", "must begin with '/'"},
      {"the root alone", "/", "must have no empty part"},
      {"a slash too much", "/spec//x", "must have no empty part"},
      {"a slash at the end", "/metadata/labels/", "must have no empty part"},
      {"the kind", "/kind", "may not change kind"},
      {"the version", "/apiVersion", "may not change apiVersion"},
      {"the status", "/status", "may not change status"},
      {"a part of it", "/status/conditions", "may not change status"},
      {"the name", "/metadata/name", "may change of metadata only labels and annotations"},
      {"the namespace", "/metadata/namespace", "may change of metadata only"},
      {"all metadata", "/metadata", "may change of metadata only"},
      {"finalizers", "/metadata/finalizers/0", "may change of metadata only"},
      {"a tilde of nothing", "/spec/a~2", "has a '~' that is neither"},
      {"a tilde at the end", "/spec/a~", "has a '~' that is neither"},
      {"a variable", "/spec/${MEMBER-CLUSTER-NAME}", "must have no variables"},
  };
  for (const Case& c : cases) {
    const std::string problem = Problem(Patched("{op: add, path: '" + c.text + "', value: x}"));
    if (c.wanted.empty()) {
      EXPECT_EQ(problem, "") << c.name;
    } else {
      EXPECT_THAT(problem, HasSubstr("jsonPatchOverrides[0].path: " + c.wanted)) << c.name;
    }
  }
}

TEST(Override, OnlyTheTwoVariablesAreKnown) {
  const Case cases[] = {
      {"the name", "a ${MEMBER-CLUSTER-NAME} b ${MEMBER-CLUSTER-NAME}", ""},
      {"a label", "${MEMBER-CLUSTER-LABEL-KEY-topology.kubernetes.io/zone}", ""},
      {"others are not ours", "${HOME} $MEMBER-CLUSTER-NAME", ""},
      {"an unknown one", "${MEMBER-CLUSTER-FOO}", "unknown variable \"${MEMBER-CLUSTER-FOO}\""},
      {"after a known one", "${MEMBER-CLUSTER-NAME}${MEMBER-CLUSTER-ID}", "unknown variable"},
      {"a label without a key", "${MEMBER-CLUSTER-LABEL-KEY-}", "unknown variable"},
      {"a key that is none", "${MEMBER-CLUSTER-LABEL-KEY-a b}", "unknown variable"},
      {"without its end", "${MEMBER-CLUSTER-NAME", "has a variable without its '}'"},
  };
  for (const Case& c : cases) {
    for (const std::string& value :
         {"'" + c.text + "'", "{a: ['" + c.text + "']}", "{'" + c.text + "': {}}"}) {
      const std::string problem =
          Problem(Patched("{op: add, path: /spec/a, value: " + value + "}"));
      if (c.wanted.empty()) {
        EXPECT_EQ(problem, "") << c.name;
      } else {
        EXPECT_THAT(problem, HasSubstr("jsonPatchOverrides[0].value: ")) << c.name;
        EXPECT_THAT(problem, HasSubstr(c.wanted)) << c.name;
      }
    }
  }
}

// --- envelopes

std::string Envelope(const std::string& data) {
  return Manifest("ResourceEnvelope", "data: {" + data + "}");
}
std::string ClusterEnvelope(const std::string& data) {
  return Manifest("ClusterResourceEnvelope", "data: {" + data + "}");
}

TEST(Envelope, CarriesManifestsAsTheyAre) {
  ConfigView config;
  const std::string text = Envelope(
      "web.yaml: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {a: b}}, "
      "spec: {replicas: 2}}, cm: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: "
      "ml}, data: {k: v}}");
  ASSERT_TRUE(Apply(&config, text).ok()) << Problem(text);
  const ResourceEnvelope& one = config.envelopes.at({"ml", "a"});
  ASSERT_EQ(one.items.size(), 2U);
  EXPECT_EQ(one.items[0].key, "cm") << "by key";
  EXPECT_EQ(one.items[0].ref, (ResourceRef{"", "v1", "ConfigMap", "ml", "c"}));
  EXPECT_EQ(one.items[1].ref, (ResourceRef{"apps", "v1", "Deployment", "ml", "web"}));
  EXPECT_EQ(one.items[1].manifest,
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web",)"
            R"("labels":{"a":"b"}},"spec":{"replicas":2}})");
  EXPECT_EQ(TextAt(ParseObject(Yaml(text))->manifest, {"data", "cm", "data", "k"}), R"("v")")
      << "what is stored has it too";
  ASSERT_TRUE(Apply(&config, ClusterEnvelope("role: {apiVersion: rbac.authorization.k8s.io/v1, "
                                             "kind: ClusterRole, metadata: {name: 'a:reader'}}"))
                  .ok());
  EXPECT_EQ(config.envelopes.at({"", "a"}).items.at(0).ref,
            (ResourceRef{"rbac.authorization.k8s.io", "v1", "ClusterRole", "", "a:reader"}));
  RemoveFrom(&config, ObjectKind::kResourceEnvelope, "ml", "a");
  EXPECT_EQ(config.envelopes.size(), 1U);
  RemoveFrom(&config, ObjectKind::kClusterResourceEnvelope, "", "a");
  EXPECT_TRUE(config.envelopes.empty());
}

TEST(Envelope, ContentsThatCannotBe) {
  const auto item = [](const std::string& text) { return Envelope("a: {" + text + "}"); };
  const auto of_cluster = [](const std::string& text) {
    return ClusterEnvelope("a: {" + text + "}");
  };
  std::string many;
  for (int i = 0; i <= 50; ++i) {
    const std::string n = std::to_string(i);
    many += "k" + n + ": {apiVersion: v1, kind: ConfigMap, metadata: {name: c" + n + "}},";
  }
  const std::string map = "apiVersion: v1, kind: ConfigMap, metadata: ";
  const Case cases[] = {
      {"none at all", Manifest("ResourceEnvelope", "metadatas: {}"), "data: is required"},
      {"nothing", Envelope(""), "data: must have at least one manifest"},
      {"too many", Envelope(many), "data: must have at most 50 manifests"},
      {"a spec", Manifest("ResourceEnvelope", "spec: {}"), "spec: unknown field"},
      {"a bad key", Envelope("'a/b': {" + map + "{name: c}}"), "data[a/b]: a key must be"},
      {"a text", Envelope("a: 'kind: ConfigMap'"), "data[a]: must be an object"},
      {"null", Envelope("a: null"), "data[a]: must be a whole manifest"},
      {"no version", item("kind: ConfigMap, metadata: {name: c}"),
       "data[a].apiVersion: is required"},
      {"a bad version", item("apiVersion: a/b/c, kind: X, metadata: {name: c}"),
       "data[a].apiVersion: must be GROUP/VERSION"},
      {"no kind", item("apiVersion: v1, metadata: {name: c}"), "data[a].kind: is required"},
      {"no metadata", item("apiVersion: v1, kind: ConfigMap"), "data[a].metadata: is required"},
      {"no name", item(map + "{}"), "data[a].metadata.name: is required"},
      {"a generated name", item(map + "{name: c, generateName: c-}"),
       "data[a].metadata.generateName: is not for envelopes"},
      {"a name that is a path", item(map + "{name: a/b}"), "data[a].metadata.name: must be a name"},
      {"another namespace", item(map + "{name: c, namespace: other}"),
       "data[a].metadata.namespace: must be that of the envelope, \"ml\""},
      {"a bad label", item(map + "{name: c, labels: {a: 'b c'}}"),
       "data[a].metadata.labels[a]: a label's value"},
      {"a job", item("apiVersion: batch/v1, kind: Job, metadata: {name: c}"),
       "data[a].kind: Job is a kind of job: in an envelope it would run uncounted"},
      {"a job of another kind", item("apiVersion: ray.io/v1, kind: RayJob, metadata: {name: c}"),
       "data[a].kind: RayJob is a kind of job"},
      {"a job of an unserved version",
       item("apiVersion: batch/v1beta1, kind: Job, metadata: {name: c}"),
       "data[a].kind: Job is a kind of job"},
      {"a Pod", item("apiVersion: v1, kind: Pod, metadata: {name: c}"),
       "data[a].kind: Pod is never placed"},
      {"an envelope",
       item("apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceEnvelope, metadata: "
            "{name: c}"),
       "data[a].kind: ResourceEnvelope is the fleet's own"},
      {"a member",
       of_cluster("apiVersion: cluster.kubernetes-fleet.io/v1beta1, kind: MemberCluster, metadata: "
                  "{name: c}"),
       "data[a].kind: MemberCluster is the fleet's own"},
      {"an object of the cluster",
       item("apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: c}"),
       "data[a].kind: ClusterQueue lies in no namespace"},
      {"an object of a namespace", of_cluster(map + "{name: c}"),
       "data[a].kind: ConfigMap lies in a namespace"},
      {"a namespace in the cluster's",
       of_cluster("apiVersion: v1, kind: Unknown, metadata: {name: c, namespace: ml}"),
       "data[a].metadata.namespace: is not for a ClusterResourceEnvelope"},
      {"a namespace that is never placed",
       of_cluster("apiVersion: v1, kind: Namespace, metadata: {name: default}"),
       "data[a].metadata.name: namespace \"default\" is never placed"},
      {"the same object twice",
       Envelope("a: {" + map + "{name: c}}, b: {" + map + "{name: c, namespace: ml}}"),
       "data[b]: is the same object as that of key a"},
  };
  for (const Case& c : cases) EXPECT_THAT(Problem(c.text), HasSubstr(c.wanted)) << c.name;
}

}  // namespace
}  // namespace muster::shapes
