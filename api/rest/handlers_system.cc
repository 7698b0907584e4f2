// Handlers about the daemon itself: health, metrics, the OpenAPI document, version and status. They
// answer while the daemon is not ready, too. The file is compiled alone, since it includes a
// generated header (build_info.h).
#include "api/rest/handlers_system.h"

#include "build_info.h"

#include "api/rest/elsewhere.h"
#include "api/rest/openapi_text.h"
#include "api/rest/problem.h"

namespace muster::rest {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif
#ifdef __aarch64__
constexpr const char* kPlatform = "linux/arm64";  // in Go's words, as Kubernetes answers
#else
constexpr const char* kPlatform = "linux/amd64";
#endif

Response Text(std::string body, const char* type = "text/plain; charset=utf-8") {
  Response response;
  response.content_type = type;
  response.body = std::move(body);
  return response;
}

}  // namespace

Response Live(ApiContext&, const Caller&, Request&) { return Text("ok\n"); }

// 200 if a write could be acknowledged now: the daemon leads and the database accepts writes. Else
// 503 with all reasons.
Response Ready(ApiContext& api, const Caller&, Request&) {
  const WorldViewPtr view = api.service.View();
  const std::string problem = api.write_problem ? api.write_problem() : "";
  const Status ready = api.service.Ready();
  if (ready.ok() && problem.empty()) return Text("ok\n");
  json::array reasons;
  for (const std::string& reason : view->not_ready_reasons) reasons.push_back(json::value(reason));
  if (!problem.empty()) reasons.push_back(json::value(problem));
  if (reasons.empty()) reasons.push_back(json::value(ready.error().detail));
  json::object answer{{"ready", false}, {"reasons", std::move(reasons)}};
  for (auto& [name, value] : LeadJson(api)) answer[name] = std::move(value);
  Response response = JsonResponse(answer, 503);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response MetricsText(ApiContext& api, const Caller&, Request&) {
  return Text(api.metrics.Expose(), "text/plain; version=0.0.4; charset=utf-8");
}

Response OpenApiText(ApiContext&, const Caller&, Request&) {
  return Text(std::string(kOpenApiText), "application/yaml");
}

// Kubernetes' version.Info: clients compare major and minor with what they need, and expect every
// field as text.
Response Version(ApiContext&, const Caller&, Request&) {
  return JsonResponse(json::object{{"major", "1"},
                                   {"minor", "33"},
                                   {"gitVersion", std::string("v1.33.0+muster-") + MUSTER_VERSION},
                                   {"gitCommit", kGitCommit},
                                   {"gitTreeState", kGitTreeState},
                                   {"buildDate", kBuildDate},
                                   {"goVersion", "none"},
                                   {"compiler", kCompiler},
                                   {"platform", kPlatform},
                                   {"musterVersion", MUSTER_VERSION}});
}

Response ServerStatus(ApiContext& api, const Caller&, Request&) {
  const WorldViewPtr view = api.service.View();
  json::array reasons;
  for (const std::string& reason : view->not_ready_reasons) reasons.push_back(json::value(reason));
  json::array warnings = api.warnings;
  if (api.access_problems) {
    for (const std::string& one : api.access_problems())
      warnings.push_back(json::object{{"type", "AccessProblem"}, {"message", one}});
  }
  json::object answer{{"version", MUSTER_VERSION},
                      {"ready", api.service.Ready().ok()},
                      {"reasons", std::move(reasons)},
                      {"lastEvent", view->last_seq},
                      {"warnings", std::move(warnings)}};
  if (api.database) answer["database"] = api.database();
  for (auto& [name, value] : LeadJson(api)) answer[name] = std::move(value);
  return JsonResponse(answer);
}

Response Paths(ApiContext&, const Caller&, Request&) {
  return JsonResponse(
      json::object{{"paths",
                    {"/api", "/api/v1", "/apis", "/livez", "/metrics", "/openapi.yaml", "/readyz",
                     "/v1/events", "/v1/jobs", "/v1/quotas", "/v1/status", "/version"}}});
}

}  // namespace muster::rest
