// The PyTorchJob controller of a fake member.
#include <algorithm>
#include <cctype>

#include "tests/support/fake_member/controller_tools.h"

namespace muster::fake {
namespace {

const std::string kMark = "training.kubeflow.org/";

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

struct TorchView {
  Cluster& cluster;
  Key key;
  json::object job;
  json::object status;
  std::vector<PodView> pods;
  std::string now;

  void Condition(const std::string& type, bool holds, const std::string& reason,
                 const std::string& message) {
    SetCondition(status, type, holds, reason, message, now, {{"lastUpdateTime", now}});
  }
  void Save() {
    job["status"] = status;
    cluster.Write(key, job);
  }
  std::string Selector(const std::string& type) const {
    return kMark + "job-name=" + key.name + "," + kMark + "operator-name=pytorchjob-controller," +
           kMark + "replica-type=" + Lower(type);
  }
};

json::object PodOf(const TorchView& look, const std::string& type, const json::object& replica,
                   std::int64_t index) {
  json::object labels{{kMark + "job-name", look.key.name},
                      {kMark + "operator-name", "pytorchjob-controller"},
                      {kMark + "replica-type", Lower(type)},
                      {kMark + "replica-index", std::to_string(index)}};
  if (type == "Master") labels[kMark + "job-role"] = "master";
  json::object pod = PodFrom(*FindObject(replica, {"template"}), labels);
  Child(pod, "metadata")["name"] = look.key.name + "-" + Lower(type) + "-" + std::to_string(index);
  const std::string policy = Text(replica, {"restartPolicy"});
  Child(pod, "spec")["restartPolicy"] = policy == "ExitCode" || policy.empty() ? "Never" : policy;
  return pod;
}

bool Ended(const json::object& status) {
  return ConditionHolds(status, "Succeeded") || ConditionHolds(status, "Failed");
}

// After its end the job's pods stay, or go as cleanPodPolicy says; then the job by its TTL.
void AfterEnd(TorchView& look) {
  const std::string policy = Text(look.job, {"spec", "runPolicy", "cleanPodPolicy"});
  for (const PodView& pod : look.pods) {
    if (policy == "All" || (policy == "Running" && pod.active())) look.cluster.Remove(pod.key);
  }
  const std::int64_t ttl = Number(look.job, {"spec", "runPolicy", "ttlSecondsAfterFinished"}, -1);
  if (ttl < 0) return;
  const std::int64_t due = TimeOf(Text(look.status, {"completionTime"})) + ttl * 1000;
  if (look.cluster.now_ms() < due) return look.cluster.WakeAt(look.key, due);
  look.cluster.Remove(look.key);
}

void End(TorchView& look, bool good) {
  look.Condition("Running", false, "PyTorchJobRunning",
                 "PyTorchJob " + look.key.name + " is running.");
  if (good) {
    look.Condition("Succeeded", true, "PyTorchJobSucceeded",
                   "PyTorchJob " + look.key.name + " is successfully completed.");
  } else {
    look.Condition(
        "Failed", true, "PyTorchJobFailed",
        "Job " + look.key.name + " has failed because it has reached the specified backoff limit");
  }
  look.status["completionTime"] = look.now;
}

// Counts the pods of every replica type and makes those that are missing.
void CountAndMake(TorchView& look, bool* running, bool* good, bool* bad) {
  *running = true;
  bool master = false, workers_done = true;
  const json::object* replicas = FindObject(look.job, {"spec", "pytorchReplicaSpecs"});
  if (replicas == nullptr) return;
  json::object counts;
  for (const auto& [type, spec] : *replicas) {
    const json::object& replica = spec.as_object();
    std::int64_t active = 0, succeeded = 0, failed = 0;
    const std::int64_t wanted = Number(replica, {"replicas"}, 1);
    for (std::int64_t i = 0; i < wanted; ++i) {
      const auto pod = std::find_if(look.pods.begin(), look.pods.end(), [&](const PodView& one) {
        return one.Label(kMark + "replica-type") == Lower(std::string(type)) &&
               one.Label(kMark + "replica-index") == std::to_string(i);
      });
      if (pod == look.pods.end()) {
        CreatePod(look.cluster, look.key, PodOf(look, std::string(type), replica, i));
        continue;
      }
      active += pod->phase() == "Running" && !pod->deleting ? 1 : 0;
      succeeded += pod->phase() == "Succeeded" ? 1 : 0;
      failed += pod->phase() == "Failed" ? 1 : 0;
    }
    json::object count;
    SetOrDrop(count, "active", active);
    SetOrDrop(count, "succeeded", succeeded);
    SetOrDrop(count, "failed", failed);
    count["selector"] = look.Selector(std::string(type));
    counts[type] = std::move(count);
    *running = *running && active + succeeded >= wanted;
    *bad = *bad || failed > 0;
    workers_done = workers_done && succeeded >= wanted;
    if (type == "Master") {
      master = true;
      *good = succeeded >= wanted;
    }
  }
  if (!master) *good = workers_done;
  look.status["replicaStatuses"] = std::move(counts);
}

// A failed pod is made again while the job's backoffLimit allows; true if one was.
bool Retry(TorchView& look) {
  const std::int64_t limit = Number(look.job, {"spec", "runPolicy", "backoffLimit"}, -1);
  std::int64_t retried = 0;
  for (const PodView& pod : look.pods) {
    if (pod.phase() != "Failed" || pod.deleting) continue;
    const std::string type = pod.Label(kMark + "replica-type");
    const json::object* all = FindObject(look.job, {"spec", "pytorchReplicaSpecs"});
    for (const auto& [name, spec] : *all) {
      const bool keep = Text(spec.as_object(), {"restartPolicy"}) == "Never" || limit == 0;
      if (Lower(std::string(name)) != type || keep) continue;
      look.cluster.Remove(pod.key);
      ++retried;
    }
  }
  if (retried > 0) {
    look.Condition("Restarting", true, "PyTorchJobRestarting",
                   "PyTorchJob " + look.key.name + " is restarting because replica(s) failed.");
  }
  return retried > 0;
}

}  // namespace

void ReconcilePyTorchJob(Cluster& cluster, const Key& key) {
  TorchView look{cluster, key, cluster.store().Object(key), {}, {}, cluster.Now()};
  const std::string manager = Text(look.job, {"spec", "runPolicy", "managedBy"});
  if (cluster.store().Find(key)->deleting) return;
  if (!manager.empty() && manager != "kubeflow.org/training-operator") return;
  if (const json::object* status = FindObject(look.job, {"status"})) look.status = *status;
  look.pods = PodsOf(cluster, cluster.store().Find(key)->uid);
  if (Ended(look.status)) return AfterEnd(look);
  const std::string name = "PyTorchJob " + key.name;
  if (Condition(look.status, "Created") == nullptr)
    look.Condition("Created", true, "PyTorchJobCreated", name + " is created.");
  if (Flag(look.job, {"spec", "runPolicy", "suspend"})) {
    for (const PodView& pod : look.pods) {
      if (!pod.deleting) cluster.Remove(pod.key);
    }
    if (ConditionHolds(look.status, "Running"))
      look.Condition("Running", false, "PyTorchJobSuspended", name + " is suspended.");
    look.Condition("Suspended", true, "PyTorchJobSuspended", name + " is suspended.");
    look.status.erase("startTime");
    look.status.erase("replicaStatuses");
    return look.Save();
  }
  if (ConditionHolds(look.status, "Suspended"))
    look.Condition("Suspended", false, "PyTorchJobResumed", name + " is resumed.");
  if (Text(look.status, {"startTime"}).empty()) look.status["startTime"] = look.now;
  bool running = false, good = false, bad = false;
  CountAndMake(look, &running, &good, &bad);
  if (good) {
    End(look, true);
  } else if (bad && !Retry(look)) {
    End(look, false);
  } else if (running) {
    DropCondition(look.status, "Restarting");
    look.Condition("Running", true, "PyTorchJobRunning", name + " is running.");
  }
  look.Save();
}

}  // namespace muster::fake
