// Seeded worlds with random faults of store, members and daemon. After every tick and at rest, once
// faults have stopped, the invariants of rule D21 that one engine can break: I1 (accepts are
// durable, once per key), I2 (at most one live attempt), I3 (quota holds), I4 (stored usage is the
// recomputed one), I5 (terminal absorbs), I6 (released once), I8 (one closed record per ended
// attempt), I10 (gangs whole), I12 (equal seeds, equal runs).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/engine_world.h"
#include "tests/support/usage_check.h"

namespace muster::test {
namespace {

constexpr std::int64_t kQuota = 6000;
constexpr std::int64_t kRoom = 7000;
constexpr int kTicks = 400;

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : world_(seed), dice_(seed * 77 + 1) {
    // Two of three worlds have members that make attempts in two steps, as Kubernetes ones do.
    world_.members.two_steps = seed % 3 != 0;
    world_.Declare({{"cpu", kQuota}}, {{"cpu", kRoom}});
    // Every other world preempts: the two steps of an eviction meet the same faults.
    if (seed % 2 == 0) {
      const auto applied = world_.Apply(
          {ClusterQueueObject({.nominal = {{"cpu", kQuota}}, .within = "LowerPriority"})});
      EXPECT_TRUE(applied.ok());
    }
  }

  std::size_t Evictions() const {
    return static_cast<std::size_t>(
        std::count_if(world_.events.begin(), world_.events.end(),
                      [](const Event& event) { return event.type == "JobEvicted"; }));
  }

  void Tick() {
    switch (dice_.Below(13)) {
      case 0:
      case 1:
      case 2:
        Submit();
        break;
      case 3:
        Command();
        break;
      case 4:
        EndOne();
        break;
      case 5:
        world_.store.InjectFault(1 + dice_.Below(4), static_cast<StoreFault>(dice_.Below(3)));
        break;
      case 6:
        if (dice_.Chance(30)) world_.store.LoseLead();
        break;
      case 7:
        if (dice_.Chance(20)) world_.Restart();
        break;
      case 8:
        if (dice_.Chance(10)) world_.members.List("east");
        break;
      case 9:
        if (world_.members.two_steps) Disturb();
        break;
      default:
        CarryOne();
        break;
    }
    world_.clock.Advance(static_cast<std::int64_t>(dice_.Below(300)));
    const auto steps = dice_.Below(4);
    for (std::uint64_t i = 0; i < steps; ++i) world_.engine->Step();
    Check();
  }

  // Faults stop: everything feasible must come to its end.
  void Heal() {
    world_.store.SetAway(false);
    world_.members.away.clear();
    world_.members.Tell("east");
    for (int round = 0; round < 200; ++round) {
      world_.clock.Advance(5000);
      world_.Run();
      if (world_.engine->View()->ready && !EndOne() && Waiting() == 0) break;
      world_.Run();
      Check();
    }
    world_.Run();
  }

  void CheckAtRest() {
    ASSERT_TRUE(world_.engine->View()->ready);
    const StoredWorld stored = world_.Stored();
    std::map<JobId, JobPtr> jobs;
    for (const JobPtr& job : stored.jobs) jobs[job->id] = job;
    for (const auto& [name, id] : accepted_) {
      const auto job = world_.store.ReadJob(id);
      ASSERT_TRUE(job.ok()) << "I1: accepted and lost: " << name;
      EXPECT_EQ((*job)->name, name) << "I1";
      EXPECT_TRUE(IsTerminal((*job)->state) || (*job)->state == JobState::kHeld)
          << "P5: " << name << " is still " << JobStateName((*job)->state);
      CheckAttempts(**job);
    }
    EXPECT_EQ(world_.UsedCpu(), 0) << "I6: everything has ended";
    for (const UsageRow& row : stored.usage) EXPECT_EQ(row.amount, 0) << "I4";
    EXPECT_EQ(AmountOf(world_.engine->View()->clusters[0].free, "cpu"), kRoom) << "I6";
  }

  std::string Trace() const {
    std::string trace;
    for (const Event& event : world_.events) {
      trace += std::to_string(event.seq) + event.type + std::to_string(event.job.value) +
               event.message + "\n";
    }
    return trace;
  }

