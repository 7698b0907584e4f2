// Placements in a running engine: the jobs that they govern, what wakes jobs that wait for a
// member, what opens and closes with time, and that nothing is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/limits.h"
#include "schedd/engine/configure/placement_wakes.h"
#include "schedd/engine/live/placed_jobs.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/text/json.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t kSecondMs = 1000;

// A selector of the Job of this name; "" for all Jobs.
std::string JobSelector(const std::string& name) {
  json::object selector{{"group", "batch"}, {"version", "v1"}, {"kind", "Job"}};
  if (!name.empty()) selector["name"] = name;
  return WriteJson(json::array{selector});
}

ObjectChange Rp(const std::string& name, const std::string& job, const std::string& policy,
                const std::string& ns = "default") {
  return PlacementObject(
      ObjectKind::kResourcePlacement, ns, name,
      R"({"resourceSelectors":)" + JobSelector(job) + R"(,"policy":)" + policy + "}");
}

ObjectChange Crp(const std::string& name, const std::string& ns, const std::string& policy) {
  return PlacementObject(
      ObjectKind::kClusterResourcePlacement, "", name,
      R"({"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":")" + ns +
          R"("}],"policy":)" + policy + "}");
}

std::string Fixed(const std::string& cluster) {
  return R"({"placementType":"PickFixed","clusterNames":[")" + cluster + R"("]})";
}

std::string OneOf(int clusters) {
  return R"({"placementType":"PickN","numberOfClusters":)" + std::to_string(clusters) + "}";
}

ObjectChange Labelled(ObjectChange change, const std::string& key, const std::string& value) {
  json::value manifest = *ParseJson(change.manifest);
  manifest.at("metadata").as_object()["labels"] = json::object{{key, value}};
  change.manifest = WriteJson(manifest);
  return change;
}

ObjectChange Member(const std::string& name, std::int64_t cpu = 8000) {
  return Labelled(MemberObject(name, {{"cpu", cpu}}), "zone", name);
}

// Quota for all jobs in namespaces default and ml, and two members that hold four jobs each.
void DeclareTwo(EngineWorld* world) {
  world->Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  ObjectChange queue = LocalQueueObject("queue", "cq");
  queue.ns = "ml";
  json::value manifest = *ParseJson(queue.manifest);
  manifest.at("metadata").as_object()["namespace"] = "ml";
  queue.manifest = WriteJson(manifest);
  ASSERT_TRUE(world->Apply({NamespaceObject("ml"), queue, Member("east"), Member("west")}).ok());
  world->Run();
}

JobSpec Named(const std::string& name, std::int64_t cpu = 2000, const std::string& ns = "default") {
  JobSpec spec;
  spec.name = name;
  spec.ns = ns;
  spec.pods = {Pods{1, {{"cpu", cpu}}}};
  return spec;
}

JobPlacement Naming(const std::string& placement) {
  JobPlacement says;
  says.placement = placement;
  return says;
}

JobPlacement PinnedTo(const std::string& cluster) {
  JobPlacement says;
  says.cluster = cluster;
  return says;
}

JobId SubmitSaying(EngineWorld* world, const JobSpec& spec, JobPlacement says) {
  JobId id;
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission(spec));
  command.jobs.back().draft->placement = std::make_shared<const JobPlacement>(std::move(says));
  command.done = [&id](Result<std::vector<Result<SubmittedJob>>> result) {
    id = (*result)[0]->job->id;
  };
  MUSTER_CHECK(world->engine->Post(std::move(command)));
  world->Run();
  return id;
}

JobId SubmitAndRun(EngineWorld* world, const JobSpec& spec) {
  const JobId id = world->Submit(spec)->id;
  world->Run();
  return id;
}

std::string ClusterOf(const EngineWorld& world, JobId id) { return world.Job(id)->cluster; }

void ApplyAndRun(EngineWorld* world, std::vector<ObjectChange> changes) {
  const auto applied = world->Apply(std::move(changes));
  ASSERT_TRUE(applied.ok()) << applied.error().detail;
  world->Run();
}

TEST(Placements, OneThatNamesAJobSteersItAndSaysSoAndARestartKeepsThat) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Rp("train", "to-west", Fixed("west")), Rp("other", "to-east", OneOf(1))});
  const JobId west = SubmitAndRun(&world, Named("to-west"));
  EXPECT_EQ(ClusterOf(world, west), "west");
  ASSERT_NE(FindCondition(*world.Job(west), "Placed"), nullptr);
  const Condition placed = *FindCondition(*world.Job(west), "Placed");
  EXPECT_TRUE(placed.status);
  EXPECT_EQ(placed.reason, "Scheduled");
  EXPECT_THAT(placed.message, HasSubstr("west"));
  const JobId free = SubmitAndRun(&world, Named("free"));
  EXPECT_EQ(FindCondition(*world.Job(free), "Placed"), nullptr) << "none governs it";
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(west), JobState::kRunning);
  EXPECT_EQ(FindCondition(*world.Job(west), "Placed")->message, placed.message);
  EXPECT_NE(world.engine->View()->config->placements->Find("default", "train"), nullptr);
}

