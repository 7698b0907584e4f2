// Leaving a member in a running engine: drains, NoExecute taints, eviction objects, and the budgets
// that delay them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kSecondMs = 1000;

ObjectChange Member(const std::string& name) { return MemberObject(name, {{"cpu", 8000}}); }

ObjectChange Object(ObjectKind kind, const std::string& name, const std::string& spec) {
  const shapes::KindInfo& info = shapes::InfoOf(kind);
  ObjectChange change;
  change.kind = kind;
  change.ns = info.namespaced ? "default" : "";
  change.name = name;
  json::object metadata{{"name", name}};
  if (info.namespaced) metadata["namespace"] = "default";
  change.manifest = WriteJson(json::object{{"apiVersion", std::string(info.group) + "/v1beta1"},
                                           {"kind", info.name},
                                           {"metadata", metadata},
                                           {"spec", *ParseJson(spec)}});
  return change;
}

// A placement of all Jobs in the namespace.
ObjectChange Train(const std::string& policy) {
  return Object(
      ObjectKind::kResourcePlacement, "train",
      R"({"resourceSelectors":[{"group":"batch","version":"v1","kind":"Job"}],"policy":)" + policy +
          "}");
}
ObjectChange TrainAnywhere() { return Train(R"({"placementType":"PickN","numberOfClusters":1})"); }
ObjectChange Budget(const std::string& spec) {
  return Object(ObjectKind::kResourcePlacementDisruptionBudget, "train", spec);
}
ObjectChange Eviction(const std::string& name, const std::string& placement = "train",
                      const std::string& cluster = "east") {
  return Object(ObjectKind::kResourcePlacementEviction, name,
                R"({"placementName":")" + placement + R"(","clusterName":")" + cluster + R"("})");
}

ObjectChange Tainted(const std::string& name, const std::string& effect) {
  return WithSpec(Member(name), "taints", R"([{"key":"work","effect":")" + effect + R"("}])");
}

void ApplyAndRun(EngineWorld* world, std::vector<ObjectChange> changes) {
  const auto applied = world->Apply(std::move(changes));
  ASSERT_TRUE(applied.ok()) << applied.error().detail;
  world->Run();
}

JobId Running(EngineWorld* world, const std::string& name, bool no_requeue = false) {
  JobSpec spec;
  spec.name = name;
  spec.pods = {Pods{1, {{"cpu", 2000}}}};
  spec.no_requeue = no_requeue;
  const JobId id = world->Submit(spec)->id;
  world->Run();
  return id;
}

// Jobs on east, and then another member.
std::vector<JobId> OnEast(EngineWorld* world, int jobs) {
  world->Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  std::vector<JobId> ids;
  for (int i = 0; i < jobs; ++i) ids.push_back(Running(world, "job-" + std::to_string(i)));
  ApplyAndRun(world, {Member("west")});
  return ids;
}

// The answer once it is durable; orders to members are not carried out yet.
Result<DrainProgress> Drain(EngineWorld* world, const std::string& cluster, bool force = false) {
  std::optional<Result<DrainProgress>> answer;
  DrainCommand command{{"root", "test"}, cluster, force, {}};
  command.done = [&answer](Result<DrainProgress> result) { answer = std::move(result); };
  MUSTER_CHECK(world->engine->Post(std::move(command)));
  world->Settle();
  MUSTER_CHECK(answer.has_value());
  return *answer;
}

void Uncordon(EngineWorld* world, const std::string& cluster) {
  CordonCommand command{{"root", "test"}, cluster, false, [](Result<ObjectPtr>) {}};
  MUSTER_CHECK(world->engine->Post(std::move(command)));
  world->Run();
}

int CountOn(const EngineWorld& world, const std::vector<JobId>& ids, const std::string& cluster) {
  int count = 0;
  for (const JobId id : ids) {
    const JobPtr job = world.Job(id);
    if (job->state == JobState::kRunning && job->cluster == cluster) ++count;
  }
  return count;
}

void Later(EngineWorld* world, std::int64_t seconds) {
  world->clock.Advance(seconds * kSecondMs);
  world->Run();
}

std::string TextOf(const json::value& value) {
  return std::string(std::string_view(value.as_string()));
}

