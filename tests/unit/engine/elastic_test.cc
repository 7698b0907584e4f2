// Elastic jobs in the engine: shrinking at once, growing through a slice that waits, crashes and
// evictions in between; and scheduling gates that keep a job out of its queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/scale_lifecycle.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ElasticTest : public testing::Test {
 protected:
  // `cpu` is both the quota and the room of the member.
  void Declare(std::int64_t cpu, std::int64_t room = 64'000) {
    world.Declare({{"cpu", cpu}}, {{"cpu", room}});
  }

  JobId Submit(const JobSpec& spec, bool elastic = true, const std::string& gates = "") {
    SubmitCommand command;
    command.jobs.push_back(MakeSubmission(spec));
    JobRecord& draft = *command.jobs[0].draft;
    draft.elastic = elastic;
    if (!gates.empty())
      ChangeState(&draft, [&](AdmissionState* state) { state->admission_gated_by = gates; });
    JobId id;
    command.done = [&id](Result<std::vector<Result<SubmittedJob>>> result) {
      ASSERT_TRUE(result.ok() && (*result)[0].ok());
      id = (*result)[0]->job->id;
    };
    MUSTER_CHECK(world.engine->Post(std::move(command)));
    world.Settle();
    return id;
  }
  JobId RunElastic(std::int32_t pods) {
    submitted = pods;
    const JobId id = Submit({.name = "elastic", .pods = {{pods}}});
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    return id;
  }

  Result<JobPtr> Replace(ReplaceJobCommand command) {
    std::optional<Result<JobPtr>> answer;
    command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
    MUSTER_CHECK(world.engine->Post(std::move(command)));
    world.Settle();
    if (!answer) return Unavailable("no answer yet");
    return *answer;
  }
  Result<JobPtr> Resize(JobId id, std::int32_t pods) {
    ReplaceJobCommand command;
    command.actor = {"alice", "test"};
    command.job = id;
    command.size = JobSize{pods, std::nullopt};
    command.submitted = JobSize{submitted, std::nullopt};
    return Replace(std::move(command));
  }

  void ResizeStubbornly(JobId id, std::int32_t pods) {
    for (int tries = 0; tries < 20 && !Resize(id, pods).ok(); ++tries) {
      world.clock.Advance(3000);
      world.Run();
    }
    world.clock.Advance(3000);
    world.Run();
  }

  std::int32_t PodsOnMember(JobId id) { return world.members.objects[world.KeyOf(id)].pods; }
  const ElasticScale& Scale(JobId id) { return *ScaleOf(*(shown_ = world.Job(id))); }
  void ExpectWhole(JobId id, std::int32_t pods) {
    world.Run();
    const JobPtr job = world.Job(id);
    EXPECT_EQ(job->state, JobState::kRunning);
    EXPECT_EQ(job->attempt, 1);
    EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1) << "resized, not restarted";
    EXPECT_EQ(PodsOnMember(id), pods);
    EXPECT_EQ(job->admission->pod_sets[0].count, pods);
    EXPECT_EQ(job->pod_sets->front().count, pods);
    EXPECT_EQ(world.UsedCpu(), 1000 * pods);
    for (const UsageRow& row : world.Stored().usage) EXPECT_EQ(row.amount, 1000 * pods);
  }

  EngineWorld world;
  std::int32_t submitted = 1;

 private:
  JobPtr shown_;
};

TEST_F(ElasticTest, ShrinkingGivesQuotaBackAtOnce_AndTheNextJobStarts) {
  Declare(4000);
  const JobId id = RunElastic(4);
  const JobId waiting = Submit({.name = "waiting", .pods = {{3}}});
  EXPECT_EQ(world.StateOf(waiting), JobState::kPending);
  ASSERT_TRUE(Resize(id, 1).ok());
  EXPECT_EQ(world.UsedCpu(), 4000) << "the other one has it already";
  world.Run();
  EXPECT_EQ(world.StateOf(waiting), JobState::kRunning);
  EXPECT_EQ(PodsOnMember(id), 1);
  EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1);
  EXPECT_EQ(Scale(id).generation, 2);
  EXPECT_TRUE(Scale(id).finished.empty()) << "the slice that runs became smaller";
}

