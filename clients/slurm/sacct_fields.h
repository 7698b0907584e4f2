// The fields of sacct: every name of `sacct --helpformat`; those that Muster does not measure are
// empty (rule B23).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "clients/slurm/job_row.h"

namespace muster::slurm {

/// One line of sacct: a job, or the batch step of one.
struct SacctLine {
  const JobRow* row = nullptr;
  bool batch_step = false;
  std::string_view default_ns;
  std::string time_format;
  std::int64_t now = 0;
  char unit = 0;  // of memory: K, M, G, T or P; 0: M or G, by the amount
};

/// The index of a field in any case; nullopt if unknown.
std::optional<std::size_t> SacctField(std::string_view name);
std::string_view SacctName(std::size_t field);
/// The default width; negative for left-justified.
int SacctWidth(std::size_t field);
std::string SacctCell(std::size_t field, const SacctLine& line);
/// All names in columns, as --helpformat prints them.
std::string SacctHelpFormat();

}  // namespace muster::slurm
