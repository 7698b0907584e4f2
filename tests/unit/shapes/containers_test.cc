// The containers of each pod set, as a manifest lists them.
#include "schedd/shapes/kinds/containers.h"

#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

ContainersBySet ContainersOfManifest(const std::string& text) {
  const ParsedJob parsed = Job(Yaml(text));
  JobRecord record;
  record.shape = parsed.shape;
  record.pod_sets = std::make_shared<const PodSets>(parsed.pod_sets);
  return ContainersOf(record, parsed.manifest);
}

TEST(Containers, InitContainersComeFirst) {
  EXPECT_THAT(ContainersOfManifest(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      restartPolicy: Never
      initContainers: [{name: setup, image: i}]
      containers: [{name: main, image: i}, {name: log, image: i}]
)"),
              ElementsAre(Pair("main", ElementsAre("setup", "main", "log"))));
}

TEST(Containers, EachPodSetHasItsOwn) {
  EXPECT_THAT(ContainersOfManifest(R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: s}
spec:
  replicatedJobs:
  - name: map
    replicas: 2
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: i}]}}}}
  - name: reduce
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: r, image: i}]}}}}
)"),
              ElementsAre(Pair("map", ElementsAre("m")), Pair("reduce", ElementsAre("r"))));
}

TEST(Containers, ABatchScriptHasTheOneItRunsIn) {
  JobRecord record;
  record.shape = ShapeKind::kBatchScript;
  PodSet nodes;
  nodes.name = "main";
  record.pod_sets = std::make_shared<const PodSets>(PodSets{nodes});
  EXPECT_THAT(ContainersOf(record, json::object()),
              ElementsAre(Pair("main", ElementsAre("script"))));
}

}  // namespace
}  // namespace muster::shapes
