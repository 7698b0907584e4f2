// The failure cases (rule D22) that the engine and the state machine decide, each under its number.
// The invariants are checked after each. tests/e2e/kube/CASES.md names the tests of the other
// cases.
#include "tests/unit/engine/dispatch_cases.h"

#include <cstdio>

namespace muster::test {
namespace {

using testing::HasSubstr;

class DispatchCases : public DispatchCase {};

TEST_F(DispatchCases, Case01_KilledAfterIntentBeforePost_IsMadeOnceAfterTheRestart) {
  const JobId id = Submit();
  ASSERT_EQ(RowOf(id), DispatchState::kIntent);
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
  EXPECT_EQ(world.members.objects.size(), 1U);
}

TEST_F(DispatchCases, Case02_KilledAfterPostBeforeReply_TheObjectIsAdopted) {
  const JobId id = Submit();
  // The object is made; the answer is lost with the daemon.
  world.members.Carry();
  world.Restart();
  const std::string uid = ObjectOf(id).uid;
  EXPECT_EQ(Starts(world.KeyOf(id)), 0) << "nothing runs whose uid is not on record";
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(ObjectOf(id).uid, uid);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(DispatchCases, Case03_Case46_TheUidCannotBeRecorded_IsAdoptedWhenTheDatabaseIsBack) {
  for (const StoreFault fault :
       {StoreFault::kUnavailable, StoreFault::kUnknownNotApplied, StoreFault::kUnknownApplied}) {
    const JobId id = Submit("job" + std::to_string(static_cast<int>(fault)));
    world.store.InjectFault(1, fault);  // the commit of Releasing
    world.members.Carry();
    world.Settle();
    world.clock.Advance(60'000);
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    EXPECT_EQ(Starts(world.KeyOf(id)), 1);
    EXPECT_EQ(world.StoredRow(id)->remote_uid, ObjectOf(id).uid);
  }
}

TEST_F(DispatchCases, Case04_KilledBeforeTheRelease_IsReleasedByItsUidAfterTheRestart) {
  const JobId id = Submit();
  world.members.Carry();
  world.Settle();
  ASSERT_EQ(RowOf(id), DispatchState::kReleasing);
  EXPECT_EQ(world.StoredRow(id)->remote_uid, ObjectOf(id).uid);
  world.Restart();
  ASSERT_FALSE(world.members.orders.empty());
  EXPECT_EQ(world.members.orders.front().uid, ObjectOf(id).uid);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(DispatchCases, Case04_AReleaseThatDoesNotFindTheObjectThatIsThere_IsRepeated) {
  const JobId id = Submit();
  world.members.Carry();
  world.Settle();
  ASSERT_EQ(RowOf(id), DispatchState::kReleasing);
  world.members.Carry(0, Code::kNotFound);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(DispatchCases, Case05_KilledAfterTheRelease_IsFoundRunning) {
  const JobId id = Submit();
  world.members.Carry();
  world.Settle();
  // The object is released; the answer is lost with the daemon.
  world.members.Carry();
  world.Restart();
  ASSERT_EQ(RowOf(id), DispatchState::kReleasing);
  world.Run();
  EXPECT_EQ(RowOf(id), DispatchState::kRunning);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(DispatchCases, Case06_Case22_EveryCallHappensAndNoneIsAnswered_NothingIsDoneTwice) {
  const JobId id = Submit();
  for (int tries = 0; tries < 5; ++tries) {
    world.members.Carry(0, Code::kUnknown);
    world.Settle();
    if (tries == 2) {
      EXPECT_EQ(RowOf(id), DispatchState::kIntent) << "an open outcome decides nothing";
    }
  }
  EXPECT_THAT(world.Job(id)->message, HasSubstr("member cluster east: laid by the test"));
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
  EXPECT_EQ(world.members.objects.size(), 1U);
}

TEST_F(DispatchCases, Case07_ACreateThatComesAfterTheJobWasPlacedElsewhere_NeverRuns) {
  AddMember("west");
  SetPolicy("afterTimeout:15m");
  const JobId id = Submit();
  const DispatchKey late = world.KeyOf(id);
  PendingOrder create = world.members.orders.front();
  // The request is on the network.
  world.members.orders.clear();
  Cut(late.cluster);
  Pass(16 * 60'000);
  ASSERT_NE(world.KeyOf(id).cluster, late.cluster);
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  world.members.orders.push_back(create);
  world.members.away.erase(late.cluster);
  world.members.Carry(world.members.orders.size() - 1);  // it arrives
  ASSERT_TRUE(world.members.objects.contains(late));
  Heal(late.cluster);
  Collect(late.cluster);
  EXPECT_FALSE(world.members.objects.contains(late));
  EXPECT_EQ(Starts(late), 0);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(DispatchCases, Case08_EveryCallIsDoneTwice) {
  const JobId id = Submit();
  for (int round = 0; round < 6; ++round) {
    if (round == 4) {
      ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
    }
    if (!world.members.orders.empty()) {
      world.members.orders.push_front(world.members.orders.front());
      world.members.Carry();
      world.members.Carry();
    }
    world.Settle();
  }
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 2);
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(DispatchCases, Case09_AForeignObjectOfTheName_SurvivesAndTheJobIsRefused) {
  const DispatchKey stranger{UidOf("stranger"), 1, "east"};
  world.members.objects[stranger] = {.uid = "foreign",
                                     .object = {"batch/v1", "Job", "default", "job"}};
  const JobId id = Submit();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kFailedToStart);
  EXPECT_THAT(world.Job(id)->message, HasSubstr("a foreign object has the name"));
  ASSERT_TRUE(world.Do(JobVerb::kDelete, id).ok());
  Collect();
  EXPECT_TRUE(world.members.objects.contains(stranger));
  EXPECT_EQ(world.engine->View()->set_aside->size(), 1U) << "I5";
}

TEST_F(DispatchCases, Case10_AnotherObjectUnderOurLabels_OursIsLostAndTheCopyGoesAfterIt) {
  const JobId id = Running();
  ObjectOf(id).uid = "copy";
  foreign.insert("copy");
  const DispatchKey key = world.KeyOf(id);
  world.members.Say(key);
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning) << "a report of the copy says nothing of ours";
  List();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kLost);
  EXPECT_TRUE(world.members.objects.contains(key));
  EXPECT_EQ(world.members.acknowledged.count(key), 0U);
  const SetAsideObjects& aside = *world.engine->View()->set_aside;
  ASSERT_EQ(aside.size(), 1U);
  EXPECT_EQ(aside.begin()->second.reason, SetAsideReason::kCopy);
  EXPECT_THAT(world.metrics->Expose(), HasSubstr("muster_quarantined_objects{cluster=\"east\"} 0"));
  Collect();
  EXPECT_TRUE(world.members.objects.contains(key)) << "the attempt is over since the list before";
  Collect();
  EXPECT_EQ(EventsOf("MemberObjectLeftAlone"), 1U) << "told once";
  EXPECT_TRUE(world.members.objects.empty()) << "what it is a copy of is over";
  List();
  EXPECT_TRUE(world.engine->View()->set_aside->empty()) << "what is gone is forgotten";
}

TEST_F(DispatchCases, Case11_DeletedByAUserWhileSuspended_IsLostAndNeverMadeAgain) {
  const JobId id = Submit();
  const DispatchKey key = world.KeyOf(id);
  world.members.Carry();
  world.members.Delete(key);
  world.Run();
  List();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->message, "deleted on member cluster east");
  EXPECT_FALSE(world.members.objects.contains(key)) << "the finalizer does not keep it";
  EXPECT_EQ(Starts(key), 0);
}

TEST_F(DispatchCases, Case11_DeletedByAUserWhileRunning_IsLostAndNeverMadeAgain) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.Delete(key);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kLost);
  EXPECT_EQ(world.Job(id)->message, "deleted on member cluster east");
  EXPECT_FALSE(world.members.objects.contains(key));
  Collect();
  EXPECT_EQ(Starts(key), 1);
}

TEST_F(DispatchCases, LabelsTakenAwayOnTheMember_TheJobRunsOn) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.Unlabel(key);
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning) << "a missing object is asked for first";
  EXPECT_EQ(world.UsedCpu(), 1000);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_FALSE(world.members.objects.at(key).unlabelled);
  EXPECT_EQ(EventsOf("MemberObjectMended"), 1U);
  world.members.End(key, RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
}

TEST_F(DispatchCases, LabelsTakenAwayWhileTheDaemonIsDown_TheJobRunsOn) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.objects.at(key).unlabelled = true;
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_FALSE(world.members.objects.at(key).unlabelled);
  EXPECT_EQ(Starts(key), 1);
}

TEST_F(DispatchCases, AnAbsenceThatCannotBeConfirmed_IsShownAndAskedForAgain) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.Vanish(key);
  world.members.List("east");
  world.Settle();
  world.members.Carry();
  world.Settle();
  for (const Code why : {Code::kPermissionDenied, Code::kUnavailable}) {
    ASSERT_EQ(world.members.orders.size(), 1U);
    ASSERT_EQ(world.members.orders.front().kind, PendingOrder::Kind::kConfirm);
    world.members.Carry(0, why);
    world.Settle();
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    EXPECT_EQ(world.UsedCpu(), 1000) << "its quota is kept until it is proven gone";
    EXPECT_THAT(world.Job(id)->message, HasSubstr("east: laid by the test"));
  }
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kLost);
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST_F(DispatchCases, AJobWhoseAbsenceCannotBeConfirmed_IsDeletedByItsUser) {
  const JobId id = Running();
  world.members.Vanish(world.KeyOf(id));
  world.members.List("east");
  world.Settle();
  world.members.Carry();
  world.Settle();
  world.members.Carry(0, Code::kPermissionDenied);
  ASSERT_TRUE(world.Do(JobVerb::kDelete, id).ok());
  world.Run();
  EXPECT_EQ(world.Job(id), nullptr);
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST_F(DispatchCases, Case11_DeletedByAUserAfterItsEnd_TheEndStands) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.End(key, RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.members.acknowledged[key], 1) << "after the result was durable";
  world.members.Delete(key);
  Collect();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
  EXPECT_TRUE(world.members.objects.empty());
}

