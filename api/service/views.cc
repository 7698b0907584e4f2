// Records and errors as JSON values. Times of Muster's own API have microseconds and are null if
// unset; Kubernetes' structures (conditions, Status) have seconds. An error becomes a problem (RFC
// 9457) below /v1 and a metav1.Status on Kubernetes paths, with the same code and fields.
#include "api/service/views.h"

#include <map>
#include <utility>

#include "schedd/base/quantity.h"

namespace muster::api {
namespace {

// Null if unset.
json::value TimeJson(WallTime time) {
  if (!time.set()) return nullptr;
  return json::value(FormatRfc3339Micros(time));
}

// Null until the process has ended.
json::value ExitCodeJson(const std::optional<std::int32_t>& code) {
  return code ? json::value(*code) : json::value(nullptr);
}

// What was measured of processes; all 0 if nothing was.
json::object UseJson(const MeasuredUse& use) {
  return json::object{{"userCpuUs", use.user_cpu_us},
                      {"systemCpuUs", use.system_cpu_us},
                      {"maxRssBytes", use.max_rss_bytes},
                      {"readBytes", use.read_bytes},
                      {"writtenBytes", use.written_bytes}};
}

// A code's name in other words: "INVALID_ARGUMENT" as "invalid-argument" for the type of a problem
// and as "Invalid argument" for its title.
std::string Reworded(Code code, char separator, bool capital) {
  std::string text = CodeName(code);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_') {
      text[i] = separator;
    } else if (text[i] >= 'A' && text[i] <= 'Z' && !(capital && i == 0)) {
      text[i] = static_cast<char>(text[i] - 'A' + 'a');
    }
  }
  return text;
}

// The metav1.StatusReason of a code; clients of Kubernetes branch on it.
const char* StatusReason(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return "BadRequest";
    case Code::kUnauthenticated:
      return "Unauthorized";
    case Code::kPermissionDenied:
      return "Forbidden";
    case Code::kNotFound:
      return "NotFound";
    case Code::kAlreadyExists:
      return "AlreadyExists";
    case Code::kFailedPrecondition:
    case Code::kAborted:
      return "Conflict";
    case Code::kResourceExhausted:
      return "TooManyRequests";
    case Code::kUnavailable:
      return "ServiceUnavailable";
    case Code::kDeadlineExceeded:
      return "Timeout";
    case Code::kUnimplemented:
      return "NotImplemented";
    default:
      return "InternalError";
  }
}

}  // namespace

// `job` is 0 for an event of a configuration object.
json::object EventJson(const Event& event) {
  json::object out;
  out["seq"] = event.seq;
  out["time"] = TimeJson(event.time);
  out["type"] = event.type;
  out["job"] = event.job.value;
  out["object"] = event.object;
  out["reason"] = event.reason;
  out["message"] = event.message;
  return out;
}

// `usage` is the quota that the attempt held, summed over its pod sets; `held` is the same by
// flavor, in `clusterQueue`.
json::object AttemptJson(const AttemptRecord& attempt) {
  json::object out;
  out["job"] = attempt.job.value;
  out["attempt"] = attempt.attempt;
  out["cluster"] = attempt.cluster;
  out["admitTime"] = TimeJson(attempt.admit_time);
  out["startTime"] = TimeJson(attempt.start_time);
  out["endTime"] = TimeJson(attempt.end_time);
  out["outcome"] = JobStateName(attempt.outcome);
  out["reason"] = ReasonName(attempt.reason);
  out["message"] = attempt.message;
  out["exitCode"] = ExitCodeJson(attempt.exit_code);
  out["exitSignal"] = attempt.exit_signal;
  json::object usage;
  json::array held;
  if (attempt.admission != nullptr) {
    ResourceList total;
    std::map<std::pair<std::string, std::string>, std::int64_t> by_flavor;
    for (const PodSetAssignment& pod_set : attempt.admission->pod_sets) {
      AddAmounts(&total, pod_set.usage);
      for (const auto& [resource, amount] : pod_set.usage) {
        const auto flavor = pod_set.flavors.find(resource);
        if (flavor == pod_set.flavors.end()) continue;
        std::int64_t& sum = by_flavor[{flavor->second, resource}];
        sum = SaturatingAdd(sum, amount);
      }
    }
    usage = ResourcesJson(total);
    for (const auto& [key, amount] : by_flavor) {
      held.push_back(json::object{{"flavor", key.first},
                                  {"resource", key.second},
                                  {"amount", FormatQuantity(key.second, amount)}});
    }
    out["clusterQueue"] = attempt.admission->cluster_queue;
  }
  out["usage"] = std::move(usage);
  out["held"] = std::move(held);
  out["use"] = UseJson(attempt.use);
  return out;
}

