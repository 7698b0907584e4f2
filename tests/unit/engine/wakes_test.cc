// Wakes: each kind of edit names exactly the queues whose waiting jobs it may help, the engine
// tries those jobs again, and an edit survives a crash before the next cycle.
#include "schedd/engine/live/wakes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ClusterQueue QueueOf(const std::string& name, const std::string& cohort,
                     const std::string& flavor = "default") {
  ClusterQueue queue;
  queue.name = name;
  queue.cohort = cohort;
  queue.namespace_selector = LabelSelector{};
  queue.resource_groups = {{{"cpu"}, {{flavor, {{"cpu", {4000, std::nullopt, std::nullopt}}}}}}};
  return queue;
}

// Trees: top (cohorts a with a1 and a2, and b with b1); other (o1, of flavor spot); alone.
ConfigView World() {
  ConfigView config;
  config.namespaces["team"] = {"team", {}};
  config.flavors["default"].name = "default";
  config.flavors["spot"].name = "spot";
  config.flavors["spot"].node_labels = {{"kind", "spot"}};
  config.flavors["spot"].topology = "racks";
  config.topologies["racks"] = {"racks", {"rack"}};
  config.cohorts["a"] = {"a", "top", {}, 1};
  config.cohorts["b"] = {"b", "top", {}, 1};
  for (const auto& queue : {QueueOf("a1", "a"), QueueOf("a2", "a"), QueueOf("b1", "b"),
                            QueueOf("o1", "other", "spot"), QueueOf("alone", "")}) {
    config.cluster_queues[queue.name] = queue;
  }
  config.cluster_queues["a2"].admission_checks = {{"license", {}}};
  config.admission_checks["license"] = {"license", "example.com/license", false, 0};
  config.local_queues[{"team", "main"}] = {"team", "main", "a1", StopPolicy::kHold, 1};
  MemberCluster east;
  east.name = "east";
  east.labels = {{"kind", "on-demand"}};
  east.allocatable = {{"cpu", 8000}};
  config.member_clusters["east"] = east;
  return config;
}

std::int64_t& NominalOf(ConfigView* config, const std::string& queue) {
  return config->cluster_queues[queue].resource_groups[0].flavors[0].resources[0].second.nominal;
}

QueueNames WokenBy(ObjectKind kind, const std::string& name,
                   const std::function<void(ConfigView*)>& edit) {
  const ConfigView before = World();
  ConfigView after = before;
  edit(&after);
  const auto tree_before = core::QuotaTree::Build(before),
             tree_after = core::QuotaTree::Build(after);
  const std::string ns = kind == ObjectKind::kLocalQueue ? "team" : "";
  return muster::WokenBy({before, *tree_before}, {after, *tree_after}, {{kind, ns, name}});
}

TEST(Wakes, AQueueEditWakesTheTreesThatItWasAndIsIn) {
  const auto woken = [](const std::string& name, const std::function<void(ConfigView*)>& edit) {
    return WokenBy(ObjectKind::kClusterQueue, name, edit);
  };
  EXPECT_THAT(woken("a1", [](ConfigView* c) { NominalOf(c, "a1") += 1000; }),
              ElementsAre("a1", "a2", "b1"))
      << "more quota: whoever may borrow it";
  EXPECT_THAT(woken("a1", [](ConfigView* c) { NominalOf(c, "a1") -= 1000; }),
              ElementsAre("a1", "a2", "b1"))
      << "less quota: what it holds above it may be reclaimed";
  EXPECT_THAT(woken("alone", [](ConfigView* c) { NominalOf(c, "alone") += 1000; }),
              ElementsAre("alone"));
  EXPECT_THAT(woken("alone", [](ConfigView* c) { NominalOf(c, "alone") -= 1000; }),
              ElementsAre("alone"))
      << "nobody is helped, but those that wait have other numbers to say";
  EXPECT_THAT(woken("a1", [](ConfigView* c) { c->cluster_queues["a1"].cohort = "other"; }),
              ElementsAre("a1", "a2", "b1", "o1"))
      << "moved to another cohort";
  EXPECT_THAT(woken("a1", [](ConfigView* c) { c->cluster_queues.erase("a1"); }),
              ElementsAre("a2", "b1"));
  EXPECT_THAT(woken("new", [](ConfigView* c) { c->cluster_queues["new"] = QueueOf("new", "b"); }),
              ElementsAre("a1", "a2", "b1", "new"));
  EXPECT_THAT(woken(
                  "b1",
                  [](ConfigView* c) {
    c->cluster_queues["b1"].preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
                  }),
              ElementsAre("a1", "a2", "b1"))
      << "it may preempt";
  EXPECT_THAT(woken("a1", [](ConfigView*) {}), IsEmpty()) << "only its labels changed";
}