TEST_F(DispatchCases, AnEndIsAcknowledgedOnlyWhenItIsDurable_AndAgainAfterACrash) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.store.InjectFault(1, StoreFault::kUnavailable);
  world.members.End(key, RemotePhase::kSucceeded);
  world.Settle();
  for (const PendingOrder& order : world.members.orders)
    EXPECT_NE(order.kind, PendingOrder::Kind::kAcknowledge) << "its result was not written";
  world.clock.Advance(60'000);
  // Recovery: the list shows the end.
  world.Settle();
  world.members.CarryAll();
  world.Settle();
  ASSERT_EQ(RowOf(id), DispatchState::kTerminal);
  // The acknowledgement was lost with the daemon.
  world.Restart();
  EXPECT_TRUE(ObjectOf(id).held);
  world.Run();
  EXPECT_FALSE(ObjectOf(id).held);
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
}

// The refusal of removing `east`; "" if it would be removed.
std::string RemovalOf(EngineWorld* world) {
  const auto outcome = world->Apply({Removal(ObjectKind::kMemberCluster, "", "east")}, true);
  return outcome.ok() ? "" : outcome.error().detail;
}

TEST_F(DispatchCases, AMemberStays_UntilItHasSaidThatItHoldsNoEndOfOurs) {
  EXPECT_EQ(RemovalOf(&world), "");
  List();
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  EXPECT_THAT(RemovalOf(&world), HasSubstr("runs jobs"));
  world.members.End(key, RemotePhase::kSucceeded);
  world.Settle();
  EXPECT_THAT(
      RemovalOf(&world),
      HasSubstr("holds objects of 1 ended attempt, such as of job " + std::to_string(id.value) +
                ", until Muster lets them go: try again in a moment; muster cluster remove "
                "--force removes it all the same, and they keep the finalizer "
                "muster.io/record"));
  world.Run();
  EXPECT_FALSE(ObjectOf(id).held);
  EXPECT_NE(RemovalOf(&world), "") << "it was told, and has not said that it has done it";
  world.members.Say(key);
  world.Run();
  EXPECT_EQ(RemovalOf(&world), "");
  world.Restart();
  world.Settle();
  EXPECT_THAT(RemovalOf(&world), HasSubstr("may hold objects of 1 ended attempt"));
  world.Run();
  EXPECT_EQ(RemovalOf(&world), "") << "it was listed";
}

