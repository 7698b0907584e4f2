// The life of one Work on its member. Follow takes each new version of the row; Due says which
// calls are due; Applied and Removed take their answers; Fold makes the row that records them.
//
// One Item per manifest of the row holds what the object should be (`wanted`, the hash of its
// manifest, or "" if it should go), whether the member has answered for that, and when the object
// is called again. Answers are kept in `latest_` until they are recorded, and in `recording_` while
// a command with them is under way; StatusOf prefers the newest of the two to the row.
//
// Order, of a bound work: first each object that its revision lacks is asked to go, the last wave
// first; then the objects are applied wave after wave. A wave begins when every object of the waves
// before it has been tried: an object that failed, or that is still being deleted (a finalizer),
// holds up nothing, because it may wait for what comes next. The objects of a leaving work go wave
// by wave from the end, and each wave waits until the one after it is gone.
//
// When: an object that has changed is called at once; one that failed or is not available yet after
// 5 seconds, then twice as long up to a minute; every other object every kObjectCheckS seconds,
// spread out, and when its member reports a change or is back.
#include "schedd/propagation/progress.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/propagation/clean_text.h"
#include "schedd/propagation/step/waves.h"

namespace muster::propagation {
namespace {

constexpr std::int64_t kBackoffNs = 5 * kNanosPerSecond, kBackoffMostNs = 60 * kNanosPerSecond;
constexpr std::int64_t kCheckNs = limits::kObjectCheckS * kNanosPerSecond;
// After this many calls without an answer the next wave does not wait for the object any longer.
constexpr int kTriesInOrder = 3;
// Each text that this file writes into Work::waits begins with it. The rollout (step/rollout.cc)
// leaves such texts alone.
constexpr std::string_view kOfMember = "member cluster ";

// 5 seconds, doubled with each failure in a row, at most a minute.
std::int64_t BackoffNs(int failures) {
  return std::min(kBackoffMostNs, kBackoffNs << std::min(std::max(failures, 1) - 1, 10));
}

// True if the object is not as it should be and another try may succeed without a change of the
// row.
bool Failed(ManifestResult result) {
  switch (result) {
    case ManifestResult::kPending:
    case ManifestResult::kApplyFailed:
    case ManifestResult::kFailedToTakeOver:
    case ManifestResult::kNotTakenOver:
    case ManifestResult::kFailedToReportDiff:
      return true;
    default:
      return false;
  }
}

// True for an object that is applied but whose availability may still change by itself.
bool BecomesAvailable(const ManifestStatus& status) {
  return status.result == ManifestResult::kApplied &&
         (status.availability == ManifestAvailability::kNotYet ||
          status.availability == ManifestAvailability::kUnknown);
}

bool WasReported(ManifestResult result) {
  return result == ManifestResult::kNoDiffFound || result == ManifestResult::kFoundDiff ||
         result == ManifestResult::kFoundDiffInDegradedMode;
}

// Completes the status of an answer with what the row adds: the object's name, the times since when
// the result and the differences hold, and the bounds of what is stored.
ManifestStatus Recordable(ManifestStatus status, const ObjectOrder& order, WallTime wall) {
  const ManifestStatus& before = order.before;
  status.ref = order.ref;
  status.envelope = before.envelope;
  status.since = status.result == before.result && before.since.set() ? before.since : wall;
  if (status.differences.size() > limits::kDifferencesKept)
    status.differences.resize(limits::kDifferencesKept);
  const bool differs = !status.differences.empty();
  const bool differed = !before.differences.empty() && before.first_differed_at.set();
  status.observed_at = differs ? wall : WallTime{};
  status.first_differed_at = !differs ? WallTime{} : differed ? before.first_differed_at : wall;
  CleanTexts(&status);
  return status;
}

// An answer may be about a manifest that is no longer wanted. Then what it says of the object is
// kept, but its result becomes Pending, unless the object already has the wanted manifest.
void SetPendingUnless(const std::string& wanted, ManifestStatus* status,
                      const ManifestStatus& recorded) {
  if (!wanted.empty() && status->applied == wanted) return;
  status->result = ManifestResult::kPending;
  status->message.clear();
  if (recorded.since.set()) status->since = recorded.since;
}

// A status that says nothing but which object it is of.
ManifestStatus Untried(const ManifestStatus& manifest) {
  ManifestStatus status;
  status.ref = manifest.ref;
  status.envelope = manifest.envelope;
  return status;
}

}  // namespace

ObjectId IdOf(const ResourceRef& ref) { return {ref.group, ref.kind, ref.ns, ref.name}; }

void WorkProgress::Follow(const WorkPtr& row, const WorldView& world, const MemberState& member,
                          Monotonic now, RenderedShelf* shelf) {
  const bool back = row_ != nullptr && member_.heard && !member_.reachable() && member.reachable();
  // A work that already waits for a call keeps its place in the order of waiting works.
  next_ = row_ == nullptr ? now : std::min(next_, now);
  row_ = row;
  member_ = member;
  touched_ = true;
  Render(world, shelf);
  config_ = world.config;
  Want(world, now);
  if (back) Stir(now);
}

// Takes the rendered manifests from `shelf`, or makes them. If the result does not have the hash of
// the row (an override was changed, and the rollout has not come to this member), there is none:
// the manifests that the row was made with were in memory only, and a restart loses them. Then
// nothing on the member is corrected or removed until the rollout comes to it.
void WorkProgress::Render(const WorldView& world, RenderedShelf* shelf) {
  if (row_->state != WorkState::kBound || !row_->override_error.empty()) {
    rendered_ = nullptr;
    rendered_by_id_.clear();
    return;
  }
  if (rendered_ != nullptr && rendered_->hash == row_->rendered) return;
  rendered_by_id_.clear();
  std::weak_ptr<const RenderedSnapshot>& shared = (*shelf)[row_->rendered];
  rendered_ = shared.lock();
  if (rendered_ == nullptr) shared = rendered_ = Made(world);
  if (rendered_ == nullptr) return;
  for (const RenderedObject& object : rendered_->objects)
    rendered_by_id_[IdOf(object.ref)] = &object;
}

// Null if the snapshot or the member is gone, or if overrides now give another result than the
// row's.
std::shared_ptr<const RenderedSnapshot> WorkProgress::Made(const WorldView& world) const {
  const auto snapshot = world.works->snapshots.find({row_->ns, row_->placement, row_->snapshot});
  const auto member =
      std::find_if(world.clusters.begin(), world.clusters.end(),
                   [&](const core::ClusterView& one) { return one.member.name == row_->cluster; });
  if (snapshot == world.works->snapshots.end() || member == world.clusters.end()) return nullptr;
  auto made = std::make_shared<RenderedSnapshot>(
      propagation::Render(*world.config, *snapshot->second, member->member));
  if (!made->error.empty() || made->hash != row_->rendered) return nullptr;
  return made;
}

const RenderedObject* WorkProgress::RenderedOf(const ObjectId& id) const {
  const auto found = rendered_by_id_.find(id);
  return found == rendered_by_id_.end() ? nullptr : found->second;
}

// Makes one Item for each manifest of the row. An object whose wanted manifest or strategy has
// changed starts anew and is due now; all others keep their state.
void WorkProgress::Want(const WorldView& world, Monotonic now) {
  const PlacementPtr placement = world.config->placements == nullptr
                                     ? nullptr
                                     : world.config->placements->Find(row_->ns, row_->placement);
  has_strategy_ = placement != nullptr;
  if (has_strategy_) strategy_ = placement->apply;
  std::map<ObjectId, Item> items;
  const auto count = static_cast<std::int64_t>(row_->manifests.size());
  std::int64_t at = 0;
  for (const ManifestStatus& manifest : row_->manifests) {
    const ObjectId id = IdOf(manifest.ref);
    const RenderedObject* const object = RenderedOf(id);
    const std::string wanted = object == nullptr ? "" : object->hash;
    ++at;
    auto known = items_.extract(id);
    if (known.empty()) {
      Item& item = items[id];
      item.wanted = wanted;
      item.strategy = strategy_;
      // Regular looks at objects that are well are spread over the whole period.
      item.tried = !wanted.empty() && manifest.applied == wanted &&
                   manifest.result == ManifestResult::kApplied;
      item.next = item.tried && !BecomesAvailable(manifest) ? now + kCheckNs * at / count : now;
      continue;
    }
    Item& item = known.mapped();
    if (item.wanted != wanted || item.strategy != strategy_) {
      if (item.gone) latest_[id] = Untried(manifest);
      if (const auto newer = latest_.find(id); newer != latest_.end())
        SetPendingUnless(wanted, &newer->second, manifest);
      item = Item{};
      item.wanted = wanted;
      item.strategy = strategy_;
      item.next = now;
    }
    items.insert(std::move(known));
  }
  items_ = std::move(items);
}

void WorkProgress::Stir(Monotonic now) {
  for (auto& [id, item] : items_) item.next = std::min(item.next, now);
  next_ = std::min(next_, now);
}

const ManifestStatus& WorkProgress::StatusOf(const ObjectId& id,
                                             const ManifestStatus& recorded) const {
  if (const auto found = latest_.find(id); found != latest_.end()) return found->second;
  if (const auto found = recording_.find(id); found != recording_.end()) return found->second;
  return recorded;
}

// If more calls are due than `most`, the work stays due at once.
std::vector<ObjectCall> WorkProgress::Due(Monotonic now, std::size_t most,
                                          const std::function<bool(const ObjectId&)>& busy) {
  std::vector<ObjectCall> calls;
  next_ = now + kCheckNs;
  const bool bound = row_->state == WorkState::kBound && rendered_ != nullptr && has_strategy_;
  if (!member_.reachable() || !(bound || row_->state == WorkState::kLeaving)) return calls;
  AddRemovals(now, most, busy, &calls);
  // Nothing is applied before each object that the snapshot lacks has been asked to go.
  const bool asked = std::all_of(items_.begin(), items_.end(), [](const auto& one) {
    return !one.second.wanted.empty() || one.second.tried || one.second.gone;
  });
  if (bound && asked) AddApplies(now, most, busy, &calls);
  if (calls.size() >= most) {
    next_ = now;
  } else {
    SetNext(now);
  }
  return calls;
}

void WorkProgress::SetNext(Monotonic now) {
  for (const auto& [id, item] : items_) {
    if (item.gone) continue;
    next_ = std::min(next_, std::max(item.next, now));
  }
}

// True if the object may be called now: it is not gone, it is due, and no other call for it is
// under way.
bool WorkProgress::Offer(const ObjectId& id, Monotonic now,
                         const std::function<bool(const ObjectId&)>& busy) const {
  const Item& item = items_.at(id);
  return !item.gone && item.next <= now && !busy(id);
}

ObjectCall WorkProgress::RemovalOf(const ManifestStatus& manifest) const {
  ObjectCall call;
  call.remove = true;
  call.id = IdOf(manifest.ref);
  call.removal.cluster = row_->cluster;
  call.removal.ref = manifest.ref;
  call.removal.owner.placement = row_->ns + "/" + row_->placement;
  call.removal.remote_uid = StatusOf(call.id, manifest).remote_uid;
  call.removal.abandon = row_->state == WorkState::kLeaving && row_->abandon;
  return call;
}

// Adds the removals that are due, the last wave first. Objects of a leaving work wait until those
// of later waves are gone, or the member has refused to remove them. Objects that a new revision
// lacks wait only until those of later waves have been asked once: an object that cannot go before
// another one is changed must not keep that change from being applied.
void WorkProgress::AddRemovals(Monotonic now, std::size_t most,
                               const std::function<bool(const ObjectId&)>& busy,
                               std::vector<ObjectCall>* calls) {
  const bool leaving = row_->state == WorkState::kLeaving;
  const auto settled = [&](const Item& item) {
    return item.gone || item.refused || (!leaving && item.tried);
  };
  std::int32_t last = -1;
  for (const ManifestStatus& manifest : row_->manifests) {
    const Item& item = items_.at(IdOf(manifest.ref));
    if (item.wanted.empty() && !settled(item)) last = std::max(last, WaveOf(manifest.ref));
  }
  for (const ManifestStatus& manifest : row_->manifests) {
    if (calls->size() >= most) return;
    const ObjectId id = IdOf(manifest.ref);
    const Item& item = items_.at(id);
    if (!item.wanted.empty() || !Offer(id, now, busy)) continue;
    if (!settled(item) && WaveOf(manifest.ref) < last) continue;
    calls->push_back(RemovalOf(manifest));
  }
}

// Adds the calls that apply objects. A wave begins when each object of the earlier waves has been
// tried. Objects that have not been tried come before regular looks at objects that have.
void WorkProgress::AddApplies(Monotonic now, std::size_t most,
                              const std::function<bool(const ObjectId&)>& busy,
                              std::vector<ObjectCall>* calls) {
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  std::map<ObjectId, const ManifestStatus*> recorded;
  for (const ManifestStatus& manifest : row_->manifests) {
    const ObjectId id = IdOf(manifest.ref);
    const Item& item = items_.at(id);
    recorded.emplace(id, &manifest);
    if (!item.wanted.empty() && !item.tried) first = std::min(first, WaveOf(manifest.ref));
  }
  for (const bool again : {false, true}) {
    for (const RenderedObject& object : rendered_->objects) {
      if (calls->size() >= most) return;
      const ObjectId id = IdOf(object.ref);
      const auto found = recorded.find(id);
      // An object that the row does not list is never written.
      if (found == recorded.end()) continue;
      const Item& item = items_.at(id);
      if (item.tried != again || !Offer(id, now, busy)) continue;
      if (!again && WaveOf(object.ref) > first) continue;
      ObjectCall call;
      call.id = id;
      call.order = {row_->cluster,
                    object.ref,
                    object.manifest,
                    object.hash,
                    {row_->ns + "/" + row_->placement},
                    strategy_,
                    StatusOf(id, *found->second)};
      call.order.before.ref = object.ref;
      call.order.before.envelope = object.envelope;
      calls->push_back(std::move(call));
    }
  }
}

void WorkProgress::Applied(const ObjectCall& call, const Result<ObjectOutcome>& answer,
                           Monotonic now, WallTime wall) {
  touched_ = true;
  next_ = std::min(next_, now);
  const auto found = items_.find(call.id);
  if (found == items_.end()) return;
  Item& item = found->second;
  if (answer.ok()) {
    ManifestStatus& status = latest_[call.id] = Recordable(answer->status, call.order, wall);
    if (item.wanted != call.order.hash) SetPendingUnless(item.wanted, &status, call.order.before);
  }
  // The call was for a manifest or strategy that is no longer wanted; the wanted one is due
  // already.
  if (item.wanted != call.order.hash || item.strategy != call.order.strategy) return;
  if (!answer.ok()) {
    item.trouble = "did not answer: " + answer.error().detail;
    item.next = now + BackoffNs(++item.failures);
    item.tried = item.tried || item.failures >= kTriesInOrder;
    return;
  }
  const ManifestStatus& status = latest_.at(call.id);
  item.tried = true;
  item.trouble.clear();
  if (Failed(status.result) || BecomesAvailable(status)) {
    item.next = now + BackoffNs(++item.failures);
  } else {
    item.failures = 0;
    item.next = now + kCheckNs;
  }
}

// An answer of true means that the object is gone, false that its deletion is under way (a
// finalizer). A code other than kUnavailable and kUnknown means that the member refuses the
// removal.
void WorkProgress::Removed(const ObjectCall& call, const Result<bool>& answer, Monotonic now) {
  touched_ = true;
  next_ = std::min(next_, now);
  const auto found = items_.find(call.id);
  if (found == items_.end() || !found->second.wanted.empty()) return;
  Item& item = found->second;
  item.next = now + BackoffNs(++item.failures);
  item.refused = false;
  item.trouble.clear();
  if (answer.ok()) {
    item.tried = true;
    item.gone = *answer;
    if (!item.gone) item.trouble = "is still removing " + MentionOf(call.removal.ref);
    return;
  }
  const Code code = answer.error().code;
  if (code == Code::kUnavailable || code == Code::kUnknown) {
    item.trouble = "did not answer: " + answer.error().detail;
    item.tried = item.tried || item.failures >= kTriesInOrder;
  } else {
    item.tried = item.refused = true;
    item.trouble =
        "does not let " + MentionOf(call.removal.ref) + " be removed: " + answer.error().detail;
  }
}

// The sentence for Work::waits: the first trouble on the member, or "". While the member is not
// known yet, the row's text stays.
std::string WorkProgress::Waits() const {
  if (!member_.known || !member_.heard) return row_->waits;
  std::string why;
  if (!member_.answers) {
    why = "does not answer";
  } else if (!member_.takes) {
    why = "takes no configuration objects";
  } else {
    for (const auto& [id, item] : items_) {
      if (!item.trouble.empty() && !item.gone) {
        why = item.trouble;
        break;
      }
    }
  }
  if (why.empty()) return "";
  return CleanText(std::string(kOfMember) + row_->cluster + " " + why, kWaitsBytes);
}

// True if the member has exactly the rendered objects, each applied (under ReportDiff: reported).
bool WorkProgress::IsSynced(const Work& work) const {
  if (rendered_ == nullptr || work.manifests.size() != rendered_->objects.size()) return false;
  return std::all_of(work.manifests.begin(), work.manifests.end(), [&](const auto& status) {
    const RenderedObject* const object = RenderedOf(IdOf(status.ref));
    if (object == nullptr) return false;
    if (strategy_.type == ApplyType::kReportDiff) return WasReported(status.result);
    return status.result == ManifestResult::kApplied && status.applied == object->hash;
  });
}

Work WorkProgress::Fold(WallTime wall) const {
  Work work = *row_;
  if (work.state == WorkState::kScheduled) return work;
  work.manifests.clear();
  const bool decided = rendered_ != nullptr || work.state == WorkState::kLeaving;
  for (const ManifestStatus& manifest : row_->manifests) {
    const ObjectId id = IdOf(manifest.ref);
    if (decided && items_.at(id).gone) continue;
    work.manifests.push_back(StatusOf(id, manifest));
    work.manifests.back().ref = manifest.ref;
    work.manifests.back().envelope = manifest.envelope;
  }
  if (work.waits.empty() || work.waits.starts_with(kOfMember)) work.waits = Waits();
  const bool new_binding = !work.synced_at.set() || work.synced_at < work.bound_at;
  if (work.state == WorkState::kBound && new_binding && IsSynced(work))
    work.synced_at = std::max(wall, work.bound_at);
  return work;
}

void WorkProgress::Recording() {
  recording_ = std::exchange(latest_, {});
  touched_ = false;
}

void WorkProgress::Recorded() { recording_.clear(); }

void WorkProgress::NotRecorded() {
  // Answers that came meanwhile are newer, and merge() keeps them.
  latest_.merge(recording_);
  recording_.clear();
  touched_ = true;
}

}  // namespace muster::propagation
