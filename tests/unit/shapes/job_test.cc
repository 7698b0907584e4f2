// batch/v1 Job: accepted manifests, wrong fields with their paths, and the dispatched manifest.
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::HasSubstr;

// A good Job with `spec` lines (indented by two) and `pod` lines (indented by six) added.
std::string JobYaml(const std::string& spec, const std::string& pod = "",
                    const std::string& container = "", const std::string& restart = "Never") {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: team}\nspec:\n" +
         spec + "  template:\n    spec:\n      restartPolicy: " + restart + "\n" + pod +
         "      containers:\n      - name: main\n        image: debian\n" + container;
}

struct GoodJob {
  std::string name, spec, pod, container, pod_sets;
};

TEST(JobShape, CountsPodsAndEffectiveRequests) {
  const std::vector<GoodJob> cases = {
      {"nothing said is one pod", "", "", "", "main x1"},
      {"parallelism alone", "  parallelism: 4\n", "", "", "main x4"},
      {"no more pods than completions", "  parallelism: 8\n  completions: 3\n", "", "", "main x3"},
      {"no more pods than parallelism", "  parallelism: 2\n  completions: 9\n", "", "", "main x2"},
      {"limits stand in for requests", "", "",
       "        resources: {limits: {cpu: 2, memory: 1Gi}}\n", "main x1 cpu=2 memory=1Gi"},
      {"requests win over limits", "", "",
       "        resources: {requests: {cpu: 500m}, limits: {cpu: 2, memory: 1Gi}}\n",
       "main x1 cpu=500m memory=1Gi"},
      {"numbers are quantities", "", "",
       "        resources: {requests: {cpu: 0.5, memory: 1000000}}\n",
       "main x1 cpu=500m memory=1000000"},
      {"containers add up", "", "",
       "        resources: {requests: {cpu: 1}}\n      - name: side\n        image: i\n"
       "        resources: {requests: {cpu: 2}}\n",
       "main x1 cpu=3"},
      {"an init container that is larger decides", "",
       "      initContainers:\n      - {name: big, image: i, resources: {requests: {cpu: 4}}}\n"
       "      - {name: small, image: i, resources: {requests: {memory: 1Gi}}}\n",
       "        resources: {requests: {cpu: 1}}\n", "main x1 cpu=4 memory=1Gi"},
      {"a sidecar counts with the containers", "",
       "      initContainers:\n      - {name: side, image: i, restartPolicy: Always, resources: "
       "{requests: {cpu: 1}}}\n",
       "        resources: {requests: {cpu: 2}}\n", "main x1 cpu=3"},
      {"a sidecar counts with later init containers", "",
       "      initContainers:\n      - {name: side, image: i, restartPolicy: Always, resources: "
       "{requests: {cpu: 1}}}\n"
       "      - {name: init, image: i, resources: {requests: {cpu: 5}}}\n",
       "        resources: {requests: {cpu: 2}}\n", "main x1 cpu=6"},
      {"a sidecar does not count with earlier init containers", "",
       "      initContainers:\n      - {name: init, image: i, resources: {requests: {cpu: 5}}}\n"
       "      - {name: side, image: i, restartPolicy: Always, resources: {requests: {cpu: 1}}}\n",
       "        resources: {requests: {cpu: 2}}\n", "main x1 cpu=5"},
      {"overhead is added", "", "      overhead: {cpu: 250m}\n",
       "        resources: {requests: {cpu: 1}}\n", "main x1 cpu=1250m"},
      {"pod-level requests replace the sum", "", "      resources: {requests: {cpu: 8}}\n",
       "        resources: {requests: {cpu: 1, memory: 1Gi}}\n", "main x1 cpu=8 memory=1Gi"},
      {"any resource with a domain", "", "",
       "        resources: {limits: {nvidia.com/gpu: 1, example.com/fpga: 2}}\n",
       "main x1 example.com/fpga=2 nvidia.com/gpu=1"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(PodSetsText(Job(Yaml(JobYaml(c.spec, c.pod, c.container))).pod_sets), c.pod_sets)
        << c.name;
  }
}

struct BadJob {
  std::string name, spec, pod, container, problem;
  std::string restart = "Never";
};

TEST(JobShape, RefusesWrongSpecsWithTheirPath) {
  const std::string indexed = "  completionMode: Indexed\n  completions: 4\n";
  const std::vector<BadJob> cases = {
      {"zero parallelism", "  parallelism: 0\n", "", "",
       "spec.parallelism: must be at least 1, not 0"},
      {"negative parallelism", "  parallelism: -1\n", "", "",
       "spec.parallelism: must be at least 1"},
      {"parallelism beyond 32 bits", "  parallelism: 4294967296\n", "", "",
       "spec.parallelism: must be at most 2147483647"},
      {"parallelism beyond 63 bits", "  parallelism: 18446744073709551615\n", "", "",
       "spec.parallelism: must be at most"},
      {"parallelism beyond what a job may have", "  parallelism: 100001\n", "", "",
       "spec: makes 100001 pods; at most 100000"},
      {"parallelism as text", "  parallelism: \"3\"\n", "", "",
       "spec.parallelism: must be an integer, not a string"},
      {"a fraction of a pod", "  parallelism: 1.5\n", "", "",
       "spec.parallelism: must be an integer"},
      {"zero completions", "  completions: 0\n", "", "", "spec.completions: must be at least 1"},
      {"an unknown field", "  paralellism: 3\n", "", "", "spec.paralellism: unknown field"},
      {"an unknown completion mode", "  completionMode: indexed\n", "", "",
       "spec.completionMode: must be one of NonIndexed, Indexed"},
      {"indexed without completions", "  completionMode: Indexed\n", "", "",
       "spec.completions: is required when completionMode is Indexed"},
      {"negative back-off", "  backoffLimit: -1\n", "", "",
       "spec.backoffLimit: must be at least 0"},
      {"zero deadline", "  activeDeadlineSeconds: 0\n", "", "",
       "spec.activeDeadlineSeconds: must be at least 1"},
      {"negative TTL", "  ttlSecondsAfterFinished: -5\n", "", "",
       "spec.ttlSecondsAfterFinished: must be at least 0"},
      {"suspend as text", "  suspend: \"yes\"\n", "", "", "spec.suspend: must be true or false"},
      {"a selector of its own", "  manualSelector: true\n", "", "",
       "spec.manualSelector: a selector of your own"},
      {"somebody else's job", "  managedBy: example.com/other\n", "", "",
       "spec.managedBy: names another controller"},
      {"no restart policy of a job", "", "", "",
       "spec.template.spec.restartPolicy: must be OnFailure or Never", "Always"},
      {"failure policy with OnFailure",
       "  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: "
       "[42]}}]}\n",
       "", "", "restartPolicy: must be Never when podFailurePolicy is set", "OnFailure"},
      {"failure policy without rules", "  podFailurePolicy: {}\n", "", "",
       "spec.podFailurePolicy.rules: is required"},
      {"failure rule with both",
       "  podFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, values: [1]}, "
       "onPodConditions: [{type: DisruptionTarget}]}]}\n",
       "", "", "spec.podFailurePolicy.rules[0]: must have exactly one of"},
      {"failure rule with neither", "  podFailurePolicy: {rules: [{action: Ignore}]}\n", "", "",
       "rules[0]: must have exactly one of"},
      {"unknown action",
       "  podFailurePolicy: {rules: [{action: Retry, onExitCodes: {operator: In, values: [1]}}]}\n",
       "", "", "rules[0].action: must be one of FailJob"},
      {"FailIndex without per-index back-off",
       "  podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: "
       "[1]}}]}\n",
       "", "", "rules[0].action: FailIndex needs backoffLimitPerIndex"},
      {"exit code 0",
       "  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: "
       "[0]}}]}\n",
       "", "", "onExitCodes.values[0]: must not be 0"},
      {"exit codes out of order",
       "  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [3, "
       "2]}}]}\n",
       "", "", "onExitCodes.values[1]: must be in ascending order"},
      {"exit codes of no container",
       "  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: other, "
       "operator: In, values: [3]}}]}\n",
       "", "", "onExitCodes.containerName: names no container"},
      {"success policy without indexes", "  successPolicy: {rules: [{succeededCount: 1}]}\n", "",
       "", "spec.successPolicy: needs completionMode Indexed"},
      {"success policy of nothing", indexed + "  successPolicy: {rules: []}\n", "", "",
       "spec.successPolicy.rules: must have at least one rule"},
      {"success indexes out of range",
       indexed + "  successPolicy: {rules: [{succeededIndexes: \"0,4\"}]}\n", "", "",
       "succeededIndexes: must be ascending indexes below completions"},
      {"success count over its indexes",
       indexed + "  successPolicy: {rules: [{succeededIndexes: \"0-1\", succeededCount: 3}]}\n", "",
       "", "succeededCount: must be at most 2"},
      {"per-index back-off without indexes", "  backoffLimitPerIndex: 1\n", "", "",
       "spec.backoffLimitPerIndex: needs completionMode Indexed"},
      {"failed indexes without per-index back-off", indexed + "  maxFailedIndexes: 1\n", "", "",
       "spec.maxFailedIndexes: needs backoffLimitPerIndex"},
      {"replacement policy against failure policy",
       "  podReplacementPolicy: TerminatingOrFailed\n  podFailurePolicy: {rules: []}\n", "", "",
       "spec.podReplacementPolicy: must be Failed when podFailurePolicy is set"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ProblemsOf(ParseJob(Yaml(JobYaml(c.spec, c.pod, c.container, c.restart)))),
                HasSubstr(c.problem))
        << c.name;
  }
}

TEST(JobShape, TakesThePoliciesOfARealIndexedJob) {
  const ParsedJob job = Job(Yaml(JobYaml(
      "  parallelism: 2\n  completions: 4\n  completionMode: Indexed\n  backoffLimitPerIndex: 1\n  "
      "maxFailedIndexes: 2\n"
      "  successPolicy: {rules: [{succeededIndexes: \"0,2-3\", succeededCount: 2}]}\n"
      "  podFailurePolicy:\n    rules:\n    - {action: FailIndex, onExitCodes: {containerName: "
      "main, operator: NotIn, values: [0, 42]}}\n"
      "    - {action: Ignore, onPodConditions: [{type: DisruptionTarget, status: \"True\"}]}\n"
      "  activeDeadlineSeconds: 600\n  podReplacementPolicy: Failed\n")));
  EXPECT_EQ(PodSetsText(job.pod_sets), "main x2");
  EXPECT_EQ(job.time_limit_s, 600);
}

TEST(PodTemplate, RefusesWrongPodsWithTheirPath) {
  const std::string base = "spec.template.spec.";
  const std::vector<BadJob> cases = {
      {"a zero amount", "", "", "        resources: {requests: {cpu: 0}}\n",
       base + "containers[0].resources.requests[cpu]: must be greater than zero"},
      {"a negative amount", "", "", "        resources: {limits: {cpu: -1}}\n",
       base + "containers[0].resources.limits[cpu]: must not be negative"},
      {"an overflowing amount", "", "", "        resources: {requests: {memory: 99999999999Gi}}\n",
       "requests[memory]: \"99999999999Gi\" is beyond 64 bits"},
      {"amounts that overflow together", "  parallelism: 100000\n", "",
       "        resources: {requests: {memory: 1Ei}}\n",
       "spec.template: asks for more memory than 64 bits"},
      {"no quantity", "", "", "        resources: {requests: {cpu: lots}}\n",
       "requests[cpu]: \"lots\" is not a quantity"},
      {"a list as quantity", "", "", "        resources: {requests: {cpu: [1]}}\n",
       "requests[cpu]: must be a quantity"},
      {"a request over its limit", "", "",
       "        resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n",
       "resources.requests[cpu]: must be at most its limit"},
      {"GPUs that differ from their limit", "", "",
       "        resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}\n",
       "requests[nvidia.com/gpu]: must equal its limit"},
      {"GPUs without a limit", "", "", "        resources: {requests: {nvidia.com/gpu: 1}}\n",
       "resources.limits: must name nvidia.com/gpu too"},
      {"half a GPU", "", "", "        resources: {limits: {nvidia.com/gpu: 500m}}\n",
       "limits[nvidia.com/gpu]: must be a whole number"},
      {"pods as a resource", "", "", "        resources: {requests: {pods: 1}}\n",
       "requests[pods]: the name is reserved"},
      {"a bad resource name", "", "", "        resources: {requests: {\"a b\": 1}}\n",
       "requests[a b]: a resource's name must be"},
      {"resource claims", "", "      resourceClaims: [{name: gpu}]\n", "",
       base + "resourceClaims: dynamic resource allocation"},
      {"a gated pod", "", "      schedulingGates: [{name: x}]\n", "",
       base + "schedulingGates: gated pods"},
      {"two containers of one name", "", "", "      - {name: main, image: i}\n",
       base + "containers[1].name: must be unique in the pod"},
      {"an init container of the same name", "", "      initContainers: [{name: main, image: i}]\n",
       "", base + "initContainers[0].name: must be unique"},
      {"a container name with a slash", "", "      initContainers: [{name: a/b, image: i}]\n", "",
       base + "initContainers[0].name: must be at most 63 lower case"},
      {"a container without image", "", "      initContainers: [{name: init}]\n", "",
       base + "initContainers[0].image: is required"},
      {"an empty image", "", "      initContainers: [{name: init, image: \"\"}]\n", "",
       base + "initContainers[0].image: must not be empty"},
      {"a command that is text", "", "", "        command: echo\n",
       base + "containers[0].command: must be a list, not a string"},
      {"a number in a command", "", "", "        command: [sleep, 10]\n",
       base + "containers[0].command[1]: must be a string, not a number"},
      {"a sidecar among the containers", "", "", "        restartPolicy: Always\n",
       base + "containers[0].restartPolicy: may be set for init containers only"},
      {"an environment name with =", "", "", "        env: [{name: \"A=B\", value: x}]\n",
       base + "containers[0].env[0].name: must be printable"},
      {"an environment value that is a number", "", "", "        env: [{name: A, value: 1}]\n",
       base + "containers[0].env[0].value: must be a string"},
      {"value and valueFrom", "", "",
       "        env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\n",
       "env[0].valueFrom: must be absent"},
      {"two sources", "", "",
       "        env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}, configMapKeyRef: {name: a, "
       "key: b}}}]\n",
       "env[0].valueFrom: must name exactly one source"},
      {"a ConfigMap key without key", "", "",
       "        env: [{name: A, valueFrom: {configMapKeyRef: {name: a}}}]\n",
       "configMapKeyRef.key: is required"},
      {"envFrom of nothing", "", "", "        envFrom: [{prefix: X_}]\n",
       "envFrom[0]: must have exactly one of configMapRef and secretRef"},
      {"a mount of no volume", "", "", "        volumeMounts: [{name: data, mountPath: /data}]\n",
       base + "containers[0].volumeMounts[0].name: names no volume of the pod: \"data\""},
      {"two mounts at one path", "", "      volumes: [{name: d, emptyDir: {}}]\n",
       "        volumeMounts: [{name: d, mountPath: /d}, {name: d, mountPath: /d}]\n",
       "volumeMounts[1].mountPath: must be unique"},
      {"a sub path that climbs", "", "      volumes: [{name: d, emptyDir: {}}]\n",
       "        volumeMounts: [{name: d, mountPath: /d, subPath: a/../../b}]\n",
       "volumeMounts[0].subPath: must be a relative path"},
      {"a volume with two sources", "",
       "      volumes: [{name: d, emptyDir: {}, configMap: {name: c}}]\n", "",
       base + "volumes[0]: must have exactly one source"},
      {"two volumes of one name", "",
       "      volumes: [{name: d, emptyDir: {}}, {name: d, emptyDir: {}}]\n", "",
       base + "volumes[1].name: must be unique"},
      {"a bad node selector", "", "      nodeSelector: {\"bad key!\": x}\n", "",
       base + "nodeSelector[bad key!]: a label's key"},
      {"a toleration with effect of none", "", "      tolerations: [{key: a, effect: Never}]\n", "",
       base + "tolerations[0].effect: must be one of"},
      {"a toleration of everything by value", "",
       "      tolerations: [{operator: Exists, value: x}]\n", "",
       base + "tolerations[0].value: must be empty"},
      {"an affinity without values", "",
       "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
       "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}\n",
       "", "matchExpressions[0].values: is required when operator is In"},
      {"a port of no number", "", "", "        ports: [{containerPort: 70000}]\n",
       "ports[0].containerPort: must be at most 65535"},
      {"a negative grace period", "", "      terminationGracePeriodSeconds: -1\n", "",
       base + "terminationGracePeriodSeconds: must be at least 0"},
      {"a topology level that is no label", "", "", "",
       "spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]: must be "
       "[DNS-prefix/]name"},
  };
  for (const auto& c : cases) {
    std::string yaml = JobYaml(c.spec, c.pod, c.container, c.restart);
    if (c.name == "a topology level that is no label") {
      const std::string at = "  template:\n";
      yaml.insert(yaml.find(at) + at.size(),
                  "    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: a b}}\n");
    }
    EXPECT_THAT(ProblemsOf(ParseJob(Yaml(yaml))), HasSubstr(c.problem)) << c.name;
  }
}

TEST(PodTemplate, KeepsUnknownFieldsInsideTheTemplate) {
  const ParsedJob job =
      Job(Yaml(JobYaml("", "      someNewField: {a: 1}\n", "        anotherNewField: [1]\n")));
  EXPECT_EQ(TextAt(job.manifest, {"spec", "template", "spec", "someNewField"}), "{\"a\":1}");
  EXPECT_EQ(
      TextAt(job.manifest, {"spec", "template", "spec", "containers", "0", "anotherNewField"}),
      "[1]");
}

TEST(PodTemplate, ReadsWhereItsPodsMayRun) {
  const ParsedJob job =
      Job(Yaml(JobYaml("",
                       "      nodeSelector: {gpu-type: a100}\n      tolerations: [{key: spot, "
                       "operator: Exists, effect: NoSchedule}, {key: t, value: v}]\n"
                       "      affinity: {nodeAffinity: "
                       "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                       "[{matchExpressions: [{key: zone, operator: In, values: [a, b]}]}]}}}\n")));
  const auto& constraints = job.pod_sets.at(0).constraints;
  ASSERT_NE(constraints, nullptr);
  EXPECT_EQ(constraints->node_selector.at("gpu-type"), "a100");
  ASSERT_EQ(constraints->tolerations.size(), 2U);
  EXPECT_EQ(constraints->tolerations[0].op, "Exists");
  EXPECT_EQ(constraints->tolerations[1].op, "Equal");
  ASSERT_TRUE(constraints->has_required_affinity);
  EXPECT_EQ(constraints->required_terms.at(0).match_expressions.at(0).values,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Job(Yaml(JobYaml(""))).pod_sets.at(0).constraints, nullptr);
}

TEST(JobShape, NamesEveryWrongFieldAtOnce) {
  const auto result = ParseJob(Yaml(JobYaml("  parallelism: -1\n  backoffLimit: x\n  nonsense: 1\n",
                                            "", "        resources: {requests: {cpu: -1}}\n")));
  ASSERT_FALSE(result.ok());
  ASSERT_EQ(result.error().fields.size(), 4U);
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
}

struct Metadata {
  std::string name, metadata, problem;
};

TEST(JobMetadata, RefusesWrongMetadataWithItsPath) {
  const std::vector<Metadata> cases = {
      {"no name", "{}", "metadata.name: is required"},
      {"a slash", "{name: a/b}", "metadata.name: must be at most 253"},
      {"a newline", "{name: \"a\\nb\"}", "metadata.name: must be at most 253"},
      {"capitals", "{name: Train}", "metadata.name: must be"},
      {"64 bytes", "{name: " + std::string(64, 'a') + "}",
       "metadata.name: must be at most 63 bytes"},
      {"a number", "{name: 12}", "metadata.name: must be a string, not a number"},
      {"a bad prefix", "{generateName: \"-a\"}", "metadata.generateName: must be"},
      {"a prefix too long", "{generateName: " + std::string(60, 'a') + "}",
       "metadata.generateName: must be at most"},
      {"a bad namespace", "{name: a, namespace: a.b}", "metadata.namespace: must be at most 63"},
      {"a bad label value", "{name: a, labels: {x: \"a b\"}}",
       "metadata.labels[x]: a label's value"},
      {"a label that is a number", "{name: a, labels: {x: 1}}",
       "metadata.labels[x]: must be a string"},
      {"a bad annotation key", "{name: a, annotations: {\"a b\": x}}",
       "metadata.annotations[a b]: an annotation's key"},
      {"a bad queue", "{name: a, labels: {kueue.x-k8s.io/queue-name: My_Queue}}",
       "metadata.labels[kueue.x-k8s.io/queue-name]: a queue's name"},
      {"an unknown member", "{name: a, nmespace: b}", "metadata.nmespace: unknown field"},
      {"elastic or not", "{name: a, annotations: {kueue.x-k8s.io/elastic-job: \"yes\"}}",
       "metadata.annotations[kueue.x-k8s.io/elastic-job]: must be"},
      {"a slice made by hand",
       "{name: a, annotations: {kueue.x-k8s.io/workload-slice-replacement-for: team/b}}",
       "workload-slice-replacement-for]: slices are made by Muster"},
      {"a least parallelism that is none",
       "{name: a, annotations: {kueue.x-k8s.io/job-min-parallelism: \"0\"}}",
       "job-min-parallelism]: must be a whole number greater than 0 and less than parallelism"},
      {"completions that cannot follow",
       "{name: a, annotations: {kueue.x-k8s.io/job-completions-equal-parallelism: \"true\"}}",
       "job-completions-equal-parallelism]: needs completionMode Indexed"},
      {"a boost beyond 32 bits",
       "{name: a, annotations: {kueue.x-k8s.io/priority-boost: \"3000000000\"}}",
       "priority-boost]: must be a whole number of 32 bits"},
      {"a gate named twice", "{name: a, annotations: {kueue.x-k8s.io/admission-gated-by: \"a,a\"}}",
       "admission-gated-by]: names must be unique"},
      {"a bad time limit", "{name: a, labels: {kueue.x-k8s.io/max-exec-time-seconds: \"0\"}}",
       "max-exec-time-seconds]: must be a number of seconds"},
      {"a list", "[a]", "metadata: must be an object, not a list"},
  };
  for (const auto& c : cases) {
    std::string yaml = JobYaml("");
    const std::string old = "{name: train, namespace: team}";
    yaml.replace(yaml.find(old), old.size(), c.metadata);
    EXPECT_THAT(ProblemsOf(ParseJob(Yaml(yaml))), HasSubstr(c.problem)) << c.name;
  }
}

TEST(JobMetadata, PrefersTheLabelOverTheAnnotationAndReadsThePriority) {
  json::value manifest = Yaml(JobYaml(""));
  manifest.as_object()["metadata"] = Yaml(
      "{name: a, uid: x, resourceVersion: \"5\", managedFields: [], labels: "
      "{kueue.x-k8s.io/queue-name: one, "
      "kueue.x-k8s.io/priority-class: urgent, kueue.x-k8s.io/max-exec-time-seconds: \"90\"}, "
      "annotations: {kueue.x-k8s.io/queue-name: two}}");
  manifest.as_object()["status"] = json::object{{"active", 1}};
  const ParsedJob job = Job(manifest);
  EXPECT_EQ(job.queue, "one");
  EXPECT_EQ(job.priority_class, "urgent");
  EXPECT_EQ(job.time_limit_s, 90);
  EXPECT_EQ(job.display_name, "a");
  EXPECT_EQ(At(job.manifest, {"status"}), nullptr);
  EXPECT_EQ(At(job.manifest, {"metadata", "managedFields"}), nullptr);
  EXPECT_EQ(At(job.manifest, {"metadata", "uid"}), nullptr);
  manifest.at("metadata").at("labels").as_object().erase("kueue.x-k8s.io/queue-name");
  EXPECT_EQ(Job(manifest).queue, "two");
}

TEST(ParseJob, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(
      ProblemsOf(ParseJob(Yaml("{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}}"))),
      HasSubstr("kind: no job of this kind is known"));
  EXPECT_THAT(ProblemsOf(ParseJob(Yaml("{apiVersion: batch/v1beta1, kind: Job}"))),
              HasSubstr("apiVersion: a Job must be of batch/v1"));
  EXPECT_THAT(ProblemsOf(ParseJob(Yaml("{kind: Job}"))), HasSubstr("apiVersion: is required"));
  EXPECT_THAT(ProblemsOf(ParseJob(Yaml("{apiVersion: batch/v1}"))), HasSubstr("kind: is required"));
  EXPECT_THAT(ProblemsOf(ParseJob(json::value(3))), HasSubstr("must be an object"));
  EXPECT_THAT(ProblemsOf(ParseJob(Yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: a}}"))),
              HasSubstr("spec: is required"));
  EXPECT_FALSE(IsJobShape(Yaml("{apiVersion: v1, kind: Namespace}")));
}

}  // namespace
}  // namespace muster::shapes
