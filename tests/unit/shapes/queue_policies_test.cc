// The policies of queues: the values they become, and those that Kueue's own rules refuse (rule
// A4).
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Queue(const std::string& spec) {
  return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: a}, spec: {" +
         spec + "}}";
}

std::string Flavors(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    list += "{name: f" + std::to_string(i) + ", resources: [{name: cpu, nominalQuota: 1}]}, ";
  }
  return "resourceGroups: [{coveredResources: [cpu], flavors: [" + list + "]}]";
}

ConfigView Applied(const std::vector<std::string>& texts) {
  ConfigView config;
  for (const auto& text : texts) {
    const auto object = ParseObject(Yaml(text));
    EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().detail);
    if (!object.ok()) continue;
    const auto status = ApplyTo(&config, object->kind, object->manifest);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().detail);
  }
  return config;
}

ClusterQueue Read(const std::string& spec) { return Applied({Queue(spec)}).cluster_queues.at("a"); }

std::string WithPolicy(const std::string& policy) {
  return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: a, "
         "annotations: {muster.io/on-cluster-lost: '" +
         policy + "'}}, spec: {}}";
}

TEST(QueuePolicies, SayWhatBecomesOfAttemptsOnALostMember) {
  const auto read = [](const std::string& policy) {
    return Applied({WithPolicy(policy)}).cluster_queues.at("a").on_cluster_lost;
  };
  EXPECT_EQ(Read("").on_cluster_lost, (OnClusterLost{ClusterLostPolicy::kWait, 0}));
  EXPECT_EQ(read("wait"), (OnClusterLost{ClusterLostPolicy::kWait, 0}));
  EXPECT_EQ(read("fail"), (OnClusterLost{ClusterLostPolicy::kFail, 0}));
  EXPECT_EQ(read("afterFence"), (OnClusterLost{ClusterLostPolicy::kAfterFence, 0}));
  EXPECT_EQ(read("afterTimeout:15m"), (OnClusterLost{ClusterLostPolicy::kAfterTimeout, 900}));
  for (const char* wrong : {"", "Wait", "never", "afterTimeout", "afterTimeout:", "afterTimeout:5s",
                            "afterTimeout:31d", "afterTimeout:-1m", "afterTimeout:soon"}) {
    const auto object = ParseObject(Yaml(WithPolicy(wrong)));
    ASSERT_FALSE(object.ok()) << wrong;
    EXPECT_THAT(object.error().fields.at(0).field, HasSubstr("muster.io/on-cluster-lost")) << wrong;
  }
}

std::string Annotated(const std::string& annotations, const std::string& spec = "") {
  return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: a, "
         "annotations: {" +
         annotations + "}}, spec: {" + spec + "}}";
}

TEST(QueuePolicies, SayHowMembersWithQueuesOfTheirOwnAreAsked) {
  const auto read = [](const std::string& annotations) {
    return Applied({Annotated(annotations)}).cluster_queues.at("a").dispatch;
  };
  EXPECT_EQ(read(""), (MemberDispatch{DispatchMode::kDirect, 3, 300}));
  EXPECT_EQ(read("muster.io/dispatch-mode: Direct"), MemberDispatch{});
  EXPECT_EQ(read("muster.io/dispatch-mode: AllAtOnce").mode, DispatchMode::kAllAtOnce);
  EXPECT_EQ(read("muster.io/dispatch-mode: External").mode, DispatchMode::kExternal);
  EXPECT_EQ(read("muster.io/dispatch-mode: Incremental"),
            (MemberDispatch{DispatchMode::kIncremental, 3, 300}));
  EXPECT_EQ(read("muster.io/dispatch-mode: Incremental, muster.io/dispatch-step: '20', "
                 "muster.io/dispatch-every: 1m30s"),
            (MemberDispatch{DispatchMode::kIncremental, 20, 90}));
}

TEST(QueuePolicies, SayWhetherRunningJobsMoveToBetterMembers) {
  const auto read = [](const std::string& annotations) {
    return Applied({Annotated(annotations)}).cluster_queues.at("a").rebalance;
  };
  EXPECT_EQ(read(""), (Rebalance{false, 10, 300}));
  EXPECT_EQ(read("muster.io/rebalance: 'true'"), (Rebalance{true, 10, 300}));
  EXPECT_EQ(read("muster.io/rebalance: 'false', muster.io/rebalance-gain: '200', "
                 "muster.io/rebalance-every: 1s"),
            (Rebalance{false, 200, 1}))
      << "its settings stay while it is off";
}

