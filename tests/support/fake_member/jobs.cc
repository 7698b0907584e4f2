// The Job controller of a fake member.
#include <algorithm>
#include <set>

#include "tests/support/fake_member/controller_tools.h"

namespace muster::fake {
namespace {

constexpr char kIndex[] = "batch.kubernetes.io/job-completion-index";

// What one reconciliation of a Job reads and writes.
struct JobView {
  Cluster& cluster;
  Key key;
  ObjectPtr seen;
  std::string now;
  const json::object& job = *seen;
  json::object status = {};
  std::vector<PodView> pods = {};

  std::int64_t parallelism() const { return Number(job, {"spec", "parallelism"}, 1); }
  /// -1: spec.completions is not set, and the success of any pod ends the Job.
  std::int64_t completions() const { return Number(job, {"spec", "completions"}, -1); }
  bool indexed() const { return Text(job, {"spec", "completionMode"}) == "Indexed"; }
  void Save() {
    const ObjectPtr before = cluster.store().View(key);
    const json::object* told = FindObject(*before, {"status"});
    if (told != nullptr && Same(*told, status)) return;
    json::object changed = *before;
    changed["status"] = status;
    cluster.Write(key, std::move(changed));
  }
  void Condition(const std::string& type, bool holds, const std::string& reason,
                 const std::string& message) {
    SetCondition(status, type, holds, reason, message, now, {{"lastProbeTime", now}});
  }
};

// "0-2,5" and back.
std::set<std::int64_t> ReadIndexes(const std::string& text) {
  std::set<std::int64_t> all;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const std::size_t dash = part.find('-');
    const std::int64_t first = std::stoll(part);
    const std::int64_t last = dash == std::string::npos ? first : std::stoll(part.substr(dash + 1));
    for (std::int64_t i = first; i <= last; ++i) all.insert(i);
    at = comma + 1;
  }
  return all;
}

std::string WriteIndexes(const std::set<std::int64_t>& all) {
  std::string text;
  for (auto it = all.begin(); it != all.end();) {
    const std::int64_t first = *it;
    std::int64_t last = first;
    while (++it != all.end() && *it == last + 1) last = *it;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last == first + 1) text += "," + std::to_string(last);
    if (last > first + 1) text += "-" + std::to_string(last);
  }
  return text;
}

std::int64_t IndexOf(const PodView& pod) {
  const std::string text = Text(pod.object(), {"metadata", "annotations", kIndex});
  return text.empty() ? -1 : std::stoll(text);
}

void StopActive(JobView& look) {
  for (const PodView& pod : look.pods) {
    if (pod.active()) look.cluster.Remove(pod.key);
  }
}

void CountRunning(JobView& look) {
  std::int64_t active = 0, ready = 0, terminating = 0;
  look.pods = PodsOf(look.cluster, look.cluster.store().Find(look.key)->uid);
  for (const PodView& pod : look.pods) {
    active += pod.active() ? 1 : 0;
    ready += pod.active() && pod.ready() ? 1 : 0;
    terminating += pod.deleting && !pod.ended() ? 1 : 0;
  }
  SetOrDrop(look.status, "active", active);
  look.status["ready"] = ready;
  look.status["terminating"] = terminating;
  if (!look.status.contains("uncountedTerminatedPods"))
    look.status["uncountedTerminatedPods"] = json::object();
}

std::string FailureReason(const JobView& look) {
  if (ConditionHolds(look.status, "FailureTarget"))
    return Text(*Condition(look.status, "FailureTarget"), {"reason"});
  if (Number(look.status, {"failed"}) > Number(look.job, {"spec", "backoffLimit"}, 6))
    return "BackoffLimitExceeded";
  const std::int64_t limit = Number(look.job, {"spec", "activeDeadlineSeconds"}, -1);
  const std::string start = Text(look.status, {"startTime"});
  if (limit < 0 || start.empty()) return "";
  const std::int64_t due = TimeOf(start) + limit * 1000;
  if (look.cluster.now_ms() >= due) return "DeadlineExceeded";
  look.cluster.WakeAt(look.key, due);
  return "";
}

