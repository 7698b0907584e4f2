// The manifests of the three texts in examples/mission are accepted unchanged.
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

TEST(Mission, TheGuidesQueuesParseIntoTheirQuotas) {
  ConfigView config;
  for (const auto& document : DocumentsOf("examples/mission/guide-queues.yaml")) {
    ASSERT_TRUE(IsConfigObject(document));
    const auto object = ParseObject(document);
    ASSERT_TRUE(object.ok()) << object.error().detail;
    ASSERT_TRUE(ApplyTo(&config, object->kind, object->manifest).ok());
  }
  ASSERT_TRUE(config.flavors.contains("default-flavor"));
  const ClusterQueue& queue = config.cluster_queues.at("cluster-queue");
  EXPECT_EQ(queue.cohort, "compute-workload");
  EXPECT_EQ(queue.strategy, QueueingStrategy::kBestEffortFifo);
  EXPECT_TRUE(queue.namespace_selector.has_value());
  const auto& quotas = queue.resource_groups.at(0).flavors.at(0).resources;
  EXPECT_EQ(quotas.at(0).second.nominal, 32'000);
  EXPECT_EQ(quotas.at(1).second.nominal, 128LL << 30);
  EXPECT_EQ(config.namespaces.at("compute-jobs").labels.at("app"), "compute-workload");
  EXPECT_EQ(config.local_queues.at({"compute-jobs", "local-queue"}).cluster_queue, "cluster-queue");
}

TEST(Mission, TheGuidesJobsQueueByAnnotation) {
  const auto documents = DocumentsOf("examples/mission/guide-jobs.yaml");
  ASSERT_EQ(documents.size(), 2U);
  const ParsedJob mock = Job(documents[0]);
  EXPECT_EQ(mock.name, "mock-workload");
  EXPECT_EQ(mock.ns, "compute-jobs");
  EXPECT_EQ(mock.queue, "local-queue");
  EXPECT_EQ(mock.ttl_after_finished_s, 60);
  // suspend: true is how users of Kueue submit; it is not a hold.
  EXPECT_FALSE(mock.hold);
  EXPECT_EQ(PodSetsText(mock.pod_sets), "main x3 cpu=1 memory=2Gi");
  EXPECT_THAT(TextAt(documents[0], {"spec", "template", "spec", "containers", "0", "command", "2"}),
              testing::HasSubstr("Epoch 3/3: Processing accuracy: 95%"));
  const ParsedJob evaluation = Job(documents[1]);
  EXPECT_EQ(evaluation.name, "model-evaluation");
  EXPECT_EQ(PodSetsText(evaluation.pod_sets), "main x3 cpu=1 memory=1Gi");
}

TEST(Mission, TheArticlesJobIsOneGangOfSixteen) {
  ConfigView config;
  for (const auto& document : DocumentsOf("examples/mission/gang-queues.yaml")) {
    const auto object = ParseObject(document);
    ASSERT_TRUE(object.ok()) << object.error().detail;
    ASSERT_TRUE(ApplyTo(&config, object->kind, object->manifest).ok());
  }
  EXPECT_EQ(config.flavors.at("gpu-a100").node_labels.at("gpu-type"), "a100");
  const Quota& quota = config.cluster_queues.at("team-research")
                           .resource_groups.at(0)
                           .flavors.at(0)
                           .resources.at(0)
                           .second;
  EXPECT_EQ(quota.nominal, 16);
  EXPECT_EQ(quota.borrowing_limit, 8);
  ASSERT_TRUE(config.cluster_queues.at("team-research").namespace_selector.has_value())
      << "its selector is left out: every namespace may use it";
  const ParsedJob job = Job(DocumentsOf("examples/mission/gang-train-llm.yaml").at(0));
  EXPECT_EQ(job.queue, "research");
  EXPECT_EQ(PodSetsText(job.pod_sets), "main x16 nvidia.com/gpu=1");
}

TEST(Mission, TheNewslettersJobAndWorkloadAreTheSamePods) {
  const ParsedJob job = Job(DocumentsOf("examples/mission/newsletter-job.yaml").at(0));
  EXPECT_EQ(job.queue, "");
  const ParsedJob workload = Job(DocumentsOf("examples/mission/newsletter-workload.yaml").at(0));
  EXPECT_EQ(workload.shape, ShapeKind::kWorkload);
  EXPECT_EQ(workload.queue, "gpu-workload-queue");
  EXPECT_EQ(workload.expected_cluster_queue, "gpu-cluster-queue");
  EXPECT_EQ(PodSetsText(job.pod_sets), "main x3 nvidia.com/gpu=1");
  EXPECT_EQ(PodSetsText(workload.pod_sets), PodSetsText(job.pod_sets));
}

TEST(Mission, TheQuickstartsManifestsParse) {
  for (const auto& document : DocumentsOf("examples/quickstart/queues.yaml")) {
    const auto object = ParseObject(document);
    EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().detail);
  }
  const std::vector<std::pair<std::string, std::string>> jobs = {
      {"job", "main x3 cpu=500m memory=256Mi nvidia.com/gpu=1"},
      {"jobset", "map x2 cpu=250m memory=128Mi; reduce x1 cpu=250m memory=128Mi"},
      {"rayjob",
       "head x1 cpu=500m memory=256Mi; gpu-workers x1 cpu=500m memory=256Mi nvidia.com/gpu=1; "
       "submitter x1 cpu=500m memory=200Mi"},
      {"pytorchjob",
       "master x1 cpu=500m memory=256Mi nvidia.com/gpu=1; worker x2 cpu=500m memory=256Mi "
       "nvidia.com/gpu=1"},
      {"leaderworkerset", "leader x1 cpu=250m memory=128Mi; worker x1 cpu=250m memory=128Mi"},
  };
  for (const auto& [file, pod_sets] : jobs) {
    EXPECT_EQ(
        PodSetsText(Job(DocumentsOf("examples/quickstart/jobs/" + file + ".yaml").at(0)).pod_sets),
        pod_sets)
        << file;
  }
}

