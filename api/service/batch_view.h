// The member `batch` of the job view: what a batch script was submitted with and has become. Pure
// functions, thread-safe.
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::api {

/// Members of `batch`: bit i stands for the i-th one.
using BatchMembers = std::bitset<49>;

/// The bit of the member with this name; none if there is no such member.
std::optional<std::size_t> BatchMemberOf(std::string_view name);
/// The members that a list of many jobs is made from, `?fields=batch.brief`: all but long texts and
/// what nearly every script says.
const BatchMembers& BriefBatchMembers();

/// Null for jobs that are no batch scripts. Patterns of file names are expanded. Times are RFC 3339
/// or "".
json::value BatchJson(const JobRecord& job);
/// Appends the same as text.
void AppendBatch(const JobRecord& job, std::string* out);
/// Appends an object with these members only, in their order; of those the ones that are "", 0,
/// false, null or empty, and an array task id of -1, are left out.
void AppendBatch(const JobRecord& job, BatchMembers members, std::string* out);

}  // namespace muster::api
