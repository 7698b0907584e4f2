#include "api/service/job_source.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "api/service/job_filter.h"

namespace muster::api {
namespace {

const EndedJobs::List& EndedOf(const JobSource& source) {
  static const EndedJobs::List kNone;
  return source.ended == nullptr ? kNone : *source.ended;
}

// The numbers under which two lists have different records. A record that both have is passed by
// its address alone.
void AddChanges(const EndedJobs::List& before, const EndedJobs::List& after,
                std::vector<JobId>* ids) {
  auto a = before.begin();
  auto b = after.begin();
  while (a != before.end() || b != after.end()) {
    if (a != before.end() && b != after.end() && *a == *b) {
      ++a, ++b;
    } else if (b == after.end() || (a != before.end() && (*a)->id < (*b)->id)) {
      ids->push_back((*a++)->id);
    } else {
      if (a != before.end() && (*a)->id == (*b)->id) ++a;
      ids->push_back((*b++)->id);
    }
  }
}

// The store finds these itself, and they are few.
bool NamesFew(const JobFilter& filter) {
  return !filter.ids.empty() || !filter.name.empty() || filter.array.value != 0;
}

}  // namespace

Result<std::optional<JobSource>> JobSources::Of(const JobFilter& filter, const WorldView& view) {
  if (NamesFew(filter)) return std::optional<JobSource>();
  JobSource source{view.jobs, nullptr};
  if (WantsEnded(filter)) {
    Result<std::shared_ptr<const EndedJobs::List>> ended = ended_.Since(filter.ended_since, view);
    if (!ended.ok()) return ended.error();
    if (*ended == nullptr) return std::optional<JobSource>();
    source.ended = std::move(*ended);
  }
  return std::optional(std::move(source));
}

JobPtr JobSource::Find(JobId id) const {
  JobPtr job = jobs.Find(id);
  if (job != nullptr) return job;
  const EndedJobs::List& list = EndedOf(*this);
  const auto at =
      std::lower_bound(list.begin(), list.end(), id,
                       [](const JobPtr& one, JobId wanted) { return one->id < wanted; });
  return at != list.end() && (*at)->id == id ? *at : nullptr;
}

void JobSource::ForEach(const std::function<void(const JobPtr&)>& visit) const {
  const EndedJobs::List& list = EndedOf(*this);
  auto next = list.begin();
  jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    for (; next != list.end() && (*next)->id < job->id; ++next) visit(*next);
    if (next != list.end() && (*next)->id == job->id) ++next;
    visit(job);
    return true;
  });
  for (; next != list.end(); ++next) visit(*next);
}

void ForEachChange(const JobSource& before, const JobSource& after,
                   const std::function<void(const JobPtr&, const JobPtr&)>& visit) {
  std::vector<JobId> ids;
  muster::JobTable::ForEachChange(before.jobs, after.jobs, [&](JobId id) { ids.push_back(id); });
  if (before.ended != after.ended) {
    const auto in_memory = static_cast<std::ptrdiff_t>(ids.size());
    AddChanges(EndedOf(before), EndedOf(after), &ids);
    std::inplace_merge(ids.begin(), ids.begin() + in_memory, ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }
  for (const JobId id : ids) {
    const JobPtr old = before.Find(id), now = after.Find(id);
    if (old != now) visit(old, now);
  }
}

}  // namespace muster::api