// The guide's placement of a job, unchanged.
constexpr char kJobPlacement[] = R"(
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata:
  name: job1-placement
  namespace: compute-jobs
spec:
  resourceSelectors:
  - group: batch
    version: v1
    kind: Job
    name: mock-workload
  policy:
    placementType: PickN
    numberOfClusters: 1
    affinity:
      clusterAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 40
            preference:
              propertySorter:
                name: resources.kubernetes-fleet.io/available-cpu
                sortOrder: Descending
          - weight: 30
            preference:
              propertySorter:
                name: resources.kubernetes-fleet.io/available-memory
                sortOrder: Descending
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 25%
      maxSurge: 25%
      unavailablePeriodSeconds: 60
    applyStrategy:
      whenToApply: IfNotDrifted
  revisionHistoryLimit: 15
)";

TEST(Mission, TheGuidesPlacementOfAJobIsRead) {
  ConfigView config;
  const auto object = ParseObject(Yaml(kJobPlacement));
  ASSERT_TRUE(object.ok()) << object.error().detail;
  EXPECT_EQ(object->kind, ObjectKind::kResourcePlacement);
  EXPECT_EQ(object->ns, "compute-jobs");
  ASSERT_TRUE(ApplyTo(&config, object->kind, object->manifest).ok());
  const PlacementPtr placement = config.placements->Find("compute-jobs", "job1-placement");
  ASSERT_NE(placement, nullptr);
  ASSERT_EQ(placement->selectors.size(), 1U);
  EXPECT_EQ(placement->selectors[0].group, "batch");
  EXPECT_EQ(placement->selectors[0].name, "mock-workload");
  EXPECT_EQ(placement->policy.type, PlacementType::kPickN);
  EXPECT_EQ(placement->policy.number_of_clusters, 1);
  ASSERT_EQ(placement->policy.preferred.size(), 2U);
  EXPECT_EQ(placement->policy.preferred[0].weight, 40);
  EXPECT_EQ(placement->policy.preferred[0].sorter,
            (PropertySorter{"resources.kubernetes-fleet.io/available-cpu", true}));
  EXPECT_EQ(placement->policy.preferred[1].weight, 30);
  EXPECT_EQ(placement->policy.preferred[1].sorter,
            (PropertySorter{"resources.kubernetes-fleet.io/available-memory", true}));
}

// The guide's placements of queues, unchanged.
constexpr const char* kQueuePlacements[] = {R"(
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata:
  name: sample-kueue
spec:
  resourceSelectors:
    - group: kueue.x-k8s.io
      version: v1beta1
      kind: ResourceFlavor
      name: default-flavor
    - group: kueue.x-k8s.io
      version: v1beta1
      kind: ClusterQueue
      name: cluster-queue
    - group: ""
      kind: Namespace
      version: v1
      name: compute-jobs
      selectionScope: NamespaceOnly
  policy:
    placementType: PickAll
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 25%
      maxSurge: 25%
      unavailablePeriodSeconds: 60
  revisionHistoryLimit: 15
)",
                                            R"(
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata:
  name: queue-placement
  namespace: compute-jobs
spec:
  resourceSelectors:
  - group: kueue.x-k8s.io
    version: v1beta1
    kind: LocalQueue
    name: local-queue
  policy:
    placementType: PickAll  # Place queue in all available clusters
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 25%
      maxSurge: 25%
      unavailablePeriodSeconds: 60
    applyStrategy:
      whenToApply: IfNotDrifted
  revisionHistoryLimit: 15
)"};

TEST(Mission, TheGuidesPlacementsOfQueuesAreRead) {
  ConfigView config;
  for (const char* text : kQueuePlacements) {
    const auto object = ParseObject(Yaml(text));
    ASSERT_TRUE(object.ok()) << object.error().detail;
    ASSERT_TRUE(ApplyTo(&config, object->kind, object->manifest).ok());
  }
  const PlacementPtr of_cluster = config.placements->Find("", "sample-kueue");
  ASSERT_NE(of_cluster, nullptr);
  ASSERT_EQ(of_cluster->selectors.size(), 3U);
  EXPECT_EQ(of_cluster->selectors[1].kind, "ClusterQueue");
  EXPECT_EQ(of_cluster->selectors[2].scope, SelectionScope::kNamespaceOnly);
  EXPECT_EQ(of_cluster->policy.type, PlacementType::kPickAll);
  EXPECT_EQ(of_cluster->rollout, (RollingUpdate{{25, true}, {25, true}, 60}));
  EXPECT_EQ(of_cluster->apply, ApplyStrategy{});
  EXPECT_EQ(of_cluster->revision_history_limit, 15);
  EXPECT_FALSE(of_cluster->abandon);
  const PlacementPtr of_queue = config.placements->Find("compute-jobs", "queue-placement");
  ASSERT_NE(of_queue, nullptr);
  EXPECT_EQ(of_queue->selectors.at(0).kind, "LocalQueue");
  EXPECT_TRUE(of_queue->apply.if_not_drifted);
  EXPECT_EQ(of_queue->apply.take_over, TakeOver::kAlways);
}

}  // namespace
}  // namespace muster::shapes
