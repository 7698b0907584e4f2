#include "tests/conformance/world.h"

#include <algorithm>
#include <cstdlib>

#include "schedd/base/quantity.h"
#include "schedd/model/requests.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/kinds/workload_status.h"
#include "schedd/shapes/parts/pod_constraints.h"
#include "schedd/shapes/parts/pod_resources.h"
#include "schedd/shapes/parts/pod_template.h"
#include "schedd/shapes/parts/topology_request.h"

namespace muster::conformance {

ResourceList LoadAmounts(const json::value& map) {
  shapes::Problems problems;
  ResourceList list;
  for (const auto& [resource, field] : shapes::Field(map, &problems).Members())
    SetAmount(&list, resource, field.Quantity(resource).value_or(0));
  return list;
}

namespace {

using shapes::Field;
using shapes::Problems;

LabelMap Labels(const json::value& map) {
  LabelMap labels;
  if (const auto* members = map.if_object()) {
    for (const auto& member : *members) {
      if (member.value().is_string()) {
        labels.emplace(std::string(member.key()),
                       std::string(std::string_view(member.value().get_string())));
      }
    }
  }
  return labels;
}

template <class T, class Map>
void LoadAll(const json::array& objects, T (*read)(const Field&), Map* map) {
  for (const auto& object : objects) {
    Problems problems;
    T value = read(Field(object, &problems));
    std::string name = value.name;
    map->insert_or_assign(std::move(name), std::move(value));
  }
}

template <class T, class Map>
void LoadNamespaced(const json::array& objects, T (*read)(const Field&), Map* map) {
  for (const auto& object : objects) {
    Problems problems;
    T value = read(Field(object, &problems));
    std::pair key(value.ns, value.name);
    map->insert_or_assign(std::move(key), std::move(value));
  }
}

ConfigView LoadConfig(const json::value& objects) {
  ConfigView config;
  LoadAll(ListAt(objects, "namespaces"), shapes::ReadNamespace, &config.namespaces);
  LoadAll(ListAt(objects, "resourceFlavors"), shapes::ReadResourceFlavor, &config.flavors);
  LoadAll(ListAt(objects, "clusterQueues"), shapes::ReadClusterQueue, &config.cluster_queues);
  LoadAll(ListAt(objects, "cohorts"), shapes::ReadCohort, &config.cohorts);
  LoadAll(ListAt(objects, "topologies"), shapes::ReadTopology, &config.topologies);
  LoadAll(ListAt(objects, "admissionChecks"), shapes::ReadAdmissionCheck, &config.admission_checks);
  LoadAll(ListAt(objects, "runtimeClasses"), shapes::ReadRuntimeClass, &config.runtime_classes);
  LoadNamespaced(ListAt(objects, "localQueues"), shapes::ReadLocalQueue, &config.local_queues);
  LoadNamespaced(ListAt(objects, "limitRanges"), shapes::ReadLimitRange, &config.limit_ranges);
  return config;
}

Node LoadNode(const json::value& object) {
  Node node;
  node.name = TextAt(At(object, "metadata"), "name");
  node.labels = Labels(At(At(object, "metadata"), "labels"));
  Problems problems;
  node.taints = shapes::ReadTaints(Field(object, &problems)["spec"]["taints"]);
  node.unschedulable = BoolAt(At(object, "spec"), "unschedulable");
  node.allocatable = LoadAmounts(At(At(object, "status"), "allocatable"));
  node.ready = false;
  for (const auto& condition : ListAt(At(object, "status"), "conditions")) {
    if (TextAt(condition, "type") == "Ready") node.ready = TextAt(condition, "status") == "True";
  }
  return node;
}

Pod LoadPod(const json::value& object) {
  Pod pod;
  pod.ns = TextAt(At(object, "metadata"), "namespace");
  pod.name = TextAt(At(object, "metadata"), "name");
  pod.labels = Labels(At(At(object, "metadata"), "labels"));
  pod.node = TextAt(At(object, "spec"), "nodeName");
  const std::string phase = TextAt(At(object, "status"), "phase");
  pod.ended = phase == "Succeeded" || phase == "Failed";
  Problems problems;
  pod.requests = shapes::EffectiveRequest(shapes::ReadPodAmounts(Field(object, &problems)["spec"]));
  return pod;
}

void LoadNodes(const json::value& objects, World* world) {
  for (const auto& object : ListAt(objects, "nodes")) world->nodes.push_back(LoadNode(object));
  std::sort(world->nodes.begin(), world->nodes.end(),
            [](const Node& a, const Node& b) { return a.name < b.name; });
  for (const auto& object : ListAt(objects, "pods")) world->pods.push_back(LoadPod(object));
  for (const auto& pod : world->pods) {
    if (pod.ended || pod.labels.contains("kueue.x-k8s.io/tas")) continue;
    for (auto& node : world->nodes) {
      if (node.name != pod.node) continue;
      AddAmounts(&node.used_by_others, pod.requests);
      AddAmounts(&node.used_by_others, {{"pods", 1}});
    }
  }
}

// Kueue counts the templates as they are in the object: defaults and limits were put into them when
// it was made.
PodSetsPtr LoadPodSets(const json::value& workload, const AdmissionSettings& settings) {
  auto pod_sets = std::make_shared<PodSets>();
  Problems problems;
  const Field spec = Field(workload, &problems)["spec"];
  for (const auto& item : spec["podSets"].Elements()) {
    const auto count = static_cast<std::int32_t>(item["count"].Int().value_or(0));
    PodSet pod_set =
        shapes::ReadPodSet(item["template"], std::string(item["name"].StringOr("")), count, {});
    if (const auto least = item["minCount"].Int())
      pod_set.min_count = static_cast<std::int32_t>(*least);
    pod_set.topology = shapes::ReadTopologyRequest(item["topologyRequest"], count);
    SetRequests(shapes::EffectiveRequest(shapes::ReadPodAmounts(item["template"]["spec"])),
                settings, &pod_set);
    pod_sets->push_back(std::move(pod_set));
  }
  return pod_sets;
}

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// What spec and annotations add to the state that status shows.
void AddDeclared(const json::value& workload, AdmissionState* state) {
  const json::value& metadata = At(workload, "metadata");
  const json::value& annotations = At(metadata, "annotations");
  state->active = BoolAt(At(workload, "spec"), "active", true);
  state->admission_gated_by = TextAt(annotations, "kueue.x-k8s.io/admission-gated-by");
  state->replaces_slice = TextAt(annotations, "kueue.x-k8s.io/workload-slice-replacement-for");
  const std::string allowed =
      TextAt(annotations, "kueue.x-k8s.io/workload-allowed-resource-flavors");
  if (!allowed.empty()) state->allowed_flavors = SplitList(allowed);
  const json::array& owners = ListAt(metadata, "ownerReferences");
  state->owned_by_pod = owners.size() == 1 && TextAt(owners[0], "kind") == "Pod" &&
                        TextAt(annotations, "kueue.x-k8s.io/is-group-workload") != "true";
  for (const auto& owner : owners) {
    if (TextAt(owner, "kind") == "Workload")
      state->concurrent_parent = TextAt(metadata, "namespace") + "/" + TextAt(owner, "name");
  }
  std::vector<PreemptionGate> gates;
  for (const auto& gate : ListAt(At(workload, "spec"), "preemptionGates")) {
    PreemptionGate declared{TextAt(gate, "name"), false};
    for (const auto& known : state->preemption_gates) {
      if (known.name == declared.name) declared.open = known.open;
    }
    gates.push_back(std::move(declared));
  }
  state->preemption_gates = std::move(gates);
}

JobState StateOf(const JobRecord& job) {
  if (IsTrue(job, "Finished")) return JobState::kSucceeded;
  if (job.admission == nullptr) return JobState::kPending;
  return IsTrue(job, "Admitted") ? JobState::kAdmitted : JobState::kReserved;
}

std::int64_t BoostOf(const json::value& annotations) {
  const std::string text = TextAt(annotations, "kueue.x-k8s.io/priority-boost");
  char* end = nullptr;
  const long long boost = std::strtoll(text.c_str(), &end, 10);
  return text.empty() || *end != '\0' ? 0 : boost;
}

}  // namespace

const JobRecord* World::Find(std::string_view key) const {
  for (const auto& job : jobs) {
    if (KeyOf(job) == key) return &job;
  }
  return nullptr;
}

AdmissionPtr LoadAdmission(const json::value& admission) {
  Problems problems;
  return shapes::ReadAdmission(Field(admission, &problems));
}

std::vector<shapes::PodAmounts> LoadPods(const json::value& workload) {
  std::vector<shapes::PodAmounts> pods;
  Problems problems;
  for (const auto& item : Field(workload, &problems)["spec"]["podSets"].Elements())
    pods.push_back(shapes::ReadPodAmounts(item["template"]["spec"]));
  return pods;
}

std::string KeyOf(const JobRecord& job) { return job.ns + "/" + job.name; }

Uid UidOf(const std::string& text) {
  Uid uid;
  if (Uid::Parse(text, &uid)) return uid;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint64_t byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    (i < 8 ? uid.hi : uid.lo) |= byte << (8 * (7 - i % 8));
  }
  return uid;
}