TEST_F(DispatchCases, AMemberStays_WhileAnEndedJobIsBeingRemovedThere) {
  const JobId id = Running();
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  List();
  ASSERT_EQ(RemovalOf(&world), "") << "a list tells it too";
  ASSERT_TRUE(world.Do(JobVerb::kDelete, id).ok());
  EXPECT_THAT(RemovalOf(&world), HasSubstr("holds objects of 1 ended attempt"));
  world.Run();
  EXPECT_EQ(RemovalOf(&world), "");
}

TEST_F(DispatchCases, AMemberIsRemovedByForceWhateverItHolds_UntilItIsListedAgain) {
  const JobId id = Running();
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Settle();
  const auto fence = [this](bool whatever) {
    FenceCommand command{{"root", "loopback"}, "east", [](const Result<std::size_t>&) {}};
    command.whatever_policy = whatever;
    world.engine->Post(std::move(command));
    world.Settle();
  };
  fence(false);
  EXPECT_NE(RemovalOf(&world), "") << "a fence is no force";
  fence(true);
  EXPECT_EQ(RemovalOf(&world), "");
  world.members.ForgetOrders();
  List();
  EXPECT_NE(RemovalOf(&world), "");
}

TEST_F(DispatchCases, AMemberThatWasGivenUpIsRemovedByForceOnly) {
  SetPolicy("fail");
  Running();
  Cut();
  Pass(kLongAwayMs);
  EXPECT_THAT(RemovalOf(&world), HasSubstr("1 ended attempt"));
  EXPECT_THAT(RemovalOf(&world), HasSubstr("it does not answer; muster cluster remove --force"));
  Heal();
  EXPECT_EQ(RemovalOf(&world), "");
}

