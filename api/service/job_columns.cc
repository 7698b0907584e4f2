#include "api/service/job_columns.h"

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

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool Contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return Lower(a) == Lower(b); }) != text.end();
}

}  // namespace

std::optional<JobColumn> JobColumnOf(std::string_view name) {
  for (const auto& [text, column] : kColumns) {
    if (text == name) return column;
  }
  return std::nullopt;
}

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

}  // namespace muster::api
