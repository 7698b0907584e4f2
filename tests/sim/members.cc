#include "tests/sim/members.h"

#include "schedd/base/quantity.h"

namespace muster::sim {
namespace {

std::uint64_t Mixed(const DispatchKey& key, std::uint64_t seed) {
  std::uint64_t mixed = key.job_uid.hi ^ (key.job_uid.lo * 0x9e3779b97f4a7c15ULL) ^
                        (static_cast<std::uint64_t>(key.attempt) << 32) ^ seed;
  mixed ^= mixed >> 31;
  mixed *= 0xd6e8feb86659fd93ULL;
  return mixed ^ (mixed >> 32);
}

std::string Text(const DispatchKey& key) {
  return key.cluster + "/" + key.job_uid.ToString().substr(0, 8) + "/" +
         std::to_string(key.attempt);
}

}  // namespace

Members::Members(Stage& stage) : stage_(stage) {
  Dice dice = DiceOf(stage.seed, "members");
  for (int i = 0; i < stage.options.members; ++i) {
    names_.push_back("member-" + std::to_string(i));
    const auto skew = static_cast<std::int64_t>(dice.Below(10'000'000)) - 5'000'000;
    skew_us_[names_.back()] = stage.options.clock_jumps ? skew : 0;
  }
  queues_.on_admitted = [this](const DispatchKey& key) {
    const auto found = objects_.find(key);
    if (found == objects_.end() || !found->second.released || found->second.deleting) return;
    if (found->second.phase != RemotePhase::kSuspended) return;
    Start(key, &found->second);
    Say(key);
  };
}

void Members::SetAway(const std::string& cluster, bool away) {
  stage_.Note(cluster + (away ? " is away" : " is back"));
  if (away) {
    away_.insert(cluster);
  } else {
    away_.erase(cluster);
  }
}

std::string Members::IncarnationOf(const std::string& cluster) const {
  const auto times = wiped_.find(cluster);
  return cluster + "-" + std::to_string(times == wiped_.end() ? 0 : times->second);
}

WallTime Members::NowOn(const std::string& cluster) const {
  return {stage_.clock.WallNow().us + skew_us_.at(cluster)};
}

std::int64_t Members::RunMs(const DispatchKey& key) const {
  return 1 + static_cast<std::int64_t>(Mixed(key, stage_.seed) %
                                       static_cast<std::uint64_t>(stage_.options.longest_run_ms));
}

bool Members::Fails(const DispatchKey& key) const { return Mixed(key, ~stage_.seed) % 8 == 0; }

Observation Members::Seen(const DispatchKey& key, const SimObject& object) const {
  Observation seen;
  seen.key = key;
  seen.remote_uid = object.uid;
  seen.object = object.object;
  seen.incarnation = IncarnationOf(key.cluster);
  seen.held = object.held;
  seen.deleting = object.deleting;
  seen.sequence = object.sequence;
  seen.phase = object.phase;
  seen.observed_at = stage_.clock.WallNow();
  seen.start_time = object.start_time;
  seen.end_time = object.end_time;
  if (object.active()) seen.ready_pods = seen.active_pods = object.pods;
  if (object.phase == RemotePhase::kSucceeded) seen.succeeded_pods = object.pods;
  if (object.phase == RemotePhase::kFailed) {
    seen.failed_pods = 1;
    seen.exit_code = 1;
    seen.reason = Reason::kFailed;
  }
  return seen;
}

void Members::Say(const DispatchKey& key) {
  const auto found = objects_.find(key);
  if (found != objects_.end() && !found->second.unlabelled) on_change(Seen(key, found->second));
}

// The object is gone: the last report says so.
void Members::Erase(const DispatchKey& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  Observation seen = Seen(key, found->second);
  seen.phase = RemotePhase::kMissing;
  stage_.Note("gone " + Text(key));
  objects_.erase(found);
  on_change(seen);
}

void Members::Start(const DispatchKey& key, SimObject* object) {
  object->phase = RemotePhase::kRunning;
  object->start_time = NowOn(key.cluster);
  stage_.Note("start " + Text(key) + " " + object->uid);
  if (on_start) on_start(key, *object);
  stage_.agenda.After(RunMs(key) * kMs, [this, key, uid = object->uid] { End(key, uid); });
}

void Members::End(const DispatchKey& key, const std::string& uid) {
  const auto found = objects_.find(key);
  if (found == objects_.end() || found->second.uid != uid || !found->second.active()) return;
  found->second.phase = Fails(key) ? RemotePhase::kFailed : RemotePhase::kSucceeded;
  found->second.end_time = NowOn(key.cluster);
  stage_.Note("end " + Text(key));
  Say(key);
}

Result<RemoteRef> Members::Ensure(const DispatchOrder& order) {
  const bool release = !order.expected_uid.empty();
  stage_.Note((release ? "release " : "make ") + Text(order.key));
  auto outcome = release ? Release(order) : Make(order);
  Say(order.key);
  return outcome;
}

// Only that very object; on a member of one step too.
Result<RemoteRef> Members::Release(const DispatchOrder& order) {
  const auto found = objects_.find(order.key);
  if (found == objects_.end() || found->second.uid != order.expected_uid)
    return NotFound("there is no such object");
  const bool own = stage_.options.own_queues;
  if (own && !queues_.HasLet(order.key))
    stage_.Break("P34: " + Text(order.key) + " is released and no queue there has admitted it");
  found->second.released = true;
  const bool starts = found->second.phase == RemotePhase::kSuspended && !found->second.deleting;
  if (starts && (!own || queues_.Lets(order.key))) Start(order.key, &found->second);
  return RemoteRef{found->second.uid, IncarnationOf(order.key.cluster), false};
}

// Made, or adopted if it is there. An object of an earlier attempt of the same job that has the
// name goes first, as with the Kubernetes backend.
Result<RemoteRef> Members::Make(const DispatchOrder& order) {
  const DispatchKey& key = order.key;
  if (stage_.options.two_steps) {
    for (const auto& [other, object] : objects_) {
      if (other.cluster != key.cluster || other == key || object.object.ns != order.object.ns ||
          object.object.name != order.object.name)
        continue;
      if (other.job_uid != key.job_uid) return AlreadyExists("a foreign object has the name");
      if (other.attempt > key.attempt) return Aborted("a later attempt has the name");
      Erase(DispatchKey(other));
      break;
    }
  }
  const auto [made, fresh] = objects_.try_emplace(key);
  SimObject& object = made->second;
  if (fresh) {
    object.uid = "uid-" + std::to_string(++made_);
    stage_.Note("made " + Text(key) + " " + object.uid);
    object.job = order.job;
    for (const PodSetAssignment& pods : order.pod_sets) {
      object.pods += pods.count;
      object.cpu += AmountOf(pods.usage, "cpu");
    }
    if (stage_.options.two_steps) {
      object.object = {order.object.api_version, order.object.kind, order.object.ns,
                       order.object.name};
      object.held = true;
      object.sequence = order.sequence;
    }
    if (!order.suspended) Start(key, &object);
  }
  return RemoteRef{object.uid, IncarnationOf(key.cluster), object.phase == RemotePhase::kSuspended};
}

RemovalResult Members::Remove(const DispatchKey& key, const RemovePolicy& policy) {
  stage_.Note("remove " + Text(key) + (policy.keep_logs ? " keeping logs" : ""));
  const auto found = objects_.find(key);
  if (found == objects_.end()) return {false};
  SimObject& object = found->second;
  if (!policy.expected_uid.empty() && policy.expected_uid != object.uid) return {false};
  if (policy.keep_logs && !stage_.options.two_steps) {
    if (object.active()) {
      object.phase = RemotePhase::kFailed;
      object.end_time = NowOn(key.cluster);
    }
  } else {
    Erase(key);
  }
  return {true};
}

void Members::Acknowledge(const DispatchKey& key, const std::string& uid) {
  const auto found = objects_.find(key);
  if (found == objects_.end() || found->second.uid != uid) return;
  stage_.Note("acknowledge " + Text(key));
  found->second.held = false;
  if (found->second.deleting) Erase(key);
}

Presence Members::Confirm(const DispatchKey& key, const std::string& uid) {
  const auto found = objects_.find(key);
  Presence presence;
  presence.there = found != objects_.end() && found->second.uid == uid;
  stage_.Note("confirm " + Text(key) + (presence.there ? ": there" : ": gone"));
  if (presence.there && std::exchange(found->second.unlabelled, false)) {
    presence.note = "its labels were put back";
  }
  if (presence.there) Say(key);
  return presence;
}

std::vector<Observation> Members::List(const std::string& cluster) {
  std::vector<Observation> all;
  for (const auto& [key, object] : objects_) {
    if (key.cluster == cluster && !object.unlabelled) all.push_back(Seen(key, object));
  }
  stage_.Note("list " + cluster + ": " + std::to_string(all.size()));
  return all;
}

ClusterFacts Members::Facts(const std::string& cluster) const {
  ClusterFacts facts;
  facts.cluster = cluster;
  facts.incarnation = IncarnationOf(cluster);
  facts.allocatable = {{"cpu", stage_.options.room * 1000}};
  facts.node_count = 1;
  facts.observed_at = stage_.clock.WallNow();
  return facts;
}

void Members::Wipe(const std::string& cluster) {
  stage_.Note(cluster + " is created anew");
  ++wiped_[cluster];
  queues_.Wipe(cluster);
  std::erase_if(objects_, [&](const auto& one) { return one.first.cluster == cluster; });
}

void Members::Delete(const DispatchKey& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  stage_.Note("a user deletes " + Text(key));
  found->second.deleting = true;
  if (!found->second.held) return Erase(key);
  Say(key);
}

void Members::Unlabel(const DispatchKey& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  stage_.Note("a user takes the labels of " + Text(key));
  Observation seen = Seen(key, found->second);
  found->second.unlabelled = true;
  seen.phase = RemotePhase::kMissing;
  on_change(seen);
}

}  // namespace muster::sim
