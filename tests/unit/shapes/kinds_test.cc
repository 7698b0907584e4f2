// JobSet, PyTorchJob, LeaderWorkerSet, RayJob, RayCluster and Workload: pod sets, and wrong fields
// by path.
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::HasSubstr;

struct Case {
  std::string name, spec, wanted;  // wanted: pod sets, or the problem
};

// A manifest of `head` (apiVersion and kind) whose spec is a flow mapping.
json::value Manifest(const std::string& head, const std::string& spec,
                     const std::string& name = "a") {
  return Yaml("{" + head + ", metadata: {name: " + name + "}, spec: " + spec + "}");
}

void ExpectPodSets(const std::string& head, const std::vector<Case>& cases) {
  for (const auto& c : cases)
    EXPECT_EQ(PodSetsText(Job(Manifest(head, c.spec)).pod_sets), c.wanted) << c.name;
}
void ExpectProblems(const std::string& head, const std::vector<Case>& cases) {
  for (const auto& c : cases)
    EXPECT_THAT(ProblemsOf(ParseJob(Manifest(head, c.spec))), HasSubstr(c.wanted)) << c.name;
}

std::string Pod(const std::string& cpu, const std::string& container = "main",
                const std::string& more = "") {
  return "{spec: {" + more + "containers: [{name: " + container +
         ", image: i, resources: {requests: {cpu: " + cpu + "}}}]}}";
}

// --- JobSet
// ---------------------------------------------------------------------------------------
const char kJobSet[] = "apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet";

std::string Replicated(const std::string& name, const std::string& more = "",
                       const std::string& job = "") {
  return "{name: " + name + ", " + more + "template: {spec: {" + job + "template: " + Pod("1") +
         "}}}";
}

TEST(JobSetShape, MakesOnePodSetPerReplicatedJob) {
  ExpectPodSets(
      kJobSet,
      {
          {"defaults", "{replicatedJobs: [" + Replicated("w") + "]}", "w x1 cpu=1"},
          {"replicas times pods",
           "{replicatedJobs: [" +
               Replicated("w", "replicas: 3, ", "parallelism: 4, completions: 2, ") + "]}",
           "w x6 cpu=1"},
          {"two jobs in order",
           "{replicatedJobs: [" + Replicated("driver") + ", " +
               Replicated("workers", "dependsOn: [{name: driver, status: Ready}], ") + "]}",
           "driver x1 cpu=1; workers x1 cpu=1"},
          {"policies",
           "{successPolicy: {operator: Any, targetReplicatedJobs: [w]}, failurePolicy: "
           "{maxRestarts: 2, rules: [{action: FailJobSet, "
           "onJobFailureReasons: [PodFailurePolicy], targetReplicatedJobs: [w]}]}, startupPolicy: "
           "{startupPolicyOrder: InOrder}, network: {enableDNSHostnames: true}, "
           "coordinator: {replicatedJob: w}, managedBy: kueue.x-k8s.io/multikueue, replicatedJobs: "
           "[" +
               Replicated("w") + "]}",
           "w x1 cpu=1"},
      });
}

