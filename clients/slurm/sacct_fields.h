// The fields of sacct: every name of `sacct --helpformat`; those that Muster does not measure are
// empty (rule B23).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "clients/slurm/attempts.h"
#include "clients/slurm/job_row.h"

namespace muster::slurm {

/// One line of sacct: a job (or an earlier attempt of one, as a row of its own), its batch step, or
/// one of its steps.
struct SacctLine {
  const JobRow* row = nullptr;
  bool batch_step = false;
  const StepInfo* step = nullptr;  // of a line of a step
  MeasuredUse use;                 // what the line's processes used
  SlurmExit derived;               // the highest exit of the job's steps
  std::string_view default_ns;
  std::string time_format;
  std::int64_t now = 0;
  /// -T: times outside of the window are shown as its ends. 0: not cut.
  std::int64_t cut_from = 0, cut_to = 0;
  char unit = 0;            // of memory: K, M, G, T or P; 0: M or G, by the amount
  bool no_convert = false;  // memory in the unit that it is stored in

  bool of_step() const { return batch_step || step != nullptr; }
};

/// The index of a field in any case; nullopt if unknown.
std::optional<std::size_t> SacctField(std::string_view name);
std::string_view SacctName(std::size_t field);
/// The default width; negative for left-justified.
int SacctWidth(std::size_t field);
std::string SacctCell(std::size_t field, const SacctLine& line);
/// All names in columns, as --helpformat prints them.
std::string SacctHelpFormat();

/// The parts of a line that other documents show too.
std::string LineId(const SacctLine& line);
State LineState(const SacctLine& line);
SlurmExit LineExit(const SacctLine& line);
std::int64_t LineStart(const SacctLine& line);  // seconds since 1970; 0: not yet
std::int64_t LineEnd(const SacctLine& line);
std::int64_t LineElapsed(const SacctLine& line);
std::int64_t LineCpus(const SacctLine& line);
/// "CANCELLED by 1000" for a cancelled job, else the state's long name.
std::string LineStateText(const SacctLine& line);
/// Why the job waits, "None" if it does not: accounting keeps no reason of an end.
std::string_view AccountedReason(const JobRow& row);

}  // namespace muster::slurm
