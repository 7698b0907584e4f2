// Which ends would help (part of explain). Each candidate is released in a Trial and Decide is
// asked again; that is exact, but costs a decision per holder, so the number of trials is limited.
// If no single end is enough, holders are released one after another in the order of their ends
// until the job fits, and then put back one by one where it still fits without them.
#include "schedd/core/explain/explain_ends.h"

#include <algorithm>
#include <tuple>

#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/core/explain/explain.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"

namespace muster::core {
namespace {

// The second half of a sentence about a job: when it ends.
std::string EndText(const JobRecord& job, WallTime now) {
  const auto latest = LatestEnd(job, now);
  if (IsTrue(job, "Evicted")) return "it is being stopped";
  if (!latest) return "it declares no time limit";
  return "it ends by " + FormatRfc3339(*latest) + " at the latest";
}

std::vector<JobPtr> JobsOf(const std::vector<HolderPtr>& holders) {
  std::vector<JobPtr> jobs;
  for (const HolderPtr& holder : holders) jobs.push_back(holder->job);
  return jobs;
}

// The holders that must end together: all in order until the job fits, less those that are not
// needed. Empty if it never fits. Restores the trial.
std::vector<HolderPtr> Together(Trial* trial, const JobPtr& job,
                                const std::vector<HolderPtr>& holders) {
  std::vector<HolderPtr> gone;
  bool fits = false;
  for (const HolderPtr& holder : holders) {
    trial->Release(holder);
    gone.push_back(holder);
    fits = trial->Admits(job);
    if (fits) break;
  }
  std::vector<HolderPtr> needed;
  if (fits) {
    for (const HolderPtr& holder : gone) {
      trial->Restore(holder);
      if (trial->Admits(job)) continue;
      trial->Release(holder);
      needed.push_back(holder);
    }
    gone = needed;
  }
  for (const HolderPtr& holder : gone) trial->Restore(holder);
  return needed;
}

}  // namespace

std::optional<std::int64_t> DeclaredLimit(const JobRecord& job) {
  if (job.time_limit_s <= 0 && job.max_execution_s <= 0) return std::nullopt;
  if (job.time_limit_s <= 0) return job.max_execution_s;
  if (job.max_execution_s <= 0) return job.time_limit_s;
  return std::min(job.time_limit_s, job.max_execution_s);
}

// Of two limits the earlier one ends the job; a limit that is over already counts as now.
std::optional<WallTime> LatestEnd(const JobRecord& job, WallTime now) {
  if (IsTrue(job, "Evicted")) return now;
  if (job.state == JobState::kReserved) return std::nullopt;
  std::optional<WallTime> latest = ExecutionDeadline(job);
  if (job.time_limit_s > 0) {
    const WallTime from = job.start_time.set() ? job.start_time : now;
    const WallTime end = from.PlusSeconds(job.time_limit_s);
    latest = latest ? std::min(*latest, end) : end;
  }
  if (latest) latest = std::max(*latest, now);
  return latest;
}

std::vector<std::string> EndsThatHelp(Trial* trial, const JobPtr& job,
                                      std::vector<HolderPtr> holders) {
  const WallTime now = trial->snapshot().now;
  // Jobs with a time limit first, the earliest end first; then those reserved longest ago.
  const auto rank = [&](const HolderPtr& holder) {
    const auto latest = LatestEnd(*holder->job, now);
    return std::make_tuple(!latest, latest.value_or(WallTime{}), holder->reserved_at, holder->id);
  };
  std::sort(holders.begin(), holders.end(),
            [&](const HolderPtr& a, const HolderPtr& b) { return rank(a) < rank(b); });
  if (holders.size() > limits::kExplainTrials) holders.resize(limits::kExplainTrials);
  std::vector<HolderPtr> alone;
  for (const HolderPtr& holder : holders) {
    trial->Release(holder);
    if (trial->Admits(job)) alone.push_back(holder);
    trial->Restore(holder);
  }
  std::vector<std::string> sentences;
  for (const HolderPtr& holder : alone) {
    if (sentences.size() == limits::kExplainNames) {
      sentences.push_back("any one of " + std::to_string(alone.size() - sentences.size()) +
                          " more jobs ending");
      break;
    }
    sentences.push_back(MentionOf(*holder->job) + " ending; " + EndText(*holder->job, now));
  }
  // Only if no single end is enough, several are tried together.
  if (!alone.empty()) return sentences;
  const std::vector<HolderPtr> together = Together(trial, job, holders);
  if (together.empty()) return {};
  std::string text = MentionsOf(JobsOf(together), together.size()) + " ending, all of them";
  // The time at which all of them have ended; unset if one declares no limit.
  std::optional<WallTime> last = now;
  for (const HolderPtr& holder : together) {
    const auto latest = LatestEnd(*holder->job, now);
    last = latest && last ? std::max(*last, *latest) : std::optional<WallTime>();
  }
  text += last ? "; they end by " + FormatRfc3339(*last) + " at the latest"
               : "; not all of them declare a time limit";
  return {text};
}

}  // namespace muster::core
