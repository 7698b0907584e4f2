// Render: from the user's manifest to the object that is created on a member; and the objects that
// its pods refer to.
//
// The order matters: the kind's Prepare brings the manifest into the member's form, in which a
// batch script is a Job and a Workload a Job or JobSet. Then the templates of that form are visited
// and get what admission decided: node labels and tolerations of the flavors, the domains of a
// topology, updates by admission checks, Muster's labels. The same manifest, job and configuration
// always give the same object.
#include <algorithm>
#include <set>

#include "schedd/model/member_labels.h"
#include "schedd/model/member_queues.h"
#include "schedd/shapes/parts/changed_spec.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/kinds/topology_affinity.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kKueuePrefix = "kueue.x-k8s.io/";
// A Job's name has 63 characters at most. A batch script's Job keeps the first ones of its name and
// ends in the first ones of its uid.
constexpr std::size_t kUidShown = 8, kScriptNameKept = 63 - 1 - kUidShown;

// The node labels and tolerations that the flavors of one pod set's assignment add to its template.
struct FlavorAdditions {
  LabelMap node_labels;
  std::vector<Toleration> tolerations;
};

Result<FlavorAdditions> AdditionsOf(const JobRecord& job, std::string_view pod_set,
                                    const ConfigView& config) {
  FlavorAdditions additions;
  if (job.admission == nullptr) return additions;
  for (const auto& assignment : job.admission->pod_sets) {
    if (assignment.name != pod_set) continue;
    for (const auto& [resource, name] : assignment.flavors) {
      const auto flavor = config.flavors.find(name);
      if (flavor == config.flavors.end()) {
        return Error{Code::kFailedPrecondition,
                     "ResourceFlavor " + name + " of the admission no longer exists"};
      }
      additions.node_labels.insert(flavor->second.node_labels.begin(),
                                   flavor->second.node_labels.end());
      for (const auto& toleration : flavor->second.tolerations) {
        auto& list = additions.tolerations;
        if (std::find(list.begin(), list.end(), toleration) == list.end())
          list.push_back(toleration);
      }
    }
  }
  return additions;
}

json::object AsJson(const Toleration& toleration) {
  json::object object;
  if (!toleration.key.empty()) object["key"] = toleration.key;
  object["operator"] = toleration.op.empty() ? "Equal" : toleration.op;
  if (!toleration.value.empty()) object["value"] = toleration.value;
  if (!toleration.effect.empty()) object["effect"] = toleration.effect;
  if (toleration.seconds) object["tolerationSeconds"] = *toleration.seconds;
  return object;
}

void AddTolerations(const std::vector<Toleration>& tolerations, json::object& pod_spec) {
  if (tolerations.empty()) return;
  auto& list = pod_spec["tolerations"];
  if (!list.is_array()) list.emplace_array();
  for (const auto& toleration : tolerations) {
    const json::value added = AsJson(toleration);
    auto& array = list.get_array();
    if (std::find(array.begin(), array.end(), added) == array.end()) array.push_back(added);
  }
}

void AddFlavors(const FlavorAdditions& additions, json::object& pod_spec) {
  if (!additions.node_labels.empty()) {
    auto& selector = MakeObjectAt(pod_spec, "nodeSelector");
    for (const auto& [key, value] : additions.node_labels) selector[key] = value;
  }
  AddTolerations(additions.tolerations, pod_spec);
}

// Adds entries to a map of the template. An entry that is there with another value is an error.
Status Extend(json::object& parent, std::string_view key, const LabelMap& added,
              const std::string& check) {
  if (added.empty()) return Done{};
  json::object& map = MakeObjectAt(parent, key);
  for (const auto& [name, value] : added) {
    const json::value* known = map.if_contains(name);
    if (known != nullptr && *known != json::value(value)) {
      return InvalidArgument("admission check " + check + " sets " + std::string(key) + " " + name +
                             " to \"" + value + "\", which is set otherwise already");
    }
    map[name] = value;
  }
  return Done{};
}

// Adds the podSetUpdates of the admission checks for one pod set (rule A49).
Status AddCheckUpdates(const JobRecord& job, std::string_view pod_set, json::object& pod_template) {
  if (job.admission_state == nullptr) return Done{};
  for (const AdmissionCheckStatus& check : job.admission_state->checks) {
    for (const PodSetUpdate& update : check.updates) {
      if (update.pod_set != pod_set) continue;
      // One after the other, because a new member of the template moves the others.
      json::object& metadata = MakeObjectAt(pod_template, "metadata");
      Status status = Extend(metadata, "labels", update.labels, check.name);
      if (status.ok()) status = Extend(metadata, "annotations", update.annotations, check.name);
      json::object& spec = MakeObjectAt(pod_template, "spec");
      if (status.ok()) status = Extend(spec, "nodeSelector", update.node_selector, check.name);
      if (!status.ok()) return status;
      AddTolerations(update.tolerations, spec);
    }
  }
  return Done{};
}

