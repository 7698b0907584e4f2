// What the frontend notes of requests that fail: the error itself, with its code and its sentence.
#include <gtest/gtest.h>

#include "api/rest/audited.h"
#include "api/service/audit_log.h"
#include "tests/unit/rest/api_world.h"
#include "tests/unit/rest/waiting_world.h"

namespace muster::test {
namespace {

// ApiWorld with an audit trail that keeps the rows of the frontend.
struct AuditedWorld {
  AuditedWorld() { api.service.SetAudit(&log); }
  std::vector<AuditRow> Take() {
    const std::lock_guard lock(mutex);
    return std::exchange(rows, {});
  }

  std::mutex mutex;
  std::vector<AuditRow> rows;
  FakeClock clock;
  ManualTimers timers{clock};
  api::AuditLog log{[this](AuditCommand command) {
    const std::lock_guard lock(mutex);
    for (AuditRow& row : command.rows) rows.push_back(std::move(row));
    return true;
                    },
                    clock, timers};
  ApiWorld api;
};

TEST(Audited, AFailureHasTheCodeAndTheSentenceOfItsError) {
  AuditedWorld world;
  const std::string flavors = "/apis/kueue.x-k8s.io/v1beta1/resourceflavors";
  const json::value flavor = Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ResourceFlavor",
      "metadata":{"name":"spot"}})");
  ASSERT_EQ(world.api.Post(flavors, flavor).status, 201);
  struct Case {
    const char* name;
    std::string method, path, body, headers;
    const char *verb, *code;
  };
  const std::string json_type = "Content-Type: application/json\r\n";
  for (const Case& one :
       std::vector<Case>{{"an object that exists", "POST", flavors, WriteJson(flavor), json_type,
                          "create", "ALREADY_EXISTS"},
                         {"a job that does not exist", "POST", "/v1/jobs/77:hold", "{}", json_type,
                          "hold", "NOT_FOUND"},
                         {"a body that is no document", "POST", "/v1/apply", "[", json_type,
                          "create", "INVALID_ARGUMENT"},
                         {"a body of another type", "POST", "/v1/namespaces/default/jobs", "x",
                          "Content-Type: image/png\r\n", "create", "INVALID_ARGUMENT"},
                         {"a status that nobody writes", "PUT", flavors + "/spot/status",
                          WriteJson(flavor), json_type, "update", "UNIMPLEMENTED"}}) {
    const Answer answer = world.api.Ask(one.method, one.path, one.body, one.headers);
    EXPECT_GE(answer.status, 400) << one.name;
    const std::vector<AuditRow> rows = world.Take();
    ASSERT_EQ(rows.size(), 1U) << one.name;
    EXPECT_EQ(rows[0].verb, one.verb) << one.name;
    EXPECT_EQ(rows[0].object, one.path) << one.name;
    EXPECT_EQ(rows[0].result, kAuditFailed) << one.name;
    EXPECT_EQ(rows[0].code, one.code) << one.name;
    const json::value body = Json(answer.body);
    const char* key = body.as_object().contains("detail") ? "detail" : "message";
    EXPECT_EQ(rows[0].detail, std::string_view(body.at(key).as_string())) << one.name;
  }
}

TEST(Audited, ATakenNameIsNotedByTheEngineAlone) {
  AuditedWorld world;
  world.api.Submit("a");
  EXPECT_EQ(world.api.Post("/v1/namespaces/default/jobs", JobManifest("a")).status, 409);
  EXPECT_EQ(world.api.Post("/apis/batch/v1/namespaces/default/jobs", JobManifest("a")).status, 409);
  EXPECT_TRUE(world.Take().empty());
}

TEST(Audited, WhatChangesNothingIsNotNoted) {
  AuditedWorld world;
  EXPECT_EQ(world.api.Get("/v1/jobs/77").status, 404);
  EXPECT_GE(world.api.Ask("POST", "/v1/apply?dryRun=true", "[").status, 400);
  EXPECT_TRUE(world.Take().empty());
}

// A transport that keeps the answer, as the connection does until it has written it.
struct KeepingExchange final : rest::Responder::Exchange {
  void Answer(rest::Responder::ResponseMaker make) override { made = std::move(make); }
  rest::Responder::ResponseMaker made;
};

TEST(Audited, AnAnswerDoesNotHoldTheExchangeThatHoldsIt) {
  WaitingWorld world;
  rest::Request request;
  request.method = rest::Method::kPost;
  request.segments = {"v1", "apply"};
  auto transport = std::make_shared<KeepingExchange>();
  const std::weak_ptr<KeepingExchange> left = transport;
  rest::Audited(world.context, {}, request,
                rest::Responder(transport))([] { return rest::Response(); });
  ASSERT_TRUE(transport->made);
  transport.reset();
  EXPECT_TRUE(left.expired()) << "a request is never let go, nor the memory that it has reserved";
}

}  // namespace
}  // namespace muster::test
