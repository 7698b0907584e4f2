// Asks for steps and attempts in portions, so that an address stays short. Members that are absent
// are zero: an older server measures nothing.
#include "clients/slurm/attempts.h"

#include <algorithm>

#include "clients/lib/job_view.h"
#include "clients/slurm/slurm_time.h"
#include "schedd/text/lenient.h"

namespace muster::slurm {
namespace {

// Jobs of one request.
constexpr std::size_t kPortion = 200;

std::int32_t Count(const json::object& object, const char* key, std::int32_t otherwise = 0) {
  return static_cast<std::int32_t>(client::MemberNumber(object, key, otherwise));
}

StepInfo ToStep(const json::object& object) {
  StepInfo out;
  out.job = client::MemberNumber(object, "job");
  out.attempt = Count(object, "attempt");
  out.step = Count(object, "step");
  out.name = client::MemberText(object, "name");
  out.nodes = client::MemberText(object, "nodes");
  out.node_count = Count(object, "nodeCount", 1);
  out.tasks = Count(object, "tasks", 1);
  out.cpus = Count(object, "cpus", 1);
  ParseState(client::MemberText(object, "state"), &out.state);
  out.start_time = client::MemberText(object, "startTime");
  out.end_time = client::MemberText(object, "endTime");
  out.exit_code = Count(object, "exitCode");
  out.exit_signal = Count(object, "exitSignal");
  out.use = UseOf(json::value(object));
  return out;
}

AttemptInfo ToAttempt(const json::object& object) {
  AttemptInfo out;
  out.attempt = Count(object, "attempt");
  out.cluster = client::MemberText(object, "cluster");
  out.start_time = client::MemberText(object, "startTime");
  out.end_time = client::MemberText(object, "endTime");
  out.reason = client::MemberText(object, "reason");
  const std::string outcome = client::MemberText(object, "outcome");
  out.state = out.reason == "Requeued" && !out.end_time.empty() ? State::kRequeued
                                                                : StateOf({outcome, out.reason});
  out.exit_code = Count(object, "exitCode");
  const json::value* code = object.if_contains("exitCode");
  out.has_exit_code = code != nullptr && code->is_number();
  out.exit_signal = Count(object, "exitSignal");
  out.use = UseOf(json::value(object));
  return out;
}

// True for a refusal that means that there is nothing to tell.
bool TellsNothing(const client::Failure& failure) {
  return failure.status == 403 || failure.status == 404;
}

}  // namespace

MeasuredUse UseOf(const json::value& value) {
  const json::object& use = ObjectOrEmpty(value, "use");
  MeasuredUse out;
  out.user_cpu_us = client::MemberNumber(use, "userCpuUs");
  out.system_cpu_us = client::MemberNumber(use, "systemCpuUs");
  out.max_rss_bytes = client::MemberNumber(use, "maxRssBytes");
  out.read_bytes = client::MemberNumber(use, "readBytes");
  out.written_bytes = client::MemberNumber(use, "writtenBytes");
  return out;
}

std::int64_t StampMicros(std::string_view stamp) {
  const std::int64_t seconds = ParseStamp(stamp);
  if (seconds == 0) return 0;
  std::int64_t micros = 0, unit = 100'000;
  if (stamp.size() > 20 && stamp[19] == '.') {
    for (std::size_t at = 20; at < stamp.size() && unit > 0; ++at, unit /= 10) {
      if (stamp[at] < '0' || stamp[at] > '9') break;
      micros += (stamp[at] - '0') * unit;
    }
  }
  return seconds * 1'000'000 + micros;
}

client::Outcome<StepsByJob> FetchSteps(client::ApiClient& api,
                                       const std::vector<std::int64_t>& jobs) {
  StepsByJob out;
  for (std::size_t begin = 0; begin < jobs.size(); begin += kPortion) {
    client::Query query;
    for (std::size_t i = begin; i < std::min(jobs.size(), begin + kPortion); ++i)
      query.Add("job", std::to_string(jobs[i]));
    const client::Outcome<std::vector<json::value>> items = api.ListAll("/v1/steps", query);
    if (!items.ok() && TellsNothing(items.failure())) return out;
    if (!items.ok()) return items.failure();
    for (const json::value& item : *items) {
      if (!item.is_object()) continue;
      StepInfo step = ToStep(item.get_object());
      out[step.job].push_back(std::move(step));
    }
  }
  for (auto& [job, steps] : out) {
    std::sort(steps.begin(), steps.end(), [](const StepInfo& a, const StepInfo& b) {
      return a.attempt != b.attempt ? a.attempt < b.attempt : a.step < b.step;
    });
  }
  return out;
}

client::Outcome<AttemptsByJob> FetchAttempts(client::ApiClient& api,
                                             const std::vector<std::int64_t>& jobs) {
  AttemptsByJob out;
  for (std::size_t begin = 0; begin < jobs.size(); begin += kPortion) {
    std::string ids;
    for (std::size_t i = begin; i < std::min(jobs.size(), begin + kPortion); ++i)
      ids += (ids.empty() ? "" : ",") + std::to_string(jobs[i]);
    client::Query query;
    query.Add("ids", ids).Add("limit", std::to_string(kPortion));
    const client::Outcome<json::value> answer = api.Get("/v1/accounting" + query.text());
    if (!answer.ok() && TellsNothing(answer.failure())) return out;
    if (!answer.ok()) return answer.failure();
    for (const json::value& item : ArrayOrEmpty(*answer, "items")) {
      const json::object& job = ObjectOrEmpty(item, "job");
      std::vector<AttemptInfo> attempts;
      for (const json::value& attempt : ArrayOrEmpty(item, "attempts")) {
        if (attempt.is_object()) attempts.push_back(ToAttempt(attempt.get_object()));
      }
      std::sort(attempts.begin(), attempts.end(),
                [](const AttemptInfo& a, const AttemptInfo& b) { return a.attempt < b.attempt; });
      if (!attempts.empty()) out[client::MemberNumber(job, "id")] = std::move(attempts);
    }
  }
  return out;
}

}  // namespace muster::slurm
