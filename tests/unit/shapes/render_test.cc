// The manifest that is dispatched: suspension, flavors, labels, and no field that only the hub
// understands.
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

JobRecord Record(const ParsedJob& parsed, const std::string& flavor = "") {
  JobRecord job;
  job.id = {17};
  job.uid = {0x0123456789abcdefULL, 0x0fedcba987654321ULL};
  job.name = parsed.name.empty() ? "job-17" : parsed.name;
  job.display_name = parsed.display_name;
  job.ns = "team";
  job.user = "ada";
  job.shape = parsed.shape;
  job.local_queue = "gpu";
  job.cluster_queue = "team-a";
  job.cluster = "east";
  job.attempt = 2;
  job.time_limit_s = parsed.time_limit_s;
  job.batch = parsed.batch;
  auto admission = std::make_shared<Admission>();
  for (const auto& pod_set : parsed.pod_sets) {
    PodSetAssignment assignment{pod_set.name, pod_set.count, {}, {}};
    if (!flavor.empty()) assignment.flavors["cpu"] = flavor;
    admission->pod_sets.push_back(std::move(assignment));
  }
  job.admission = admission;
  return job;
}

ConfigView Config() {
  ConfigView config;
  ResourceFlavor spot;
  spot.name = "spot";
  spot.node_labels = {{"pool", "spot"}, {"zone", "a"}};
  spot.tolerations = {{"spot", "Exists", "", "NoSchedule", std::nullopt}};
  config.flavors["spot"] = spot;
  return config;
}

RenderedObject Rendered_(const json::value& manifest, bool suspended = false,
                         const std::string& flavor = "spot") {
  const ParsedJob parsed = Job(manifest);
  auto rendered = Render(Record(parsed, flavor), parsed.manifest, Config(), {"inst", suspended});
  EXPECT_TRUE(rendered.ok()) << (rendered.ok() ? "" : rendered.error().detail);
  return std::move(rendered->object);
}

const char kPod[] = "{spec: {restartPolicy: Never, containers: [{name: pytorch, image: i}]}}";

struct ShapeCase {
  std::string name, manifest;
  std::vector<std::string> templates;  // dotted paths of every pod template
  std::string suspend, ttl;            // paths
};

std::vector<ShapeCase> Shapes() {
  const std::string pod = kPod;
  const std::string serving = "{spec: {containers: [{name: c, image: i}]}}";
  return {
      {"Job",
       "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {ttlSecondsAfterFinished: 5, "
       "template: " +
           pod + "}}",
       {"spec.template"},
       "spec.suspend",
       "spec.ttlSecondsAfterFinished"},
      {"JobSet",
       "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a}, spec: "
       "{ttlSecondsAfterFinished: 5, replicatedJobs: [{name: x, template: {spec: {template: " +
           pod + "}}}, {name: y, template: {spec: {template: " + pod + "}}}]}}",
       {"spec.replicatedJobs.0.template.spec.template",
        "spec.replicatedJobs.1.template.spec.template"},
       "spec.suspend",
       "spec.ttlSecondsAfterFinished"},
      {"PyTorchJob",
       "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a}, spec: {runPolicy: "
       "{ttlSecondsAfterFinished: 5}, pytorchReplicaSpecs: {Master: {template: " +
           pod + "}, Worker: {template: " + pod + "}}}}",
       {"spec.pytorchReplicaSpecs.Master.template", "spec.pytorchReplicaSpecs.Worker.template"},
       "spec.runPolicy.suspend",
       "spec.runPolicy.ttlSecondsAfterFinished"},
      {"RayJob",
       "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: a}, spec: {entrypoint: e, "
       "shutdownAfterJobFinishes: true, ttlSecondsAfterFinished: 5, rayClusterSpec: "
       "{headGroupSpec: {template: " +
           serving + "}, workerGroupSpecs: [{groupName: g, template: " + serving + "}]}}}",
       {"spec.rayClusterSpec.headGroupSpec.template",
        "spec.rayClusterSpec.workerGroupSpecs.0.template", "spec.submitterPodTemplate"},
       "spec.suspend",
       "spec.ttlSecondsAfterFinished"},
      {"RayCluster",
       "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {headGroupSpec: "
       "{template: " +
           serving + "}}}",
       {"spec.headGroupSpec.template"},
       "spec.suspend",
       "spec.none"},
      {"LeaderWorkerSet",
       "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: a}, "
       "spec: {leaderWorkerTemplate: {size: 2, leaderTemplate: " +
           serving + ", workerTemplate: " + serving + "}}}",
       {"spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"},
       "",
       "spec.none"},
      {"Workload",
       "{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: a}, spec: "
       "{queueName: q, podSets: [{name: main, count: 3, template: {containers: [{name: c, image: "
       "i}]}}]}}",
       {"spec.template"},
       "spec.suspend",
       "spec.queueName"},
      {"Workload of two pod sets",
       "{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: a}, spec: "
       "{queueName: q, podSets: [{name: x, count: 3, template: {containers: [{name: c, image: "
       "i}]}}, {name: y, count: 1, template: {containers: [{name: c, image: i}]}}]}}",
       {"spec.replicatedJobs.0.template.spec.template",
        "spec.replicatedJobs.1.template.spec.template"},
       "spec.suspend",
       "spec.queueName"},
      {"BatchScript",
       R"({apiVersion: muster.io/v1, kind: BatchScript, metadata: {name: a}, spec: {script: "#!/bin/sh\n"}})",
       {"spec.template"},
       "spec.suspend",
       "spec.script"},
  };
}

