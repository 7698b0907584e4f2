// AttemptCache: objects by uid, pods by attempt, and a list of changes.
//
// A change only marks the object's uid; the observation is made when it is taken, from the object
// and the pods of that moment. So any number of changes between two calls of TakeChanges gives one
// observation. Two cases need an observation at once, because the object leaves the cache: its end,
// if that was not taken yet, and then the fact that it is missing. Their order in changes_ keeps
// the end before the deletion.
//
// A list replaces what is known without a gap. Each list has a number; each object remembers the
// last list that contained it; EndList forgets the objects of the kind with a smaller number. An
// event that comes while a list is under way carries that number too, so the list does not drop it.
// Pods are collected in listed_pods_ and swapped in.
//
// A pod that failed and was then deleted may be the only explanation of a failure. The pod that
// failed first is kept per attempt (`gone`) as long as the attempt's object exists.
#include "backends/k8s/attempt_cache.h"

#include <algorithm>
#include <utility>

namespace muster::k8s {
namespace {

bool Ended(RemotePhase phase) {
  return phase == RemotePhase::kSucceeded || phase == RemotePhase::kFailed;
}

// Whether Observe would read the same from both.
bool SamePods(const std::vector<PodState>& a, const std::vector<PodState>& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end(),
                             [](const PodState& one, const PodState& other) {
    return one.uid == other.uid && one.phase == other.phase && one.ready == other.ready &&
           one.deleting == other.deleting && one.disruption == other.disruption &&
           one.failure.has_value() == other.failure.has_value() &&
           one.out_of_memory == other.out_of_memory && one.message == other.message;
  });
}

}  // namespace

AttemptCache::AttemptCache(std::string cluster, std::string incarnation)
    : cluster_(std::move(cluster)), incarnation_(std::move(incarnation)) {}

void AttemptCache::BeginList(const KindInfo& kind) {
  MutexLock lock(mutex_);
  listing_[&kind] = ++lists_;
}

void AttemptCache::PutListed(ObjectState object) {
  MutexLock lock(mutex_);
  const auto list = listing_.find(object.kind);
  if (list != listing_.end()) PutLocked(std::move(object), list->second);
}

void AttemptCache::EndList(const KindInfo& kind) {
  MutexLock lock(mutex_);
  const std::uint64_t list = listing_[&kind];
  std::vector<std::string> gone;
  for (const auto& [uid, entry] : objects_) {
    if (entry.state.kind == &kind && entry.listed < list) gone.push_back(uid);
  }
  std::sort(gone.begin(), gone.end());
  for (const std::string& uid : gone) ForgetLocked(uid);
}

void AttemptCache::Put(ObjectState object) {
  MutexLock lock(mutex_);
  PutLocked(std::move(object), lists_);
}

void AttemptCache::Remove(const ObjectState& last) {
  MutexLock lock(mutex_);
  const auto found = objects_.find(last.uid);
  if (found == objects_.end()) return;
  if (last.attempt == found->second.state.attempt) found->second.state = last;
  ForgetLocked(last.uid);
}

// Stores an object and marks it changed, unless its resource version is the known one: a list
// mostly repeats known objects. An object whose attempt labels were removed or changed counts as
// deleted, for the watch with our label selector reports it as deleted too.
void AttemptCache::PutLocked(ObjectState object, std::uint64_t list) {
  if (object.uid.empty()) return;
  const auto known = objects_.find(object.uid);
  if (!object.attempt ||
      (known != objects_.end() && known->second.state.attempt != object.attempt)) {
    if (known != objects_.end()) ForgetLocked(object.uid);
    if (!object.attempt) return;
  }
  const std::string uid = object.uid;
  Entry& entry = objects_[uid];
  if (entry.state.attempt && entry.state.resource_version == object.resource_version) {
    entry.listed = list;
    return;
  }
  if (!entry.state.attempt) by_attempt_[*object.attempt].push_back(uid);
  entry.state = std::move(object);
  entry.listed = list;
  MarkLocked(uid);
}

// Removes an object and queues its end, if that was not taken, and that it is missing.
void AttemptCache::ForgetLocked(const std::string& uid) {
  const auto found = objects_.find(uid);
  if (found == objects_.end()) return;
  const Entry& entry = found->second;
  if (marked_.erase(uid) > 0) {
    std::erase_if(changes_, [&](const Change& one) { return one.uid == uid && !one.last; });
  }
  Observation last = ObserveLocked(entry.state, {});
  if (Ended(last.phase) && !entry.told_end) changes_.push_back({uid, last});
  last.phase = RemotePhase::kMissing;
  last.held = last.deleting = false;
  last.ready_pods = last.active_pods = 0;
  last.message = std::string(entry.state.kind->kind) + " " + entry.state.ns + "/" +
                 entry.state.name + " was deleted on the member";
  changes_.push_back({uid, std::move(last)});
  const auto same = by_attempt_.find(*entry.state.attempt);
  std::erase(same->second, uid);
  if (same->second.empty()) {
    if (const auto pods = pods_.find(same->first); pods != pods_.end()) {
      std::erase_if(pods->second, [](const PodState& pod) { return pod.gone; });
      if (pods->second.empty()) pods_.erase(pods);
    }
    by_attempt_.erase(same);
  }
  objects_.erase(found);
}