TEST_F(DispatchCases, Case14_TheClusterIsCreatedAnew_AllAttemptsThereAreLost) {
  const JobId running = Running("running");
  const JobId ended = Running("ended");
  world.members.End(world.KeyOf(ended), RemotePhase::kSucceeded);
  world.Run();
  world.members.Recreate("east");
  world.members.Tell("east");
  world.Run();
  EXPECT_EQ(world.StateOf(running), JobState::kFailed);
  EXPECT_EQ(world.Job(running)->message, "member cluster east was created anew");
  EXPECT_EQ(world.StateOf(ended), JobState::kSucceeded);
  EXPECT_EQ(EventsOf("MemberRecreated"), 1U);
  List();
  EXPECT_EQ(RowOf(running), DispatchState::kGone) << "its name is free";
}

TEST_F(DispatchCases, Case14_TheClusterIsCreatedAnewWhileTheDaemonIsDown_JobsThatMayRunAgainDo) {
  SetPolicy("afterFence");
  const JobId id = Running();
  world.members.Recreate("east");
  world.Restart();
  world.members.Tell("east");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 2) << "nothing of the first one can run";
  EXPECT_EQ(Starts(world.KeyOf(id)), 1);
}

TEST_F(DispatchCases, Case15_OneClusterUnderTwoNames_TakesNothingUnderTheSecondAndLosesNothing) {
  AddMember("west");
  world.members.Tell("west");
  world.Run();
  for (const core::ClusterView& cluster : world.engine->View()->clusters) {
    EXPECT_EQ(cluster.member.healthy, cluster.member.name == "east");
    if (!cluster.member.healthy) {
      EXPECT_EQ(cluster.member.message, "it is member cluster east under another name");
    }
  }
  const JobId id = Running();
  ASSERT_EQ(world.KeyOf(id).cluster, "east");
  DispatchKey shown = world.KeyOf(id);
  shown.cluster = "west";
  world.members.objects[shown] = ObjectOf(id);  // the same object, as the second name lists it
  Collect("west");
  EXPECT_TRUE(world.members.objects.contains(shown)) << "it is no orphan";
  world.members.objects.erase(shown);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(DispatchCases, Case16_AMemberSetBack_WhatHadEndedDoesNotRunAgain) {
  const JobId ended = Running("ended");
  const DispatchKey key = world.KeyOf(ended);
  world.members.End(key, RemotePhase::kSucceeded);
  world.Run();
  ObjectOf(ended).phase = RemotePhase::kRunning;
  foreign.insert(ObjectOf(ended).uid);
  List();
  EXPECT_TRUE(world.members.objects.contains(key)) << "one list may be older than the end";
  world.clock.Advance(kGraceMs);
  List();
  EXPECT_FALSE(world.members.objects.contains(key));
  EXPECT_EQ(world.StateOf(ended), JobState::kSucceeded) << "I3";
}

TEST_F(DispatchCases, Case17_Case18_TheDatabaseLostWrites_NothingThereIsTouchedOrStartedAgain) {
  const JobId waits = world.Submit({.name = "waits", .pods = {{1, {{"cpu", 9000}}, "main"}}})->id;
  world.Run();
  ASSERT_EQ(world.StateOf(waits), JobState::kPending);
  const DispatchKey ahead{world.Job(waits)->uid, 1, "east"};
  const DispatchKey unknown{UidOf("never stored"), 1, "east"};
  const RemoteObject place{"batch/v1", "Job", "default", "waits"};
  world.members.objects[ahead] = {.uid = "ahead", .object = place, .held = true, .sequence = 1};
  world.members.objects[unknown] = {
      .uid = "unknown", .object = {"batch/v1", "Job", "default", "x"}, .held = true, .sequence = 1};
  foreign = {"ahead", "unknown"};
  Collect();
  EXPECT_EQ(world.members.objects.size(), 2U);
  EXPECT_EQ(EventsOf("MemberObjectQuarantined"), 2U);
  EXPECT_THAT(world.metrics->Expose(), HasSubstr("muster_quarantined_objects{cluster=\"east\"} 2"));
  EXPECT_EQ(world.StateOf(waits), JobState::kHeld) << "it may be running there";
  EXPECT_THAT(world.Job(waits)->message, HasSubstr("member cluster east has attempt 1 of it"));
}

TEST_F(DispatchCases, Case17_NoOrphanIsCollectedOnAQuarantinedMemberUntilAnAdministratorSaysSo) {
  const JobId id = Running();
  const DispatchKey orphan{world.Job(id)->uid, 0, "east"};
  const DispatchKey unknown{UidOf("never stored"), 1, "east"};
  const std::int64_t issued = world.engine->View()->last_seq;
  world.members.objects[orphan] = {.uid = "orphan",
                                   .phase = RemotePhase::kSuspended,
                                   .object = {"batch/v1", "Job", "default", "o"},
                                   .held = true,
                                   .sequence = 1};
  world.members.objects[unknown] = {.uid = "unknown",
                                    .phase = RemotePhase::kSuspended,
                                    .object = {"batch/v1", "Job", "default", "x"},
                                    .held = true,
                                    .sequence = issued + 1'000'000};
  Collect();
  EXPECT_EQ(world.members.objects.size(), 3U);
  world.Restart();
  Collect();
  EXPECT_EQ(world.members.objects.size(), 3U) << "the quarantine is durable";
  std::optional<Result<std::size_t>> answer;
  world.engine->Post(CollectCommand{
      {"root", "test"}, "east", [&](Result<std::size_t> count) { answer = std::move(count); }});
  world.Run();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->value(), 1U);
  Collect();
  EXPECT_EQ(world.members.objects.size(), 1U) << "both are removed like orphans";
  EXPECT_TRUE(world.engine->View()->set_aside->empty());
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(DispatchCases, Case17_ALaterAttemptHasTheName_TheRowIsQuarantinedAndGoesOnWhenReleased) {
  const JobId id = Submit();
  const DispatchKey later{world.Job(id)->uid, 7, "east"};
  world.members.objects[later] = {
      .uid = "later", .object = {"batch/v1", "Job", "default", "job"}, .held = true, .sequence = 1};
  foreign.insert("later");
  world.Run();
  EXPECT_EQ(RowOf(id), DispatchState::kQuarantined);
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
  EXPECT_THAT(world.Job(id)->message, HasSubstr("a later attempt has the name; it is quarantined"));
  EXPECT_EQ(world.engine->View()->set_aside->size(), 1U);
  world.engine->Post(CollectCommand{{"root", "test"}, "east", [](Result<std::size_t>) {}});
  world.Settle();
  List();
  world.Run();
  EXPECT_EQ(world.members.objects.count(later), 0U);
}

TEST_F(DispatchCases, Case18_AfterARecoveryKubernetesMembersAreListedBeforeAnythingIsDecided) {
  ASSERT_TRUE(world
                  .Apply({WithAnnotation(MemberObject("east", {{"cpu", 8000}}), "muster.io/backend",
                                         "kubernetes")})
                  .ok());
  world.Restart();
  const JobId id = world.Submit({.name = "job"})->id;
  EXPECT_EQ(world.StateOf(id), JobState::kPending) << "its member has not said what it has";
  world.members.CarryAll();
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
  world.Run();
  world.Restart();
  const JobId late = world.Submit({.name = "late"})->id;
  world.clock.Advance(11'000);
  world.Settle();
  EXPECT_EQ(world.StateOf(late), JobState::kAdmitted) << "nor is it waited for for ever";
  world.Run();
}

TEST_F(DispatchCases, Case19_WhoNoLongerLeadsSendsNoOrder) {
  const JobId first = world.Submit({.name = "first", .pods = {{1, {{"cpu", 4000}}, "main"}}})->id;
  const JobId second = world.Submit({.name = "second", .pods = {{1, {{"cpu", 4000}}, "main"}}})->id;
  world.Run();
  ASSERT_EQ(world.StateOf(second), JobState::kPending);
  // Another daemon has taken over, and this one does not know it.
  world.store.LoseLead();
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Settle();
  for (const PendingOrder& order : world.members.orders)
    EXPECT_EQ(order.kind, PendingOrder::Kind::kList) << "the decision was fenced by the epoch";
  world.clock.Advance(60'000);
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
  EXPECT_EQ(Starts(world.KeyOf(second)), 1);
}

TEST_F(DispatchCases, Case24_StatusOfAnOlderUidOrAfterTheEndChangesNothing) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  Observation old;
  old.key = key;
  old.remote_uid = "older";
  old.phase = RemotePhase::kFailed;
  world.engine->Post(ObservedCommand{old});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  world.members.End(key, RemotePhase::kSucceeded);
  world.Run();
  Observation late;
  late.key = key;
  late.remote_uid = ObjectOf(id).uid;
  late.phase = RemotePhase::kRunning;
  world.engine->Post(ObservedCommand{late});
  late.phase = RemotePhase::kFailed;
  world.engine->Post(ObservedCommand{late});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
  EXPECT_EQ(RowOf(id), DispatchState::kTerminal);
}

TEST_F(DispatchCases, Case25_AWebhookDeniesTheObjectOrItsRelease_TheJobIsRefusedAndNothingStays) {
  const JobId create = Submit("create");
  world.members.Carry(0, Code::kPermissionDenied);
  world.Run();
  EXPECT_EQ(world.StateOf(create), JobState::kFailed);
  EXPECT_EQ(RowOf(create), DispatchState::kGone);
  const JobId release = Submit("release");
  world.members.Carry();
  world.Settle();
  world.members.Carry(0, Code::kInvalidArgument);
  world.Run();
  EXPECT_EQ(world.StateOf(release), JobState::kFailed);
  EXPECT_THAT(world.Job(release)->message, HasSubstr("member cluster east will not run it"));
  EXPECT_TRUE(world.members.objects.empty()) << "what was made is removed";
  EXPECT_EQ(RowOf(release), DispatchState::kGone);
}

TEST_F(DispatchCases, Case27_AMembersResourceQuotaRejectsForNow_ItWaitsAndSaysSo) {
  const JobId id = Submit();
  world.members.Carry(0, Code::kResourceExhausted);
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
  EXPECT_EQ(world.Job(id)->reason, Reason::kDispatching);
  EXPECT_EQ(world.Job(id)->message, "member cluster east: laid by the test; trying again");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->message, "");
}

TEST_F(DispatchCases, AnErrorThatNamesTheMemberItself_NamesItOnceInTheJobsMessage) {
  const JobId id = Submit();
  world.members.fault_text = "member cluster east: Muster's user lacks permissions there";
  world.members.Carry(0, Code::kUnavailable);
  world.Settle();
  EXPECT_EQ(world.Job(id)->message,
            "member cluster east: Muster's user lacks permissions there; trying again");
}

TEST_F(DispatchCases, Case28_Case29_SuspendedOnTheMember_IsShownAndNotFought) {
  const JobId id = Running();
  ObjectOf(id).phase = RemotePhase::kSuspended;
  Observation seen;
  seen.key = world.KeyOf(id);
  seen.remote_uid = ObjectOf(id).uid;
  seen.phase = RemotePhase::kSuspended;
  seen.message = "SuspendedExternally: by somebody";
  world.engine->Post(ObservedCommand{seen});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->message, "SuspendedExternally: by somebody");
  EXPECT_TRUE(world.members.orders.empty()) << "nobody releases it again";
  ObjectOf(id).phase = RemotePhase::kRunning;
  world.members.Say(world.KeyOf(id));
  world.Run();
  EXPECT_EQ(world.Job(id)->message, "");
}