const json::value* AtPath(const json::value& value, const std::string& path) {
  const json::value* at = &value;
  std::stringstream parts(path);
  for (std::string part; at != nullptr && std::getline(parts, part, '.');)
    at = At(*at, {part.c_str()});
  return at;
}

TEST(Render, EveryShapeGetsLabelsFlavorsAndSuspension) {
  for (const auto& shape : Shapes()) {
    const json::value manifest = Yaml(shape.manifest);
    const RenderedObject object = Rendered_(manifest);
    for (const auto& path : shape.templates) {
      const json::value* pod = AtPath(object.manifest, path);
      ASSERT_NE(pod, nullptr) << shape.name << " " << path;
      EXPECT_EQ(TextAt(*pod, {"spec", "nodeSelector"}), R"({"pool":"spot","zone":"a"})")
          << shape.name << " " << path;
      EXPECT_EQ(TextAt(*pod, {"spec", "tolerations"}),
                R"([{"key":"spot","operator":"Exists","effect":"NoSchedule"}])")
          << shape.name;
      EXPECT_EQ(TextAt(*pod, {"metadata", "labels", "muster.io/job-uid"}),
                "\"01234567-89ab-cdef-0fed-cba987654321\"")
          << shape.name;
      EXPECT_EQ(TextAt(*pod, {"metadata", "labels", "muster.io/attempt"}), "\"2\"") << shape.name;
    }
    EXPECT_EQ(TextAt(object.manifest, {"metadata", "labels", "muster.io/instance"}), "\"inst\"")
        << shape.name;
    EXPECT_EQ(AtPath(object.manifest, shape.ttl), nullptr) << shape.name;
    EXPECT_EQ(object.ns, "team");
    EXPECT_EQ(object.name, shape.name == "BatchScript" ? "a-01234567" : "a");
    if (shape.suspend.empty()) continue;
    EXPECT_EQ(*AtPath(object.manifest, shape.suspend), json::value(false)) << shape.name;
    EXPECT_EQ(*AtPath(Rendered_(manifest, true).manifest, shape.suspend), json::value(true))
        << shape.name;
  }
}