TEST(Wakes, ACohortEditWakesTheTreesThatItWasAndIsIn) {
  EXPECT_THAT(WokenBy(ObjectKind::kCohort, "b", [](ConfigView* c) { c->cohorts["b"].parent = ""; }),
              ElementsAre("a1", "a2", "b1"));
  EXPECT_THAT(
      WokenBy(ObjectKind::kCohort, "b", [](ConfigView* c) { c->cohorts["b"].parent = "other"; }),
      ElementsAre("a1", "a2", "b1", "o1"));
  EXPECT_THAT(WokenBy(
                  ObjectKind::kCohort, "other",
                  [](ConfigView* c) {
    c->cohorts["other"] = {"other", "", {}, 2};
                  }),
              ElementsAre("o1"));
  EXPECT_THAT(WokenBy(ObjectKind::kCohort, "a", [](ConfigView*) {}), IsEmpty());
}

TEST(Wakes, OtherEditsWakeOnlyTheQueuesThatUseTheObject) {
  struct {
    const char* what;
    ObjectKind kind;
    const char* name;
    std::function<void(ConfigView*)> edit;
    QueueNames woken;
  } const cases[] =
      {
          {"a flavor has another taint",
           ObjectKind::kResourceFlavor,
           "spot",
           [](ConfigView* c) {
    c->flavors["spot"].node_taints = {{"k", "v", "NoSchedule"}};
           },
           {"o1"}},
          {"a flavor is the same", ObjectKind::kResourceFlavor, "spot", [](ConfigView*) {}, {}},
          {"a topology has another level",
           ObjectKind::kTopology,
           "racks",
           [](ConfigView* c) {
    c->topologies["racks"].levels = {"block", "rack"};
           },
           {"o1"}},
          {"a check becomes active",
           ObjectKind::kAdmissionCheck,
           "license",
           [](ConfigView* c) {
    c->admission_checks["license"].active = true;
           },
           {"a2"}},
      {"a check stays inactive", ObjectKind::kAdmissionCheck, "license", [](ConfigView*) {}, {}},
      {"a LocalQueue is released",
       ObjectKind::kLocalQueue,
       "main",
       [](ConfigView* c) {
    c->local_queues[{"team", "main"}].stop_policy = StopPolicy::kNone;
       },
       {"a1"}},
      {"a LocalQueue goes",
       ObjectKind::kLocalQueue,
       "main",
       [](ConfigView* c) { c->local_queues.clear(); },
       {"a1"}},
      {"a LocalQueue is the same", ObjectKind::kLocalQueue, "main", [](ConfigView*) {}, {}},
      {"a LocalQueue comes",
       ObjectKind::kLocalQueue,
       "more",
       [](ConfigView* c) {
    c->local_queues[{"team", "more"}] = {"team", "more", "alone", StopPolicy::kNone, 1};
       },
       {"alone"}},
      {"a LocalQueue leads elsewhere",
       ObjectKind::kLocalQueue,
       "main",
       [](ConfigView* c) {
    c->local_queues[{"team", "main"}].cluster_queue = "alone";
       },
       {"a1", "alone"}},
      {"a namespace gets a label that one queue asks for",
       ObjectKind::kNamespace,
       "team",
       [](ConfigView* c) {
    c->namespaces["team"].labels = {{"tier", "gold"}};
    c->cluster_queues["b1"].namespace_selector->match_labels = {{"tier", "gold"}};
       },
       {"b1"}},
      {"a priority class: its jobs say which",
       ObjectKind::kWorkloadPriorityClass,
       "high",
       [](ConfigView* c) {
    c->priority_classes["high"] = {"high", 100, ""};
       },
       {}},
      };
  for (const auto& one : cases)
    EXPECT_EQ(WokenBy(one.kind, one.name, one.edit), one.woken) << one.what;
}

TEST(Wakes, AMemberWakesTheQueuesWhoseFlavorsItMayCarryAndOnlyIfItCanHoldMore) {
  const QueueNames of_default = {"a1", "a2", "alone", "b1"};
  const QueueNames all = {"a1", "a2", "alone", "b1", "o1"};
  struct {
    const char* what;
    std::function<void(MemberCluster*)> edit;
    QueueNames woken;
  } const cases[] =
      {
          {"more cpu", [](MemberCluster* m) { SetAmount(&m->allocatable, "cpu", 9000); },
           of_default},
          {"less cpu", [](MemberCluster* m) { SetAmount(&m->allocatable, "cpu", 7000); }, {}},
          {"cordoned", [](MemberCluster* m) { m->cordoned = true; }, {}},
          {"unhealthy, with more cpu",
           [](MemberCluster* m) {
    m->healthy = false;
    SetAmount(&m->allocatable, "cpu", 9000);
           },
           {}},
          {"the label of another flavor", [](MemberCluster* m) { m->labels["kind"] = "spot"; },
           all},
          {"another property", [](MemberCluster* m) { m->properties.amounts["cost"] = 2; },
           of_default},
          {"more data near it", [](MemberCluster* m) { m->datasets = {"images"}; }, of_default},
          {"another version", [](MemberCluster* m) { m->version = "v1.35.0"; }, of_default},
          {"kinds that it serves",
           [](MemberCluster* m) {
    m->kinds = std::make_shared<const std::vector<std::string>>(1, "RayJob");
           },
           of_default},
          {"its first machines", [](MemberCluster* m) { m->nodes.resize(1); }, of_default},
          {"the same", [](MemberCluster*) {}, {}},
          };
  const ConfigView config = World();
  const MemberCluster& before = config.member_clusters.at("east");
  for (const auto& one : cases) {
    MemberCluster after = before;
    one.edit(&after);
    EXPECT_EQ(WokenByMember(&before, after, config), one.woken) << one.what;
  }
  EXPECT_EQ(WokenByMember(nullptr, before, config), of_default) << "a new member";
  MemberCluster sick = before;
  sick.healthy = false;
  EXPECT_EQ(WokenByMember(&sick, before, config), of_default) << "healthy again";
}

