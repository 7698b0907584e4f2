// A table is read as one list by number (ListJobs), so that rights and filters are those of every
// list; then it is searched, ordered and cut. Only the piece that is asked for is sorted.
#include "api/service/job_table.h"

#include <algorithm>
#include <array>
#include <compare>
#include <utility>

#include "schedd/base/limits.h"

namespace muster::api {
namespace {

constexpr std::array<std::pair<std::string_view, JobColumn>, 14> kColumns = {{
    {"id", JobColumn::kId},
    {"name", JobColumn::kName},
    {"namespace", JobColumn::kNamespace},
    {"user", JobColumn::kUser},
    {"queue", JobColumn::kQueue},
    {"clusterQueue", JobColumn::kClusterQueue},
    {"kind", JobColumn::kKind},
    {"state", JobColumn::kState},
    {"reason", JobColumn::kReason},
    {"cluster", JobColumn::kCluster},
    {"priority", JobColumn::kPriority},
    {"submitTime", JobColumn::kSubmitTime},
    {"startTime", JobColumn::kStartTime},
    {"endTime", JobColumn::kEndTime},
}};

// The text of a column that has one; "" for numbers and times.
std::string_view TextOf(const JobRecord& job, JobColumn column) {
  switch (column) {
    case JobColumn::kName:
      return job.display_name.empty() ? job.name : job.display_name;
    case JobColumn::kNamespace:
      return job.ns;
    case JobColumn::kUser:
      return job.user;
    case JobColumn::kQueue:
      return job.local_queue;
    case JobColumn::kClusterQueue:
      return job.cluster_queue;
    case JobColumn::kKind:
      return ShapeKindName(job.shape);
    case JobColumn::kState:
      return JobStateName(job.state);
    case JobColumn::kReason:
      return ReasonName(job.reason);
    case JobColumn::kCluster:
      return job.cluster;
    default:
      return {};
  }
}

// The number of a column that has one, or its time; states are in the order of a job's life.
std::int64_t NumberOf(const JobRecord& job, JobColumn column) {
  switch (column) {
    case JobColumn::kPriority:
      return job.priority;
    case JobColumn::kSubmitTime:
      return job.submit_time.us;
    case JobColumn::kStartTime:
      return job.start_time.us;
    case JobColumn::kEndTime:
      return job.end_time.us;
    case JobColumn::kState:
      return static_cast<std::int64_t>(job.state);
    default:
      return 0;
  }
}

bool HasNumber(JobColumn column) {
  return column == JobColumn::kPriority || column == JobColumn::kState ||
         column == JobColumn::kSubmitTime || column == JobColumn::kStartTime ||
         column == JobColumn::kEndTime;
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool Contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return Lower(a) == Lower(b); }) != text.end();
}

// All jobs that match, by number.
Result<std::vector<JobPtr>> MatchingJobs(const SchedulerService& service,
                                         const auth::Principal& who, const JobFilter& filter,
                                         const std::string& text) {
  Result<JobPage> all = service.ListJobs(who, filter, "", limits::kPageItemsMax);
  if (!all.ok()) return all.error();
  if (!all->next_page_token.empty()) {
    return InvalidArgument("more than " + std::to_string(limits::kPageItemsMax) +
                           " jobs match: name a state, a namespace or a later `since`");
  }
  if (!text.empty())
    std::erase_if(all->items, [&](const JobPtr& job) { return !MatchesText(*job, text); });
  return std::move(all->items);
}

}  // namespace

std::optional<JobColumn> JobColumnOf(std::string_view name) {
  for (const auto& [text, column] : kColumns) {
    if (text == name) return column;
  }
  return std::nullopt;
}

bool CanCountBy(JobColumn column) {
  return column == JobColumn::kState || (column != JobColumn::kId && !HasNumber(column));
}

bool MatchesText(const JobRecord& job, std::string_view text) {
  if (Contains(job.name, text) || Contains(job.display_name, text)) return true;
  if (text == std::to_string(job.id.value)) return true;
  if (job.batch != nullptr && job.batch->array_job_id.value != 0) {
    const std::string array = std::to_string(job.batch->array_job_id.value);
    if (text == array || text == array + "_" + std::to_string(job.batch->array_task_id))
      return true;
  }
  constexpr std::size_t kUidStart = 8;
  if (text.size() >= kUidStart && job.uid.ToString().starts_with(text)) return true;
  // Pods and hosts begin with the name of their job.
  return text.size() > job.name.size() && text.starts_with(job.name) &&
         text[job.name.size()] == '-';
}

Result<JobTable> TableOfJobs(const SchedulerService& service, const auth::Principal& who,
                             const JobTableAsk& ask) {
  Result<std::vector<JobPtr>> jobs = MatchingJobs(service, who, ask.filter, ask.text);
  if (!jobs.ok()) return jobs.error();
  const auto before = [&](const JobPtr& a, const JobPtr& b) {
    std::strong_ordering order = std::strong_ordering::equal;
    if (HasNumber(ask.order)) {
      order = NumberOf(*a, ask.order) <=> NumberOf(*b, ask.order);
    } else {
      order = TextOf(*a, ask.order) <=> TextOf(*b, ask.order);
    }
    if (order == std::strong_ordering::equal) order = a->id <=> b->id;
    return ask.descending ? order > 0 : order < 0;
  };
  JobTable table;
  table.total = jobs->size();
  const auto first = jobs->begin() + static_cast<std::ptrdiff_t>(std::min(ask.offset, table.total));
  const auto left = static_cast<std::size_t>(jobs->end() - first);
  const auto last = first + static_cast<std::ptrdiff_t>(std::min(ask.limit, left));
  if (first != last) std::nth_element(jobs->begin(), first, jobs->end(), before);
  std::partial_sort(first, last, jobs->end(), before);
  table.items.assign(std::make_move_iterator(first), std::make_move_iterator(last));
  return table;
}

Result<std::map<std::string, JobCount>> CountJobsBy(const SchedulerService& service,
                                                    const auth::Principal& who,
                                                    const JobFilter& filter,
                                                    const std::string& text, JobColumn column) {
  const Result<std::vector<JobPtr>> jobs = MatchingJobs(service, who, filter, text);
  if (!jobs.ok()) return jobs.error();
  std::map<std::string, JobCount> counts;
  for (const JobPtr& job : *jobs) {
    JobCount& one = counts[std::string(TextOf(*job, column))];
    ++one.count;
    ++one.states[job->state];
  }
  return counts;
}

}  // namespace muster::api
