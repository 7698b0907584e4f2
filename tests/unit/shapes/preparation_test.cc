// From a manifest to the requests that count against quota: RuntimeClass, LimitRange, limits,
// transformations; topology requests; partial admission.
#include "schedd/shapes/kinds/preparation.h"

#include "schedd/shapes/kinds/workload_status.h"
#include "schedd/shapes/parts/pod_amounts.h"
#include "schedd/shapes/parts/topology_slices.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string JobYaml(const std::string& container, const std::string& pod = "",
                    const std::string& annotations = "", const std::string& spec = "") {
  return "{apiVersion: batch/v1, kind: Job, metadata: {name: j, annotations: {" + annotations +
         "}}, spec: {" + spec + " template: {spec: {restartPolicy: Never, " + pod +
         " containers: [{name: c, image: i, resources: {" + container + "}}]}}}}";
}

ConfigView Config(const std::vector<std::string>& texts) {
  ConfigView config;
  for (const auto& text : texts) {
    const auto object = ParseObject(Yaml(text));
    EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().detail);
    if (!object.ok()) continue;
    EXPECT_TRUE(ApplyTo(&config, object->kind, object->manifest).ok());
  }
  return config;
}

std::string Range(const std::string& limits) {
  return "{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: n}, spec: {limits: [" +
         limits + "]}}";
}
const std::string kSandbox =
    "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: sandbox}, handler: runsc, "
    "overhead: {podFixed: {cpu: 250m}}}";

struct PreparedCase {
  std::string name;
  std::vector<std::string> objects;
  std::string container, pod, ns, pod_sets;
};

TEST(PrepareRequests, CountsWhatThePodsWillReallyAskFor) {
  const std::string defaults =
      Range("{type: Container, default: {cpu: 4}, defaultRequest: {cpu: 3}}");
  const std::vector<PreparedCase> cases = {
      {"nothing to add", {}, "requests: {cpu: 1}", "", "n", "main x1 cpu=1"},
      {"overhead of the runtime",
       {kSandbox},
       "requests: {cpu: 1}",
       "runtimeClassName: sandbox,",
       "n",
       "main x1 cpu=1250m"},
      {"overhead of its own wins",
       {kSandbox},
       "requests: {cpu: 1}",
       "runtimeClassName: sandbox, overhead: {cpu: 1},",
       "n",
       "main x1 cpu=2"},
      {"a runtime that nobody declared",
       {kSandbox},
       "requests: {cpu: 1}",
       "runtimeClassName: other,",
       "n",
       "main x1 cpu=1"},
      {"the default request of the namespace", {defaults}, "", "", "n", "main x1 cpu=3"},
      {"the default request before the limit",
       {defaults},
       "limits: {cpu: 6}",
       "",
       "n",
       "main x1 cpu=3"},
      {"another namespace has no defaults", {defaults}, "", "", "m", "main x1"},
      {"a limit in place of a request",
       {kSandbox},
       "limits: {memory: 1Gi}",
       "",
       "n",
       "main x1 memory=1Gi"},
  };
  for (const auto& c : cases) {
    ParsedJob job = Job(Yaml(JobYaml(c.container, c.pod)));
    EXPECT_EQ(PrepareRequests(Config(c.objects), {}, c.ns, &job), "") << c.name;
    EXPECT_EQ(PodSetsText(job.pod_sets), c.pod_sets) << c.name;
  }
}

TEST(PrepareRequests, SaysWhichPodsAreOutsideTheBoundsOfTheirNamespace) {
  const ConfigView config = Config({Range("{type: Pod, max: {cpu: 2}}")});
  ParsedJob job = Job(Yaml(JobYaml("requests: {cpu: 3}")));
  EXPECT_EQ(PrepareRequests(config, {}, "n", &job),
            "resources didn't satisfy LimitRange constraints: spec.podSets[0].template.spec: "
            "Invalid value: [\"cpu\"]: requests must not be above the limitRange max");
  EXPECT_EQ(PodSetsText(job.pod_sets), "main x1 cpu=3");
  EXPECT_EQ(PrepareRequests(config, {}, "other", &job), "");
  const ConfigView defaults = Config({Range("{type: Container, defaultRequest: {cpu: 3}}")});
  job = Job(Yaml(JobYaml("limits: {cpu: 2}, requests: {memory: 1Gi}")));
  EXPECT_EQ(PrepareRequests(defaults, {}, "n", &job),
            "resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid "
            "value: [\"cpu\"]: requests must not exceed its limits");
}

