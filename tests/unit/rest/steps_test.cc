// Steps, signals and messages below /v1: what is answered, what is refused by which field, and who
// is shown what (rules B53, B54 and B36).
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

class StepsApi : public ::testing::Test {
 protected:
  // The number of a batch script, once it is admitted.
  std::string Script() {
    const Answer answer =
        api.Post("/v1/namespaces/default/jobs",
                 Json(R"({"script":"#!/bin/sh\nsrun hostname\n","queue":"queue"})"));
    MUSTER_CHECK(answer.status == 201);
    const std::string id = std::to_string(Json(answer.body).at("id").to_number<std::int64_t>());
    Until(id, JobState::kAdmitted);
    return id;
  }
  JobPtr Job(const std::string& id) {
    return api.w.world.engine->View()->jobs.Find(JobId{std::stoll(id)});
  }
  void Until(const std::string& id, JobState state) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (const JobPtr job = Job(id); job != nullptr && job->state == state) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "job " << id << " does not come to state " << static_cast<int>(state);
  }
  void Tell(const std::string& id, RemotePhase phase, std::vector<StepRecord> steps,
            MeasuredUse use = {}) {
    const JobPtr job = Job(id);
    Observation seen;
    seen.key = {job->uid, job->attempt, job->cluster};
    seen.phase = phase;
    seen.start_time = {2'000'000};
    if (phase != RemotePhase::kRunning) seen.end_time = {9'000'000};
    seen.steps = std::move(steps);
    seen.use = use;
    api.w.world.engine->Post(ObservedCommand{std::move(seen)});
    Until(id, phase == RemotePhase::kRunning ? JobState::kRunning : JobState::kSucceeded);
  }
  static StepRecord Step(std::int32_t number, StepState state) {
    StepRecord step;
    step.step = number;
    step.name = "hostname";
    step.nodes = "east";
    step.tasks = 2;
    step.state = state;
    step.start_time = {3'000'000};
    if (state != StepState::kRunning) step.end_time = {4'500'000};
    step.use = {7, 8, 9, 10, 11};
    return step;
  }
  json::array Items(const std::string& path) {
    const Answer answer = api.Get(path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json(answer.body).at("items").as_array();
  }
  // The field that a refusal names first.
  std::string FieldOf(const Answer& answer) {
    EXPECT_EQ(answer.status, 400) << answer.body;
    return std::string(Json(answer.body).at("errors").at(0).at("field").as_string());
  }
  static std::string DetailOf(const Answer& answer) {
    return std::string(Json(answer.body).at("detail").as_string());
  }

  ApiWorld api;
};

TEST_F(StepsApi, TheStepsOfAJobAndOfSeveral) {
  const std::string first = Script(), second = Script(), third = Script();
  Tell(first, RemotePhase::kRunning, {Step(1, StepState::kRunning), Step(0, StepState::kFailed)});
  Tell(second, RemotePhase::kRunning, {Step(0, StepState::kOutOfMemory)});
  const json::array items = Items("/v1/jobs/" + first + "/steps");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0], Json(R"({"job":)" + first +
                           R"(,"attempt":1,"step":0,"name":"hostname","nodes":"east",
      "nodeCount":1,"tasks":2,"cpus":1,"state":"FAILED","startTime":"1970-01-01T00:00:03.000000Z",
      "endTime":"1970-01-01T00:00:04.500000Z","exitCode":0,"exitSignal":0,"use":{"userCpuUs":7,
      "systemCpuUs":8,"maxRssBytes":9,"readBytes":10,"writtenBytes":11}})"));
  EXPECT_EQ(items[1].at("state"), "RUNNING");
  EXPECT_TRUE(items[1].at("endTime").is_null());
  EXPECT_EQ(Items("/v1/jobs/" + third + "/steps").size(), 0U);
  EXPECT_EQ(api.Get("/v1/jobs/999/steps").status, 404);
  // Repeated or with commas; numbers of no job are left out.
  EXPECT_EQ(Items("/v1/steps?job=" + second + "&job=" + first + "&job=999").size(), 3U);
  EXPECT_EQ(Items("/v1/steps?job=" + second + "," + first)[2].at("state"), "OUT_OF_MEMORY");
  EXPECT_EQ(Items("/v1/steps?job=999").size(), 0U);
}

