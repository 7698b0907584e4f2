// The effects of LimitRanges and RuntimeClasses on waiting jobs, at submission and when they
// change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/shapes/kinds/preparation.h"
#include "schedd/text/json.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

constexpr const char* kAboveMax =
    "resources didn't satisfy LimitRange constraints: "
    "spec.podSets[0].template.spec.containers[0]: Invalid value: [\"cpu\"]: requests must not be "
    "above the limitRange max";

ObjectChange LimitRangeObject(const std::string& item) {
  ObjectChange change;
  change.kind = ObjectKind::kLimitRange;
  change.ns = "default";
  change.name = "bounds";
  change.manifest = R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"bounds",)"
                    R"("namespace":"default"},"spec":{"limits":[)" +
                    item + "]}}";
  return change;
}

ObjectChange MaxCpu(const std::string& cpu) {
  return LimitRangeObject(R"({"type":"Container","max":{"cpu":")" + cpu + "\"}}");
}

// Submits a job as the service does: its requests are prepared with the configuration that the
// engine shows.
JobId Enter(EngineWorld* world, const std::string& name, const std::string& requests) {
  Submission submission = MakeSubmission({.name = name});
  json::value manifest = *ParseJson(submission.manifest);
  json::object& pod = manifest.at("spec").at("template").at("spec").as_object();
  pod["containers"].at(0).as_object()["resources"] =
      json::object{{"requests", *ParseJson(requests)}, {"limits", *ParseJson(requests)}};
  auto parsed = shapes::ParseJob(manifest);
  MUSTER_CHECK(parsed.ok());
  const ConfigPtr config = world->engine->View()->config;
  const std::string problem = shapes::PrepareRequests(*config, {}, "default", &*parsed);
  submission.draft->pod_sets = std::make_shared<const PodSets>(parsed->pod_sets);
  if (!problem.empty()) {
    ChangeState(submission.draft.get(),
                [&](AdmissionState* state) { state->resource_problem = problem; });
  }
  submission.manifest = WriteJson(manifest);
  submission.config_version = config->version;
  JobId id;
  SubmitCommand command;
  command.jobs.push_back(std::move(submission));
  command.done = [&id](Result<std::vector<Result<SubmittedJob>>> result) {
    id = (*result)[0]->job->id;
  };
  MUSTER_CHECK(world->engine->Post(std::move(command)));
  world->Settle();
  return id;
}

TEST(ResourceChecks, AJobOutsideItsLimitRangeWaitsWithKueuesSentenceUntilTheRangeFits) {
  EngineWorld world;
  world.Declare({{"cpu", 8000}}, {{"cpu", 8000}});
  ASSERT_TRUE(world.Apply({MaxCpu("2")}).ok());
  const JobId wide = Enter(&world, "wide", R"({"cpu":"3"})");
  const JobId narrow = Enter(&world, "narrow", R"({"cpu":"1"})");
  world.Run();
  EXPECT_EQ(world.StateOf(narrow), JobState::kRunning);
  EXPECT_EQ(world.StateOf(wide), JobState::kPending);
  EXPECT_EQ(world.Job(wide)->reason, Reason::kMisconfigured);
  EXPECT_EQ(world.Job(wide)->message, kAboveMax);
  world.Restart();
  world.Run();
  EXPECT_EQ(world.Job(wide)->message, kAboveMax);
  ASSERT_TRUE(world.Apply({MaxCpu("4")}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(wide), JobState::kRunning);
}

TEST(ResourceChecks, ATighterRangeHoldsWhatWaitsAndNotWhatRuns) {
  for (const bool restarted : {false, true}) {
    EngineWorld world;
    world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    const JobId runs = Enter(&world, "runs", R"({"cpu":"3"})");
    const JobId waits = Enter(&world, "waits", R"({"cpu":"3"})");
    world.Run();
    ASSERT_TRUE(world.Apply({MaxCpu("2")}).ok());
    if (restarted) world.Restart();
    world.members.End(world.KeyOf(runs), RemotePhase::kSucceeded);
    world.Run();
    EXPECT_EQ(world.StateOf(runs), JobState::kSucceeded);
    EXPECT_EQ(world.StateOf(waits), JobState::kPending);
    EXPECT_EQ(world.Job(waits)->message, kAboveMax);
    ASSERT_TRUE(world.Apply({Removal(ObjectKind::kLimitRange, "default", "bounds")}).ok());
    world.Run();
    EXPECT_EQ(world.StateOf(waits), JobState::kRunning);
  }
}

TEST(ResourceChecks, ADefaultThatComesLaterIsChargedAndStored) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(world.Apply({LocalQueueObject("queue", "cq", "Hold")}).ok());
  const JobId silent = Enter(&world, "silent", "{}");
  const JobId next = Enter(&world, "next", "{}");
  ASSERT_TRUE(
      world.Apply({LimitRangeObject(R"({"type":"Container","defaultRequest":{"cpu":"3"}})")}).ok());
  world.Run();
  world.Restart();
  ASSERT_TRUE(world.Apply({LocalQueueObject("queue", "cq")}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(silent), JobState::kRunning);
  EXPECT_EQ(world.StateOf(next), JobState::kPending) << "one cpu is left";
  EXPECT_EQ(world.UsedCpu(), 3000);
}

TEST(ResourceChecks, AJobThatWasMadeByAnOlderConfigurationIsMeasuredAgain) {
  EngineWorld world;
  world.Declare({{"cpu", 8000}}, {{"cpu", 8000}});
  Submission late = MakeSubmission({.name = "late"});
  late.config_version = world.engine->View()->config->version;
  json::value manifest = *ParseJson(late.manifest);
  manifest.at("spec").at("template").at("spec").at("containers").at(0).as_object()["resources"] =
      json::object{{"requests", {{"cpu", "1"}}}, {"limits", {{"cpu", "1"}}}};
  late.manifest = WriteJson(manifest);
  ASSERT_TRUE(world.Apply({MaxCpu("500m")}).ok());
  SubmitCommand command;
  command.jobs.push_back(std::move(late));
  JobId id;
  command.done = [&id](Result<std::vector<Result<SubmittedJob>>> result) {
    id = (*result)[0]->job->id;
  };
  world.engine->Post(std::move(command));
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.Job(id)->message, kAboveMax);
}

}  // namespace
}  // namespace muster::test