std::string FailureMessage(const std::string& reason) {
  return reason == "DeadlineExceeded" ? "Job was active longer than specified deadline"
                                      : "Job has reached the specified backoff limit";
}

bool Complete(const JobView& look) {
  const std::int64_t succeeded = Number(look.status, {"succeeded"});
  if (look.completions() >= 0) return succeeded >= look.completions();
  const bool runs = std::any_of(look.pods.begin(), look.pods.end(),
                                [](const PodView& pod) { return pod.active(); });
  return succeeded > 0 && !runs;
}

// Pods that have ended are listed as uncounted first and then counted, in two writes of the status.
void CountEnded(JobView& look) {
  json::array succeeded, failed;
  std::set<std::int64_t> indexes = ReadIndexes(Text(look.status, {"completedIndexes"}));
  for (const PodView& pod : look.pods) {
    const bool lost = pod.deleting && !pod.ended();  // a killed pod fails when it is gone
    if (pod.counted || lost || !pod.ended()) continue;
    const std::string uid = Text(pod.object(), {"metadata", "uid"});
    if (pod.phase() == "Succeeded") {
      succeeded.push_back(json::value(uid));
      if (look.indexed()) indexes.insert(IndexOf(pod));
    } else {
      failed.push_back(json::value(uid));
    }
    look.cluster.store().FindMutable(pod.key)->counted = true;
  }
  if (succeeded.empty() && failed.empty()) return;
  const auto good = static_cast<std::int64_t>(succeeded.size());
  const auto bad = static_cast<std::int64_t>(failed.size());
  const json::object before = look.status;
  CountRunning(look);
  json::object uncounted;
  if (good > 0) uncounted["succeeded"] = std::move(succeeded);
  if (bad > 0) uncounted["failed"] = std::move(failed);
  look.status["uncountedTerminatedPods"] = std::move(uncounted);
  look.Save();
  look.status["uncountedTerminatedPods"] = json::object();
  const std::int64_t all_good = look.indexed() ? static_cast<std::int64_t>(indexes.size())
                                               : Number(before, {"succeeded"}) + good;
  SetOrDrop(look.status, "succeeded", all_good);
  SetOrDrop(look.status, "failed", Number(before, {"failed"}) + bad);
  if (look.indexed() && !indexes.empty()) look.status["completedIndexes"] = WriteIndexes(indexes);
}

bool Suspend(JobView& look) {
  if (!Flag(look.job, {"spec", "suspend"})) {
    if (ConditionHolds(look.status, "Suspended")) {
      look.Condition("Suspended", false, "JobResumed", "Job resumed");
      look.status["startTime"] = look.now;
      look.cluster.Tell(look.key, "Normal", "Resumed", "Job resumed");
    }
    return false;
  }
  StopActive(look);
  CountRunning(look);
  look.status.erase("startTime");
  if (!ConditionHolds(look.status, "Suspended")) {
    look.Condition("Suspended", true, "JobSuspended", "Job suspended");
    look.cluster.Tell(look.key, "Normal", "Suspended", "Job suspended");
  }
  look.Save();
  return true;
}

// True if the Job is over, or ends as soon as its pods are gone.
bool Finish(JobView& look) {
  const std::string failure = FailureReason(look);
  if (!failure.empty()) {
    if (!ConditionHolds(look.status, "FailureTarget")) {
      look.Condition("FailureTarget", true, failure, FailureMessage(failure));
      StopActive(look);
    }
    CountRunning(look);
    look.Save();
    if (Number(look.status, {"terminating"}) > 0 || Number(look.status, {"active"}) > 0)
      return true;
    look.Condition("Failed", true, failure, FailureMessage(failure));
    look.cluster.Tell(look.key, "Warning", failure, FailureMessage(failure));
    look.Save();
    return true;
  }
  if (!Complete(look)) return false;
  const std::string message = "Reached expected number of succeeded pods";
  if (!ConditionHolds(look.status, "SuccessCriteriaMet")) {
    look.Condition("SuccessCriteriaMet", true, "CompletionsReached", message);
    StopActive(look);
  }
  CountRunning(look);
  look.Save();
  if (Number(look.status, {"terminating"}) > 0) return true;
  look.Condition("Complete", true, "CompletionsReached", message);
  look.status["completionTime"] = look.now;
  look.cluster.Tell(look.key, "Normal", "Completed", "Job completed");
  look.Save();
  return true;
}

