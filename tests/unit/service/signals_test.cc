// Signals and messages to running jobs, and steps, at the level of the service: what the member is
// asked, what is noted, and that foreign jobs are answered as missing ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "api/service/signal_name.h"
#include "api/service/signals.h"
#include "api/service/steps.h"
#include "backends/simulated/simulated_backend.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

// Notes what is done, as "VERB OBJECT DETAIL"; refuses to while it is full.
class ActsSink final : public auth::AuditSink {
 public:
  void Refused(const auth::Principal&, std::string_view, const auth::ResourceRef&,
               const Error&) override {}
  void Failed(const auth::Principal&, std::string_view, std::string_view, const Error&) override {}
  Status Read(const auth::Principal&, auth::Verb, const auth::ResourceRef&) override {
    return Done{};
  }
  Status Acts(const auth::Principal& who, std::string_view verb, std::string_view object,
              std::string detail) override {
    if (full) return Overloaded("full", 1);
    noted.push_back(who.user + " " + std::string(verb) + " " + std::string(object) + " " + detail);
    return Done{};
  }
  bool full = false;
  std::vector<std::string> noted;
};

// A simulated member that runs what the engine's own fake members run.
class SignalsWorld : public ::testing::Test {
 protected:
  SignalsWorld()
      : timers(w.world.clock),
        backend(w.world.clock, timers, {{{"east", {{"cpu", 4000}}}}, 3'600'000, 0}),
        service(*w.world.engine, w.world.store, w.world.random, w.authorizer,
                [this](const std::string&) { return &backend; }) {
    service.SetAudit(&sink);
    job = w.Submit(JobManifest("train"))->job;
    id = std::to_string(job->id.value);
  }
  // On both.
  void Start() {
    w.world.Run();
    DispatchOrder order;
    order.key = w.world.KeyOf(job->id);
    order.pod_sets = {{"main", 1, {}, {}}};
    backend.Ensure(order, [](Result<RemoteRef>) {});
  }
  std::string Sent() { return (*backend.Pods(w.world.KeyOf(job->id)))[0].message; }
  Error Signal(const SignalOrder& order, const std::string& of) {
    std::optional<Result<JobPtr>> answer;
    api::SignalJob(service, w.alice, of, order, [&](Result<JobPtr> result) { answer = result; });
    MUSTER_CHECK(answer.has_value());
    return answer->ok() ? Error{Code::kOk, ""} : answer->error();
  }
  Error Notify(const std::string& line) {
    std::optional<Result<JobPtr>> answer;
    api::NotifyJob(service, w.alice, id, line, [&](Result<JobPtr> result) { answer = result; });
    MUSTER_CHECK(answer.has_value());
    return answer->ok() ? Error{Code::kOk, ""} : answer->error();
  }

  ServiceWorld w;
  ManualTimers timers;
  simulated::SimulatedBackend backend;
  ActsSink sink;
  SchedulerService service;
  JobPtr job;
  std::string id;
};

TEST_F(SignalsWorld, ASignalGoesToTheMemberAndIntoTheTrail) {
  EXPECT_EQ(Signal({SIGUSR1}, id).code, Code::kFailedPrecondition) << "it does not run yet";
  Start();
  EXPECT_EQ(Signal({SIGUSR1}, id).code, Code::kOk);
  EXPECT_EQ(Sent(), "signal 10");
  EXPECT_EQ(Signal({SIGTERM, SignalOrder::Target::kStep, 3}, id).code, Code::kOk);
  EXPECT_EQ(Notify("be quick\nslurmstepd: error: forged").code, Code::kOk);
  EXPECT_EQ(Sent(), "line \"be quick?slurmstepd: error: forged\"");
  EXPECT_THAT(sink.noted, testing::ElementsAre(
                              "alice signal job/default/train USR1 to its steps",
                              "alice signal job/default/train TERM to step 3",
                              "alice notify job/default/train be quick?slurmstepd: error: forged"));
}

TEST_F(SignalsWorld, WhatCannotBeNotedIsNotSent) {
  Start();
  sink.full = true;
  EXPECT_EQ(Signal({SIGUSR1}, id).code, Code::kResourceExhausted);
  EXPECT_EQ(Notify("hello").code, Code::kResourceExhausted);
  EXPECT_EQ(Sent(), "");
}

TEST_F(SignalsWorld, AnAttemptThatIsGoneOnItsMemberIsAConflictAndNotAMissingJob) {
  w.world.Run();
  const Error gone = Signal({SIGUSR1}, id);
  EXPECT_EQ(gone.code, Code::kFailedPrecondition);
  EXPECT_EQ(gone.detail, "job " + id + " does not run on its member any more");
}

TEST_F(SignalsWorld, WhoMaySeeNoJobIsToldOfNone) {
  Start();
  w.authorizer.refused_user = "alice";
  EXPECT_EQ(Signal({SIGUSR1}, id).code, Code::kNotFound);
  EXPECT_EQ(Notify("hello").code, Code::kNotFound);
  EXPECT_EQ(api::JobSteps(service, w.alice, id, "", 0).error().code, Code::kNotFound);
  const auto steps = api::StepsOf(service, w.alice, {job->id}, "", 0);
  ASSERT_TRUE(steps.ok());
  EXPECT_TRUE(steps->items.empty());
  EXPECT_TRUE(sink.noted.empty());
}

TEST(SignalNames, NamesAndNumbers) {
  for (const auto& [text, number] :
       std::initializer_list<std::pair<std::string, int>>{{"USR1", SIGUSR1},
                                                          {"SIGUSR1", SIGUSR1},
                                                          {"sigusr2", SIGUSR2},
                                                          {"Kill", SIGKILL},
                                                          {"9", SIGKILL},
                                                          {"CLD", SIGCHLD},
                                                          {"RTMIN", SIGRTMIN},
                                                          {"SIGRTMIN+2", SIGRTMIN + 2},
                                                          {"RTMAX-1", SIGRTMAX - 1},
                                                          {"64", 64}}) {
    const Result<int> read = api::SignalOf(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, number) << text;
  }
  for (const char* bad : {"", "SIG", "0", "65", "-1", "+9", "9 ", "SIG9", "USR3", "RTMIN-1",
                          "RTMIN+99", "RTMAX+1", "RTMIN+-1", "SIGSIGTERM"}) {
    const Result<int> read = api::SignalOf(bad);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(FieldsOf(read.error()), "signal") << bad;
  }
  EXPECT_EQ(api::SignalName(SIGABRT), "ABRT");
  EXPECT_EQ(api::SignalName(50), "50");
}

}  // namespace
}  // namespace muster::test
