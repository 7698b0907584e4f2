// Real bugs of decisions: what is admitted, evicted, moved and woken. Each test fails without its
// fix, and names the commit that made it.
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/text/json.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

std::vector<Pods> Cpus(std::int64_t cpus) { return {Pods{1, {{"cpu", cpus * 1000}}}}; }

JobSpec OfQueue(const std::string& queue, const std::string& name, std::int64_t cpus,
                std::int32_t priority = 0) {
  return {.name = name,
          .queue = queue,
          .cluster_queue = "cq-" + queue,
          .pods = Cpus(cpus),
          .priority = priority};
}

// A ClusterQueue and its LocalQueue.
std::vector<ObjectChange> QueueOf(const std::string& queue, std::int64_t cpus,
                                  const std::string& cohort = "",
                                  const std::string& within = "Never",
                                  const std::string& reclaim = "Never") {
  return {ClusterQueueObject({.name = "cq-" + queue,
                              .cohort = cohort,
                              .nominal = {{"cpu", cpus * 1000}},
                              .within = within,
                              .reclaim = reclaim}),
          LocalQueueObject(queue, "cq-" + queue)};
}

class RegressDecisions : public ::testing::Test {
 protected:
  explicit RegressDecisions(EngineOptions options = {}) : world(1, std::move(options)) {}
  // A namespace, a flavor and member east with so many CPUs.
  void Declare(std::int64_t cpus) {
    Apply({NamespaceObject("default"), FlavorObject("default"),
           MemberObject("east", {{"cpu", cpus * 1000}})});
  }
  void Apply(std::vector<ObjectChange> changes) {
    const auto applied = world.Apply(std::move(changes));
    ASSERT_TRUE(applied.ok()) << applied.error().detail;
    world.Run();
  }
  JobId Running(const JobSpec& spec) {
    const JobId id = world.Submit(spec)->id;
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kRunning) << world.Job(id)->message;
    return id;
  }
  // In one cycle.
  std::vector<JobId> Together(const std::vector<JobSpec>& specs) {
    std::vector<JobId> ids;
    SubmitCommand command;
    for (const JobSpec& spec : specs) command.jobs.push_back(MakeSubmission(spec));
    command.done = [&ids](Result<std::vector<Result<SubmittedJob>>> result) {
      for (const auto& one : *result) ids.push_back(one->job->id);
    };
    MUSTER_CHECK(world.engine->Post(std::move(command)));
    world.Settle();
    return ids;
  }
  bool IsEvicted(JobId id) { return IsTrue(*world.Job(id), "Evicted"); }

  EngineWorld world;
};

// Found by the simulation (seed 871, I14), mended by de49538. A job whose victims were making room
// on a member was not tried again when the room of others came free meanwhile, in another tree of
// queues. (Planted: room_wakes_no_preemptor.)
TEST_F(RegressDecisions, AJobForWhichRoomIsBeingMade_TakesRoomThatComesFreeElsewhere) {
  Declare(8);
  Apply(QueueOf("own", 64, "", "LowerPriority"));
  Apply(QueueOf("others", 64));
  const JobId idle = world.Submit(OfQueue("own", "idle", 4))->id;
  const JobId foreign = Running(OfQueue("others", "foreign", 4));
  const JobId urgent = world.Submit(OfQueue("own", "urgent", 4, 10))->id;
  ASSERT_EQ(world.Job(idle)->reason, Reason::kPreempted);
  ASSERT_EQ(world.Job(urgent)->reason, Reason::kWaitingForPreemptedWorkloads);
  // The member has not stopped the victim yet.
  world.members.End(world.KeyOf(foreign), RemotePhase::kSucceeded);
  world.Settle();
  EXPECT_EQ(world.StateOf(urgent), JobState::kAdmitted);
}