TEST(Placements, AJobThatItsPlacementKeepsFromEveryMemberIsTriedWhenThePlacementChanges) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Rp("train", "a", Fixed("north"))});
  const JobId a = SubmitAndRun(&world, Named("a"));
  const JobId b = SubmitAndRun(&world, Named("b"));
  EXPECT_EQ(world.StateOf(a), JobState::kPending) << "there is room, but not for it";
  EXPECT_EQ(world.Job(a)->reason, Reason::kNoMemberCluster);
  EXPECT_EQ(world.StateOf(b), JobState::kRunning) << "an equal job without placement does not wait";
  ApplyAndRun(&world, {Rp("train", "a", Fixed("west"))});
  EXPECT_EQ(world.StateOf(a), JobState::kRunning);
  EXPECT_EQ(ClusterOf(world, a), "west");
}

TEST(Placements, OneThatComesTakesAJobOutOfTheMidstOfItsEquals) {
  EngineWorld world;
  DeclareTwo(&world);
  // Everything is full except for a part that no job may use.
  ApplyAndRun(&world, {Member("north", 2000), Crp("all", "ml", R"({"placementType":"PickAll",
      "affinity":{"clusterAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"clusterSelectorTerms":[{"labelSelector":{"matchExpressions":
      [{"key":"zone","operator":"NotIn","values":["north"]}]}}]}}}})")});
  const JobId full = SubmitAndRun(&world, Named("one", 8000, "ml"));
  SubmitAndRun(&world, Named("other", 8000, "ml"));
  const JobId first = SubmitAndRun(&world, Named("first", 2000, "ml"));
  const JobId second = SubmitAndRun(&world, Named("second", 2000, "ml"));
  ASSERT_EQ(world.StateOf(first), JobState::kPending);
  ASSERT_EQ(world.StateOf(second), JobState::kPending);
  ApplyAndRun(&world, {Rp("train", "second", Fixed("north"), "ml")});
  EXPECT_EQ(ClusterOf(world, second), "north");
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
  EXPECT_EQ(world.StateOf(first), JobState::kPending) << "north is not for it";
  world.members.End(world.KeyOf(full), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(first), JobState::kRunning);
}

TEST(Placements, OneThatIsEditedOrRemovedMovesNothingThatRuns) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Rp("train", "a", Fixed("west"))});
  const JobId a = SubmitAndRun(&world, Named("a"));
  ApplyAndRun(&world, {Rp("train", "a", Fixed("east"))});
  EXPECT_EQ(ClusterOf(world, a), "west");
  EXPECT_EQ(world.Job(a)->attempt, 1);
  ApplyAndRun(&world, {Removal(ObjectKind::kResourcePlacement, "default", "train")});
  EXPECT_EQ(world.StateOf(a), JobState::kRunning);
  EXPECT_TRUE(IsTrue(*world.Job(a), "Placed"));
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, a).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(a), JobState::kRunning);
  EXPECT_EQ(FindCondition(*world.Job(a), "Placed"), nullptr) << "placed anew, by nobody's word";
}

TEST(Placements, ARemovalFreesAJobThatWaits) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Rp("train", "", Fixed("north"))});
  const JobId a = SubmitAndRun(&world, Named("a"));
  ASSERT_EQ(world.StateOf(a), JobState::kPending);
  ApplyAndRun(&world, {Removal(ObjectKind::kResourcePlacement, "default", "train")});
  EXPECT_EQ(world.StateOf(a), JobState::kRunning);
}

TEST(Placements, OneOfTheFleetGovernsTheNamespacesThatItTakes) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Crp("all", "ml", Fixed("west"))});
  const JobId a = SubmitAndRun(&world, Named("a", 2000, "ml"));
  EXPECT_EQ(ClusterOf(world, a), "west");
  ApplyAndRun(&world, {Rp("mine", "b", Fixed("east"), "ml")});
  const JobId b = SubmitAndRun(&world, Named("b", 2000, "ml"));
  EXPECT_EQ(ClusterOf(world, b), "east") << "one of the namespace goes first";
}

