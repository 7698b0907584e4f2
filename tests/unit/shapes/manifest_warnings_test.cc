// Fields of pod templates that Kubernetes does not know: named by their path, in every kind of job.
#include "schedd/shapes/parts/manifest_warnings.h"

#include "schedd/base/limits.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Warnings(const std::string& yaml) { return WarningsOf(Yaml(yaml)).All(); }

TEST(ManifestWarnings, NameTheFieldInEveryPodTemplateOfEveryKind) {
  const std::string bad = "{spec: {containers: [{name: a, comand: [x]}]}}";
  const std::pair<std::string, std::string> cases[] = {
      {"kind: Job, spec: {template: " + bad + "}", "spec.template."},
      {"kind: JobSet, spec: {replicatedJobs: [{}, {template: {spec: {template: " + bad + "}}}]}",
       "spec.replicatedJobs[1].template.spec.template."},
      {"kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Worker: {template: " + bad + "}}}",
       "spec.pytorchReplicaSpecs.Worker.template."},
      {"kind: LeaderWorkerSet, spec: {leaderWorkerTemplate: {workerTemplate: " + bad + "}}",
       "spec.leaderWorkerTemplate.workerTemplate."},
      {"kind: LeaderWorkerSet, spec: {leaderWorkerTemplate: {leaderTemplate: " + bad + "}}",
       "spec.leaderWorkerTemplate.leaderTemplate."},
      {"kind: RayCluster, spec: {headGroupSpec: {template: " + bad + "}}",
       "spec.headGroupSpec.template."},
      {"kind: RayCluster, spec: {workerGroupSpecs: [{template: " + bad + "}]}",
       "spec.workerGroupSpecs[0].template."},
      {"kind: RayJob, spec: {rayClusterSpec: {workerGroupSpecs: [{template: " + bad + "}]}}",
       "spec.rayClusterSpec.workerGroupSpecs[0].template."},
      {"kind: RayJob, spec: {rayClusterSpec: {headGroupSpec: {template: " + bad + "}}}",
       "spec.rayClusterSpec.headGroupSpec.template."},
      {"kind: RayJob, spec: {submitterPodTemplate: " + bad + "}", "spec.submitterPodTemplate."},
      {"kind: Workload, spec: {podSets: [{template: " + bad + "}]}", "spec.podSets[0].template."},
  };
  for (const auto& [manifest, path] : cases) {
    EXPECT_THAT(Warnings("{" + manifest + "}"),
                ElementsAre("unknown field \"" + path + "spec.containers[0].comand\""))
        << manifest;
  }
}

TEST(ManifestWarnings, GoAsDeepAsATemplateDoes) {
  EXPECT_THAT(Warnings(R"({kind: Job, spec: {template: {metadata: {label: {a: b}}, spec: {
      tolerations: [{key: a, operater: Exists}], restartPolcy: Never,
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms:
        [{matchExpression: []}]}}},
      volumes: [{name: v, emptyDir: {sizelimit: 1Gi}}],
      containers: [{name: a, env: [{name: A, valeFrom: {}}], resources: {request: {cpu: 1}},
        securityContext: {runAsUsr: 1}}]}}}})"),
              testing::UnorderedElementsAre(
                  "unknown field \"spec.template.metadata.label\"",
                  "unknown field \"spec.template.spec.tolerations[0].operater\"",
                  "unknown field \"spec.template.spec.restartPolcy\"",
                  "unknown field \"spec.template.spec.affinity.nodeAffinity."
                  "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
                  "matchExpression\"",
                  "unknown field \"spec.template.spec.volumes[0].emptyDir.sizelimit\"",
                  "unknown field \"spec.template.spec.containers[0].env[0].valeFrom\"",
                  "unknown field \"spec.template.spec.containers[0].resources.request\"",
                  "unknown field \"spec.template.spec.containers[0].securityContext.runAsUsr\""));
}

TEST(ManifestWarnings, NoneOfWhatKubernetesKnows) {
  EXPECT_THAT(Warnings(R"({kind: Job, spec: {unknown: 1, template: {metadata: {labels: {any: x},
      annotations: {b: c}}, spec: {nodeSelector: {any: x}, hostNetwork: true, priorityClassName: p,
      containers: [{name: a, resources: {requests: {memory: 1.5Gi, example.org/x: 1}},
        livenessProbe: {httpGet: {path: /, port: 80, httpHeaders: [{name: a, value: b}]}},
        lifecycle: {preStop: {exec: {command: [a]}}}}],
      topologySpreadConstraints: [{maxSkew: 1, labelSelector: {matchLabels: {any: x}}}],
      volumes: [{name: c, csi: {driver: d, volumeAttributes: {any: x}}}]}}}})"),
              IsEmpty());
  EXPECT_THAT(Warnings("{kind: ClusterQueue, spec: {template: {spec: {x: 1}}}}"), IsEmpty());
  EXPECT_THAT(Warnings("{kind: [Job]}"), IsEmpty());
  EXPECT_THAT(Warnings("[1]"), IsEmpty());
  EXPECT_THAT(Warnings("{kind: Job, spec: {template: [1, {spec: 5}, null]}}"), IsEmpty());
  EXPECT_THAT(
      Warnings("{kind: Workload, spec: {podSets: [{template: {containers: [{comand: x}]}}]}}"),
      ElementsAre("unknown field \"spec.podSets[0].template.containers[0].comand\""))
      << "the early form of a pod set";
}

TEST(ManifestWarnings, AFractionOfAByteIsOne) {
  EXPECT_THAT(Warnings("{kind: Job, spec: {template: {spec: {containers: [{name: a, resources: "
                       "{requests: {cpu: 100m, memory: 100m}}}]}}}}"),
              ElementsAre("spec.template.spec.containers[0].resources.requests[memory]: fractional "
                          "byte value \"100m\" is invalid, must be an integer"));
}

TEST(ManifestWarnings, AreBounded) {
  std::string fields;
  for (int i = 0; i < 1000; ++i) fields += "x" + std::to_string(i) + ": 1, ";
  const auto many = Warnings("{kind: Job, spec: {template: {spec: {" + fields + "y: 1}}}}");
  EXPECT_EQ(many.size(), limits::kManifestWarnings);
  json::value long_name = Yaml("{kind: Job, spec: {template: {}}}");
  long_name.at_pointer("/spec/template").as_object()["a\nb" + std::string(5000, 'x')] = 1;
  const auto cut = WarningsOf(long_name).All();
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_LT(cut.front().size(), 200u);
  EXPECT_EQ(cut.front().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace muster::shapes
