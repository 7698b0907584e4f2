// The list is read as a whole at first and every few minutes. A job that ends meanwhile is in
// memory for a while, so its end is asked for only when a job has left memory since
// (WorldView::retired_seq): then the jobs that ended since the last reading are read, and a little
// before, because a commit may be late. One that is later still comes with the next whole reading.
// A job that ran again is in memory, and what is in memory goes first.
#include "api/service/ended_jobs.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits.h"

namespace muster::api {
namespace {

// How long before the latest known end new ones are looked for.
constexpr std::int64_t kLateUs = 2'000'000;
static_assert(limits::kEndedJobsReadMs < limits::kFinishedJobsKeptMs);

bool ByNumber(const JobPtr& a, const JobPtr& b) { return a->id < b->id; }

// Two lists by number; of a job in both that of `later`.
EndedJobs::List Merged(const EndedJobs::List& earlier, EndedJobs::List later) {
  EndedJobs::List all;
  all.reserve(earlier.size() + later.size());
  std::set_union(std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()),
                 earlier.begin(), earlier.end(), std::back_inserter(all), ByNumber);
  return all;
}

// True while what was found at `then` may be taken for granted.
bool Fresh(WallTime then, WallTime now) {
  return then <= now && now < then.Plus(MillisToMicros(limits::kEndedJobsReadMs));
}

}  // namespace

// A query of the store has at most one state.
Result<std::shared_ptr<EndedJobs::List>> EndedJobs::Read(WallTime since) {
  auto all = std::make_shared<List>();
  for (const JobState state : {JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
    JobQuery query;
    query.state = state;
    query.include_deleted = true;
    query.ended_since = since;
    query.limit = limits::kEndedJobsKept + 1 - all->size();
    Result<List> jobs = read_jobs_(query);
    if (!jobs.ok()) return jobs.error();
    all->insert(all->end(), std::make_move_iterator(jobs->begin()),
                std::make_move_iterator(jobs->end()));
    if (all->size() > limits::kEndedJobsKept) return std::shared_ptr<List>();
  }
  std::sort(all->begin(), all->end(), ByNumber);
  for (const JobPtr& job : *all) newest_ = std::max(newest_, job->end_time);
  return all;
}

Status EndedJobs::AddNew() {
  const Result<std::shared_ptr<List>> ended = Read(std::max(since_, newest_.Plus(-kLateUs)));
  if (!ended.ok()) return ended.error();
  if (*ended == nullptr) {
    list_ = nullptr;
    return Done{};
  }
  // Most readings find nothing new.
  const auto known = [&list = *list_](const JobPtr& job) {
    const auto at = std::lower_bound(list.begin(), list.end(), job, ByNumber);
    return at != list.end() && (*at)->id == job->id &&
           (*at)->resource_version == job->resource_version;
  };
  if (std::all_of((*ended)->begin(), (*ended)->end(), known)) return Done{};
  auto all = std::make_shared<List>(Merged(*list_, std::move(**ended)));
  list_ = all->size() > limits::kEndedJobsKept ? nullptr : std::move(all);
  return Done{};
}

// Whoever comes meanwhile needs the same rows, and waits for them.
Result<std::shared_ptr<const EndedJobs::List>> EndedJobs::Since(WallTime since,
                                                                const WorldView& view) {
  const MutexLock lock(mutex_);
  if (list_ != nullptr && since_ <= since && Fresh(read_, view.as_of)) {
    if (view.retired_seq <= read_seq_) return list_;
    const Status added = AddNew();
    if (!added.ok()) return added.error();
    read_seq_ = view.last_seq;
    if (list_ != nullptr) return list_;
  }
  if (too_many_since_ && since <= *too_many_since_ && Fresh(too_many_at_, view.as_of))
    return std::shared_ptr<const List>();
  list_ = nullptr;
  newest_ = since;
  const Result<std::shared_ptr<List>> all = Read(since);
  if (!all.ok()) return all.error();
  if (*all == nullptr) {
    too_many_since_ = since;
    too_many_at_ = view.as_of;
    return std::shared_ptr<const List>();
  }
  list_ = *all;
  since_ = since;
  read_ = view.as_of;
  // The view was made before the list was read.
  read_seq_ = view.last_seq;
  return list_;
}

void EndedJobs::Forget() {
  const MutexLock lock(mutex_);
  list_ = nullptr;
}

}  // namespace muster::api