TEST(PrepareRequests, TransformsAndExcludesButRemembersWhatMachinesMustHave) {
  AdmissionSettings settings;
  settings.excluded_resource_prefixes = {"networking.example.com/"};
  settings.transformations = {{"nvidia.com/gpu", true, "", {{"example.com/credits", "10"}}}};
  ParsedJob job =
      Job(Yaml(JobYaml("limits: {cpu: 1, nvidia.com/gpu: 2, networking.example.com/vpc: 1}")));
  ASSERT_EQ(PrepareRequests({}, settings, "n", &job), "");
  EXPECT_EQ(PodSetsText(job.pod_sets), "main x1 cpu=1 example.com/credits=20");
  ASSERT_NE(job.pod_sets[0].node_requests, nullptr);
  EXPECT_EQ(AmountOf(*job.pod_sets[0].node_requests, "nvidia.com/gpu"), 2);
  EXPECT_EQ(AmountOf(*job.pod_sets[0].node_requests, "networking.example.com/vpc"), 1);
}

TEST(LimitRanges, OfOneNamespaceAreTakenTogether) {
  ConfigView config;
  LimitRange::Item first, second;
  first.max = {{"cpu", 4000}};
  first.default_limit = {{"cpu", 2000}};
  second.max = {{"cpu", 3000}, {"memory", 100}};
  second.min = {{"cpu", 500}};
  second.default_limit = {{"cpu", 1000}};
  config.limit_ranges[{"n", "a"}] = {"n", "a", {first}};
  config.limit_ranges[{"n", "b"}] = {"n", "b", {second}};
  const LimitSummary summary = SummaryOf(config, "n");
  EXPECT_EQ(AmountOf(summary.container.max, "cpu"), 3000) << "the tightest bound";
  EXPECT_EQ(AmountOf(summary.container.max, "memory"), 100);
  EXPECT_EQ(AmountOf(summary.container.min, "cpu"), 500);
  EXPECT_EQ(AmountOf(summary.container.default_limit, "cpu"), 2000) << "the first by name";
  EXPECT_TRUE(SummaryOf(config, "other").empty());
}

TEST(LimitRanges, BoundWhatContainersAskForAndWhatTheyAreLimitedTo) {
  LimitSummary limits;
  limits.container.max = {{"cpu", 2000}};
  limits.container.min = {{"cpu", 1000}};
  PodAmounts pod;
  pod.containers.push_back({{{"cpu", 1500}}, {{"cpu", 3000}}});
  pod.init_containers.push_back({{{"cpu", 500}}, {}});
  EXPECT_THAT(OutsideLimitRange(limits, {pod}),
              ElementsAre("spec.podSets[0].template.spec.initContainers[0]: Invalid value: "
                          "[\"cpu\"]: requests must not be below the limitRange min",
                          "spec.podSets[0].template.spec.containers[0]: Invalid value: [\"cpu\"]: "
                          "requests must not be above the limitRange max"));
  EXPECT_THAT(ResourceProblem(limits, {pod}),
              HasSubstr("resources didn't satisfy LimitRange constraints: [spec.podSets[0]"));
  pod.containers[0].requests = {{"cpu", 4000}};
  EXPECT_EQ(ResourceProblem({}, {pod}),
            "resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid "
            "value: [\"cpu\"]: requests must not exceed its limits");
  EXPECT_EQ(ResourceProblem({}, {}), "");
}