// Queues an observation of the object, unless one is queued.
void AttemptCache::MarkLocked(const std::string& uid) {
  if (marked_.insert(uid).second) changes_.push_back({uid, std::nullopt});
}

void AttemptCache::MarkAttemptLocked(const AttemptLabels& attempt) {
  const auto found = by_attempt_.find(attempt);
  if (found == by_attempt_.end()) return;
  for (const std::string& uid : found->second) MarkLocked(uid);
}

void AttemptCache::BeginPods() {
  MutexLock lock(mutex_);
  listed_pods_.clear();
}

void AttemptCache::PutListedPod(PodState pod) {
  MutexLock lock(mutex_);
  PutPodLocked(std::move(pod), &listed_pods_);
}

void AttemptCache::EndPods() {
  MutexLock lock(mutex_);
  pods_.swap(listed_pods_);
  // `listed_pods_` now holds the pods from before the list. One that failed and is gone explains
  // the failure still.
  for (auto& [attempt, before] : listed_pods_) {
    for (PodState& pod : before) {
      const auto now = pods_.find(attempt);
      const bool here = now != pods_.end() &&
                        std::any_of(now->second.begin(), now->second.end(),
                                    [&](const PodState& one) { return one.uid == pod.uid; });
      if (!here) KeepGoneLocked(pod);
    }
  }
  for (const auto& [attempt, pods] : pods_) {
    const auto before = listed_pods_.find(attempt);
    if (before == listed_pods_.end() || !SamePods(before->second, pods)) MarkAttemptLocked(attempt);
  }
  for (const auto& [attempt, pods] : listed_pods_) {
    if (!pods_.contains(attempt)) MarkAttemptLocked(attempt);
  }
  listed_pods_.clear();
}

// Keeps one deleted pod per attempt, the one that failed first, as long as the attempt's object is
// there.
void AttemptCache::KeepGoneLocked(PodState pod) {
  if (!by_attempt_.contains(*pod.attempt)) return;
  if (!pod.failure && pod.disruption == Disruption::kNone) return;
  pod.gone = true;
  Pods& pods = pods_[*pod.attempt];
  const auto kept =
      std::find_if(pods.begin(), pods.end(), [](const PodState& one) { return one.gone; });
  if (kept == pods.end()) {
    pods.push_back(std::move(pod));
  } else if (FailedBefore(pod, *kept)) {
    *kept = std::move(pod);
  }
}

void AttemptCache::PutPod(PodState pod) {
  MutexLock lock(mutex_);
  if (pod.attempt) MarkAttemptLocked(*pod.attempt);
  PutPodLocked(std::move(pod), &pods_);
}

void AttemptCache::PutPodLocked(PodState pod, std::map<AttemptLabels, Pods>* pods) {
  if (!pod.attempt || pod.uid.empty()) return;
  Pods& list = (*pods)[*pod.attempt];
  const auto known = std::find_if(list.begin(), list.end(),
                                  [&](const PodState& one) { return one.uid == pod.uid; });
  if (known != list.end()) {
    *known = std::move(pod);
  } else {
    list.push_back(std::move(pod));
  }
}

void AttemptCache::RemovePod(const PodState& last) {
  MutexLock lock(mutex_);
  if (!last.attempt) return;
  if (const auto found = pods_.find(*last.attempt); found != pods_.end()) {
    std::erase_if(found->second, [&](const PodState& one) { return one.uid == last.uid; });
    if (found->second.empty()) pods_.erase(found);
  }
  KeepGoneLocked(last);
  MarkAttemptLocked(*last.attempt);
}

// The observation of an object and its pods. Labels can be copied, so pods of other namespaces do
// not count.
Observation AttemptCache::ObserveLocked(const ObjectState& state, WallTime now) const {
  const auto found = pods_.find(*state.attempt);
  Pods own;
  std::span<const PodState> pods;
  if (found != pods_.end()) {
    pods = found->second;
    // A pod of another namespace with these labels is a stranger's copy.
    if (std::any_of(pods.begin(), pods.end(),
                    [&](const PodState& pod) { return pod.ns != state.ns; })) {
      std::copy_if(pods.begin(), pods.end(), std::back_inserter(own),
                   [&](const PodState& pod) { return pod.ns == state.ns; });
      pods = own;
    }
  }
  Observation seen = Observe(state, pods);
  seen.key.cluster = cluster_;
  seen.incarnation = incarnation_;
  seen.observed_at = now;
  return seen;
}

