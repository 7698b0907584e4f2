// The controller of jobset.x-k8s.io/v1alpha2 JobSet: replicated Jobs, their order, and success and
// failure of the whole.
//
// Each child is stepped as a Job (StepJob) in the epoch of the present restart; then the set
// decides. When a child has failed failurePolicy chooses: fail, or restart all (a new epoch,
// counted against maxRestarts unless the action says otherwise). A restart waits until the old pods
// are gone. Without a failure successPolicy decides about the end, and dependsOn and startupPolicy
// about which children may start. `memo` keeps the number of restarts and how many of them count.
#include <algorithm>
#include <map>

#include "schedd/text/lenient.h"

#include "backends/local/controllers/job_run.h"

namespace muster::local {
namespace {

/// One child Job.
struct Child {
  const json::object* replicated = nullptr;
  std::string group;  // name of the replicated job
  std::int32_t replica = 0, global = 0;
  JobProgress progress;
  bool allowed = true;  // dependsOn and the start-up order permit its start
};

// All children in the manifest's order, replicas expanded.
std::vector<Child> Children(const json::object& object) {
  std::vector<Child> all;
  for (const json::value& entry : ArrayOrEmpty(object, {"spec", "replicatedJobs"})) {
    const json::object& replicated = ObjectOrEmpty(entry);
    const std::int64_t replicas = Integer(replicated, "replicas", 1);
    for (std::int32_t i = 0; i < replicas; ++i) {
      all.push_back({&replicated,
                     Text(replicated, "name"),
                     i,
                     static_cast<std::int32_t>(all.size()),
                     {},
                     true});
    }
  }
  return all;
}

class SetStep {
 public:
  explicit SetStep(const ControllerInput& input)
      : input_(input),
        spec_(ObjectOrEmpty(*input.object, "spec")),
        children_(Children(*input.object)) {
    restarts_ = static_cast<std::int32_t>(Integer(*input.memo, "restarts", 0));
    counted_ = Integer(*input.memo, "counted", 0);
  }

  ControllerOutput Run() {
    for (Child& child : children_) StepChild(&child);
    if (FirstFailed({}) != nullptr) {
      OnFailure();
    } else if (Succeeded()) {
      output_.phase = RemotePhase::kSucceeded;
      StopEverything();
    } else if (StaleLive()) {
      output_.phase = RemotePhase::kPending;
      StopEverything();
    } else {
      Go();
    }
    output_.memo["restarts"] = restarts_;
    output_.memo["counted"] = counted_;
    return std::move(output_);
  }

 private:
  // Steps one child; its deadline counts from the creation of its first pod, without the time for
  // which the attempt was suspended (rule B36).
  void StepChild(Child* child) {
    JobRun run;
    run.spec = &ObjectOrEmpty(*child->replicated, {"template", "spec"});
    run.name = input_.name + "-" + child->group + "-" + std::to_string(child->replica);
    run.pod_set = Lower(child->group);
    run.epoch = restarts_;
    for (const PodRecord* pod : PodsOf(*input_.pods, run.name, restarts_)) {
      run.started = Earlier(run.started, pod->created);
    }
    if (run.started.set()) run.started = run.started.Plus(input_.paused_us);
    run.decorate = [this, child, &run](PodWish* wish) { Decorate(*child, run.name, wish); };
    child->progress = StepJob(input_, run);
  }

  // Pod sets have lower-case names.
  static std::string Lower(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return text;
  }