TEST(PartialAdmission, ComesFromTheAnnotationAndEndsInTheDispatchedJob) {
  const std::string sync = ", kueue.x-k8s.io/job-completions-equal-parallelism: \"true\"";
  const std::string least = "kueue.x-k8s.io/job-min-parallelism: \"2\"";
  const std::string spec = "parallelism: 4, completions: 4, completionMode: Indexed,";
  for (const bool follows : {false, true}) {
    ParsedJob parsed =
        Job(Yaml(JobYaml("requests: {cpu: 1}", "", least + (follows ? sync : ""), spec)));
    EXPECT_EQ(parsed.pod_sets[0].min_count, 2);
    JobRecord job;
    job.name = "j";
    job.shape = parsed.shape;
    job.pod_sets = std::make_shared<const PodSets>(parsed.pod_sets);
    Admission admission;
    admission.pod_sets.push_back({"main", 3, {}, {}});
    job.admission = std::make_shared<const Admission>(admission);
    const auto rendered = Render(job, parsed.manifest, {}, {"instance", false});
    ASSERT_TRUE(rendered.ok());
    EXPECT_EQ(*At(rendered->object.manifest, {"spec", "parallelism"}), 3);
    EXPECT_EQ(*At(rendered->object.manifest, {"spec", "completions"}), follows ? 3 : 4);
  }
  EXPECT_THAT(ProblemsOf(ParseJob(Yaml(
                  "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a, annotations: {" +
                  least + "}}, spec: {}}"))),
              HasSubstr("job-min-parallelism]: is for Jobs of batch/v1 alone"));
}

std::string Template(const std::string& annotations) {
  return "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 8, template: "
         "{metadata: {annotations: {" +
         annotations + "}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}";
}

TEST(TopologyAnnotations, AreRead) {
  const ParsedJob required = Job(Yaml(Template(
      "kueue.x-k8s.io/podset-required-topology: block, "
      "kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: "
      "\"4\"")));
  ASSERT_NE(required.pod_sets[0].topology, nullptr);
  EXPECT_EQ(required.pod_sets[0].topology->required, "block");
  EXPECT_EQ(required.pod_sets[0].topology->slice_required, "rack");
  EXPECT_EQ(required.pod_sets[0].topology->slice_size, 4);
  const ParsedJob layers = Job(
      Yaml(Template("kueue.x-k8s.io/podset-preferred-topology: block, "
                    "kueue.x-k8s.io/podset-slice-required-topology-constraints: "
                    "'[{\"topology\":\"rack\",\"size\":4},{\"topology\":\"host\",\"size\":2}]'")));
  EXPECT_THAT(layers.pod_sets[0].topology->slice_layers,
              ElementsAre(TopologyLayer{"rack", 4}, TopologyLayer{"host", 2}));
  EXPECT_TRUE(Job(Yaml(Template("kueue.x-k8s.io/podset-unconstrained-topology: \"true\"")))
                  .pod_sets[0]
                  .topology->unconstrained);
  EXPECT_EQ(Job(Yaml(Template(""))).pod_sets[0].topology, nullptr);
}

TEST(TopologyAnnotations, AreRefusedWhereTheyCannotBeMet) {
  const std::string slice = "kueue.x-k8s.io/podset-slice-";
  const std::string layers = slice + "required-topology-constraints: ";
  const std::vector<std::array<std::string, 3>> cases = {
      {"two modes",
       "kueue.x-k8s.io/podset-required-topology: a, kueue.x-k8s.io/podset-preferred-topology: a",
       "podset-preferred-topology]: at most one of"},
      {"a slice without size", slice + "required-topology: a",
       "podset-slice-size]: is required: a slice has a level and a size"},
      {"a size that leaves pods over", slice + "required-topology: a, " + slice + "size: \"3\"",
       "podset-slice-size]: must divide the number of pods, 8"},
      {"a slice larger than all pods", slice + "required-topology: a, " + slice + "size: \"16\"",
       "podset-slice-size]: must be 1 to the number of pods, 8"},
      {"a size in words", slice + "required-topology: a, " + slice + "size: four",
       "podset-slice-size]: must be a number of pods"},
      {"layers that do not divide",
       layers + "'[{\"topology\":\"a\",\"size\":4},{\"topology\":\"b\",\"size\":3}]'",
       "constraints]: each size must divide the size of the layer before it"},
      {"no list of layers", layers + "x", "constraints]: must be a JSON list"},
      {"a group alone",
       "kueue.x-k8s.io/podset-group-name: g, kueue.x-k8s.io/podset-required-topology: a",
       "the topology group \"g\" must have exactly two pod sets, not 1"},
      {"a group that is a number",
       "kueue.x-k8s.io/podset-group-name: \"7\", kueue.x-k8s.io/podset-required-topology: a",
       "podset-group-name]: must not be a number"},
  };
  for (const auto& [name, annotations, wanted] : cases)
    EXPECT_THAT(ProblemsOf(ParseJob(Yaml(Template(annotations)))), HasSubstr(wanted)) << name;
}

