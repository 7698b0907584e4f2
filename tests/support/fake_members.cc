#include "tests/support/fake_members.h"

#include <algorithm>
#include <utility>

#include "schedd/base/check.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::test {

void FakeMembers::Take(PendingOrder order) {
  if (on_order) on_order(order);
  orders.push_back(std::move(order));
}

void FakeMembers::Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) {
  PendingOrder order;
  order.kind = PendingOrder::Kind::kEnsure;
  order.key = key;
  order.uid = expected_uid;
  order.version = job->resource_version;
  const RemoteObject object = shapes::RemoteObjectOf(*job);
  order.ns = object.ns;
  order.name = object.name;
  if (job->admission != nullptr) {
    for (const PodSetAssignment& pod_set : job->admission->pod_sets) order.pods += pod_set.count;
  }
  Take(std::move(order));
}

void FakeMembers::Remove(const DispatchKey& key, RemovePolicy policy) {
  PendingOrder order;
  order.kind = PendingOrder::Kind::kRemove;
  order.key = key;
  order.policy = std::move(policy);
  Take(std::move(order));
}

void FakeMembers::Acknowledge(const DispatchKey& key, const RemoteObject&, const std::string& uid) {
  PendingOrder order;
  order.kind = PendingOrder::Kind::kAcknowledge;
  order.key = key;
  order.uid = uid;
  Take(std::move(order));
}

void FakeMembers::Confirm(const DispatchKey& key, const RemoteObject&, const std::string& uid) {
  PendingOrder order;
  order.kind = PendingOrder::Kind::kConfirm;
  order.key = key;
  order.uid = uid;
  Take(std::move(order));
}

void FakeMembers::List(const std::string& cluster) {
  PendingOrder order;
  order.kind = PendingOrder::Kind::kList;
  order.key.cluster = cluster;
  Take(std::move(order));
}

void FakeMembers::Forget() {
  std::erase_if(orders,
                [](const PendingOrder& order) { return order.kind != PendingOrder::Kind::kList; });
}

std::string FakeMembers::IncarnationOf(const std::string& cluster) const {
  const auto times = recreated_.find(cluster);
  return times == recreated_.end() ? "incarnation" : "incarnation-" + std::to_string(times->second);
}

Observation FakeMembers::Seen(const DispatchKey& key, const Object& object) const {
  Observation seen;
  seen.key = key;
  seen.remote_uid = object.uid;
  seen.object = object.object;
  seen.incarnation = IncarnationOf(key.cluster);
  seen.held = object.held;
  seen.deleting = object.deleting;
  seen.sequence = object.sequence;
  seen.phase = object.phase;
  seen.ready_pods = object.active() ? 1 : 0;
  seen.succeeded_pods = object.succeeded;
  if (object.active()) seen.reclaimable = object.reclaimable;
  return seen;
}

bool FakeMembers::Idle() const {
  return std::all_of(orders.begin(), orders.end(), [this](const PendingOrder& order) {
    return away.contains(order.key.cluster);
  });
}

void FakeMembers::Carry(std::size_t at, std::optional<Code> fault) {
  PendingOrder order = orders[at];
  orders.erase(orders.begin() + static_cast<std::ptrdiff_t>(at));
  const bool happens = !fault.has_value() || *fault == Code::kUnknown;
  const std::optional<Error> error =
      fault.has_value() ? std::optional<Error>(Error{*fault, fault_text}) : std::nullopt;
  switch (order.kind) {
    case PendingOrder::Kind::kList:
      CarryList(std::move(order), happens);
      break;
    case PendingOrder::Kind::kEnsure:
      CarryEnsure(order, happens, error);
      break;
    case PendingOrder::Kind::kRemove: {
      const RemovalResult removed = happens ? CarryRemove(order) : RemovalResult{};
      post_(error.has_value() ? RemovedCommand{order.key, *error}
                              : RemovedCommand{order.key, removed});
      break;
    }
    case PendingOrder::Kind::kConfirm:
      CarryConfirm(order, error);
      break;
    case PendingOrder::Kind::kAcknowledge: {
      const auto found = objects.find(order.key);
      if (!happens || found == objects.end() || found->second.uid != order.uid) break;
      ++acknowledged[order.key];
      found->second.held = false;
      if (found->second.deleting) Delete(order.key);
      break;
    }
  }
}