TEST(JobSetShape, RefusesWrongFieldsWithTheirPath) {
  const std::string w = "replicatedJobs: [" + Replicated("w") + "]";
  ExpectProblems(
      kJobSet,
      {
          {"nothing to replicate", "{}", "spec.replicatedJobs: is required"},
          {"an empty list", "{replicatedJobs: []}", "spec.replicatedJobs: must have at least one"},
          {"zero replicas", "{replicatedJobs: [" + Replicated("w", "replicas: 0, ") + "]}",
           "spec.replicatedJobs[0].replicas: must be at least 1"},
          {"too many pods",
           "{replicatedJobs: [" +
               Replicated("w", "replicas: 2000000000, ",
                          "parallelism: 2000000000, completions: 2000000000, ") +
               "]}",
           "at most 100000 are allowed"},
          {"a bad name", "{replicatedJobs: [" + Replicated("w/x") + "]}",
           "spec.replicatedJobs[0].name: must be at most 63"},
          {"one name twice", "{replicatedJobs: [" + Replicated("w") + ", " + Replicated("w") + "]}",
           "spec.replicatedJobs[1].name: must be unique"},
          {"a name that makes pods' names too long",
           "{replicatedJobs: [" + Replicated(std::string(55, 'w')) + "]}",
           "replicatedJobs[0].name: makes pod names of"},
          {"a dependency on a later job",
           "{replicatedJobs: [" + Replicated("w", "dependsOn: [{name: z, status: Ready}], ") +
               ", " + Replicated("z") + "]}",
           "spec.replicatedJobs[0].dependsOn[0].name: must name a replicated job that stands "
           "before"},
          {"a dependency on itself",
           "{replicatedJobs: [" + Replicated("w", "dependsOn: [{name: w, status: Ready}], ") + "]}",
           "dependsOn[0].name: must name"},
          {"a dependency without status",
           "{replicatedJobs: [" + Replicated("v") + ", " +
               Replicated("w", "dependsOn: [{name: v}], ") + "]}",
           "dependsOn[0].status: is required"},
          {"dependencies and an order",
           "{startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [" + Replicated("v") +
               ", " + Replicated("w", "dependsOn: [{name: v, status: Ready}], ") + "]}",
           "spec.replicatedJobs[1].dependsOn: must be absent"},
          {"parallelism without completions",
           "{replicatedJobs: [" + Replicated("w", "", "parallelism: 4, ") + "]}",
           "spec.replicatedJobs[0].template.spec.completions: is required"},
          {"success of nobody",
           "{successPolicy: {operator: All, targetReplicatedJobs: [x]}, " + w + "}",
           "spec.successPolicy.targetReplicatedJobs[0]: names no replicated job"},
          {"an unknown operator", "{successPolicy: {operator: Some}, " + w + "}",
           "spec.successPolicy.operator: must be one of All, Any"},
          {"negative restarts", "{failurePolicy: {maxRestarts: -1}, " + w + "}",
           "spec.failurePolicy.maxRestarts: must be at least 0"},
          {"an unknown action", "{failurePolicy: {rules: [{action: Retry}]}, " + w + "}",
           "spec.failurePolicy.rules[0].action: must be one of FailJobSet"},
          {"in-place restarts", "{failurePolicy: {restartStrategy: InPlaceRestart}, " + w + "}",
           "spec.failurePolicy.restartStrategy: must be one of"},
          {"somebody else's", "{managedBy: other.example/x, " + w + "}",
           "spec.managedBy: names another controller"},
          {"a coordinator beyond the jobs",
           "{coordinator: {replicatedJob: w, jobIndex: 1}, " + w + "}",
           "spec.coordinator.jobIndex: must be less than the replicas of \"w\""},
          {"a coordinator beyond the pods",
           "{coordinator: {replicatedJob: w, podIndex: 2}, replicatedJobs: [" +
               Replicated("w", "", "parallelism: 2, completions: 2, ") + "]}",
           "spec.coordinator.podIndex: must be less than the completions of \"w\""},
          {"a coordinator without an index",
           "{coordinator: {replicatedJob: w}, replicatedJobs: [" +
               Replicated("w", "", "completionMode: NonIndexed, ") + "]}",
           "spec.coordinator.replicatedJob: must have completionMode Indexed"},
          {"a coordinator whose address is no label",
           "{coordinator: {replicatedJob: w}, network: {subdomain: " + std::string(60, 'n') +
               "}, " + w + "}",
           "spec.coordinator: makes a label of 68 bytes"},
          {"a policy for failed pods with the default restartPolicy, which is OnFailure",
           "{replicatedJobs: [" +
               Replicated("w", "",
                          "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: "
                          "[{type: DisruptionTarget}]}]}, ") +
               "]}",
           "template.spec.restartPolicy: must be Never when podFailurePolicy is set"},
          {"a back-off for each index with the default restartPolicy",
           "{replicatedJobs: [" + Replicated("w", "", "backoffLimitPerIndex: 1, ") + "]}",
           "template.spec.restartPolicy: must be Never when backoffLimitPerIndex is set"},
          {"a coordinator that is not there", "{coordinator: {replicatedJob: x}, " + w + "}",
           "spec.coordinator.replicatedJob: names no"},
          {"a wrong pod",
           "{replicatedJobs: [{name: w, template: {spec: {template: {spec: {containers: []}}}}}]}",
           "spec.replicatedJobs[0].template.spec.template.spec.containers: must have at least one"},
          {"no job template", "{replicatedJobs: [{name: w}]}",
           "spec.replicatedJobs[0].template: is required"},
          {"an unknown field", "{replicas: 3, " + w + "}", "spec.replicas: unknown field"},
      });
}