TEST(Wakes, WhatAnEditMakesPossibleIsAdmittedInTheNextCycle) {
  struct {
    const char* what;
    std::vector<ObjectChange> edit;
  } const cases[] = {
      {"more quota", {ClusterQueueObject({.nominal = {{"cpu", 8000}}})}},
      {"a cohort to borrow from",
       {ClusterQueueObject({.cohort = "pool"}),
        ClusterQueueObject({.name = "rich", .cohort = "pool", .nominal = {{"cpu", 4000}}})}},
      {"a queue elsewhere",
       {ClusterQueueObject({.name = "rich", .nominal = {{"cpu", 8000}}}),
        Removal(ObjectKind::kLocalQueue, "default", "queue"), LocalQueueObject("queue", "rich")}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    EngineWorld world;
    world.Declare({{"cpu", 4000}}, {{"cpu", 64'000}});
    const JobId id = world.Submit({.pods = {{8, {{"cpu", 1000}}}}})->id;
    world.Run();
    ASSERT_EQ(world.StateOf(id), JobState::kPending);
    ASSERT_TRUE(world.Apply(one.edit).ok());
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  }
}

TEST(Wakes, APriorityClassEditLetsAWaitingJobPreempt) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 64'000}});
  ASSERT_TRUE(world
                  .Apply({ClusterQueueObject({.within = "LowerPriority"}),
                          PriorityClassObject("runs", 10), PriorityClassObject("waits", 10)})
                  .ok());
  const JobId runs =
      world.Submit({.name = "runs", .pods = {{4}}, .priority = 10, .priority_class = "runs"})->id;
  world.Run();
  const JobId waits =
      world.Submit({.name = "waits", .pods = {{4}}, .priority = 10, .priority_class = "waits"})->id;
  world.Run();
  ASSERT_EQ(world.StateOf(waits), JobState::kPending);
  ASSERT_TRUE(world.Apply({PriorityClassObject("waits", 20)}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(waits), JobState::kRunning);
  EXPECT_EQ(world.StateOf(runs), JobState::kPending);
}

TEST(Wakes, AMemberThatGrowsAdmitsWhatLackedRoom) {
  EngineWorld world;
  world.Declare({{"cpu", 8000}}, {{"cpu", 1000}});
  const JobId id = world.Submit({.pods = {{2, {{"cpu", 1000}}}}})->id;
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kPending);
  ClusterFacts facts;
  facts.cluster = "east";
  facts.allocatable = {{"cpu", 2000}};
  world.engine->Post(FactsCommand{facts});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(Wakes, ACrashBetweenEditAndCycleLosesNeither) {
  for (const bool durable : {true, false}) {
    SCOPED_TRACE(durable ? "the edit is durable" : "the edit is not durable");
    EngineWorld world(1, {}, {.manual = true});
    const auto drain = [&world] {
      do {
        world.Settle();
        world.members.CarryAll();
      } while (world.store.DrainOne() || world.engine->Step() || !world.members.orders.empty());
    };
    const auto apply = [&world](std::vector<ObjectChange> changes) {
      ApplyCommand command{{"root", "test"}, std::move(changes), false, {}};
      command.done = [](Result<std::vector<AppliedObject>>) {};
      world.engine->Post(std::move(command));
      world.Settle();
    };
    apply({NamespaceObject("default"), FlavorObject("default"),
           ClusterQueueObject({.nominal = {{"cpu", 1000}}}), LocalQueueObject("queue", "cq"),
           MemberObject("east", {{"cpu", 8000}})});
    drain();
    SubmitCommand command;
    command.jobs.push_back(MakeSubmission({.pods = {{2, {{"cpu", 1000}}}}}));
    command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
    world.engine->Post(std::move(command));
    drain();
    ASSERT_EQ(world.StateOf(JobId{1}), JobState::kPending);

    apply({ClusterQueueObject({.nominal = {{"cpu", 2000}}})});
    ASSERT_EQ(world.store.waiting(), 1U) << "nothing is decided on it before it is durable";
    if (durable) {
      ASSERT_TRUE(world.store.DrainOne());
    }
    world.Restart();
    while (world.store.DrainOne()) {
    }
    drain();
    const JobState after = durable ? JobState::kRunning : JobState::kPending;
    EXPECT_EQ(world.StateOf(JobId{1}), after);
    EXPECT_EQ(world.UsedCpu(), durable ? 2000 : 0);
  }
}

}  // namespace
}  // namespace muster::test
