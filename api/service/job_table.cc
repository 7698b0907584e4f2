// A table is read as one list by number (SelectJobs), so that rights and filters are those of every
// list; then it is searched, ordered and cut. Only the piece that is asked for is sorted.
#include "api/service/job_table.h"

#include <algorithm>
#include <array>
#include <utility>

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

// The jobs from `first` to `last` in the order of a column. What is compared is taken out of the
// records once, because each look at a record of many is a look into far memory.
template <class Value>
std::vector<JobPtr> Piece(const std::vector<const JobPtr*>& jobs,
                          Value (*value_of)(const JobRecord&, JobColumn), const JobTableAsk& ask,
                          std::size_t first, std::size_t last) {
  // `jobs` is by number, so places break ties as numbers do.
  std::vector<std::pair<Value, std::size_t>> places;
  places.reserve(jobs.size());
  for (const JobPtr* job : jobs) places.emplace_back(value_of(**job, ask.order), places.size());
  const auto before = [&](const auto& a, const auto& b) { return ask.descending ? b < a : a < b; };
  const auto begin = places.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(last);
  if (begin != end) std::nth_element(places.begin(), begin, places.end(), before);
  std::partial_sort(begin, end, places.end(), before);
  std::vector<JobPtr> piece;
  for (auto one = begin; one != end; ++one) piece.push_back(*jobs[one->second]);
  return piece;
}

// All jobs that match, by number.
Result<JobSelection> MatchingJobs(const SchedulerService& service, const auth::Principal& who,
                                  const JobFilter& filter, const std::string& text) {
  Result<JobSelection> all = service.SelectJobs(who, filter);
  if (all.ok() && !text.empty())
    std::erase_if(all->jobs, [&](const JobPtr* job) { return !MatchesText(**job, text); });
  return all;
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
  const Result<JobSelection> found = MatchingJobs(service, who, ask.filter, ask.text);
  if (!found.ok()) return found.error();
  const std::vector<const JobPtr*>& jobs = found->jobs;
  JobTable table;
  table.total = jobs.size();
  const std::size_t first = std::min(ask.offset, table.total);
  const std::size_t last = first + std::min(ask.limit, table.total - first);
  if (ask.order == JobColumn::kId) {
    const auto at = [&](std::size_t i) { return ask.descending ? table.total - 1 - i : i; };
    for (std::size_t i = first; i < last; ++i) table.items.push_back(*jobs[at(i)]);
  } else if (HasNumber(ask.order)) {
    table.items = Piece<std::int64_t>(jobs, NumberOf, ask, first, last);
  } else {
    table.items = Piece<std::string_view>(jobs, TextOf, ask, first, last);
  }
  return table;
}

Result<std::map<std::string, JobCount>> CountJobsBy(const SchedulerService& service,
                                                    const auth::Principal& who,
                                                    const JobFilter& filter,
                                                    const std::string& text, JobColumn column) {
  const Result<JobSelection> found = MatchingJobs(service, who, filter, text);
  if (!found.ok()) return found.error();
  std::map<std::string, JobCount> counts;
  for (const JobPtr* job : found->jobs) {
    JobCount& one = counts[std::string(TextOf(**job, column))];
    ++one.count;
    ++one.states[(*job)->state];
  }
  return counts;
}

}  // namespace muster::api