// "Valid=True Executed=False" of an eviction, and the message of the last condition.
std::pair<std::string, std::string> StatusOf(const EngineWorld& world, const std::string& name) {
  const auto view = world.engine->View();
  const auto found = view->objects->find({ObjectKind::kResourcePlacementEviction, "default", name});
  if (found == view->objects->end()) return {"gone", ""};
  const json::value manifest = *ParseJson(found->second->manifest);
  std::string text, message;
  boost::system::error_code none;
  const json::value* conditions = manifest.find_pointer("/status/conditions", none);
  if (conditions == nullptr) return {"", ""};
  for (const json::value& one : conditions->as_array()) {
    text += text.empty() ? "" : " ";
    text += TextOf(one.at("type")) + "=" + TextOf(one.at("status"));
    message = TextOf(one.at("message"));
  }
  return {text, message};
}

TEST(Drains, SendEveryJobElsewhereAndTakeNoneUntilUncordoned) {
  EngineWorld world;
  const auto ids = OnEast(&world, 3);
  const auto told = Drain(&world, "east");
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->evicting, 3U);
  EXPECT_EQ(told->blocked + told->waiting, 0U);
  const JobPtr leaving = world.Job(ids[0]);
  EXPECT_EQ(leaving->reason, Reason::kClusterDrained);
  EXPECT_EQ(FindCondition(*leaving, "Evicted")->reason, "ClusterDrained");
  EXPECT_EQ(FindCondition(*leaving, "Evicted")->message, "member cluster east is drained");
  EXPECT_EQ(world.UsedCpu(), 6000) << "held until the pods are gone";
  world.Run();
  EXPECT_EQ(CountOn(world, ids, "west"), 3);
  EXPECT_EQ(world.Job(ids[0])->attempt, 2);
  EXPECT_EQ(world.members.most_active_of_one_job, 1U);
  const auto again = Drain(&world, "east");
  EXPECT_EQ(again->evicting + again->blocked + again->waiting, 0U);
  const JobId next = Running(&world, "next");
  EXPECT_EQ(world.Job(next)->cluster, "west");
  EXPECT_TRUE(world.engine->View()->config->member_clusters.at("east").draining);
  Uncordon(&world, "east");
  const MemberCluster east = world.engine->View()->config->member_clusters.at("east");
  EXPECT_FALSE(east.draining || east.cordoned);
  EXPECT_EQ(Drain(&world, "north").error().code, Code::kNotFound);
}

TEST(Drains, WaitForJobsThatMayNotBeRequeuedUnlessForced) {
  EngineWorld world;
  world.Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  const JobId stays = Running(&world, "once", true);
  auto told = Drain(&world, "east");
  EXPECT_EQ(told->waiting, 1U);
  EXPECT_THAT(told->reasons, ElementsAre(HasSubstr("may not be requeued")));
  Later(&world, 60);
  EXPECT_EQ(world.StateOf(stays), JobState::kRunning);
  told = Drain(&world, "east", true);
  EXPECT_EQ(told->evicting, 1U);
  EXPECT_THAT(told->reasons, IsEmpty());
  world.Run();
  EXPECT_EQ(world.StateOf(stays), JobState::kCancelled);
  EXPECT_THAT(world.Job(stays)->message, HasSubstr("east is drained"));
}

TEST(Drains, GoAsFastAsTheBudgetAllows) {
  EngineWorld world;
  const auto ids = OnEast(&world, 3);
  ApplyAndRun(&world, {TrainAnywhere(), Budget(R"({"minAvailable":2})")});
  const auto told = Drain(&world, "east");
  EXPECT_EQ(told->evicting, 1U);
  EXPECT_EQ(told->blocked, 2U);
  EXPECT_THAT(told->reasons, testing::Each(HasSubstr("2 of 3 jobs run, and 0 of them may stop")));
  world.Run();
  EXPECT_EQ(CountOn(world, ids, "east"), 2) << "the first is back, but nobody has looked yet";
  EXPECT_EQ(CountOn(world, ids, "west"), 1);
  Later(&world, 1);
  EXPECT_EQ(CountOn(world, ids, "west"), 2);
  Later(&world, 1);
  EXPECT_EQ(CountOn(world, ids, "west"), 3);
}

TEST(Drains, AJobThatDoesNotRunNeedsNoBudget) {
  EngineWorld world;
  world.Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  ApplyAndRun(&world, {TrainAnywhere(), Budget(R"({"minAvailable":5})")});
  JobSpec spec;
  spec.pods = {Pods{1, {{"cpu", 2000}}}};
  const JobId id = world.Submit(spec)->id;
  ASSERT_EQ(world.StateOf(id), JobState::kAdmitted);
  EXPECT_EQ(Drain(&world, "east")->evicting, 1U);
}