  // Adds the labels, annotations, variables and the subdomain that JobSet's controller sets.
  void Decorate(const Child& child, const std::string& job, PodWish* wish) const {
    const std::string replica = std::to_string(child.replica);
    const std::int64_t replicas = Integer(*child.replicated, "replicas", 1);
    std::map<std::string, std::string> facts = {
        {"jobset.sigs.k8s.io/jobset-name", input_.name},
        {"jobset.sigs.k8s.io/replicatedjob-name", child.group},
        {"jobset.sigs.k8s.io/replicatedjob-replicas", std::to_string(replicas)},
        {"jobset.sigs.k8s.io/job-index", replica},
        {"jobset.sigs.k8s.io/job-global-index", std::to_string(child.global)},
        {"jobset.sigs.k8s.io/job-key", NameSuffix(input_.ns + "/" + job, 0, 0)},
        {"jobset.sigs.k8s.io/restart-attempt", std::to_string(restarts_)}};
    if (Has(spec_, "coordinator")) facts["jobset.sigs.k8s.io/coordinator"] = Coordinator();
    for (const auto& [key, value] : facts) wish->labels[key] = wish->annotations[key] = value;
    wish->subdomain = Subdomain();
    wish->environment.emplace_back("JOBSET_NAME", input_.name);
    wish->environment.emplace_back("JOBSET_RESTART_ATTEMPT", std::to_string(restarts_));
    wish->environment.emplace_back("REPLICATED_JOB_NAME", child.group);
    wish->environment.emplace_back("REPLICATED_JOB_REPLICAS", std::to_string(replicas));
    wish->environment.emplace_back("JOB_INDEX", replica);
    wish->environment.emplace_back("JOB_GLOBAL_INDEX", std::to_string(child.global));
    if (!input_.ports.empty()) AddRendezvous(input_.ports[0], wish);
  }

  std::string Subdomain() const {
    const std::string subdomain = Text(ObjectOrEmpty(spec_, "network"), "subdomain");
    return subdomain.empty() ? input_.name : subdomain;
  }

  // The address of the pod that all pods are told.
  std::string Coordinator() const {
    const json::object& coordinator = ObjectOrEmpty(spec_, "coordinator");
    return input_.name + "-" + Text(coordinator, "replicatedJob") + "-" +
           std::to_string(Integer(coordinator, "jobIndex", 0)) + "-" +
           std::to_string(Integer(coordinator, "podIndex", 0)) + "." + Subdomain();
  }

  // Of the failed children that a rule of failurePolicy is about, the one that failed first; an
  // empty rule is about all.
  const Child* FirstFailed(const json::object& rule) const {
    const Child* first = nullptr;
    for (const Child& child : children_) {
      if (child.progress.end != JobEnd::kFailed ||
          !Lists(ArrayOrEmpty(rule, "targetReplicatedJobs"), child.group) ||
          !Lists(ArrayOrEmpty(rule, "onJobFailureReasons"), child.progress.end_reason)) {
        continue;
      }
      if (first == nullptr || child.progress.failed_at < first->progress.failed_at) first = &child;
    }
    return first;
  }

  // Whether a list of names has the name; an empty list stands for all.
  static bool Lists(const json::array& names, const std::string& name) {
    if (names.empty()) return true;
    return std::any_of(names.begin(), names.end(), [&](const json::value& one) {
      return one.is_string() && std::string_view(one.get_string()) == name;
    });
  }

  // Applies the first rule of failurePolicy that is about any failed child, as JobSet does: the
  // order of the rules decides, not that of the failures.
  void OnFailure() {
    const json::object& policy = ObjectOrEmpty(spec_, "failurePolicy");
    std::string action = Has(spec_, "failurePolicy") ? "RestartJobSet" : "FailJobSet";
    const Child* matched = nullptr;
    for (const json::value& entry : ArrayOrEmpty(policy, "rules")) {
      const json::object& rule = ObjectOrEmpty(entry);
      matched = FirstFailed(rule);
      if (matched == nullptr) continue;
      action = Text(rule, "action");
      break;
    }
    const Child& failed = matched != nullptr ? *matched : *FirstFailed({});
    StopEverything();
    const bool counts = action != "RestartJobSetAndIgnoreMaxRestarts";
    if (action == "FailJobSet" || (counts && counted_ >= Integer(policy, "maxRestarts", 0))) {
      output_.phase = RemotePhase::kFailed;
      output_.reason = ReasonOfJobEnd(failed.progress.end_reason);
      output_.message = "job " + failed.group + "-" + std::to_string(failed.replica) + " failed (" +
                        failed.progress.end_reason + "): " + failed.progress.message;
      if (action != "FailJobSet" && counted_ > 0)
        output_.message += "; the JobSet reached its maxRestarts";
      return;
    }
    ++restarts_;
    counted_ += counts;
    // The next step, at once, runs in the new epoch.
    output_.wake_at = input_.now;
  }

