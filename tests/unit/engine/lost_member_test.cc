// Members that do not answer: what their jobs show, what each policy does with them, and what
// happens when they are reachable again (rule D22, cases 20, 21, 30 to 32, 37, 47 and 48).
#include "tests/unit/engine/dispatch_cases.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

class LostMember : public DispatchCase {};

TEST_F(LostMember, Case20_APartitionShorterThanTheLimitChangesNothing) {
  const JobId id = Running();
  Cut();
  Pass(10'000);
  EXPECT_EQ(RowOf(id), DispatchState::kRunning);
  EXPECT_EQ(world.Job(id)->message, "");
  Heal();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(LostMember, Case20_UnderPolicyWait_TheJobKeepsItsQuotaAndSaysSinceWhen) {
  const JobId id = Running();
  const std::string since = FormatRfc3339(world.clock.WallNow());
  Cut();
  Pass(kLongAwayMs);
  EXPECT_EQ(RowOf(id), DispatchState::kUnknown);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->message, "member cluster east has not answered since " + since);
  Pass(24 * 3'600'000);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.UsedCpu(), 1000) << "what runs there is not free";
  Heal();
  EXPECT_EQ(RowOf(id), DispatchState::kRunning);
  EXPECT_EQ(world.Job(id)->message, "");
  EXPECT_EQ(world.Job(id)->attempt, 1);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(LostMember, Case20_UnderPolicyFail_TheJobFailsAndWhatComesBackIsStopped) {
  SetPolicy("fail");
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  Cut();
  Pass(kLongAwayMs);
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kLost);
  EXPECT_THAT(world.Job(id)->message, HasSubstr("member cluster east has not answered since"));
  EXPECT_EQ(world.UsedCpu(), 0);
  Heal();
  EXPECT_FALSE(world.members.objects.contains(key)) << "it ran on, and is fenced now";
  EXPECT_EQ(RowOf(id), DispatchState::kGone);
}