TEST_F(DispatchCases, Case40_WhatRestartsOnTheMemberIsNoNewAttempt) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  for (const RemotePhase phase : {RemotePhase::kPending, RemotePhase::kRunning,
                                  RemotePhase::kPending, RemotePhase::kRunning}) {
    ObjectOf(id).phase = phase;
    world.members.Say(key);
    world.Run();
  }
  EXPECT_EQ(world.Job(id)->attempt, 1);
  EXPECT_EQ(world.Job(id)->requeues, 0);
  EXPECT_EQ(EventsOf("JobStarted"), 1U);
}

TEST_F(DispatchCases, Case39_StatusThatChangesAHundredTimesCostsNoEvent) {
  const JobId id = Running();
  const std::size_t before = world.events.size();
  for (int i = 0; i < 100; ++i) {
    Observation seen;
    seen.key = world.KeyOf(id);
    seen.remote_uid = ObjectOf(id).uid;
    seen.phase = RemotePhase::kRunning;
    seen.ready_pods = i % 2;
    world.engine->Post(ObservedCommand{seen});
  }
  world.Settle();
  EXPECT_LE(world.events.size() - before, 2U) << "one row for all of them";
  EXPECT_EQ(world.Job(id)->ready_pods, 1);
}

TEST_F(DispatchCases, Case42_ANameIsFreeOnlyWhenItsObjectIsGone) {
  const JobId first = Running();
  ASSERT_TRUE(world.Do(JobVerb::kDelete, first).ok());
  EXPECT_EQ(world.Submit({.name = "job", .uid_seed = "again"}), nullptr) << "its pods may run";
  world.Run();
  const JobPtr second = world.Submit({.name = "job", .uid_seed = "again"});
  ASSERT_NE(second, nullptr);
  world.Run();
  EXPECT_EQ(world.StateOf(second->id), JobState::kRunning);
}

