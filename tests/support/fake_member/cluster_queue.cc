// The controllers' queue, garbage collection and the end of namespaces.
#include <algorithm>

#include "schedd/base/check.h"
#include "schedd/model/member_labels.h"
#include "tests/support/fake_member/cluster.h"

namespace muster::fake {
namespace {

std::string LabelOf(const LabelsPtr& labels, std::string_view name) {
  if (labels == nullptr) return "";
  for (const auto& [key, value] : *labels) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace

void Cluster::Enqueue(const Key& key) {
  if (queued_.insert(key).second) queue_.push_back(key);
}

void Cluster::OnChange(const Change& change) {
  const Resource& of = resource(change.key);
  if (of.kind == "Event") return;
  if (of.kind == "Pod") CountPod(change);
  Enqueue(change.key);
  for (const std::string& owner : change.owners) {
    const Key* key = store_.ByUid(owner);
    if (key == nullptr) continue;
    Enqueue(*key);
    // The worker pods of a group are owned by its leader pod, whose own owner must reconcile too.
    if (resource(*key).kind != "Pod") continue;
    for (const std::string& above : store_.Find(*key)->owners) {
      if (const Key* set = store_.ByUid(above)) Enqueue(*set);
    }
  }
  if (change.type == ChangeType::kDeleted) {
    for (const Key& child : store_.ChildrenOf(change.uid)) Enqueue(child);
    if (of.namespaced) {
      const Key ns{store_.Plural("namespaces"), "", change.key.ns};
      if (const Record* record = store_.Find(ns); record != nullptr && record->deleting)
        Enqueue(ns);
    }
  }
  if (of.kind == "Node") {
    nodes_.reset();
    const int pods = store_.Plural("pods");
    for (const auto& [name, record] : store_.All(pods)) Enqueue({pods, name.first, name.second});
  }
}

// Counts, for each attempt, the pods that have not ended and all pods that it ever had.
void Cluster::CountPod(const Change& change) {
  if (resource(change.key).kind != "Pod") return;
  const std::string job = LabelOf(change.labels, kJobUidLabel);
  const std::string attempt = LabelOf(change.labels, kAttemptLabel);
  if (job.empty() || attempt.empty()) return;
  const bool was = change.before != nullptr && !change.ended_before;
  const bool is = change.type != ChangeType::kDeleted && !change.ended;
  std::map<std::string, int>& attempts = active_[job];
  if (change.type == ChangeType::kAdded && change.version > 0)
    ++counts_.pods_created[job + "/" + attempt];
  if (is && !was) {
    for (const auto& [other, pods] : attempts) {
      if (other != attempt && pods > 0)
        counts_.overlaps.push_back(job + "/" + other + "+" + attempt);
    }
    ++attempts[attempt];
  }
  if (was && !is && --attempts[attempt] <= 0) attempts.erase(attempt);
  if (attempts.empty()) active_.erase(job);
}

std::optional<std::int64_t> Cluster::NextDue() const {
  if (timers_.empty() || !controllers_) return std::nullopt;
  return timers_.top().first;
}

void Cluster::Settle() {
  if (!controllers_) return;
  std::int64_t looks = 0;
  while (true) {
    while (!timers_.empty() && timers_.top().first <= now_ms()) {
      Enqueue(timers_.top().second);
      timers_.pop();
    }
    if (queue_.empty()) return;
    const Key key = queue_.front();
    queue_.pop_front();
    queued_.erase(key);
    Reconcile(key);
    MUSTER_CHECK(++looks < 50'000'000);  // two controllers that undo each other never settle
  }
}

void Cluster::Reconcile(const Key& key) {
  if (store_.Find(key) == nullptr) return;
  ReconcileGarbage(key);
  if (store_.Find(key) == nullptr) return;
  const std::string& kind = resource(key).kind;
  if (kind == "Namespace") return ReconcileNamespace(key);
  if (kind == "Pod") return ReconcilePod(*this, key);
  if (kind == "Job") return ReconcileJob(*this, key);
  if (kind == "JobSet") return ReconcileJobSet(*this, key);
  if (kind == "PyTorchJob") return ReconcilePyTorchJob(*this, key);
  if (kind == "RayCluster") return ReconcileRayCluster(*this, key);
  if (kind == "RayJob") return ReconcileRayJob(*this, key);
  if (kind == "LeaderWorkerSet") return ReconcileLeaderWorkerSet(*this, key);
}

// Garbage collection: an object whose owners are gone is deleted; an object that is deleted in the
// foreground waits for its dependents.
void Cluster::ReconcileGarbage(const Key& key) {
  const Record* record = store_.Find(key);
  if (!record->owners.empty() && !record->deleting) {
    const bool owned = std::any_of(record->owners.begin(), record->owners.end(),
                                   [&](const std::string& uid) { return store_.ByUid(uid); });
    if (!owned) return Remove(key);
  }
  if (!record->deleting || !record->finalizers) return;
  json::object object = store_.Object(key);
  const bool foreground = HasFinalizer(object, "foregroundDeletion");
  const bool orphan = HasFinalizer(object, "orphan");
  if (!foreground && !orphan) return;
  bool waits = false;
  const std::string uid = record->uid;
  for (const Key& child : store_.ChildrenOf(uid)) {
    const Record* owned = store_.Find(child);
    if (owned == nullptr) continue;
    json::object dependent = store_.Object(child);
    // An object with another owner only loses this owner reference.
    const bool shared = std::any_of(
        owned->owners.begin(), owned->owners.end(),
        [&](const std::string& other) { return other != uid && store_.ByUid(other) != nullptr; });
    if (orphan || shared) {
      json::array& owners = Child(dependent, "metadata")["ownerReferences"].as_array();
      owners.erase(std::remove_if(
                       owners.begin(), owners.end(),
                       [&](const json::value& one) {
        return one.is_object() && Text(one.get_object(), {"uid"}) == uid;
                       }),
                   owners.end());
      Write(child, std::move(dependent));
      continue;
    }
    for (const json::value& one : Items(dependent, {"metadata", "ownerReferences"})) {
      waits = waits || (one.is_object() && Text(one.get_object(), {"uid"}) == uid &&
                        Flag(one.get_object(), {"blockOwnerDeletion"}));
    }
    if (!owned->deleting)
      Remove(child, store_.ChildrenOf(owned->uid).empty() ? "Background" : "Foreground");
  }
  if (store_.Find(key) == nullptr) return;
  bool left = false;
  for (const Key& child : store_.ChildrenOf(uid)) left = left || store_.Find(child) != nullptr;
  if (foreground && waits && left) return;
  object = store_.Object(key);
  DropFinalizer(object, foreground ? "foregroundDeletion" : "orphan");
  Write(key, std::move(object));
}

void Cluster::ReconcileNamespace(const Key& key) {
  const Record* record = store_.Find(key);
  if (!record->deleting) return;
  std::vector<Key> inside;
  for (std::size_t i = 0; i < store_.resources().size(); ++i) {
    const int index = static_cast<int>(i);
    for (auto it = store_.All(index).lower_bound({key.name, ""});
         it != store_.All(index).end() && it->first.first == key.name; ++it) {
      if (store_.resources()[i].namespaced)
        inside.push_back({index, it->first.first, it->first.second});
    }
  }
  for (const Key& one : inside) {
    const Record* found = store_.Find(one);
    if (found != nullptr && !found->deleting) Remove(one);
  }
  const bool empty = std::none_of(inside.begin(), inside.end(),
                                  [&](const Key& one) { return store_.Find(one) != nullptr; });
  if (empty) store_.Erase(key);
}

}  // namespace muster::fake
