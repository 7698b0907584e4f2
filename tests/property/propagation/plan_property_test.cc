// Promises of PlanWorks in any order of events: plans are stable, rows name everything that may be
// on a member cluster, rollouts keep to their limits, and in the end every member cluster has the
// objects that it should have.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "schedd/propagation/step/pick.h"
#include "tests/property/core/random_world.h"
#include "tests/unit/propagation/step_world.h"

namespace muster::propagation::testing {
namespace {

using core::testing::Dice;

constexpr const char* kZones[] = {"x", "y"};
constexpr const char* kStops[] = {"None", "Hold", "HoldAndDrain"};

// One placement, member clusters that carry out one change at a time, and all possible events.
class Life {
 public:
  explicit Life(std::uint64_t seed) : dice_(seed) {
    placement_ = StepWorld::QueuePlacement(static_cast<PlacementType>(dice_.Roll(0, 2)));
    placement_.selectors.push_back(Selecting(kKueue, "ClusterQueue"));
    placement_.revision_history_limit = static_cast<std::int32_t>(dice_.Roll(1, 3));
    placement_.rollout.max_unavailable = Part(1);
    placement_.rollout.max_surge = Part(placement_.rollout.max_unavailable.value == 0 ? 1 : 0);
    for (int i = 0; i < 4; ++i) Join();
    world_.PutQueue("gpu");
    ChangePolicy();
  }

  void Happen() {
    switch (dice_.Roll(0, 11)) {
      case 0:
        return Join();
      case 1:
        return ChangeMember();
      case 2:
        return ChangePolicy();
      case 3:
        return ChangeOverride();
      case 4:
      case 5:
        return ChangeQueues();
      case 6:
        return world_.Unplace("", "spread");
      case 7:
        world_.Place(placement_);
        return;
      case 8:
        return world_.Pass(dice_.Roll(1, 3) * kSecond);
      default:
        for (int i = 0; i < 4; ++i) Obey(AnyMember());
    }
  }

  // Plans and checks the resulting rows.
  void Plan() {
    const auto before = Ready();
    const std::size_t having = Having();
    const WorkPlan plan = world_.Plan();
    const WorkPlan same = world_.Plan();
    RC_ASSERT(StepWorld::Told(plan) == StepWorld::Told(same));
    world_.Carry(plan);
    const WorkPlan again = world_.Plan();
    if (!again.empty()) RC_FAIL("a second plan at once: " + StepWorld::Told(again));
    CheckRows();
    CheckLimits(before, having);
  }

  // Lets all member clusters answer and carry out every change, without new events.
  void ComeToRest() {
    for (const auto& cluster : world_.view().clusters)
      world_.Member(cluster.member.name).healthy = true;
    for (int i = 0; i < 60; ++i) {
      world_.Pass(2 * kSecond);
      Plan();
      for (const auto& cluster : world_.view().clusters) {
        for (int object = 0; object < 12; ++object) Obey(cluster.member.name);
      }
    }
    RC_ASSERT(world_.Plan().empty());
    std::int32_t latest = -1;
    for (const auto& [key, one] : world_.works().snapshots) latest = std::max(latest, one->index);
    const bool placed = world_.config().placements->Find("", "spread") != nullptr;
    for (const auto& [key, work] : world_.works().works) {
      RC_ASSERT(placed);
      RC_ASSERT(work->state == WorkState::kBound);
      RC_ASSERT(work->snapshot == latest);
      RC_ASSERT(work->waits.empty());
      const ResourceSnapshot& snapshot = *world_.works().snapshots.at({"", "spread", latest});
      std::set<std::string> wanted;
      for (const auto& one : snapshot.resources) wanted.insert(MentionOf(one.ref));
      RC_ASSERT(on_[work->cluster] == wanted);
    }
    for (const auto& [name, objects] : on_)
      RC_ASSERT(objects.empty() || world_.WorkOn(name) != nullptr);
    const auto history = static_cast<std::size_t>(placement_.revision_history_limit);
    RC_ASSERT(world_.works().snapshots.size() <= (placed ? history : 0));
  }