TEST_F(DispatchCases, Case42_AWorkloadAndAJobOfOneName_AreOneNameOnAMember) {
  const JobId first = Running("train");
  SubmitCommand command;
  command.jobs.push_back(
      MakeSubmission({.name = "train", .uid_seed = "workload", .no_requeue = true}));
  JobId workload;
  command.jobs[0].draft->shape = ShapeKind::kWorkload;
  command.done = [&](Result<std::vector<Result<SubmittedJob>>> result) {
    workload = (*result)[0]->job->id;
  };
  world.engine->Post(std::move(command));
  world.Run();
  ASSERT_TRUE(workload.value > 0);
  EXPECT_EQ(world.StateOf(workload), JobState::kFailed);
  EXPECT_THAT(world.Job(workload)->message,
              HasSubstr("has a Job default/train already, of job " + std::to_string(first.value)));
  EXPECT_EQ(world.StateOf(first), JobState::kRunning);
}

// A script's name contains its id. A user's Job may have the same name, so the script gets another
// name on the member.
TEST_F(DispatchCases, Case42_AScriptAndAJobOfOneName_RunSideBySide) {
  const JobId first = Running("job-2");
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission({.name = "job-2", .uid_seed = "script"}));
  command.jobs[0].draft->shape = ShapeKind::kBatchScript;
  JobId script;
  command.done = [&](Result<std::vector<Result<SubmittedJob>>> result) {
    script = (*result)[0]->job->id;
  };
  world.engine->Post(std::move(command));
  world.Run();
  EXPECT_EQ(world.StateOf(first), JobState::kRunning);
  EXPECT_NE(world.StateOf(script), JobState::kFailed) << world.Job(script)->message;
}