TEST(Render, KeepsWhatTheUserWroteAndAddsNothingElse) {
  const json::value manifest = Yaml(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: a, uid: u, finalizers: [x], labels: "
      "{mine: x}, annotations: {note: y}}, status: {active: 1}, spec: {"
      "managedBy: kueue.x-k8s.io/multikueue, selector: {matchLabels: {controller-uid: z}}, "
      "parallelism: 2, suspend: true, template: {metadata: {labels: {app: t, controller-uid: z}}, "
      "spec: {restartPolicy: Never, nodeSelector: {own: z}, tolerations: [{key: spot, operator: "
      "Exists, effect: NoSchedule}], containers: [{name: c, image: i, new: 1}]}}}}");
  EXPECT_EQ(
      Rendered_(manifest).manifest,
      Yaml(
          R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","annotations":{"note":"y"},"labels":{"mine":"x","muster.io/instance":"inst",)"
          R"("muster.io/job-uid":"01234567-89ab-cdef-0fed-cba987654321","muster.io/attempt":"2"},"namespace":"team"},"spec":{)"
          R"("template":{"metadata":{"labels":{"app":"t","muster.io/instance":"inst","muster.io/job-uid":"01234567-89ab-cdef-0fed-cba987654321","muster.io/attempt":"2","muster.io/pod-set":"main"}},)"
          R"("spec":{"restartPolicy":"Never","nodeSelector":{"own":"z","pool":"spot","zone":"a"},"tolerations":[{"key":"spot","operator":"Exists","effect":"NoSchedule"}],)"
          R"("containers":[{"name":"c","image":"i","new":1}]}},"parallelism":2,"suspend":false}})"));
}

TEST(Render, LeaderWorkerSetsAreHeldBackByHavingNoReplicas) {
  const json::value manifest = Yaml(Shapes()[5].manifest);
  EXPECT_EQ(TextAt(Rendered_(manifest, true).manifest, {"spec", "replicas"}), "0");
  EXPECT_EQ(TextAt(Rendered_(manifest, false).manifest, {"spec", "replicas"}), "absent");
}

TEST(Render, AWorkloadOfOnePodSetBecomesAnIndexedJobAndOfMoreAJobSetOfThem) {
  const RenderedObject one = Rendered_(Yaml(Shapes()[6].manifest));
  EXPECT_EQ(one.kind, "Job");
  const RenderedObject two = Rendered_(Yaml(Shapes()[7].manifest));
  EXPECT_EQ(two.api_version, "jobset.x-k8s.io/v1alpha2");
  EXPECT_EQ(two.kind, "JobSet");
  for (const json::value* spec :
       {At(one.manifest, {"spec"}),
        At(two.manifest, {"spec", "replicatedJobs", "0", "template", "spec"})}) {
    ASSERT_NE(spec, nullptr);
    EXPECT_EQ(TextAt(*spec, {"parallelism"}), "3");
    EXPECT_EQ(TextAt(*spec, {"completions"}), "3");
    EXPECT_EQ(TextAt(*spec, {"completionMode"}), "\"Indexed\"");
    EXPECT_EQ(TextAt(*spec, {"template", "spec", "restartPolicy"}), "\"Never\"");
  }
}

TEST(Render, EveryTemplateSaysWhichPodSetItMakes) {
  const std::vector<std::vector<std::string>> names = {{"main"},
                                                       {"x", "y"},
                                                       {"master", "worker"},
                                                       {"head", "g", "submitter"},
                                                       {"head"},
                                                       {"leader", "worker"},
                                                       {"main"},
                                                       {"x", "y"},
                                                       {"main"}};
  const std::vector<ShapeCase> shapes = Shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const RenderedObject object = Rendered_(Yaml(shapes[i].manifest));
    for (std::size_t k = 0; k < shapes[i].templates.size(); ++k) {
      const json::value* pod = AtPath(object.manifest, shapes[i].templates[k]);
      ASSERT_NE(pod, nullptr) << shapes[i].name;
      EXPECT_EQ(TextAt(*pod, {"metadata", "labels", "muster.io/pod-set"}),
                "\"" + names[i][k] + "\"")
          << shapes[i].name;
    }
  }
}

TEST(Render, AWorkloadsOnlyPodSetKeepsItsNameAsAJob) {
  const json::value manifest = Yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: a}, spec: {podSets: "
      "[{name: trainers, count: 3, template: {spec: {containers: [{name: c, image: i}]}}}]}}");
  const RenderedObject object = Rendered_(manifest);
  const json::value* pod = At(object.manifest, {"spec", "template"});
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(TextAt(*pod, {"metadata", "labels", "muster.io/pod-set"}), "\"trainers\"");
  EXPECT_EQ(TextAt(*pod, {"spec", "nodeSelector"}), R"({"pool":"spot","zone":"a"})");
}

