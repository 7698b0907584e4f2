// What every use case needs: readiness and permission. The methods of SchedulerService are in the
// sources that are named after the use case: submit.cc, apply.cc, jobs.cc, list_jobs.cc, logs.cc,
// explain.cc, objects.cc, job_object.cc, workloads.cc, quotas.cc, clusters.cc, drain.cc,
// member_registry.cc and nominations.cc.
#include "api/service/scheduler_service.h"

#include <utility>

namespace muster::api {
namespace {

// A recovery takes seconds, so a client may ask again after one.
constexpr std::int64_t kReadyRetryMs = 1000;

}  // namespace

SchedulerService::SchedulerService(Engine& engine, Store& store, Random& random,
                                   const auth::Authorizer& authorizer, BackendLookup backends)
    : engine_(engine),
      store_(store),
      random_(random),
      authorizer_(authorizer),
      backends_(std::move(backends)) {}

Result<WorldViewPtr> SchedulerService::ReadyView() const {
  WorldViewPtr view = engine_.View();
  if (view->ready && view->config != nullptr) return view;
  std::string detail = "the scheduler is not ready";
  for (std::size_t i = 0; i < view->not_ready_reasons.size(); ++i) {
    detail += (i == 0 ? ": " : "; ") + view->not_ready_reasons[i];
  }
  Error error = Unavailable(detail);
  error.retry_after_ms = kReadyRetryMs;
  return error;
}

Status SchedulerService::Ready() const {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  return Done{};
}

Status SchedulerService::Allow(const auth::Principal& who, auth::Verb verb, std::string_view kind,
                               std::string_view ns, std::string_view name) const {
  return authorizer_.Authorize(who, verb, {kind, ns, name});
}

}  // namespace muster::api