TEST(Placements, AQueueThatNamesOneWaitsForItAndItsJobsGoWhenItComes) {
  EngineWorld world;
  DeclareTwo(&world);
  const auto queue = WithAnnotation(LocalQueueObject("queue", "cq"), "muster.io/placement", "team");
  ApplyAndRun(&world, {queue});
  const JobId a = SubmitAndRun(&world, Named("a"));
  EXPECT_EQ(world.StateOf(a), JobState::kPending);
  EXPECT_THAT(world.Job(a)->message, HasSubstr("team"));
  ApplyAndRun(&world, {Rp("team", "nobody", Fixed("west"))});
  EXPECT_EQ(ClusterOf(world, a), "west");
  ApplyAndRun(&world, {LocalQueueObject("queue", "cq"),
                       Removal(ObjectKind::kResourcePlacement, "default", "team")});
  EXPECT_EQ(world.StateOf(a), JobState::kRunning);
}

TEST(Placements, AJobThatNamesOneGoesByItWhereverThatLives) {
  EngineWorld world;
  DeclareTwo(&world);
  const JobId a = SubmitSaying(&world, Named("a"), Naming("fleet"));
  ASSERT_EQ(world.StateOf(a), JobState::kPending);
  ApplyAndRun(&world, {Crp("fleet", "elsewhere", Fixed("west"))});
  EXPECT_EQ(ClusterOf(world, a), "west");
  world.Restart();
  world.Run();
  ASSERT_NE(world.Job(a)->placement, nullptr);
  EXPECT_EQ(world.Job(a)->placement->placement, "fleet");
}

TEST(Placements, APinnedJobWaitsForItsMemberAlone) {
  EngineWorld world;
  DeclareTwo(&world);
  const JobId pinned = SubmitSaying(&world, Named("pinned"), PinnedTo("north"));
  const JobId free = SubmitAndRun(&world, Named("free"));
  EXPECT_EQ(world.StateOf(pinned), JobState::kPending);
  EXPECT_EQ(world.StateOf(free), JobState::kRunning);
  ApplyAndRun(&world, {Member("north")});
  EXPECT_EQ(ClusterOf(world, pinned), "north");
}

TEST(Placements, NoClusterAtAllIsWaitedForUntilThereIsToBeOne) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Rp("train", "a", OneOf(0))});
  const JobId a = SubmitAndRun(&world, Named("a"));
  EXPECT_EQ(world.StateOf(a), JobState::kPending);
  EXPECT_THAT(world.Job(a)->message, HasSubstr("numberOfClusters is 0"));
  ApplyAndRun(&world, {Rp("train", "a", OneOf(1))});
  EXPECT_EQ(world.StateOf(a), JobState::kRunning);
}

TEST(Placements, ATaintTurnsGovernedJobsAwayUntilItGoes) {
  EngineWorld world;
  DeclareTwo(&world);
  const auto tainted = WithSpec(Member("west"), "taints",
                                R"([{"key":"drain","value":"soon","effect":"NoSchedule"}])");
  ApplyAndRun(&world, {Removal(ObjectKind::kMemberCluster, "", "east"), tainted,
                       Rp("train", "a", OneOf(1))});
  const JobId a = SubmitAndRun(&world, Named("a"));
  EXPECT_EQ(world.StateOf(a), JobState::kPending);
  EXPECT_THAT(world.Job(a)->message, HasSubstr("drain"));
  ApplyAndRun(&world, {Member("west")});
  EXPECT_EQ(ClusterOf(world, a), "west");
}

TEST(Placements, AMemberThatIsSaidToHaveWhatIsAskedForWakesWhoWaits) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Rp("train", "a", R"({"placementType":"PickAll","affinity":{"clusterAffinity":
      {"requiredDuringSchedulingIgnoredDuringExecution":{"clusterSelectorTerms":[{
      "propertySelector":
      {"matchExpressions":[{"name":"acme.io/licences","operator":"Gt","values":["3"]}]}}]}}}})")});
  const JobId a = SubmitAndRun(&world, Named("a"));
  ASSERT_EQ(world.StateOf(a), JobState::kPending);
  const auto says = [](const std::string& licences) {
    return WithAnnotation(Member("west"), "muster.io/properties",
                          R"({"acme.io/licences":")" + licences + R"("})");
  };
  ApplyAndRun(&world, {says("3")});
  EXPECT_EQ(world.StateOf(a), JobState::kPending);
  ApplyAndRun(&world, {says("4")});
  EXPECT_EQ(ClusterOf(world, a), "west");
}

