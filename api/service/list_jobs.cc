// Use case: list jobs, page by page. Holds SchedulerService::ListJobs.
//
// Live jobs and those that ended lately are in memory (the published view); all ended jobs are in
// the store. Both sources answer in id order from the page's first id on, with at most one page
// each and one job more; their merge, cut to a page, is therefore the page. A job that is in both
// is taken from memory. A page begins after the last id of the page before, so jobs that come and
// go between two pages shift nothing. Both sources leave out what the caller may not see before the
// page is cut (rule U23).
#include "api/service/list_jobs.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "api/service/job_filter.h"
#include "api/service/job_rights.h"
#include "api/service/scheduler_service.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

constexpr std::size_t kDefaultPage = 100;
// The prefix of page tokens, which clients treat as opaque.
constexpr std::string_view kTokenPrefix = "after-";

// The id after which a page begins; 0 for the first page.
Result<JobId> ParseToken(const std::string& token) {
  if (token.empty()) return JobId{};
  std::int64_t id = -1;
  if (token.starts_with(kTokenPrefix)) {
    const char* end = token.data() + token.size();
    const auto parsed = std::from_chars(token.data() + kTokenPrefix.size(), end, id);
    if (parsed.ec != std::errc() || parsed.ptr != end) id = -1;
  }
  if (id < 0) return InvalidField("page_token", "is not one that this server gave");
  return JobId{id};
}

JobQuery QueryOf(const JobFilter& filter, const VisibilityPtr& seen, JobId after,
                 std::size_t count) {
  JobQuery query;
  query.visible = seen;
  query.ns = filter.ns;
  query.queue = filter.queue;
  query.user = filter.user;
  query.name = filter.name;
  query.shape = filter.shape;
  query.array = filter.array;
  query.include_deleted = filter.include_deleted;
  query.ids = filter.ids;
  query.after = after;
  query.limit = count;
  return query;
}

// Adds ended jobs of the store to `found`. A query of the store has at most one state, so each
// wanted state is read on its own, with at most `count` jobs: enough for a page in any mix of
// states. With a name or with ids one query finds the jobs of all states, since they are few.
Status ReadEnded(Store& store, const JobFilter& filter, const VisibilityPtr& seen, JobId after,
                 std::size_t count, std::map<JobId, JobPtr>* found) {
  const auto ended = [&](const JobRecord& job) {
    return IsTerminal(job.state) && WantsState(filter, job.state) &&
           (!filter.ended_since.set() || job.end_time >= filter.ended_since);
  };
  if (!filter.name.empty() || !filter.ids.empty()) {
    JobQuery query = QueryOf(filter, seen, after, count);
    // Those that have not ended must not take the places of ended ones.
    if (!filter.ids.empty()) query.limit = std::max(count, filter.ids.size());
    const Result<std::vector<JobPtr>> jobs = store.ReadJobs(query);
    if (!jobs.ok()) return jobs.error();
    for (const JobPtr& job : *jobs) {
      if (ended(*job)) found->emplace(job->id, job);
    }
    return Done{};
  }
  for (const JobState state : {JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
    if (!WantsState(filter, state)) continue;
    JobQuery query = QueryOf(filter, seen, after, count);
    query.state = state;
    query.ended_since = filter.ended_since;
    const Result<std::vector<JobPtr>> jobs = store.ReadJobs(query);
    if (!jobs.ok()) return jobs.error();
    for (const JobPtr& job : *jobs) found->emplace(job->id, job);
  }
  return Done{};
}

// Merges two lists in id order; of a job in both, the record of `live` stays.
std::vector<JobPtr> Merged(std::vector<JobPtr> live, const std::map<JobId, JobPtr>& ended) {
  if (ended.empty()) return live;
  std::vector<JobPtr> all;
  all.reserve(live.size() + ended.size());
  auto next = ended.begin();
  for (JobPtr& job : live) {
    for (; next != ended.end() && next->first < job->id; ++next) all.push_back(next->second);
    if (next != ended.end() && next->first == job->id) ++next;
    all.push_back(std::move(job));
  }
  for (; next != ended.end(); ++next) all.push_back(next->second);
  return all;
}

}  // namespace

std::string PageTokenAfter(JobId last) {
  return std::string(kTokenPrefix) + std::to_string(last.value);
}

Result<JobPage> SchedulerService::ListJobs(const auth::Principal& who, const JobFilter& filter,
                                           const std::string& page_token, std::size_t limit) const {
  const Result<WorldViewPtr> ready = ReadyView();
  if (!ready.ok()) return ready.error();
  const Result<VisibilityPtr> seen = VisibleJobs(authorizer_, who, *(*ready)->config, filter);
  if (!seen.ok()) return seen.error();
  const Result<JobId> after = ParseToken(page_token);
  if (!after.ok()) return after.error();
  const std::size_t size = limit == 0 ? kDefaultPage : std::min(limit, limits::kPageItemsMax);

  std::map<JobId, JobPtr> ended;
  // The store is read before the view is taken, so that a job that ends or leaves memory between
  // the two is in at least one of them.
  if (WantsEnded(filter)) {
    const Status read = ReadEnded(store_, filter, *seen, *after, size + 1, &ended);
    if (!read.ok()) return read.error();
  }
  const WorldViewPtr view = engine_.View();
  std::vector<JobPtr> live;
  const auto add = [&](const JobPtr& job) {
    if (PassesFilter(filter, *seen, *job)) live.push_back(job);
    return live.size() <= size;
  };
  if (filter.ids.empty()) {
    view->jobs.ForEach(*after, add);
  } else {
    // Few ids are looked up, not searched among all jobs.
    for (const JobId id : filter.ids) {
      const JobPtr job = *after < id ? view->jobs.Find(id) : nullptr;
      if (job != nullptr && !add(job)) break;
    }
  }
  // One job more than a page was asked for, so a longer list means that there is a next page.
  JobPage page;
  page.items = Merged(std::move(live), ended);
  if (page.items.size() > size) {
    page.items.resize(size);
    page.next_page_token = PageTokenAfter(page.items.back()->id);
  }
  return page;
}

}  // namespace muster::api