TEST_F(ElasticTest, GrowingReplacesTheSlice_AndChargesTheDifference) {
  Declare(4000);
  const JobId id = RunElastic(2);
  const Uid first = world.Job(id)->uid;
  ASSERT_TRUE(Resize(id, 4).ok()) << "four more would not fit, two do";
  ExpectWhole(id, 4);
  ASSERT_EQ(Scale(id).finished.size(), 1u);
  const FinishedSlice& ended = Scale(id).finished[0];
  EXPECT_EQ(ended.uid, first);
  EXPECT_EQ(ended.pods, 2);
  EXPECT_EQ(ended.message,
            "Replaced to accommodate a workload (UID: " + Scale(id).slice.ToString() +
                ", JobUID: " + first.ToString() + ") due to workload slice aggregation");
  const auto event = std::find_if(world.events.begin(), world.events.end(), [](const Event& one) {
    return one.reason == "WorkloadSliceReplaced";
  });
  ASSERT_NE(event, world.events.end());
  EXPECT_EQ(event->job, id);
  EXPECT_EQ(event->message, ended.message);
  ASSERT_TRUE(Resize(id, 3).ok());
  ExpectWhole(id, 3);
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
  EXPECT_EQ(world.UsedCpu(), 0);
  EXPECT_EQ(world.store.ReadAttempts({id})->size(), 1u);
}

TEST_F(ElasticTest, ASliceWaitsForQuota_SaysWhy_AndTakesItWhenItComesFree) {
  Declare(4000);
  const JobId other = Submit({.name = "other", .pods = {{1}}});
  const JobId id = RunElastic(2);
  ASSERT_TRUE(Resize(id, 4).ok());
  world.Run();
  EXPECT_EQ(PodsOnMember(id), 2);
  EXPECT_EQ(world.UsedCpu(), 3000);
  ASSERT_TRUE(Scale(id).pending.has_value());
  EXPECT_EQ(Scale(id).pending->reason, Reason::kWaitingForQuota);
  EXPECT_THAT(world.Job(id)->message,
              AllOf(HasSubstr("Waits to grow to 4 pods: "),
                    HasSubstr("insufficient unused quota for cpu in flavor default, 1 more")));
  world.members.End(world.KeyOf(other), RemotePhase::kSucceeded);
  ExpectWhole(id, 4);
  EXPECT_EQ(world.Job(id)->message, "");
}

TEST_F(ElasticTest, ASecondWishChangesTheSliceThatWaits) {
  Declare(4000);
  const JobId id = RunElastic(2);
  ASSERT_TRUE(Resize(id, 8).ok());
  world.Run();
  const Uid slice = Scale(id).pending->uid;
  ASSERT_TRUE(Resize(id, 6).ok());
  EXPECT_EQ(Scale(id).pending->uid, slice) << "at most one waits";
  ASSERT_TRUE(Resize(id, 3).ok());
  ExpectWhole(id, 3);
  ASSERT_TRUE(Resize(id, 9).ok());
  ASSERT_TRUE(Resize(id, 3).ok()) << "back to what runs";
  EXPECT_FALSE(Scale(id).pending.has_value());
  EXPECT_EQ(world.engine->View()->queues.at("cq").active, 0u);
  EXPECT_EQ(world.engine->View()->queues.at("cq").inadmissible, 0u);
  ExpectWhole(id, 3);
}