TEST(JobSetShape, RefusesMorePodSetsThanAWorkloadMayHave) {
  std::string list;
  for (int i = 0; i < 19; ++i) list += (i > 0 ? ", " : "") + Replicated("w" + std::to_string(i));
  ExpectProblems(kJobSet, {{"19", "{replicatedJobs: [" + list + "]}",
                            "spec.replicatedJobs: makes 19 pod sets; at most 18"}});
}

// --- PyTorchJob
// -----------------------------------------------------------------------------------
const char kPyTorch[] = "apiVersion: kubeflow.org/v1, kind: PyTorchJob";

TEST(PyTorchJobShape, MakesMasterAndWorker) {
  const std::string master = "Master: {template: " + Pod("2", "pytorch") + "}";
  ExpectPodSets(
      kPyTorch,
      {
          {"both",
           "{pytorchReplicaSpecs: {Worker: {replicas: 3, restartPolicy: OnFailure, template: " +
               Pod("1", "pytorch") + "}, " + master + "}}",
           "master x1 cpu=2; worker x3 cpu=1"},
          {"workers default to one",
           "{pytorchReplicaSpecs: {Worker: {template: " + Pod("1", "pytorch") + "}, " + master +
               "}}",
           "master x1 cpu=2; worker x1 cpu=1"},
          {"no workers",
           "{pytorchReplicaSpecs: {Worker: {replicas: 0, template: " + Pod("1", "pytorch") + "}, " +
               master + "}}",
           "master x1 cpu=2"},
      });
  const ParsedJob job = Job(Manifest(
      kPyTorch,
      "{nprocPerNode: gpu, runPolicy: {activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 5, "
      "cleanPodPolicy: All, backoffLimit: 2}, pytorchReplicaSpecs: {" +
          master + "}}"));
  EXPECT_EQ(job.time_limit_s, 60);
  EXPECT_EQ(job.ttl_after_finished_s, 5);
}

TEST(PyTorchJobShape, RefusesWrongFieldsWithTheirPath) {
  const std::string master =
      "pytorchReplicaSpecs: {Master: {template: " + Pod("2", "pytorch") + "}}";
  ExpectProblems(
      kPyTorch,
      {
          {"nothing", "{}", "spec.pytorchReplicaSpecs: is required"},
          {"no replicas", "{pytorchReplicaSpecs: {}}",
           "spec.pytorchReplicaSpecs: must have a Master or Workers"},
          {"an unknown role", "{pytorchReplicaSpecs: {Chief: {}}}",
           "spec.pytorchReplicaSpecs.Chief: unknown field"},
          {"two masters",
           "{pytorchReplicaSpecs: {Master: {replicas: 2, template: " + Pod("1", "pytorch") + "}}}",
           "spec.pytorchReplicaSpecs.Master.replicas: must be 1"},
          {"no master pod",
           "{pytorchReplicaSpecs: {Master: {replicas: 0, template: " + Pod("1", "pytorch") + "}}}",
           "Master.replicas: must be at least 1"},
          {"negative workers",
           "{pytorchReplicaSpecs: {Worker: {replicas: -2, template: " + Pod("1", "pytorch") + "}}}",
           "Worker.replicas: must be at least 0"},
          {"a container of another name",
           "{pytorchReplicaSpecs: {Master: {template: " + Pod("1") + "}}}",
           "spec.pytorchReplicaSpecs.Master.template.spec.containers: must have a container named "
           "\"pytorch\""},
          {"no template", "{pytorchReplicaSpecs: {Master: {}}}", "Master.template: is required"},
          {"elastic", "{elasticPolicy: {minReplicas: 1}, " + master + "}",
           "spec.elasticPolicy: elastic training"},
          {"processes", "{nprocPerNode: many, " + master + "}",
           "spec.nprocPerNode: must be auto, cpu, gpu or a number"},
          {"a clean policy", "{runPolicy: {cleanPodPolicy: Some}, " + master + "}",
           "spec.runPolicy.cleanPodPolicy: must be one of"},
          {"an unknown run policy", "{runPolicy: {retries: 3}, " + master + "}",
           "spec.runPolicy.retries: unknown field"},
          {"somebody else's", "{runPolicy: {managedBy: x}, " + master + "}",
           "spec.runPolicy.managedBy: names another"},
      });
}