 private:
  CountOrPercent Part(std::int64_t least) {
    if (dice_.Chance(50)) return {static_cast<std::int32_t>(dice_.Roll(least, 2)), false};
    return {static_cast<std::int32_t>(dice_.Roll(least, 4) * 25), true};
  }
  std::string AnyMember() { return "m" + std::to_string(dice_.Roll(0, members_ - 1)); }
  bool Exists(const std::string& name) const {
    for (const auto& one : world_.view().clusters) {
      if (one.member.name == name) return true;
    }
    return false;
  }
  void Join() {
    if (members_ == 8) return;
    world_.Member("m" + std::to_string(members_++), {{"zone", kZones[dice_.Roll(0, 1)]}});
  }
  void ChangeMember() {
    const std::string name = AnyMember();
    if (!Exists(name)) return;
    switch (dice_.Roll(0, 4)) {
      case 0:
        world_.RemoveMember(name);
        on_.erase(name);
        return;
      case 1:
        world_.Member(name).cordoned = dice_.Chance(50);
        return;
      case 2:
        world_.Member(name).labels["zone"] = kZones[dice_.Roll(0, 1)];
        return;
      default:
        world_.Member(name).healthy = dice_.Chance(60);
    }
  }
  void ChangePolicy() {
    PlacementPolicy& policy = placement_.policy;
    policy.required.clear();
    policy.preferred.clear();
    policy.spread.clear();
    policy.number_of_clusters = static_cast<std::int32_t>(dice_.Roll(0, 5));
    policy.cluster_names.clear();
    for (int i = 0; i < 3; ++i) policy.cluster_names.push_back(AnyMember());
    const LabelSelector zone{{{"zone", kZones[dice_.Roll(0, 1)]}}, {}};
    if (policy.type != PlacementType::kPickFixed && dice_.Chance(30))
      policy.required = {{zone, {}}};
    if (policy.type == PlacementType::kPickN && dice_.Chance(50))
      policy.preferred = {{static_cast<std::int32_t>(dice_.Roll(-9, 9)), zone, {}}};
    if (policy.type == PlacementType::kPickN && dice_.Chance(30))
      policy.spread = {{1, "zone", dice_.Chance(50)}};
    world_.Place(placement_);
  }
  void ChangeQueues() {
    if (dice_.Chance(60)) return world_.PutQueue("gpu", kStops[dice_.Roll(0, 2)]);
    const std::string name = "q" + std::to_string(dice_.Roll(0, 3));
    if (dice_.Chance(60)) return world_.PutQueue(name, kStops[dice_.Roll(0, 2)]);
    world_.Delete(ObjectKind::kClusterQueue, "", name);
  }
  void ChangeOverride() {
    if (dice_.Chance(40)) return world_.NoOverride("", "o");
    ResourceOverride one{"", "o", "", false, {{kKueue, "v1", "ClusterQueue", "", "gpu"}}, {}};
    one.rules = {{std::vector<LabelSelector>{{{{"zone", "x"}}, {}}},
                  false,
                  {{PatchOp::kAdd, "/spec/where", R"("${MEMBER-CLUSTER-NAME}")"}}}};
    world_.Override(one);
  }

  // One call of the propagator to this member cluster: it removes or applies one object.
  void Obey(const std::string& name) {
    const Work* row = world_.WorkOn(name);
    if (row == nullptr || !Exists(name) || !world_.Member(name).healthy) return;
    if (row->state == WorkState::kScheduled) return;
    std::map<std::string, std::string> wanted;
    if (row->state == WorkState::kBound) {
      const RenderedSnapshot rendered =
          Render(world_.config(), *world_.works().snapshots.at({"", "spread", row->snapshot}),
                 world_.Member(name));
      if (rendered.hash != row->rendered) return;
      for (const auto& one : rendered.objects) wanted[MentionOf(one.ref)] = one.hash;
    }
    world_.EditWork(name, [&](Work& work) {
      for (std::size_t i = 0; i < work.manifests.size(); ++i) {
        const std::string object = MentionOf(work.manifests[i].ref);
        const auto hash = wanted.find(object);
        if (hash == wanted.end()) {
          work.manifests.erase(work.manifests.begin() + static_cast<std::ptrdiff_t>(i));
          on_[name].erase(object);
          return;
        }
        ManifestStatus& manifest = work.manifests[i];
        if (manifest.result == ManifestResult::kApplied) continue;
        manifest.result = ManifestResult::kApplied;
        manifest.availability = ManifestAvailability::kAvailable;
        manifest.applied = hash->second;
        on_[name].insert(object);
        return;
      }
    });
  }

