// Scheduler and kubelet of a fake member: a pod is bound, runs, and ends as its annotations say.
#include "tests/support/fake_member/controller_tools.h"

namespace muster::fake {
namespace {

std::optional<std::int64_t> Annotated(const json::object& pod, std::string_view name) {
  return DurationMs(Text(pod, {"metadata", "annotations", name}));
}

void SetState(json::object& status, const std::string& type, bool holds, const std::string& reason,
              const std::string& now) {
  SetCondition(status, type, holds, reason, "", now, {{"lastProbeTime", nullptr}});
  for (json::value& one : status["conditions"].as_array()) {
    json::object& condition = one.as_object();
    if (Text(condition, {"message"}).empty()) condition.erase("message");
    if (Text(condition, {"reason"}).empty()) condition.erase("reason");
  }
}

bool Fits(const json::object* selector, const Cluster::Node& node) {
  if (!node.open) return false;
  if (selector == nullptr) return true;
  for (const auto& [name, value] : *selector) {
    const json::value* has = node.labels.if_contains(name);
    if (has == nullptr || *has != value) return false;
  }
  return true;
}

// Nodes are taken in turn; how much of them is in use is not looked at. nullptr: none fits.
const Cluster::Node* ChooseNode(Cluster& cluster, const json::object& pod, std::int64_t turn) {
  const json::object* selector = FindObject(pod, {"spec", "nodeSelector"});
  std::vector<const Cluster::Node*> fitting;
  for (const Cluster::Node& node : cluster.Nodes()) {
    if (Fits(selector, node)) fitting.push_back(&node);
  }
  if (fitting.empty()) return nullptr;
  return fitting[static_cast<std::size_t>(turn) % fitting.size()];
}

void Bind(Cluster& cluster, const Key& key, json::object pod, std::int64_t turn) {
  json::object& status = Child(pod, "status");
  const Cluster::Node* node = ChooseNode(cluster, pod, turn);
  status["phase"] = "Pending";
  if (node == nullptr) {
    SetCondition(status, "PodScheduled", false, "Unschedulable",
                 "0/" + std::to_string(cluster.options().nodes) +
                     " nodes are available: node(s) didn't match Pod's node affinity/selector.",
                 cluster.Now(), {{"lastProbeTime", nullptr}});
  } else {
    constexpr std::string_view kZone = "topology.kubernetes.io/zone";
    Child(pod, "spec")["nodeName"] = node->name;
    if (!node->zone.empty())
      Child(Child(pod, "metadata"), "labels")[{kZone.data(), kZone.size()}] = node->zone;
    SetState(status, "PodScheduled", true, "", cluster.Now());
  }
  cluster.Write(key, std::move(pod));
}

json::array ContainerStatuses(const json::object& pod, const json::object& state, bool ready) {
  json::array all;
  for (const json::value& one : Items(pod, {"spec", "containers"})) {
    const json::object& container = one.as_object();
    all.push_back(json::object{{"name", Text(container, {"name"})},
                               {"state", state},
                               {"lastState", json::object()},
                               {"ready", ready},
                               {"restartCount", 0},
                               {"image", Text(container, {"image"})},
                               {"imageID", ""},
                               {"started", ready}});
  }
  return all;
}

void Run(Cluster& cluster, const Key& key, json::object pod) {
  json::object& status = Child(pod, "status");
  const std::string now = cluster.Now();
  status["phase"] = "Running";
  SetState(status, "Initialized", true, "", now);
  SetState(status, "ContainersReady", true, "", now);
  SetState(status, "Ready", true, "", now);
  const std::string ip = "10.99." + std::to_string(cluster.store().version() / 250 % 250) + "." +
                         std::to_string(cluster.store().version() % 250 + 1);
  status["hostIP"] = "127.0.0.1";
  status["podIP"] = ip;
  status["podIPs"] = json::array{json::object{{"ip", ip}}};
  status["startTime"] = now;
  status["containerStatuses"] =
      ContainerStatuses(pod, {{"running", json::object{{"startedAt", now}}}}, true);
  cluster.store().FindMutable(key)->started_ms = cluster.now_ms();
  cluster.Write(key, std::move(pod));
}

void End(Cluster& cluster, const Key& key, json::object pod, bool failed) {
  json::object& status = Child(pod, "status");
  const std::string now = cluster.Now();
  std::int64_t code = 0;
  if (failed) {
    const std::string given = Text(pod, {"metadata", "annotations", "bed.test/exit-code"});
    code = given.empty() ? 1 : std::stoll(given);
  }
  status["phase"] = failed ? "Failed" : "Succeeded";
  const std::string reason = failed ? "PodFailed" : "PodCompleted";
  SetState(status, "ContainersReady", false, reason, now);
  SetState(status, "Ready", false, reason, now);
  const json::object ended{{"exitCode", code},
                           {"reason", failed ? "Error" : "Completed"},
                           {"startedAt", Text(status, {"startTime"})},
                           {"finishedAt", now}};
  status["containerStatuses"] = ContainerStatuses(pod, {{"terminated", ended}}, false);
  cluster.Write(key, std::move(pod));
}

}  // namespace

void ReconcilePod(Cluster& cluster, const Key& key) {
  const Record& record = *cluster.store().Find(key);
  if (record.deleting) {
    if (record.finalizers) return;
    const std::int64_t due = record.deleted_ms + cluster.options().pod_stop_ms;
    if (cluster.now_ms() < due) return cluster.WakeAt(key, due);
    return cluster.store().Erase(key);
  }
  if (record.ended) return;
  const ObjectPtr seen = cluster.store().View(key);
  const json::object& pod = *seen;
  if (Text(pod, {"spec", "nodeName"}).empty()) return Bind(cluster, key, pod, record.version);
  if (Text(pod, {"status", "phase"}) != "Running") {
    const std::int64_t due = record.created_ms + Annotated(pod, "bed.test/start").value_or(0);
    if (cluster.now_ms() < due) return cluster.WakeAt(key, due);
    return Run(cluster, key, pod);
  }
  const std::optional<std::int64_t> fail = Annotated(pod, "bed.test/fail");
  const std::optional<std::int64_t> run = Annotated(pod, "bed.test/run");
  if (!fail && !run) return;
  const std::int64_t due = record.started_ms + (fail ? *fail : *run);
  if (cluster.now_ms() < due) return cluster.WakeAt(key, due);
  End(cluster, key, pod, fail.has_value());
}

}  // namespace muster::fake
