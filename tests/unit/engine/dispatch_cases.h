// The fixture of the tests of the dispatch protocol: a world whose members make attempts in two
// steps, and the invariants of rule D20.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/engine_world.h"
#include "tests/support/usage_check.h"

namespace muster::test {

constexpr std::int64_t kLongAwayMs = 16'000;  // beyond EngineOptions::lost_after_ms
constexpr std::int64_t kGraceMs = 21'000;     // beyond EngineOptions::orphan_grace_ms

/// One member `east` with quota for four cpus; each test ends with the invariants.
class DispatchCase : public testing::Test {
 protected:
  DispatchCase() {
    world.members.two_steps = true;
    world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    world.members.Tell("east");
    world.Run();
  }
  ~DispatchCase() override { CheckInvariants(); }

  JobId Submit(const std::string& name = "job") { return world.Submit({.name = name})->id; }
  JobId Running(const std::string& name = "job") {
    const JobId id = Submit(name);
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    return id;
  }
  FakeMembers::Object& ObjectOf(JobId id) { return world.members.objects.at(world.KeyOf(id)); }
  int Starts(const DispatchKey& key) { return world.members.starts[key]; }
  DispatchState RowOf(JobId id) {
    const auto row = world.StoredRow(id);
    return row.has_value() ? row->state : DispatchState::kGone;
  }

  void List(const std::string& cluster = "east") {
    world.members.List(cluster);
    world.Run();
  }
  /// Lists so often that orphans are old enough to be removed.
  void Collect(const std::string& cluster = "east") {
    List(cluster);
    world.clock.Advance(kGraceMs);
    List(cluster);
  }
  void Cut(const std::string& cluster = "east") {
    world.members.away.insert(cluster);
    world.members.Tell(cluster);
    world.Run();
  }
  void Heal(const std::string& cluster = "east") {
    world.members.away.erase(cluster);
    world.members.Tell(cluster);
    world.Run();
  }
  void Pass(std::int64_t ms) {
    world.clock.Advance(ms);
    world.Run();
  }
  void SetPolicy(const std::string& policy) {
    const auto applied = world.Apply({WithAnnotation(
        ClusterQueueObject({.name = "cq", .nominal = {{"cpu", 4000}}, .within = "LowerPriority"}),
        "muster.io/on-cluster-lost", policy)});
    ASSERT_TRUE(applied.ok());
  }
  void AddMember(const std::string& name) {
    ASSERT_TRUE(world.Apply({MemberObject(name, {{"cpu", 8000}})}).ok());
    world.Run();
  }
  std::size_t EventsOf(const std::string& type) const {
    std::size_t count = 0;
    for (const Event& event : world.events) count += event.type == type ? 1 : 0;
    return count;
  }

  void CheckInvariants() {
    if (!accepts_two_runs) {
      EXPECT_LE(world.members.most_active_of_one_job, 1U) << "I1";
    }
    for (const auto& [key, starts] : world.members.starts)
      EXPECT_LE(starts, 1) << "I1: attempt " << key.attempt << " ran twice";
    std::map<std::string, DispatchState> rows;
    for (const DispatchRow& row : world.Stored().dispatches) {
      if (!row.remote_uid.empty()) rows[row.remote_uid] = row.state;
    }
    for (const auto& [key, object] : world.members.objects) {
      if (!object.active() || object.sequence == 0 || foreign.contains(object.uid)) continue;
      EXPECT_TRUE(rows.contains(object.uid)) << "I2: it runs without a row";
    }
    const WorldViewPtr view = world.engine->View();
    std::vector<JobPtr> holders;
    view->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (HoldsQuota(job->state)) holders.push_back(job);
      return true;
    });
    EXPECT_EQ(core::UsageDifferences(view->usage, holders), std::vector<std::string>{}) << "I4";
    EXPECT_EQ(world.members.foreign_writes, 0) << "I6";
    EXPECT_EQ(world.members.attempts_that_went_down, 0) << "I7";
  }

  EngineWorld world;
  bool accepts_two_runs = false;  // the policy of the test allows two runs
  std::set<std::string> foreign;  // uids of objects that Muster must not touch
};

}  // namespace muster::test
