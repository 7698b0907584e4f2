// What every call of the gRPC services needs: its principal, and the ways in which it ends.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>
#include <vector>
#include "api/auth/authenticator.h"
#include "api/grpc/front/peer_registry.h"

#include "api/auth/authorizer.h"
#include "api/service/scheduler_service.h"
#include "schedd/base/result.h"

namespace muster::api {

/// Finds the callers of all services. Thread-safe; the references must outlive it.
class Callers {
 public:
  Callers(const SchedulerService& service, const auth::Authenticator& authenticator,
          const front::PeerRegistry& peers)
      : service_(service), authenticator_(authenticator), peers_(peers) {}
  /// The caller: what the metadata `authorization`, `x-muster-user`, `impersonate-user` and
  /// `impersonate-group` say, and what is known of the connection (rules U11, U13).
  /// kUnauthenticated without an identity; kResourceExhausted if it sends too many requests (rule
  /// U74); kUnavailable until the daemon has recovered and leads. Then the trailing metadata
  /// `muster-leader` has the address of the leader's REST API, or "none": nothing was carried out,
  /// and a client that knows other servers asks them.
  /// Every method of muster.v1 begins with this call, the one place that asks whether the daemon is
  /// ready.
  Result<auth::Principal> Find(grpc::CallbackServerContext& context) const;
  /// For open streams: whether the caller's credential is still good.
  const auth::Authenticator& authenticator() const { return authenticator_; }

 private:
  const SchedulerService& service_;
  const auth::Authenticator& authenticator_;
  const front::PeerRegistry& peers_;
};
/// The same as callers.Find(context).
Result<auth::Principal> CallerOf(grpc::CallbackServerContext& context, const Callers& callers);

/// Adds the trailing metadata `muster-leader`: the address of the REST API of the daemon that leads
/// (rule L10), or "none". Nothing without a lease. Call it before Finish.
void NameLeader(grpc::CallbackServerContext& context, const LeaseBoard* lease);

/// The status of an error: its code and sentence. Wrong fields go into the trailing metadata
/// `muster-problem-bin` (a muster.v1.Problem), a retry hint into `retry-after-ms`. Call it before
/// Finish.
grpc::Status StatusOf(grpc::CallbackServerContext* context, const Error& error);

/// A reactor that has already ended with `error`.
grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context, const Error& error);

/// The same for a call that would have changed `object`: the failure is noted in the audit trail.
grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                 const SchedulerService& service, const auth::Principal& who,
                                 const char* verb, const std::string& object, const Error& error);

/// A callback that calls `done` and notes a failure in the audit trail first. For every call that
/// changes something; what succeeds is noted by the engine. A dry run has no row.
template <class Done>
auto Audited(const SchedulerService& service, const auth::Principal& who, const char* verb,
             std::string object, Done done, bool dry_run = false) {
  return [&audit = service.audit(), who, verb, object = std::move(object), done = std::move(done),
          dry_run](auto result) {
    if (!result.ok() && !dry_run) audit.Failed(who, verb, object, result.error());
    done(std::move(result));
  };
}

/// Ends a unary call with a result: OK after `fill(value)`, or the error.
template <class T, class Fill>
void Answer(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
            const Result<T>& result, Fill&& fill) {
  if (!result.ok()) {
    reactor->Finish(StatusOf(context, result.error()));
    return;
  }
  fill(*result);
  reactor->Finish(grpc::Status::OK);
}

}  // namespace muster::api
