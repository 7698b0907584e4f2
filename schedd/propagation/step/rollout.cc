#include "schedd/propagation/step/rollout.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "schedd/propagation/step/waves.h"

namespace muster::propagation {
namespace {

constexpr std::string_view kOfPropagator = "member cluster ";  // what it writes in Work::waits

struct Row {
  WorkPtr before;  // null: new
  Work work;
  const MemberCluster* member = nullptr;
  bool picked = false;
  bool ready = false;
  std::shared_ptr<const Rendered> rendered;  // of the latest revision; if picked

  bool answers() const { return Answers(*member); }
  bool heard_of() const { return member->observed_at.set(); }
  bool has_it() const { return work.state == WorkState::kBound; }
  bool can_be_told() const { return answers() && rendered->error.empty(); }
  // It had the objects, and has some of them still.
  bool has_rests() const { return !has_it() && !work.manifests.empty(); }
  bool outdated() const { return work.rendered != rendered->hash; }
  // Picked or not, it loses everything first.
  bool is_emptied() const {
    return work.state == WorkState::kLeaving && !work.scheduled_at.set() && !work.manifests.empty();
  }
};

bool IsReported(const ManifestStatus& manifest) {
  return manifest.result == ManifestResult::kFoundDiff ||
         manifest.result == ManifestResult::kFoundDiffInDegradedMode ||
         manifest.result == ManifestResult::kNoDiffFound;
}

// The rollout of one placement.
class Rolling {
 public:
  Rolling(const RolloutInput& input, WorkPlan* plan) : input_(input), plan_(plan) {}

  void Run();

 private:
  void AddRows();
  void AddRow(const MemberCluster& member, const WorkPtr& before);
  std::shared_ptr<const Rendered> RenderedFor(const MemberCluster& member);
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
  std::shared_ptr<const Rendered> common_;  // of all members, if it is the same for all
  std::vector<Row> rows_;                   // by member
  std::int64_t picked_ = 0;                 // N: picked members that can be told
  std::int64_t expendable_ = 0;             // ready ones that may stop being it
  std::int64_t at_a_time_ = 0;              // that may have it
  std::int64_t unavailable_ = 0;            // that need not be ready
  std::optional<WallTime> ripens_;          // the first of those that only time makes ready
};

void Rolling::Schedule(Row* row, const Pick& pick) const {
  Work& work = row->work;
  const bool there = row->before != nullptr && work.state != WorkState::kLeaving;
  if (!there) {
    for (ManifestStatus& manifest : work.manifests) manifest.applied.clear();  // half removed
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

// Later than the last eviction whatever the clock says, so that this one is not meant by it.
WallTime Rolling::PickedAt(const Work& work) const {
  const auto eviction = input_.evictions->find(KeyOf(work));
  if (eviction == input_.evictions->end()) return input_.now;
  return std::max(input_.now, WallTime{eviction->second.us + 1});
}

// Without texts: hashes tell.
std::shared_ptr<const Rendered> Rolling::RenderedFor(const MemberCluster& member) {
  if (!input_.renderer->same_for_all())
    return std::make_shared<const Rendered>(input_.renderer->For(member, false));
  if (common_ == nullptr)
    common_ = std::make_shared<const Rendered>(input_.renderer->For(member, false));
  return common_;
}

void Rolling::AddRow(const MemberCluster& member, const WorkPtr& before) {
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

void Rolling::AddRows() {
  auto work = input_.works.begin();
  for (const core::ClusterView& cluster : *input_.clusters) {  // both by name
    while (work != input_.works.end() && (*work)->cluster < cluster.member.name) ++work;
    const bool there = work != input_.works.end() && (*work)->cluster == cluster.member.name;
    AddRow(cluster.member, there ? *work : nullptr);
  }
}

// All is as it was told, and works as far as anybody can tell. `ripens` gets the first moment at
// which time makes something ready.
bool Rolling::IsReady(const Work& work, std::optional<WallTime>* ripens) const {
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

void Rolling::JudgeReadiness() {
  std::int64_t ready = 0;
  for (Row& row : rows_) {
    row.ready = IsReady(row.work, &ripens_);
    if (row.ready) ++ready;
    // One that cannot be told of anything counts nowhere: it would hold up the others.
    if (row.picked && (row.has_it() || row.can_be_told())) ++picked_;
  }
  const RollingUpdate& rollout = input_.placement->rollout;
  unavailable_ = CountOf(rollout.max_unavailable, picked_);
  at_a_time_ = picked_ + CountOf(rollout.max_surge, picked_);
  expendable_ = ready - std::max<std::int64_t>(0, picked_ - unavailable_);
}

// The row that tells the member of the latest revision. What is to be done there for it is pending
// from now on.
Work Rolling::Bound(const Row& row) const {
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

void Rolling::SetPending(ManifestStatus* manifest) const {
  if (manifest->result != ManifestResult::kPending) manifest->since = input_.now;
  manifest->result = ManifestResult::kPending;
  manifest->message.clear();
}

// What says that the member has all of the latest revision.
void Rolling::Follow(const Row& row, Work* work) const {
  work->snapshot = input_.latest->index;
  work->overrides = row.rendered->overrides;
  work->rendered = row.rendered->hash;
}

void Rolling::RemoveUnpicked() {
  for (Row& row : rows_) {
    if (row.picked || !row.has_it()) continue;
    if (row.ready && expendable_ <= 0) continue;
    if (row.ready) --expendable_;
    Leave(&row.work, false);
  }
}

void Rolling::Update() {
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

// Members that have something of it. What is left on a member that does not answer is not waited
// for.
std::int64_t Rolling::Having() const {
  return std::count_if(rows_.begin(), rows_.end(), [](const Row& row) {
    return row.has_it() || (row.has_rests() && row.answers());
  });
}

void Rolling::AddNew() {
  std::int64_t room = at_a_time_ - Having();
  for (Row& row : rows_) {
    const bool waits = row.picked && row.work.state == WorkState::kScheduled;
    if (!waits || !row.can_be_told() || (room <= 0 && !row.has_rests())) continue;
    if (!row.has_rests()) --room;  // else it is among those that have it
    row.work = Bound(row);
  }
}

// What a row waits for. What the propagator says of the member stays.
void Rolling::Explain(Row* row) const {
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

void Rolling::Run() {
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

void RollOut(const RolloutInput& input, WorkPlan* plan) { Rolling(input, plan).Run(); }

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