TEST(Drains, TakeReservationsAwayToo) {
  EngineWorld world;
  ASSERT_TRUE(world
                  .Apply({NamespaceObject("default"), FlavorObject("default"),
                          ClusterQueueObject({.nominal = {{"cpu", 8000}}, .checks = {"check"}}),
                          LocalQueueObject("queue", "cq"), CheckObject("check"), Member("east")})
                  .ok());
  ASSERT_TRUE(world.ActivateCheck("check").ok());
  const JobId id = Running(&world, "reserved");
  ASSERT_EQ(world.StateOf(id), JobState::kReserved);
  EXPECT_TRUE(Drain(&world, "east").ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST(Drains, GoOnAfterACrash) {
  EngineWorld world;
  const auto ids = OnEast(&world, 3);
  ApplyAndRun(&world, {TrainAnywhere(), Budget(R"({"maxUnavailable":1})")});
  EXPECT_EQ(Drain(&world, "east")->evicting, 1U);
  world.Restart();
  world.Run();
  for (int i = 0; i < 5; ++i) Later(&world, 1);
  EXPECT_EQ(CountOn(world, ids, "west"), 3);
  EXPECT_EQ(world.members.most_active_of_one_job, 1U);
}

TEST(Taints, NoExecuteDrivesAwayAtOnceAndNoScheduleNever) {
  EngineWorld world;
  const auto ids = OnEast(&world, 2);
  ApplyAndRun(&world, {Tainted("east", "NoSchedule")});
  Later(&world, 60);
  EXPECT_EQ(CountOn(world, ids, "east"), 2);
  ApplyAndRun(&world,
              {Budget(R"({"minAvailable":2})"), TrainAnywhere(), Tainted("east", "NoExecute")});
  EXPECT_EQ(CountOn(world, ids, "west"), 2) << "a taint asks no budget";
  const Condition* evicted = FindCondition(*world.Job(ids[0]), "Evicted");
  ASSERT_NE(evicted, nullptr);
  EXPECT_THAT(evicted->message, HasSubstr("east has taint work:NoExecute"));
}

TEST(Taints, AreToleratedForAWhileThatARestartDoesNotExtend) {
  EngineWorld world;
  const auto ids = OnEast(&world, 1);
  ApplyAndRun(&world, {Train(R"({"placementType":"PickN","numberOfClusters":1,"tolerations":
      [{"key":"work","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]})")});
  ApplyAndRun(&world, {Tainted("east", "NoExecute")});
  Later(&world, 200);
  EXPECT_EQ(CountOn(world, ids, "east"), 1);
  // An update by a client that leaves out the time at which the taint was added.
  ApplyAndRun(&world, {WithAnnotation(Tainted("east", "NoExecute"), "muster.io/datasets", "a")});
  world.Restart();
  world.Run();
  Later(&world, 98);
  EXPECT_EQ(world.Job(ids[0])->attempt, 1);
  Later(&world, 3);
  EXPECT_EQ(world.Job(ids[0])->attempt, 2) << "gone after 300 seconds";
}

TEST(Evictions, AreCarriedOutOnceAndSaySo) {
  EngineWorld world;
  const auto ids = OnEast(&world, 2);
  ApplyAndRun(&world, {TrainAnywhere()});
  ASSERT_TRUE(world.Apply({Eviction("now")}).ok());
  EXPECT_EQ(world.Job(ids[0])->reason, Reason::kPlacementEviction);
  EXPECT_THAT(world.Job(ids[0])->message,
              HasSubstr("evicted by ResourcePlacementEviction default/now"));
  EXPECT_EQ(StatusOf(world, "now").first, "Valid=True Executed=True");
  world.Run();
  Later(&world, 60);
  EXPECT_EQ(world.Job(ids[0])->attempt, 2);
  EXPECT_EQ(world.StateOf(ids[1]), JobState::kRunning);
  ASSERT_TRUE(world.Apply({Eviction("now")}).ok());
  EXPECT_EQ(StatusOf(world, "now").first, "Valid=True Executed=True")
      << "applied again, it is over still";
  world.Restart();
  world.Run();
  EXPECT_EQ(world.Job(ids[0])->attempt, 2);
  EXPECT_EQ(world.Apply({Eviction("now", "train", "west")}).error().code, Code::kInvalidArgument);
}

TEST(Evictions, ThatABudgetForbidsSayWhy) {
  EngineWorld world;
  const auto ids = OnEast(&world, 2);
  ApplyAndRun(&world, {TrainAnywhere(), Budget(R"({"maxUnavailable":1})")});
  ApplyAndRun(&world, {Eviction("now")});
  EXPECT_EQ(StatusOf(world, "now").first, "Valid=True Executed=False");
  EXPECT_EQ(StatusOf(world, "now").second,
            "Eviction is blocked by specified ResourcePlacementDisruptionBudget, "
            "availablePlacements: 2, totalPlacements: 2");
  EXPECT_EQ(world.Job(ids[0])->attempt, 1);
  Later(&world, 60);
  EXPECT_EQ(world.Job(ids[0])->attempt, 1) << "it is not tried again";
}

constexpr const char* kBoth = R"({"placementType":"PickN","numberOfClusters":3})";

// A row as schedd/propagation records it: `train` has one available object on a member.
Work WorkOn(const std::string& cluster) {
  Work work;
  work.ns = "default";
  work.placement = "train";
  work.cluster = cluster;
  work.state = WorkState::kBound;
  work.snapshot = 0;
  work.scheduled_at = {1};
  ManifestStatus& manifest = work.manifests.emplace_back();
  manifest.ref = {"", "v1", "ConfigMap", "default", "settings"};
  manifest.result = ManifestResult::kApplied;
  manifest.availability = ManifestAvailability::kAvailable;
  return work;
}

void Record(EngineWorld* world, const std::vector<Work>& works) {
  RecordWorksCommand command;
  for (const Work& work : works) command.works.push_back(std::make_shared<const Work>(work));
  command.done = [](Status status) { EXPECT_TRUE(status.ok()); };
  ASSERT_TRUE(world->engine->Post(std::move(command)));
  world->Run();
}

WallTime ExecutedAt(const EngineWorld& world, const std::string& name) {
  return world.engine->View()->config->placement_evictions.at({"default", name}).executed_at;
}

TEST(EvictionsOfObjects, AreExecutedAndSayWhen) {
  EngineWorld world;
  OnEast(&world, 0);
  Work work = WorkOn("east");
  work.scheduled_at = world.clock.WallNow();
  Record(&world, {work});
  ApplyAndRun(&world, {Train(kBoth), Eviction("now")});
  EXPECT_EQ(StatusOf(world, "now").first, "Valid=True Executed=True");
  EXPECT_EQ(StatusOf(world, "now").second,
            "Eviction is allowed, no ResourcePlacementDisruptionBudget specified, configuration "
            "objects are removed");
  EXPECT_EQ(ExecutedAt(world, "now"), world.clock.WallNow());
  EXPECT_EQ(*world.engine->View()->works->works.at({"default", "train", "east"}), work)
      << "rows are written by schedd/propagation alone";
  const WallTime at = ExecutedAt(world, "now");
  Later(&world, 60);
  world.Restart();
  world.Run();
  EXPECT_EQ(ExecutedAt(world, "now"), at) << "to the microsecond, and once";
}

TEST(EvictionsOfObjects, MeanWhatIsThereWhateverTheClockSays) {
  EngineWorld world;
  OnEast(&world, 0);
  Work work = WorkOn("east");
  // By a clock that was ahead.
  work.scheduled_at = {world.clock.WallNow().us + 1'234'567};
  Record(&world, {work});
  ApplyAndRun(&world, {Train(kBoth), Eviction("now")});
  EXPECT_EQ(ExecutedAt(world, "now"), work.scheduled_at);
}

TEST(EvictionsOfObjects, GoByWhatIsThere) {
  struct Case {
    const char* says;
    WorkState state;
    bool has_objects;
    const char* conditions;
    const char* message;
  };
  const Case cases[] = {
      {"it is there", WorkState::kBound, true, "Valid=True Executed=True", "objects are removed"},
      {"it is told to have nothing", WorkState::kBound, false, "Valid=True Executed=True", ""},
      {"it waits for its turn", WorkState::kScheduled, false, "Valid=True Executed=False",
       "placement has not propagated resources to target cluster yet"},
      {"it waits where rests are", WorkState::kScheduled, true, "Valid=True Executed=True", ""},
      {"it leaves already", WorkState::kLeaving, true, "Valid=True Executed=True",
       "resources propagated by placement is currently being removed from cluster"},
  };
  for (const Case& one : cases) {
    EngineWorld world;
    OnEast(&world, 0);
    Work work = WorkOn("east");
    work.state = one.state;
    if (!one.has_objects) work.manifests.clear();
    Record(&world, {work});
    ApplyAndRun(&world, {Train(kBoth), Eviction("now")});
    EXPECT_EQ(StatusOf(world, "now").first, one.conditions) << one.says;
    EXPECT_THAT(StatusOf(world, "now").second, HasSubstr(one.message)) << one.says;
  }
}

TEST(EvictionsOfObjects, ABudgetKeepsMembersAvailable) {
  struct Case {
    const char* says;
    const char* policy;
    const char* budget;
    int available;  // of three members, east among them if any is
    const char* first;
    const char* second;
    const char* message;  // of the second
  };
  constexpr const char* kYes = "Valid=True Executed=True";
  constexpr const char* kNo = "Valid=True Executed=False";
  constexpr const char* kAll = R"({"placementType":"PickAll"})";
  const Case cases[] = {
      {"two of three must stay", kBoth, R"({"minAvailable":2})", 3, kYes, kNo,
       "Eviction is blocked by specified ResourcePlacementDisruptionBudget, availablePlacements: "
       "2, totalPlacements: 3"},
      {"one must", kBoth, R"({"minAvailable":1})", 3, kYes, kYes,
       "Eviction is allowed by specified ResourcePlacementDisruptionBudget, availablePlacements: "
       "2, totalPlacements: 3, configuration objects are removed"},
      {"one may be unavailable", kBoth, R"({"maxUnavailable":1})", 3, kYes, kNo, "Placements: 2"},
      {"one may, and is", kBoth, R"({"maxUnavailable":1})", 2, kNo, kNo, "Placements: 2"},
      {"a percentage is of numberOfClusters", R"({"placementType":"PickN","numberOfClusters":6})",
       R"({"maxUnavailable":"30%"})", 3, kYes, kYes, ""},
      {"what does not work bypasses it", kBoth, R"({"minAvailable":3})", 0, kYes, kYes, ""},
      {"PickAll takes a number", kAll, R"({"minAvailable":2})", 3, kYes, kNo, "Placements: 2"},
      {"but no percentage", kAll, R"({"minAvailable":"1%"})", 3, kNo, kNo,
       "blocked by misconfigured ResourcePlacementDisruptionBudget, a percentage is not for"},
  };
  for (const Case& one : cases) {
    EngineWorld world;
    OnEast(&world, 0);
    std::vector<Work> works;
    for (const char* member : {"east", "west", "north"}) {
      works.push_back(WorkOn(member));
      if (static_cast<int>(works.size()) > one.available)
        works.back().manifests[0].result = ManifestResult::kApplyFailed;
    }
    Record(&world, works);
    // Both arrive at once: the first is not carried out on the member when the second is checked.
    ApplyAndRun(&world, {Train(one.policy), Budget(one.budget), Eviction("a-first"),
                         Eviction("b-second", "train", "west")});
    EXPECT_EQ(StatusOf(world, "a-first").first, one.first) << one.says;
    EXPECT_EQ(StatusOf(world, "b-second").first, one.second) << one.says;
    EXPECT_THAT(StatusOf(world, "b-second").second, HasSubstr(one.message)) << one.says;
  }
}

TEST(EvictionsOfObjects, ASecondOneFindsThatTheyLeave) {
  EngineWorld world;
  OnEast(&world, 0);
  Record(&world, {WorkOn("east"), WorkOn("west")});
  ApplyAndRun(&world, {Train(kBoth), Budget(R"({"minAvailable":1})"), Eviction("a-first"),
                       Eviction("b-second")});
  EXPECT_THAT(StatusOf(world, "b-second").second, HasSubstr("currently being removed"));
  ApplyAndRun(&world, {Eviction("third", "train", "west")});
  EXPECT_EQ(StatusOf(world, "third").first, "Valid=True Executed=False") << "counted once";
}

TEST(EvictionsOfObjects, WithJobsBothMustBeFreeToGo) {
  struct Case {
    const char* says;
    int jobs;
    std::vector<std::string> members;
    const char* conditions;
    const char* message;
  };
  // Two must be available, counting members and counting jobs.
  const Case cases[] = {
      {"too few jobs",
       2,
       {"east", "west", "north"},
       "Valid=True Executed=False",
       "blocked by specified ResourcePlacementDisruptionBudget, availablePlacements: 2, "
       "totalPlacements: 2, of jobs"},
      {"too few members", 0, {"east", "west"}, "Valid=True Executed=False", "totalPlacements: 2"},
      {"neither", 2, {"east", "west"}, "Valid=True Executed=False", "of members"},
      {"no jobs", 0, {"east", "west", "north"}, "Valid=True Executed=True", "removed"},
  };
  for (const Case& one : cases) {
    EngineWorld world;
    const auto ids = OnEast(&world, one.jobs);
    std::vector<Work> works;
    for (const std::string& member : one.members) works.push_back(WorkOn(member));
    Record(&world, works);
    ApplyAndRun(&world, {Train(kBoth), Budget(R"({"minAvailable":2})"), Eviction("now")});
    EXPECT_EQ(StatusOf(world, "now").first, one.conditions) << one.says;
    EXPECT_THAT(StatusOf(world, "now").second, HasSubstr(one.message)) << one.says;
    EXPECT_EQ(CountOn(world, ids, "east"), one.jobs) << one.says;
    const bool executed = std::string(one.conditions).ends_with("Executed=True");
    EXPECT_EQ(ExecutedAt(world, "now").set(), executed) << one.says;
  }
}

TEST(EvictionsOfObjects, LeaveTogetherWithTheJobs) {
  EngineWorld world;
  const auto ids = OnEast(&world, 2);
  Record(&world, {WorkOn("east")});
  ApplyAndRun(&world, {Train(kBoth), Eviction("now")});
  EXPECT_THAT(StatusOf(world, "now").second,
              testing::EndsWith("jobs evicted: 2, configuration objects are removed"));
  EXPECT_EQ(world.Job(ids[0])->attempt, 2);
}

TEST(EvictionsOfObjects, DoNotTakeThemFromJobsThatStay) {
  EngineWorld world;
  world.Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  const JobId goes = Running(&world, "goes");
  Running(&world, "stays", true);
  Record(&world, {WorkOn("east")});
  ApplyAndRun(&world, {Train(kBoth), Eviction("now")});
  EXPECT_EQ(StatusOf(world, "now").first, "Valid=True Executed=False");
  EXPECT_EQ(StatusOf(world, "now").second,
            "Eviction is blocked, 1 of the 2 jobs there may not be requeued");
  EXPECT_EQ(world.Job(goes)->attempt, 1) << "all or nothing";
}

TEST(EvictionsOfObjects, TheirObjectIsNotDeletedBeforeTheRowSaysSo) {
  EngineWorld world;
  OnEast(&world, 0);
  Work work = WorkOn("east");
  Record(&world, {work});
  ApplyAndRun(&world, {Train(kBoth), Eviction("now")});
  ObjectChange removal = Eviction("now");
  removal.remove = true;
  removal.manifest.clear();
  const auto refused = world.Apply({removal});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().detail, HasSubstr("is being carried out on member cluster east"));
  work.state = WorkState::kLeaving;
  Record(&world, {work});
  EXPECT_TRUE(world.Apply({removal}).ok());
}

TEST(Evictions, ThatMeanNobodyAreInvalid) {
  struct Case {
    const char* says;
    const char* policy;
    const char* placement;
    const char* cluster;
    const char* message;
  };
  const Case cases[] = {
      {"no such placement", R"({"placementType":"PickAll"})", "other", "east",
       "Failed to find Res"},
      {"it has no job there", R"({"placementType":"PickAll"})", "train", "west",
       "Failed to find scheduler decision"},
      {"the members are fixed", R"({"placementType":"PickFixed","clusterNames":["east"]})", "train",
       "east", "with PickFixed placement type"},
  };
  for (const Case& one : cases) {
    EngineWorld world;
    const auto ids = OnEast(&world, 1);
    ApplyAndRun(&world, {Train(one.policy), Eviction("now", one.placement, one.cluster)});
    EXPECT_EQ(StatusOf(world, "now").first, "Valid=False") << one.says;
    EXPECT_THAT(StatusOf(world, "now").second, HasSubstr(one.message)) << one.says;
    EXPECT_EQ(world.Job(ids[0])->attempt, 1) << one.says;
  }
}

}  // namespace
}  // namespace muster::test
