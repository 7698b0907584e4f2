// The controllers of ray.io/v1 RayCluster and RayJob: a head, worker groups, and for a RayJob a
// submitter that runs the entrypoint once all of them run. The cluster of a RayJob ends with its
// entrypoint.
//
// Images are not pulled: a Ray container without a command starts `ray` if the host has it, else a
// stand-in holds its place. The submitter is stepped as a Job, without retries if it runs the
// entrypoint itself; if it fails, or does not start before preRunningDeadlineSeconds, the whole
// RayJob is repeated in a new epoch, at most backoffLimit times (`retries` in the memo). Both
// deadlines count from the start of a try (`began_us`: when that was, less the time for which the
// attempt had been suspended by then).
#include <algorithm>

#include "backends/local/controllers/job_run.h"
#include "backends/local/controllers/slot.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// Indexes into ControllerInput::ports.
enum Port { kGcs = 0, kDashboard = 1, kClient = 2, kPortCount = 3 };

// One Ray cluster in one epoch.
class ClusterStep {
 public:
  ClusterStep(const ControllerInput& input, const json::object& cluster_spec, std::string cluster,
              std::int32_t epoch)
      : input_(input), spec_(cluster_spec), cluster_(std::move(cluster)), epoch_(epoch) {}

  // Wishes for every missing pod; true when all run.
  bool Step(ControllerOutput* output) {
    bool all =
        Fill(ObjectOrEmpty(spec_, {"headGroupSpec", "template"}), "head", "headgroup", 0, output);
    for (const json::value& entry : ArrayOrEmpty(spec_, "workerGroupSpecs")) {
      const json::object& group = ObjectOrEmpty(entry);
      if (FlagAt(group, "suspend")) continue;
      const std::int64_t count = Integer(group, "replicas", 1) * Integer(group, "numOfHosts", 1);
      for (std::int32_t i = 0; i < count; ++i) {
        all =
            Fill(ObjectOrEmpty(group, "template"), Text(group, "groupName"), "worker", i, output) &&
            all;
      }
    }
    return all;
  }

  void AddVariables(PodWish* wish) const {
    const std::string gcs = std::to_string(PortAt(kGcs)),
                      dashboard = std::to_string(PortAt(kDashboard));
    wish->environment.emplace_back("RAY_IP", "127.0.0.1");
    wish->environment.emplace_back("FQ_RAY_IP", "127.0.0.1");
    wish->environment.emplace_back("RAY_PORT", gcs);
    wish->environment.emplace_back("RAY_ADDRESS", "127.0.0.1:" + gcs);
    wish->environment.emplace_back("RAY_DASHBOARD_ADDRESS", "127.0.0.1:" + dashboard);
    wish->environment.emplace_back("RAY_CLUSTER_NAME", cluster_);
  }

 private:
  int PortAt(Port port) const {
    return port < static_cast<int>(input_.ports.size()) ? input_.ports[port] : 0;
  }

  // The command of a head container without one.
  std::vector<std::string> HeadCommand() const {
    return {"ray",
            "start",
            "--head",
            "--block",
            "--port=" + std::to_string(PortAt(kGcs)),
            "--dashboard-host=127.0.0.1",
            "--dashboard-port=" + std::to_string(PortAt(kDashboard)),
            "--ray-client-server-port=" + std::to_string(PortAt(kClient))};
  }

  // Wishes for a pod of one slot if it is missing; true if it runs.
  bool Fill(const json::object& pod_template, const std::string& group,
            const std::string& node_type, std::int32_t index, ControllerOutput* output) {
    const bool head = node_type == "headgroup";
    const std::string owner = cluster_ + "/" + (head ? "head" : group);
    const Slot slot = FindSlot(input_, owner, epoch_, index);
    if (slot.running()) return true;
    if (!MayFill(input_, slot, &output->wake_at)) return false;
    PodWish wish;
    const std::string base = head ? cluster_ + "-head" : cluster_ + "-" + group + "-worker";
    wish.identity = {"",
                     base + "-" + NameSuffix(owner, index, slot.pods + 1000 * epoch_),
                     head ? "head" : group,
                     owner,
                     index,
                     epoch_};
    wish.identity.id = UniqueId(*input_.pods, wish.identity.name);
    wish.pod_template = pod_template;
    wish.subdomain = cluster_ + "-head-svc";
    wish.labels = {{"ray.io/cluster", cluster_},
                   {"ray.io/group", group},
                   {"ray.io/is-ray-node", "yes"},
                   {"ray.io/node-type", head ? "head" : "worker"}};
    AddVariables(&wish);
    wish.environment.emplace_back("RAY_NODE_TYPE_NAME", group);
    wish.default_command =
        head ? HeadCommand()
             : std::vector<std::string>{"ray", "start", "--block",
                                        "--address=127.0.0.1:" + std::to_string(PortAt(kGcs))};
    output->start.push_back(std::move(wish));
    return false;
  }

