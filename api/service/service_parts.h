// ServiceParts: what the use cases of SchedulerService work with: engine, store, rights, members.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "api/auth/audit_sink.h"
#include "api/auth/rate_limiter.h"
#include "api/service/member_reads.h"
#include "api/service/pod_set_cache.h"
#include "backends/backend.h"
#include "backends/member_probe.h"
#include "backends/member_queues.h"
#include "schedd/base/clock.h"
#include "schedd/base/lease.h"
#include "schedd/base/mutex.h"
#include "schedd/engine/engine.h"

namespace muster::api {

/// Finds the backend that runs a cluster's attempts (Dispatcher::BackendOf).
using BackendLookup = std::function<Backend*(const std::string& cluster)>;

/// Everything must outlive it. The setters are called before the first request.
class ServiceParts {
 public:
  ServiceParts(Engine& engine, Store& store, Random& random, const auth::Authorizer& authorizer,
               BackendLookup backends)
      : engine_(engine),
        store_(store),
        random_(random),
        authorizer_(authorizer),
        backends_(std::move(backends)) {}

  /// Before the first request: the servers note requests that fail there.
  void SetAudit(auth::AuditSink* sink) { audit_ = sink; }
  auth::AuditSink& audit() const { return *audit_; }
  /// Before the first request; null: no member can be added.
  void SetProbe(MemberProbe* probe) { probe_ = probe; }
  /// Before the first request; null: no user is limited. Must outlive the service.
  void SetRateLimiter(auth::RateLimiter* limiter) { limiter_ = limiter; }
  /// Before the first request; null: no member has a queue of its own.
  void SetMemberQueues(const MemberQueues* queues) { queues_ = queues; }
  /// Before the first request; null: a member that does not answer is asked again and again.
  void SetClock(const Clock* clock) { clock_ = clock; }
  /// Before the first request; null: no other daemon can lead.
  void SetLease(const LeaseBoard* lease) { lease_ = lease; }
  const LeaseBoard* lease() const { return lease_; }
  /// The epoch of the lead that was seen last, of this daemon or of another; 0 without a lease.
  Epoch LastLead() const { return lease_ == nullptr ? Epoch{} : lease_->standing().row.epoch; }
  WorldViewPtr View() const { return engine_.View(); }
  Store& store() const { return store_; }
  /// For questions that are about no object of the service: paths, and what somebody may do.
  const auth::Authorizer& authorizer() const { return authorizer_; }

 protected:
  Engine& engine_;
  Store& store_;
  Random& random_;
  const auth::Authorizer& authorizer_;
  BackendLookup backends_;
  PodSetCache pod_sets_;
  auth::AuditSink* audit_ = &auth::NoAuditSink();
  auth::RateLimiter* limiter_ = nullptr;
  MemberProbe* probe_ = nullptr;
  const MemberQueues* queues_ = nullptr;
  const LeaseBoard* lease_ = nullptr;
  const Clock* clock_ = nullptr;
  mutable MemberReads member_reads_;
  Mutex probing_;  // held while a member is probed
  // Incarnations of the members that this process added, by name.
  std::map<std::string, std::string> added_ MUSTER_GUARDED_BY(probing_);
};

}  // namespace muster::api
