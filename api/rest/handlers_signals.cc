// POST /v1/jobs/{id}:signal with {"signal":"USR1","target":"steps","step":0} and
// POST /v1/jobs/{id}:notify with {"message":"..."}.
#include "api/rest/handlers_signals.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/signal_name.h"
#include "api/service/signals.h"

namespace muster::rest {
namespace {

// The body as an object that has no other members.
Result<json::object> ReadMembers(const Request& request,
                                 std::initializer_list<std::string_view> known) {
  if (const Status query = QueryReader(request).Only({}); !query.ok()) return query.error();
  Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return InvalidField("", "must be an object");
  for (const auto& member : body->get_object()) {
    if (std::find(known.begin(), known.end(), std::string_view(member.key())) == known.end())
      return InvalidField(std::string(member.key()), "is not known");
  }
  return std::move(body->get_object());
}

Result<int> ReadSignal(const json::object& body) {
  const json::value* signal = body.if_contains("signal");
  if (signal == nullptr) return InvalidField("signal", "is required");
  if (signal->is_string()) return api::SignalOf(std::string_view(signal->get_string()));
  if (signal->is_int64()) return api::SignalOf(std::to_string(signal->get_int64()));
  return InvalidField("signal", "must be the name or the number of a signal");
}

Result<SignalOrder::Target> ReadTarget(const json::object& body) {
  using Target = SignalOrder::Target;
  const json::value* target = body.if_contains("target");
  if (target == nullptr) return Target::kSteps;
  const std::string_view text =
      target->is_string() ? std::string_view(target->get_string()) : std::string_view();
  constexpr std::pair<std::string_view, Target> kTargets[] = {{"steps", Target::kSteps},
                                                              {"batch", Target::kBatch},
                                                              {"full", Target::kFull},
                                                              {"step", Target::kStep}};
  for (const auto& [name, known] : kTargets) {
    if (text == name) return known;
  }
  return InvalidField("target", "must be steps, batch, full or step");
}

Result<SignalOrder> ReadOrder(const Request& request) {
  const Result<json::object> body = ReadMembers(request, {"signal", "target", "step"});
  if (!body.ok()) return body.error();
  SignalOrder order;
  const Result<int> signal = ReadSignal(*body);
  if (!signal.ok()) return signal.error();
  order.signal = *signal;
  const Result<SignalOrder::Target> target = ReadTarget(*body);
  if (!target.ok()) return target.error();
  order.target = *target;
  const json::value* step = body->if_contains("step");
  if ((step != nullptr) != (order.target == SignalOrder::Target::kStep))
    return InvalidField("step", "is given with the target \"step\", and with no other");
  if (step == nullptr) return order;
  constexpr std::int64_t kLast = std::numeric_limits<std::int32_t>::max();
  if (!step->is_int64() || step->get_int64() < 0 || step->get_int64() > kLast)
    return InvalidField("step", "must be the number of a step");
  order.step = static_cast<std::int32_t>(step->get_int64());
  return order;
}

Result<std::string> ReadMessage(const Request& request) {
  const Result<json::object> body = ReadMembers(request, {"message"});
  if (!body.ok()) return body.error();
  const json::value* message = body->if_contains("message");
  if (message == nullptr) return InvalidField("message", "is required");
  if (!message->is_string()) return InvalidField("message", "must be a text");
  return std::string(std::string_view(message->get_string()));
}

Callback<JobPtr> AnswerJob(const Responder& respond) {
  return [respond](Result<JobPtr> job) {
    respond([job = std::move(job)] {
      return job.ok() ? JobResponse(**job) : ErrorResponse(false, job.error());
    });
  };
}

}  // namespace

void SignalJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const Result<SignalOrder> order = ReadOrder(request);
  if (!order.ok()) return respond([error = order.error()] { return ErrorResponse(false, error); });
  api::SignalJob(api.service, who, request.params[0], *order, AnswerJob(respond));
}

void NotifyJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  Result<std::string> message = ReadMessage(request);
  if (!message.ok())
    return respond([error = message.error()] { return ErrorResponse(false, error); });
  api::NotifyJob(api.service, who, request.params[0], std::move(*message), AnswerJob(respond));
}

}  // namespace muster::rest