  const ControllerInput& input_;
  const json::object& spec_;
  std::string cluster_;
  std::int32_t epoch_;
};

ControllerOutput StepRayCluster(const ControllerInput& input) {
  ControllerOutput output;
  ClusterStep cluster(input, ObjectOrEmpty(*input.object, "spec"), input.name, 0);
  output.phase = cluster.Step(&output) ? RemotePhase::kRunning : RemotePhase::kPending;
  return output;
}

// The submitter's JobSpec: one pod that runs the entrypoint.
json::object SubmitterSpec(const json::object& spec) {
  json::object pod_template = ObjectOrEmpty(spec, "submitterPodTemplate");
  json::object pod = ObjectOrEmpty(pod_template, "spec");
  if (ArrayOrEmpty(pod, "containers").empty()) {
    pod["containers"] = json::array{json::object{{"name", "ray-job-submitter"}}};
  }
  std::int64_t retries = Integer(ObjectOrEmpty(spec, "submitterConfig"), "backoffLimit", 2);
  // What is no container is refused when the pod is built.
  json::object* container = pod["containers"].as_array()[0].if_object();
  if (container != nullptr && ArrayOrEmpty(*container, "command").empty()) {
    (*container)["command"] = json::array{"/bin/sh", "-c", json::value(Text(spec, "entrypoint"))};
    container->erase("args");
    // KubeRay's submitter submits again under the same id, which does not run the entrypoint again.
    retries = 0;
  }
  pod["restartPolicy"] = "Never";
  pod_template["spec"] = std::move(pod);
  return {{"backoffLimit", retries}, {"template", std::move(pod_template)}};
}

// One step of a RayJob.
class RayJobStep {
 public:
  explicit RayJobStep(const ControllerInput& input)
      : input_(input),
        spec_(ObjectOrEmpty(*input.object, "spec")),
        epoch_(static_cast<std::int32_t>(Integer(*input.memo, "retries", 0))),
        cluster_name_(input.name + "-" + NameSuffix(input.name, 0, epoch_)),
        cluster_(input, ObjectOrEmpty(spec_, "rayClusterSpec"), cluster_name_, epoch_) {}

  ControllerOutput Run() {
    output_.memo["retries"] = epoch_;
    // Pods of an earlier try must be gone first.
    if (StopStale()) return std::move(output_);
    Begin();
    if (ActiveDeadlinePassed()) return std::move(output_);
    const JobProgress submitted = StepSubmitter();
    if (submitted.end == JobEnd::kComplete) {
      output_.phase = RemotePhase::kSucceeded;
      StopAll();
    } else if (submitted.end == JobEnd::kFailed) {
      RepeatOrFail(ReasonOfJobEnd(submitted.end_reason),
                   "the entrypoint failed: " + submitted.message);
    } else {
      const bool submitter_seen = !PodsOf(*input_.pods, input_.name, epoch_).empty();
      if (!submitter_seen && Passed("preRunningDeadlineSeconds")) {
        RepeatOrFail(Reason::kFailed,
                     "the RayJob did not run before its preRunningDeadlineSeconds had passed");
        return std::move(output_);
      }
      const bool ready = cluster_.Step(&output_);
      if (ready || submitter_seen) {
        for (const PodWish& wish : submitted.start) output_.start.push_back(wish);
        output_.wake_at = Earlier(output_.wake_at, submitted.wake_at);
      }
      output_.phase = submitted.running > 0 ? RemotePhase::kRunning : RemotePhase::kPending;
    }
    return std::move(output_);
  }

