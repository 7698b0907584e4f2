// Callers and errors of all services. Muster's error codes have the numbers of gRPC's, so a status
// takes the number over.
#include "api/grpc/call.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "api/auth/request_id.h"
#include "api/grpc/convert.h"
#include "schedd/base/lease.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

// gRPC refuses metadata over 8 KiB by default, so a long list of wrong fields is cut to this size.
constexpr std::size_t kProblemBytes = 4096;

// A metadata value, "" if absent. Given twice, it is refused: two programs could each take another.
Result<std::string> OneValue(const grpc::CallbackServerContext& context, const char* key) {
  const auto [begin, end] = context.client_metadata().equal_range(key);
  if (begin == end) return std::string();
  if (std::next(begin) != end)
    return InvalidArgument(std::string("the metadata \"") + key + "\" is given twice");
  return std::string(begin->second.data(), begin->second.size());
}

// What the metadata says of the sender; the texts that Evidence points into.
struct SenderTexts {
  std::string authorization, as_user, request_id;
  std::vector<std::string> as_groups;
};

Result<SenderTexts> SenderOf(const grpc::CallbackServerContext& context) {
  SenderTexts out;
  std::string as_user_muster;
  for (const auto& [key, text] : {std::pair{"authorization", &out.authorization},
                                  {"impersonate-user", &out.as_user},
                                  {"x-muster-user", &as_user_muster},
                                  {"x-request-id", &out.request_id}}) {
    Result<std::string> value = OneValue(context, key);
    if (!value.ok()) return value.error();
    *text = std::move(value).value();
  }
  if (context.client_metadata().contains("authorization") && out.authorization.empty())
    return Error{Code::kUnauthenticated, "the metadata \"authorization\" is empty"};
  for (const auto& [key, value] : context.client_metadata()) {
    const std::string_view name(key.data(), key.size());
    // Who is to be acted as, and is nobody, is not to be oneself.
    if ((name == "impersonate-user" || name == "x-muster-user") && value.empty())
      return InvalidArgument("the metadata \"" + std::string(name) + "\" is empty");
    if (name == "impersonate-uid" || name.starts_with("impersonate-extra-"))
      return InvalidArgument("only a user and groups can be acted as");
  }
  if (out.authorization.size() > limits::kAuthorizationBytes)
    return Error{Code::kUnauthenticated, "the metadata \"authorization\" is over 12 KiB"};
  if (!out.as_user.empty() && !as_user_muster.empty() && out.as_user != as_user_muster)
    return InvalidArgument("x-muster-user and impersonate-user name different users");
  if (out.as_user.empty()) out.as_user = std::move(as_user_muster);
  const auto [begin, end] = context.client_metadata().equal_range("impersonate-group");
  for (auto one = begin; one != end; ++one)
    out.as_groups.emplace_back(one->second.data(), one->second.size());
  return out;
}

// The address of the daemon that leads, as the header Muster-Leader of REST has it; "none" if no
// other one is known to lead. gRPC ends the program over metadata with other characters.
std::string LeaderText(const LeaseBoard& lease) {
  if (!lease.OtherLeads()) return "none";
  const std::string address = lease.standing().row.address;
  const bool fits =
      std::all_of(address.begin(), address.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return address.empty() || !fits ? "none" : address;
}

}  // namespace

Result<auth::Principal> Callers::Find(grpc::CallbackServerContext& context) const {
  Result<SenderTexts> sender = SenderOf(context);
  if (!sender.ok()) return sender.error();
  const net::PeerPtr peer = peers_.Of(context.peer());
  const auth::Authorization authorization(std::move(sender->authorization));
  const std::string request_id =
      auth::SaneRequestId(sender->request_id) ? sender->request_id : auth::NextRequestId();
  auth::Evidence evidence;
  evidence.peer = peer.get();
  evidence.authorization = &authorization;
  evidence.as_user = sender->as_user;
  evidence.may_wait = false;  // gRPC's own threads serve all calls
  evidence.request_id = request_id;
  evidence.audit = &service_.audit();
  evidence.as_groups.assign(sender->as_groups.begin(), sender->as_groups.end());
  Result<auth::Principal> who = authenticator_.Authenticate(evidence);
  if (!who.ok()) {
    service_.audit().Failed(auth::UnknownCaller(peer.get()), "call", "grpc", who.error());
    return who;
  }
  if (const Status rate = service_.TakeRate(*who); !rate.ok()) return rate.error();
  const Status ready = service_.Ready();
  if (!ready.ok()) {
    NameLeader(context, service_.lease());
    return ready.error();
  }
  return who;
}

Result<auth::Principal> CallerOf(grpc::CallbackServerContext& context, const Callers& callers) {
  return callers.Find(context);
}

void NameLeader(grpc::CallbackServerContext& context, const LeaseBoard* lease) {
  if (lease != nullptr) context.AddTrailingMetadata("muster-leader", LeaderText(*lease));
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

grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                 const SchedulerService& service, const auth::Principal& who,
                                 const char* verb, const std::string& object, const Error& error) {
  service.audit().Failed(who, verb, object, error);
  return Refuse(context, error);
}

}  // namespace muster::api