TEST_F(DispatchCases, Case43_SpoofedLabels_TheObjectIsNeitherMirroredNorDeleted) {
  const JobId id = Running();
  const DispatchKey spoofed{world.Job(id)->uid, 0, "east"};
  world.members.objects[spoofed] = {.uid = "tenant's",
                                    .phase = RemotePhase::kFailed,
                                    .object = {"batch/v1", "Job", "default", "theirs"}};
  world.members.Say(spoofed);
  Collect();
  EXPECT_TRUE(world.members.objects.contains(spoofed));
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  ASSERT_EQ(world.engine->View()->set_aside->size(), 1U);
  EXPECT_EQ(world.engine->View()->set_aside->begin()->second.reason, SetAsideReason::kUnowned);
}

TEST_F(DispatchCases, Case43_SpoofedLabelsOfAnIntent_AreNotAdopted) {
  const JobId id = Submit();
  Observation spoofed;
  spoofed.key = world.KeyOf(id);
  spoofed.remote_uid = "tenant's";
  spoofed.object = {"batch/v1", "Job", "default", "theirs"};
  spoofed.held = true;
  spoofed.sequence = 1;
  spoofed.phase = RemotePhase::kSucceeded;
  world.engine->Post(ObservedCommand{spoofed});
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(DispatchCases, Case33_Case44_AMemberWithAttemptsCannotBeUnregistered) {
  const JobId id = Submit();
  ASSERT_EQ(RowOf(id), DispatchState::kIntent);
  for (int i = 0; i < 2; ++i) {
    const auto removed = world.Apply({Removal(ObjectKind::kMemberCluster, "", "east")});
    ASSERT_FALSE(removed.ok());
    EXPECT_THAT(removed.error().detail, HasSubstr("member cluster east runs jobs"));
    world.Run();
  }
}

// An object that a daemon made after it had lost the lead, when its successor had ended the
// attempts.
class StaleLeader : public DispatchCases {
 protected:
  FakeMembers::Object Stale(const std::string& uid, RemotePhase phase = RemotePhase::kRunning) {
    foreign.insert(uid);
    return {.uid = uid,
            .phase = phase,
            .name = "job",
            .object = {"batch/v1", "Job", "default", "job"},
            .held = true,
            .sequence = 1};
  }
};

TEST_F(StaleLeader, WhatItMadeOfAnEndedAttemptIsNoCopy_ItIsCollected) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.End(key, RemotePhase::kSucceeded);
  world.Run();
  ASSERT_EQ(RowOf(id), DispatchState::kTerminal);
  world.members.objects[key] = Stale("stale");
  List();
  EXPECT_TRUE(world.members.objects.contains(key)) << "a list may be older than the end";
  world.clock.Advance(kGraceMs);
  world.Run();  // the next periodic list
  EXPECT_TRUE(world.members.objects.empty());
  EXPECT_TRUE(world.engine->View()->set_aside->empty());
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded) << "I3";
}

TEST_F(StaleLeader, WhatItMadeOfAJobThatWasCancelledBeforeItWasMade_IsCollected_HoweverItEnded) {
  for (const RemotePhase phase : {RemotePhase::kRunning, RemotePhase::kSucceeded}) {
    const JobId id = Submit(phase == RemotePhase::kRunning ? "one" : "two");
    const DispatchKey key = world.KeyOf(id);
    ASSERT_EQ(RowOf(id), DispatchState::kIntent);
    ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
    world.Run();
    ASSERT_EQ(world.StateOf(id), JobState::kCancelled);
    FakeMembers::Object late = Stale("late-" + key.job_uid.ToString(), phase);
    late.name = late.object.name = world.Job(id)->name;
    world.members.objects[key] = late;
    Collect();
    world.Run();
    EXPECT_FALSE(world.members.objects.contains(key));
    EXPECT_EQ(world.StateOf(id), JobState::kCancelled) << "I3";
  }
}