std::string_view StepStateName(StepState state) {
  switch (state) {
    case StepState::kRunning:
      return "RUNNING";
    case StepState::kCompleted:
      return "COMPLETED";
    case StepState::kFailed:
      return "FAILED";
    case StepState::kCancelled:
      return "CANCELLED";
    case StepState::kTimeout:
      return "TIMEOUT";
    case StepState::kOutOfMemory:
      return "OUT_OF_MEMORY";
  }
  return "";
}

json::object StepJson(const StepRecord& step) {
  json::object out;
  out["job"] = step.job.value;
  out["attempt"] = step.attempt;
  out["step"] = step.step;
  out["name"] = step.name;
  out["nodes"] = step.nodes;
  out["nodeCount"] = step.node_count;
  out["tasks"] = step.tasks;
  out["cpus"] = step.cpus;
  out["state"] = StepStateName(step.state);
  out["startTime"] = TimeJson(step.start_time);
  out["endTime"] = TimeJson(step.end_time);
  out["exitCode"] = step.exit_code;
  out["exitSignal"] = step.exit_signal;
  out["use"] = UseJson(step.use);
  return out;
}

// A pod as its member reports it.
json::object PodJson(const PodStatus& pod) {
  json::object out;
  out["name"] = pod.name;
  out["podSet"] = pod.pod_set;
  out["index"] = pod.index;
  out["phase"] = pod.phase;
  out["node"] = pod.node;
  out["message"] = pod.message;
  out["exitCode"] = ExitCodeJson(pod.exit_code);
  out["exitSignal"] = pod.exit_signal;
  out["startTime"] = TimeJson(pod.start_time);
  out["endTime"] = TimeJson(pod.end_time);
  return out;
}

// An event that the member's own components reported about the job's objects.
json::object MemberEventJson(const MemberEvent& event) {
  json::object out;
  out["time"] = TimeJson(event.time);
  out["type"] = event.type;
  out["reason"] = event.reason;
  out["object"] = event.object;
  out["message"] = event.message;
  out["count"] = event.count;
  return out;
}

json::object ConditionJson(const Condition& condition) {
  json::object out;
  out["type"] = condition.type;
  out["status"] = condition.status ? "True" : "False";
  out["reason"] = condition.reason;
  out["message"] = condition.message;
  out["lastTransitionTime"] = FormatRfc3339(condition.last_transition);
  return out;
}

json::object ResourcesJson(const ResourceList& resources) {
  json::object out;
  for (const ResourceAmount& amount : resources) {
    out[amount.resource] = FormatQuantity(amount.resource, amount.amount);
  }
  return out;
}

json::object ProblemJson(const Error& error) {
  json::object out;
  out["type"] = "urn:muster:problem:" + Reworded(error.code, '-', false);
  out["title"] = Reworded(error.code, ' ', true);
  out["status"] = HttpStatus(error.code);
  out["detail"] = error.detail;
  json::array errors;
  for (const FieldError& field : error.fields) {
    errors.push_back(json::object{{"field", field.field}, {"message", field.message}});
  }
  out["errors"] = std::move(errors);
  if (error.retry_after_ms > 0) out["retryAfterMs"] = error.retry_after_ms;
  return out;
}

json::object StatusJson(const Error& error) {
  json::object out;
  out["kind"] = "Status";
  out["apiVersion"] = "v1";
  out["metadata"] = json::object();
  out["status"] = "Failure";
  out["message"] = error.detail;
  out["reason"] = StatusReason(error.code);
  json::object details;
  if (!error.fields.empty()) {
    json::array causes;
    for (const FieldError& field : error.fields) {
      causes.push_back(json::object{
          {"reason", "FieldValueInvalid"}, {"message", field.message}, {"field", field.field}});
    }
    details["causes"] = std::move(causes);
  }
  // Kubernetes' clients read whole seconds here.
  if (error.retry_after_ms > 0) details["retryAfterSeconds"] = (error.retry_after_ms + 999) / 1000;
  if (!details.empty()) out["details"] = std::move(details);
  out["code"] = HttpStatus(error.code);
  return out;
}

}  // namespace muster::api
