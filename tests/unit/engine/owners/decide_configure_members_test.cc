// The owners that decide, follow the configuration, and act for members.
#include <gtest/gtest.h>

#include "tests/support/owners_world.h"

namespace muster::test {
namespace {

// An object as Muster makes them.
Observation MarkedObject(const DispatchKey& key, const std::string& uid, std::int64_t sequence) {
  Observation seen;
  seen.key = key;
  seen.remote_uid = uid;
  seen.object = {"batch/v1", "Job", "default", "job"};
  seen.held = true;
  seen.sequence = sequence;
  seen.phase = RemotePhase::kRunning;
  return seen;
}

class UpperOwners : public ::testing::Test {
 protected:
  UpperOwners() { world.Declare(); }
  JobPtr Running(const std::string& name = "job") {
    const JobPtr job = world.Submit({.name = name});
    world.Cycle();
    world.Report(job, RemotePhase::kRunning);
    world.Commit();
    return world.Now(job);
  }
  void Tell(bool healthy) {
    ClusterFacts facts;
    facts.cluster = "east";
    facts.healthy = healthy;
    owners.lost_members.Handle(FactsCommand{facts});
    world.Commit();
  }
  Result<std::size_t> Fence(bool whatever_policy) {
    Result<std::size_t> given_up = Internal("no answer");
    FenceCommand command;
    command.actor = {"root", "loopback"};
    command.cluster = "east";
    command.done = [&](Result<std::size_t> told) { given_up = told; };
    command.whatever_policy = whatever_policy;
    owners.lost_members.Handle(std::move(command));
    world.Commit();
    return given_up;
  }
  Result<std::size_t> Collect(const std::string& cluster) {
    Result<std::size_t> collected = Internal("no answer");
    CollectCommand command;
    command.actor = {"root", "loopback"};
    command.cluster = cluster;
    command.done = [&](Result<std::size_t> told) { collected = told; };
    owners.orphans.Handle(std::move(command));
    world.Commit();
    return collected;
  }

  OwnersWorld world;
  Owners& owners = world.owners;
};

TEST_F(UpperOwners, ACycleChargesWhatItAdmitsBeforeItsCommit) {
  world.Submit({.name = "first", .pods = {{4, {{"cpu", 1000}}, "main"}}});
  world.Submit({.name = "second"});
  EXPECT_TRUE(owners.decider.Cycle());
  owners.decider.Cycle();
  std::size_t admitted = 0;
  for (const auto& [id, job] : owners.jobs.all()) admitted += HoldsQuota(job->state) ? 1 : 0;
  EXPECT_EQ(admitted, 1u) << "the quota is counted as taken at once";
}

TEST_F(UpperOwners, WithNothingThatWaitsThereIsNoCycle) { EXPECT_FALSE(owners.decider.Cycle()); }

TEST_F(UpperOwners, ASweepTellsTheEqualsOfAJobWhyItWaits) {
  world.Submit({.name = "first", .pods = {{9, {{"cpu", 1000}}, "main"}}});
  const JobPtr equal = world.Submit({.name = "second", .pods = {{9, {{"cpu", 1000}}, "main"}}});
  world.Cycle();
  while (owners.decider.Sweep()) {
  }
  EXPECT_NE(world.Now(equal)->message, "");
  EXPECT_NE(world.Now(equal)->reason, Reason::kPendingEvaluation);
}

TEST_F(UpperOwners, APreviewNamesWhatAnEditWouldAdmitAndChangesNothing) {
  const JobPtr job = world.Submit({.pods = {{6, {{"cpu", 1000}}, "main"}}});
  world.Cycle();
  const std::int64_t before = owners.commits.last_seq();
  Result<EditEffect> effect = Internal("no answer");
  PreviewCommand command;
  command.changes = {ClusterQueueObject({.nominal = {{"cpu", 8000}}})};
  command.done = [&](Result<EditEffect> found) { effect = found; };
  owners.decider.Handle(std::move(command));
  world.Commit();
  ASSERT_TRUE(effect.ok());
  ASSERT_EQ(effect->would_admit.size(), 1u);
  EXPECT_EQ(effect->would_admit.front()->id, job->id);
  EXPECT_EQ(owners.commits.last_seq(), before);
}

TEST_F(UpperOwners, WithoutTopologyThereAreNoTreesOfMachines) {
  EXPECT_EQ(owners.machines.ForestOf(*owners.config.view()), nullptr);
  EXPECT_FALSE(owners.machines.SecondPassDue());
}

TEST_F(UpperOwners, AnEditThatDoesNotFitChangesNothing) {
  const ConfigPtr before = owners.config.view();
  const Status refused =
      world.Apply({FlavorObject("other"), Removal(ObjectKind::kResourceFlavor, "", "default")});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().fields.front().field, "documents[1]");
  EXPECT_EQ(owners.config.view(), before);
  EXPECT_TRUE(owners.commits.tx().Empty());
}

TEST_F(UpperOwners, AQueueWithJobsThatHoldQuotaIsNotRemoved) {
  Running();
  EXPECT_FALSE(world.Apply({Removal(ObjectKind::kClusterQueue, "", "cq")}).ok());
}

TEST_F(UpperOwners, AStoppedQueueIsDrained) {
  const JobPtr job = Running();
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.stop_policy = "HoldAndDrain"})}).ok());
  EXPECT_TRUE(IsTrue(*world.Now(job), "Evicted"));
}

