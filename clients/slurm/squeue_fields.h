// What squeue can show of a job: one table of letters, long names and headers (rule B21).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "clients/slurm/columns.h"
#include "clients/slurm/job_row.h"

namespace muster::slurm {

/// What cells depend on beside the row.
struct RowContext {
  std::string_view default_ns;
  std::string time_format;  // SLURM_TIME_FORMAT
  std::int64_t now = 0;
  std::string_view array_text;  // not empty: the id cell of a line that stands for several tasks
  bool step_line = false;       // squeue -s: the id is "ID.batch"
  bool no_convert = false;      // --noconvert: memory in megabytes
};

std::optional<std::size_t> SqueueFieldByLetter(char letter);
std::optional<std::size_t> SqueueFieldByName(std::string_view name);
/// The column's title.
std::string_view SqueueHeader(std::size_t field);
/// The members of the job view that the cell is made of, comma-separated, beside `state` and
/// `reason`, which tell a row's state.
std::string_view SqueueMembers(std::size_t field);
/// The cell; the text is in the row, in static storage or in `scratch`, which is cleared first.
std::string_view SqueueCell(std::size_t field, const JobRow& row, const RowContext& context,
                            std::string* scratch);

/// Seconds a job has run, or ran; 0 before its start.
std::int64_t ElapsedSeconds(const JobRow& row, std::int64_t now);

}  // namespace muster::slurm