TEST_F(StepsApi, PagesOfSteps) {
  const std::string id = Script();
  std::vector<StepRecord> steps;
  for (std::int32_t number = 0; number < 5; ++number)
    steps.push_back(Step(number, StepState::kCompleted));
  Tell(id, RemotePhase::kRunning, steps);
  std::string token;
  std::vector<std::int64_t> numbers;
  int pages = 0;
  do {
    const json::value page = Json(
        api.Get("/v1/steps?job=" + id + "&limit=2" + (token.empty() ? "" : "&page_token=" + token))
            .body);
    for (const json::value& item : page.at("items").as_array())
      numbers.push_back(item.at("step").as_int64());
    token = std::string(page.at("next_page_token").as_string());
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(pages, 3);
  for (const char* bad : {"x", "after-", "after-1.2", "after-1.2.3.4", "after--1.2.3", "after-1"})
    EXPECT_EQ(FieldOf(api.Get("/v1/jobs/" + id + "/steps?page_token=" + bad)), "page_token") << bad;
}

TEST_F(StepsApi, BadListsOfSteps) {
  EXPECT_EQ(FieldOf(api.Get("/v1/steps")), "job");
  EXPECT_EQ(FieldOf(api.Get("/v1/steps?job=")), "job");
  EXPECT_EQ(FieldOf(api.Get("/v1/steps?job=7_1")), "job");
  EXPECT_EQ(FieldOf(api.Get("/v1/steps?job=-3")), "job");
  EXPECT_EQ(FieldOf(api.Get("/v1/steps?job=1&limit=0")), "limit");
  EXPECT_EQ(FieldOf(api.Get("/v1/steps?job=1&limit=1&limit=2")), "limit");
  EXPECT_EQ(FieldOf(api.Get("/v1/steps?job=1&jobs=2")), "jobs");
  std::string many = "/v1/steps?job=1";
  for (int id = 2; id <= 501; ++id) many += "," + std::to_string(id);
  EXPECT_EQ(FieldOf(api.Get(many)), "job");
}

TEST_F(StepsApi, MeasuredUseIsInTheAccounting) {
  const std::string id = Script();
  Tell(id, RemotePhase::kRunning, {}, {1000, 200, 4096, 0, 5});
  Tell(id, RemotePhase::kSucceeded, {}, {2000, 300, 4096, 1, 5});
  const json::array items = Items("/v1/accounting?ids=" + id);
  EXPECT_EQ(items[0].at("attempts").at(0).at("use"),
            Json(R"({"userCpuUs":2000,"systemCpuUs":300,"maxRssBytes":4096,"readBytes":1,
                     "writtenBytes":5})"));
}

TEST_F(StepsApi, JobsAreListedByTheirIds) {
  const std::string first = Script(), second = Script(), third = Script();
  Tell(second, RemotePhase::kRunning, {});
  Tell(second, RemotePhase::kSucceeded, {});
  const json::array items =
      Items("/v1/jobs?id=" + third + "&id=" + second + "&id=999&id=" + second + "&fields=id");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(std::to_string(items[0].at("id").as_int64()), second);
  EXPECT_EQ(std::to_string(items[1].at("id").as_int64()), third);
  EXPECT_EQ(Items("/v1/jobs?id=" + first + "," + second + "&state=Succeeded").size(), 1U);
  EXPECT_EQ(Items("/v1/jobs?id=999").size(), 0U);
  EXPECT_EQ(FieldOf(api.Get("/v1/jobs?id=")), "id") << "no id is not every id";
  EXPECT_EQ(FieldOf(api.Get("/v1/jobs?id=7_2")), "id");
  // Pages of them.
  const json::value page = Json(api.Get("/v1/jobs?limit=1&id=" + first + "," + third).body);
  EXPECT_EQ(std::to_string(page.at("items").at(0).at("id").as_int64()), first);
  const std::string token(page.at("next_page_token").as_string());
  EXPECT_EQ(Items("/v1/jobs?limit=1&id=" + first + "," + third + "&page_token=" + token).size(),
            1U);
}

TEST_F(StepsApi, JobsThatEndedSince) {
  const std::string ended = Script(), running = Script();
  Tell(ended, RemotePhase::kRunning, {});
  Tell(ended, RemotePhase::kSucceeded, {});
  const WallTime end = Job(ended)->end_time;
  const std::string at = FormatRfc3339Micros(end), later = FormatRfc3339Micros(end.Plus(1));
  EXPECT_EQ(Items("/v1/jobs?since=" + at).size(), 2U);
  EXPECT_EQ(Items("/v1/jobs?since=" + later).size(), 1U) << "and those that have not ended";
  EXPECT_EQ(Items("/v1/jobs?state=Succeeded&since=" + later).size(), 0U);
  EXPECT_EQ(Items("/v1/jobs?since=" + later + "&id=" + ended).size(), 0U);
  EXPECT_EQ(FieldOf(api.Get("/v1/jobs?since=yesterday")), "since");
}

TEST_F(StepsApi, SignalsAreReadStrictly) {
  const std::string id = Script();
  Tell(id, RemotePhase::kRunning, {});
  const std::string path = "/v1/jobs/" + id + ":signal";
  const auto field = [&](const std::string& body) { return FieldOf(api.Post(path, Json(body))); };
  EXPECT_EQ(field(R"({})"), "signal");
  EXPECT_EQ(field(R"({"signal":"HUGO"})"), "signal");
  EXPECT_EQ(field(R"({"signal":"0"})"), "signal");
  EXPECT_EQ(field(R"({"signal":65})"), "signal");
  EXPECT_EQ(field(R"({"signal":-9})"), "signal");
  EXPECT_EQ(field(R"({"signal":true})"), "signal");
  EXPECT_EQ(field(R"({"signal":"USR1","target":"all"})"), "target");
  EXPECT_EQ(field(R"({"signal":"USR1","step":0})"), "step");
  EXPECT_EQ(field(R"({"signal":"USR1","target":"step"})"), "step");
  EXPECT_EQ(field(R"({"signal":"USR1","target":"step","step":-1})"), "step");
  EXPECT_EQ(field(R"({"signal":"USR1","full":true})"), "full");
  EXPECT_EQ(FieldOf(api.Post("/v1/jobs/" + id + ":notify", Json(R"({})"))), "message");
  EXPECT_EQ(FieldOf(api.Post("/v1/jobs/" + id + ":notify", Json(R"({"message":""})"))), "message");
  EXPECT_EQ(FieldOf(api.Post("/v1/jobs/" + id + ":notify",
                             json::object{{"message", std::string(1025, 'x')}})),
            "message");
}

TEST_F(StepsApi, ASignalWhereThereIsNoSuchCallOrNoSuchJob) {
  const std::string id = Script();
  const json::value usr1 = Json(R"({"signal":"SIGUSR1"})");
  const Answer waits = api.Post("/v1/jobs/" + id + ":signal", usr1);
  EXPECT_EQ(waits.status, 409) << waits.body;
  EXPECT_EQ(DetailOf(waits), "job " + id + " does not run yet (Admitted)");
  Tell(id, RemotePhase::kRunning, {});
  const Answer answer = api.Post("/v1/jobs/" + id + ":signal", usr1);
  EXPECT_EQ(answer.status, 501) << answer.body;
  EXPECT_EQ(DetailOf(answer), "jobs of this member cannot be sent signals");
  EXPECT_EQ(api.Post("/v1/jobs/" + id + ":notify", Json(R"({"message":"hi"})")).status, 501);
  Tell(id, RemotePhase::kSucceeded, {});
  const Answer ended = api.Post("/v1/jobs/" + id + ":notify", Json(R"({"message":"hi"})"));
  EXPECT_EQ(DetailOf(ended), "job " + id + " has ended (Succeeded)");
  EXPECT_EQ(ended.status, 409);
  EXPECT_EQ(api.Post("/v1/jobs/999:signal", usr1).status, 404);
}

}  // namespace
}  // namespace muster::test
