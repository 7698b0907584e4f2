// Stand-ins for KubeRay's controllers, as tests/kubebed has them: K8sJobMode alone, and the end of
// the submitter is the end of the Ray job.
#include <algorithm>
#include <map>

#include "tests/support/fake_member/controller_tools.h"

namespace muster::fake {
namespace {

bool ManagedElsewhere(const json::object& object) {
  const std::string manager = Text(object, {"spec", "managedBy"});
  return !manager.empty() && manager != "ray.io/kuberay-operator";
}

json::object RayPod(const Key& key, const std::string& suffix, const std::string& type,
                    const std::string& group, const json::object& pod_template) {
  json::object pod = PodFrom(pod_template, {{"ray.io/cluster", key.name},
                                            {"ray.io/node-type", type},
                                            {"ray.io/group", group},
                                            {"ray.io/is-ray-node", "yes"}});
  Child(pod, "metadata")["name"] = key.name + "-" + suffix;
  return pod;
}

std::map<std::string, json::object> WantedPods(const Key& key, const json::object& cluster) {
  std::map<std::string, json::object> wanted;
  if (Flag(cluster, {"spec", "suspend"})) return wanted;
  const auto add = [&](const std::string& suffix, const std::string& type, const std::string& group,
                       const json::object* pod_template) {
    if (pod_template != nullptr)
      wanted[key.name + "-" + suffix] = RayPod(key, suffix, type, group, *pod_template);
  };
  add("head", "head", "headgroup", FindObject(cluster, {"spec", "headGroupSpec", "template"}));
  for (const json::value& one : Items(cluster, {"spec", "workerGroupSpecs"})) {
    const json::object& group = one.as_object();
    if (Flag(group, {"suspend"})) continue;
    const std::string name = Text(group, {"groupName"});
    const std::int64_t pods =
        Number(group, {"replicas"}) * std::max<std::int64_t>(Number(group, {"numOfHosts"}, 1), 1);
    for (std::int64_t i = 0; i < pods; ++i)
      add(name + "-worker-" + std::to_string(i), "worker", name, FindObject(group, {"template"}));
  }
  return wanted;
}

struct RayCount {
  std::int64_t desired = 0, available = 0, ready = 0;
  bool head_ready = false;
  std::size_t pods = 0;
};

void Judge(json::object& status, const RayCount& count, bool suspend, const std::string& now,
           std::int64_t generation) {
  const auto condition = [&](const char* type, bool holds, const char* reason) {
    SetCondition(status, type, holds, reason, "", now, {{"observedGeneration", generation}});
  };
  const std::string before = Text(status, {"state"});
  std::string state = before;
  if (suspend && count.pods == 0) {
    state = "suspended";
    condition("RayClusterSuspended", true, "RayClusterSuspended");
    condition("RayClusterProvisioned", false, "RayClusterPodsProvisioning");
  } else if (suspend) {
    condition("RayClusterSuspending", true, "RayClusterSuspending");
  } else if (count.head_ready && count.ready == count.desired) {
    state = "ready";
    condition("RayClusterProvisioned", true, "AllPodRunningAndReadyFirstTime");
  } else if (state == "suspended") {
    state = "";
  }
  if (!suspend || count.pods == 0) DropCondition(status, "RayClusterSuspending");
  if (!suspend) DropCondition(status, "RayClusterSuspended");
  condition("HeadPodReady", count.head_ready,
            count.head_ready ? "HeadPodRunningAndReady" : "HeadPodNotFound");
  if (state != before && !state.empty()) Child(status, "stateTransitionTimes")[state] = now;
  if (state.empty()) {
    status.erase("state");
  } else {
    status["state"] = state;
  }
}

}  // namespace

void ReconcileRayCluster(Cluster& cluster, const Key& key) {
  json::object object = cluster.store().Object(key);
  const Record& record = *cluster.store().Find(key);
  if (record.deleting || ManagedElsewhere(object)) return;
  const std::int64_t generation = Number(object, {"metadata", "generation"});
  std::map<std::string, json::object> wanted = WantedPods(key, object);
  std::map<std::string, PodView> have;
  for (PodView& pod : PodsOf(cluster, record.uid)) {
    if ((wanted.count(pod.key.name) == 0 || pod.ended()) && !pod.deleting) cluster.Remove(pod.key);
    const std::string name = pod.key.name;
    have.emplace(name, std::move(pod));
  }
  for (const auto& [name, pod] : wanted) {
    if (have.count(name) == 0) CreatePod(cluster, key, pod);
  }
  RayCount count;
  count.pods = have.size();
  const std::string head_name = key.name + "-head";
  for (const auto& [name, unused] : wanted) {
    const auto pod = have.find(name);
    const bool running = pod != have.end() && pod->second.phase() == "Running";
    const bool ready = running && pod->second.ready();
    if (name == head_name) {
      count.head_ready = ready;
      continue;
    }
    ++count.desired;
    count.available += running ? 1 : 0;
    count.ready += ready ? 1 : 0;
  }
  json::object& status = Child(object, "status");
  SetOrDrop(status, "desiredWorkerReplicas", count.desired);
  SetOrDrop(status, "availableWorkerReplicas", count.available);
  SetOrDrop(status, "readyWorkerReplicas", count.ready);
  json::object head;
  if (const auto pod = have.find(head_name); pod != have.end() && wanted.count(head_name) > 0) {
    head["podName"] = head_name;
    if (const std::string ip = Text(pod->second.object(), {"status", "podIP"}); !ip.empty())
      head["podIP"] = ip;
  }
  status["head"] = std::move(head);
  status["observedGeneration"] = generation;
  Judge(status, count, Flag(object, {"spec", "suspend"}), cluster.Now(), generation);
  cluster.Write(key, std::move(object));
}

namespace {

// What one reconciliation of a RayJob reads and writes.
struct RayView {
  Cluster& cluster;
  Key key;
  json::object job;
  json::object status;

