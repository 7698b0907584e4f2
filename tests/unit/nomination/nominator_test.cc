// The nominator with a real engine and members whose queues are in memory: which members are asked,
// which one gets the job, what stays on the others, and the state that a daemon that dies leaves to
// the next one.
#include "schedd/nomination/nominator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/text/json.h"
#include "tests/support/engine_world.h"
#include "tests/unit/nomination/fake_queues.h"

namespace muster::test {
namespace {

using nomination::Nominator;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class QueueWorld : public EngineWorld {
 public:
  explicit QueueWorld(std::vector<std::string> names = {"east", "north", "west"}) {
    Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    for (const std::string& name : names) {
      queues.members[name];
      if (name != "east") MUSTER_CHECK(Apply({MemberObject(name, {{"cpu", 8000}})}).ok());
    }
    Run();
    Begin();
  }

  void Mode(const std::string& mode, const std::string& step = "", const std::string& every = "") {
    ObjectChange queue = WithAnnotation(ClusterQueueObject({}), "muster.io/dispatch-mode", mode);
    if (!step.empty()) queue = WithAnnotation(queue, "muster.io/dispatch-step", step);
    if (!every.empty()) queue = WithAnnotation(queue, "muster.io/dispatch-every", every);
    const auto applied = Apply({queue});
    ASSERT_TRUE(applied.ok()) << applied.error().detail;
  }

  // Reports its health alone: all fake members have the same cluster id.
  void Tell(const std::string& member, bool healthy) {
    queues.members[member].away = !healthy;
    if (healthy) members.away.erase(member);
    if (!healthy) members.away.insert(member);
    FactsCommand command;
    command.facts.cluster = member;
    command.facts.healthy = healthy;
    engine->Post(std::move(command));
    Run();
  }

  void Begin() {
    nominator = std::make_unique<Nominator>(
        [this] { return engine->View(); },
        [this](Command command) {
      if (!posts) return false;
      return engine->Post(std::move(command));
        },
        [this](const std::vector<JobId>& ids) { return store.ReadManifests(ids); }, queues, clock,
        nomination::NominatorOptions{.instance_id = "here", .default_image = ""});
  }
  // Kills and restarts the daemon; the members keep their objects.
  void Die() {
    nominator.reset();
    Restart();
    Begin();
  }
  // Some rounds of two seconds. In each, nominator and engine step twice, so that everything that
  // needs no time happens.
  void Look(int rounds = 3) {
    for (int i = 0; i < rounds; ++i) {
      clock.Advance(2'000);
      nominator->Step();
      Run();
      nominator->Step();
      Run();
    }
  }
  std::string NameOf(JobId id) { return CopyName(Job(id)->uid, AttemptOfCopies(*Job(id))); }
  MemberCopy* CopyOn(const std::string& member, JobId id) {
    auto& copies = queues.members[member].copies;
    const auto found = copies.find(NameOf(id));
    return found == copies.end() ? nullptr : &found->second;
  }
  void Admit(const std::string& member, JobId id, std::int64_t at_us = 1) {
    MemberCopy* copy = CopyOn(member, id);
    ASSERT_NE(copy, nullptr) << member;
    copy->admitted = true;
    copy->admitted_since = {at_us};
  }
  const std::vector<std::string>& Nominated(JobId id) {
    return muster::StateOf(*Job(id)).nominated;
  }
  std::string Word(JobId id) { return MemberQueuesCheck(*Job(id))->message; }
  std::size_t Copies() const {
    std::size_t all = 0;
    for (const auto& [name, member] : queues.members) all += member.copies.size();
    return all;
  }
  Result<JobPtr> Nominate(JobId id, std::vector<std::string> clusters,
                          const std::string& user = "controller") {
    std::optional<Result<JobPtr>> answer;
    NominateCommand command;
    command.actor = {user, "test"};
    command.job = id;
    command.attempt = -1;
    command.clusters = std::move(clusters);
    command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
    engine->Post(std::move(command));
    Settle();
    return *answer;
  }
  Result<JobPtr> Choose(JobId id, const std::string& cluster, std::int32_t attempt = 1) {
    std::optional<Result<JobPtr>> answer;
    ChooseMemberCommand command;
    command.job = id;
    command.attempt = attempt;
    command.cluster = cluster;
    command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
    engine->Post(std::move(command));
    Settle();
    return *answer;
  }

  FakeQueues queues;
  bool posts = true;
  std::unique_ptr<Nominator> nominator;
};

TEST(Nominator, TheFirstMemberToAdmitAJobGetsItAndTheOthersAreWithdrawn) {
  QueueWorld world;
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  EXPECT_EQ(world.StateOf(id), JobState::kReserved);
  EXPECT_THAT(world.Nominated(id), ElementsAre("east", "north", "west"));
  EXPECT_EQ(world.Copies(), 3u);
  EXPECT_EQ(world.UsedCpu(), 1000);
  EXPECT_TRUE(world.members.objects.empty()) << "copies run nothing";
  world.Admit("north", id);
  world.Look();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->cluster, "north");
  EXPECT_EQ(world.Copies(), 1u);
  EXPECT_NE(world.CopyOn("north", id), nullptr) << "what it runs by stays";
  EXPECT_THAT(world.Nominated(id), IsEmpty());
  EXPECT_EQ(world.Word(id), "admitted by the queue of member cluster north");
  EXPECT_EQ(world.members.most_active_of_one_job, 1u);
}

TEST(Nominator, OfTwoThatAdmitItAtOnceTheEarlierRunsItAndTheSecondIsTooLate) {
  QueueWorld world;
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  world.Admit("east", id, 20);
  world.Admit("west", id, 10);
  world.Look(1);
  EXPECT_EQ(world.Job(id)->cluster, "west");
  const auto late = world.Choose(id, "east");
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(late.error().detail, HasSubstr("does not wait for a member cluster's own queue"));
  world.Look();
  EXPECT_EQ(world.Copies(), 1u);
  EXPECT_EQ(world.members.starts.size(), 1u);
  EXPECT_EQ(world.members.most_active_of_one_job, 1u);
}

TEST(Nominator, ADaemonThatDiesBetweenTheChoiceAndTheWithdrawalLeavesOneRunning) {
  QueueWorld world;
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  world.Admit("north", id);
  world.queues.hold = true;  // removals do not leave
  world.Look(1);
  EXPECT_EQ(world.Job(id)->cluster, "north");
  EXPECT_EQ(world.Copies(), 3u);
  world.queues.held.clear();
  world.queues.hold = false;
  world.Die();
  world.Admit("east", id);  // comes too late
  world.Look();
  EXPECT_EQ(world.Copies(), 1u);
  EXPECT_EQ(world.Job(id)->cluster, "north");
  EXPECT_EQ(world.Job(id)->attempt, 1);
  EXPECT_EQ(world.members.most_active_of_one_job, 1u);
}

TEST(Nominator, ADaemonThatDiesWhileMembersAreAskedAsksNobodyTwice) {
  QueueWorld world;
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  world.Die();
  world.Look();
  EXPECT_THAT(world.Nominated(id), ElementsAre("east", "north", "west"));
  EXPECT_EQ(world.queues.made, 3);
}

TEST(Nominator, NothingIsAskedBeforeTheNominationIsDurable) {
  QueueWorld world;
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.posts = false;
  world.Look();
  EXPECT_EQ(world.Copies(), 0u);
  EXPECT_THAT(world.Nominated(id), IsEmpty());
  world.posts = true;
  world.Look();
  EXPECT_EQ(world.Copies(), 3u);
}

TEST(Nominator, TheIncrementalModeAsksSomeMoreEachTime) {
  QueueWorld world;
  world.Mode("Incremental", "1", "60s");
  const JobId id = world.Submit({})->id;
  world.Look();
  EXPECT_THAT(world.Nominated(id), ElementsAre("east"));
  world.clock.Advance(40'000);
  world.Look();
  EXPECT_THAT(world.Nominated(id), ElementsAre("east"));
  world.Die();
  world.clock.Advance(15'000);
  world.Look();
  EXPECT_THAT(world.Nominated(id), ElementsAre("east", "north"))
      << "the wait goes on over a restart";
  world.clock.Advance(61'000);
  world.Look();
  EXPECT_THAT(world.Nominated(id), ElementsAre("east", "north", "west"));
  EXPECT_EQ(world.Copies(), 3u);
}

TEST(Nominator, TheExternalModeAsksWhomItIsTold) {
  QueueWorld world;
  world.Mode("External");
  const JobId id = world.Submit({})->id;
  world.Look();
  EXPECT_EQ(world.Copies(), 0u);
  EXPECT_EQ(world.Word(id), "waits until member clusters are nominated for it");
  ASSERT_TRUE(world.Nominate(id, {"west", "north"}).ok());
  world.Look();
  EXPECT_THAT(world.Nominated(id), ElementsAre("west", "north"));
  EXPECT_EQ(world.Copies(), 2u);
  ASSERT_TRUE(world.Nominate(id, {"east"}).ok());
  world.Look();
  EXPECT_EQ(world.Copies(), 1u) << "those before are withdrawn";
  world.Admit("east", id);
  world.Look();
  EXPECT_EQ(world.Job(id)->cluster, "east");
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(Nominator, OnlyAMemberThatWasAskedForThisAttemptIsChosen) {
  QueueWorld world;
  world.Mode("External");
  const JobId id = world.Submit({})->id;
  ASSERT_TRUE(world.Nominate(id, {"west"}).ok());
  EXPECT_EQ(world.Job(id)->cluster, "west") << "room is held where it is likely to run";
  const auto other = world.Choose(id, "east");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().detail, HasSubstr("was not offered to member cluster east"));
  const auto later = world.Choose(id, "west", 2);
  ASSERT_FALSE(later.ok());
  EXPECT_THAT(later.error().detail, HasSubstr("waits for the start of attempt 1, not of 2"));
  EXPECT_FALSE(world.Choose(JobId{99}, "west").ok());
  EXPECT_EQ(world.StateOf(id), JobState::kReserved);
  EXPECT_TRUE(world.Choose(id, "west").ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(Nominator, ANominationNamesEachMemberThatCannotBeAsked) {
  QueueWorld world;
  world.Mode("External");
  ASSERT_TRUE(world.Apply({MemberObject("small", {{"cpu", 500}})}).ok());
  const JobId id = world.Submit({})->id;
  const auto refused = world.Nominate(id, {"east", "nowhere", "small", "east"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  ASSERT_EQ(refused.error().fields.size(), 3u);
  EXPECT_EQ(refused.error().fields[0].field, "clusters[1]");
  EXPECT_THAT(refused.error().fields[0].message, HasSubstr("there is no member cluster"));
  EXPECT_EQ(refused.error().fields[1].field, "clusters[2]");
  EXPECT_THAT(refused.error().fields[1].message, HasSubstr("cannot take the job: needs 1"));
  EXPECT_EQ(refused.error().fields[2].field, "clusters[3]");
  EXPECT_THAT(refused.error().fields[2].message, HasSubstr("named twice"));
  EXPECT_FALSE(world.Nominate(id, std::vector<std::string>(21, "east")).ok());
  world.Mode("AllAtOnce");
  const auto not_asked = world.Nominate(id, {"east"});
  ASSERT_FALSE(not_asked.ok());
  EXPECT_THAT(not_asked.error().detail, HasSubstr("dispatch mode is AllAtOnce"));
}

TEST(Nominator, WhatMembersSayIsTheChecksMessage) {
  QueueWorld world({"east", "west"});
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  world.CopyOn("east", id)->message = "couldn't assign flavors to pod set main";
  world.Look();
  EXPECT_EQ(world.Word(id), "east: couldn't assign flavors to pod set main; west: is asked");
  EXPECT_EQ(world.StateOf(id), JobState::kReserved);
}

TEST(Nominator, QuotaIsGivenBackWhenNoMemberRunsAQueue) {
  QueueWorld world({"east", "west"});
  world.queues.members["east"].runs = world.queues.members["west"].runs = false;
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look(1);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.UsedCpu(), 0);
  EXPECT_EQ(world.Job(id)->reason, Reason::kBackoff);
  EXPECT_THAT(world.Job(id)->message, HasSubstr("east: runs no queue of its own; west: runs no"));
  world.queues.members["west"].runs = true;
  world.clock.Advance(120'000);
  world.Look();
  EXPECT_THAT(world.Nominated(id), ElementsAre("west")) << "it is tried again";
}

TEST(Nominator, AMemberThatIsLostKeepsNobodyWaiting) {
  QueueWorld world({"east", "west"});
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  world.Tell("east", false);
  world.Look();
  EXPECT_THAT(world.Word(id), HasSubstr("east: does not answer"));
  world.Admit("west", id);
  world.Look();
  EXPECT_EQ(world.Job(id)->cluster, "west");
  EXPECT_EQ(world.Copies(), 2u);
  world.Tell("east", true);
  world.Look();
  EXPECT_EQ(world.Copies(), 1u) << "it is told when it is back";
}

TEST(Nominator, WhenAllThatWereAskedAreLostTheQuotaIsGivenBack) {
  QueueWorld world({"east", "west"});
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  for (const char* name : {"east", "west"}) world.Tell(name, false);
  world.Look();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST(Nominator, WhatAMemberTakesBackIsQueuedAnewAndStartsAgainElsewhere) {
  QueueWorld world({"east", "west"});
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  world.Admit("east", id);
  world.Look();
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  MemberCopy* copy = world.CopyOn("east", id);
  copy->admitted = false;
  copy->evicted = true;
  copy->message = "Preempted to accommodate a higher priority Workload";
  world.Look(1);
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->reason, "MemberEvicted");
  EXPECT_THAT(FindCondition(*world.Job(id), "Evicted")->message,
              HasSubstr("the queue of member cluster east took it back: Preempted to accommodate"));
  EXPECT_TRUE(world.members.objects.empty());
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  world.clock.Advance(60'000);
  world.Look();
  EXPECT_EQ(world.StateOf(id), JobState::kReserved);
  EXPECT_EQ(world.Copies(), 2u) << "copies of the next attempt, none of the first";
  world.Admit("west", id);
  world.Look();
  EXPECT_EQ(world.Job(id)->cluster, "west");
  EXPECT_EQ(world.Job(id)->attempt, 2);
  EXPECT_EQ(world.members.most_active_of_one_job, 1u);
}

TEST(Nominator, ACopyThatIsGoneUnderARunningJobIsTakenBackToo) {
  QueueWorld world({"east"});
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  world.Admit("east", id);
  world.Look();
  world.queues.members["east"].copies.clear();
  world.Look(1);
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->reason, "MemberEvicted");
  EXPECT_THAT(FindCondition(*world.Job(id), "Evicted")->message, HasSubstr("any more"));
}

TEST(Nominator, AWorkloadThatAnotherNamespaceForgedChangesNothing) {
  QueueWorld world({"east"});
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  const auto forge = [&] {
    MemberCopy forged;
    forged.key = {world.Job(id)->uid, AttemptOfCopies(*world.Job(id)), "east"};
    forged.ns = "zzz";  // the last of every list
    forged.name = world.NameOf(id);
    forged.uid = "forged";
    forged.evicted = true;
    world.queues.members["east"].copies["zzz"] = forged;
  };
  forge();
  world.Look();
  ASSERT_NE(world.CopyOn("east", id), nullptr);
  EXPECT_EQ(world.Copies(), 1u) << "what stands for nothing goes";
  world.Admit("east", id);
  world.Look();
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  forge();
  world.Look();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 1);
}

TEST(Nominator, SpreadConstraintsDoNotCountTheJobThatIsAskedFor) {
  QueueWorld world({"east", "west"});
  const auto in_zone = [](const std::string& name) {
    ObjectChange member = MemberObject(name, {{"cpu", 8000}});
    json::value manifest = *ParseJson(member.manifest);
    manifest.at("metadata").as_object()["labels"] = json::object{{"zone", name}};
    member.manifest = WriteJson(manifest);
    return member;
  };
  ASSERT_TRUE(world
                  .Apply({in_zone("east"), in_zone("west"),
                          PlacementObject(ObjectKind::kResourcePlacement, "default", "spread",
                                          R"({"resourceSelectors":[{"group":"batch","version":"v1",
                                      "kind":"Job"}],"policy":{"placementType":"PickN",
                                      "numberOfClusters":1,"topologySpreadConstraints":[
                                      {"maxSkew":1,"topologyKey":"zone",
                                      "whenUnsatisfiable":"DoNotSchedule"}]}})")})
                  .ok());
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  EXPECT_THAT(world.Nominated(id), testing::UnorderedElementsAre("east", "west"));
  const std::int64_t version = world.Job(id)->resource_version;
  world.Look();
  EXPECT_EQ(world.Job(id)->resource_version, version) << "nothing is decided anew";
  EXPECT_EQ(world.queues.made, 2);
}

TEST(Nominator, CopiesOfAnEndedJobGo) {
  QueueWorld world;
  world.Mode("AllAtOnce");
  const JobId cancelled = world.Submit({.name = "cancelled"})->id;
  const JobId done = world.Submit({.name = "done"})->id;
  world.Look();
  EXPECT_EQ(world.Copies(), 6u);
  ASSERT_TRUE(world.Do(JobVerb::kCancel, cancelled).ok());
  world.Look();
  EXPECT_EQ(world.Copies(), 3u);
  world.Admit("west", done);
  world.Look();
  ASSERT_TRUE(world.members.End(world.KeyOf(done), RemotePhase::kSucceeded));
  world.Run();
  EXPECT_EQ(world.StateOf(done), JobState::kSucceeded);
  world.Look();
  EXPECT_EQ(world.Copies(), 0u);
}

TEST(Nominator, ACopyThatAnEarlierDaemonLeftIsRemovedAlsoWhereNoModeIsSet) {
  QueueWorld world({"east"});
  MemberCopy left;
  left.key = {UidOf("nobody"), 3, "east"};
  left.ns = "default";
  left.name = CopyName(left.key.job_uid, 3);
  left.uid = "old";
  world.queues.members["east"].copies[left.name] = left;
  world.Look();
  EXPECT_EQ(world.Copies(), 0u);
}

TEST(Nominator, ARefusalOfAllMembersGivesTheQuotaBackWithTheirWords) {
  QueueWorld world({"east", "west"});
  for (auto& [name, member] : world.queues.members)
    member.refuses = Error{Code::kInvalidArgument, "spec.podSets: too many"};
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look(2);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.UsedCpu(), 0);
  EXPECT_THAT(FindCondition(*world.Job(id), "Evicted")->message,
              HasSubstr("east: spec.podSets: too many"));
}

TEST(Nominator, OtherChecksComeFirst) {
  QueueWorld world({"east"});
  ASSERT_TRUE(
      world
          .Apply({CheckObject("budget"), WithAnnotation(ClusterQueueObject({.checks = {"budget"}}),
                                                        "muster.io/dispatch-mode", "AllAtOnce")})
          .ok());
  ASSERT_TRUE(world.ActivateCheck("budget").ok());
  const JobId id = world.Submit({})->id;
  world.Look();
  EXPECT_EQ(world.Copies(), 0u) << "what the check adds must be in the copies";
  ASSERT_TRUE(world.SetCheck(id, "budget", CheckState::kReady).ok());
  world.Look();
  EXPECT_EQ(world.Copies(), 1u);
  ASSERT_TRUE(world.SetCheck(id, "budget", CheckState::kPending).ok());
  const auto early = world.Choose(id, "east");
  ASSERT_FALSE(early.ok());
  EXPECT_THAT(early.error().detail, HasSubstr("waits for another admission check"));
  const auto users = world.SetCheck(id, std::string(kMemberQueuesCheck), CheckState::kReady);
  ASSERT_FALSE(users.ok()) << "nobody else says that a member has admitted it";
  EXPECT_THAT(users.error().detail, HasSubstr("answered by Muster alone"));
}

TEST(Nominator, ACopySaysWhatTheAttemptWillBe) {
  QueueWorld world({"east"});
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({.priority = 7})->id;
  world.Look();
  ASSERT_EQ(world.queues.members["east"].orders.size(), 1u);
  const CopyOrder& order = world.queues.members["east"].orders.begin()->second;
  EXPECT_EQ(order.key, (DispatchKey{world.Job(id)->uid, 1, "east"}));
  EXPECT_EQ(order.local_queue, "queue");
  EXPECT_EQ(order.priority, 7);
  EXPECT_THAT(order.object.json, HasSubstr("\"suspend\":true"));
  EXPECT_THAT(order.object.json, HasSubstr("\"muster.io/attempt\":\"1\""));
  const auto pod_sets = order.pod_sets_of(order.object.json);
  ASSERT_TRUE(pod_sets.ok()) << pod_sets.error().detail;
  ASSERT_EQ(pod_sets->size(), 1u);
  EXPECT_EQ((*pod_sets)[0].name, "main");
  EXPECT_EQ((*pod_sets)[0].count, 1);
  EXPECT_THAT((*pod_sets)[0].pod_template, HasSubstr("busybox"));
}

TEST(Nominator, TheModeThatIsTakenAwayDispatchesWhatWaits) {
  QueueWorld world({"east", "west"});
  world.Mode("AllAtOnce");
  const JobId id = world.Submit({})->id;
  world.Look();
  EXPECT_EQ(world.Copies(), 2u);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({})}).ok());
  world.Look();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Copies(), 0u);
}

}  // namespace
}  // namespace muster::test
