// The controller of kubeflow.org/v1 PyTorchJob: a master and workers that find each other by
// MASTER_ADDR and their rank.
//
// The master's success is the job's; without a master all workers must succeed. A failed replica is
// started again if its restartPolicy says so; ExitCode restarts it from exit code 128 on. Against
// runPolicy.backoffLimit count, as in the operator, the restarts of containers in the pods that run
// now, and pods that have failed only if it is 0.
#include <algorithm>

#include "backends/local/controllers/controller.h"
#include "backends/local/controllers/slot.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// One replica type of the spec.
struct Replica {
  const json::object* spec = nullptr;
  std::string type;  // master, worker
  std::int32_t count = 0;
  std::string restart;  // Never, Always, OnFailure, ExitCode
};

// Master first, then workers: ranks follow this order.
std::vector<Replica> Replicas(const json::object& spec) {
  std::vector<Replica> all;
  for (const auto& [key, type] : {std::pair("Master", "master"), std::pair("Worker", "worker")}) {
    const json::object& replicas = ObjectOrEmpty(spec, "pytorchReplicaSpecs");
    if (!Has(replicas, key)) continue;
    const json::object& one = ObjectOrEmpty(replicas, key);
    const std::string restart = Text(one, "restartPolicy");
    all.push_back({&one, type, static_cast<std::int32_t>(Integer(one, "replicas", 1)),
                   restart.empty() ? "OnFailure" : restart});
  }
  return all;
}

class TorchStep {
 public:
  explicit TorchStep(const ControllerInput& input)
      : input_(input),
        spec_(ObjectOrEmpty(*input.object, "spec")),
        policy_(ObjectOrEmpty(spec_, "runPolicy")),
        replicas_(Replicas(spec_)) {
    for (const Replica& replica : replicas_) total_ += replica.count;
    const std::string processes = Text(spec_, "nprocPerNode");
    processes_ = processes.empty() ? "auto" : processes;
  }

  ControllerOutput Run() {
    for (const Replica& replica : replicas_) {
      for (std::int32_t i = 0; i < replica.count; ++i) Look(replica, i);
    }
    if (failed_.empty() && Succeeded()) {
      output_.phase = RemotePhase::kSucceeded;
    } else if (!failed_.empty()) {
      output_.phase = RemotePhase::kFailed;
      output_.reason = Reason::kFailed;
      output_.message = failed_;
    } else if (const std::optional<std::int64_t> limit = MaybeInteger(policy_, "backoffLimit");
               limit &&
               (restarts_ >= std::max<std::int64_t>(1, *limit) || (*limit == 0 && failures_ > 0))) {
      output_.phase = RemotePhase::kFailed;
      output_.reason = Reason::kBackoffLimitExceeded;
      output_.message = "the job reached its backoffLimit of " + std::to_string(*limit);
    } else if (!DeadlinePassed()) {
      output_.phase = running_ + done_ == total_ ? RemotePhase::kRunning : RemotePhase::kPending;
      return std::move(output_);
    }
    output_.start.clear();
    StopAll();
    return std::move(output_);
  }

 private:
  // Counts one replica, and wishes for its pod if none is there.
  void Look(const Replica& replica, std::int32_t index) {
    const Slot slot = FindSlot(input_, replica.type, 0, index);
    failures_ += slot.failures;
    if (slot.running() && replica.restart != "Never") restarts_ += slot.live->restarts;
    if (slot.succeeded()) {
      ++done_;
      (replica.type == "master" ? master_done_ : worker_done_) += 1;
      return;
    }
    if (slot.running()) {
      ++running_;
      return;
    }
    if (slot.live == nullptr && slot.failures > 0) {
      const PodRecord& last = *slot.last;
      // ExitCode: below 128 the program itself failed; from 128 on it was killed and is retried.
      const bool retry = last.lost || replica.restart == "Always" ||
                         replica.restart == "OnFailure" ||
                         (replica.restart == "ExitCode" && last.exit_code >= 128);
      if (!retry) {
        failed_ = replica.type + " " + std::to_string(index) + " failed: " + last.message;
        return;
      }
    }
    if (MayFill(input_, slot, &output_.wake_at)) Wish(replica, index);
  }

  // The master's success counts; without a master, that of all workers.
  bool Succeeded() const {
    const bool has_master = !replicas_.empty() && replicas_.front().type == "master";
    if (has_master) return master_done_ > 0;
    return worker_done_ == total_ && total_ > 0;
  }