 private:
  void Submit() {
    const std::string name =
        "job" + std::to_string(dice_.Below(4) == 0 ? dice_.Below(made_ + 1) : made_++);
    const auto size = static_cast<std::int32_t>(1 + dice_.Below(6));
    SubmitCommand command;
    command.jobs.push_back(MakeSubmission({.name = name,
                                           .pods = {{size, {{"cpu", 1000}}, "main"}},
                                           .priority = static_cast<std::int32_t>(dice_.Below(3)),
                                           .held = dice_.Chance(5)}));
    command.jobs[0].idempotency = IdempotencyKey{"alice/default", name, 1};
    command.done = [this, name](Result<std::vector<Result<SubmittedJob>>> result) {
      if (!result.ok() || !(*result)[0].ok()) return;
      const auto [known, fresh] = accepted_.emplace(name, (*result)[0]->job->id);
      EXPECT_EQ(known->second, (*result)[0]->job->id) << "I1: one key, two jobs";
    };
    world_.engine->Post(std::move(command));
  }

  void Command() {
    if (accepted_.empty()) return;
    auto job = accepted_.begin();
    std::advance(job, static_cast<std::ptrdiff_t>(dice_.Below(accepted_.size())));
    const JobVerb verbs[] = {JobVerb::kCancel, JobVerb::kHold, JobVerb::kRelease,
                             JobVerb::kRequeue};
    world_.engine->Post(
        JobCommand{{"alice", "test"}, verbs[dice_.Below(4)], job->second, [](Result<JobPtr>) {}});
  }

  bool EndOne() {
    for (const auto& [key, object] : world_.members.objects) {
      if (!object.active()) continue;
      return world_.members.End(key,
                                dice_.Chance(30) ? RemotePhase::kFailed : RemotePhase::kSucceeded);
    }
    return false;
  }

  // Events on member clusters that Muster did not order.
  void Disturb() {
    auto& members = world_.members;
    auto object = members.objects.begin();
    if (object != members.objects.end())
      std::advance(object, static_cast<std::ptrdiff_t>(dice_.Below(members.objects.size())));
    const bool any = object != members.objects.end();
    switch (dice_.Below(8)) {
      case 0:  // a user deletes an object
        if (any && dice_.Chance(30)) members.Delete(object->first);
        break;
      case 1:  // a report is repeated
        if (any) members.Say(object->first);
        break;
      case 2:
      case 3:  // a call takes effect twice
        if (!members.orders.empty()) members.orders.push_front(members.orders.front());
        break;
      case 4:  // the member cluster becomes unreachable, for moments or for long
        members.away.insert("east");
        members.Tell("east");
        world_.clock.Advance(static_cast<std::int64_t>(dice_.Below(20'000)));
        break;
      case 5:
      case 6:
        members.away.clear();
        members.Tell("east");
        break;
      default:  // the member cluster loses all its objects
        if (!dice_.Chance(5)) break;
        members.Recreate("east");
        members.Tell("east");
        break;
    }
  }

  // Keys keep their order; faults are those of an environment.
  void CarryOne() {
    auto& orders = world_.members.orders;
    if (orders.empty()) return;
    std::size_t at = dice_.Below(orders.size());
    for (std::size_t i = 0; i < at; ++i) {
      if (orders[i].key == orders[at].key) at = i;
    }
    std::optional<Code> fault;
    if (world_.members.away.contains(orders[at].key.cluster)) {
      if (orders[at].kind == PendingOrder::Kind::kList) return;
      world_.members.Carry(at, Code::kUnavailable);
      return;
    }
    if (dice_.Chance(15)) fault = dice_.Chance(50) ? Code::kUnavailable : Code::kUnknown;
    world_.members.Carry(at, fault);
  }

  std::size_t Waiting() const {
    std::size_t waiting = 0;
    world_.engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      waiting += job->state != JobState::kHeld && !IsTerminal(job->state) ? 1 : 0;
      return true;
    });
    return waiting;
  }

  void Check() {
    const WorldViewPtr view = world_.engine->View();
    ASSERT_LE(world_.members.most_active_of_one_job, 1U) << "I2";
    ASSERT_EQ(world_.members.foreign_writes, 0) << "rule D20, I6";
    ASSERT_EQ(world_.members.attempts_that_went_down, 0) << "rule D20, I7";
    for (const auto& [key, starts] : world_.members.starts)
      ASSERT_LE(starts, 1) << "an attempt ran twice";
    CheckReleases();
    ASSERT_LE(world_.UsedCpu(), kQuota) << "I3";
    std::vector<JobPtr> holders;
    view->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (HoldsQuota(job->state)) {
        holders.push_back(job);
        EXPECT_NE(job->admission, nullptr);
        EXPECT_EQ(job->admission->pod_sets[0].count, (*job->pod_sets)[0].count) << "I10";
      }
      JobState& last = seen_.try_emplace(job->id, job->state).first->second;
      EXPECT_TRUE(!IsTerminal(last) || last == job->state)
          << "I5: job " << job->id.value << " left its end";
      last = job->state;
      return true;
    });
    EXPECT_EQ(core::UsageDifferences(view->usage, holders), std::vector<std::string>{}) << "I4";
    std::set<Uid> live;
    std::int64_t stored_cpu = 0, admitted_cpu = 0;
    const StoredWorld stored = world_.Stored();
    for (const DispatchRow& row : stored.dispatches) {
      EXPECT_TRUE(!IsLive(row.state) || live.insert(row.key.job_uid).second) << "I2: two live rows";
    }
    for (const UsageRow& row : stored.usage) stored_cpu += row.amount;
    for (const JobPtr& job : stored.jobs) {
      if (job->admission == nullptr || !HoldsQuota(job->state)) continue;
      for (const PodSetAssignment& one : job->admission->pod_sets)
        admitted_cpu += AmountOf(one.usage, "cpu");
    }
    ASSERT_LE(admitted_cpu, kQuota) << "I3: as stored";
    EXPECT_TRUE(!view->ready || stored_cpu == admitted_cpu)
        << "I4: stored " << stored_cpu << " for " << admitted_cpu;
  }

