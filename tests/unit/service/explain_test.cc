// Explain through the service: the estimate of the start on a real engine's view, and its JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/service/explain_json.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kHour = 3600;

class ExplainService : public ::testing::Test {
 protected:
  // A job of `cpu`, with a time limit unless it is 0; the queue has 4.
  JobId Submit(const std::string& name, const std::string& cpu, std::int64_t limit_s) {
    json::value manifest = JobManifest(name, "queue", cpu);
    if (limit_s > 0) manifest.at("spec").as_object()["activeDeadlineSeconds"] = limit_s;
    const auto submitted = w.Submit(std::move(manifest));
    MUSTER_CHECK(submitted.ok());
    w.world.Run();
    w.world.clock.Advance(1000);  // each has a time of its own
    return submitted->job->id;
  }
  // A batch script of one CPU and ten minutes, with further directives.
  JobId Script(const std::string& directives, const std::string& begin = "") {
    json::object body{{"script", "#!/bin/sh\n#SBATCH -t 10\n" + directives + "true\n"},
                      {"queue", "queue"}};
    if (!begin.empty()) body["begin"] = begin;
    const auto submitted = w.Submit(std::move(body));
    MUSTER_CHECK(submitted.ok());
    w.world.Run();
    return submitted->job->id;
  }
  api::JobExplanation Explain(JobId id) {
    const auto explained = w.service.Explain(w.alice, std::to_string(id.value));
    MUSTER_CHECK(explained.ok());
    return *explained;
  }
  WallTime StartOf(JobId id) { return w.world.Job(id)->start_time; }
  static WallTime After(WallTime from, std::int64_t seconds) {
    return {from.us + seconds * kMicrosPerSecond};
  }
  ServiceWorld w;
};

TEST_F(ExplainService, StartIsEstimated_ThoughTheMachinesAreFullNow) {
  const JobId running = Submit("running", "4", kHour);
  ClusterFacts facts;
  facts.cluster = "east";
  facts.allocatable = {{"cpu", 8000}};
  facts.used_by_others = {{"cpu", 4000}};
  facts.machines = std::make_shared<MachineGroups>(MachineGroups{{{}, {}, {{"cpu", 0}}, 2}});
  w.world.engine->Post(FactsCommand{facts});
  const JobId waiting = Submit("waiting", "4", 0);
  const api::StartEstimate start = Explain(waiting).start;
  ASSERT_TRUE(start.latest.has_value()) << start.text;
  EXPECT_EQ(*start.latest, After(StartOf(running), kHour));
}

TEST_F(ExplainService, StartsAtTheLatest_WhenTheJobBeforeItHasUsedUpItsTime) {
  const JobId running = Submit("running", "4", kHour);
  const JobId waiting = Submit("waiting", "4", 0);
  ASSERT_EQ(w.world.StateOf(running), JobState::kRunning);
  const api::StartEstimate start = Explain(waiting).start;
  ASSERT_TRUE(start.latest.has_value()) << start.text;
  EXPECT_EQ(*start.latest, After(StartOf(running), kHour));
  EXPECT_THAT(start.text, HasSubstr("when job 1 (default/running) has ended"));
  EXPECT_THAT(start.assumptions, SizeIs(3));
}

TEST_F(ExplainService, ThoseThatWaitBeforeIt_TakeTheirTimeToo) {
  const JobId running = Submit("running", "4", kHour);
  Submit("first", "4", 2 * kHour);
  const JobId second = Submit("second", "4", 0);
  const api::StartEstimate start = Explain(second).start;
  ASSERT_TRUE(start.latest.has_value()) << start.text;
  EXPECT_EQ(*start.latest, After(StartOf(running), 3 * kHour));
}

TEST_F(ExplainService, WithoutALimitOfTheJobInTheWay_ItIsUnknown_AndTheJobIsNamed) {
  const JobId running = Submit("running", "4", 0);
  const api::StartEstimate start = Explain(Submit("waiting", "1", kHour)).start;
  EXPECT_FALSE(start.latest.has_value());
  EXPECT_EQ(start.text,
            "unknown: job 1 (default/running) declares no time limit and may hold what it needs "
            "for ever");
  ASSERT_THAT(start.without_limit, SizeIs(1));
  EXPECT_EQ(start.without_limit[0]->id, running);
}

TEST_F(ExplainService, WaitingJobWithoutALimit_IsNamedOnceItIsWhatBlocks) {
  Submit("running", "4", kHour);
  const JobId endless = Submit("endless", "4", 0);
  const api::StartEstimate start = Explain(Submit("last", "4", kHour)).start;
  EXPECT_FALSE(start.latest.has_value());
  ASSERT_THAT(start.without_limit, SizeIs(1));
  EXPECT_EQ(start.without_limit[0]->id, endless);
}

TEST_F(ExplainService, JobBesideOneWithoutALimit_WaitsOnlyForTheOther) {
  Submit("endless", "2", 0);
  const JobId limited = Submit("limited", "2", kHour);
  const api::StartEstimate start = Explain(Submit("waiting", "2", 0)).start;
  ASSERT_TRUE(start.latest.has_value()) << start.text;
  EXPECT_EQ(*start.latest, After(StartOf(limited), kHour));
}