TEST_F(ElasticTest, ASliceNeedsRoomForWhatComesToIt_OnTheMemberThatRunsTheJob) {
  Declare(20'000, 4000);
  ASSERT_TRUE(world.Apply({MemberObject("west", {{"cpu", 1000}})}).ok());
  const JobId id = RunElastic(2);
  ASSERT_TRUE(Resize(id, 4).ok());
  ExpectWhole(id, 4);
  ASSERT_TRUE(Resize(id, 5).ok()) << "west has room for one";
  world.Run();
  EXPECT_EQ(Scale(id).pending->reason, Reason::kWaitingForCapacity);
  EXPECT_THAT(world.Job(id)->message, HasSubstr("member cluster east, which runs the job"));
  EXPECT_EQ(PodsOnMember(id), 4);
}

TEST_F(ElasticTest, AJobThatWaitsTakesItsNewSizeAtOnce) {
  Declare(4000);
  submitted = 6;
  const JobId id = Submit({.name = "elastic", .pods = {{6}}});
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  ASSERT_TRUE(Resize(id, 4).ok());
  ExpectWhole(id, 4);
}

TEST_F(ElasticTest, AnEvictedJobComesBackWithTheSizeThatWasWanted) {
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.within = "LowerPriority"})}).ok());
  const JobId id = RunElastic(3);
  ASSERT_TRUE(Resize(id, 4).ok());
  ASSERT_TRUE(Resize(id, 5).ok());
  world.Settle();
  const JobId urgent = Submit({.name = "urgent", .pods = {{4}}, .priority = 10});
  world.Run();
  EXPECT_EQ(world.StateOf(urgent), JobState::kRunning);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.Job(id)->pod_sets->front().count, 5);
  EXPECT_FALSE(Scale(id).pending.has_value());
  ASSERT_TRUE(Resize(id, 4).ok());
  world.members.End(world.KeyOf(urgent), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(PodsOnMember(id), 4);
}

TEST_F(ElasticTest, ASliceEvictsForItsJob_AndBothUidsAreInTheSentence) {
  Declare(4000);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.within = "LowerPriority"})}).ok());
  submitted = 2;
  const JobId id = Submit({.name = "elastic", .pods = {{2}}, .priority = 10});
  const JobId victim = Submit({.name = "victim", .pods = {{2}}});
  world.Run();
  ASSERT_TRUE(Resize(id, 4).ok());
  const Uid slice = Scale(id).pending->uid;
  ExpectWhole(id, 4);
  EXPECT_EQ(world.StateOf(victim), JobState::kPending);
  EXPECT_THAT(
      FindCondition(*world.Job(victim), "Preempted")->message,
      HasSubstr("(UID: " + slice.ToString() + ", JobUID: " + world.Job(id)->uid.ToString() + ")"));
}

TEST_F(ElasticTest, WhatMayNotChangeIsRefusedWithASentence) {
  Declare(4000);
  submitted = 2;
  const JobId plain = Submit({.name = "plain", .pods = {{2}}}, false);
  world.Run();
  const auto refused = Resize(plain, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().detail, HasSubstr("kueue.x-k8s.io/elastic-job"));
  EXPECT_EQ(refused.error().fields.at(0).field, "spec.parallelism");
  ReplaceJobCommand stale;
  stale.job = plain;
  stale.admission_gated_by = "";
  stale.expected_resource_version = 1;
  EXPECT_EQ(Replace(std::move(stale)).error().code, Code::kAborted);
  ASSERT_TRUE(world.Do(JobVerb::kCancel, plain).ok());
  world.Run();
  EXPECT_THAT(Resize(plain, 1).error().detail, HasSubstr("already ended"));
  ASSERT_TRUE(
      world.Apply({CheckObject("budget"), ClusterQueueObject({.checks = {"budget"}})}).ok());
  ASSERT_TRUE(world.ActivateCheck("budget").ok());
  const JobId checked = Submit({.name = "checked", .pods = {{2}}});
  EXPECT_THAT(Resize(checked, 3).error().detail, HasSubstr("admission checks"));
  ASSERT_TRUE(world.SetCheck(checked, "budget", CheckState::kReady).ok());
  world.Run();
  EXPECT_THAT(Resize(checked, 3).error().detail, HasSubstr("admission checks"));
  ASSERT_TRUE(Resize(checked, 1).ok()) << "what shrinks asks nobody";
  ExpectWhole(checked, 1);
}

TEST_F(ElasticTest, ADryRunChangesNothing) {
  Declare(4000);
  const JobId id = RunElastic(2);
  ReplaceJobCommand command;
  command.job = id;
  command.size = JobSize{4, std::nullopt};
  command.submitted = JobSize{2, std::nullopt};
  command.dry_run = true;
  ASSERT_TRUE(Replace(std::move(command)).ok());
  ExpectWhole(id, 2);
}