// Whether the object has failed, no known pod has an exit code, and its pods were not read yet. The
// end of an object often arrives before that of its pods, since they come through different
// watches.
bool AttemptCache::LacksExitLocked(const Entry& entry) const {
  return entry.state.phase == RemotePhase::kFailed && !entry.asked &&
         !ObserveLocked(entry.state, {}).exit_code;
}

std::vector<Observation> AttemptCache::TakeChanges(std::size_t limit, WallTime now) {
  MutexLock lock(mutex_);
  std::vector<Observation> out;
  std::vector<Change> later;
  std::size_t taken = 0;
  for (; taken < changes_.size() && out.size() < limit; ++taken) {
    Change& change = changes_[taken];
    if (change.last) {
      change.last->observed_at = now;
      out.push_back(std::move(*change.last));
      continue;
    }
    Entry& entry = objects_.at(change.uid);
    if (LacksExitLocked(entry)) {
      later.push_back(std::move(change));
      continue;
    }
    marked_.erase(change.uid);
    out.push_back(ObserveLocked(entry.state, now));
    entry.told_end = Ended(out.back().phase);
  }
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(taken));
  changes_.insert(changes_.begin(), std::make_move_iterator(later.begin()),
                  std::make_move_iterator(later.end()));
  return out;
}

std::vector<AttemptCache::FailedAttempt> AttemptCache::AwaitsPods() {
  MutexLock lock(mutex_);
  std::vector<FailedAttempt> out;
  for (const Change& change : changes_) {
    if (change.last) continue;
    Entry& entry = objects_.at(change.uid);
    if (entry.asking || !LacksExitLocked(entry)) continue;
    entry.asking = true;
    out.push_back({*entry.state.attempt, entry.state.ns, change.uid});
  }
  return out;
}

void AttemptCache::PodsAsked(const std::string& uid) {
  MutexLock lock(mutex_);
  const auto found = objects_.find(uid);
  if (found == objects_.end()) return;
  found->second.asked = true;
  MarkLocked(uid);
}

std::vector<Observation> AttemptCache::All(WallTime now) const {
  MutexLock lock(mutex_);
  std::vector<Observation> out;
  out.reserve(objects_.size());
  for (const auto& [attempt, uids] : by_attempt_) {
    for (const std::string& uid : uids) {
      const Entry& entry = objects_.at(uid);
      Observation seen = ObserveLocked(entry.state, now);
      // Its pods are being read. Its end is reported after that; until then it counts as running.
      if (LacksExitLocked(entry)) seen.phase = RemotePhase::kRunning;
      out.push_back(std::move(seen));
    }
  }
  return out;
}

std::optional<ObjectState> AttemptCache::Find(const std::string& uid) const {
  MutexLock lock(mutex_);
  const auto found = objects_.find(uid);
  if (found == objects_.end()) return std::nullopt;
  return found->second.state;
}

std::optional<ObjectVersion> AttemptCache::VersionOf(const std::string& uid) const {
  MutexLock lock(mutex_);
  const auto found = objects_.find(uid);
  if (found == objects_.end()) return std::nullopt;
  return ObjectVersion{found->second.state.resource_version, found->second.state.generation};
}

std::optional<ObjectState> AttemptCache::FindAttempt(const AttemptLabels& attempt) const {
  MutexLock lock(mutex_);
  const auto found = by_attempt_.find(attempt);
  if (found == by_attempt_.end()) return std::nullopt;
  const ObjectState* best = nullptr;
  for (const std::string& uid : found->second) {
    const ObjectState& state = objects_.at(uid).state;
    if (best == nullptr || (best->finalizer < 0 && state.finalizer >= 0)) best = &state;
  }
  return *best;
}

std::vector<PodState> AttemptCache::PodsOf(const AttemptLabels& attempt,
                                           const std::string& ns) const {
  MutexLock lock(mutex_);
  std::vector<PodState> out;
  const auto found = pods_.find(attempt);
  if (found == pods_.end()) return out;
  std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(out),
               [&](const PodState& pod) { return pod.ns == ns && !pod.gone; });
  std::sort(out.begin(), out.end(), PodBefore);
  return out;
}

bool AttemptCache::Holds(const KindInfo& kind) const {
  MutexLock lock(mutex_);
  return std::any_of(objects_.begin(), objects_.end(),
                     [&](const auto& one) { return one.second.state.kind == &kind; });
}

bool AttemptCache::NeedsNamespace(const std::string& ns) const {
  MutexLock lock(mutex_);
  return std::any_of(objects_.begin(), objects_.end(), [&](const auto& one) {
    const ObjectState& state = one.second.state;
    const bool ended =
        state.phase == RemotePhase::kSucceeded || state.phase == RemotePhase::kFailed;
    return state.ns == ns && !(ended && state.finalizer < 0);
  });
}

}  // namespace muster::k8s