// --- LeaderWorkerSet
// ------------------------------------------------------------------------------
const char kLws[] = "apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet";

TEST(LeaderWorkerSetShape, CountsLeadersAndWorkersOfAllGroups) {
  const std::string worker = "workerTemplate: " + Pod("1");
  ExpectPodSets(
      kLws, {
                {"defaults", "{leaderWorkerTemplate: {" + worker + "}}", "main x1 cpu=1"},
                {"without leader template",
                 "{replicas: 2, leaderWorkerTemplate: {size: 4, " + worker + "}}", "main x8 cpu=1"},
                {"with leader template",
                 "{replicas: 2, leaderWorkerTemplate: {size: 4, leaderTemplate: " + Pod("3") +
                     ", " + worker + "}}",
                 "leader x2 cpu=3; worker x6 cpu=1"},
                {"leaders alone",
                 "{replicas: 2, leaderWorkerTemplate: {size: 1, leaderTemplate: " + Pod("3") +
                     ", " + worker + "}}",
                 "leader x2 cpu=3"},
            });
}

TEST(LeaderWorkerSetShape, RefusesWrongFieldsWithTheirPath) {
  const std::string worker = "workerTemplate: " + Pod("1");
  ExpectProblems(
      kLws,
      {
          {"nothing", "{}", "spec.leaderWorkerTemplate: is required"},
          {"no worker", "{leaderWorkerTemplate: {size: 2}}",
           "spec.leaderWorkerTemplate.workerTemplate: is required"},
          {"no groups", "{replicas: 0, leaderWorkerTemplate: {" + worker + "}}",
           "spec.replicas: must be at least 1"},
          {"no pods", "{leaderWorkerTemplate: {size: 0, " + worker + "}}",
           "spec.leaderWorkerTemplate.size: must be at least 1"},
          {"too many pods",
           "{replicas: 1000000000, leaderWorkerTemplate: {size: 1000000000, " + worker + "}}",
           "spec.leaderWorkerTemplate.size: makes more than 100000 pods"},
          {"pods that end",
           "{leaderWorkerTemplate: {workerTemplate: " + Pod("1", "main", "restartPolicy: Never, ") +
               "}}",
           "workerTemplate.spec.restartPolicy: must be Always"},
          {"a restart policy", "{leaderWorkerTemplate: {restartPolicy: Sometimes, " + worker + "}}",
           "spec.leaderWorkerTemplate.restartPolicy: must be one of"},
          {"a startup policy", "{startupPolicy: Whenever, leaderWorkerTemplate: {" + worker + "}}",
           "spec.startupPolicy: must be one of LeaderCreated, LeaderReady"},
          {"sub groups that do not fit",
           "{leaderWorkerTemplate: {size: 8, subGroupPolicy: {subGroupSize: 3}, " + worker + "}}",
           "subGroupPolicy.subGroupSize: must divide"},
          {"volume claims", "{leaderWorkerTemplate: {volumeClaimTemplates: [{}], " + worker + "}}",
           "volumeClaimTemplates: volume claims per pod"},
          {"a time limit", "{leaderWorkerTemplate: {" + worker + "}, activeDeadlineSeconds: 5}",
           "spec.activeDeadlineSeconds: unknown field"},
      });
}

