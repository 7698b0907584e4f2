// What every use case shares: readiness and permission.
#include "api/service/scheduler_service.h"

#include <utility>

namespace muster::api {
namespace {

constexpr std::int64_t kReadyRetryMs = 1000;  // a recovery takes seconds

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
