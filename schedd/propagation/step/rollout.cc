// The rollout of one placement, in passes over its rows, one row per member:
//
// 1. AddRows joins the members with their rows and picks; evicted rows leave, new picks are
//    scheduled.
// 2. JudgeReadiness counts which rows are ready and how many of them may stop being ready.
// 3. RemoveUnpicked lets members go that are no longer picked.
// 4. Update tells members that are bound of the latest revision; rows that are not ready come
//    first, because that makes no member less available.
// 5. AddNew binds members that are scheduled, as far as maxSurge allows.
// 6. Explain writes what a row waits for; changed rows go into the plan.
//
// N is the number of picked members that have the objects or can be told of them. Unlike KubeFleet,
// N counts neither clusters that no member was found for nor members that do not answer: they would
// stop every update. At least N - maxUnavailable rows stay ready while ready ones are updated or
// leave, and at most N + maxSurge members have the objects. If an override cannot be applied for a
// member, that member stays as it is and its row says why; the others go on.
#include "schedd/propagation/step/rollout.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "schedd/propagation/step/policy_digest.h"
#include "schedd/propagation/step/waves.h"

namespace muster::propagation {
namespace {

// The propagator begins its texts in Work::waits with it (progress.cc).
constexpr std::string_view kOfPropagator = "member cluster ";

// One member of the placement: its row as it was, and as it will be.
struct Row {
  // Null for a new row.
  WorkPtr before;
  Work work;
  const MemberCluster* member = nullptr;
  bool picked = false;
  bool ready = false;
  // Of the latest revision; set if the member is picked.
  std::shared_ptr<const RenderedSnapshot> rendered;

  bool answers() const { return Answers(*member); }
  bool heard_of() const { return member->observed_at.set(); }
  bool has_it() const { return work.state == WorkState::kBound; }
  bool can_be_told() const { return answers() && rendered->error.empty(); }
  // True if the member had the objects and still has some of them.
  bool has_rests() const { return !has_it() && !work.manifests.empty(); }
  bool outdated() const { return work.rendered != rendered->hash; }
  // True if the row was evicted and its objects are not all gone: the member gets nothing new
  // before, whether it is picked again or not.
  bool is_emptied() const {
    return work.state == WorkState::kLeaving && !work.scheduled_at.set() && !work.manifests.empty();
  }
};

// Under ReportDiff an object is ready when it was compared.
bool IsReported(const ManifestStatus& manifest) {
  return manifest.result == ManifestResult::kFoundDiff ||
         manifest.result == ManifestResult::kFoundDiffInDegradedMode ||
         manifest.result == ManifestResult::kNoDiffFound;
}

// The rollout of one placement.
class PlacementRollout {
 public:
  PlacementRollout(const RolloutInput& input, WorkPlan* plan) : input_(input), plan_(plan) {}

  void Run();

 private:
  void AddRows();
  void AddRow(const MemberCluster& member, const WorkPtr& before);
  std::shared_ptr<const RenderedSnapshot> RenderedFor(const MemberCluster& member);
  void Schedule(Row* row, const Pick& pick) const;
  WallTime PickedAt(const Work& work) const;
  bool IsReady(const Work& work, std::optional<WallTime>* ripens) const;
  void JudgeReadiness();
  Work Bound(const Row& row) const;
  void SetPending(ManifestStatus* manifest) const;
  void Follow(const Row& row, Work* work) const;
  void RemoveUnpicked();
  void Update();
  void AddNew();
  std::int64_t Having() const;
  void Explain(Row* row) const;

