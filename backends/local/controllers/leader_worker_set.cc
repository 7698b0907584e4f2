// The controller of leaderworkerset.x-k8s.io/v1 LeaderWorkerSet: groups of one leader and its
// workers, which run until the object is deleted.
//
// A group in which a pod ends or a container restarts is stopped as a whole and started anew
// (RecreateGroupOnPodRestart), the first time at once, later with a back-off that doubles. With
// RecreateGroupAfterStart what happens while a pod of the group does not run yet is left to that
// pod alone. With None each pod is replaced by itself. `memo` keeps each group's epoch, the number
// of its restarts, and how many faults of the present one do not count.
#include <algorithm>

#include "backends/local/controllers/controller.h"
#include "backends/local/controllers/slot.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// More groups than this share ports; so many do not fit on one host anyway.
constexpr int kMostPorts = 256;
constexpr std::int64_t kLongestGroupBackoffUs = 300 * kMicrosPerSecond;

class GroupsStep {
 public:
  explicit GroupsStep(const ControllerInput& input)
      : input_(input),
        spec_(ObjectOrEmpty(*input.object, "spec")),
        template_(ObjectOrEmpty(spec_, "leaderWorkerTemplate")),
        size_(static_cast<std::int32_t>(Integer(template_, "size", 1))),
        policy_(Text(template_, "restartPolicy")),
        epochs_(ObjectOrEmpty(*input.memo, "epochs")),
        excused_(ObjectOrEmpty(*input.memo, "excused")) {
    // The deprecated name of None.
    if (policy_ == "Default") policy_ = "None";
  }

  ControllerOutput Run() {
    bool ready = true;
    const std::int64_t replicas = Integer(spec_, "replicas", 1);
    for (std::int32_t group = 0; group < replicas; ++group) ready = StepGroup(group) && ready;
    output_.memo["epochs"] = epochs_;
    if (!excused_.empty()) output_.memo["excused"] = excused_;
    output_.phase = ready ? RemotePhase::kRunning : RemotePhase::kPending;
    return std::move(output_);
  }

 private:
  // Steps one group; true when all its pods run.
  bool StepGroup(std::int32_t group) {
    const std::string owner = input_.name + "-" + std::to_string(group);
    std::int32_t epoch = static_cast<std::int32_t>(Integer(epochs_, owner, 0));
    if (policy_ != "None" && Broken(owner, epoch)) {
      StopLive(PodsOf(*input_.pods, owner, epoch), &output_.stop);
      epochs_[owner] = ++epoch;
      excused_.erase(owner);
      output_.wake_at = input_.now;
      return false;
    }
    // The new group starts when no pod of the old one runs any more. Those that do are stopped: the
    // daemon may have died after it noted the new epoch and before it asked them to.
    WallTime last_end;
    std::vector<const PodRecord*> stale;
    for (const PodRecord& pod : *input_.pods) {
      if (pod.identity.owner != owner || pod.identity.epoch >= epoch) continue;
      if (pod.live()) stale.push_back(&pod);
      last_end = std::max(last_end, pod.ended);
    }
    StopLive(stale, &output_.stop);
    if (!stale.empty()) return false;
    if (epoch > 1) {
      // The first restart comes at once, each further one after a longer pause.
      const WallTime due =
          last_end.Plus(BackoffUs(input_.backoff_us, epoch - 2, kLongestGroupBackoffUs));
      if (input_.now < due) {
        output_.wake_at = Earlier(output_.wake_at, due);
        return false;
      }
    }
    bool ready = true, leader_ready = true;
    for (std::int32_t index = 0; index < size_; ++index) {
      if (index > 0 && !leader_ready && Text(spec_, "startupPolicy") == "LeaderReady") return false;
      const Slot slot = FindSlot(input_, owner, epoch, index);
      if (!slot.running()) ready = false;
      if (index == 0) leader_ready = slot.running();
      if (!slot.running() && MayFill(input_, slot, &output_.wake_at))
        Wish(group, owner, index, epoch);
    }
    return ready;
  }

  // Whether a pod of the group has ended or a container was restarted, and that counts.
  bool Broken(const std::string& owner, std::int32_t epoch) {
    std::int64_t faults = 0;
    for (const PodRecord* pod : PodsOf(*input_.pods, owner, epoch))
      faults += pod->restarts + !pod->live();
    if (policy_ != "RecreateGroupAfterStart") return faults > 0;
    if (faults <= Integer(excused_, owner, 0)) return false;
    if (!Starting(owner, epoch)) return true;
    excused_[owner] = faults;
    return false;
  }

  // Whether a pod of the group does not run yet.
  bool Starting(const std::string& owner, std::int32_t epoch) const {
    for (std::int32_t index = 0; index < size_; ++index) {
      const Slot slot = FindSlot(input_, owner, epoch, index);
      const PodPhase phase = slot.last == nullptr ? PodPhase::kPending : slot.last->phase;
      if (phase == PodPhase::kPending) return true;
    }
    return false;
  }

  void Wish(std::int32_t group, const std::string& owner, std::int32_t index, std::int32_t epoch) {
    const bool own_leader = Has(template_, "leaderTemplate");
    PodWish wish;
    const std::string name = index == 0 ? owner : owner + "-" + std::to_string(index);
    const std::string pod_set = !own_leader ? "main" : index == 0 ? "leader" : "worker";
    wish.identity = {UniqueId(*input_.pods, name), name, pod_set, owner, index, epoch};
    wish.pod_template =
        ObjectOrEmpty(template_, index == 0 && own_leader ? "leaderTemplate" : "workerTemplate");
    wish.subdomain = input_.name;
    wish.labels = {
        {"leaderworkerset.sigs.k8s.io/name", input_.name},
        {"leaderworkerset.sigs.k8s.io/group-index", std::to_string(group)},
        {"leaderworkerset.sigs.k8s.io/worker-index", std::to_string(index)},
        {"leaderworkerset.sigs.k8s.io/group-key", NameSuffix(input_.ns + "/" + owner, 0, 0)}};
    wish.annotations = {{"leaderworkerset.sigs.k8s.io/size", std::to_string(size_)}};
    if (index > 0) wish.annotations["leaderworkerset.sigs.k8s.io/leader-name"] = owner;
    wish.environment = {{"LWS_LEADER_ADDRESS", "127.0.0.1"},
                        {"LWS_GROUP_SIZE", std::to_string(size_)},
                        {"LWS_WORKER_INDEX", std::to_string(index)}};
    if (!input_.ports.empty()) {
      AddRendezvous(input_.ports[static_cast<std::size_t>(group) % input_.ports.size()], &wish);
    }
    output_.start.push_back(std::move(wish));
  }

  const ControllerInput& input_;
  const json::object& spec_;
  const json::object& template_;
  std::int32_t size_;
  std::string policy_;
  json::object epochs_, excused_;
  ControllerOutput output_;
};

}  // namespace

const Controller kLeaderWorkerSetController = {
    "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
    [](const ControllerInput& input) { return GroupsStep(input).Run(); },
    [](const json::object& object) {
  return static_cast<int>(std::clamp<std::int64_t>(
      Integer(ObjectOrEmpty(object, "spec"), "replicas", 1), 1, kMostPorts));
    },
    [](const json::object& object) {
  const json::object& both = ObjectOrEmpty(object, {"spec", "leaderWorkerTemplate"});
  std::vector<const json::object*> templates{&ObjectOrEmpty(both, "workerTemplate")};
  if (Has(both, "leaderTemplate")) templates.push_back(&ObjectOrEmpty(both, "leaderTemplate"));
  return templates;
}};

}  // namespace muster::local
