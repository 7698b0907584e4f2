// The benchmarks of muster-bench; each starts a musterd of its own and returns its figures.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "tests/bench/figures.h"

namespace muster::bench {

struct BenchOptions {
  std::string bin_dir;        // where musterd, muster and slurm/ are
  double seconds = 5;         // of each timed stretch
  int runs = 3;               // medians are printed
  std::size_t jobs = 10'000;  // of the backlog benchmarks
  std::size_t big = 100'000;  // of the deep queue
  int kills = 20;             // of the recovery benchmark
};

/// REST submission with 64 and 8 connections, jobs:batch, sbatch as a process; beside PostgreSQL's
/// own rates.
Result<std::vector<Figure>> BenchSubmit(const BenchOptions& options);
/// A backlog released at once on a member that only sleeps, and submission meanwhile.
Result<std::vector<Figure>> BenchSchedule(const BenchOptions& options);
/// squeue and single gets over a deep queue; the daemon's memory with it.
Result<std::vector<Figure>> BenchQuery(const BenchOptions& options);
/// kill -9 of daemon and PostgreSQL under submitting clients: what was acknowledged and is gone, or
/// is there twice.
Result<std::vector<Figure>> BenchRecover(const BenchOptions& options);

}  // namespace muster::bench