TEST_F(LostMember, Case20_UnderPolicyAfterTimeout_TheJobRunsAgainElsewhereAndTheFirstOneIsStopped) {
  AddMember("west");
  SetPolicy("afterTimeout:15m");
  const JobId id = Running();
  const DispatchKey first = world.KeyOf(id);
  Cut(first.cluster);
  Pass(14 * 60'000);
  EXPECT_EQ(world.Job(id)->attempt, 1);
  accepts_two_runs = true;
  Pass(2 * 60'000);
  const DispatchKey second = world.KeyOf(id);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_NE(second.cluster, first.cluster);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  Heal(first.cluster);
  EXPECT_FALSE(world.members.objects.contains(first));
  EXPECT_TRUE(world.members.objects.contains(second));
  const auto attempts = world.store.ReadAttempts({id});
  ASSERT_EQ(attempts->size(), 1U) << "both runs are on record";
  EXPECT_EQ(attempts->front().reason, Reason::kLost);
  EXPECT_EQ(attempts->front().cluster, first.cluster);
}

TEST_F(LostMember, Case20_TheTimeoutRunsOnWhileTheDaemonIsDown) {
  AddMember("west");
  SetPolicy("afterTimeout:15m");
  accepts_two_runs = true;
  const JobId id = Running();
  const std::string first = world.KeyOf(id).cluster;
  Cut(first);
  Pass(kLongAwayMs);
  ASSERT_EQ(RowOf(id), DispatchState::kUnknown);
  world.clock.Advance(16 * 60'000);
  world.Restart();
  Pass(3000);
  EXPECT_EQ(world.Job(id)->attempt, 1) << "it may answer now";
  Pass(kLongAwayMs);
  EXPECT_EQ(world.Job(id)->attempt, 2);
  EXPECT_NE(world.KeyOf(id).cluster, first);
}

TEST_F(LostMember, Case20_AMemberThatCameBackWhileTheDaemonWasDown_KeepsItsJobs) {
  SetPolicy("afterTimeout:15m");
  const JobId id = Running();
  Cut();
  Pass(kLongAwayMs);
  world.clock.Advance(60 * 60'000);
  world.members.away.clear();
  world.Restart();
  world.Run();
  world.members.Tell("east");
  Pass(kLongAwayMs);
  EXPECT_EQ(RowOf(id), DispatchState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 1);
}

TEST_F(LostMember, Case20_OnTheSameMemberAgain_TheNextAttemptTakesTheNameOfTheOneWrittenOff) {
  SetPolicy("afterTimeout:1m");
  accepts_two_runs = true;
  const JobId id = Running();
  const DispatchKey first = world.KeyOf(id);
  Cut();
  Pass(2 * 60'000);
  Pass(3000);
  EXPECT_EQ(world.StateOf(id), JobState::kPending) << "the only member is away";
  // The member answers, and the job is placed there before the member was listed.
  world.members.away.clear();
  world.members.Tell("east");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 2);
  EXPECT_FALSE(world.members.objects.contains(first));
  EXPECT_EQ(world.members.objects.size(), 1U);
}

TEST_F(LostMember, Case20_UnderPolicyAfterFence_AnAdministratorDecides) {
  AddMember("west");
  SetPolicy("afterFence");
  const JobId id = Running();
  const DispatchKey first = world.KeyOf(id);
  std::optional<Result<std::size_t>> answer;
  const auto fence = [&](const std::string& cluster) {
    world.engine->Post(FenceCommand{
        {"root", "test"}, cluster, [&](Result<std::size_t> count) { answer = count; }});
    world.Settle();
  };
  fence(first.cluster);
  ASSERT_FALSE(answer->ok());
  EXPECT_THAT(answer->error().detail, HasSubstr("answers: cordon it"));
  fence("nowhere");
  EXPECT_EQ(answer->error().code, Code::kNotFound);
  Cut(first.cluster);
  Pass(24 * 3'600'000);
  EXPECT_EQ(world.Job(id)->attempt, 1);
  world.members.Vanish(first);  // its nodes are off
  fence(first.cluster);
  ASSERT_TRUE(answer->ok());
  EXPECT_EQ(answer->value(), 1U);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 2);
  EXPECT_NE(world.KeyOf(id).cluster, first.cluster);
  EXPECT_EQ(EventsOf("MemberFenced"), 1U);
  Heal(first.cluster);
  EXPECT_EQ(world.Job(id)->attempt, 2);
}

TEST_F(LostMember, Case21_AJobThatEndsUnseenHasEndedWhenItsMemberIsBack) {
  const JobId id = Running();
  Cut();
  Pass(kLongAwayMs);
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  Pass(60'000);
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  Heal();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
  EXPECT_EQ(world.members.acknowledged[world.KeyOf(id)], 1);
}

TEST_F(LostMember, Case21_AJobThatEndedUnseenAndWasDeletedThereIsLost) {
  const JobId id = Running();
  Cut();
  Pass(kLongAwayMs);
  world.members.Vanish(world.KeyOf(id));
  Heal();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->message, "member cluster east no longer has it");
}

TEST_F(LostMember, Case30_CancelInEachDispatchState) {
  struct {
    const char* name;
    int carried;  // orders carried out before the cancel
    bool away;
  } const cases[] = {{"intent", 0, false},     {"releasing", 1, false},     {"released", 2, false},
                     {"intent-away", 0, true}, {"releasing-away", 1, true}, {"unknown", 2, true}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    const JobId id = Submit(one.name);
    const DispatchKey key = world.KeyOf(id);
    for (int i = 0; i < one.carried; ++i) {
      world.members.Carry();
      world.Settle();
    }
    if (one.away) {
      Cut();
      Pass(kLongAwayMs);
    }
    ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
    EXPECT_FALSE(IsTerminal(world.StateOf(id))) << "until it is proven gone";
    if (one.away) {
      world.members.Carry(world.members.orders.size() - 1, Code::kUnavailable);
      world.Settle();
      EXPECT_THAT(world.Job(id)->message,
                  HasSubstr("Cancelled by alice; waits for member cluster east: laid by the test"));
      Heal();
    }
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
    EXPECT_EQ(world.Job(id)->message, "Cancelled by alice");
    EXPECT_FALSE(world.members.objects.contains(key));
    EXPECT_EQ(world.UsedCpu(), 0);
  }
}

TEST_F(LostMember, Case30_ACancelledJobOfAFencedMemberIsCancelled) {
  const JobId id = Running();
  Cut();
  Pass(kLongAwayMs);
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  Pass(60'000);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning) << "its pods may run";
  world.engine->Post(FenceCommand{{"root", "test"}, "east", [](Result<std::size_t>) {}});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
  EXPECT_EQ(world.Job(id)->message, "Cancelled by alice; member cluster east was fenced by root");
  world.members.objects.clear();
  Heal();
}

JobSpec Sized(const std::string& name, std::int64_t cpu, std::int32_t priority) {
  return {.name = name, .pods = {{1, {{"cpu", cpu}}, "main"}}, .priority = priority};
}

TEST_F(LostMember, Case31_AVictimThatIsBeingMadeIsStoppedBeforeItsQuotaIsGiven) {
  SetPolicy("wait");
  const JobId victim = world.Submit(Sized("victim", 4000, 0))->id;
  ASSERT_EQ(RowOf(victim), DispatchState::kIntent);
  const JobId preemptor = world.Submit(Sized("preemptor", 4000, 10))->id;
  EXPECT_EQ(RowOf(victim), DispatchState::kRevoking);
  EXPECT_EQ(world.StateOf(preemptor), JobState::kPending);
  // The create was being sent.
  world.members.Carry();
  world.Settle();
  EXPECT_EQ(world.StateOf(preemptor), JobState::kPending) << "the victim's object exists";
  world.Run();
  EXPECT_EQ(world.StateOf(preemptor), JobState::kRunning);
  EXPECT_EQ(world.StateOf(victim), JobState::kPending);
}

TEST_F(LostMember, Case31_AVictimThatHasJustEndedStaysEnded) {
  SetPolicy("wait");
  const JobId victim = world.Submit(Sized("victim", 4000, 0))->id;
  world.Run();
  const DispatchKey key = world.KeyOf(victim);
  // The end is not reported yet.
  world.members.End(key, RemotePhase::kSucceeded);
  const JobId preemptor = world.Submit(Sized("preemptor", 4000, 10))->id;
  world.Run();
  EXPECT_EQ(world.StateOf(preemptor), JobState::kRunning);
  const JobState state = world.StateOf(victim);
  EXPECT_TRUE(state == JobState::kSucceeded || state == JobState::kPending);
  EXPECT_EQ(Starts(key), 1);
}

TEST_F(LostMember, Case31_Case32_AVictimOnALostMemberIsNotChosen_AndComesBackAsOne) {
  AddMember("west");
  SetPolicy("wait");
  const JobId lost = world.Submit(Sized("lost", 2000, 0))->id;
  const JobId near = world.Submit(Sized("near", 2000, 1))->id;
  world.Run();
  const std::string away = world.KeyOf(lost).cluster;
  ASSERT_NE(world.KeyOf(near).cluster, away);
  Cut(away);
  Pass(kLongAwayMs);
  ASSERT_EQ(RowOf(lost), DispatchState::kUnknown);
  const JobId preemptor = world.Submit(Sized("preemptor", 2000, 10))->id;
  world.Run();
  EXPECT_EQ(world.StateOf(preemptor), JobState::kRunning) << "the nearer one made room";
  EXPECT_EQ(world.StateOf(near), JobState::kPending);
  EXPECT_FALSE(IsTrue(*world.Job(lost), "Evicted"));
  Heal(away);
  const JobId second = world.Submit(Sized("second", 2000, 10))->id;
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
  EXPECT_EQ(world.StateOf(lost), JobState::kPending) << "it answers, so it can be a victim";
}

TEST_F(LostMember, Case32_APreemptorWhoseVictimIsLostMeanwhileGetsItsQuotaByFence) {
  SetPolicy("wait");
  AddMember("west");
  const JobId victim = world.Submit(Sized("victim", 4000, 0))->id;
  world.Run();
  const std::string away = world.KeyOf(victim).cluster;
  // The member is unreachable, but not yet for long enough to be noticed.
  Cut(away);
  const JobId preemptor = world.Submit(Sized("preemptor", 4000, 10))->id;
  Pass(kLongAwayMs);
  EXPECT_EQ(world.StateOf(preemptor), JobState::kPending);
  world.engine->Post(FenceCommand{{"root", "test"}, away, [](Result<std::size_t>) {}});
  world.Run();
  EXPECT_EQ(world.StateOf(preemptor), JobState::kRunning);
  EXPECT_EQ(world.StateOf(victim), JobState::kPending);
  accepts_two_runs = true;
  Heal(away);
}

TEST_F(LostMember, Case37_ABurstIsCountedBeforeTheMemberSaysItsRoomIsLess) {
  const auto applied = world.Apply({ClusterQueueObject({.nominal = {{"cpu", 64'000}}})});
  ASSERT_TRUE(applied.ok());
  std::vector<JobId> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(Submit("job" + std::to_string(i)));
  world.members.Tell("east");  // as before the burst
  world.Run();
  std::size_t running = 0;
  for (const JobId id : ids) running += world.StateOf(id) == JobState::kRunning ? 1 : 0;
  EXPECT_EQ(running, 8U) << "the member has room for eight";
}

TEST_F(LostMember, Case47_TheHostsClockJumps_NothingIsWrittenOffBeforeItsTime) {
  SetPolicy("afterTimeout:15m");
  const JobId id = Running();
  Cut();
  Pass(kLongAwayMs);
  world.clock.Jump(24 * 3'600'000);
  Pass(60'000);
  EXPECT_EQ(world.Job(id)->attempt, 1);
  EXPECT_EQ(RowOf(id), DispatchState::kUnknown);
  world.clock.Jump(-48 * 3'600'000);
  Pass(60'000);
  Heal();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 1);
}

TEST_F(LostMember, Case48_ARestartWithOneMemberAway_TheOthersGoOn) {
  AddMember("west");
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(Submit("job" + std::to_string(i)));
  world.Run();
  for (const JobId id : ids) {
    if (world.KeyOf(id).cluster == "west")
      world.members.objects.at(world.KeyOf(id)).phase = RemotePhase::kSucceeded;
  }
  world.members.away.insert("east");
  world.Restart();
  world.members.Tell("east");
  world.members.Tell("west");
  world.Run();
  Pass(kLongAwayMs);
  for (const JobId id : ids) {
    const bool west = world.KeyOf(id).cluster == "west";
    EXPECT_EQ(world.StateOf(id), west ? JobState::kSucceeded : JobState::kRunning);
    if (!west) {
      EXPECT_EQ(RowOf(id), DispatchState::kUnknown);
    }
  }
  world.members.away.clear();
  Heal("east");
  for (const JobId id : ids) EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

}  // namespace
}  // namespace muster::test
