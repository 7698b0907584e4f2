// What every call of the gRPC services needs: its principal, and the ways in which it ends.
#pragma once

#include <grpcpp/grpcpp.h>

#include "api/auth/authorizer.h"
#include "api/service/scheduler_service.h"
#include "schedd/base/result.h"

namespace muster::api {

/// The caller: the user that the metadata `x-muster-user` names, or `anonymous`. kUnauthenticated
/// with any metadata `authorization`; kUnavailable until the daemon has recovered and leads. Every
/// method of muster.v1 begins with this call, the one place that asks whether the daemon is ready.
Result<auth::Principal> CallerOf(const grpc::CallbackServerContext& context,
                                 const SchedulerService& service);

/// The status of an error: its code and sentence. Wrong fields go into the trailing metadata
/// `muster-problem-bin` (a muster.v1.Problem), a retry hint into `retry-after-ms`. Call it before
/// Finish.
grpc::Status StatusOf(grpc::CallbackServerContext* context, const Error& error);

/// A reactor that has already ended with `error`.
grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context, const Error& error);

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
