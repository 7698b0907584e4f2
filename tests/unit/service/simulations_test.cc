#include "api/service/simulations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "schedd/base/limits.h"

namespace muster::api {
namespace {

constexpr const char* kQueue = R"([
  {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "default"}},
  {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "main"},
   "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "default",
     "resources": [{"name": "cpu", "nominalQuota": 2}]}]}]}},
  {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "default"},
   "spec": {"clusterQueue": "main"}},
  {"apiVersion": "batch/v1", "kind": "Job",
   "metadata": {"name": "wide", "annotations": {"muster.io/run-time": "1m"}},
   "spec": {"parallelism": 3, "completions": 3, "template": {"spec": {"restartPolicy": "Never",
     "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": 1}}}]}}}}])";

class SimulationsTest : public ::testing::Test {
 protected:
  SimulationsTest() {
    view_.config = std::make_shared<const ConfigView>();
    view_.settings = std::make_shared<const AdmissionSettings>();
    view_.ready = true;
  }
  Result<json::value> Ask(json::object request) {
    if (!request.contains("documents")) request["documents"] = json::parse(kQueue);
    return simulations_.Run(view_, request);
  }
  json::object Answer(json::object request) {
    const auto answer = Ask(std::move(request));
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().detail);
    return answer.ok() ? answer->as_object() : json::object();
  }
  Error Refusal(json::object request) {
    const auto answer = Ask(std::move(request));
    EXPECT_FALSE(answer.ok());
    return answer.ok() ? InvalidArgument("") : answer.error();
  }

  WorldView view_;
  Simulations simulations_;
};

TEST_F(SimulationsTest, AnswersWithDecisionsSummaryAndWhoStillWaits) {
  const json::object answer = Answer({});
  EXPECT_TRUE(answer.at("decisions").as_array().empty());
  ASSERT_EQ(answer.at("waiting").as_array().size(), 1u);
  EXPECT_EQ(answer.at("waiting").at(0).at("reason").as_string(), "ExceedsMaxQuota");
  EXPECT_EQ(answer.at("summary").at("jobs").at("waiting").to_number<int>(), 1);
}

TEST_F(SimulationsTest, EditsAnswerWhatIfBesideHowItIs) {
  const json::object request{{"set", {"clusterqueue/main:default/cpu=+1"}}};
  const json::object edited = Answer(request);
  ASSERT_EQ(edited.at("decisions").as_array().size(), 2u);
  EXPECT_EQ(edited.at("decisions").at(1).at("at").to_number<double>(), 60);
  json::object compare = request;
  compare["compare"] = true;
  const json::object both = Answer(compare);
  EXPECT_EQ(both.at("asIs").at("jobs").at("finished").to_number<int>(), 0);
  EXPECT_EQ(both.at("summary"), edited.at("summary"));
  EXPECT_FALSE(both.contains("decisions"));
}

TEST_F(SimulationsTest, StartsFromTheServersObjectsWhereAsked) {
  const json::array all = json::parse(kQueue).as_array();
  const json::array job = {all.back()};
  const Error alone = Refusal({{"documents", job}});
  ASSERT_EQ(alone.fields.size(), 1u);
  EXPECT_TRUE(alone.fields[0].field.starts_with("documents[0]")) << alone.fields[0].field;
  view_.ready = false;
  EXPECT_EQ(Refusal({{"documents", job}, {"current", true}}).code, Code::kUnavailable);
}

TEST_F(SimulationsTest, ATraceIsRunByItsRules) {
  const json::object trace{{"trace", "1 0 -1 60 2 -1 -1 2 30 -1 1 7 -1 -1 0 -1 -1 -1\n"},
                           {"queueBy", "user"},
                           {"queues", {{"7", "default/default"}}}};
  const json::object answer = Answer({{"swf", trace}});
  EXPECT_EQ(answer.at("summary").at("jobs").at("timedOut").to_number<int>(), 1);
  json::object unmapped = trace;
  unmapped.erase("queues");
  const Error refusal = Refusal({{"swf", unmapped}});
  ASSERT_EQ(refusal.fields.size(), 1u);
  EXPECT_EQ(refusal.fields[0].field, "swf");
}

TEST_F(SimulationsTest, EveryWrongFieldIsNamed) {
  const Error error = Refusal({{"until", "soon"}, {"sett", 1}, {"compare", true}});
  std::vector<std::string> fields;
  for (const FieldError& one : error.fields) fields.push_back(one.field);
  std::sort(fields.begin(), fields.end());
  EXPECT_EQ(fields, (std::vector<std::string>{"compare", "sett", "until"}));
  EXPECT_EQ(Refusal({{"documents", json::array()}}).detail, "there is no job to simulate");
  EXPECT_EQ(Refusal({{"set", {"nonsense"}}}).fields.at(0).field, "set");
}

TEST_F(SimulationsTest, WhatIsBeyondALimitIsRefusedWithTheNumber) {
  std::string trace;
  for (std::size_t i = 0; i <= limits::kSimulateJobs; ++i)
    trace += std::to_string(i) + " 0 -1 1 1 -1 -1 1 -1 -1 1 1 -1 -1 0 -1 -1 -1\n";
  const Error error = Refusal({{"swf", {{"trace", trace}, {"queue", "default/default"}}}});
  EXPECT_NE(error.detail.find("more than 20000 jobs"), std::string::npos) << error.detail;
}

// Two threads ask until one of them is refused because the other's simulation is running.
TEST_F(SimulationsTest, TheyRunOneAtATime_WhoeverComesMeanwhileIsToldWhenToComeAgain) {
  std::atomic<bool> met = false;
  std::vector<Error> refusals(2);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  const auto ask = [&](Error* refusal) {
    while (!met && std::chrono::steady_clock::now() < give_up) {
      const auto answer = Ask({});
      if (answer.ok()) continue;
      *refusal = answer.error();
      met = true;
    }
  };
  std::thread other(ask, &refusals[0]);
  ask(&refusals[1]);
  other.join();
  ASSERT_TRUE(met);
  for (const Error& refusal : refusals) {
    if (refusal.detail.empty()) continue;  // its simulation ran
    EXPECT_EQ(refusal.code, Code::kResourceExhausted) << "429 over REST";
    EXPECT_EQ(refusal.detail, "another simulation is running; they run one at a time");
    EXPECT_EQ(refusal.retry_after_ms, limits::kSimulateRetryMs);
  }
  EXPECT_FALSE(Ask({{"set", {"nonsense"}}}).ok());
  // After a refusal the place is free again.
  Answer({});
}

}  // namespace
}  // namespace muster::api