 private:
  // Steps the submitter as a Job with the variables of the cluster.
  JobProgress StepSubmitter() {
    submitter_ = SubmitterSpec(spec_);
    JobRun run;
    run.spec = &submitter_;
    run.name = input_.name;
    run.pod_set = "submitter";
    run.epoch = epoch_;
    run.decorate = [this](PodWish* wish) {
      cluster_.AddVariables(wish);
      const std::string id = Text(spec_, "jobId");
      wish->environment.emplace_back("RAY_JOB_SUBMISSION_ID", id.empty() ? cluster_name_ : id);
      const std::string runtime = Text(spec_, "runtimeEnvYAML");
      if (!runtime.empty()) wish->environment.emplace_back("RAY_RUNTIME_ENV_YAML", runtime);
    };
    return StepJob(input_, run);
  }

  // Repeats the whole RayJob, or ends it if backoffLimit is reached.
  void RepeatOrFail(Reason reason, const std::string& message) {
    StopAll();
    if (epoch_ < Integer(spec_, "backoffLimit", 0)) {
      output_.memo = {{"retries", epoch_ + 1}};
      output_.wake_at = input_.now;
      return;
    }
    output_.phase = RemotePhase::kFailed;
    output_.reason = reason;
    output_.message = message;
  }

  // Finds when this try began: the first with the attempt, a later one when the pods of the one
  // before were gone.
  void Begin() {
    began_ = input_.started;
    if (epoch_ == 0) return;
    const std::int64_t us =
        Integer(*input_.memo, "began_us", input_.now.Plus(-input_.paused_us).us);
    output_.memo["began_us"] = us;
    began_ = WallTime{us}.Plus(input_.paused_us);
  }

  // Whether the deadline in this field of the spec has passed; if not, the next step is due then.
  bool Passed(const char* field) {
    const std::int64_t seconds = Integer(spec_, field, 0);
    if (seconds <= 0 || !began_.set()) return false;
    const WallTime deadline = began_.PlusSeconds(seconds);
    if (input_.now >= deadline) return true;
    output_.wake_at = Earlier(output_.wake_at, deadline);
    return false;
  }

  // Ends the RayJob at activeDeadlineSeconds. Such an end is not repeated.
  bool ActiveDeadlinePassed() {
    if (!Passed("activeDeadlineSeconds")) return false;
    output_.phase = RemotePhase::kFailed;
    output_.reason = Reason::kDeadlineExceeded;
    output_.message = "the RayJob was active longer than its activeDeadlineSeconds";
    StopAll();
    return true;
  }

  // Whether pods of an earlier try live. They are stopped: the daemon may have died after it noted
  // the new try and before it asked them to stop.
  bool StopStale() {
    std::vector<const PodRecord*> stale;
    for (const PodRecord& pod : *input_.pods) {
      if (pod.live() && pod.identity.epoch < epoch_) stale.push_back(&pod);
    }
    StopLive(stale, &output_.stop);
    return !stale.empty();
  }

  void StopAll() {
    std::vector<const PodRecord*> all;
    for (const PodRecord& pod : *input_.pods) all.push_back(&pod);
    StopLive(all, &output_.stop);
  }

  const ControllerInput& input_;
  const json::object& spec_;
  std::int32_t epoch_;
  std::string cluster_name_;
  ClusterStep cluster_;
  WallTime began_;
  json::object submitter_;
  ControllerOutput output_;
};

std::vector<const json::object*> ClusterTemplates(const json::object& spec) {
  std::vector<const json::object*> all{&ObjectOrEmpty(spec, {"headGroupSpec", "template"})};
  for (const json::value& entry : ArrayOrEmpty(spec, "workerGroupSpecs")) {
    all.push_back(&ObjectOrEmpty(entry, "template"));
  }
  return all;
}

}  // namespace

const Controller kRayClusterController = {
    "ray.io/v1", "RayCluster", StepRayCluster,
    [](const json::object&) { return static_cast<int>(kPortCount); },
    [](const json::object& object) { return ClusterTemplates(ObjectOrEmpty(object, "spec")); }};

const Controller kRayJobController = {
    "ray.io/v1", "RayJob", [](const ControllerInput& input) { return RayJobStep(input).Run(); },
    [](const json::object&) { return static_cast<int>(kPortCount); },
    [](const json::object& object) {
  return ClusterTemplates(ObjectOrEmpty(object, {"spec", "rayClusterSpec"}));
    }};

}  // namespace muster::local
