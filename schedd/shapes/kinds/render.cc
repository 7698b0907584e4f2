// Render: from the user's manifest to what is created on a member; and the objects its pods refer
// to.
#include <algorithm>
#include <set>

#include "schedd/model/member_labels.h"
#include "schedd/model/member_queues.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/kinds/topology_affinity.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kKueuePrefix = "kueue.x-k8s.io/";
// A Job's name has 63 characters at most.
constexpr std::size_t kUidShown = 8, kScriptNameKept = 63 - 1 - kUidShown;

// What the flavors of one pod set's assignment add to its template.
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
    auto& selector = ObjectAt(pod_spec, "nodeSelector");
    for (const auto& [key, value] : additions.node_labels) selector[key] = value;
  }
  AddTolerations(additions.tolerations, pod_spec);
}

// Adds pairs to a map of the template; one that is there with another value is refused.
Status Extend(json::object& parent, std::string_view key, const LabelMap& added,
              const std::string& check) {
  if (added.empty()) return Done{};
  json::object& map = ObjectAt(parent, key);
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

// What admission checks add to the pods of one pod set (rule A49, podSetUpdates).
Status AddCheckUpdates(const JobRecord& job, std::string_view pod_set, json::object& pod_template) {
  if (job.admission_state == nullptr) return Done{};
  for (const AdmissionCheckStatus& check : job.admission_state->checks) {
    for (const PodSetUpdate& update : check.updates) {
      if (update.pod_set != pod_set) continue;
      json::object& metadata = ObjectAt(pod_template, "metadata");
      json::object& spec = ObjectAt(pod_template, "spec");
      for (const Status& status :
           {Extend(metadata, "labels", update.labels, check.name),
            Extend(metadata, "annotations", update.annotations, check.name),
            Extend(spec, "nodeSelector", update.node_selector, check.name)}) {
        if (!status.ok()) return status;
      }
      AddTolerations(update.tolerations, spec);
    }
  }
  return Done{};
}

void AddLabels(const JobRecord& job, std::string_view instance_id, json::object& metadata) {
  auto& labels = ObjectAt(metadata, "labels");
  labels[kInstanceLabel] = instance_id;
  labels[kJobUidLabel] = job.uid.ToString();
  labels[kAttemptLabel] = std::to_string(job.attempt);
}

// All that admission decided for the pods of one pod set.
Status AddDecisions(const JobRecord& job, std::string_view pod_set, const ConfigView& config,
                    json::object& pod_template) {
  const auto additions = AdditionsOf(job, pod_set, config);
  if (!additions.ok()) return additions.error();
  json::object& spec = ObjectAt(pod_template, "spec");
  AddFlavors(*additions, spec);
  // A member that declares no machines is one to admission: its nodes do not bear that one's
  // labels.
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

// A member that has Kueue itself would queue the job a second time. Where its queue is to run the
// job it must find in it no more than in the Workload that stands for it (`all`): what its size or
// its time may be was decided here.
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

std::string ImageOf(const JobRecord& job, const ConfigView& config, std::string_view otherwise) {
  const auto local = config.local_queues.find({job.ns, job.local_queue});
  if (local != config.local_queues.end() && !local->second.default_image.empty())
    return local->second.default_image;
  const auto queue = config.cluster_queues.find(job.cluster_queue);
  if (queue != config.cluster_queues.end() && !queue->second.default_image.empty())
    return queue->second.default_image;
  return std::string(otherwise);
}

// Collects names once each, in the order met.
class References {
 public:
  // {name|secretName: ..., optional: true}
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

void OfContainer(const json::value& container, References* out) {
  for (const json::value& source : ArrayOrEmpty(container, "envFrom")) {
    out->Add("ConfigMap", FindValue(source, "configMapRef"), "name");
    out->Add("Secret", FindValue(source, "secretRef"), "name");
  }
  for (const json::value& variable : ArrayOrEmpty(container, "env")) {
    out->Add("ConfigMap", FindValue(variable, {"valueFrom", "configMapKeyRef"}), "name");
    out->Add("Secret", FindValue(variable, {"valueFrom", "secretKeyRef"}), "name");
  }
}

void OfVolume(const json::value& volume, References* out) {
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

json::object& ObjectAt(json::object& parent, std::string_view key) {
  auto& value = parent[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

RemoteObject RemoteObjectOf(const JobRecord& job) {
  const ShapeOps* ops = &OpsOf(job.shape);
  const bool one = job.pod_sets != nullptr && job.pod_sets->size() == 1;
  std::string name = job.name;
  if (job.shape == ShapeKind::kBatchScript) {
    // Its name is ours ("job-17") and may be a user's Job's too: on a member they must differ.
    ops = &kJobOps;
    name = name.substr(0, kScriptNameKept) + "-" + job.uid.ToString().substr(0, kUidShown);
  }
  if (job.shape == ShapeKind::kWorkload) ops = one ? &kJobOps : &kJobSetOps;
  return {ops->api_version, ops->name, job.ns, std::move(name)};
}

Result<Rendered> Render(const JobRecord& job, const json::value& manifest, const ConfigView& config,
                        const RenderOptions& options) {
  if (!manifest.is_object())
    return Internal("the stored manifest of job " + std::to_string(job.id.value) + " is no object");
  Rendered rendered;
  json::value copy = WithoutServerFields(manifest);
  auto& object = copy.get_object();
  auto& metadata = ObjectAt(object, "metadata");
  std::string name = RemoteObjectOf(job).name;
  metadata["name"] = name;
  metadata["namespace"] = job.ns;
  metadata.erase("generateName");
  EraseQueueKeys(MemberQueuesCheck(job) != nullptr, metadata);
  const std::string only_pod_set =
      job.shape == ShapeKind::kWorkload ? OnlyPodSetOf(manifest) : std::string();
  const std::string image = ImageOf(job, config, options.default_image);
  OpsOf(job.shape).prepare(object, {job, options.suspended, image}, &rendered.dependents);
  const std::string api_version(std::string_view(object.at("apiVersion").as_string()));
  const std::string kind(std::string_view(object.at("kind").as_string()));
  const ShapeOps* ops = FindShape(api_version, kind);
  MUSTER_CHECK(ops != nullptr);

  Status status = Done{};
  ops->visit_templates(object, [&](std::string_view visited, json::object& pod_template) {
    const std::string_view pod_set = only_pod_set.empty() ? visited : only_pod_set;
    if (status.ok()) status = AddDecisions(job, pod_set, config, pod_template);
    json::object& pod_metadata = ObjectAt(pod_template, "metadata");
    AddLabels(job, options.instance_id, pod_metadata);
    ObjectAt(pod_metadata, "labels")[kPodSetLabel] = pod_set;
  });
  if (!status.ok()) return status.error();
  AddLabels(job, options.instance_id, metadata);
  for (auto& dependent : rendered.dependents) {
    AddLabels(job, options.instance_id, ObjectAt(dependent.manifest.as_object(), "metadata"));
  }
  rendered.object = {api_version, kind, job.ns, std::move(name), std::move(copy)};
  return rendered;
}

std::vector<ObjectReference> ReferencedObjects(const JobRecord& job, const json::value& manifest) {
  References references;
  if (!manifest.is_object()) return {};
  json::value copy = manifest;
  OpsOf(job.shape).visit_templates(
      copy.get_object(), [&](std::string_view, json::object& pod_template) {
        const json::value spec = ObjectAt(pod_template, "spec");
        for (const json::value& volume : ArrayOrEmpty(spec, "volumes"))
          OfVolume(volume, &references);
        for (const auto* list : {"initContainers", "containers"}) {
          for (const json::value& container : ArrayOrEmpty(spec, list))
            OfContainer(container, &references);
        }
      });
  return references.Take();
}

}  // namespace muster::shapes
