// ServiceWorld: the service over a real engine on a memory store, driven on one thread.
#pragma once

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "api/service/scheduler_service.h"
#include "tests/support/allow_all.h"
#include "tests/support/engine_world.h"

namespace muster::test {

using api::DocumentOutcome;
using api::QuotaEdit;
using api::QuotaEditResult;
using api::SchedulerService;

/// Refuses the requests that a test names; allows all others.
class ListAuthorizer final : public auth::Authorizer {
 public:
  std::string refused_user;
  std::atomic<bool> refuses_all{false};  // for tests with threads
  bool Allows(const auth::Principal& who, auth::Verb, const auth::ResourceRef&) const override {
    return !refuses_all && who.user != refused_user;
  }
  bool AllowsPath(const auth::Principal& who, auth::Verb, std::string_view) const override {
    return who.user != refused_user;
  }
};

inline json::value Json(const std::string& text) {
  Result<json::value> parsed = ParseJson(text);
  if (!parsed.ok()) throw std::invalid_argument(parsed.error().detail);
  return *parsed;
}

/// A batch/v1 Job that requests `cpu`, for LocalQueue `queue` ("" for none).
inline json::value JobManifest(const std::string& name, const std::string& queue = "queue",
                               const std::string& cpu = "1") {
  json::value manifest =
      Json(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{},"spec":{"suspend":true,
    "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"busybox",
    "command":["true"],"resources":{"requests":{"cpu":"1"}}}]}}}})");
  json::object& metadata = manifest.at("metadata").as_object();
  if (!name.empty()) metadata["name"] = name;
  if (!queue.empty()) metadata["labels"] = json::object{{"kueue.x-k8s.io/queue-name", queue}};
  manifest.at_pointer("/spec/template/spec/containers/0/resources/requests").as_object()["cpu"] =
      cpu;
  return manifest;
}

class ServiceWorld {
 public:
  explicit ServiceWorld(EngineOptions options = {})
      : world(1, std::move(options)),
        service(*world.engine, world.store, world.random, authorizer,
                [](const std::string&) { return nullptr; }) {
    world.Declare({{"cpu", 4000}}, {{"cpu", 4000}});
  }

  Result<SubmittedJob> Submit(json::value body, const std::string& ns = "",
                              const std::string& key = "") {
    std::optional<Result<SubmittedJob>> answer;
    service.SubmitJob(alice, {ns, std::move(body), key},
                      [&answer](Result<SubmittedJob> result) { answer = std::move(result); });
    world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }

  Result<std::vector<DocumentOutcome>> Apply(std::vector<json::value> documents,
                                             bool dry_run = false) {
    std::optional<Result<std::vector<DocumentOutcome>>> answer;
    service.Apply(
        alice, "default", std::move(documents), dry_run,
        [&answer](Result<std::vector<DocumentOutcome>> result) { answer = std::move(result); });
    world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }

  Result<std::vector<AppliedObject>> Change(ObjectChange change) {
    std::optional<Result<std::vector<AppliedObject>>> answer;
    service.ChangeObjects(
        alice, {std::move(change)}, false,
        [&answer](Result<std::vector<AppliedObject>> result) { answer = std::move(result); });
    world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }

  Result<QuotaEditResult> SetQuota(QuotaEdit edit) {
    std::optional<Result<QuotaEditResult>> answer;
    service.SetQuota(alice, std::move(edit),
                     [&answer](Result<QuotaEditResult> result) { answer = std::move(result); });
    world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }

  std::size_t Jobs() const { return world.engine->View()->jobs.size(); }

  EngineWorld world;
  ListAuthorizer authorizer;
  auth::Principal alice = Tester("alice");
  SchedulerService service;
};

inline std::string FieldsOf(const Error& error) {
  std::string out;
  for (const FieldError& field : error.fields) out += (out.empty() ? "" : " ") + field.field;
  return out;
}

}  // namespace muster::test
