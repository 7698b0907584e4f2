#include "tests/support/fake_member/controller_tools.h"

#include <algorithm>

namespace muster::fake {

bool PodView::ready() const {
  const json::object* status = FindObject(object(), {"status"});
  return status != nullptr && !deleting && ConditionHolds(*status, "Ready");
}

std::vector<PodView> PodsOf(Cluster& cluster, const std::string& uid) {
  std::vector<PodView> pods;
  for (const Key& key : cluster.store().ChildrenOf(uid)) {
    if (cluster.resource(key).kind != "Pod") continue;
    const Record* record = cluster.store().Find(key);
    pods.push_back(
        {key, cluster.store().View(key), record->deleting, record->counted, record->born});
  }
  std::sort(pods.begin(), pods.end(),
            [](const PodView& one, const PodView& other) { return one.born < other.born; });
  return pods;
}

json::object PodFrom(const json::object& pod_template, const json::object& labels,
                     const json::object& annotations) {
  json::object pod;
  json::object& metadata = Child(pod, "metadata");
  if (const json::object* given = FindObject(pod_template, {"metadata", "labels"}))
    metadata["labels"] = *given;
  if (const json::object* given = FindObject(pod_template, {"metadata", "annotations"}))
    metadata["annotations"] = *given;
  for (const auto& [name, value] : labels) Child(metadata, "labels")[name] = value;
  for (const auto& [name, value] : annotations) Child(metadata, "annotations")[name] = value;
  if (const json::object* spec = FindObject(pod_template, {"spec"})) pod["spec"] = *spec;
  return pod;
}

void SetOwner(Cluster& cluster, const Key& owner, json::object& object) {
  const Resource& of = cluster.resource(owner);
  const Record* record = cluster.store().Find(owner);
  Child(object, "metadata")["ownerReferences"] =
      json::array{json::object{{"apiVersion", of.api_version()},
                               {"kind", of.kind},
                               {"name", owner.name},
                               {"uid", record->uid},
                               {"controller", true},
                               {"blockOwnerDeletion", true}}};
}

bool CreatePod(Cluster& cluster, const Key& owner, json::object pod) {
  const int pods = cluster.store().Plural("pods");
  const std::string name = Text(pod, {"metadata", "name"});
  if (!name.empty() && cluster.store().Find({pods, owner.ns, name}) != nullptr) return true;
  if (!cluster.PodQuotaLeft(owner.ns)) {
    cluster.Tell(owner, "Warning", "FailedCreate",
                 "Error creating: pods is forbidden: exceeded quota: fake, requested: pods=1");
    return false;
  }
  SetOwner(cluster, owner, pod);
  const Answer answer = cluster.Create(pods, owner.ns, std::move(pod), Writer::kSystem);
  if (!answer.ok()) {
    const json::object status = OwnObject(answer.body);
    cluster.Tell(owner, "Warning", "FailedCreate", "Error creating: " + Text(status, {"message"}));
    return false;
  }
  if (cluster.options().events) {
    const json::object made = OwnObject(answer.body);
    cluster.Tell(owner, "Normal", "SuccessfulCreate",
                 "Created pod: " + Text(made, {"metadata", "name"}));
  }
  return true;
}

void SetCondition(json::object& status, const std::string& type, bool holds,
                  const std::string& reason, const std::string& message, const std::string& now,
                  const json::object& extra) {
  json::value& list = status["conditions"];
  if (!list.is_array()) list.emplace_array();
  json::object made{{"type", type}, {"status", holds ? "True" : "False"}};
  for (const auto& [name, value] : extra) made[name] = value;
  made["lastTransitionTime"] = now;
  made["reason"] = reason;
  made["message"] = message;
  for (json::value& one : list.get_array()) {
    json::object& condition = one.as_object();
    if (Text(condition, {"type"}) != type) continue;
    const bool same = Text(condition, {"status"}) == (holds ? "True" : "False");
    if (same) {
      for (const char* name : {"lastTransitionTime", "lastProbeTime", "lastUpdateTime"}) {
        if (const json::value* time = condition.if_contains(name)) made[name] = *time;
      }
    }
    condition = std::move(made);
    return;
  }
  list.get_array().push_back(std::move(made));
}

void DropCondition(json::object& status, std::string_view type) {
  json::value* list = status.if_contains("conditions");
  if (list == nullptr || !list->is_array()) return;
  json::array& all = list->get_array();
  all.erase(std::remove_if(
                all.begin(), all.end(),
                [&](const json::value& one) { return Text(one.as_object(), {"type"}) == type; }),
            all.end());
}

void SetOrDrop(json::object& object, std::string_view name, std::int64_t number) {
  if (number == 0) {
    object.erase({name.data(), name.size()});
  } else {
    object[{name.data(), name.size()}] = number;
  }
}

}  // namespace muster::fake