// Found by the simulation (seed 1445, I14), mended by c7c54c8: a job that was admitted by another
// member than the one on which it held room freed that room, and nobody who waited for it was tried
// again.
TEST_F(RegressDecisions, RoomThatAJobLeavesForAnotherMember_IsTaken) {
  Declare(4);
  Apply({MemberObject("west", {{"cpu", 4000}}), LocalQueueObject("own", "cq-own"),
         WithAnnotation(ClusterQueueObject({.name = "cq-own", .nominal = {{"cpu", 64'000}}}),
                        "muster.io/dispatch-mode", "AllAtOnce")});
  Apply(QueueOf("others", 64));
  const JobId filler = Running(OfQueue("others", "filler", 4));
  const JobId asks = world.Submit(OfQueue("own", "asks", 4))->id;
  const JobId waits = world.Submit(OfQueue("others", "waits", 4))->id;
  ASSERT_EQ(world.StateOf(asks), JobState::kReserved);
  ASSERT_EQ(world.Job(waits)->reason, Reason::kWaitingForCapacity);
  const std::string full = world.Job(filler)->cluster;
  NominateCommand nominate;
  nominate.job = asks;
  nominate.attempt = -1;
  nominate.clusters = {world.Job(asks)->cluster, full};
  nominate.done = [](Result<JobPtr>) {};
  world.engine->Post(std::move(nominate));
  ChooseMemberCommand choose;
  choose.job = asks;
  choose.attempt = 1;
  choose.cluster = full;  // its own queue has made room there
  choose.done = [](Result<JobPtr>) {};
  world.engine->Post(std::move(choose));
  world.Settle();
  ASSERT_EQ(world.Job(asks)->cluster, full);
  EXPECT_EQ(world.StateOf(waits), JobState::kAdmitted);
}

// Found by the simulation (seed 5603), mended by e3535f2. Only without the victim of the round,
// which still runs, the cohort has the quota for its last job: CheckPlan stopped the daemon, again
// after each start.
TEST_F(RegressDecisions, AJobThatFitsOnlyWithoutTheVictimsOfItsRound_WaitsForThem) {
  Declare(64);
  Apply(QueueOf("a", 1, "all"));
  Apply(QueueOf("b", 7, "all"));
  Apply(QueueOf("c", 7, "all", "Never", "Any"));
  const JobId victim = Running(OfQueue("a", "borrower", 4));
  Running(OfQueue("b", "b", 5));
  Running(OfQueue("c", "c", 4));
  const auto ids =
      Together({OfQueue("b", "fits", 2, 10), OfQueue("c", "owner", 3, 5), OfQueue("a", "last", 1)});
  EXPECT_TRUE(IsEvicted(victim));
  EXPECT_EQ(world.StateOf(ids[0]), JobState::kAdmitted);
  EXPECT_EQ(world.StateOf(ids[2]), JobState::kPending);
}

// Found by the golden corpus of Slurm, mended by ed0a89b: the plan's check asked the member for the
// licences of a job, and stopped the daemon.
TEST_F(RegressDecisions, LicencesAreOfNoMember) {
  Declare(8);
  Apply({ClusterQueueObject({.name = "cq-own", .nominal = {{"cpu", 8000}, {"license/matlab", 1}}}),
         LocalQueueObject("own", "cq-own")});
  JobSpec spec = OfQueue("own", "first", 1);
  spec.pods[0].each = {{"cpu", 1000}, {"license/matlab", 1}};
  Running(spec);
  spec.name = "second";
  const JobId second = world.Submit(spec)->id;
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kPending) << "quota alone counts them";
}

// Found by concurrent admission on the test bed, mended by 635717b: jobs were evicted for one that
// no member had the room for even then, came back, and were evicted again.
TEST_F(RegressDecisions, NobodyIsEvicted_ForAJobThatNoMemberCouldHoldAfterwards) {
  Declare(4);
  Apply(QueueOf("own", 4, "", "LowerPriority"));
  Apply(QueueOf("others", 4));
  Running(OfQueue("others", "foreign", 1));
  const JobId low = Running(OfQueue("own", "low", 1));
  const JobId urgent = world.Submit(OfQueue("own", "urgent", 4, 10))->id;
  world.Run();
  EXPECT_EQ(world.StateOf(low), JobState::kRunning);
  EXPECT_EQ(world.Job(low)->attempt, 1);
  EXPECT_EQ(world.StateOf(urgent), JobState::kPending);
}

// Found by a review, mended by 062e870. Victims leave one by one: who took what the first one left,
// itself among them, was the next victim, for ever.
TEST_F(RegressDecisions, RoomThatIsBeingMade_IsKeptUntilItsLastVictimHasLeft) {
  Declare(4);
  Apply(QueueOf("own", 64, "all", "Never", "Any"));
  Apply(QueueOf("others", 0, "all"));
  const JobId one = Running(OfQueue("others", "one", 2));
  const JobId two = Running(OfQueue("others", "two", 2));
  const JobId owner = world.Submit(OfQueue("own", "owner", 4))->id;
  ASSERT_EQ(world.Job(owner)->reason, Reason::kWaitingForPreemptedWorkloads);
  world.members.Carry();  // one victim is stopped
  world.Settle();
  const JobId late = world.Submit(OfQueue("others", "late", 2, 20))->id;
  for (const JobId id : {one, two, late}) EXPECT_NE(world.StateOf(id), JobState::kAdmitted);
  world.Run();
  EXPECT_EQ(world.StateOf(owner), JobState::kRunning);
}

// Found by a property test, mended by 06c3118.
TEST_F(RegressDecisions, ASpreadConstraint_DoesNotWaitForACordonedMember) {
  const auto member = [](const std::string& name) {
    ObjectChange change = MemberObject(name, {{"cpu", 64'000}});
    json::value manifest = *ParseJson(change.manifest);
    manifest.at("metadata").as_object()["labels"] = json::object{{"zone", name}};
    change.manifest = WriteJson(manifest);
    return change;
  };
  Declare(64);
  Apply(QueueOf("own", 64));
  Apply({member("east"), member("west"),
         PlacementObject(ObjectKind::kResourcePlacement, "default", "spread",
                         R"({"resourceSelectors":[{"group":"batch","version":"v1","kind":"Job"}],
      "policy":{"placementType":"PickN","numberOfClusters":1,"topologySpreadConstraints":[
      {"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]}})")});
  world.engine->Post(CordonCommand{{"root", "test"}, "west", true, [](Result<ObjectPtr>) {}});
  world.Run();
  for (const char* name : {"a", "b", "c"}) Running(OfQueue("own", name, 1));
}

class RegressFairSharing : public RegressDecisions {
 protected:
  static AdmissionSettings FairSharing() {
    AdmissionSettings settings;
    settings.fair_sharing.emplace();
    return settings;
  }
  RegressFairSharing() : RegressDecisions(OptionsWith(FairSharing())) {}
};

// Found by a property test, mended by 062e870: a borrower that was evicted for room alone won its
// share of quota back, took the room again and was evicted again.
TEST_F(RegressFairSharing, RoomAlone_IsNotTakenFromBorrowersOfOtherQueues) {
  Declare(4);
  Apply(QueueOf("own", 64, "all", "Never", "Any"));
  Apply(QueueOf("others", 0, "all"));
  const JobId borrower = Running(OfQueue("others", "borrower", 4));
  const JobId owner = world.Submit(OfQueue("own", "owner", 4))->id;
  world.Run();
  EXPECT_EQ(world.StateOf(borrower), JobState::kRunning);
  EXPECT_EQ(world.Job(borrower)->attempt, 1);
  EXPECT_EQ(world.Job(owner)->reason, Reason::kWaitingForCapacity);
}

class RegressVariants : public RegressDecisions {
 protected:
  static AdmissionSettings ConcurrentAdmission() {
    AdmissionSettings settings;
    settings.concurrent_admission = true;
    return settings;
  }
  RegressVariants() : RegressDecisions(OptionsWith(ConcurrentAdmission())) {}
  // Of two CPUs of each flavor, whose jobs move to the better one, and preempt.
  static ObjectChange TwoFlavors() {
    ObjectChange queue = ClusterQueueObject({.name = "cq-own"});
    queue.manifest = R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
        "metadata":{"name":"cq-own"},"spec":{"namespaceSelector":{},
        "concurrentAdmissionPolicy":{"migration":{"mode":"TryPreferredFlavors"}},
        "preemption":{"withinClusterQueue":"LowerPriority"},
        "resourceGroups":[{"coveredResources":["cpu"],"flavors":[
        {"name":"best","resources":[{"name":"cpu","nominalQuota":2}]},
        {"name":"good","resources":[{"name":"cpu","nominalQuota":2}]}]}]}})";
    return queue;
  }
  // A member of the flavors of one tier.
  static ObjectChange Member(const std::string& name, const std::string& tier, int cpus) {
    ObjectChange member = MemberObject(name, {});
    member.manifest =
        R"({"apiVersion":"cluster.kubernetes-fleet.io/v1beta1","kind":"MemberCluster",
        "metadata":{"name":")" +
        name + R"(","labels":{"tier":")" + tier +
        R"("},"annotations":{"muster.io/backend":"simulated","muster.io/allocatable":"{\"cpu\":)" +
        std::to_string(cpus) + R"(}"}},"spec":{}})";
    return member;
  }
  static ObjectChange Flavor(const std::string& name) {
    ObjectChange flavor = FlavorObject(name);
    const std::string spec = R"("spec":{})";
    flavor.manifest.replace(flavor.manifest.find(spec), spec.size(),
                            R"("spec":{"nodeLabels":{"tier":")" + name + "\"}}");
    return flavor;
  }
};

// Found by applying the guide's placements, mended by e082bb3. The variants of a job have names of
// their own, so that a placement that named the job governed none of them.
TEST_F(RegressVariants, APlacementThatNamesAJob_GovernsItsVariants) {
  Apply({NamespaceObject("default"), FlavorObject("best"), FlavorObject("good"), TwoFlavors(),
         LocalQueueObject("own", "cq-own"), MemberObject("east", {{"cpu", 64'000}}),
         MemberObject("west", {{"cpu", 2'000}}),
         PlacementObject(ObjectKind::kResourcePlacement, "default", "to-west",
                         R"({"resourceSelectors":[{"group":"batch","version":"v1","kind":"Job",
      "name":"train"}],"policy":{"placementType":"PickFixed","clusterNames":["west"]}})")});
  EXPECT_EQ(world.Job(Running(OfQueue("own", "train", 2)))->cluster, "west");
}

// Found by concurrent admission on the test bed, mended by 635717b. A job moved to a better flavor
// that no member had the room for, came back and moved again, without end.
TEST_F(RegressVariants, NobodyMovesToAFlavorThatNoMemberHasTheRoomFor) {
  Apply({NamespaceObject("default"), Flavor("best"), Flavor("good"), TwoFlavors(),
         LocalQueueObject("own", "cq-own"), Member("east", "good", 64), Member("west", "best", 2)});
  const JobId first = Running(OfQueue("own", "first", 2));
  const JobId second = Running(OfQueue("own", "second", 2));
  Apply({Member("west", "best", 1)});
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
  EXPECT_EQ(world.Job(second)->attempt, 1);
}

// The same commit. A job moved onto quota that a job before it waited to use, which then evicted
// it.
TEST_F(RegressVariants, NobodyMovesOntoQuotaThatAJobBeforeItLacksOnlyTheRoomFor) {
  Declare(64);
  Apply({FlavorObject("best"), FlavorObject("good"), TwoFlavors(),
         LocalQueueObject("own", "cq-own")});
  const JobId low = Running(OfQueue("own", "low", 2));
  const JobId lower = Running(OfQueue("own", "lower", 2));
  const JobId urgent = world.Submit(OfQueue("own", "urgent", 2, 10))->id;
  ASSERT_TRUE(IsEvicted(low));
  Apply({MemberObject("east", {{"cpu", 2000}})});
  EXPECT_EQ(world.StateOf(urgent), JobState::kPending);
  EXPECT_EQ(world.StateOf(lower), JobState::kRunning);
  EXPECT_EQ(world.Job(lower)->attempt, 1);
}

}  // namespace
}  // namespace muster::test