TEST(Placements, WhatIsAskedOfTheFreeAmountsIsTriedAgainWhenAJobEnds) {
  EngineWorld world;
  world.Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  ApplyAndRun(&world, {Rp("train", "a", R"({"placementType":"PickAll","affinity":{"clusterAffinity":
      {"requiredDuringSchedulingIgnoredDuringExecution":{"clusterSelectorTerms":[{
      "propertySelector":{"matchExpressions":[{
      "name":"resources.kubernetes-fleet.io/available-cpu","operator":"Ge","values":["6"]}]}}]}}}})")});
  const JobId other = SubmitAndRun(&world, Named("other", 4000));
  const JobId a = SubmitAndRun(&world, Named("a"));
  ASSERT_EQ(world.StateOf(a), JobState::kPending)
      << "there is room for it, but less than 6 are free";
  EXPECT_EQ(world.Job(a)->reason, Reason::kWaitingForCapacity);
  world.members.End(world.KeyOf(other), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(a), JobState::kRunning);
}

TEST(Placements, RoomThatOthersLeaveOnAMemberIsTaken) {
  EngineWorld world;
  world.Declare({{"cpu", 8000}}, {{"cpu", 8000}});
  const auto tell = [&world](std::int64_t used) {
    ClusterFacts facts;
    facts.cluster = "east";
    facts.allocatable = {{"cpu", 8000}};
    facts.used_by_others = {{"cpu", used}};
    world.engine->Post(FactsCommand{facts});
    world.Run();
  };
  tell(7000);
  const JobId a = SubmitAndRun(&world, Named("a"));
  ASSERT_EQ(world.StateOf(a), JobState::kPending);
  tell(6000);
  EXPECT_EQ(world.StateOf(a), JobState::kRunning);
}

TEST(Placements, TheNextClusterGroupOpensByTimeAlone) {
  EngineWorld world;
  DeclareTwo(&world);
  const auto placement =
      WithAnnotation(Rp("train", "", R"({"placementType":"PickAll"})"), "muster.io/cluster-groups",
                     R"([{"name":"own","clusters":["east"],"waitSeconds":300},)"
                     R"({"name":"rented","clusters":["west"]}])");
  ApplyAndRun(&world, {placement});
  const JobId full = SubmitAndRun(&world, Named("full", 8000));
  ASSERT_EQ(ClusterOf(world, full), "east");
  const JobId a = SubmitAndRun(&world, Named("a"));
  world.clock.Advance(100 * kSecondMs);
  const JobId b = SubmitAndRun(&world, Named("b"));
  EXPECT_EQ(world.StateOf(a), JobState::kPending);
  world.clock.Advance(199 * kSecondMs);
  world.Run();
  EXPECT_EQ(world.StateOf(a), JobState::kPending) << "299 s";
  world.clock.Advance(kSecondMs);
  world.Run();
  EXPECT_EQ(ClusterOf(world, a), "west") << "300 s";
  EXPECT_EQ(world.StateOf(b), JobState::kPending) << "it has waited 200 s";
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(b), JobState::kPending);
  world.clock.Advance(100 * kSecondMs);
  world.Run();
  EXPECT_EQ(ClusterOf(world, b), "west") << "the wait goes on over a restart";
}

AdmissionSettings Impatient() {
  AdmissionSettings settings;
  settings.pods_ready.timeout_s = 60;
  settings.pods_ready.backoff_base_s = 1;
  return settings;
}

// The pods do not start on the member, and the job returns to the queue.
void FailToStart(EngineWorld* world, JobId id) {
  ASSERT_EQ(world->StateOf(id), JobState::kAdmitted);
  world->clock.Advance(60 * kSecondMs);
  world->Settle();
  world->members.CarryAll();
  world->Settle();
  ASSERT_EQ(world->StateOf(id), JobState::kPending);
}

TEST(Avoidance, AMemberWhereAnAttemptDidNotStartIsAvoidedForAWhile) {
  EngineWorld world(1, OptionsWith(Impatient()));
  DeclareTwo(&world);
  const JobId a = world.Submit(Named("a", 8000))->id;
  const std::string first = ClusterOf(world, a);
  const std::string second = first == "east" ? "west" : "east";
  FailToStart(&world, a);
  const auto& avoided = StateOf(*world.Job(a)).avoided;
  ASSERT_EQ(avoided.size(), 1U);
  EXPECT_EQ(avoided[0].cluster, first);
  // The other member is full. The job waits for room there instead of returning to the first one.
  const JobId b = SubmitSaying(&world, Named("b", 8000), PinnedTo(second));
  ASSERT_EQ(world.StateOf(b), JobState::kRunning);
  world.clock.Advance(10 * kSecondMs);
  world.Settle();
  ASSERT_EQ(world.StateOf(a), JobState::kPending);
  EXPECT_THAT(world.Job(a)->message, HasSubstr("avoided"));
  const JobId equal = SubmitAndRun(&world, Named("equal", 8000));
  EXPECT_EQ(ClusterOf(world, equal), first) << "nobody else avoids it";
  world.members.End(world.KeyOf(equal), RemotePhase::kSucceeded);
  world.Restart();
  world.Run();
  ASSERT_EQ(world.StateOf(a), JobState::kPending) << "a restart forgets nothing";
  world.clock.Advance(limits::kAvoidClusterS * kSecondMs);
  world.Run();
  EXPECT_EQ(ClusterOf(world, a), first) << "time alone ends it";
  EXPECT_THAT(StateOf(*world.Job(a)).avoided, IsEmpty());
}

