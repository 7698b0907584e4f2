// The words are those of slurmstepd (src/slurmd/slurmstepd of Slurm), because tools look for them.
#include "backends/local/process/stop_request.h"

#include <array>
#include <cstdlib>
#include <ctime>

namespace muster::local {
namespace {

struct CauseWords {
  StopRequest::Cause cause;
  std::string_view in_file, in_line;
};
constexpr std::array<CauseWords, 5> kCauses = {{
    {StopRequest::Cause::kCancelled, "cancelled", ""},
    {StopRequest::Cause::kTimeLimit, "time-limit", " DUE TO TIME LIMIT"},
    {StopRequest::Cause::kPreempted, "preempted", " DUE TO PREEMPTION"},
    {StopRequest::Cause::kRequeued, "requeued", " DUE TO JOB REQUEUE"},
    {StopRequest::Cause::kNodeFailure, "node-failure", " DUE TO NODE FAILURE"},
}};

}  // namespace

std::string WriteStopRequest(const StopRequest& request) {
  std::string text = std::to_string(request.grace_ms);
  for (const CauseWords& words : kCauses) {
    if (words.cause == request.cause) text += " " + std::string(words.in_file);
  }
  return text + "\n";
}

StopRequest ReadStopRequest(std::string_view text) {
  StopRequest request;
  const std::string copy(text);
  char* end = nullptr;
  request.grace_ms = std::strtoll(copy.c_str(), &end, 10);
  if (end == copy.c_str()) request.grace_ms = -1;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - copy.c_str()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  for (const CauseWords& words : kCauses) {
    if (words.in_file == rest) request.cause = words.cause;
  }
  return request;
}

std::string_view StopWords(StopRequest::Cause cause) {
  for (const CauseWords& words : kCauses) {
    if (words.cause == cause) return words.in_line;
  }
  return "";
}

std::string StopLine(StopRequest::Cause cause, std::int64_t job, const std::string& host,
                     std::int64_t when_us) {
  for (const CauseWords& words : kCauses) {
    if (words.cause != cause) continue;
    const std::time_t seconds = when_us / 1'000'000;
    std::tm local{};
    char time[32] = "";
    if (::localtime_r(&seconds, &local) != nullptr)
      std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &local);
    return "slurmstepd: error: *** JOB " + std::to_string(job) + " ON " + host + " CANCELLED AT " +
           time + std::string(words.in_line) + " ***\n";
  }
  return "";
}

}  // namespace muster::local