void FakeMembers::CarryList(PendingOrder order, bool happens) {
  if (!happens) {
    orders.push_back(std::move(order));  // the dispatcher asks again until it is answered
    return;
  }
  ListedCommand listed;
  listed.cluster = order.key.cluster;
  for (const auto& [key, object] : objects) {
    if (key.cluster == order.key.cluster && !object.unlabelled)
      listed.observations.push_back(Seen(key, object));
  }
  for (const PendingOrder& other : orders) {
    if (other.kind == PendingOrder::Kind::kEnsure) listed.unsure.push_back(other.key);
  }
  post_(std::move(listed));
}

// Puts the labels back, as a Kubernetes backend does.
void FakeMembers::CarryConfirm(const PendingOrder& order, std::optional<Error> fault) {
  if (fault.has_value()) {
    post_(ConfirmedCommand{order.key, order.uid, *fault});
    return;
  }
  const auto found = objects.find(order.key);
  Presence presence;
  presence.there = found != objects.end() && found->second.uid == order.uid;
  const bool mended = presence.there && std::exchange(found->second.unlabelled, false);
  if (mended) presence.note = "its labels were put back";
  post_(ConfirmedCommand{order.key, order.uid, presence});
  if (mended) Say(order.key);
}

void FakeMembers::Unlabel(const DispatchKey& key) {
  Object& object = objects.at(key);
  object.unlabelled = true;
  Observation seen = Seen(key, object);
  seen.phase = RemotePhase::kMissing;
  if (!away.contains(key.cluster)) post_(ObservedCommand{seen});
}

void FakeMembers::Start(const DispatchKey& key, Object* object) {
  object->phase = RemotePhase::kRunning;
  ++starts[key];
  const auto of_job = std::count_if(objects.begin(), objects.end(), [&](const auto& one) {
    return one.first.job_uid == key.job_uid && one.second.active();
  });
  most_active_of_one_job = std::max(most_active_of_one_job, static_cast<std::size_t>(of_job));
}

Result<RemoteRef> FakeMembers::Release(const PendingOrder& order) {
  const auto found = objects.find(order.key);
  if (found == objects.end() || found->second.uid != order.uid)
    return NotFound("there is no such object");
  if (found->second.phase == RemotePhase::kSuspended) Start(order.key, &found->second);
  return RemoteRef{found->second.uid, IncarnationOf(order.key.cluster), false};
}

Result<RemoteRef> FakeMembers::Make(const PendingOrder& order) {
  if (two_steps) {
    for (auto other = objects.begin(); other != objects.end(); ++other) {
      if (other->first.cluster != order.key.cluster || other->first == order.key ||
          other->second.object.ns != order.ns || other->second.object.name != order.name) {
        continue;
      }
      const bool ours = other->second.sequence > 0 && other->first.job_uid == order.key.job_uid;
      if (!ours) return AlreadyExists("a foreign object has the name");
      if (other->first.attempt > order.key.attempt) return Aborted("a later attempt has the name");
      objects.erase(other);  // an object of an earlier attempt
      break;
    }
  }
  auto [made, fresh] = objects.try_emplace(order.key);
  Object& object = made->second;
  if (fresh) {
    std::int32_t& last = last_attempts_[{order.key.cluster, order.key.job_uid}];
    if (order.key.attempt < last) ++attempts_that_went_down;
    last = std::max(last, order.key.attempt);
    object.uid = "uid-" + std::to_string(++made_);
    object.version = -1;
    if (two_steps) {
      object.phase = RemotePhase::kSuspended;
      object.object = {"batch/v1", "Job", order.ns, order.name};
      object.held = true;
      object.sequence = order.version;
    } else {
      Start(order.key, &object);
    }
  }
  return RemoteRef{object.uid, IncarnationOf(order.key.cluster),
                   object.phase == RemotePhase::kSuspended};
}