// --- Ray
// ------------------------------------------------------------------------------------------
const char kRayJob[] = "apiVersion: ray.io/v1, kind: RayJob";
const char kRayCluster[] = "apiVersion: ray.io/v1, kind: RayCluster";

std::string Cluster(const std::string& groups = "", const std::string& more = "") {
  return "{" + more + "headGroupSpec: {rayStartParams: {}, template: " + Pod("2") +
         "}, workerGroupSpecs: [" + groups + "]}";
}
std::string Group(const std::string& name, const std::string& more = "") {
  return "{groupName: " + name + ", " + more + "template: " + Pod("1") + "}";
}
std::string RaySpec(const std::string& more = "", const std::string& cluster = Cluster()) {
  return "{entrypoint: python x.py, shutdownAfterJobFinishes: true, " + more +
         "rayClusterSpec: " + cluster + "}";
}

TEST(RayShapes, MakeHeadWorkersAndSubmitter) {
  ExpectPodSets(
      kRayCluster,
      {
          {"a head", Cluster(), "head x1 cpu=2"},
          {"groups default to one", Cluster(Group("small")), "head x1 cpu=2; small x1 cpu=1"},
          {"or to the least that they may have", Cluster(Group("few", "minReplicas: 3, ")),
           "head x1 cpu=2; few x3 cpu=1"},
          {"hosts multiply", Cluster(Group("big", "replicas: 2, numOfHosts: 4, ")),
           "head x1 cpu=2; big x8 cpu=1"},
          {"a group of none",
           Cluster(Group("later", "replicas: 0, minReplicas: 0, maxReplicas: 5, ")),
           "head x1 cpu=2"},
      });
  ExpectPodSets(
      kRayJob,
      {
          {"a default submitter", RaySpec(), "head x1 cpu=2; submitter x1 cpu=500m memory=200Mi"},
          {"its own submitter",
           RaySpec("submitterPodTemplate: " + Pod("3", "s", "restartPolicy: Never, ") + ", "),
           "head x1 cpu=2; submitter x1 cpu=3"},
          {"over HTTP there is none", RaySpec("submissionMode: HTTPMode, "), "head x1 cpu=2"},
      });
}

TEST(RayShapes, RefuseWrongFieldsWithTheirPath) {
  ExpectProblems(
      kRayJob,
      {
          {"no entrypoint", "{shutdownAfterJobFinishes: true, rayClusterSpec: " + Cluster() + "}",
           "spec.entrypoint: is required"},
          {"no cluster", "{entrypoint: x, shutdownAfterJobFinishes: true}",
           "spec.rayClusterSpec: is required"},
          {"a cluster of others", RaySpec("clusterSelector: {a: b}, "),
           "spec.clusterSelector: a job on a cluster that runs already"},
          {"a cluster that stays", "{entrypoint: x, rayClusterSpec: " + Cluster() + "}",
           "spec.shutdownAfterJobFinishes: must be true"},
          {"a mode", RaySpec("submissionMode: Magic, "), "spec.submissionMode: must be one of"},
          {"interactive", RaySpec("submissionMode: InteractiveMode, "),
           "spec.submissionMode: InteractiveMode is not supported"},
          {"a submitter without a pod",
           RaySpec("submissionMode: HTTPMode, submitterPodTemplate: " + Pod("1") + ", "),
           "spec.submitterPodTemplate: must be absent"},
          {"negative back-off", RaySpec("backoffLimit: -1, "),
           "spec.backoffLimit: must be at least 0"},
          {"inside the cluster", RaySpec("", Cluster(Group("g", "replicas: -1, "))),
           "spec.rayClusterSpec.workerGroupSpecs[0].replicas: must be at least 0"},
          {"an unknown field", RaySpec("entryPoint: y, "), "spec.entryPoint: unknown field"},
      });
  ExpectProblems(
      kRayCluster,
      {
          {"no head", "{workerGroupSpecs: []}", "spec.headGroupSpec: is required"},
          {"no head template", "{headGroupSpec: {}}", "spec.headGroupSpec.template: is required"},
          {"autoscaling", Cluster("", "enableInTreeAutoscaling: true, "),
           "spec.enableInTreeAutoscaling: autoscaling"},
          {"one group twice", Cluster(Group("g") + ", " + Group("g")),
           "spec.workerGroupSpecs[1].groupName: must be unique"},
          {"a group called head", Cluster(Group("head")),
           "workerGroupSpecs[0].groupName: must not be head"},
          {"least over most", Cluster(Group("g", "minReplicas: 3, maxReplicas: 2, ")),
           "workerGroupSpecs[0].minReplicas: must be at most maxReplicas"},
          {"more than most", Cluster(Group("g", "replicas: 3, maxReplicas: 2, ")),
           "workerGroupSpecs[0].replicas: must be at most maxReplicas"},
          {"more than most by default", Cluster(Group("g", "maxReplicas: 0, ")),
           "workerGroupSpecs[0].replicas: must be at most maxReplicas"},
          {"fewer than least", Cluster(Group("g", "replicas: 1, minReplicas: 2, ")),
           "workerGroupSpecs[0].replicas: must be at least minReplicas"},
          {"zero hosts", Cluster(Group("g", "numOfHosts: 0, ")),
           "workerGroupSpecs[0].numOfHosts: must be at least 1"},
          {"too many", Cluster(Group("g", "replicas: 2000000000, numOfHosts: 2000000000, ")),
           "workerGroupSpecs[0].replicas: makes more than 100000"},
          {"a suspended group", Cluster(Group("g", "suspend: true, ")),
           "workerGroupSpecs[0].suspend: suspending one"},
      });
  EXPECT_THAT(ProblemsOf(ParseJob(Manifest(kRayJob, RaySpec(), std::string(48, 'a')))),
              HasSubstr("metadata.name: must be at most 47 bytes"));
}