json::object PodOf(const JobView& look, std::int64_t index) {
  json::object labels, annotations;
  if (index >= 0) {
    labels[kIndex] = std::to_string(index);
    annotations[kIndex] = std::to_string(index);
  }
  json::object pod = PodFrom(*FindObject(look.job, {"spec", "template"}), labels, annotations);
  Child(pod, "metadata")["generateName"] =
      look.key.name + "-" + (index >= 0 ? std::to_string(index) + "-" : "");
  return pod;
}

// Makes the pods that are missing and removes those beyond parallelism, the newest first.
void Scale(JobView& look) {
  std::vector<const PodView*> active;
  for (const PodView& pod : look.pods) {
    if (pod.active()) active.push_back(&pod);
  }
  std::int64_t wanted = look.parallelism();
  const std::int64_t succeeded = Number(look.status, {"succeeded"});
  if (look.completions() >= 0) wanted = std::min(wanted, look.completions() - succeeded);
  if (look.completions() < 0 && succeeded > 0) wanted = static_cast<std::int64_t>(active.size());
  while (static_cast<std::int64_t>(active.size()) > std::max<std::int64_t>(wanted, 0)) {
    look.cluster.Remove(active.back()->key);
    active.pop_back();
  }
  std::set<std::int64_t> taken = ReadIndexes(Text(look.status, {"completedIndexes"}));
  for (const PodView* pod : active) taken.insert(IndexOf(*pod));
  std::int64_t index = 0;
  for (auto missing = wanted - static_cast<std::int64_t>(active.size()); missing > 0; --missing) {
    if (look.indexed()) {
      while (taken.count(index) > 0) ++index;
      taken.insert(index);
    }
    if (!CreatePod(look.cluster, look.key, PodOf(look, look.indexed() ? index : -1))) return;
  }
}

bool Finished(Cluster& cluster, const Key& key, const json::object& job) {
  const json::object* status = FindObject(job, {"status"});
  if (status == nullptr ||
      (!ConditionHolds(*status, "Complete") && !ConditionHolds(*status, "Failed")))
    return false;
  const std::int64_t ttl = Number(job, {"spec", "ttlSecondsAfterFinished"}, -1);
  if (ttl < 0) return true;
  const json::object* end = Condition(*status, "Complete");
  if (end == nullptr) end = Condition(*status, "Failed");
  const std::int64_t due = TimeOf(Text(*end, {"lastTransitionTime"})) + ttl * 1000;
  if (cluster.now_ms() < due) {
    cluster.WakeAt(key, due);
  } else {
    cluster.Remove(key, "Foreground");
  }
  return true;
}

}  // namespace

void ReconcileJob(Cluster& cluster, const Key& key) {
  const ObjectPtr seen = cluster.store().View(key);
  const std::string manager = Text(*seen, {"spec", "managedBy"});
  if (cluster.store().Find(key)->deleting || Finished(cluster, key, *seen)) return;
  if (!manager.empty() && manager != "kubernetes.io/job-controller") return;
  JobView look{cluster, key, seen, cluster.Now()};
  if (const json::object* status = FindObject(look.job, {"status"})) look.status = *status;
  look.pods = PodsOf(cluster, cluster.store().Find(key)->uid);
  CountEnded(look);
  if (Suspend(look)) return;
  if (Text(look.status, {"startTime"}).empty()) {
    look.status["startTime"] = look.now;
    if (const auto limit = Number(look.job, {"spec", "activeDeadlineSeconds"}, -1); limit >= 0)
      cluster.WakeAt(key, TimeOf(look.now) + limit * 1000);
  }
  if (Finish(look)) return;
  Scale(look);
  CountRunning(look);
  look.Save();
}

}  // namespace muster::fake