TEST_F(StaleLeader, WhatItMadeOfADeletedJobIsCollected) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  ASSERT_TRUE(world.Do(JobVerb::kDelete, id).ok());
  world.Run();
  ASSERT_TRUE(world.members.objects.empty());
  world.members.objects[key] = Stale("stale");
  Collect();
  EXPECT_TRUE(world.members.objects.empty());
}

TEST_F(StaleLeader, WhatItMadeOnAnotherMemberIsACopyWhileTheAttemptGoesOn_AndGoesWithIt) {
  AddMember("west");
  const JobId id = Running();
  DispatchKey there = world.KeyOf(id);
  there.cluster = there.cluster == "east" ? "west" : "east";
  world.members.objects[there] = Stale("stale");
  Collect(there.cluster);
  EXPECT_TRUE(world.members.objects.contains(there));
  EXPECT_EQ(world.engine->View()->set_aside->size(), 1U);
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  Collect(there.cluster);
  EXPECT_FALSE(world.members.objects.contains(there));
  EXPECT_TRUE(world.members.objects.contains(world.KeyOf(id))) << "its own result stays";
  List(there.cluster);
  EXPECT_TRUE(world.engine->View()->set_aside->empty());
}

TEST_F(StaleLeader, OnAMemberThatIsAheadOfTheDatabaseNothingIsCollected) {
  const JobId id = Running();
  const DispatchKey key = world.KeyOf(id);
  world.members.End(key, RemotePhase::kSucceeded);
  world.Run();
  const DispatchKey unknown{UidOf("never stored"), 1, "east"};
  world.members.objects[key] = Stale("stale");
  world.members.objects[unknown] = Stale("unknown");
  Collect();
  Collect();
  EXPECT_EQ(world.members.objects.size(), 2U);
  world.members.objects.erase(unknown);
  world.members.objects[key].sequence = world.engine->View()->last_seq + 1'000'000;
  Collect();
  EXPECT_TRUE(world.members.objects.contains(key)) << "so is it itself";
}

// Member west is in strange hands: it reports objects with the marks, the number, the name and even
// the uid of a job on east, in every phase.
TEST_F(DispatchCases, S26_AForgedReportOfAnotherMembersJob_ChangesNothing) {
  AddMember("west");
  const JobId id = Running();
  const DispatchKey own = world.KeyOf(id);
  DispatchKey forged = own;
  forged.cluster = own.cluster == "east" ? "west" : "east";
  const FakeMembers::Object real = world.members.objects.at(own);
  foreign = {real.uid, "copy"};
  int reports = 0;
  for (const char* uid : {real.uid.c_str(), "copy"}) {
    for (const RemotePhase phase :
         {RemotePhase::kSuspended, RemotePhase::kPending, RemotePhase::kRunning,
          RemotePhase::kSucceeded, RemotePhase::kFailed, RemotePhase::kMissing}) {
      world.members.objects[forged] = real;
      world.members.objects[forged].uid = uid;
      world.members.objects[forged].phase = phase;
      world.members.Say(forged);
      world.Settle();
      List(forged.cluster);
      ++reports;
      EXPECT_EQ(world.StateOf(id), JobState::kRunning) << uid;
      EXPECT_EQ(world.Job(id)->attempt, 1);
      EXPECT_EQ(RowOf(id), DispatchState::kRunning);
      EXPECT_EQ(world.members.acknowledged.count(own), 0U);
    }
  }
  world.members.objects.erase(forged);
  Collect(forged.cluster);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning) << "its absence there proves nothing";
  // What only a database that was set back would explain.
  DispatchKey ahead = forged;
  ahead.attempt = own.attempt + 1;
  world.members.objects[ahead] = real;
  world.members.objects[ahead].uid = "ahead";
  foreign.insert("ahead");
  world.members.Say(ahead);
  Collect(forged.cluster);
  ++reports;
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 1);
  world.members.objects.erase(ahead);
  std::printf("S26: %d forged reports of another member's job, 0 changed it\n", reports);
  ASSERT_TRUE(world.members.End(own, RemotePhase::kSucceeded));
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded) << "its own member is believed";
}

TEST_F(DispatchCases, AnOrphanIsRemovedAfterAWhile) {
  const JobId id = Running();
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
  world.Run();
  ASSERT_EQ(world.Job(id)->attempt, 2);
  const DispatchKey late{world.Job(id)->uid, 1, "east"};
  world.members.objects[late] = {.uid = "late",
                                 .phase = RemotePhase::kSuspended,
                                 .object = {"batch/v1", "Job", "default", "job"},
                                 .held = true,
                                 .sequence = 1};
  List();
  List();
  EXPECT_TRUE(world.members.objects.contains(late)) << "two lists in a row are one moment";
  world.clock.Advance(kGraceMs);
  List();
  EXPECT_FALSE(world.members.objects.contains(late));
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

}  // namespace
}  // namespace muster::test
