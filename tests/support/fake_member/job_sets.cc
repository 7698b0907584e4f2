// The JobSet controller of a fake member.
#include <algorithm>

#include "tests/support/fake_member/controller_tools.h"

namespace muster::fake {
namespace {

const std::string kMark = "jobset.sigs.k8s.io/";

struct ChildJob {
  Key key;
  json::object job;
  bool deleting = false;
};

struct JobSetView {
  Cluster& cluster;
  Key key;
  json::object set;
  json::object status;
  std::vector<ChildJob> jobs;
  std::string now;

  bool suspended() const { return Flag(set, {"spec", "suspend"}); }
  std::int64_t restarts() const { return Number(status, {"restarts"}); }
  const ChildJob* Job(const std::string& name) const {
    for (const ChildJob& job : jobs) {
      if (job.key.name == name) return &job;
    }
    return nullptr;
  }
  void Save() {
    set["status"] = status;
    cluster.Write(key, set);
  }
};

std::int64_t Replicas(const json::object& replicated) {
  return Number(replicated, {"replicas"}, 1);
}

bool Ended(const json::object& job, const char* how) {
  const json::object* status = FindObject(job, {"status"});
  return status != nullptr && ConditionHolds(*status, how);
}

json::object JobOf(const JobSetView& look, const json::object& replicated, std::int64_t index,
                   std::int64_t global_index, std::int64_t global_replicas) {
  const std::string name = Text(replicated, {"name"});
  const std::string uid = Text(look.set, {"metadata", "uid"});
  json::object marks{{kMark + "jobset-name", look.key.name},
                     {kMark + "jobset-uid", uid},
                     {kMark + "replicatedjob-name", name},
                     {kMark + "replicatedjob-replicas", std::to_string(Replicas(replicated))},
                     {kMark + "job-index", std::to_string(index)},
                     {kMark + "job-global-index", std::to_string(global_index)},
                     {kMark + "global-replicas", std::to_string(global_replicas)},
                     {kMark + "restart-attempt", std::to_string(look.restarts())}};
  json::object job;
  if (const json::object* spec = FindObject(replicated, {"template", "spec"})) job["spec"] = *spec;
  json::object& metadata = Child(job, "metadata");
  metadata["name"] = look.key.name + "-" + name + "-" + std::to_string(index);
  for (const char* given : {"labels", "annotations"}) {
    if (const json::object* own = FindObject(replicated, {"template", "metadata", given}))
      metadata[given] = *own;
    json::object& pod = Child(Child(Child(Child(job, "spec"), "template"), "metadata"), given);
    for (const auto& [mark, value] : marks) {
      Child(metadata, given)[mark] = value;
      pod[mark] = value;
    }
  }
  Child(job, "spec")["suspend"] = look.suspended();
  return job;
}

// Makes the Jobs that are missing and lets them follow the set's suspension.
void MakeJobs(JobSetView& look) {
  const int jobs = look.cluster.store().Plural("jobs");
  std::int64_t total = 0, global = 0;
  for (const json::value& one : Items(look.set, {"spec", "replicatedJobs"}))
    total += Replicas(one.as_object());
  for (const json::value& one : Items(look.set, {"spec", "replicatedJobs"})) {
    const json::object& replicated = one.as_object();
    for (std::int64_t i = 0; i < Replicas(replicated); ++i, ++global) {
      json::object wanted = JobOf(look, replicated, i, global, total);
      const ChildJob* job = look.Job(Text(wanted, {"metadata", "name"}));
      if (job == nullptr) {
        SetOwner(look.cluster, look.key, wanted);
        look.cluster.Create(jobs, look.key.ns, std::move(wanted), Writer::kSystem);
        continue;
      }
      if (job->deleting || Flag(job->job, {"spec", "suspend"}) == look.suspended()) continue;
      json::object changed = job->job;
      json::object& spec = Child(changed, "spec");
      spec["suspend"] = look.suspended();
      // Changes that admission made while the set was suspended reach the pods through the Jobs.
      const json::object* given = FindObject(wanted, {"spec", "template", "spec"});
      for (const char* field : {"nodeSelector", "tolerations"}) {
        if (const json::value* value = given->if_contains(field))
          Child(Child(spec, "template"), "spec")[field] = *value;
      }
      json::object& metadata = Child(Child(spec, "template"), "metadata");
      for (const char* field : {"labels", "annotations"}) {
        for (const auto& [name, value] :
             *FindObject(wanted, {"spec", "template", "metadata", field}))
          Child(metadata, field)[name] = value;
      }
      look.cluster.Write(job->key, std::move(changed));
    }
  }
}

void CountJobs(JobSetView& look) {
  json::array all;
  for (const json::value& one : Items(look.set, {"spec", "replicatedJobs"})) {
    const std::string name = Text(one.as_object(), {"name"});
    std::int64_t active = 0, ready = 0, good = 0, bad = 0, suspended = 0;
    for (const ChildJob& child : look.jobs) {
      if (child.deleting ||
          Text(child.job, {"metadata", "labels", kMark + "replicatedjob-name"}) != name)
        continue;
      const bool complete = Ended(child.job, "Complete"), failed = Ended(child.job, "Failed");
      const std::int64_t pods = std::min(Number(child.job, {"spec", "parallelism"}, 1),
                                         Number(child.job, {"spec", "completions"}, 1));
      good += complete ? 1 : 0;
      bad += failed ? 1 : 0;
      if (complete || failed) continue;
      active += Number(child.job, {"status", "active"}) > 0 ? 1 : 0;
      ready +=
          Number(child.job, {"status", "ready"}) + Number(child.job, {"status", "succeeded"}) >=
                  pods
              ? 1
              : 0;
      suspended += Flag(child.job, {"spec", "suspend"}) ? 1 : 0;
    }
    all.push_back(json::object{{"name", name},
                               {"ready", ready},
                               {"succeeded", good},
                               {"failed", bad},
                               {"active", active},
                               {"suspended", suspended}});
  }
  look.status["replicatedJobsStatus"] = std::move(all);
  look.status["restarts"] = look.restarts();
}

void Finish(JobSetView& look, const char* state, const char* type, const std::string& reason,
            const std::string& message) {
  SetCondition(look.status, type, true, reason, message, look.now);
  look.status["terminalState"] = state;
  look.Save();
  look.cluster.Tell(look.key, std::string(type) == "Failed" ? "Warning" : "Normal", reason,
                    message);
  for (const ChildJob& child : look.jobs) {
    if (!child.deleting && !Ended(child.job, "Complete") && !Ended(child.job, "Failed"))
      look.cluster.Remove(child.key, "Foreground");
  }
}

// A failed Job ends the set, or all Jobs are created again. True if either happened.
bool OnFailure(JobSetView& look) {
  const auto failed = std::find_if(look.jobs.begin(), look.jobs.end(), [](const ChildJob& child) {
    return !child.deleting && Ended(child.job, "Failed");
  });
  if (failed == look.jobs.end()) return false;
  const std::string first = " (first failed job: " + failed->key.name + ")";
  const std::int64_t most = Number(look.set, {"spec", "failurePolicy", "maxRestarts"});
  if (FindObject(look.set, {"spec", "failurePolicy"}) == nullptr) {
    Finish(look, "Failed", "Failed", "FailedJobs",
           "jobset failed due to one or more job failures" + first);
    return true;
  }
  if (look.restarts() >= most) {
    Finish(look, "Failed", "Failed", "ReachedMaxRestarts",
           "jobset failed due to reaching max number of restarts" + first);
    return true;
  }
  look.status["restarts"] = look.restarts() + 1;
  look.status["restartsCountTowardsMax"] = look.restarts();
  look.Save();
  for (const ChildJob& child : look.jobs) look.cluster.Remove(child.key, "Foreground");
  return true;
}

bool Managed(const json::object& set) {
  const std::string manager = Text(set, {"spec", "managedBy"});
  return manager.empty() || manager == kMark + "jobset-controller";
}

void TimeToLive(Cluster& cluster, const Key& key, const json::object& set) {
  const std::int64_t ttl = Number(set, {"spec", "ttlSecondsAfterFinished"}, -1);
  if (ttl < 0) return;
  const json::object& status = *FindObject(set, {"status"});
  const json::object* end = Condition(status, "Completed");
  if (end == nullptr) end = Condition(status, "Failed");
  const std::int64_t due = TimeOf(Text(*end, {"lastTransitionTime"})) + ttl * 1000;
  if (cluster.now_ms() < due) return cluster.WakeAt(key, due);
  cluster.Remove(key, "Foreground");
}

}  // namespace

void ReconcileJobSet(Cluster& cluster, const Key& key) {
  JobSetView look{cluster, key, cluster.store().Object(key), {}, {}, cluster.Now()};
  if (cluster.store().Find(key)->deleting || !Managed(look.set)) return;
  if (const json::object* status = FindObject(look.set, {"status"})) look.status = *status;
  if (!Text(look.status, {"terminalState"}).empty()) {
    return TimeToLive(cluster, key, look.set);
  }
  for (const Key& child : cluster.store().ChildrenOf(cluster.store().Find(key)->uid)) {
    if (cluster.resource(child).kind != "Job") continue;
    look.jobs.push_back(
        {child, cluster.store().Object(child), cluster.store().Find(child)->deleting});
  }
  if (look.suspended() && !ConditionHolds(look.status, "Suspended"))
    SetCondition(look.status, "Suspended", true, "SuspendedJobs", "jobset is suspended", look.now);
  if (!look.suspended() && ConditionHolds(look.status, "Suspended"))
    SetCondition(look.status, "Suspended", false, "ResumeJobs", "jobset is resumed", look.now);
  CountJobs(look);
  if (OnFailure(look)) return;
  const std::int64_t wanted = [&] {
    std::int64_t sum = 0;
    for (const json::value& one : Items(look.set, {"spec", "replicatedJobs"}))
      sum += Replicas(one.as_object());
    return sum;
  }();
  const auto complete =
      std::count_if(look.jobs.begin(), look.jobs.end(),
                    [](const ChildJob& child) { return Ended(child.job, "Complete"); });
  if (wanted > 0 && complete >= wanted) {
    return Finish(look, "Completed", "Completed", "AllJobsCompleted",
                  "jobset completed successfully");
  }
  look.Save();
  MakeJobs(look);
}

}  // namespace muster::fake