TEST_F(ElasticTest, ACrashBeforeTheMemberHearsOfIt_IsMadeUpFor) {
  Declare(4000);
  const JobId id = RunElastic(2);
  ASSERT_TRUE(Resize(id, 4).ok());
  EXPECT_EQ(PodsOnMember(id), 2);
  world.Restart();
  ExpectWhole(id, 4);
  EXPECT_EQ(Scale(id).finished.size(), 1u);
}

TEST_F(ElasticTest, ASliceThatWaitsSurvivesACrash) {
  Declare(4000);
  const JobId other = Submit({.name = "other", .pods = {{1}}});
  const JobId id = RunElastic(2);
  ASSERT_TRUE(Resize(id, 4).ok());
  world.Run();
  const Uid slice = Scale(id).pending->uid;
  world.Restart();
  world.Run();
  ASSERT_TRUE(Scale(id).pending.has_value());
  EXPECT_EQ(Scale(id).pending->uid, slice);
  EXPECT_EQ(world.UsedCpu(), 3000);
  world.members.End(world.KeyOf(other), RemotePhase::kSucceeded);
  ExpectWhole(id, 4);
  EXPECT_EQ(Scale(id).slice, slice);
}

TEST_F(ElasticTest, AMemberThatFailsToResizeIsAskedAgain) {
  Declare(4000);
  const JobId id = RunElastic(2);
  ASSERT_TRUE(Resize(id, 4).ok());
  ASSERT_EQ(world.members.orders.size(), 1u);
  world.members.Carry(0, Code::kUnavailable);
  world.Settle();
  EXPECT_EQ(PodsOnMember(id), 2);
  ExpectWhole(id, 4);
  ASSERT_TRUE(Resize(id, 3).ok());
  world.members.Carry(0, Code::kInvalidArgument);
  world.Settle();
  EXPECT_TRUE(world.members.orders.empty()) << "its last word";
  EXPECT_EQ(world.events.back().type, "JobResizeRefused");
}

// A world of its own for each iteration of a loop.
struct FreshWorld : ElasticTest {
  void TestBody() override {}
  using ElasticTest::Declare;
  using ElasticTest::ExpectWhole;
  using ElasticTest::ResizeStubbornly;
  using ElasticTest::RunElastic;
  using ElasticTest::Scale;
  using ElasticTest::world;
};

TEST_F(ElasticTest, AtEveryLostWrite_NothingIsLostAndNothingCountsTwice) {
  for (const StoreFault fault :
       {StoreFault::kUnavailable, StoreFault::kUnknownApplied, StoreFault::kUnknownNotApplied}) {
    for (std::size_t nth = 1; nth <= 6; ++nth) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + " at write " +
                   std::to_string(nth));
      FreshWorld one;
      one.Declare(4000);
      const JobId id = one.RunElastic(2);
      one.world.store.InjectFault(nth, fault);
      one.ResizeStubbornly(id, 4);
      one.ExpectWhole(id, 4);
      EXPECT_EQ(one.Scale(id).finished.size(), 1u);
      one.ResizeStubbornly(id, 1);
      one.ExpectWhole(id, 1);
    }
  }
}

TEST_F(ElasticTest, AGatedJobWaitsUntilItsGatesAreTakenAway) {
  Declare(4000);
  const JobId id = Submit({.name = "gated"}, false, "a.io/one,b.io/two");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.Job(id)->reason, Reason::kAdmissionGated);
  EXPECT_EQ(world.Job(id)->message, "Admission is gated by: a.io/one,b.io/two");
  ReplaceJobCommand one;
  one.job = id;
  one.admission_gated_by = "b.io/two";
  ASSERT_TRUE(Replace(std::move(one)).ok());
  world.Restart();
  world.Run();
  EXPECT_EQ(world.Job(id)->message, "Admission is gated by: b.io/two");
  EXPECT_EQ(world.UsedCpu(), 0);
  ReplaceJobCommand none;
  none.job = id;
  none.admission_gated_by = "";
  const auto cleared = Replace(std::move(none));
  ASSERT_TRUE(cleared.ok());
  EXPECT_EQ((*cleared)->message, "AdmissionGatedBy cleared, waiting for quota reservation");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

}  // namespace
}  // namespace muster::test
