// The fields of squeue: one table of letters, long names, headers and cells (rule B21).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "clients/slurm/columns.h"
#include "clients/slurm/job_row.h"

namespace muster::slurm {

/// What a cell depends on beside its row.
struct RowContext {
  std::string_view default_ns;
  std::string time_format;  // SLURM_TIME_FORMAT
  std::int64_t now = 0;
  bool no_convert = false;  // --noconvert: memory in megabytes
};

/// The index of a field by its letter; nullopt if unknown.
std::optional<std::size_t> SqueueFieldByLetter(char letter);
/// The same by its long name, in any case.
std::optional<std::size_t> SqueueFieldByName(std::string_view name);
/// The column's title.
std::string_view SqueueHeader(std::size_t field);
/// The members of the job view that the cell needs, separated by commas. `state`, `reason` and
/// the short members of `batch` are not among them, because every row needs these.
std::string_view SqueueMembers(std::size_t field);
/// The text of the cell. It is in the row, in static storage or in `scratch`, which is cleared
/// first.
std::string_view SqueueCell(std::size_t field, const JobRow& row, const RowContext& context,
                            std::string* scratch);

/// How many fields there are, for `%all`.
std::size_t SqueueFieldCount();

/// How many seconds the job has run so far, or ran until its end, without those in which it was
/// suspended; 0 before its start.
std::int64_t ElapsedSeconds(const JobRow& row, std::int64_t now);

}  // namespace muster::slurm