TEST(Render, TheObjectOnTheMemberIsTheOneThatRemoteObjectOfNames) {
  for (const auto& shape : Shapes()) {
    const ParsedJob parsed = Job(Yaml(shape.manifest));
    JobRecord record = Record(parsed);
    record.pod_sets = std::make_shared<const PodSets>(parsed.pod_sets);
    const auto rendered = Render(record, parsed.manifest, Config(), {"inst", true});
    ASSERT_TRUE(rendered.ok()) << shape.name;
    const RenderedObject& object = rendered->object;
    EXPECT_EQ(RemoteObjectOf(record),
              (RemoteObject{object.api_version, object.kind, object.ns, object.name}))
        << shape.name;
  }
}

TEST(Render, AQueueOfTheMemberItselfDoesNotSeeTheJob) {
  const RenderedObject object = Rendered_(Yaml(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {kueue.x-k8s.io/queue-name: "
      "q, kueue.x-k8s.io/priority-class: p, app: t}, annotations: {kueue.x-k8s.io/queue-name: q}}, "
      "spec: {template: " +
      std::string(kPod) + "}}"));
  EXPECT_EQ(WriteJson(object.manifest).find("kueue.x-k8s.io"), std::string::npos);
  EXPECT_EQ(TextAt(object.manifest, {"metadata", "labels", "app"}), "\"t\"");
}

TEST(Render, PyTorchPodsThatOutliveTheirJobAreStopped) {
  const auto policy = [](const std::string& clean) {
    const RenderedObject object = Rendered_(Yaml(
        "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a}, spec: {runPolicy: {" +
        clean + "}, pytorchReplicaSpecs: {Master: {template: " + kPod + "}}}}"));
    return TextAt(object.manifest, {"spec", "runPolicy", "cleanPodPolicy"});
  };
  EXPECT_EQ(policy(""), "\"Running\"");
  EXPECT_EQ(policy("cleanPodPolicy: None"), "\"Running\"");
  EXPECT_EQ(policy("cleanPodPolicy: All"), "\"All\"");
}

TEST(Render, ABatchScriptRunsInTheImageOfItsQueueThenOfItsClusterQueueThenOfTheDaemon) {
  const ParsedJob parsed = Job(Yaml(Shapes()[8].manifest));
  const JobRecord record = Record(parsed);
  const auto image = [&](const ConfigView& config, std::string_view daemons) {
    const auto rendered = Render(record, parsed.manifest, config, {"inst", false, daemons});
    EXPECT_TRUE(rendered.ok());
    return TextAt(rendered->object.manifest,
                  {"spec", "template", "spec", "containers", "0", "image"});
  };
  ConfigView config = Config();
  EXPECT_EQ(image(config, ""), "\"muster.io/host\"");
  EXPECT_EQ(image(config, "daemon:1"), "\"daemon:1\"");
  config.cluster_queues["team-a"].default_image = "cluster-queue:1";
  EXPECT_EQ(image(config, "daemon:1"), "\"cluster-queue:1\"");
  config.local_queues[{"team", "gpu"}].default_image = "local-queue:1";
  EXPECT_EQ(image(config, "daemon:1"), "\"local-queue:1\"");
}

// The pod spec of a Job whose pods admission has assigned to these domains.
json::value PlacedPodSpec(TopologyAssignment topology, const std::string& own_affinity,
                          const ConfigView& config = Config()) {
  const ParsedJob parsed =
      Job(Yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: "
               "{restartPolicy: Never, " +
               own_affinity + "containers: [{name: c, image: i}]}}}}"));
  JobRecord record = Record(parsed);
  Admission admission = *record.admission;
  admission.pod_sets[0].topology = std::make_shared<const TopologyAssignment>(std::move(topology));
  record.admission = std::make_shared<const Admission>(admission);
  record.cluster = "east";
  const auto rendered = Render(record, parsed.manifest, config, {"inst", false});
  EXPECT_TRUE(rendered.ok());
  return *At(rendered->object.manifest, {"spec", "template", "spec"});
}

TEST(Render, ATopologyOfOneDomainIsANodeSelector) {
  const json::value spec = PlacedPodSpec({{"block", "rack"}, {{{"b1", "r2"}, 3}}}, "");
  EXPECT_EQ(TextAt(spec, {"nodeSelector"}), R"({"block":"b1","rack":"r2"})");
  EXPECT_EQ(TextAt(spec, {"affinity"}), "absent");
}