  // Rule D20, I2: what runs in a two-step world has its uid on record.
  void CheckReleases() {
    if (!world_.members.two_steps) return;
    std::set<std::string> recorded;
    for (const DispatchRow& row : world_.Stored().dispatches) recorded.insert(row.remote_uid);
    for (const auto& [key, object] : world_.members.objects) {
      EXPECT_TRUE(!object.active() || recorded.contains(object.uid))
          << object.uid << " runs and is not on record";
    }
  }

  void CheckAttempts(const JobRecord& job) {
    const auto attempts = world_.store.ReadAttempts({job.id});
    ASSERT_TRUE(attempts.ok());
    EXPECT_EQ(attempts->size(), static_cast<std::size_t>(job.attempt))
        << "I8: job " << job.id.value;
    for (const AttemptRecord& attempt : *attempts) {
      EXPECT_TRUE(attempt.end_time.set()) << "I8";
      EXPECT_GE(attempt.end_time.us, attempt.admit_time.us) << "I8";
      EXPECT_GE(attempt.end_time.us, attempt.start_time.us) << "I8";
    }
  }

  EngineWorld world_;
  SeededRandom dice_;
  std::map<std::string, JobId> accepted_;
  std::map<JobId, JobState> seen_;
  std::uint64_t made_ = 0;
};

TEST(EngineSimulation, InvariantsHoldUnderRandomFaultsAndEverythingEnds) {
  std::size_t evictions = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(seed);
    for (int tick = 0; tick < kTicks && !testing::Test::HasFailure(); ++tick) {
      SCOPED_TRACE("tick " + std::to_string(tick));
      simulation.Tick();
    }
    simulation.Heal();
    simulation.CheckAtRest();
    evictions += simulation.Evictions();
  }
  EXPECT_GT(evictions, 100U) << "the worlds must preempt for this to say anything";
}

TEST(EngineSimulation, EqualSeedsGiveEqualRuns) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Simulation first(seed), second(seed);
    for (int tick = 0; tick < kTicks; ++tick) {
      first.Tick();
      second.Tick();
    }
    EXPECT_FALSE(first.Trace().empty());
    EXPECT_EQ(first.Trace(), second.Trace());
  }
}

}  // namespace
}  // namespace muster::test