TEST_F(ExplainService, WhatCanNeverStart_HasNoEstimate) {
  const api::StartEstimate start = Explain(Submit("huge", "40", 0)).start;
  EXPECT_FALSE(start.latest.has_value());
  EXPECT_EQ(start.text, "unknown: not as things are, whatever ends");
}

TEST_F(ExplainService, WhatWaitsForAnotherJob_SaysForWhich_AndIsInNobodysWay) {
  Submit("running", "1", kHour);
  const JobId dependent = Script("#SBATCH -d afterok:1\n");
  const api::JobExplanation explained = Explain(dependent);
  EXPECT_EQ(explained.why.reason, "Dependency");
  EXPECT_EQ(explained.why.summary, "It depends on jobs that have not come that far");
  EXPECT_THAT(explained.why.would_help, ElementsAre("what it depends on: afterok:1(unfulfilled)"));
  EXPECT_EQ(explained.why.place.position, 0u);
  EXPECT_FALSE(explained.start.latest.has_value());
  EXPECT_EQ(explained.start.text, "unknown: it depends on jobs that have not come that far");
  const JobId waiting = Submit("waiting", "4", 0);
  EXPECT_EQ(Explain(waiting).why.place.position, 1u);
  EXPECT_EQ(Explain(waiting).why.place.waiting, 1u);
}

TEST_F(ExplainService, WhatMayNotBeginYet_StartsThenOrLater) {
  const JobId running = Submit("running", "4", kHour);
  const std::string soon = FormatRfc3339(After(StartOf(running), kHour / 2)),
                    later = FormatRfc3339(After(StartOf(running), 2 * kHour));
  EXPECT_EQ(*Explain(Script("", soon)).start.latest, After(StartOf(running), kHour));
  const api::JobExplanation explained = Explain(Script("", later));
  EXPECT_EQ(explained.why.reason, "BeginTime");
  EXPECT_EQ(explained.why.summary, "It is to begin at " + later + ", not before");
  EXPECT_EQ(*explained.start.latest, After(StartOf(running), 2 * kHour));
  EXPECT_EQ(explained.start.text, "at " + later + ": nothing has to end before it");
}

TEST_F(ExplainService, WhatWasRequeued_BacksOff_AndStartsWhenThatIsOver) {
  const auto applied = w.world.Apply({WithAnnotation(
      ClusterQueueObject({.nominal = {{"cpu", 4000}}}), "muster.io/requeue-wait", "2m")});
  ASSERT_TRUE(applied.ok());
  const JobId job = Script("");
  ASSERT_TRUE(w.world.Do(JobVerb::kRequeue, job).ok());
  w.world.Run();
  const api::JobExplanation explained = Explain(job);
  EXPECT_EQ(explained.why.reason, "Backoff");
  EXPECT_THAT(explained.why.summary, HasSubstr("is not tried again before "));
  EXPECT_EQ(explained.start.latest, core::HeldBackUntil(*w.world.Job(job)));
}

TEST_F(ExplainService, TheRestOfAnArrayWaitsForItsTaskLimit) {
  const JobId array = Script("#SBATCH -a 0-8%1\n");
  const api::JobExplanation explained = Explain(array);
  EXPECT_EQ(explained.why.reason, "ArrayTaskLimit");
  EXPECT_EQ(explained.why.summary, "Only 1 task of the array runs at once (%1)");
  EXPECT_FALSE(explained.start.latest.has_value());
}

TEST_F(ExplainService, Json_HasTheNumbers_AndIsTheSameEachTime) {
  Submit("running", "3", kHour);
  const JobId waiting = Submit("waiting", "2", 0);
  const json::object answer = api::ExplanationJson(Explain(waiting));
  EXPECT_EQ(answer.at("reason"), "WaitingForQuota");
  EXPECT_EQ(answer.at("position"), 1);
  EXPECT_EQ(answer.at("job").at("name"), "waiting");
  const json::value& flavor = answer.at("flavors").at(0);
  EXPECT_EQ(flavor.at("requested"), "2");
  EXPECT_EQ(flavor.at("available"), "1");
  EXPECT_EQ(flavor.at("missing"), "1");
  EXPECT_EQ(answer.at("preemption").at("heldBy").at(0).at("clusterQueue"), "cq");
  EXPECT_FALSE(answer.at("estimatedStart").at("latest").is_null());
  EXPECT_EQ(WriteJson(json::value(answer)),
            WriteJson(json::value(api::ExplanationJson(Explain(waiting)))));
}

TEST_F(ExplainService, RunningJob_HasNeitherPlaceNorEstimate) {
  const json::object answer = api::ExplanationJson(Explain(Submit("running", "1", 0)));
  EXPECT_EQ(answer.at("state"), "Running");
  EXPECT_EQ(answer.at("position"), 0);
  EXPECT_TRUE(answer.at("estimatedStart").is_null());
  EXPECT_TRUE(answer.at("preemption").is_null());
  EXPECT_EQ(answer.at("flavors").at(0).at("chosen"), true);
}

}  // namespace
}  // namespace muster::test
