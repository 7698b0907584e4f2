// Queue objects: versions, refusals, stop policies, previews.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/shapes/config/queue_objects.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

TEST(Configuration, AnUnchangedObjectKeepsItsVersion) {
  EngineWorld world;
  const auto first = world.Apply({FlavorObject("spot")});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ((*first)[0].outcome, ApplyOutcome::kCreated);
  const auto second = world.Apply({FlavorObject("spot")});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)[0].outcome, ApplyOutcome::kUnchanged);
  EXPECT_EQ((*second)[0].object->resource_version, (*first)[0].object->resource_version);
}

TEST(Configuration, AChangedSpecMakesAGenerationAndChangedLabelsDoNot) {
  EngineWorld world;
  ASSERT_TRUE(world.Apply({FlavorObject("default"), ClusterQueueObject({})}).ok());
  auto more = world.Apply({ClusterQueueObject({.nominal = {{"cpu", 5000}}})});
  ASSERT_TRUE(more.ok());
  EXPECT_EQ((*more)[0].outcome, ApplyOutcome::kConfigured);
  EXPECT_EQ((*more)[0].object->generation, 2);
  const auto uid = (*more)[0].object->uid;
  ObjectChange labelled = ClusterQueueObject({.nominal = {{"cpu", 5000}}});
  labelled.manifest.replace(labelled.manifest.find("\"name\":\"cq\""), 11,
                            "\"name\":\"cq\",\"labels\":{\"a\":\"b\"}");
  const auto labels = world.Apply({labelled});
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ((*labels)[0].object->generation, 2);
  EXPECT_GT((*labels)[0].object->resource_version, (*more)[0].object->resource_version);
  EXPECT_EQ((*labels)[0].object->uid, uid);
}

TEST(Configuration, OneBadChangeChangesNothingAndIsNamed) {
  EngineWorld world;
  ASSERT_TRUE(
      world
          .Apply({FlavorObject("default"), ClusterQueueObject({}), LocalQueueObject("queue", "cq")})
          .ok());
  const auto before = world.engine->View()->last_seq;
  // A LocalQueue's ClusterQueue is immutable.
  const auto outcome = world.Apply({FlavorObject("spot"), LocalQueueObject("queue", "other")});
  ASSERT_FALSE(outcome.ok());
  ASSERT_FALSE(outcome.error().fields.empty());
  EXPECT_THAT(outcome.error().fields[0].field, HasSubstr("documents[1]"));
  EXPECT_FALSE(world.engine->View()->config->flavors.contains("spot"));
  EXPECT_EQ(world.engine->View()->last_seq, before);
}

TEST(Configuration, PreconditionsAreThoseOfKubernetes) {
  EngineWorld world;
  const auto made = world.Apply({FlavorObject("spot")});
  ASSERT_TRUE(made.ok());
  ObjectChange post = FlavorObject("spot");
  post.must_not_exist = true;
  EXPECT_EQ(world.Apply({post}).error().code, Code::kAlreadyExists);
  ObjectChange put = FlavorObject("other");
  put.must_exist = true;
  EXPECT_EQ(world.Apply({put}).error().code, Code::kNotFound);
  ObjectChange stale = FlavorObject("spot");
  stale.expected_resource_version = (*made)[0].object->resource_version + 1;
  EXPECT_EQ(world.Apply({stale}).error().code, Code::kAborted);
  EXPECT_EQ(world.Apply({Removal(ObjectKind::kResourceFlavor, "", "none")}).error().code,
            Code::kNotFound);
}

TEST(Configuration, ADryRunTellsTheOutcomeAndChangesNothing) {
  EngineWorld world;
  const auto outcome = world.Apply({FlavorObject("spot")}, true);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ((*outcome)[0].outcome, ApplyOutcome::kCreated);
  EXPECT_TRUE(world.engine->View()->config->flavors.empty());
}