std::string TextOf(Uid uid) {
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) {
    const char byte = static_cast<char>((i < 8 ? uid.hi : uid.lo) >> (8 * (7 - i % 8)));
    if (byte == 0) break;
    if (byte < ' ' || byte > '~') return uid.ToString();
    text += byte;
  }
  return text;
}

std::string JobUidOf(const json::value& workload) {
  return TextAt(At(At(workload, "metadata"), "labels"), "kueue.x-k8s.io/job-uid");
}

JobRecord LoadJob(const json::value& workload, const World& world, JobId id) {
  const json::value& metadata = At(workload, "metadata");
  const json::value& spec = At(workload, "spec");
  JobRecord job;
  job.id = id;
  job.accept_seq = id.value;
  job.uid = UidOf(TextAt(metadata, "uid"));
  job.name = job.display_name = TextAt(metadata, "name");
  job.ns = TextAt(metadata, "namespace");
  job.shape = ShapeKind::kWorkload;
  job.local_queue = TextAt(spec, "queueName");
  job.priority = static_cast<std::int32_t>(IntAt(spec, "priority"));
  job.priority_boost = BoostOf(At(metadata, "annotations"));
  job.max_execution_s = IntAt(spec, "maximumExecutionTimeSeconds");
  job.elastic = TextAt(At(metadata, "annotations"), "kueue.x-k8s.io/elastic-job") == "true";
  job.pod_sets = LoadPodSets(workload, world.settings);
  ParseRfc3339(TextAt(metadata, "creationTimestamp"), &job.submit_time);
  Problems problems;
  auto status = shapes::ReadWorkloadStatus(Field(workload, &problems)["status"]);
  AddDeclared(workload, &status.state);
  status.state.resource_problem =
      shapes::ResourceProblem(shapes::SummaryOf(world.config, job.ns), LoadPods(workload));
  if (!status.conditions.empty())
    job.conditions = std::make_shared<const std::vector<Condition>>(std::move(status.conditions));
  if (status.state != AdmissionState{})
    job.admission_state = std::make_shared<const AdmissionState>(std::move(status.state));
  if (IsTrue(job, "QuotaReserved")) job.admission = status.admission;
  const auto queue = world.config.local_queues.find({job.ns, job.local_queue});
  if (job.admission != nullptr) {
    job.cluster_queue = job.admission->cluster_queue;
    job.admit_time = FindCondition(job, "QuotaReserved")->last_transition;
  } else if (queue != world.config.local_queues.end()) {
    job.cluster_queue = queue->second.cluster_queue;
  }
  job.state = StateOf(job);
  return job;
}

World LoadWorld(const Case& test) {
  World world;
  world.now = test.now;
  world.settings = LoadSettings(test);
  const json::value& objects = test.Input("objects");
  world.config = LoadConfig(objects);
  LoadNodes(objects, &world);
  for (const auto& workload : ListAt(objects, "workloads")) {
    world.jobs.push_back(
        LoadJob(workload, world, JobId{static_cast<std::int64_t>(world.jobs.size()) + 1}));
  }
  return world;
}

}  // namespace muster::conformance