TEST(Render, OnAMemberThatDeclaresNoMachines_ATopologyPinsNothing) {
  const TopologyAssignment whole{{"kubernetes.io/hostname"}, {{{"east"}, 3}}};
  ConfigView config = Config();
  config.member_clusters["east"].name = "east";
  EXPECT_EQ(TextAt(PlacedPodSpec(whole, "", config), {"nodeSelector"}), "absent");
  config.member_clusters["east"].nodes.emplace_back().name = "n1";
  EXPECT_EQ(TextAt(PlacedPodSpec(whole, "", config), {"nodeSelector"}),
            R"({"kubernetes.io/hostname":"east"})");
}

TEST(Render, ATopologyOfSeveralDomainsIsNodeAffinityToTheseAlone) {
  const json::value spec = PlacedPodSpec(
      {{"block", "rack"}, {{{"b1", "r1"}, 1}, {{"b1", "r2"}, 1}, {{"b2", "r1"}, 1}}}, "");
  EXPECT_EQ(TextAt(spec, {"affinity", "nodeAffinity",
                          "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}),
            R"([{"matchExpressions":[{"key":"block","operator":"In","values":["b1"]},)"
            R"({"key":"rack","operator":"In","values":["r1","r2"]}]},)"
            R"({"matchExpressions":[{"key":"block","operator":"In","values":["b2"]},)"
            R"({"key":"rack","operator":"In","values":["r1"]}]}])");
}

TEST(Render, ATopologyIsAddedToEachTermOfTheUsersOwnAffinity) {
  const json::value spec = PlacedPodSpec(
      {{"kubernetes.io/hostname"}, {{{"n1"}, 1}, {{"n2"}, 1}}},
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "{nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: Exists}]}, {matchExpressions: "
      "[{key: tpu, operator: Exists}]}]}}}, ");
  const std::string hosts =
      R"({"key":"kubernetes.io/hostname","operator":"In","values":["n1","n2"]}]})";
  EXPECT_EQ(TextAt(spec, {"affinity", "nodeAffinity",
                          "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}),
            R"([{"matchExpressions":[{"key":"gpu","operator":"Exists"},)" + hosts +
                R"(,{"matchExpressions":[{"key":"tpu","operator":"Exists"},)" + hosts + "]");
}

TEST(Render, EveryRenderedObjectIsAGoodManifestOfItsKind) {
  for (const auto& shape : Shapes()) {
    const RenderedObject object = Rendered_(Yaml(shape.manifest), false);
    const auto again = ParseJob(object.manifest);
    EXPECT_TRUE(again.ok()) << shape.name << ": " << again.error().detail;
  }
}

// A member's controller that knew this field would fail the job for good before Muster deactivates
// it.
TEST(Render, AMaximumExecutionTimeIsWrittenOnNoMember) {
  for (const auto& shape : Shapes()) {
    json::value manifest = Yaml(shape.manifest);
    json::object& metadata = manifest.as_object()["metadata"].as_object();
    if (!metadata["labels"].is_object()) metadata["labels"].emplace_object();
    metadata["labels"].as_object()["kueue.x-k8s.io/max-exec-time-seconds"] = "30";
    if (shape.name == std::string_view("Workload"))
      manifest.as_object()["spec"].as_object()["maximumExecutionTimeSeconds"] = 30;
    const std::string text = WriteJson(Rendered_(manifest).manifest);
    EXPECT_EQ(text.find("activeDeadlineSeconds\":30"), std::string::npos) << shape.name << text;
  }
}

TEST(Render, TheUsersOwnTimeLimitIsWrittenAsItIs_BesideAMaximumExecutionTime) {
  const std::string metadata =
      "metadata: {name: a, labels: {kueue.x-k8s.io/max-exec-time-seconds: \"60\"}}";
  const std::string pod = kPod, serving = "{spec: {containers: [{name: c, image: i}]}}";
  for (const int minutes : {0, 1, 2}) {
    const std::string seconds = std::to_string(minutes == 0 ? 10 : minutes * 60);
    const std::string deadline = "activeDeadlineSeconds: " + seconds;
    const std::pair<std::string, std::string> kinds[] = {
        {"{apiVersion: batch/v1, kind: Job, " + metadata + ", spec: {" + deadline +
             ", template: " + pod + "}}",
         "spec.activeDeadlineSeconds"},
        {"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, " + metadata +
             ", spec: {replicatedJobs: [{name: x, template: {spec: {" + deadline +
             ", template: " + pod + "}}}]}}",
         "spec.replicatedJobs.0.template.spec.activeDeadlineSeconds"},
        {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, " + metadata + ", spec: {runPolicy: {" +
             deadline + "}, pytorchReplicaSpecs: {Master: {template: " + pod + "}}}}",
         "spec.runPolicy.activeDeadlineSeconds"},
        {"{apiVersion: ray.io/v1, kind: RayJob, " + metadata +
             ", spec: {entrypoint: e, shutdownAfterJobFinishes: true, " + deadline +
             ", rayClusterSpec: {headGroupSpec: {template: " + serving + "}}}}",
         "spec.activeDeadlineSeconds"},
    };
    for (const auto& [manifest, path] : kinds) {
      const RenderedObject object = Rendered_(Yaml(manifest));
      const json::value* written = AtPath(object.manifest, path);
      ASSERT_NE(written, nullptr) << manifest;
      EXPECT_EQ(WriteJson(*written), seconds) << manifest;
    }
    // A script's limit is in minutes, so 0 cannot be written.
    if (minutes == 0) continue;
    const RenderedObject script = Rendered_(
        Yaml("{apiVersion: muster.io/v1, kind: BatchScript, " + metadata +
             R"(, spec: {script: "#!/bin/sh\n", timeLimit: )" + std::to_string(minutes) + "}}"));
    EXPECT_EQ(TextAt(script.manifest, {"spec", "activeDeadlineSeconds"}), seconds);
  }
}

TEST(Render, AFlavorThatIsGoneIsAnErrorAndNotASilentOmission) {
  const ParsedJob parsed = Job(Yaml(Shapes()[0].manifest));
  const auto rendered = Render(Record(parsed, "gone"), parsed.manifest, Config(), {"inst", false});
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.error().code, Code::kFailedPrecondition);
}

TEST(Render, ChecksAddToTheirPodSetAndAContradictionIsRefused) {
  const ParsedJob parsed =
      Job(Yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {metadata: "
               "{labels: {a: user}}, " +
               std::string(kPod + 1) + "}}"));
  JobRecord record = Record(parsed);
  const auto with = [&](LabelMap labels) {
    AdmissionState state;
    AdmissionCheckStatus check;
    check.name = "capacity";
    check.updates = {{parsed.pod_sets[0].name,
                      std::move(labels),
                      {{"note", "booked"}},
                      {{"pool", "booked"}},
                      {{"booked", "Exists", "", "NoSchedule", std::nullopt}}}};
    state.checks = {check};
    record.admission_state = std::make_shared<const AdmissionState>(state);
    return Render(record, parsed.manifest, Config(), {"inst", false});
  };
  const auto added = with({{"b", "check"}});
  ASSERT_TRUE(added.ok());
  const std::string text = WriteJson(added->object.manifest);
  EXPECT_NE(text.find("\"b\":\"check\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"note\":\"booked\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"pool\":\"booked\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"key\":\"booked\""), std::string::npos) << text;
  const auto refused = with({{"a", "check"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().detail,
            "admission check capacity sets labels a to \"check\", which is set otherwise already");
}

TEST(Render, ChecksAddToATemplateThatHasNoMetadata) {
  const ParsedJob parsed =
      Job(Yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: " +
               std::string(kPod) + "}}"));
  JobRecord record = Record(parsed);
  AdmissionState state;
  AdmissionCheckStatus check;
  check.name = "capacity";
  check.updates = {{parsed.pod_sets[0].name, {{"b", "check"}}, {{"note", "booked"}}, {}, {}}};
  state.checks = {check};
  record.admission_state = std::make_shared<const AdmissionState>(state);
  const auto rendered = Render(record, parsed.manifest, Config(), {"inst", false});
  ASSERT_TRUE(rendered.ok());
  const json::value* metadata = At(rendered->object.manifest, {"spec", "template", "metadata"});
  ASSERT_NE(metadata, nullptr);
  EXPECT_EQ(TextAt(*metadata, {"labels", "b"}), "\"check\"");
  EXPECT_EQ(TextAt(*metadata, {"annotations", "note"}), "\"booked\"");
}

TEST(Render, AJobSetsJobsGetTheDefaultsOfItsWebhook) {
  const struct {
    const char* what;
    const char* job;  // fields of the Job's spec
    const char* pod;  // of its pods' spec
    const char *mode, *completions, *restart;
  } cases[] = {
      {"nothing is written", "", "", "\"Indexed\"", "1", "\"OnFailure\""},
      {"null is written", "completionMode: null, ", "restartPolicy: null, ", "\"Indexed\"", "1",
       "\"OnFailure\""},
      {"with completions", "completions: 3, parallelism: 2, ", "", "\"Indexed\"", "3",
       "\"OnFailure\""},
      {"both are written", "completionMode: NonIndexed, ", "restartPolicy: Never, ",
       "\"NonIndexed\"", "absent", "\"Never\""},
  };
  for (const auto& one : cases) {
    const RenderedObject object = Rendered_(
        Yaml("{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a}, spec: "
             "{replicatedJobs: [{name: x, template: {spec: {" +
             std::string(one.job) + "template: {spec: {" + one.pod +
             "containers: [{name: c, image: i}]}}}}}]}}"));
    const json::value* spec = AtPath(object.manifest, "spec.replicatedJobs.0.template.spec");
    ASSERT_NE(spec, nullptr) << one.what;
    EXPECT_EQ(TextAt(*spec, {"completionMode"}), one.mode) << one.what;
    EXPECT_EQ(TextAt(*spec, {"completions"}), one.completions) << one.what;
    EXPECT_EQ(TextAt(*spec, {"template", "spec", "restartPolicy"}), one.restart) << one.what;
  }
}

TEST(Render, RayWorkersGetTheCountThatAdmissionReliedOn) {
  const RenderedObject least =
      Rendered_(Yaml("{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: "
                     "{headGroupSpec: {template: {spec: {containers: [{name: c, image: i}]}}}, "
                     "workerGroupSpecs: [{groupName: g, minReplicas: 3, template: {spec: "
                     "{containers: [{name: c, image: i}]}}}]}}"));
  EXPECT_EQ(TextAt(least.manifest, {"spec", "workerGroupSpecs", "0", "replicas"}), "3");
  const RenderedObject object = Rendered_(Yaml(Shapes()[3].manifest));
  EXPECT_EQ(
      TextAt(object.manifest, {"spec", "rayClusterSpec", "workerGroupSpecs", "0", "replicas"}),
      "1");
  EXPECT_EQ(
      TextAt(object.manifest, {"spec", "submitterPodTemplate", "spec", "containers", "0", "image"}),
      "\"i\"");
}

TEST(ReferencedObjects, FindsEveryMapAndSecretThatMustExist) {
  const json::value manifest = Yaml(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: "
      "{restartPolicy: Never, "
      "volumes: [{name: v, configMap: {name: files}}, {name: o, configMap: {name: perhaps, "
      "optional: true}}, {name: s, secret: {secretName: key}}, "
      "{name: p, projected: {sources: [{secret: {name: token}}, {configMap: {name: files}}]}}], "
      "initContainers: [{name: i, image: i, envFrom: [{configMapRef: {name: settings}}, "
      "{secretRef: {name: no, optional: true}}]}], "
      "containers: [{name: c, image: i, env: [{name: A, valueFrom: {secretKeyRef: {name: password, "
      "key: k}}}, {name: B, valueFrom: {configMapKeyRef: {name: settings, key: k}}}]}]}}}}");
  const ParsedJob parsed = Job(manifest);
  const std::vector<ObjectReference> wanted = {{"ConfigMap", "files"},
                                               {"Secret", "key"},
                                               {"Secret", "token"},
                                               {"ConfigMap", "settings"},
                                               {"Secret", "password"}};
  EXPECT_EQ(ReferencedObjects(Record(parsed), parsed.manifest), wanted);
}

}  // namespace
}  // namespace muster::shapes