TEST(Configuration, WhatIsInUseCannotBeRemoved) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  const struct {
    const char* name;
    ObjectChange change;
    const char* sentence;
  } cases[] = {
      {"a ClusterQueue that holds quota", Removal(ObjectKind::kClusterQueue, "", "cq"),
       "holds quota"},
      {"a flavor of a ClusterQueue", Removal(ObjectKind::kResourceFlavor, "", "default"),
       "is used by ClusterQueue cq"},
      {"a member that runs a job", Removal(ObjectKind::kMemberCluster, "", "east"), "runs jobs"},
      {"the default namespace", Removal(ObjectKind::kNamespace, "", "default"),
       "cannot be deleted"},
  };
  for (const auto& one : cases) {
    const auto outcome = world.Apply({one.change});
    ASSERT_FALSE(outcome.ok()) << one.name;
    EXPECT_EQ(outcome.error().code, Code::kFailedPrecondition) << one.name;
    EXPECT_THAT(outcome.error().detail, HasSubstr(one.sentence)) << one.name;
  }
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_TRUE(world.Apply({Removal(ObjectKind::kClusterQueue, "", "cq")}).ok())
      << "free once nothing holds quota";
}

ObjectChange PropagationObject(ObjectKind kind, const std::string& ns, const std::string& body) {
  const std::string name = shapes::InfoOf(kind).name;
  ObjectChange change;
  change.kind = kind;
  change.ns = ns;
  change.name = "a";
  change.manifest = R"({"apiVersion":"placement.kubernetes-fleet.io/v1","kind":")" + name +
                    R"(","metadata":{"name":"a")" +
                    (ns.empty() ? "" : R"(,"namespace":")" + ns + "\"") + "}," + body + "}";
  return change;
}

TEST(Configuration, OverridesAndEnvelopesSurviveARestartAndGoWithTheirNamespace) {
  const std::string rules =
      R"("policy":{"overrideRules":[{"clusterSelector":{},"overrideType":"Delete"}]})";
  const std::string of_map =
      R"("spec":{"placement":{"name":"p"},"resourceSelectors":[{"group":"","version":"v1",)"
      R"("kind":"ConfigMap","name":"c"}],)" +
      rules + "}";
  EngineWorld world;
  ASSERT_TRUE(
      world
          .Apply({NamespaceObject("team"),
                  PropagationObject(ObjectKind::kResourceOverride, "team", of_map),
                  PropagationObject(ObjectKind::kClusterResourceOverride, "",
                                    R"("spec":{"clusterResourceSelectors":[{"group":"","version":)"
                                    R"("v1","kind":"Namespace","name":"team"}],)" +
                                        rules + "}"),
                  PropagationObject(ObjectKind::kResourceEnvelope, "team",
                                    R"("data":{"c":{"apiVersion":"v1","kind":"ConfigMap",)"
                                    R"("metadata":{"name":"c"}}})"),
                  PropagationObject(ObjectKind::kClusterResourceEnvelope, "",
                                    R"("data":{"c":{"apiVersion":"a/v1","kind":"B",)"
                                    R"("metadata":{"name":"c"}}})")})
          .ok());
  const ConfigPtr before = world.engine->View()->config;
  world.Restart();
  world.Settle();
  const ConfigPtr after = world.engine->View()->config;
  EXPECT_EQ(after->overrides.size(), 2U);
  EXPECT_EQ(after->overrides, before->overrides);
  EXPECT_EQ(after->envelopes.size(), 2U);
  EXPECT_EQ(after->envelopes, before->envelopes);
  const auto moved = world.Apply(
      {PropagationObject(ObjectKind::kResourceOverride, "team",
                         std::string(of_map).replace(of_map.find("\"p\""), 3, "\"o\""))});
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().fields.at(0).field, HasSubstr("spec.placement"));
  ASSERT_TRUE(world.Apply({Removal(ObjectKind::kNamespace, "", "team")}).ok());
  EXPECT_EQ(world.engine->View()->config->overrides.count({"", "a"}), 1U);
  EXPECT_EQ(world.engine->View()->config->overrides.size(), 1U);
  EXPECT_EQ(world.engine->View()->config->envelopes.size(), 1U);
}

