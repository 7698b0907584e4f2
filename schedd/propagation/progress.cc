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
// After that many calls without an answer the others do not wait for it any longer.
constexpr int kTriesInOrder = 3;
constexpr std::string_view kOfMember = "member cluster ";  // what `waits` of ours begins with

std::int64_t BackoffNs(int failures) {
  return std::min(kBackoffMostNs, kBackoffNs << std::min(std::max(failures, 1) - 1, 10));
}

// It is not as it is to be, and may become so without anybody's doing.
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

bool BecomesAvailable(const ManifestStatus& status) {
  return status.result == ManifestResult::kApplied &&
         (status.availability == ManifestAvailability::kNotYet ||
          status.availability == ManifestAvailability::kUnknown);
}

bool WasReported(ManifestResult result) {
  return result == ManifestResult::kNoDiffFound || result == ManifestResult::kFoundDiff ||
         result == ManifestResult::kFoundDiffInDegradedMode;
}

// What the caller of MemberObjects adds to an outcome.
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

// An answer that is not about what is wanted by now: what is there is known, but not as a result.
void SetPendingUnless(const std::string& wanted, ManifestStatus* status,
                      const ManifestStatus& recorded) {
  if (!wanted.empty() && status->applied == wanted) return;
  status->result = ManifestResult::kPending;
  status->message.clear();
  if (recorded.since.set()) status->since = recorded.since;
}

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
  next_ = row_ == nullptr ? now : std::min(next_, now);  // whoever waits keeps its place
  row_ = row;
  member_ = member;
  touched_ = true;
  Render(world, shelf);
  config_ = world.config;
  Want(world, now);
  if (back) Stir(now);
}

// A row that was bound before an override was changed is not rendered anew until it is its turn:
// what it was rendered to is kept in memory, and lost by a restart.
void WorkProgress::Render(const WorldView& world, RenderedShelf* shelf) {
  if (row_->state != WorkState::kBound || !row_->override_error.empty()) {
    rendered_ = nullptr;
    rendered_by_id_.clear();
    return;
  }
  if (rendered_ != nullptr && rendered_->hash == row_->rendered) return;
  rendered_by_id_.clear();
  std::weak_ptr<const Rendered>& shared = (*shelf)[row_->rendered];
  rendered_ = shared.lock();
  if (rendered_ == nullptr) shared = rendered_ = Made(world);
  if (rendered_ == nullptr) return;
  for (const RenderedObject& object : rendered_->objects)
    rendered_by_id_[IdOf(object.ref)] = &object;
}

// Null: it is something else by now.
std::shared_ptr<const Rendered> WorkProgress::Made(const WorldView& world) const {
  const auto snapshot = world.works->snapshots.find({row_->ns, row_->placement, row_->snapshot});
  const auto member =
      std::find_if(world.clusters.begin(), world.clusters.end(),
                   [&](const core::ClusterView& one) { return one.member.name == row_->cluster; });
  if (snapshot == world.works->snapshots.end() || member == world.clusters.end()) return nullptr;
  auto made = std::make_shared<Rendered>(
      propagation::Render(*world.config, *snapshot->second, member->member));
  if (!made->error.empty() || made->hash != row_->rendered) return nullptr;
  return made;
}

const RenderedObject* WorkProgress::RenderedOf(const ObjectId& id) const {
  const auto found = rendered_by_id_.find(id);
  return found == rendered_by_id_.end() ? nullptr : found->second;
}

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
      // Looks at what is well are spread out.
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

std::vector<ObjectCall> WorkProgress::Due(Monotonic now, std::size_t most,
                                          const std::function<bool(const ObjectId&)>& busy) {
  std::vector<ObjectCall> calls;
  next_ = now + kCheckNs;
  const bool bound = row_->state == WorkState::kBound && rendered_ != nullptr && has_strategy_;
  if (!member_.reachable() || !(bound || row_->state == WorkState::kLeaving)) return calls;
  AddRemovals(now, most, busy, &calls);
  // Before anything is applied, what the snapshot lacks has been told to go.
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

// The last wave goes first. What leaves the member altogether goes wave after wave; of what a
// revision lacks each is only asked in that order: something that cannot go before others are
// changed must not keep those from being changed.
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

// A wave begins when each object of those before has been tried; those that failed hold up nothing.
// What has not been tried comes before what is only looked at again.
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
      if (found == recorded.end()) continue;  // not on record: never without that
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
  // It was asked for something that it is not to be any more: what it is to be is due.
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
  latest_.merge(recording_);  // what came meanwhile is newer
  recording_.clear();
  touched_ = true;
}

}  // namespace muster::propagation