TEST(WorkloadStatus, IsReadBack) {
  Problems problems;
  const json::value status = Yaml(
      "{conditions: [{type: QuotaReserved, status: \"True\", reason: r, message: m, "
      "lastTransitionTime: \"2026-01-01T12:00:00Z\"}], admission: {clusterQueue: q, "
      "podSetAssignments: [{name: main, count: 3, flavors: {cpu: f}, resourceUsage: {cpu: 3}, "
      "delayedTopologyRequest: Pending}]}, admissionChecks: [{name: c, state: Retry, message: x, "
      "requeueAfterSeconds: 60, retryCount: 2, podSetUpdates: [{name: main, nodeSelector: {a: "
      "b}}]}], reclaimablePods: [{name: main, count: 1}], requeueState: {count: 2, requeueAt: "
      "\"2026-01-01T12:01:00Z\"}, unhealthyNodes: [{name: n1}], preemptionGates: [{name: g, "
      "position: Open}], accumulatedPastExecutionTimeSeconds: 7}");
  const WorkloadStatus read = ReadWorkloadStatus(Field(status, &problems));
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(read.conditions.size(), 1U);
  EXPECT_TRUE(read.conditions[0].status);
  EXPECT_EQ(FormatRfc3339(read.conditions[0].last_transition), "2026-01-01T12:00:00Z");
  ASSERT_NE(read.admission, nullptr);
  EXPECT_EQ(read.admission->pod_sets[0].flavors.at("cpu"), "f");
  EXPECT_EQ(AmountOf(read.admission->pod_sets[0].usage, "cpu"), 3000);
  EXPECT_TRUE(read.admission->pod_sets[0].topology_delayed);
  ASSERT_EQ(read.state.checks.size(), 1U);
  EXPECT_EQ(read.state.checks[0].state, CheckState::kRetry);
  EXPECT_EQ(read.state.checks[0].requeue_after_s, 60);
  EXPECT_EQ(read.state.checks[0].updates[0].node_selector.at("a"), "b");
  EXPECT_THAT(read.state.reclaimable, ElementsAre(ReclaimablePods{"main", 1}));
  EXPECT_EQ(read.state.requeue_count, 2);
  EXPECT_EQ(FormatRfc3339(*read.state.requeue_at), "2026-01-01T12:01:00Z");
  EXPECT_THAT(read.state.unhealthy_nodes, ElementsAre("n1"));
  EXPECT_THAT(read.state.preemption_gates, ElementsAre(PreemptionGate{"g", true}));
  EXPECT_EQ(read.state.past_execution_s, 7);
}

TEST(WorkloadStatus, NamesWhatAControllerWroteWrong) {
  const json::value checks =
      Yaml("{admissionChecks: [{state: Done}, {name: a, state: Ready, x: 1}]}");
  Problems problems;
  ReadCheckStates(Field(checks, &problems)["admissionChecks"]);
  const std::string detail = problems.ToError().detail;
  EXPECT_THAT(detail, HasSubstr("admissionChecks[0].name: is required"));
  EXPECT_THAT(detail, HasSubstr("admissionChecks[0].state: must be one of Pending, Ready"));
  EXPECT_THAT(detail, HasSubstr("admissionChecks[1].x: unknown field"));
}

}  // namespace
}  // namespace muster::shapes
