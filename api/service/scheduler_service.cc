// What every use case needs: the view of a daemon that is ready. The methods of SchedulerService
// are in the sources that are named after the use case: submit.cc, apply.cc, jobs.cc, list_jobs.cc,
// logs.cc, explain.cc, objects.cc, job_object.cc, workloads.cc, quotas.cc, clusters.cc, drain.cc,
// member_registry.cc and nominations.cc.
#include "api/service/scheduler_service.h"

#include "api/service/resource_refs.h"

#include <utility>

namespace muster::api {
namespace {

// A recovery takes seconds, so a client may ask again after one.
constexpr std::int64_t kReadyRetryMs = 1000;
constexpr const char* kLeaseOver =
    "the database has not confirmed this daemon's lease in time, so another daemon may lead";

}  // namespace

SchedulerService::SchedulerService(Engine& engine, Store& store, Random& random,
                                   const auth::Authorizer& authorizer, BackendLookup backends)
    : ServiceParts(engine, store, random, authorizer, std::move(backends)) {}

bool SchedulerService::IsCurrent(const WorldView& view) const {
  return view.ready && view.config != nullptr && (lease_ == nullptr || lease_->Current());
}

Error SchedulerService::NotReady(const WorldView& view) const {
  std::string detail = "the scheduler is not ready";
  for (std::size_t i = 0; i < view.not_ready_reasons.size(); ++i) {
    detail += (i == 0 ? ": " : "; ") + view.not_ready_reasons[i];
  }
  if (view.ready) detail += std::string(": ") + kLeaseOver;
  Error error = Unavailable(detail);
  error.retry_after_ms = kReadyRetryMs;
  return error;
}

// The board is asked first: the view that is read afterwards is then as new as the copy, or newer.
Result<WorldViewPtr> SchedulerService::ReadyView() const {
  const bool copy = lease_ != nullptr && lease_->copied().has_value();
  WorldViewPtr view = engine_.View();
  if (IsCurrent(*view) || (copy && view->config != nullptr)) return view;
  return NotReady(*view);
}

Status SchedulerService::Ready() const {
  const WorldViewPtr view = engine_.View();
  if (IsCurrent(*view)) return Done{};
  return NotReady(*view);
}

Status SchedulerService::Readable() const {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  return Done{};
}

// A simulation plays the jobs of its request, and of the daemon's world only the configuration.
Result<WorldViewPtr> SchedulerService::ViewToSimulate(const auth::Principal& who,
                                                      const std::string& ns, bool current) const {
  const Status allowed =
      authorizer_.Authorize(who, auth::Verb::kCreate, SimulationsIn(ns.empty() ? "default" : ns));
  if (!allowed.ok()) return allowed.error();
  if (current) {
    const Status queues = authorizer_.Authorize(who, auth::Verb::kList, ClusterQueueRef(""));
    if (!queues.ok()) return queues.error();
  }
  return engine_.View();
}

}  // namespace muster::api
