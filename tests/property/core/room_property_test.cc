// Evictions for the sake of room alone: whoever is taken may be taken, is of use, and cannot be
// spared; and nobody waits for room that permitted victims would give it.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/plan_check.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

struct Running {
  std::int64_t id = 0;
  std::string cluster;
  std::int64_t cpus = 0;
  std::int32_t priority = 0;
};

struct Fleet {
  World world;
  std::map<std::string, std::int64_t> free;
  std::vector<Running> running;
};

// Members of 2 to 8 cpus with jobs of up to 3 on them; there is quota for everything.
void Fill(Fleet* fleet) {
  ClusterQueue& queue = fleet->world.Queue("q", "", {{"default", "cpu", 1000}});
  queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  const int members = *rc::gen::inRange(1, 5);
  for (int i = 0; i < members; ++i) {
    const std::string name = "m" + std::to_string(i);
    std::int64_t free = *rc::gen::inRange(2, 9);
    fleet->world.Member(name, {{"cpu", free}});
    while (free > 0 && *rc::gen::inRange(0, 5) > 0) {
      const std::int64_t cpus = std::min<std::int64_t>(free, *rc::gen::inRange(1, 4));
      const std::int32_t priority = *rc::gen::inRange(0, 4);
      fleet->world.Hold("q", "cpu", cpus, priority);
      auto placed = std::make_shared<JobRecord>(*fleet->world.held().back());
      placed->cluster = name;
      fleet->world.held().back() = placed;
      fleet->running.push_back({placed->id.value, name, cpus, priority});
      free -= cpus;
    }
    fleet->free[name] = free;
  }
  for (ClusterView& view : fleet->world.clusters())
    SetAmount(&view.free, "cpu", fleet->free.at(view.member.name));
}

RC_GTEST_PROP(RoomProperty, VictimsForRoom_ArePermitted_OnOneMember_AndAllNeeded, ()) {
  Fleet fleet;
  Fill(&fleet);
  const std::int64_t wanted = *rc::gen::inRange(1, 9);
  const std::int32_t priority = *rc::gen::inRange(0, 5);
  fleet.world.Submit("q", 1, {{"cpu", wanted}}, priority);
  const Snapshot snapshot = fleet.world.Take();
  const Plan plan = Decide(snapshot, Input());
  RC_ASSERT(CheckPlan(snapshot, plan).empty());

  bool fits = false, could = false;
  for (const auto& [name, free] : fleet.free) {
    std::int64_t most = free;
    for (const Running& one : fleet.running)
      if (one.cluster == name && one.priority < priority) most += one.cpus;
    fits = fits || free >= wanted;
    could = could || most >= wanted;
  }
  RC_ASSERT(plan.admits.size() == (fits ? 1u : 0u));
  RC_ASSERT(plan.evictions.empty() == (fits || !could));
  if (plan.evictions.empty()) return;

  const std::string on = plan.evictions.front().victim->cluster;
  std::vector<std::int64_t> taken;
  std::int64_t room = fleet.free.at(on);
  for (const Eviction& eviction : plan.evictions) {
    const auto it = std::find_if(fleet.running.begin(), fleet.running.end(), [&](const auto& one) {
      return one.id == eviction.victim->id.value;
    });
    RC_ASSERT(it != fleet.running.end());
    RC_ASSERT(it->cluster == on);
    RC_ASSERT(it->priority < priority);
    taken.push_back(it->cpus);
    room += it->cpus;
  }
  RC_ASSERT(room >= wanted);
  for (const std::int64_t cpus : taken) RC_ASSERT(room - cpus < wanted);
}

// Two queues that borrow from a third one on members that are too small for all, until nothing
// moves any more. There is quota for everything: fights for quota are others'.
class Fight {
 public:
  Fight() {
    told_ = *rc::gen::arbitrary<bool>();
    for (const char* name : {"a", "b"}) {
      ClusterQueue& queue =
          world_.Queue(name, "all", {{"default", "cpu", *rc::gen::inRange(0, 20)}});
      queue.preemption.within_cluster_queue =
          *rc::gen::element(PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority,
                            PreemptionPolicy::kLowerOrNewerEqualPriority);
      queue.preemption.reclaim_within_cohort = *rc::gen::element(
          PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority, PreemptionPolicy::kAny);
      if (*rc::gen::arbitrary<bool>()) queue.strategy = QueueingStrategy::kStrictFifo;
    }
    world_.Queue("bank", "all", {{"default", "cpu", 1000}});
    const int members = *rc::gen::inRange(1, 4);
    for (int i = 0; i < members; ++i)
      world_.Member("m" + std::to_string(i), {{"cpu", *rc::gen::inRange(2, 7)}});
    const int jobs = *rc::gen::inRange(2, 12);
    for (int i = 0; i < jobs; ++i) waiting_.push_back(Draw());
  }