  const RolloutInput& input_;
  WorkPlan* plan_;
  // If all members get the same; made once.
  std::shared_ptr<const RenderedSnapshot> common_;
  // By name of the member.
  std::vector<Row> rows_;
  // N: see the top of this file.
  std::int64_t picked_ = 0;
  // How many ready rows may stop being ready now.
  std::int64_t expendable_ = 0;
  // How many members may have the objects: N + maxSurge.
  std::int64_t at_a_time_ = 0;
  // maxUnavailable as a number.
  std::int64_t unavailable_ = 0;
  // The first moment at which time alone makes a row ready.
  std::optional<WallTime> ripens_;
};

// A picked member without a row, or with a row that leaves, gets a row in state Scheduled. A row
// that exists keeps its state; its policy is updated unless the member has not been heard of yet.
void PlacementRollout::Schedule(Row* row, const Pick& pick) const {
  Work& work = row->work;
  const bool there = row->before != nullptr && work.state != WorkState::kLeaving;
  if (!there) {
    // The removal may have got halfway, so every object is applied anew.
    for (ManifestStatus& manifest : work.manifests) manifest.applied.clear();
    work.ns = input_.placement->ns;
    work.placement = input_.placement->name;
    work.cluster = row->member->name;
    work.state = WorkState::kScheduled;
    work.snapshot = -1;
    work.rendered.clear();
    work.overrides.clear();
    work.waits.clear();
    work.scheduled_at = PickedAt(work);
    work.bound_at = work.synced_at = {};
  }
  if (!there || !pick.kept) {
    work.affinity_score = pick.affinity_score;
    work.spread_score = pick.spread_score;
  }
  if (!there || row->heard_of()) work.policy = PolicyDigest(input_.placement->policy);
  work.abandon = input_.placement->abandon;
}

// The time of a pick. It is later than the last eviction of this member, whatever the clock says:
// an eviction means only picks before it.
WallTime PlacementRollout::PickedAt(const Work& work) const {
  const auto eviction = input_.evictions->find(KeyOf(work));
  if (eviction == input_.evictions->end()) return input_.now;
  return std::max(input_.now, WallTime{eviction->second.us + 1});
}

// Without manifests: the rollout only compares hashes.
std::shared_ptr<const RenderedSnapshot> PlacementRollout::RenderedFor(const MemberCluster& member) {
  if (!input_.renderer->same_for_all())
    return std::make_shared<const RenderedSnapshot>(input_.renderer->For(member, false));
  if (common_ == nullptr)
    common_ = std::make_shared<const RenderedSnapshot>(input_.renderer->For(member, false));
  return common_;
}

// `before` is null for a member without a row. A member that is neither picked nor has a row is
// left out.
void PlacementRollout::AddRow(const MemberCluster& member, const WorkPtr& before) {
  const auto pick = input_.picks.find(member.name);
  const bool picked = pick != input_.picks.end();
  if (!picked && before == nullptr) return;
  Row& row = rows_.emplace_back();
  row.before = before;
  row.member = &member;
  row.picked = picked;
  if (before != nullptr) row.work = *before;
  if (core::IsEvicted(row.work, *input_.evictions)) {
    Leave(&row.work, false);
    row.work.scheduled_at = {};
  }
  if (picked) row.rendered = RenderedFor(member);
  if (row.is_emptied()) return;
  if (picked) {
    Schedule(&row, pick->second);
    if (row.answers()) row.work.override_error = row.rendered->error;
  } else if (row.work.state == WorkState::kScheduled) {
    Leave(&row.work, false);
  }
}

void PlacementRollout::AddRows() {
  auto work = input_.works.begin();
  // Members and rows are both sorted by member name.
  for (const core::ClusterView& cluster : *input_.clusters) {
    while (work != input_.works.end() && (*work)->cluster < cluster.member.name) ++work;
    const bool there = work != input_.works.end() && (*work)->cluster == cluster.member.name;
    AddRow(cluster.member, there ? *work : nullptr);
  }
}

// True if every object is applied and available, or if its kind cannot tell and the row was bound
// unavailablePeriodSeconds ago; under ReportDiff if every object was compared. If only time is
// missing, `ripens` gets the first moment at which the row becomes ready.
bool PlacementRollout::IsReady(const Work& work, std::optional<WallTime>* ripens) const {
  if (work.state != WorkState::kBound) return false;
  const bool reports = input_.placement->apply.type == ApplyType::kReportDiff;
  bool time_tells = false;
  for (const ManifestStatus& manifest : work.manifests) {
    if (reports && IsReported(manifest)) continue;
    if (reports || manifest.result != ManifestResult::kApplied) return false;
    if (manifest.availability == ManifestAvailability::kAvailable) continue;
    if (manifest.availability != ManifestAvailability::kNotTrackable) return false;
    time_tells = true;
  }
  if (!time_tells) return true;
  const std::int64_t period = input_.placement->rollout.unavailable_period_s;
  const WallTime ripe = work.bound_at.PlusSeconds(period);
  if (ripe <= input_.now) return true;
  *ripens = std::min(ripens->value_or(ripe), ripe);
  return false;
}

// Sets the numbers that bound the rollout.
void PlacementRollout::JudgeReadiness() {
  std::int64_t ready = 0;
  for (Row& row : rows_) {
    row.ready = IsReady(row.work, &ripens_);
    if (row.ready) ++ready;
    // A member that cannot be told of anything is not counted: it would hold up the others.
    if (row.picked && (row.has_it() || row.can_be_told())) ++picked_;
  }
  const RollingUpdate& rollout = input_.placement->rollout;
  unavailable_ = CountOf(rollout.max_unavailable, picked_);
  at_a_time_ = picked_ + CountOf(rollout.max_surge, picked_);
  expendable_ = ready - std::max<std::int64_t>(0, picked_ - unavailable_);
}

// The row that gives the member the latest revision. Every object that has to be changed is Pending
// from now on, also those that must be removed, so that the row is ready only when all is done.
Work PlacementRollout::Bound(const Row& row) const {
  Work work = row.work;
  Follow(row, &work);
  work.state = WorkState::kBound;
  work.waits.clear();
  work.bound_at = input_.now;
  work.synced_at = {};
  std::vector<ManifestStatus> known = std::exchange(work.manifests, {});
  for (const RenderedObject& object : row.rendered->objects) {
    const auto old = std::find_if(known.begin(), known.end(), [&](const ManifestStatus& one) {
      return IsSameObject(one.ref, object.ref);
    });
    ManifestStatus& manifest = work.manifests.emplace_back();
    manifest.since = input_.now;
    if (old != known.end()) {
      manifest = std::move(*old);
      known.erase(old);
    }
    manifest.ref = object.ref;
    manifest.envelope = object.envelope;
    if (manifest.applied != object.hash) SetPending(&manifest);
  }
  for (ManifestStatus& leftover : known) {
    SetPending(&leftover);
    work.manifests.push_back(std::move(leftover));
  }
  std::stable_sort(work.manifests.begin(), work.manifests.end(),
                   [](const auto& a, const auto& b) { return AppliedBefore(a.ref, b.ref); });
  return work;
}

void PlacementRollout::SetPending(ManifestStatus* manifest) const {
  if (manifest->result != ManifestResult::kPending) manifest->since = input_.now;
  manifest->result = ManifestResult::kPending;
  manifest->message.clear();
}

// Sets the fields that say which revision, with which overrides, the member should have.
void PlacementRollout::Follow(const Row& row, Work* work) const {
  work->snapshot = input_.latest->index;
  work->overrides = row.rendered->overrides;
  work->rendered = row.rendered->hash;
}

// A member that is no longer picked leaves at once if it is not ready, else as far as
// maxUnavailable allows.
void PlacementRollout::RemoveUnpicked() {
  for (Row& row : rows_) {
    if (row.picked || !row.has_it()) continue;
    if (row.ready && expendable_ <= 0) continue;
    if (row.ready) --expendable_;
    Leave(&row.work, false);
  }
}

// An update after which the row is still ready costs nothing of maxUnavailable.
void PlacementRollout::Update() {
  for (const bool ready : {false, true}) {
    for (Row& row : rows_) {
      if (!row.picked || !row.has_it() || row.ready != ready || !row.rendered->error.empty())
        continue;
      if (!row.outdated()) {
        Follow(row, &row.work);
        continue;
      }
      if (!row.answers()) continue;
      Work bound = Bound(row);
      std::optional<WallTime> ignored;
      const bool costs = ready && !IsReady(bound, &ignored);
      if (costs && expendable_ <= 0) continue;
      if (costs) --expendable_;
      row.work = std::move(bound);
    }
  }
}

// The number of members that have some of the objects. Rests on a member that does not answer are
// not waited for.
std::int64_t PlacementRollout::Having() const {
  return std::count_if(rows_.begin(), rows_.end(), [](const Row& row) {
    return row.has_it() || (row.has_rests() && row.answers());
  });
}

// Binds scheduled members. A member with rests is counted among those that have the objects
// already.
void PlacementRollout::AddNew() {
  std::int64_t room = at_a_time_ - Having();
  for (Row& row : rows_) {
    const bool waits = row.picked && row.work.state == WorkState::kScheduled;
    if (!waits || !row.can_be_told() || (room <= 0 && !row.has_rests())) continue;
    if (!row.has_rests()) --room;
    row.work = Bound(row);
  }
}

// Writes what a row waits for into Work::waits. What the propagator says of the member ("member
// cluster ...") is left alone.
void PlacementRollout::Explain(Row* row) const {
  Work& work = row->work;
  if (work.state == WorkState::kLeaving) return;
  if (row->has_it() && (work.waits.starts_with(kOfPropagator) || !row->heard_of())) return;
  work.waits.clear();
  if (!work.override_error.empty()) return;
  const std::string at_most = ": at most " + std::to_string(unavailable_) + " of " +
                              std::to_string(picked_) + " members may be unavailable at a time";
  if (!row->has_it()) {
    work.waits = row->answers() ? "waits for its turn: at most " + std::to_string(at_a_time_) +
                                      " members may have the objects at a time"
                                : std::string(kOfPropagator) + work.cluster + " does not answer";
  } else if (!row->picked) {
    work.waits = "waits for its turn to be left" + at_most;
  } else if (row->outdated()) {
    work.waits = row->answers() ? "waits for its turn to be updated" + at_most
                                : "is updated when the member answers again";
  }
}

void PlacementRollout::Run() {
  AddRows();
  JudgeReadiness();
  RemoveUnpicked();
  Update();
  AddNew();
  bool held_up = false;
  for (Row& row : rows_) {
    Explain(&row);
    held_up = held_up || (row.has_it() && !row.work.waits.empty());
    Record(row.before, std::move(row.work), plan_);
  }
  if (held_up && ripens_ && (!plan_->again_at.set() || *ripens_ < plan_->again_at))
    plan_->again_at = *ripens_;
}

}  // namespace

void RollOut(const RolloutInput& input, WorkPlan* plan) { PlacementRollout(input, plan).Run(); }

void Leave(Work* work, bool abandon) {
  work->state = WorkState::kLeaving;
  work->abandon = abandon;
  work->waits.clear();
  work->override_error.clear();
}

void Record(const WorkPtr& before, Work now, WorkPlan* plan) {
  if (now.state == WorkState::kLeaving && now.manifests.empty()) {
    if (before != nullptr) plan->ended_works.push_back(KeyOf(now));
  } else if (before == nullptr || !(*before == now)) {
    plan->works.push_back(std::make_shared<const Work>(std::move(now)));
  }
}

}  // namespace muster::propagation
