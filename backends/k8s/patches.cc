// The patches of attempts' objects, as JSON Patch (RFC 6902). Each begins with its tests (Begin),
// so that it either applies to the very object that was meant or fails as a whole.
//
// Two things come from the kinds: `KindInfo::suspend_pointer`, the field that suspends, and the
// size of a Job (parallelism and completions), which changes only for elastic jobs.
#include "backends/k8s/patches.h"

#include <utility>

#include "backends/k8s/status/reader.h"
#include "schedd/model/member_labels.h"
#include "schedd/model/member_queues.h"
#include "schedd/text/lenient.h"

namespace muster::k8s {
namespace {

json::object Operation(std::string_view op, std::string_view path, json::value value) {
  return {{"op", op}, {"path", path}, {"value", std::move(value)}};
}

json::object Test(std::string_view path, std::string_view value) {
  return Operation("test", path, json::string(value));
}

// The tests that every patch of a known version starts with.
json::array Begin(Preconditions when) {
  json::array patch = {Test("/metadata/uid", when.uid)};
  if (when.generation > 0) {
    patch.push_back(Operation("test", "/metadata/generation", when.generation));
  } else if (!when.resource_version.empty()) {
    patch.push_back(Test("/metadata/resourceVersion", when.resource_version));
  }
  return patch;
}

// Sets the suspension field as in the released form. The operation is "add", which also works if a
// webhook has dropped the field.
void AddSuspension(const KindInfo& kind, const json::value& rendered, json::array* patch) {
  if (!kind.by_replicas) {
    patch->push_back(Operation("add", kind.suspend_pointer, false));
    return;
  }
  const std::int32_t replicas = Reader(&rendered)["spec"]["replicas"].Count(1);
  patch->push_back(Operation("add", kind.suspend_pointer, replicas));
}

// Sets a Job's parallelism and completions where `live` has others; with `live` null, always.
void AddSize(const KindInfo& kind, const json::value* live, const json::value& rendered,
             json::array* patch) {
  if (kind.kind != "Job") return;
  for (const char* key : {"parallelism", "completions"}) {
    const auto wanted = Reader(&rendered)["spec"][key].Integer();
    if (!wanted) continue;
    if (live != nullptr && Reader(live)["spec"][key].Integer() == wanted) continue;
    patch->push_back(Operation("add", "/spec/" + std::string(key), *wanted));
  }
}

// Calls visit(object) for every object that has a list of containers, at any depth, because each
// kind keeps its pod templates elsewhere.
template <class Value, class F>
void EachPodSpec(Value& value, const F& visit) {
  if (value.is_object()) {
    auto& object = value.get_object();
    if (FindArray(object, "containers") != nullptr) return visit(object);
    for (auto& member : object) EachPodSpec(member.value(), visit);
  } else if (value.is_array()) {
    for (auto& item : value.get_array()) EachPodSpec(item, visit);
  }
}

}  // namespace

// RFC 6901: "~" is written as "~0" and "/" as "~1".
std::string PointerToken(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

// Names the last container found without an image.
Status CheckImages(const json::value& rendered) {
  std::string without;
  EachPodSpec(rendered, [&](const json::object& pod_spec) {
    for (const char* list : {"containers", "initContainers"}) {
      Reader(pod_spec)[list].Each([&](const Reader& container) {
        if (container["image"].View() == kHostImage) without = container["name"].Text(kNameBytes);
      });
    }
  });
  if (without.empty()) return Done{};
  return Error{Code::kFailedPrecondition,
               "container " + without +
                   " has no image, and Kubernetes runs none without: set "
                   "annotation " +
                   std::string(kDefaultImageAnnotation) +
                   " on its LocalQueue or ClusterQueue, or default-image of the daemon"};
}

void DropPriorityClasses(const std::set<std::string, std::less<>>& known, json::object* manifest) {
  for (auto& member : *manifest) {
    EachPodSpec(member.value(), [&](json::object& pod_spec) {
      const std::string_view name = Reader(pod_spec)["priorityClassName"].View();
      if (!name.empty() && !known.contains(name)) pod_spec.erase("priorityClassName");
    });
  }
}

void Decorate(std::int64_t sequence, bool released, json::object* manifest) {
  json::object& metadata = MakeObjectAt(*manifest, "metadata");
  metadata["finalizers"] = json::array{kRecordFinalizer};
  json::object& annotations = MakeObjectAt(metadata, "annotations");
  annotations[kSequenceAnnotation] = std::to_string(sequence);
  // A manifest that was copied from a member may have it.
  annotations.erase(kReleasedAnnotation);
  if (released) annotations[kReleasedAnnotation] = "true";
}

std::string ReleasePatch(const KindInfo& kind, const json::value& rendered, Preconditions when) {
  json::array patch = Begin(when);
  AddSize(kind, nullptr, rendered, &patch);
  AddSuspension(kind, rendered, &patch);
  patch.push_back(
      Operation("add", "/metadata/annotations/" + PointerToken(kReleasedAnnotation), "true"));
  return WriteJson(patch);
}

std::string HandOverPatch(std::string_view local_queue, std::string_view workload,
                          Preconditions when) {
  json::array patch = Begin(when);
  const auto label = [&](std::string_view key, std::string_view value) {
    patch.push_back(Operation("add", "/metadata/labels/" + PointerToken(key), json::string(value)));
  };
  label(kQueueNameLabel, local_queue);
  label(kPrebuiltWorkloadLabel, workload);
  patch.push_back(
      Operation("add", "/metadata/annotations/" + PointerToken(kReleasedAnnotation), "true"));
  return WriteJson(patch);
}

std::optional<std::string> ResizePatch(const KindInfo& kind, const json::value& live,
                                       const json::value& rendered, Preconditions when) {
  json::array patch = Begin(when);
  const std::size_t tests = patch.size();
  AddSize(kind, &live, rendered, &patch);
  if (patch.size() == tests) return std::nullopt;
  return WriteJson(patch);
}

// Removes by position, because JSON Patch cannot remove a list's element by value; the test makes
// that safe if the list has changed.
std::string AcknowledgePatch(std::string_view uid, std::int32_t position) {
  const std::string place = "/metadata/finalizers/" + std::to_string(position);
  return WriteJson(json::array{Test("/metadata/uid", uid), Test(place, kRecordFinalizer),
                               json::object{{"op", "remove"}, {"path", place}}});
}

// A map that does not exist yet must be added before its first key, hence `labels` and
// `annotations`, which remember that this has been done.
std::optional<std::string> MarksPatch(const json::object& live, const ObjectState& state,
                                      const AttemptLabels& attempt, std::string_view instance) {
  json::array patch = {Test("/metadata/uid", state.uid)};
  const std::size_t tests = patch.size();
  const Reader metadata = Reader(live)["metadata"];
  const auto mark =
      [&](const std::string& map, std::string_view key, const std::string& value, bool* made) {
    if (metadata[map][key].View() == value) return;
    const std::string path = "/metadata/" + map;
    if (metadata[map].Object() == nullptr && !std::exchange(*made, true))
      patch.push_back(Operation("add", path, json::object{}));
    patch.push_back(Operation("add", path + "/" + PointerToken(key), json::string(value)));
  };
  bool labels = false, annotations = false;
  mark("labels", kInstanceLabel, std::string(instance), &labels);
  mark("labels", kJobUidLabel, attempt.job_uid.ToString(), &labels);
  mark("labels", kAttemptLabel, std::to_string(attempt.attempt), &labels);
  if (!state.suspended) mark("annotations", kReleasedAnnotation, "true", &annotations);
  if (state.finalizer < 0 && !state.deleting) {
    const json::array* held = metadata["finalizers"].Array();
    if (held == nullptr || held->empty()) {
      patch.push_back(Operation("add", "/metadata/finalizers", json::array{kRecordFinalizer}));
    } else {
      patch.push_back(Operation("add", "/metadata/finalizers/-", json::string(kRecordFinalizer)));
    }
  }
  if (patch.size() == tests) return std::nullopt;
  return WriteJson(patch);
}

// Foreground: the object stays until its dependents are gone, which is the proof that rule D15
// needs.
std::string DeleteBody(std::string_view uid, std::int64_t grace_period_s) {
  json::object body = {{"apiVersion", "v1"},
                       {"kind", "DeleteOptions"},
                       {"propagationPolicy", "Foreground"},
                       {"preconditions", {{"uid", uid}}}};
  if (grace_period_s >= 0) body["gracePeriodSeconds"] = grace_period_s;
  return WriteJson(body);
}

bool AddOwner(const RemoteObject& owner, std::string_view owner_uid, json::object* dependent) {
  json::object& metadata = MakeObjectAt(*dependent, "metadata");
  json::value& owners = metadata["ownerReferences"];
  if (!owners.is_array()) owners.emplace_array();
  for (const json::value& known : owners.get_array()) {
    if (Reader(&known)["uid"].View() == owner_uid) return false;
  }
  owners.get_array().push_back(json::object{{"apiVersion", owner.api_version},
                                            {"kind", owner.kind},
                                            {"name", owner.name},
                                            {"uid", owner_uid}});
  return true;
}

}  // namespace muster::k8s
