#include "tests/support/fake_members.h"

#include <algorithm>

namespace muster::test {

void FakeMembers::Ensure(const DispatchKey& key, JobPtr job, bool) {
  PendingOrder order{PendingOrder::Kind::kEnsure, key, {}, 0, job->resource_version};
  if (job->admission != nullptr) {
    for (const PodSetAssignment& pod_set : job->admission->pod_sets) order.pods += pod_set.count;
  }
  orders.push_back(std::move(order));
}

void FakeMembers::Remove(const DispatchKey& key, JobPtr, RemovePolicy policy) {
  orders.push_back({PendingOrder::Kind::kRemove, key, std::move(policy), 0, 0});
}

void FakeMembers::List(const std::string& cluster) {
  orders.push_back({PendingOrder::Kind::kList, {{}, 0, cluster}, {}, 0, 0});
}

Observation FakeMembers::Seen(const DispatchKey& key, const Object& object) const {
  Observation seen;
  seen.key = key;
  seen.remote_uid = object.uid;
  seen.phase = object.phase;
  seen.ready_pods = object.active() ? 1 : 0;
  seen.succeeded_pods = object.succeeded;
  if (object.active()) seen.reclaimable = object.reclaimable;
  return seen;
}

void FakeMembers::Carry(std::size_t at, std::optional<Code> fault) {
  PendingOrder order = orders[at];
  orders.erase(orders.begin() + static_cast<std::ptrdiff_t>(at));
  const bool happens = !fault.has_value() || *fault == Code::kUnknown;
  const Error error{fault.value_or(Code::kOk), "laid by the test"};
  if (order.kind == PendingOrder::Kind::kList) {
    if (!happens) {
      orders.push_back(std::move(order));  // the dispatcher asks again until it is answered
      return;
    }
    ListedCommand listed;
    listed.cluster = order.key.cluster;
    for (const auto& [key, object] : objects) {
      if (key.cluster == order.key.cluster) listed.observations.push_back(Seen(key, object));
    }
    for (const PendingOrder& other : orders) {
      if (other.kind == PendingOrder::Kind::kEnsure) listed.unsure.push_back(other.key);
    }
    post_(std::move(listed));
    return;
  }
  if (order.kind == PendingOrder::Kind::kEnsure) {
    if (happens && !objects.contains(order.key)) {
      objects[order.key] = {
          "uid-" + std::to_string(++made_), RemotePhase::kRunning, "", 0, {}, 0, 0};
      ++starts[order.key];
      const auto of_job = std::count_if(objects.begin(), objects.end(), [&](const auto& one) {
        return one.first.job_uid == order.key.job_uid && one.second.active();
      });
      most_active_of_one_job = std::max(most_active_of_one_job, static_cast<std::size_t>(of_job));
    }
    if (const auto made = objects.find(order.key);
        happens && made != objects.end() && order.version > made->second.version) {
      made->second.pods = order.pods;
      made->second.version = order.version;
    }
    if (fault.has_value()) {
      post_(EnsuredCommand{order.key, error});
      return;
    }
    const Object object = objects[order.key];
    post_(EnsuredCommand{order.key, RemoteRef{object.uid, "incarnation"}});
    post_(ObservedCommand{Seen(order.key, object)});
    return;
  }
  const auto found = objects.find(order.key);
  const bool existed = found != objects.end();
  if (happens && existed) {
    if (order.policy.keep_logs) {
      if (found->second.active()) found->second.phase = RemotePhase::kFailed;
    } else {
      objects.erase(found);
    }
  }
  post_(fault.has_value() ? RemovedCommand{order.key, error}
                          : RemovedCommand{order.key, Removed{existed}});
}

void FakeMembers::CarryAll() {
  while (!orders.empty()) Carry();
}

bool FakeMembers::End(const DispatchKey& key, RemotePhase phase, std::int32_t exit_code) {
  const auto found = objects.find(key);
  if (found == objects.end() || !found->second.active()) return false;
  found->second.phase = phase;
  Observation seen = Seen(key, found->second);
  seen.exit_code = exit_code;
  seen.succeeded_pods = phase == RemotePhase::kSucceeded ? 1 : 0;
  seen.failed_pods = phase == RemotePhase::kFailed ? 1 : 0;
  post_(ObservedCommand{seen});
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

}  // namespace muster::test