TEST(Avoidance, TheNextAttemptGoesElsewhereAtOnceIfThereIsRoom) {
  EngineWorld world(1, OptionsWith(Impatient()));
  DeclareTwo(&world);
  const JobId a = world.Submit(Named("a"))->id;
  const std::string first = ClusterOf(world, a);
  FailToStart(&world, a);
  world.clock.Advance(2 * kSecondMs);
  world.Settle();
  ASSERT_EQ(world.StateOf(a), JobState::kAdmitted);
  EXPECT_NE(ClusterOf(world, a), first);
}

TEST(Avoidance, TheOnlyMemberIsNotAvoided) {
  EngineWorld world(1, OptionsWith(Impatient()));
  world.Declare({{"cpu", 8000}}, {{"cpu", 8000}});
  const JobId a = world.Submit(Named("a"))->id;
  FailToStart(&world, a);
  EXPECT_THAT(StateOf(*world.Job(a)).avoided, IsEmpty());
  world.clock.Advance(2 * kSecondMs);
  world.Settle();
  EXPECT_EQ(world.StateOf(a), JobState::kAdmitted);
}

TEST(Placements, SpreadThatMustHoldIsTriedAgainWithEveryStartAndEnd) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Rp("train", "", R"({"placementType":"PickN","numberOfClusters":1,
      "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone",
      "whenUnsatisfiable":"DoNotSchedule"}]})")});
  const JobId blocker = SubmitSaying(&world, Named("blocker", 7000), PinnedTo("west"));
  ASSERT_EQ(ClusterOf(world, blocker), "west");
  const JobId a = SubmitAndRun(&world, Named("a"));
  EXPECT_EQ(ClusterOf(world, a), "east");
  const JobId b = SubmitAndRun(&world, Named("b"));
  EXPECT_EQ(ClusterOf(world, b), "east") << "two against the blocker on west";
  const JobId c = SubmitAndRun(&world, Named("c"));
  EXPECT_EQ(world.StateOf(c), JobState::kPending) << "east has the room, but not the right";
  const auto placed = world.engine->View()->placed;
  ASSERT_NE(placed, nullptr);
  EXPECT_THAT(*placed, ElementsAre(Pair(PlacementTable::Key("default", "train"),
                                        ElementsAre(Pair("east", 2), Pair("west", 1)))));
  const JobId small = SubmitAndRun(&world, Named("small", 1000));
  EXPECT_EQ(ClusterOf(world, small), "west");
  EXPECT_EQ(ClusterOf(world, c), "east") << "two and two: a start elsewhere made it right";
  world.Restart();
  world.Run();
  EXPECT_THAT(*world.engine->View()->placed,
              ElementsAre(Pair(PlacementTable::Key("default", "train"),
                               ElementsAre(Pair("east", 3), Pair("west", 2)))));
  ApplyAndRun(&world, {Removal(ObjectKind::kResourcePlacement, "default", "train")});
  EXPECT_EQ(world.engine->View()->placed, nullptr);
}

TEST(Placements, AnEvictedJobSaysThatItWaitsForAMember) {
  EngineWorld world;
  DeclareTwo(&world);
  ApplyAndRun(&world, {Rp("train", "a", Fixed("west"))});
  const JobId a = SubmitAndRun(&world, Named("a"));
  ApplyAndRun(&world, {Removal(ObjectKind::kResourcePlacement, "default", "train"),
                       Rp("later", "a", Fixed("north"))});
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, a).ok());
  world.Run();
  ASSERT_EQ(world.StateOf(a), JobState::kPending);
  const Condition* placed = FindCondition(*world.Job(a), "Placed");
  ASSERT_NE(placed, nullptr);
  EXPECT_FALSE(placed->status);
  EXPECT_EQ(placed->message, "waits for a member cluster");
}

TEST(Placements, AnEditOfOneChargesNothingAnewAndKeepsWhatIsHeld) {
  EngineWorld world;
  DeclareTwo(&world);
  const JobId a = SubmitAndRun(&world, Named("a"));
  const auto tree = world.engine->View()->usage.tree_ptr();
  for (int i = 0; i < 50; ++i)
    ApplyAndRun(&world, {Rp("p" + std::to_string(i), "job-" + std::to_string(i), Fixed("west"))});
  EXPECT_EQ(world.engine->View()->usage.tree_ptr(), tree) << "no quota tree was built";
  EXPECT_EQ(world.UsedCpu(), 2000);
  EXPECT_EQ(world.engine->View()->config->placements->all().size(), 50U);
  EXPECT_EQ(ClusterOf(world, SubmitAndRun(&world, Named("job-49"))), "west");
  world.members.End(world.KeyOf(a), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 2000);
}