TEST_F(UpperOwners, AReportWaitsForRoomInACommit) {
  const JobPtr job = world.Submit({});
  world.Cycle();
  Observation seen;
  seen.key = CurrentKey(*world.Now(job));
  seen.phase = RemotePhase::kRunning;
  owners.reports.Add(ObservedCommand{seen});
  EXPECT_EQ(world.Now(job)->state, JobState::kAdmitted);
  EXPECT_TRUE(owners.reports.TakeSome());
  EXPECT_EQ(world.Now(job)->state, JobState::kRunning);
  EXPECT_FALSE(owners.reports.TakeSome());
}

TEST_F(UpperOwners, NothingIsDecidedBeforeMembersHaveListed_ButNotForEver) {
  owners.reports.Reset({"east"});
  EXPECT_TRUE(owners.reports.AwaitsLists());
  world.clock.Advance(10'000);
  EXPECT_FALSE(owners.reports.AwaitsLists());
  owners.reports.Reset({"east"});
  owners.reports.Add(ListedCommand{"east", {}, {}});
  owners.reports.TakeSome();
  EXPECT_FALSE(owners.reports.AwaitsLists());
}

TEST_F(UpperOwners, AnObjectWithoutOurMarksIsLeftAlone) {
  Observation seen;
  seen.key = {UidOf("foreign"), 1, "east"};
  seen.remote_uid = "foreign";
  seen.object = {"batch/v1", "Job", "default", "theirs"};
  owners.orphans.Note(seen, nullptr);
  ASSERT_EQ(owners.orphans.set_aside().size(), 1u);
  EXPECT_EQ(owners.orphans.set_aside().begin()->second.reason, SetAsideReason::kUnowned);
  EXPECT_TRUE(owners.commits.tx().orders.empty());
  owners.orphans.ForgetAbsent("east", {});
  EXPECT_TRUE(owners.orphans.set_aside().empty());
}

TEST_F(UpperOwners, AnObjectAheadOfTheDatabaseIsQuarantinedUntilSomebodyHasLookedAtIt) {
  const Observation seen =
      MarkedObject({UidOf("default/job"), 2, "east"}, "ahead", owners.commits.last_seq() + 1);
  owners.orphans.Note(seen, nullptr);
  ASSERT_EQ(owners.orphans.set_aside().size(), 1u);
  EXPECT_EQ(owners.orphans.set_aside().begin()->second.reason, SetAsideReason::kAhead);
  EXPECT_TRUE(owners.commits.tx().orders.empty());
  owners.orphans.ForgetAbsent("east", {});
  EXPECT_EQ(owners.orphans.set_aside().size(), 1u) << "a list without it proves nothing";
  const Result<std::size_t> collected = Collect("east");
  ASSERT_TRUE(collected.ok());
  EXPECT_EQ(*collected, 1u);
  EXPECT_TRUE(owners.orphans.set_aside().begin()->second.released);
  EXPECT_EQ(world.orders.lines, std::vector<std::string>{"list east"});
  owners.orphans.Note(seen, nullptr);
  world.Commit();
  EXPECT_EQ(world.orders.lines.back(), "remove east/2");
  owners.orphans.ForgetAbsent("east", {});
  EXPECT_TRUE(owners.orphans.set_aside().empty());
}

TEST_F(UpperOwners, NothingIsCollectedOnAMemberThatDoesNotExist) {
  const Result<std::size_t> collected = Collect("west");
  ASSERT_FALSE(collected.ok());
  EXPECT_EQ(collected.error().code, Code::kNotFound);
}

TEST_F(UpperOwners, AStrayIsRemovedOnlyAfterItsGraceAndASecondList) {
  const JobPtr job = world.Submit({});
  world.Cycle();
  const DispatchKey former = CurrentKey(*world.Now(job));
  owners.attempts.EvictFor(world.Now(job), Reason::kClusterDrained, {"ClusterDrained", "", ""});
  owners.attempts.Step(former, dispatch::RemoveSucceeded{}, nullptr);
  world.Commit();
  world.orders.lines.clear();
  const Observation seen = MarkedObject(former, "left", 1);
  owners.orphans.Note(seen, nullptr);
  owners.orphans.Note(seen, nullptr);
  EXPECT_TRUE(owners.commits.tx().orders.empty()) << "two lists, but no time between them";
  EXPECT_TRUE(owners.orphans.NextList().has_value());
  EXPECT_FALSE(owners.orphans.FireLists());
  world.clock.Advance(world.context.options.orphan_grace_ms);
  EXPECT_TRUE(owners.orphans.FireLists());
  world.Commit();
  EXPECT_EQ(world.orders.lines, std::vector<std::string>{"list east"});
  owners.orphans.Note(seen, nullptr);
  world.Commit();
  EXPECT_EQ(world.orders.lines, (std::vector<std::string>{"list east", "remove east/1"}));
  EXPECT_TRUE(owners.orphans.set_aside().empty());
}

TEST_F(UpperOwners, AttemptsOfAMemberThatDoesNotAnswerAreUnknownAfterItsGrace) {
  const JobPtr job = Running();
  Tell(false);
  EXPECT_FALSE(owners.lost_members.Fire());
  world.clock.Advance(world.context.options.lost_after_ms);
  EXPECT_TRUE(owners.lost_members.Fire());
  EXPECT_EQ(owners.rows.Find(CurrentKey(*job))->state, DispatchState::kUnknown);
  EXPECT_EQ(owners.jobs.holders().Find(job->id), nullptr) << "nobody waits for a victim there";
  Tell(true);
  EXPECT_NE(owners.jobs.holders().Find(job->id), nullptr);
  EXPECT_EQ(world.orders.lines.back(), "list east");
}

TEST_F(UpperOwners, AMemberThatAnswersButIsNotHealthy_GetsNoNewJobs_AndItsOwnAreNotLost) {
  const JobPtr job = Running();
  ClusterFacts facts;
  facts.cluster = "east";
  facts.healthy = false;
  facts.answers = true;
  owners.lost_members.Handle(FactsCommand{facts});
  world.Commit();
  EXPECT_TRUE(owners.members.Answers("east"));
  const JobPtr next = world.Submit({.name = "next"});
  world.Cycle();
  EXPECT_EQ(world.Now(next)->state, JobState::kPending);
  world.clock.Advance(100 * world.context.options.lost_after_ms);
  owners.lost_members.Fire();
  world.Commit();
  EXPECT_EQ(owners.rows.Find(CurrentKey(*job))->state, DispatchState::kRunning);
  Tell(true);
  world.Cycle();
  EXPECT_NE(world.Now(next)->state, JobState::kPending);
}

TEST_F(UpperOwners, AMemberThatWasSilentIsFoundByAnyAnswer) {
  Running();
  Tell(false);
  EXPECT_FALSE(owners.members.Answers("east"));
  ClusterFacts facts;
  facts.cluster = "east";
  facts.healthy = false;
  facts.answers = true;
  owners.lost_members.Handle(FactsCommand{facts});
  world.Commit();
  EXPECT_TRUE(owners.members.Answers("east"));
}

TEST_F(UpperOwners, AMemberThatAnswersIsNotFenced) {
  const JobPtr job = Running();
  const Result<std::size_t> given_up = Fence(false);
  ASSERT_FALSE(given_up.ok());
  EXPECT_EQ(given_up.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(world.Now(job)->state, JobState::kRunning);
  EXPECT_EQ(owners.rows.Find(CurrentKey(*job))->state, DispatchState::kRunning);
}

TEST_F(UpperOwners, AFencedMembersAttemptsAreGivenUpAndTheirJobsWaitAgain) {
  ASSERT_TRUE(world
                  .Apply({WithAnnotation(ClusterQueueObject({}), "muster.io/on-cluster-lost",
                                         "afterFence")})
                  .ok());
  const JobPtr job = Running();
  Tell(false);
  const Result<std::size_t> given_up = Fence(false);
  ASSERT_TRUE(given_up.ok());
  EXPECT_EQ(*given_up, 1u);
  EXPECT_EQ(world.Now(job)->state, JobState::kPending);
  EXPECT_EQ(owners.rows.Find(CurrentKey(*job))->state, DispatchState::kLost);
}

TEST_F(UpperOwners, AFenceLeavesAttemptsWhosePolicyWaitsUnlessItIsForced) {
  const JobPtr job = Running();
  Tell(false);
  const Result<std::size_t> waits = Fence(false);
  ASSERT_TRUE(waits.ok());
  EXPECT_EQ(*waits, 0u);
  EXPECT_EQ(world.Now(job)->state, JobState::kRunning);
  const Result<std::size_t> forced = Fence(true);
  ASSERT_TRUE(forced.ok());
  EXPECT_EQ(*forced, 1u);
  EXPECT_EQ(world.Now(job)->state, JobState::kFailed);
  EXPECT_EQ(world.Now(job)->reason, Reason::kLost);
}

TEST_F(UpperOwners, ADrainedMembersJobsLeaveAndItsProgressSaysSo) {
  const JobPtr job = Running();
  Result<DrainProgress> progress = Internal("no answer");
  DrainCommand command;
  command.cluster = "east";
  command.done = [&](Result<DrainProgress> told) { progress = told; };
  owners.leaving.Handle(std::move(command));
  world.Commit();
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(progress->evicting, 1u);
  EXPECT_TRUE(IsTrue(*world.Now(job), "Evicted"));
}

TEST_F(UpperOwners, NobodyLeavesAMemberWithoutDrainTaintOrEviction) {
  Running();
  EXPECT_FALSE(owners.leaving.Next().has_value());
  EXPECT_FALSE(owners.leaving.Fire());
}

TEST_F(UpperOwners, RebalancingLooksOnlyAtQueuesThatAskForIt) {
  Running();
  EXPECT_FALSE(owners.leaving.Next().has_value());
  ASSERT_TRUE(
      world.Apply({WithAnnotation(ClusterQueueObject({}), "muster.io/rebalance", "true")}).ok());
  ASSERT_TRUE(owners.leaving.Next().has_value());
  EXPECT_EQ(*owners.leaving.Next() - world.clock.Now(), SecondsToNanos(300));
}

}  // namespace
}  // namespace muster::test
