// Use cases that read steps: of one job, and of many. Holds these methods of SchedulerService.
// Steps are in the store alone, so both block on it.
//
// A page ends anywhere between two steps, since one job may have more of them than fit an answer;
// its token names the last one.
#include "api/service/steps.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "api/service/job_rights.h"
#include "schedd/base/limits_slurm_steps_store.h"

namespace muster::api {
namespace {

constexpr std::string_view kStepTokenPrefix = "after-";

std::string StepTokenAfter(const StepRecord& last) {
  return std::string(kStepTokenPrefix) + std::to_string(last.job.value) + "." +
         std::to_string(last.attempt) + "." + std::to_string(last.step);
}

// Reads one number and the character behind it; false if there is none.
template <class Number>
bool TakeNumber(std::string_view* text, char end, Number* number) {
  const char* last = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), last, *number);
  if (parsed.ec != std::errc() || *number < 0) return false;
  text->remove_prefix(static_cast<std::size_t>(parsed.ptr - text->data()));
  if (end == '\0') return text->empty();
  if (text->empty() || text->front() != end) return false;
  text->remove_prefix(1);
  return true;
}

Status BeginAfter(std::string_view token, StepQuery* query) {
  if (token.empty()) return Done{};
  if (token.starts_with(kStepTokenPrefix)) {
    token.remove_prefix(kStepTokenPrefix.size());
    if (TakeNumber(&token, '.', &query->after_job.value) &&
        TakeNumber(&token, '.', &query->after_attempt) &&
        TakeNumber(&token, '\0', &query->after_step))
      return Done{};
  }
  return InvalidField("page_token", "is not one that this server gave");
}

// One more than a page is read, which tells whether there is a next one.
Result<StepPage> ReadPage(Store& store, std::vector<JobId> jobs, const std::string& token,
                          std::size_t limit) {
  StepQuery query;
  if (const Status begun = BeginAfter(token, &query); !begun.ok()) return begun.error();
  query.jobs = std::move(jobs);
  const std::size_t size = limit == 0 ? limits::kStepItems : std::min(limit, limits::kStepItems);
  query.limit = size + 1;
  StepPage page;
  if (query.jobs.empty()) return page;
  Result<std::vector<StepRecord>> steps = store.ReadSteps(query);
  if (!steps.ok()) return steps.error();
  page.items = std::move(*steps);
  if (page.items.size() > size) {
    page.items.resize(size);
    page.next_page_token = StepTokenAfter(page.items.back());
  }
  return page;
}

}  // namespace

Result<StepPage> JobSteps(const SchedulerService& service, const auth::Principal& who,
                          const std::string& id, const std::string& page_token, std::size_t limit) {
  const Result<JobPtr> job = service.GetJob(who, id);
  if (!job.ok()) return job.error();
  return ReadPage(service.store(), {(*job)->id}, page_token, limit);
}

// Jobs that have left memory are read together, and so are those that the caller may not see: an
// answer without them takes as long as one without jobs that do not exist (rule U21).
Result<StepPage> StepsOf(const SchedulerService& service, const auth::Principal& who,
                         const std::vector<JobId>& jobs, const std::string& page_token,
                         std::size_t limit) {
  if (const Status ready = service.Readable(); !ready.ok()) return ready.error();
  const WorldViewPtr view = service.View();
  const auto sees = [&](const JobRecord& job) { return SeesJob(service.authorizer(), who, job); };
  std::vector<JobId> seen;
  JobQuery others;
  for (const JobId id : std::set<JobId>(jobs.begin(), jobs.end())) {
    const JobPtr live = view->jobs.Find(id);
    if (live != nullptr && sees(*live)) {
      seen.push_back(id);
    } else {
      others.ids.push_back(id);
    }
  }
  if (!others.ids.empty()) {
    others.include_deleted = true;
    others.limit = others.ids.size();
    const Result<std::vector<JobPtr>> stored = service.store().ReadJobs(others);
    if (!stored.ok()) return stored.error();
    for (const JobPtr& job : *stored) {
      if (sees(*job)) seen.push_back(job->id);
    }
  }
  return ReadPage(service.store(), std::move(seen), page_token, limit);
}

}  // namespace muster::api
