// sacct's options and its SACCT_* variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/slurm/clusters.h"
#include "clients/slurm/command.h"

namespace muster::slurm {

inline constexpr char kSacct[] = "sacct";

/// A column that the user asked for, by its index in the table of sacct_fields.
struct SacctColumn {
  std::size_t field = 0;
  int width = 0;  // negative: left
};

/// A range of numbers; a high of 0 means no bound.
struct SacctRange {
  bool set = false;
  std::int64_t low = 0, high = 0;
};

struct SacctOptions {
  std::vector<JobSpec> jobs;
  std::vector<std::string> users, accounts, partitions, qos, names, nodes, groups, constraints,
      reasons, wckeys;
  ClusterChoice clusters;
  std::vector<State> states;
  std::vector<SacctColumn> columns;
  std::optional<std::int64_t> start, end;
  SacctRange node_count, cpu_count, limit_minutes;
  std::string format, delimiter = "|";
  char unit = 0;  // of memory; 0: what reads best
  bool by_state = false, all_users = false, allocations = false, no_header = false,
       parsable = false, parsable2 = false, duplicates = false, truncate = false,
       no_convert = false, json = false, yaml = false, script = false, environment = false;
  bool help = false, help_format = false, version = false;
};

/// Parses the command line, then the variables. False after an error on stderr or when there is
/// nothing more to do; `*exit` then has the status.
bool ParseSacct(int argc, char** argv, SacctOptions* options, int* exit);

}  // namespace muster::slurm