TEST(Configuration, ANamespaceGoesWithWhatIsInIt) {
  EngineWorld world;
  ObjectChange queue = LocalQueueObject("queue", "cq");
  queue.ns = "team";
  queue.manifest.replace(queue.manifest.find("\"namespace\":\"default\""), 21,
                         "\"namespace\":\"team\"");
  ASSERT_TRUE(world.Apply({NamespaceObject("team"), queue}).ok());
  ASSERT_TRUE(world.Apply({Removal(ObjectKind::kNamespace, "", "team")}).ok());
  EXPECT_TRUE(world.engine->View()->objects->empty());
  EXPECT_TRUE(world.engine->View()->config->local_queues.empty());
  EXPECT_TRUE(world.Stored().objects.empty());
}

TEST(Configuration, MoreQuotaStartsWhatWaits) {
  EngineWorld world;
  world.Declare({{"cpu", 1000}}, {{"cpu", 100'000}});
  for (int i = 0; i < 3; ++i) world.Submit({.name = "job" + std::to_string(i)});
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 1000);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.nominal = {{"cpu", 3000}}})}).ok());
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 3000);
}

TEST(Configuration, LessQuotaDrainsInsteadOfKilling) {
  EngineWorld world;
  world.Declare({{"cpu", 3000}}, {{"cpu", 100'000}});
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(world.Submit({.name = "job" + std::to_string(i)})->id);
  world.Run();
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.nominal = {{"cpu", 1000}}})}).ok());
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 3000);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.StateOf(ids[3]), JobState::kPending) << "nothing new until it has drained";
    world.members.End(world.KeyOf(ids[static_cast<std::size_t>(i)]), RemotePhase::kSucceeded);
    world.Run();
  }
  EXPECT_EQ(world.StateOf(ids[3]), JobState::kRunning);
}

TEST(Configuration, HoldStopsNewAdmissionsAndHoldAndDrainEvicts) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId running = world.Submit({.name = "running"})->id;
  world.Run();
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.stop_policy = "Hold"})}).ok());
  const JobId waiting = world.Submit({.name = "waiting"})->id;
  world.Run();
  EXPECT_EQ(world.StateOf(running), JobState::kRunning);
  EXPECT_EQ(world.StateOf(waiting), JobState::kPending);
  EXPECT_THAT(world.Job(waiting)->message, HasSubstr("stopped"));
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.stop_policy = "HoldAndDrain"})}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(running), JobState::kPending);
  EXPECT_TRUE(world.members.objects.empty());
  EXPECT_EQ(world.UsedCpu(), 0);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({})}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(running), JobState::kRunning);
  EXPECT_EQ(world.StateOf(waiting), JobState::kRunning);
  EXPECT_EQ(world.Job(running)->attempt, 2);
}

TEST(Configuration, HoldAndDrainEndsAJobThatMayNotBeRequeued) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({.no_requeue = true})->id;
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.stop_policy = "HoldAndDrain"})}).ok());
  world.Run();
  const JobPtr job = world.Job(id);
  EXPECT_EQ(job->state, JobState::kCancelled);
  EXPECT_EQ(job->attempt, 1);
  EXPECT_THAT(job->message, HasSubstr("may not be requeued"));
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST(Configuration, ALocalQueueDrainsItsOwnJobsOnly) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(world.Apply({LocalQueueObject("other", "cq")}).ok());
  const JobId stays = world.Submit({.name = "stays"})->id;
  const JobId goes = world.Submit({.name = "goes", .queue = "other"})->id;
  world.Run();
  ASSERT_TRUE(world.Apply({LocalQueueObject("other", "cq", "HoldAndDrain")}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(stays), JobState::kRunning);
  EXPECT_EQ(world.StateOf(goes), JobState::kPending);
}

