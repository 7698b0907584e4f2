// How a log ends: in good order only if all of it was sent.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

class LogEnd : public ::testing::Test {
 protected:
  JobPtr Job(const std::string& id) {
    return api.w.world.engine->View()->jobs.Find(JobId{std::stoll(id)});
  }
  void Await(const std::string& id, JobState state) {
    for (int tries = 0; tries < 12'000; ++tries) {
      if (const JobPtr job = Job(id); job != nullptr && job->state == state) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "job " << id << " does not come to state " << static_cast<int>(state);
  }
  void EndJob(const std::string& id) {
    const JobPtr job = Job(id);
    Observation seen;
    seen.key = {job->uid, job->attempt, job->cluster};
    seen.phase = RemotePhase::kSucceeded;
    seen.start_time = {2'000'000};
    seen.end_time = {9'000'000};
    api.w.world.engine->Post(ObservedCommand{std::move(seen)});
    Await(id, JobState::kSucceeded);
  }

  ApiWorld api;
};

TEST_F(LogEnd, AFollowedLogEndsInGoodOrderOnlyIfItIsWhole) {
  const struct {
    const char* what;
    Error error;
    bool whole;
  } kCases[] = {
      {"the member does not answer", Unavailable("it is away"), false},
      {"its pod is gone", NotFound("there is no such pod"), false},
      {"its container never began", Error{Code::kFailedPrecondition, "it waits to start"}, true},
  };
  api.backend.Append("first\n");
  int number = 0;
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.what);
    api.backend.FailFrom(1000, one.error);
    const std::string id = api.Submit("train" + std::to_string(number++));
    Await(id, JobState::kAdmitted);
    RawClient client(api.server.port());
    client.Send("GET /v1/jobs/" + id + "/logs?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_TRUE(client.ReadUntil("first\n"));
    client.buffer().clear();
    EndJob(id);
    api.backend.FailFrom(0, one.error);
    EXPECT_EQ(client.ReadUntil("0\r\n\r\n"), one.whole) << "the last chunk says that all was sent";
    if (!one.whole) {
      EXPECT_TRUE(client.Closed()) << "a client that waits for more would not see it";
    }
  }
}

TEST_F(LogEnd, AWholeLogThatBreaksOffIsCutBehindWhatWasRead) {
  const std::string id = api.Submit("train");
  Await(id, JobState::kAdmitted);
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += "line " + std::to_string(i) + "\n";
  api.backend.Append(text, true);
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/logs").body, text);
  api.backend.FailFrom(500'000, Unavailable("it is away"));
  const Answer broken = api.Get("/v1/jobs/" + id + "/logs");
  EXPECT_EQ(broken.status, -1) << "the last chunk is missing";
  EXPECT_EQ(broken.body, text.substr(0, 2 * 262'144)) << "all that was read has come";
}

}  // namespace
}  // namespace muster::test