// --- Workload
// -------------------------------------------------------------------------------------
const char kWorkload[] = "apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload";

TEST(WorkloadShape, TakesPodSetsAsTheyAre) {
  ExpectPodSets(kWorkload, {
                               {"two",
                                "{podSets: [{name: driver, count: 1, template: " + Pod("2") +
                                    "}, {name: workers, count: 4, template: " + Pod("1") + "}]}",
                                "driver x1 cpu=2; workers x4 cpu=1"},
                               {"a pod spec where the template belongs",
                                "{podSets: [{name: main, count: 2, template: {containers: [{name: "
                                "c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}]}",
                                "main x2 nvidia.com/gpu=1"},
                           });
  const ParsedJob job =
      Job(Manifest(kWorkload,
                   "{active: false, queueName: q, priorityClassName: urgent, priority: 5, "
                   "maximumExecutionTimeSeconds: 30, podSets: [{name: main, count: 2, template: " +
                       Pod("1") + "}]}"));
  EXPECT_TRUE(job.hold);
  EXPECT_EQ(job.queue, "q");
  EXPECT_EQ(job.priority_class, "urgent");
  EXPECT_EQ(job.time_limit_s, 30);
  EXPECT_FALSE(job.expected_cluster_queue.has_value());
}

TEST(WorkloadShape, RefusesWrongFieldsWithTheirPath) {
  const std::string main = "podSets: [{name: main, count: 1, template: " + Pod("1") + "}]";
  ExpectProblems(
      kWorkload,
      {
          {"no pod sets", "{}", "spec.podSets: is required"},
          {"an empty list", "{podSets: []}", "spec.podSets: must have at least one"},
          {"a name twice",
           "{podSets: [{name: a, count: 1, template: " + Pod("1") +
               "}, {name: a, count: 1, template: " + Pod("1") + "}]}",
           "spec.podSets[1].name: must be unique"},
          {"zero pods", "{podSets: [{name: a, count: 0, template: " + Pod("1") + "}]}",
           "spec.podSets[0].count: must be at least 1"},
          {"a count that overflows",
           "{podSets: [{name: a, count: 99999999999, template: " + Pod("1") + "}]}",
           "spec.podSets[0].count: must be at most 2147483647"},
          {"no count", "{podSets: [{name: a, template: " + Pod("1") + "}]}",
           "spec.podSets[0].count: is required"},
          {"more pods at least than at most",
           "{podSets: [{name: a, count: 2, minCount: 3, template: " + Pod("1") + "}]}",
           "spec.podSets[0].minCount: must be at most count, 2"},
          {"two pod sets that may shrink",
           "{podSets: [{name: a, count: 2, minCount: 1, template: " + Pod("1") +
               "}, {name: b, count: 2, minCount: 1, template: " + Pod("1") + "}]}",
           "spec.podSets: at most one pod set may have minCount"},
          {"two topology modes",
           "{podSets: [{name: a, count: 2, topologyRequest: {required: rack, preferred: rack}, "
           "template: " +
               Pod("1") + "}]}",
           "topologyRequest.preferred: at most one of required, preferred and unconstrained"},
          {"a gate named twice",
           "{preemptionGates: [{name: a}, {name: a}], podSets: [{name: a, count: 2, template: " +
               Pod("1") + "}]}",
           "spec.preemptionGates[1].name: must be unique"},
          {"a wrong pod in the flat form",
           "{podSets: [{name: a, count: 2, template: {containers: [{name: c}]}}]}",
           "spec.podSets[0].template.containers[0].image: is required"},
          {"a foreign priority",
           "{priorityClassName: p, priorityClassSource: scheduling.k8s.io/priorityclass, " + main +
               "}",
           "spec.priorityClassSource: names a PriorityClass of Kubernetes"},
          {"a priority by number", "{priority: 7, " + main + "}",
           "spec.priority: a number without a class"},
          {"an admission without queue", "{admission: {}, " + main + "}",
           "spec.admission.clusterQueue: is required"},
          {"an unknown field", "{podSet: [], " + main + "}", "spec.podSet: unknown field"},
      });
}