  std::string Status(std::string_view name) const { return Text(status, {name}); }
  Key Owned(const char* plural) const {
    return {cluster.store().Plural(plural), key.ns, Status("rayClusterName")};
  }
  void Save() {
    status["observedGeneration"] = Number(job, {"metadata", "generation"});
    if (!status.contains("rayClusterStatus"))
      status["rayClusterStatus"] = json::object{{"head", json::object()}};
    job["status"] = status;
    cluster.Write(key, job);
  }
  void End(const char* deployment, const char* reason, const std::string& message) {
    status["jobDeploymentStatus"] = deployment;
    if (*reason != '\0') status["reason"] = reason;
    status["message"] = message;
    status["endTime"] = cluster.Now();
  }
};

std::string Refusal(const RayView& look) {
  const std::string mode = Text(look.job, {"spec", "submissionMode"});
  if (!mode.empty() && mode != "K8sJobMode")
    return "this member runs submissionMode K8sJobMode alone";
  if (FindObject(look.job, {"spec", "clusterSelector"}))
    return "this member has no clusterSelector";
  if (FindObject(look.job, {"spec", "rayClusterSpec"}) == nullptr)
    return "one of rayClusterSpec or clusterSelector must be set";
  if (Flag(look.job, {"spec", "suspend"}) && !Flag(look.job, {"spec", "shutdownAfterJobFinishes"}))
    return "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended";
  return "";
}

// Deletes the cluster and the submitter; true if both are gone.
bool Clear(RayView& look) {
  if (look.Status("rayClusterName").empty()) return true;
  bool gone = true;
  for (const char* plural : {"rayclusters", "jobs"}) {
    const Key key = look.Owned(plural);
    const Record* record = look.cluster.store().Find(key);
    if (record == nullptr) continue;
    if (!record->deleting) look.cluster.Remove(key);
    gone = gone && look.cluster.store().Find(key) == nullptr;
  }
  return gone;
}

void Submit(RayView& look) {
  json::object pod;
  if (const json::object* given = FindObject(look.job, {"spec", "submitterPodTemplate"})) {
    pod = *given;
  } else {
    Child(pod, "spec")["containers"] =
        json::array{json::object{{"name", "ray-job-submitter"}, {"image", "ray"}}};
  }
  json::object& spec = Child(pod, "spec");
  const std::string policy = Text(spec, {"restartPolicy"});
  if (policy.empty() || policy == "Always") spec["restartPolicy"] = "Never";
  json::object& annotations = Child(Child(pod, "metadata"), "annotations");
  if (const json::object* own = FindObject(look.job, {"metadata", "annotations"})) {
    for (const auto& [name, value] : *own) {
      if (name.starts_with("bed.test/") && !annotations.contains(name)) annotations[name] = value;
    }
  }
  json::object job{
      {"metadata",
       json::object{{"name", look.Status("rayClusterName")},
                    {"labels", json::object{{"ray.io/originated-from-cr-name", look.key.name}}}}},
      {"spec", json::object{{"backoffLimit",
                             Number(look.job, {"spec", "submitterConfig", "backoffLimit"}, 2)},
                            {"template", std::move(pod)}}}};
  SetOwner(look.cluster, look.key, job);
  look.cluster.Create(look.cluster.store().Plural("jobs"), look.key.ns, std::move(job),
                      Writer::kSystem);
}

void Begin(RayView& look) {
  if (!Clear(look)) return;
  const std::string name = look.key.name + "-" + look.cluster.NewSuffix();
  const std::string id = Text(look.job, {"spec", "jobId"});
  look.status["rayClusterName"] = name;
  look.status["jobId"] = id.empty() ? name : id;
  for (const char* stale : {"jobStatus", "reason", "message"}) look.status.erase(stale);
  look.status["jobDeploymentStatus"] = "Initializing";
  if (look.Status("startTime").empty()) look.status["startTime"] = look.cluster.Now();
}

void Initialize(RayView& look) {
  const Key key = look.Owned("rayclusters");
  if (look.cluster.store().Find(key) == nullptr) {
    json::object made{{"spec", *FindObject(look.job, {"spec", "rayClusterSpec"})}};
    json::object labels;
    if (const json::object* own = FindObject(look.job, {"metadata", "labels"})) labels = *own;
    labels["ray.io/originated-from-cr-name"] = look.key.name;
    labels["ray.io/originated-from-crd"] = "RayJob";
    made["metadata"] = json::object{{"name", key.name}, {"labels", std::move(labels)}};
    SetOwner(look.cluster, look.key, made);
    look.cluster.Create(key.resource, key.ns, std::move(made), Writer::kSystem);
    return;
  }
  const json::object cluster = look.cluster.store().Object(key);
  const json::object* status = FindObject(cluster, {"status"});
  if (status == nullptr) return;
  look.status["rayClusterStatus"] = *status;
  if (Text(*status, {"state"}) != "ready") return;
  Submit(look);
  look.status["jobDeploymentStatus"] = "Running";
  look.status["jobStatus"] = "PENDING";
}

void Follow(RayView& look) {
  const Key key = look.Owned("jobs");
  if (look.cluster.store().Find(key) == nullptr) return;
  const json::object job = look.cluster.store().Object(key);
  const json::object* status = FindObject(job, {"status"});
  if (status == nullptr) return;
  if (Number(*status, {"active"}) > 0) look.status["jobStatus"] = "RUNNING";
  if (ConditionHolds(*status, "Complete")) {
    look.status["jobStatus"] = "SUCCEEDED";
    look.status["succeeded"] = Number(look.status, {"succeeded"}) + 1;
    look.End("Complete", "", "Job finished successfully.");
  } else if (ConditionHolds(*status, "Failed")) {
    look.status["jobStatus"] = "FAILED";
    look.status["failed"] = Number(look.status, {"failed"}) + 1;
    if (Number(look.status, {"failed"}) <= Number(look.job, {"spec", "backoffLimit"})) {
      look.status["jobDeploymentStatus"] = "Retrying";
      return;
    }
    look.End("Failed", "AppFailed",
             "Job failed: " + Text(*Condition(*status, "Failed"), {"message"}));
  }
}

void Suspend(RayView& look) {
  if (look.Status("jobDeploymentStatus") == "Suspended") return;
  if (!Clear(look)) {
    look.status["jobDeploymentStatus"] = "Suspending";
    return;
  }
  const std::int64_t failed = Number(look.status, {"failed"});
  look.status = {{"jobDeploymentStatus", "Suspended"}};
  SetOrDrop(look.status, "failed", failed);
}

// After the RayJob's end its cluster is deleted when the TTL is over, and the RayJob too if its
// spec says so.
void Tidy(RayView& look) {
  if (!Flag(look.job, {"spec", "shutdownAfterJobFinishes"})) return;
  const std::int64_t due =
      TimeOf(look.Status("endTime")) + Number(look.job, {"spec", "ttlSecondsAfterFinished"}) * 1000;
  if (look.cluster.now_ms() < due) return look.cluster.WakeAt(look.key, due);
  const Key key = look.Owned("rayclusters");
  const Record* record = look.cluster.store().Find(key);
  if (record != nullptr && !record->deleting) look.cluster.Remove(key);
}

}  // namespace

void ReconcileRayJob(Cluster& cluster, const Key& key) {
  RayView look{cluster, key, cluster.store().Object(key), {}};
  if (cluster.store().Find(key)->deleting || ManagedElsewhere(look.job)) return;
  if (const json::object* status = FindObject(look.job, {"status"})) look.status = *status;
  const std::string state = look.Status("jobDeploymentStatus");
  if (const std::string refusal = Refusal(look); !refusal.empty()) {
    look.status["jobDeploymentStatus"] = "ValidationFailed";
    look.status["reason"] = "ValidationFailed";
    look.status["message"] = refusal;
    return look.Save();
  }
  if (state == "Complete" || state == "Failed") return Tidy(look);
  const std::int64_t limit = Number(look.job, {"spec", "activeDeadlineSeconds"}, -1);
  const std::string start = look.Status("startTime");
  if (Flag(look.job, {"spec", "suspend"})) {
    Suspend(look);
  } else if (limit >= 0 && !start.empty() && cluster.now_ms() >= TimeOf(start) + limit * 1000) {
    look.End("Failed", "DeadlineExceeded", "The RayJob has passed the activeDeadlineSeconds");
  } else if (state == "Initializing") {
    Initialize(look);
  } else if (state == "Running") {
    Follow(look);
  } else {
    Begin(look);
    if (limit >= 0) cluster.WakeAt(key, cluster.now_ms() + limit * 1000);
  }
  look.Save();
}

}  // namespace muster::fake
