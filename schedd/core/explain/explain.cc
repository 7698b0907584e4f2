// Explain: one answer per state of a job, and the words that all parts use.
//
// No rule is written twice. The numbers are those of the flavor search (FlavorVerdict). The verdict
// is what Decide says about the job alone. The victims under another policy or priority are those
// that Decide evicts in a copy of the configuration in which that one key differs. The jobs whose
// end would let it start are found by Decide with these holders taken out (Trial). Only the
// sentences about priorities and policies are derived beside, with the predicates of the search.
// All lists are bounded by limits::kExplain*.
#include "schedd/core/explain/explain.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/core/explain/explain_parts.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

void ExplainHeld(const JobRecord& job, Explanation* explanation) {
  SetVerdict(explanation, Reason::kHeldByUser, "is held by its user");
  explanation->would_help.push_back("releasing it: muster release " + std::to_string(job.id.value));
}

// Times, exit code and attempts of a job that has ended.
void ExplainEnded(const JobRecord& job, WallTime now, Explanation* explanation) {
  const std::string state(JobStateName(job.state));
  SetVerdict(explanation, job.reason, job.message.empty() ? "has ended: " + state : job.message);
  const auto say = [&](const char* what, WallTime at) {
    if (at.set()) explanation->facts.push_back(what + TimeText(at, now));
  };
  say("submitted ", job.submit_time);
  say("admitted ", job.admit_time);
  say("started ", job.start_time);
  say("ended ", job.end_time);
  if (job.start_time.set() && job.end_time.set()) {
    explanation->facts.push_back(
        "ran for " + SpanText((job.end_time.us - job.start_time.us) / kMicrosPerSecond) +
        (job.cluster.empty() ? "" : " on member cluster " + job.cluster));
  }
  if (job.exit_code) {
    explanation->facts.push_back(
        "exit code " + std::to_string(*job.exit_code) +
        (job.exit_signal == 0 ? "" : ", signal " + std::to_string(job.exit_signal)));
  }
  if (job.attempt > 1) {
    explanation->facts.push_back("it took " + std::to_string(job.attempt) + " attempts");
  }
}

}  // namespace

void SetVerdict(Explanation* explanation, Reason reason, std::string summary) {
  explanation->reason = ReasonName(reason);
  explanation->summary = std::move(summary);
}

std::string TimeText(WallTime at, WallTime now) {
  const std::int64_t seconds = (at.us - now.us) / kMicrosPerSecond;
  const std::string span = SpanText(seconds < 0 ? -seconds : seconds);
  return FormatRfc3339(at) + (at > now ? " (in " + span + ")" : " (" + span + " ago)");
}

// The smaller unit is left out if it is 0.
std::string SpanText(std::int64_t seconds) {
  const auto two =
      [](std::int64_t large, const char* unit, std::int64_t small, const char* smaller) {
    return std::to_string(large) + unit + (small > 0 ? std::to_string(small) + smaller : "");
  };
  if (seconds >= kDay) return two(seconds / kDay, "d", seconds % kDay / kHour, "h");
  if (seconds >= kHour) return two(seconds / kHour, "h", seconds % kHour / kMinute, "m");
  if (seconds >= kMinute) return two(seconds / kMinute, "m", seconds % kMinute, "s");
  return std::to_string(std::max<std::int64_t>(0, seconds)) + "s";
}

std::string MentionOf(const JobRecord& job) {
  return "job " + std::to_string(job.id.value) + " (" + job.ns + "/" + job.name + ")";
}

// "and" comes before the last name only if all names are shown.
std::string MentionsOf(const std::vector<JobPtr>& jobs, std::size_t all) {
  const std::size_t shown = std::min(jobs.size(), limits::kExplainNames);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == shown && shown == all;
    if (i > 0) text += last ? " and " : ", ";
    text += MentionOf(*jobs[i]);
  }
  if (shown < all) text += " and " + std::to_string(all - shown) + " more";
  return text;
}

Explanation Explain(const ExplainInput& input) {
  Explanation explanation;
  const JobRecord& job = *input.job;
  explanation.job = input.job;
  explanation.state = job.state;
  switch (job.state) {
    case JobState::kHeld:
      ExplainHeld(job, &explanation);
      break;
    case JobState::kPending:
      ExplainPending(input, &explanation);
      break;
    case JobState::kReserved:
    case JobState::kAdmitted:
    case JobState::kRunning:
      ExplainHolding(input, &explanation);
      break;
    case JobState::kSucceeded:
    case JobState::kFailed:
    case JobState::kCancelled:
      ExplainEnded(job, input.snapshot.now, &explanation);
      break;
  }
  return explanation;
}

}  // namespace muster::core