TEST(Configuration, WithoutItsLocalQueueAJobWaitsAndSaysWhy) {
  EngineWorld world;
  world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  ASSERT_TRUE(world.Apply({Removal(ObjectKind::kLocalQueue, "default", "queue")}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.Job(id)->reason, Reason::kMisconfigured);
  EXPECT_THAT(world.Job(id)->message, HasSubstr("queue"));
}

TEST(Configuration, ALocalQueueThatComesBackLeadsItsJobsToItsNewClusterQueue) {
  EngineWorld world;
  world.Declare({{"cpu", 0}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  ASSERT_TRUE(world.Apply({Removal(ObjectKind::kLocalQueue, "default", "queue")}).ok());
  ASSERT_TRUE(world
                  .Apply({ClusterQueueObject({.name = "rich", .nominal = {{"cpu", 4000}}}),
                          LocalQueueObject("queue", "rich")})
                  .ok());
  world.Run();
  EXPECT_EQ(world.Job(id)->cluster_queue, "rich");
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.UsedCpu("rich"), 1000);
}

TEST(Configuration, AnEditIsPreviewedWithoutBeingMade) {
  EngineWorld world;
  world.Declare({{"cpu", 1000}}, {{"cpu", 100'000}});
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(world.Submit({.name = "job" + std::to_string(i)})->id);
  world.Run();
  const auto effect = world.Preview({ClusterQueueObject({.nominal = {{"cpu", 2000}}})});
  ASSERT_TRUE(effect.ok());
  ASSERT_EQ(effect->would_admit.size(), 1U);
  EXPECT_EQ(effect->would_admit[0]->id, ids[1]);
  EXPECT_TRUE(effect->would_preempt.empty());
  world.Run();
  EXPECT_EQ(world.StateOf(ids[1]), JobState::kPending);
  EXPECT_EQ(world.UsedCpu(), 1000);
}

TEST(Configuration, ACordonedMemberTakesNothingNew) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const auto cordon = [&](bool on) {
    std::optional<Result<ObjectPtr>> answer;
    world.engine->Post(CordonCommand{
        {"root", "test"}, "east", on, [&](Result<ObjectPtr> result) { answer = result; }});
    world.Run();
    ASSERT_TRUE(answer.has_value());
    ASSERT_TRUE(answer->ok());
  };
  const JobId first = world.Submit({.name = "first"})->id;
  world.Run();
  cordon(true);
  const JobId second = world.Submit({.name = "second"})->id;
  world.Run();
  EXPECT_EQ(world.StateOf(first), JobState::kRunning);
  EXPECT_EQ(world.StateOf(second), JobState::kPending);
  cordon(false);
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
}

TEST(Configuration, FactsOfAMemberCountAndWakeWhatWaitsForRoom) {
  EngineWorld world;
  world.Declare({{"cpu", 100'000}}, {{"cpu", 500}});
  const JobId id = world.Submit({})->id;
  world.Run();
  EXPECT_EQ(world.Job(id)->reason, Reason::kNoMemberCluster);
  ClusterFacts facts;
  facts.cluster = "east";
  facts.allocatable = {{"cpu", 8000}};
  world.engine->Post(FactsCommand{facts});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(AmountOf(world.engine->View()->clusters[0].free, "cpu"), 7000);
}

TEST(Configuration, AStrictQueueDoesNotLetSmallJobsPass) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 100'000}});
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.strategy = "StrictFIFO"})}).ok());
  const JobId first = world.Submit({.name = "first", .pods = {{3, {{"cpu", 1000}}, "main"}}})->id;
  const JobId large = world.Submit({.name = "large", .pods = {{4, {{"cpu", 1000}}, "main"}}})->id;
  const JobId small = world.Submit({.name = "small"})->id;
  world.Run();
  EXPECT_EQ(world.StateOf(large), JobState::kPending);
  EXPECT_EQ(world.StateOf(small), JobState::kPending) << "the head blocks";
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(large), JobState::kRunning);
  EXPECT_EQ(world.StateOf(small), JobState::kPending);
}

}  // namespace
}  // namespace muster::test