void AddLabels(const JobRecord& job, std::string_view instance_id, json::object& metadata) {
  auto& labels = MakeObjectAt(metadata, "labels");
  labels[kInstanceLabel] = instance_id;
  labels[kJobUidLabel] = job.uid.ToString();
  labels[kAttemptLabel] = std::to_string(job.attempt);
}

// Adds everything that admission decided for the pods of one pod set.
Status AddDecisions(const JobRecord& job, std::string_view pod_set, const ConfigView& config,
                    json::object& pod_template) {
  const auto additions = AdditionsOf(job, pod_set, config);
  if (!additions.ok()) return additions.error();
  json::object& spec = MakeObjectAt(pod_template, "spec");
  AddFlavors(*additions, spec);
  // To admission, a member that declares no machines is one machine. Its real nodes do not have
  // that machine's labels, so pods are not pinned there.
  const auto member = config.member_clusters.find(job.cluster);
  const bool pins = member == config.member_clusters.end() || !member->second.nodes.empty();
  if (job.admission != nullptr && pins) {
    for (const PodSetAssignment& assignment : job.admission->pod_sets) {
      if (assignment.name == pod_set && assignment.topology != nullptr)
        AddTopology(*assignment.topology, &spec);
    }
  }
  return AddCheckUpdates(job, pod_set, pod_template);
}

// Removes Kueue's labels and annotations: a member with a Kueue of its own would queue the job a
// second time. Where the member's queue is meant to run the job, every key of Kueue is removed
// (`all`), so that the job says no more than the Workload that Muster made for it: its size and its
// longest run were decided here.
void EraseQueueKeys(bool all, json::object& metadata) {
  for (const char* map : {"labels", "annotations"}) {
    json::object* keys = MutableObject(&metadata, map);
    if (keys == nullptr) continue;
    keys->erase(kQueueKey);
    keys->erase(kPriorityKey);
    for (auto key = keys->begin(); all && key != keys->end();) {
      key = key->key().starts_with(kKueuePrefix) ? keys->erase(key) : key + 1;
    }
  }
}

// The metadata of the job's object, without Muster's labels.
void NameOnMember(const JobRecord& job, const std::string& name, json::object& metadata) {
  metadata["name"] = name;
  metadata["namespace"] = job.ns;
  metadata.erase("generateName");
  EraseQueueKeys(MemberQueuesCheck(job) != nullptr, metadata);
}

// What pods of batch scripts get by default: the LocalQueue's text, else the ClusterQueue's; "":
// neither has one.
std::string_view DefaultOf(const JobRecord& job, const ConfigView& config,
                           std::string LocalQueue::*of_local, std::string ClusterQueue::*of_queue) {
  const auto local = config.local_queues.find({job.ns, job.local_queue});
  if (local != config.local_queues.end() && !(local->second.*of_local).empty())
    return local->second.*of_local;
  const auto queue = config.cluster_queues.find(job.cluster_queue);
  return queue == config.cluster_queues.end() ? std::string_view() : queue->second.*of_queue;
}

RenderContext ContextOf(const JobRecord& job, const ConfigView& config,
                        const RenderOptions& options) {
  RenderContext context{job, options.suspended, options.default_image};
  const std::string_view image =
      DefaultOf(job, config, &LocalQueue::default_image, &ClusterQueue::default_image);
  if (!image.empty()) context.image = image;
  context.tools_image =
      DefaultOf(job, config, &LocalQueue::tools_image, &ClusterQueue::tools_image);
  context.shared_directories =
      DefaultOf(job, config, &LocalQueue::shared_directories, &ClusterQueue::shared_directories);
  return context;
}

// Collects references to objects, each once, in the order in which they are met.
class ReferenceList {
 public:
  // Adds the object that `source` names under `key`. Optional references are left out: the pods
  // start without the object.
  void Add(const char* kind, const json::value* source, const char* key) {
    if (FlagAt(source, "optional")) return;
    std::string name = TextAt(source, key);
    if (name.empty()) return;
    ObjectReference reference{kind, std::move(name)};
    if (std::find(list_.begin(), list_.end(), reference) == list_.end())
      list_.push_back(std::move(reference));
  }
  std::vector<ObjectReference> Take() { return std::move(list_); }

 private:
  std::vector<ObjectReference> list_;
};

void OfContainer(const json::value& container, ReferenceList* out) {
  for (const json::value& source : ArrayOrEmpty(container, "envFrom")) {
    out->Add("ConfigMap", FindValue(source, "configMapRef"), "name");
    out->Add("Secret", FindValue(source, "secretRef"), "name");
  }
  for (const json::value& variable : ArrayOrEmpty(container, "env")) {
    out->Add("ConfigMap", FindValue(variable, {"valueFrom", "configMapKeyRef"}), "name");
    out->Add("Secret", FindValue(variable, {"valueFrom", "secretKeyRef"}), "name");
  }
}