  // Ends the job at runPolicy.activeDeadlineSeconds, else wakes then.
  bool DeadlinePassed() {
    const std::int64_t seconds = Integer(policy_, "activeDeadlineSeconds", 0);
    if (seconds <= 0 || !input_.started.set()) return false;
    const WallTime deadline = input_.started.PlusSeconds(seconds);
    if (input_.now < deadline) {
      output_.wake_at = Earlier(output_.wake_at, deadline);
      return false;
    }
    output_.phase = RemotePhase::kFailed;
    output_.reason = Reason::kDeadlineExceeded;
    output_.message = "the job was active longer than its activeDeadlineSeconds";
    return true;
  }

  // The pod of a replica, with the rank that the operator would give it: the master first.
  void Wish(const Replica& replica, std::int32_t index) {
    PodWish wish;
    const std::string name = input_.name + "-" + replica.type + "-" + std::to_string(index);
    wish.identity = {UniqueId(*input_.pods, name), name, replica.type, replica.type, index, 0};
    wish.pod_template = ObjectOrEmpty(*replica.spec, "template");
    json::object pod = ObjectOrEmpty(wish.pod_template, "spec");
    pod["restartPolicy"] = replica.restart == "ExitCode" ? "Never" : json::value(replica.restart);
    wish.pod_template["spec"] = std::move(pod);
    const bool has_master = replicas_.front().type == "master";
    const std::int32_t rank =
        replica.type == "worker" && has_master ? index + replicas_.front().count : index;
    const std::string role =
        replica.type == "master" || (!has_master && index == 0) ? "master" : "worker";
    wish.labels = {{"training.kubeflow.org/job-name", input_.name},
                   {"training.kubeflow.org/operator-name", "pytorchjob-controller"},
                   {"training.kubeflow.org/replica-type", replica.type},
                   {"training.kubeflow.org/replica-index", std::to_string(index)}};
    if (role == "master") wish.labels["training.kubeflow.org/job-role"] = "master";
    AddVariables(rank, &wish);
    output_.start.push_back(std::move(wish));
  }

  // The variables of the training operator, for torch.distributed and for torchrun (PET_*).
  void AddVariables(std::int32_t rank, PodWish* wish) const {
    const int port = input_.ports.empty() ? 0 : input_.ports[0];
    AddRendezvous(port, wish);
    const bool counted = processes_.find_first_not_of("0123456789") == std::string::npos;
    const std::int32_t per_node = counted ? std::max(1, std::atoi(processes_.c_str())) : 1;
    wish->environment.emplace_back("WORLD_SIZE", std::to_string(total_ * per_node));
    wish->environment.emplace_back("RANK", std::to_string(rank));
    wish->environment.emplace_back("PYTHONUNBUFFERED", "1");
    wish->environment.emplace_back("PET_NPROC_PER_NODE", processes_);
    wish->environment.emplace_back("PET_NNODES", std::to_string(total_));
    wish->environment.emplace_back("PET_NODE_RANK", std::to_string(rank));
    wish->environment.emplace_back("PET_MASTER_ADDR", "127.0.0.1");
    wish->environment.emplace_back("PET_MASTER_PORT", std::to_string(port));
  }

  void StopAll() {
    std::vector<const PodRecord*> all;
    for (const PodRecord& pod : *input_.pods) all.push_back(&pod);
    StopLive(all, &output_.stop);
  }

  const ControllerInput& input_;
  const json::object& spec_;
  const json::object& policy_;
  std::vector<Replica> replicas_;
  std::string processes_, failed_;
  std::int32_t total_ = 0, running_ = 0, done_ = 0, master_done_ = 0, worker_done_ = 0;
  std::int64_t restarts_ = 0, failures_ = 0;
  ControllerOutput output_;
};

}  // namespace

const Controller kPyTorchJobController = {
    "kubeflow.org/v1", "PyTorchJob",
    [](const ControllerInput& input) { return TorchStep(input).Run(); },
    [](const json::object&) { return 1; },
    [](const json::object& object) {
  std::vector<const json::object*> templates;
  for (const Replica& replica : Replicas(ObjectOrEmpty(object, "spec"))) {
    templates.push_back(&ObjectOrEmpty(*replica.spec, "template"));
  }
  return templates;
    }};

}  // namespace muster::local