void FakeMembers::CarryEnsure(const PendingOrder& order, bool happens, std::optional<Error> fault) {
  if (!happens) {
    post_(EnsuredCommand{order.key, *fault});
    return;
  }
  // A member cluster that makes attempts in one step adopts any object with the key.
  const bool release = two_steps && !order.uid.empty();
  Result<RemoteRef> outcome = release ? Release(order) : Make(order);
  if (const auto made = objects.find(order.key);
      outcome.ok() && order.version > made->second.version) {
    made->second.pods = order.pods;
    made->second.version = order.version;
  }
  const bool told = outcome.ok() && !fault.has_value();
  post_(EnsuredCommand{order.key, fault.has_value() ? Result<RemoteRef>(*fault) : outcome});
  if (told) Say(order.key);
}

RemovalResult FakeMembers::CarryRemove(const PendingOrder& order) {
  const auto found = objects.find(order.key);
  if (found == objects.end()) return {false};
  if (!order.policy.expected_uid.empty() && order.policy.expected_uid != found->second.uid)
    return {false};
  if (two_steps && found->second.sequence == 0) ++foreign_writes;
  if (order.policy.keep_logs && !two_steps) {
    if (found->second.active()) found->second.phase = RemotePhase::kFailed;
  } else {
    objects.erase(found);
  }
  return {true};
}

void FakeMembers::CarryAll() {
  for (std::size_t at = 0; at < orders.size();) {
    if (away.contains(orders[at].key.cluster)) {
      ++at;
    } else {
      Carry(at);
      at = 0;
    }
  }
}

bool FakeMembers::End(const DispatchKey& key, RemotePhase phase, std::int32_t exit_code) {
  const auto found = objects.find(key);
  if (found == objects.end() || !found->second.active()) return false;
  found->second.phase = phase;
  Observation seen = Seen(key, found->second);
  seen.exit_code = exit_code;
  seen.succeeded_pods = phase == RemotePhase::kSucceeded ? 1 : 0;
  seen.failed_pods = phase == RemotePhase::kFailed ? 1 : 0;
  if (!away.contains(key.cluster)) post_(ObservedCommand{seen});
  return true;
}

bool FakeMembers::Progress(const DispatchKey& key, std::int32_t succeeded,
                           std::vector<ReclaimablePods> reclaimable) {
  const auto found = objects.find(key);
  if (found == objects.end() || !found->second.active()) return false;
  found->second.succeeded = succeeded;
  found->second.reclaimable = std::move(reclaimable);
  post_(ObservedCommand{Seen(key, found->second)});
  return true;
}

void FakeMembers::Delete(DispatchKey key) {
  Object& object = objects.at(key);
  object.deleting = true;
  Observation seen = Seen(key, object);
  if (!object.held) {
    seen.phase = RemotePhase::kMissing;
    objects.erase(key);
  }
  if (!away.contains(key.cluster)) post_(ObservedCommand{seen});
}

void FakeMembers::Tell(const std::string& cluster) {
  ClusterFacts facts;
  facts.cluster = cluster;
  facts.incarnation = IncarnationOf(cluster);
  facts.healthy = !away.contains(cluster);
  if (!facts.healthy) facts.message = "cannot be reached";
  post_(FactsCommand{facts});
}

void FakeMembers::Recreate(const std::string& cluster) {
  ++recreated_[cluster];
  std::erase_if(objects, [&](const auto& one) { return one.first.cluster == cluster; });
}

}  // namespace muster::test