// The pure parts.

ConfigView FleetOf(const std::vector<Placement>& placements) {
  ConfigView config;
  config.namespaces["ml"] = {"ml", {{"team", "ml"}}};
  config.namespaces["web"] = {"web", {}};
  config.cluster_queues["cq"].name = "cq";
  config.local_queues[{"ml", "main"}] = {"ml", "main", "cq"};
  config.local_queues[{"web", "main"}] = {"web", "main", "cq"};
  auto table = std::make_shared<PlacementTable>();
  for (const Placement& one : placements) table->Put(std::make_shared<const Placement>(one));
  config.placements = std::move(table);
  return config;
}

Placement Selecting(const std::string& ns, ResourceSelector selector) {
  Placement placement;
  placement.ns = ns;
  placement.name = "p";
  placement.selectors = {std::move(selector)};
  return placement;
}

ResourceSelector Selector(const std::string& group, const std::string& kind,
                          const std::string& name = "") {
  ResourceSelector selector;
  selector.group = group;
  selector.version = "v1";
  selector.kind = kind;
  selector.name = name;
  return selector;
}

ResourceSelector Jobs(const std::string& name = "") { return Selector("batch", "Job", name); }

TEST(PlacementReach, AnEditReachesNoMoreThanWhatTheOldAndTheNewOneMayGovern) {
  ResourceSelector team = Selector("", "Namespace");
  team.labels = LabelSelector{{{"team", "ml"}}, {}};
  const auto own = [](const std::string& ns) {
    return [ns](ConfigView* config) {
      config->placements = std::make_shared<PlacementTable>();
      config->local_queues[{ns, "main"}].placement = "p";
    };
  };
  const auto nothing = [](ConfigView*) {};
  const auto gone = [](ConfigView* config) {
    config->placements = std::make_shared<PlacementTable>();
  };
  using Names = std::set<std::pair<std::string, std::string>>;
  using Texts = std::set<std::string>;
  struct {
    const char* what;
    std::vector<Placement> placements;
    ObjectKey key;
    std::function<void(ConfigView*)> edit;
    Names names;
    Texts references, namespaces;
  } const cases[] =
      {
          {"one that names a job reaches that job",
           {Selecting("ml", Jobs("a"))},
           {ObjectKind::kResourcePlacement, "ml", "p"},
           gone,
           {{"ml", "a"}},
           {"p"},
           {}},
          {"one that takes a kind reaches its namespace",
           {Selecting("ml", Jobs())},
           {ObjectKind::kResourcePlacement, "ml", "p"},
           gone,
           {},
           {"p"},
           {"ml"}},
          {"one that a queue names reaches the queue's namespace",
           {Selecting("ml", Jobs("a"))},
           {ObjectKind::kResourcePlacement, "ml", "p"},
           own("ml"),
           {{"ml", "a"}},
           {"p"},
           {"ml"}},
          {"a queue of another namespace has another one of that name",
           {Selecting("ml", Jobs("a"))},
           {ObjectKind::kResourcePlacement, "ml", "p"},
           own("web"),
           {{"ml", "a"}},
           {"p"},
           {}},
          {"one of the fleet reaches the namespaces that it takes by their labels",
           {Selecting("", team)},
           {ObjectKind::kClusterResourcePlacement, "", "p"},
           gone,
           {},
           {"p"},
           {"ml"}},
          {"one of the fleet reaches where a queue names it",
           {},
           {ObjectKind::kClusterResourcePlacement, "", "p"},
           own("web"),
           {},
           {"p"},
           {"web"}},
          {"a namespace with other labels is taken or left",
           {Selecting("", team)},
           {ObjectKind::kNamespace, "", "web"},
           [](ConfigView* config) { config->namespaces["web"].labels["team"] = "ml"; },
           {},
           {},
           {"web"}},
          {"labels are nothing to placements of namespaces",
           {Selecting("ml", Jobs())},
           {ObjectKind::kNamespace, "", "web"},
           [](ConfigView* config) { config->namespaces["web"].labels["team"] = "ml"; },
           {},
           {},
           {}},
          {"a ClusterQueue that names one reaches whoever uses it",
           {},
           {ObjectKind::kClusterQueue, "", "cq"},
           [](ConfigView* config) { config->cluster_queues["cq"].placement = "p"; },
           {},
           {},
           {"ml", "web"}},
          {"a LocalQueue that names what it named reaches nobody",
           {},
           {ObjectKind::kLocalQueue, "ml", "main"},
           nothing,
           {},
           {},
           {}},
          {"a LocalQueue that names another one reaches its namespace",
           {},
           {ObjectKind::kLocalQueue, "ml", "main"},
           [](ConfigView* config) {
    config->local_queues[{"ml", "main"}].placement = "p";
           },
           {},
           {},
           {"ml"}},
          {"a member is nothing to it",
           {Selecting("ml", Jobs())},
           {ObjectKind::kMemberCluster, "", "east"},
           nothing,
           {},
           {},
           {}},
  };
  for (const auto& one : cases) {
    const ConfigView before = FleetOf(one.placements);
    ConfigView after = before;
    one.edit(&after);
    const PlacementReach reach = ReachOf(before, after, {one.key});
    EXPECT_EQ(reach.names, one.names) << one.what;
    EXPECT_EQ(reach.references, one.references) << one.what;
    EXPECT_EQ(reach.namespaces, one.namespaces) << one.what;
  }
}

