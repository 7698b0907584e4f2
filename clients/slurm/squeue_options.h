// squeue's command line and SQUEUE_* environment (rules B12, B21).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/slurm/clusters.h"
#include "clients/slurm/columns.h"
#include "clients/slurm/command.h"

namespace muster::slurm {

/// The command's name in its messages.
inline constexpr char kSqueue[] = "squeue";

struct SortKey {
  std::size_t field = 0;  // of squeue_fields.h, or with -s of squeue_steps.h
  bool descending = false;
};

struct SqueueOptions {
  std::vector<std::string> users, names, partitions, accounts, qos, nodes, licenses, reservations;
  ClusterChoice clusters;
  std::vector<JobSpec> jobs;
  /// With by_state: the states to show. Empty if -t names only states that Muster's jobs never
  /// have.
  std::vector<State> states;
  bool by_state = false;  // -t was given; otherwise the default set is shown
  bool all_states = false;
  bool by_job = false;  // -j was given
  bool me = false;      // --me: `users` is whom the server takes the caller for
  bool no_header = false, one_line_per_task = false, long_form = false, steps = false,
       start = false, json = false, yaml = false, no_convert = false, only_state = false;
  bool help = false, version = false;
  std::int64_t every_s = 0;  // -i
  Format format;
  std::vector<SortKey> sort;
};

/// Parses the command line, then SQUEUE_* for what the command line leaves open. False after an
/// error on stderr; `*exit` then has the status.
bool ParseSqueue(int argc, char** argv, SqueueOptions* options, int* exit);

/// True if a job in this state is shown.
bool ShowsState(const SqueueOptions& options, State state);

/// The text of `squeue --help`.
std::string_view SqueueHelp();

}  // namespace muster::slurm