  static bool IsReady(const Work& work) {
    if (work.state != WorkState::kBound) return false;
    for (const auto& one : work.manifests) {
      if (one.result != ManifestResult::kApplied) return false;
    }
    return true;
  }
  std::set<std::string> Ready() const {
    std::set<std::string> ready;
    for (const auto& [key, work] : world_.works().works) {
      if (IsReady(*work) && Exists(work->cluster)) ready.insert(work->cluster);
    }
    return ready;
  }
  // Member clusters that have the placement; and those that answer and still have objects of it.
  std::size_t Having() const {
    std::size_t having = 0;
    for (const auto& one : world_.view().clusters) {
      const Work* work = world_.WorkOn(one.member.name);
      if (work == nullptr) continue;
      const bool rests = !work->manifests.empty() && one.member.healthy;
      having += rests || work->state == WorkState::kBound ? 1 : 0;
    }
    return having;
  }

  // Every object that the placement has put on a member cluster is in its row.
  void CheckRows() const {
    for (const auto& [name, objects] : on_) {
      const Work* work = world_.WorkOn(name);
      RC_ASSERT(objects.empty() || work != nullptr);
      if (work == nullptr) continue;
      std::set<std::string> listed;
      for (const auto& one : work->manifests) listed.insert(MentionOf(one.ref));
      for (const std::string& object : objects) RC_ASSERT(listed.contains(object));
    }
    for (const auto& [key, work] : world_.works().works) {
      RC_ASSERT(Exists(work->cluster));
      if (work->state == WorkState::kBound)
        RC_ASSERT(world_.works().snapshots.contains({"", "spread", work->snapshot}));
      if (work->state == WorkState::kLeaving) RC_ASSERT(!work->manifests.empty());
    }
  }

  void CheckLimits(const std::set<std::string>& ready_before, std::size_t having_before) const {
    if (world_.config().placements->Find("", "spread") == nullptr) return;
    std::int64_t picked = 0;
    for (const auto& [key, work] : world_.works().works) {
      const bool stays = work->state == WorkState::kBound &&
                         !work->waits.starts_with("waits for its turn to be left");
      const bool comes = work->state == WorkState::kScheduled &&
                         Answers(const_cast<StepWorld&>(world_).Member(work->cluster));
      picked += stays || comes ? 1 : 0;
    }
    const std::set<std::string> ready = Ready();
    const bool fewer = std::any_of(ready_before.begin(), ready_before.end(),
                                   [&](const auto& name) { return !ready.contains(name); });
    const std::int64_t least = picked - CountOf(placement_.rollout.max_unavailable, picked);
    if (fewer && static_cast<std::int64_t>(ready.size()) < least) {
      RC_FAIL(world_.Rows() + ": " + std::to_string(ready.size()) + " are ready, at least " +
              std::to_string(least));
    }
    const std::int64_t most = picked + CountOf(placement_.rollout.max_surge, picked);
    const auto having = static_cast<std::int64_t>(Having());
    if (having > std::max(most, static_cast<std::int64_t>(having_before))) {
      RC_FAIL(world_.Rows() + ": " + std::to_string(having) + " have it, before " +
              std::to_string(having_before) + ", at most " + std::to_string(most));
    }
  }

  Dice dice_;
  StepWorld world_;
  Placement placement_;
  std::int64_t members_ = 0;
  std::map<std::string, std::set<std::string>> on_;  // objects by member
};

RC_GTEST_PROP(PlanProperty, RowsTellTheTruth_RolloutsKeepTheirLimits_AndMembersComeToRest,
              (std::uint64_t seed)) {
  Life life(seed);
  for (int i = 0; i < 60; ++i) {
    life.Happen();
    life.Plan();
  }
  life.ComeToRest();
}

}  // namespace
}  // namespace muster::propagation::testing
