// Callers and errors of all services. Muster's error codes have the numbers of gRPC's, so a status
// takes the number over.
#include "api/grpc/call.h"

#include <string>

#include "api/auth/loopback.h"
#include "api/grpc/convert.h"

namespace muster::api {
namespace {

// gRPC refuses metadata over 8 KiB by default, so a long list of wrong fields is cut to this size.
constexpr std::size_t kProblemBytes = 4096;

Result<auth::Principal> PrincipalOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const bool credentials = metadata.contains("authorization");
  const auto user = metadata.find("x-muster-user");
  if (user == metadata.end()) return auth::LoopbackPrincipal("", credentials);
  return auth::LoopbackPrincipal({user->second.data(), user->second.size()}, credentials);
}

}  // namespace

Result<auth::Principal> CallerOf(const grpc::CallbackServerContext& context,
                                 const SchedulerService& service) {
  Result<auth::Principal> who = PrincipalOf(context);
  if (!who.ok()) return who;
  const Status ready = service.Ready();
  if (!ready.ok()) return ready.error();
  return who;
}

grpc::Status StatusOf(grpc::CallbackServerContext* context, const Error& error) {
  if (!error.fields.empty()) {
    v1::Problem problem;
    ToProto(error, &problem);
    problem.clear_detail();  // the status has it as its message
    // Fields are dropped from the end; at least one stays.
    while (problem.errors_size() > 1 && problem.ByteSizeLong() > kProblemBytes) {
      problem.mutable_errors()->RemoveLast();
    }
    context->AddTrailingMetadata("muster-problem-bin", problem.SerializeAsString());
  }
  if (error.retry_after_ms > 0) {
    context->AddTrailingMetadata("retry-after-ms", std::to_string(error.retry_after_ms));
  }
  return {static_cast<grpc::StatusCode>(error.code), error.detail};
}

grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context, const Error& error) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(StatusOf(context, error));
  return reactor;
}

}  // namespace muster::api
