// What tables of jobs are ordered, counted and searched by. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "schedd/model/job.h"

namespace muster::api {

/// What a table can be ordered by and counted by.
enum class JobColumn : std::uint8_t {
  kId,
  kName,
  kNamespace,
  kUser,
  kQueue,
  kClusterQueue,
  kKind,
  kState,
  kReason,
  kCluster,
  kPriority,
  kSubmitTime,
  kStartTime,
  kEndTime,
};
/// The column of a member of the job view: "submitTime"; nullopt for others.
std::optional<JobColumn> JobColumnOf(std::string_view name);
/// True of a column with numbers or times, and of states.
bool HasNumber(JobColumn column);
/// The number or time of such a column; states are in the order of a job's life. 0 for others, and
/// for the job's own number.
std::int64_t NumberOf(const JobRecord& job, JobColumn column);
/// The text of a column that has one, valid as long as the job; "" for numbers and times.
std::string_view TextOf(const JobRecord& job, JobColumn column);
/// Columns whose values are few enough to count jobs by them: all but id, priority and times.
bool CanCountBy(JobColumn column);

/// True if the text is in the job's name, or names the job: its number, the number of its array, a
/// task of it ("7_3"), the beginning of its uid (8 characters or more), one of its pods or hosts.
bool MatchesText(const JobRecord& job, std::string_view text);

}  // namespace muster::api
