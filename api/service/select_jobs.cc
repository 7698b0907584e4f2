// Use case: all jobs that pass a filter. Holds SchedulerService::SelectJobs.
#include "api/service/select_jobs.h"

#include <utility>

#include "api/service/job_filter.h"
#include "api/service/job_rights.h"
#include "api/service/scheduler_service.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

const Error kTooMany = InvalidArgument("more than " + std::to_string(limits::kPageItemsMax) +
                                       " jobs match: name a state, a namespace or a later `since`");

// The store finds these itself, and they are few.
bool NamesFew(const JobFilter& filter) {
  return !filter.ids.empty() || !filter.name.empty() || filter.array.value != 0;
}

// Both lists are by number; of a job in both the record of the view is taken.
void Select(const JobFilter& filter, const VisibilityPtr& seen, JobSelection* out) {
  static const EndedJobs::List kNone;
  const EndedJobs::List& ended = out->ended == nullptr ? kNone : *out->ended;
  auto next = ended.begin();
  const auto add = [&](const JobPtr& job) {
    if (PassesFilter(filter, seen, *job)) out->jobs.push_back(&job);
  };
  out->view->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    for (; next != ended.end() && (*next)->id < job->id; ++next) add(*next);
    if (next != ended.end() && (*next)->id == job->id) ++next;
    add(job);
    return true;
  });
  for (; next != ended.end(); ++next) add(*next);
}

}  // namespace

Result<JobSelection> SchedulerService::SelectJobs(const auth::Principal& who,
                                                  const JobFilter& filter) const {
  const Result<WorldViewPtr> ready = ReadyView();
  if (!ready.ok()) return ready.error();
  const Result<VisibilityPtr> seen = VisibleJobs(authorizer_, who, *(*ready)->config, filter);
  if (!seen.ok()) return seen.error();
  JobSelection out;
  bool kept = !NamesFew(filter);
  if (kept && WantsEnded(filter)) {
    Result<std::shared_ptr<const EndedJobs::List>> ended =
        ended_jobs_.Since(filter.ended_since, (*ready)->as_of);
    if (!ended.ok()) return ended.error();
    out.ended = std::move(*ended);
    kept = out.ended != nullptr;
  }
  if (!kept) {
    Result<JobPage> page = ListJobs(who, filter, "", limits::kPageItemsMax);
    if (!page.ok()) return page.error();
    if (!page->next_page_token.empty()) return kTooMany;
    out.own = std::move(page->items);
    for (const JobPtr& job : out.own) out.jobs.push_back(&job);
    return out;
  }
  // The store was read before the view is taken, so that a job that leaves memory between the two
  // is in at least one of them.
  out.view = engine_.View();
  Select(filter, *seen, &out);
  if (out.jobs.size() > limits::kPageItemsMax) return kTooMany;
  return out;
}

}  // namespace muster::api