JobPtr RecordOf(std::int64_t id, JobState state, const std::string& cluster = "") {
  auto job = std::make_shared<JobRecord>();
  job->id = JobId{id};
  job->ns = "ml";
  job->name = "job-" + std::to_string(id);
  job->state = state;
  job->cluster = cluster;
  return job;
}

std::vector<std::int64_t> IdsOf(const std::shared_ptr<const std::vector<JobPtr>>& jobs) {
  std::vector<std::int64_t> ids;
  if (jobs == nullptr) return ids;
  for (const JobPtr& job : *jobs) ids.push_back(job->id.value);
  return ids;
}

TEST(PlacedJobs, WhatHasRoomAndDoesNotRunYetIsOnItsWayToTheMachines) {
  PlacedJobs placed;
  const JobPtr waiting = RecordOf(1, JobState::kPending);
  placed.Move(nullptr, waiting);
  placed.Move(nullptr, RecordOf(3, JobState::kAdmitted, "east"));
  placed.Move(nullptr, RecordOf(2, JobState::kReserved, "east"));
  placed.Move(nullptr, RecordOf(4, JobState::kRunning, "east"));
  EXPECT_THAT(IdsOf(placed.StartingOn("east")), ElementsAre(2, 3));
  EXPECT_EQ(placed.StartingOn("west"), nullptr);
  const JobPtr admitted = RecordOf(1, JobState::kAdmitted, "west");
  placed.Move(waiting.get(), admitted);
  const auto before = placed.StartingOn("west");
  EXPECT_THAT(IdsOf(before), ElementsAre(1));
  EXPECT_EQ(placed.StartingOn("west"), before) << "made once";
  placed.Move(admitted.get(), RecordOf(1, JobState::kRunning, "west"));
  EXPECT_EQ(placed.StartingOn("west"), nullptr);
  EXPECT_THAT(IdsOf(before), ElementsAre(1)) << "a snapshot keeps what it has";
}

// A job that the member has reported to run at 200, after facts of 100.
JobPtr RunsUntold(PlacedJobs* placed, const std::string& cluster = "east") {
  placed->TakeFacts("east", {100});
  const JobPtr admitted = RecordOf(1, JobState::kAdmitted, cluster);
  const JobPtr running = RecordOf(1, JobState::kRunning, cluster);
  placed->Move(nullptr, admitted);
  placed->Move(admitted.get(), running);
  placed->AwaitFacts(running, {200});
  return running;
}

TEST(PlacedJobs, WhatRunsIsOnItsWay_UntilFactsAreAsNewAsThat) {
  PlacedJobs placed;
  RunsUntold(&placed);
  placed.Move(RecordOf(1, JobState::kRunning, "east").get(),
              RecordOf(1, JobState::kRunning, "east"));
  EXPECT_FALSE(placed.TakeFacts("east", {199}));
  EXPECT_FALSE(placed.TakeFacts("west", {300}));
  EXPECT_THAT(IdsOf(placed.StartingOn("east")), ElementsAre(1));
  EXPECT_TRUE(placed.TakeFacts("east", {200}));
  EXPECT_EQ(placed.StartingOn("east"), nullptr);
  EXPECT_FALSE(placed.TakeFacts("east", {300})) << "told once";
  const JobPtr late = RecordOf(2, JobState::kRunning, "east");
  placed.Move(nullptr, late);
  placed.AwaitFacts(late, {250});
  EXPECT_EQ(placed.StartingOn("east"), nullptr) << "the facts came first";
}