void OfVolume(const json::value& volume, ReferenceList* out) {
  out->Add("ConfigMap", FindValue(volume, "configMap"), "name");
  out->Add("Secret", FindValue(volume, "secret"), "secretName");
  for (const json::value& source : ArrayOrEmpty(volume, {"projected", "sources"})) {
    out->Add("ConfigMap", FindValue(source, "configMap"), "name");
    out->Add("Secret", FindValue(source, "secret"), "name");
  }
}

}  // namespace

std::int32_t AdmittedCount(const JobRecord& job, std::string_view pod_set, std::int32_t declared) {
  if (job.admission == nullptr) return declared;
  for (const auto& assignment : job.admission->pod_sets) {
    if (assignment.name == pod_set) return std::min(declared, assignment.count);
  }
  return declared;
}

RemoteObject RemoteObjectOf(const JobRecord& job) {
  ShapeKind shape = job.shape;
  const bool one = job.pod_sets == nullptr ? job.shape == ShapeKind::kBatchScript
                                           : job.pod_sets->size() == 1;
  std::string name = job.name;
  if (job.shape == ShapeKind::kBatchScript) {
    // Muster gave it its name ("job-17"). A Job of a user on the member may have the same name, so
    // the uid is added; but a job of several nodes keeps its name, after which a member cluster
    // names its hosts ("job-17-0").
    shape = one ? ShapeKind::kJob : ShapeKind::kJobSet;
    const bool several = job.batch != nullptr && job.batch->nodes > 1;
    if (one && !several)
      name = name.substr(0, kScriptNameKept) + "-" + job.uid.ToString().substr(0, kUidShown);
  }
  if (job.shape == ShapeKind::kWorkload) shape = one ? ShapeKind::kJob : ShapeKind::kJobSet;
  const ShapeInfo& info = ShapeInfoOf(shape);
  return {std::string(info.api_version), std::string(info.name), job.ns, std::move(name)};
}

Result<RenderedJob> Render(const JobRecord& job, const json::value& manifest,
                           const ConfigView& config, const RenderOptions& options) {
  if (!manifest.is_object())
    return Internal("the stored manifest of job " + std::to_string(job.id.value) + " is no object");
  RenderedJob rendered;
  json::value copy = WithoutServerFields(manifest);
  ShowChangedSpec(BatchStateOf(job).changed_spec, &copy);
  auto& object = copy.get_object();
  std::string name = RemoteObjectOf(job).name;
  NameOnMember(job, name, MakeObjectAt(object, "metadata"));
  const std::string only_pod_set =
      job.shape == ShapeKind::kWorkload ? OnlyPodSetOf(manifest) : std::string();
  OpsOf(job.shape).prepare(object, ContextOf(job, config, options), &rendered.dependents);
  const std::string api_version(std::string_view(object.at("apiVersion").as_string()));
  const std::string kind(std::string_view(object.at("kind").as_string()));
  const ShapeOps* ops = FindShape(api_version, kind);
  MUSTER_CHECK(ops != nullptr);

  Status status = Done{};
  ops->visit_templates(object, [&](std::string_view visited, json::object& pod_template) {
    const std::string_view pod_set = only_pod_set.empty() ? visited : only_pod_set;
    if (status.ok()) status = AddDecisions(job, pod_set, config, pod_template);
    json::object& pod_metadata = MakeObjectAt(pod_template, "metadata");
    AddLabels(job, options.instance_id, pod_metadata);
    MakeObjectAt(pod_metadata, "labels")[kPodSetLabel] = pod_set;
  });
  if (!status.ok()) return status.error();
  AddLabels(job, options.instance_id, MakeObjectAt(object, "metadata"));
  for (auto& dependent : rendered.dependents) {
    AddLabels(job, options.instance_id, MakeObjectAt(dependent.manifest.as_object(), "metadata"));
  }
  rendered.object = {api_version, kind, job.ns, std::move(name), std::move(copy)};
  return rendered;
}

std::vector<ObjectReference> ReferencedObjects(const JobRecord& job, const json::value& manifest) {
  ReferenceList references;
  if (!manifest.is_object()) return {};
  json::value copy = manifest;
  OpsOf(job.shape).visit_templates(copy.get_object(),
                                   [&](std::string_view, json::object& pod_template) {
    const json::value spec = MakeObjectAt(pod_template, "spec");
    for (const json::value& volume : ArrayOrEmpty(spec, "volumes")) OfVolume(volume, &references);
    for (const auto* list : {"initContainers", "containers"}) {
      for (const json::value& container : ArrayOrEmpty(spec, list))
        OfContainer(container, &references);
    }
  });
  return references.Take();
}

}  // namespace muster::shapes