  // successPolicy: all or any of the targeted jobs are complete.
  bool Succeeded() const {
    const json::object& policy = ObjectOrEmpty(spec_, "successPolicy");
    const json::array& targets = ArrayOrEmpty(policy, "targetReplicatedJobs");
    const bool any = Text(policy, "operator") == "Any";
    bool all_done = true, one_done = false;
    for (const Child& child : children_) {
      if (!Lists(targets, child.group)) continue;
      const bool done = child.progress.end == JobEnd::kComplete;
      all_done = all_done && done;
      one_done = one_done || done;
    }
    return any ? one_done : all_done;
  }

  // Whether a pod of an earlier epoch still runs.
  bool StaleLive() const {
    return std::any_of(input_.pods->begin(), input_.pods->end(), [this](const PodRecord& pod) {
      return pod.live() && pod.identity.epoch < restarts_;
    });
  }

  void StopEverything() {
    std::vector<const PodRecord*> all;
    for (const PodRecord& pod : *input_.pods) all.push_back(&pod);
    StopLive(all, &output_.stop);
  }

  // Whether all children of a replicated job are complete or, unless `complete`, ready.
  bool GroupIs(const std::string& group, bool complete) const {
    return std::all_of(children_.begin(), children_.end(), [&](const Child& child) {
      if (child.group != group) return true;
      if (child.progress.end == JobEnd::kComplete) return true;
      return !complete && Started(child) && child.progress.ready();
    });
  }

  static bool Started(const Child& child) {
    return child.progress.start.empty() || child.progress.running > 0;
  }

  // Whether dependsOn and startupPolicy permit the child's start.
  bool MayStart(const Child& child) const {
    for (const json::value& entry : ArrayOrEmpty(*child.replicated, "dependsOn")) {
      const json::object& dependency = ObjectOrEmpty(entry);
      if (!GroupIs(Text(dependency, "name"), Text(dependency, "status") == "Complete"))
        return false;
    }
    if (Text(ObjectOrEmpty(spec_, "startupPolicy"), "startupPolicyOrder") != "InOrder") return true;
    for (const Child& earlier : children_) {
      if (earlier.group == child.group) return true;
      if (!GroupIs(earlier.group, false)) return false;
    }
    return true;
  }

  // Takes over the children's wishes, unless a child may not start yet.
  void Go() {
    bool ready = true;
    for (Child& child : children_) {
      JobProgress& progress = child.progress;
      if (progress.end == JobEnd::kComplete) GiveBack(child);
      const bool started = !progress.start.empty() && progress.running == 0 &&
                           progress.succeeded == 0 && progress.failed == 0;
      ready = ready &&
              (progress.end == JobEnd::kComplete || (progress.start.empty() && progress.ready()));
      if (started && !MayStart(child)) continue;
      for (PodWish& wish : progress.start) output_.start.push_back(std::move(wish));
      for (std::string& id : progress.stop) output_.stop.push_back(std::move(id));
      output_.wake_at = Earlier(output_.wake_at, progress.wake_at);
    }
    output_.phase = ready ? RemotePhase::kRunning : RemotePhase::kPending;
  }

  // Adds the pods of a child that has succeeded to the reclaimable ones (rule A10).
  void GiveBack(const Child& child) {
    const std::string pod_set = Lower(child.group);
    const std::int32_t pods = PodsAtOnce(ObjectOrEmpty(*child.replicated, {"template", "spec"}));
    const auto known =
        std::find_if(output_.reclaimable.begin(), output_.reclaimable.end(),
                     [&](const ReclaimablePods& one) { return one.pod_set == pod_set; });
    if (known == output_.reclaimable.end()) {
      output_.reclaimable.push_back({pod_set, pods});
    } else {
      known->count += pods;
    }
  }

  const ControllerInput& input_;
  const json::object& spec_;
  std::vector<Child> children_;
  std::int32_t restarts_ = 0;
  std::int64_t counted_ = 0;
  ControllerOutput output_;
};

}  // namespace

const Controller kJobSetController = {
    "jobset.x-k8s.io/v1alpha2", "JobSet",
    [](const ControllerInput& input) { return SetStep(input).Run(); },
    [](const json::object&) { return 1; },
    [](const json::object& object) {
  std::vector<const json::object*> templates;
  for (const json::value& entry : ArrayOrEmpty(object, {"spec", "replicatedJobs"})) {
    templates.push_back(&ObjectOrEmpty(entry, {"template", "spec", "template"}));
  }
  return templates;
    }};

}  // namespace muster::local