TEST(QueuePolicies, AnnotationsThatCannotBeAreNamed) {
  const std::string some = "muster.io/dispatch-mode: Incremental, ";
  const std::string on = "muster.io/rebalance: 'true', ";
  const struct {
    const char* name;
    std::string annotations, wanted;
  } cases[] = {
      {"an unknown mode", "muster.io/dispatch-mode: Some",
       "[muster.io/dispatch-mode]: must be one of Direct, AllAtOnce, Incremental, External"},
      {"a step of a mode without steps",
       "muster.io/dispatch-mode: AllAtOnce, muster.io/dispatch-step: '3'",
       "[muster.io/dispatch-step]: is only for muster.io/dispatch-mode Incremental"},
      {"a wait of no mode at all", "muster.io/dispatch-every: 5m",
       "[muster.io/dispatch-every]: is only for muster.io/dispatch-mode Incremental"},
      {"a step of none", some + "muster.io/dispatch-step: '0'",
       "[muster.io/dispatch-step]: must be a number from 1 to 20"},
      {"more than can be asked", some + "muster.io/dispatch-step: '21'",
       "[muster.io/dispatch-step]: must be a number from 1 to 20"},
      {"half a step", some + "muster.io/dispatch-step: '1.5'",
       "[muster.io/dispatch-step]: must be a number"},
      {"a number without quotes", some + "muster.io/dispatch-step: 3",
       "[muster.io/dispatch-step]: must be a string"},
      {"no time", some + "muster.io/dispatch-every: 999ms",
       "[muster.io/dispatch-every]: must be a duration of whole seconds"},
      {"part of a second", some + "muster.io/dispatch-every: 1500ms",
       "[muster.io/dispatch-every]: must be a duration of whole seconds"},
      {"perhaps", "muster.io/rebalance: 'yes'", "[muster.io/rebalance]: must be one of"},
      {"a gain of nothing", "muster.io/rebalance-gain: '10'",
       "[muster.io/rebalance-gain]: needs annotation muster.io/rebalance"},
      {"no gain", on + "muster.io/rebalance-gain: '0'",
       "[muster.io/rebalance-gain]: must be a number from 1 to 200"},
      {"more than there is to gain", on + "muster.io/rebalance-gain: '201'",
       "[muster.io/rebalance-gain]: must be a number from 1 to 200"},
      {"at all times", on + "muster.io/rebalance-every: 0s",
       "[muster.io/rebalance-every]: must be a duration of whole seconds"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(ProblemsOf(ParseObject(Yaml(Annotated(c.annotations)))),
                HasSubstr("metadata.annotations" + c.wanted))
        << c.name;
  EXPECT_EQ(ProblemsOf(ParseObject(Yaml(Annotated("muster.io/dispatch-mode: Some, "
                                                  "muster.io/dispatch-step: '3'")))),
            "metadata.annotations[muster.io/dispatch-mode]: must be one of Direct, AllAtOnce, "
            "Incremental, External, not \"Some\"\n")
      << "a mistyped mode is one mistake";
  const std::string concurrent =
      Flavors(2) + ", concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}";
  EXPECT_THAT(
      ProblemsOf(ParseObject(Yaml(Annotated("muster.io/dispatch-mode: AllAtOnce", concurrent)))),
      HasSubstr("[muster.io/dispatch-mode]: must be Direct in a ClusterQueue with"));
  EXPECT_EQ(ProblemsOf(ParseObject(Yaml(Annotated("muster.io/dispatch-mode: Direct", concurrent)))),
            "");
}

TEST(QueuePolicies, SayWhomAQueueMayEvict) {
  const QueuePreemption none = Read("").preemption;
  EXPECT_EQ(none.within_cluster_queue, PreemptionPolicy::kNever);
  EXPECT_EQ(none.reclaim_within_cohort, PreemptionPolicy::kNever);
  EXPECT_EQ(none.borrow_within_cohort, PreemptionPolicy::kNever);
  const QueuePreemption all =
      Read(
          "preemption: {withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: Any, "
          "borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: -5}}")
          .preemption;
  EXPECT_EQ(all.within_cluster_queue, PreemptionPolicy::kLowerOrNewerEqualPriority);
  EXPECT_EQ(all.reclaim_within_cohort, PreemptionPolicy::kAny);
  EXPECT_EQ(all.borrow_within_cohort, PreemptionPolicy::kLowerPriority);
  EXPECT_EQ(all.max_priority_threshold, -5);
}

TEST(QueuePolicies, SayHowFlavorsAreTriedAndSharesWeighed) {
  const ClusterQueue queue = Read(
      "flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: TryNextFlavor, "
      "preference: PreemptionOverBorrowing}, fairSharing: {weight: 100m}, "
      "admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}");
  EXPECT_EQ(queue.preference, FungibilityPreference::kPreemptionOverBorrowing);
  EXPECT_DOUBLE_EQ(queue.fair_weight, 0.1);
  EXPECT_TRUE(queue.usage_based);
  EXPECT_DOUBLE_EQ(Read("fairSharing: {weight: 0}").fair_weight, 0);
  EXPECT_DOUBLE_EQ(Read("").fair_weight, 1);
  EXPECT_FALSE(Read("").usage_based);
}

TEST(QueuePolicies, NameChecksInBothForms) {
  const auto by_name = Read("admissionChecks: [x, y]").admission_checks;
  EXPECT_THAT(by_name, ElementsAre(AdmissionCheckRule{"x", {}}, AdmissionCheckRule{"y", {}}));
  const auto rules = Read(Flavors(2) +
                          ", admissionChecksStrategy: {admissionChecks: [{name: x, onFlavors: "
                          "[f1]}]}")
                         .admission_checks;
  EXPECT_THAT(rules, ElementsAre(AdmissionCheckRule{"x", {"f1"}}));
}

TEST(QueuePolicies, AllowConcurrentAdmissionToOneGroupOfFlavors) {
  const auto policy =
      Read(Flavors(3) +
           ", concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors, constraints: "
           "{lastAcceptableFlavorName: f1}}}")
          .concurrent_admission;
  ASSERT_TRUE(policy.has_value());
  EXPECT_TRUE(policy->migrate);
  EXPECT_EQ(policy->last_acceptable_flavor, "f1");
  EXPECT_FALSE(Read("").concurrent_admission.has_value());
}

TEST(QueuePolicies, RefuseWhatKueueRefuses) {
  const std::string concurrent =
      "concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}";
  const std::vector<std::array<std::string, 3>> cases = {
      {"a policy of the cohort for the queue", "preemption: {withinClusterQueue: Any}",
       "spec.preemption.withinClusterQueue: must be one of Never, LowerPriority"},
      {"borrowing victims without reclaiming",
       "preemption: {borrowWithinCohort: {policy: LowerPriority}}",
       "spec.preemption.borrowWithinCohort: must be absent or Never when reclaimWithinCohort is"},
      {"a preference that nothing asks for",
       "flavorFungibility: {preference: BorrowingOverPreemption}",
       "flavorFungibility.preference: may only be set when"},
      {"a weight below what can be told apart", "fairSharing: {weight: 1n}",
       "spec.fairSharing.weight: must be 0 or greater than 1e-9"},
      {"a negative weight", "fairSharing: {weight: -1}",
       "spec.fairSharing.weight: must not be negative"},
      {"a check twice", "admissionChecks: [x, x]", "spec.admissionChecks[1]: must be unique"},
      {"checks in both forms",
       "admissionChecks: [x], admissionChecksStrategy: {admissionChecks: [{name: y}]}",
       "spec.admissionChecks: and admissionChecksStrategy cannot both be set"},
      {"a check on a flavor of nobody",
       "admissionChecksStrategy: {admissionChecks: [{name: x, onFlavors: [g]}]}",
       "onFlavors[0]: names no flavor of this queue"},
      {"nine checks", "admissionChecks: [a, b, c, d, e, f, g, h, i]",
       "spec.admissionChecks: must have at most 8"},
      {"concurrent admission in order", "queueingStrategy: StrictFIFO, " + concurrent,
       "spec.concurrentAdmissionPolicy: is forbidden with queueingStrategy StrictFIFO"},
      {"concurrent admission to 17 flavors", Flavors(17) + ", " + concurrent,
       "spec.concurrentAdmissionPolicy: is forbidden with more than 16 flavors"},
  };
  for (const auto& [name, spec, wanted] : cases)
    EXPECT_THAT(ProblemsOf(ParseObject(Yaml(Queue(spec)))), HasSubstr(wanted)) << name;
}

std::string Topology(const std::string& levels) {
  return "{apiVersion: kueue.x-k8s.io/v1beta1, kind: Topology, metadata: {name: t}, spec: "
         "{levels: [" +
         levels + "]}}";
}

TEST(TopologyObject, IsAListOfLabelsFromWideToNarrow) {
  const auto config =
      Applied({Topology("{nodeLabel: block}, {nodeLabel: kubernetes.io/hostname}")});
  EXPECT_THAT(config.topologies.at("t").levels, ElementsAre("block", "kubernetes.io/hostname"));
  std::string seventeen;
  for (int i = 0; i < 17; ++i) seventeen += "{nodeLabel: l" + std::to_string(i) + "}, ";
  const std::vector<std::array<std::string, 3>> cases = {
      {"no level", "", "spec.levels: must name at least one level"},
      {"a level twice", "{nodeLabel: a}, {nodeLabel: a}", "levels[1].nodeLabel: must be unique"},
      {"the machine above something", "{nodeLabel: kubernetes.io/hostname}, {nodeLabel: a}",
       "levels[0].nodeLabel: kubernetes.io/hostname may only be the lowest level"},
      {"17 levels", seventeen, "spec.levels: must name at most 16 levels"},
  };
  for (const auto& [name, levels, wanted] : cases)
    EXPECT_THAT(ProblemsOf(ParseObject(Yaml(Topology(levels)))), HasSubstr(wanted)) << name;
}

TEST(AppliedObjects, KeepWhatMayNotChange) {
  const std::string flavor =
      "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: f}, spec: "
      "{nodeLabels: {a: b}, topologyName: ";
  const std::string check =
      "{apiVersion: kueue.x-k8s.io/v1beta1, kind: AdmissionCheck, metadata: {name: c}, spec: "
      "{controllerName: ";
  const std::string concurrent = "concurrentAdmissionPolicy: {migration: {mode: ";
  const std::vector<std::array<std::string, 4>> cases = {
      {"a flavor's topology", flavor + "t1}}", flavor + "t2}}", "spec.topologyName: field is"},
      {"a check's controller", check + "x}}", check + "y}}", "spec.controllerName: field is"},
      {"levels above machines", Topology("{nodeLabel: a}"), Topology("{nodeLabel: b}"),
       "spec.levels: may only change while"},
      {"concurrent admission", Queue(concurrent + "TryPreferredFlavors}}"),
       Queue(concurrent + "RetainFirstAdmission}}"),
       "spec.concurrentAdmissionPolicy: field is immutable"},
  };
  for (const auto& [name, before, after, wanted] : cases) {
    ConfigView config = Applied({before});
    const auto object = ParseObject(Yaml(after));
    ASSERT_TRUE(object.ok()) << name << ": " << object.error().detail;
    EXPECT_THAT(ProblemsOf(ApplyTo(&config, object->kind, object->manifest)), HasSubstr(wanted))
        << name;
  }
  const std::string machines = ", {nodeLabel: kubernetes.io/hostname}";
  Applied({Topology("{nodeLabel: a}" + machines), Topology("{nodeLabel: b}" + machines)});
}

TEST(LimitRangeObject, IsCompletedAsTheApiServerDoes) {
  const auto config = Applied(
      {"{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: n}, spec: {limits: "
       "[{type: Container, max: {cpu: 4}, min: {cpu: 1, memory: 1Gi}}, {type: Pod, max: {cpu: 8}}, "
       "{type: PersistentVolumeClaim, max: {storage: 1Gi}}]}}"});
  const LimitRange& range = config.limit_ranges.at({"n", "l"});
  ASSERT_EQ(range.items.size(), 2U) << "claims cost no quota";
  EXPECT_EQ(AmountOf(range.items[0].default_limit, "cpu"), 4000) << "from max";
  EXPECT_EQ(AmountOf(range.items[0].default_request, "cpu"), 4000) << "from default";
  EXPECT_EQ(AmountOf(range.items[0].default_request, "memory"), 1 << 30) << "from min";
  EXPECT_TRUE(range.items[1].default_limit.empty()) << "a pod's bounds are no defaults";
  EXPECT_THAT(ProblemsOf(ParseObject(Yaml(
                  "{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: n}, spec: "
                  "{limits: [{type: Container, max: {cpu: 1}, min: {cpu: 2}}]}}"))),
              HasSubstr("spec.limits[0].min[cpu]: must be at most max"));
}

}  // namespace
}  // namespace muster::shapes