  // True if anything moved.
  bool Step() {
    if (!waiting_.empty() && random_() % 3 > 0) {
      const Wanted next = waiting_.front();
      waiting_.erase(waiting_.begin());
      world_.Submit(next.queue, 1, {{"cpu", next.cpus}}, next.priority);
    }
    Measure();
    const Snapshot snapshot = world_.Take();
    const Plan plan = Decide(snapshot, Input());
    RC_ASSERT(CheckPlan(snapshot, plan).empty());
    world_.pending().Settle(plan, world_.now());
    const bool left = EndWhoLeaves();
    for (const PlannedAdmission& admit : plan.admits) Start(admit);
    for (const Eviction& eviction : plan.evictions) SendAway(eviction.victim->id);
    if (left || !plan.admits.empty()) world_.pending().FlushAll(world_.now());
    return left || !plan.admits.empty() || !plan.evictions.empty() || plan.more_work ||
           !waiting_.empty();
  }

 private:
  struct Wanted {
    std::string queue;
    std::int64_t cpus = 0;
    std::int32_t priority = 0;
  };
  static Wanted Draw() {
    return {*rc::gen::element<std::string>("a", "b"), *rc::gen::inRange(1, 4),
            *rc::gen::inRange(0, 4)};
  }
  void Measure() {
    for (ClusterView& view : world_.clusters()) {
      std::int64_t free = AmountOf(view.member.allocatable, "cpu");
      for (const JobPtr& job : world_.held())
        if (job->cluster == view.member.name)
          free -= AmountOf(job->pod_sets->at(0).requests, "cpu");
      RC_ASSERT(free >= 0);
      SetAmount(&view.free, "cpu", free);
      if (told_)
        view.member.machines =
            std::make_shared<const MachineGroups>(MachineGroups{{{}, {}, {{"cpu", free}}, 1}});
    }
  }
  void Start(const PlannedAdmission& admit) {
    auto job = std::make_shared<JobRecord>(*admit.job);
    ReserveQuota(job.get(), admit.admission, world_.now());
    job->cluster = admit.cluster;
    job->state = JobState::kRunning;
    world_.held().push_back(job);
  }
  void SendAway(JobId id) {
    for (JobPtr& held : world_.held()) {
      if (held->id != id) continue;
      auto job = std::make_shared<JobRecord>(*held);
      SetCondition(job.get(), "Evicted", true, "Preempted", "", world_.now());
      held = job;
    }
  }
  // They wait again, behind their equals.
  bool EndWhoLeaves() {
    std::vector<JobPtr> gone;
    std::erase_if(world_.held(), [&](const JobPtr& job) {
      if (!IsTrue(*job, "Evicted") || random_() % 2 == 0) return false;
      gone.push_back(job);
      return true;
    });
    for (const JobPtr& job : gone) {
      world_.Submit(job->cluster_queue, 1,
                    {{"cpu", AmountOf(job->pod_sets->at(0).requests, "cpu")}}, job->priority);
    }
    const bool some = std::any_of(world_.held().begin(), world_.held().end(),
                                  [](const JobPtr& job) { return IsTrue(*job, "Evicted"); });
    return some || !gone.empty();
  }

  World world_;
  std::vector<Wanted> waiting_;
  std::mt19937 random_{*rc::gen::arbitrary<std::uint32_t>()};  // when things happen
  bool told_ = false;                                          // the members' machines are
};

RC_GTEST_PROP(RoomProperty, MakingRoom_ComesToAnEnd, ()) {
  Fight fleet;
  int steps = 0;
  while (fleet.Step()) RC_ASSERT(++steps < 300);
}

}  // namespace
}  // namespace muster::core::testing