TEST(PlacedJobs, WhatRunsIsNotAwaited_WhereNoFactsWillTellOfIt) {
  PlacedJobs placed;
  RunsUntold(&placed, "west");
  EXPECT_EQ(placed.StartingOn("west"), nullptr) << "it tells no machines";
  const JobPtr running = RunsUntold(&placed);
  EXPECT_TRUE(placed.TakeFacts("east", {})) << "any more";
  EXPECT_EQ(placed.StartingOn("east"), nullptr);
  RunsUntold(&placed);
  EXPECT_TRUE(placed.TakeFacts("east", {50})) << "the clock was set back";
  EXPECT_EQ(placed.StartingOn("east"), nullptr);
  RunsUntold(&placed);
  placed.Move(running.get(), RecordOf(1, JobState::kSucceeded, "east"));
  EXPECT_EQ(placed.StartingOn("east"), nullptr) << "it has ended";
  EXPECT_FALSE(placed.TakeFacts("east", {300}));
}

TEST(PlacedJobs, WhatRunsIsOnItsWayAcrossARecovery_IfItIsStillThatAttempt) {
  PlacedJobs placed;
  const JobPtr running = RunsUntold(&placed);
  placed.Clear();
  EXPECT_EQ(placed.StartingOn("east"), nullptr);
  placed.Move(nullptr, running);
  EXPECT_THAT(IdsOf(placed.StartingOn("east")), ElementsAre(1));
  placed.Clear();
  EXPECT_FALSE(placed.TakeFacts("east", {200})) << "nobody is known now";
  placed.Move(nullptr, running);
  EXPECT_EQ(placed.StartingOn("east"), nullptr) << "it was told meanwhile";
  PlacedJobs other;
  auto again = std::make_shared<JobRecord>(*RunsUntold(&other));
  other.Clear();
  again->attempt = 2;
  other.Move(nullptr, again);
  EXPECT_EQ(other.StartingOn("east"), nullptr);
}

// One machine with this much CPU left, as the member reported it at `at`.
void TellMachine(EngineWorld* world, std::int64_t cpu, WallTime at) {
  ClusterFacts facts;
  facts.cluster = "east";
  facts.machines = std::make_shared<const MachineGroups>(
      1, MachineGroup{{}, {}, {{"cpu", cpu}, {"pods", 99}}, 1});
  facts.observed_at = at;
  world->engine->Post(FactsCommand{facts});
  world->Run();
}

TEST(Placements, RoomOfMachinesIsNotGivenTwice_WhenAJobRunsBeforeItsMemberCountsIt) {
  EngineWorld world;
  world.Declare({{"cpu", 64000}}, {{"cpu", 64000}});
  TellMachine(&world, 2000, world.clock.WallNow());
  world.clock.Advance(10);
  const JobId first = SubmitAndRun(&world, Named("first"));
  ASSERT_EQ(world.StateOf(first), JobState::kRunning);
  const JobId second = SubmitAndRun(&world, Named("second"));
  EXPECT_EQ(world.StateOf(second), JobState::kPending);
  // As much is free as before: other pods have left, or the job was counted before it was reported
  // to run.
  world.clock.Advance(10);
  TellMachine(&world, 2000, world.clock.WallNow());
  EXPECT_EQ(world.StateOf(second), JobState::kRunning) << "it is woken though nothing is other";
}

TEST(PlacedJobs, WaitingJobsAreFoundByTheirNamesAndByWhatTheyName) {
  PlacedJobs::Jobs jobs;
  auto naming = std::make_shared<JobRecord>(*RecordOf(2, JobState::kPending));
  naming->placement = std::make_shared<const JobPlacement>(Naming("p"));
  for (const JobPtr& job :
       {RecordOf(1, JobState::kPending), JobPtr(naming), RecordOf(3, JobState::kRunning, "east")}) {
    jobs[job->id] = job;
  }
  PlacedJobs placed;
  const std::set<std::pair<std::string, std::string>> names{
      {"ml", "job-1"}, {"ml", "job-3"}, {"web", "job-2"}};
  EXPECT_THAT(placed.Named(jobs, names, {"p"}), ElementsAre(JobId{1}, JobId{2}));
  EXPECT_THAT(placed.Named(jobs, names, {"q"}), ElementsAre(JobId{1}));
  const JobPtr started = RecordOf(1, JobState::kRunning, "east");
  placed.Move(jobs[JobId{1}].get(), started);
  jobs[JobId{1}] = started;
  const JobPtr later = RecordOf(4, JobState::kPending);
  placed.Move(nullptr, later);
  jobs[JobId{4}] = later;
  EXPECT_THAT(placed.Named(jobs, {{"ml", "job-1"}, {"ml", "job-4"}}, {}), ElementsAre(JobId{4}));
}

}  // namespace
}  // namespace muster::test