// --- all
// ------------------------------------------------------------------------------------------
TEST(EveryShape, SurvivesEveryFieldReplacedByEachType) {
  const std::vector<json::value> bases = {
      Manifest(kJobSet, "{replicatedJobs: [" +
                            Replicated("w", "replicas: 2, ", "parallelism: 1, completions: 1, ") +
                            "], successPolicy: {operator: All}}"),
      Manifest(
          kPyTorch,
          "{runPolicy: {suspend: true}, pytorchReplicaSpecs: {Master: {replicas: 1, template: " +
              Pod("2", "pytorch") + "}}}"),
      Manifest(kLws,
               "{replicas: 2, leaderWorkerTemplate: {size: 2, workerTemplate: " + Pod("1") + "}}"),
      Manifest(kRayJob, RaySpec("", Cluster(Group("g", "replicas: 2, ")))),
      Manifest(kWorkload, "{queueName: q, podSets: [{name: main, count: 1, template: " + Pod("1") +
                              "}], admission: {clusterQueue: c}}"),
  };
  const std::vector<json::value> others = {nullptr,
                                           true,
                                           3,
                                           -1,
                                           1.5,
                                           "text",
                                           "",
                                           json::array{},
                                           json::object{},
                                           json::array{nullptr, 1, "a", json::object{}}};
  // Replaces each value of the tree in turn.
  struct Walk {
    const json::value* base;
    const std::vector<json::value>* values;
    json::value copy;
    void Go(json::value* at) {
      const json::value kept = *at;
      for (const auto& value : *values) {
        *at = value;
        const auto result = ParseJob(copy);
        if (!result.ok()) {
          EXPECT_EQ(result.error().code, Code::kInvalidArgument);
        }
      }
      *at = kept;
      if (auto* object = at->if_object()) {
        for (auto& member : *object) Go(&member.value());
      } else if (auto* array = at->if_array()) {
        for (auto& item : *array) Go(&item);
      }
    }
  };
  for (const auto& base : bases) {
    ASSERT_TRUE(ParseJob(base).ok()) << ParseJob(base).error().detail;
    Walk walk{&base, &others, base};
    walk.Go(&walk.copy);
    EXPECT_EQ(walk.copy, base);
  }
}

}  // namespace
}  // namespace muster::shapes
