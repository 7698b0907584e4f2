// The benchmarks of muster-bench; each starts a musterd of its own and returns its figures.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "tests/bench/figures.h"

namespace muster::bench {

struct BenchOptions {
  std::string bin_dir;        // the directory with musterd, muster and slurm/
  double seconds = 5;         // of each timed part
  int runs = 3;               // medians are printed
  std::size_t jobs = 10'000;  // of the benchmarks with a backlog
  std::size_t big = 100'000;  // of the deep queue
  int kills = 20;             // of the recovery benchmark
  std::string load;           // one of Kueue's loads; "": a backlog
  double scale = 1;           // share of that load's jobs
  std::string virtual_load;   // the same load on the virtual clock; "": not
  bool nothing_fits = false;  // cycles in which nothing fits, instead
  bool victims = false;       // searches for victims, instead
  std::string over;           // only "fake" or only "real" members; "": both
  std::size_t live = 0;       // jobs that run at the same time on 20 fake members, instead
  bool placement = false;     // placements, instead
  int members = 50;           // of the placement benchmark
  bool memory = false;        // of the deep queue: only the growth of the daemon's memory
};

/// REST submission with 64 and 8 connections, jobs:batch, sbatch as a process; beside PostgreSQL's
/// own rates.
Result<std::vector<Figure>> BenchSubmit(const BenchOptions& options);
/// A backlog that is released at once on a simulated member, and submission in the meantime.
Result<std::vector<Figure>> BenchSchedule(const BenchOptions& options);
/// One of Kueue's loads in real time, beside its quota bound.
Result<std::vector<Figure>> BenchLoad(const BenchOptions& options);
/// One of Kueue's loads on the virtual clock, decisions only: admissions per second of CPU.
Result<std::vector<Figure>> BenchVirtual(const BenchOptions& options);
/// Cycles in which nothing fits over 10k, 100k and 1M pending jobs, and the memory of each job.
Result<std::vector<Figure>> BenchNothingFits(const BenchOptions& options);
/// Searches for victims among 10,000 candidates of one cohort.
Result<std::vector<Figure>> BenchVictims(const BenchOptions& options);
/// squeue and single gets over a deep queue, and the daemon's memory.
Result<std::vector<Figure>> BenchQuery(const BenchOptions& options);
/// The latency of submissions, alone and beside 1,000 queries a second over a backlog.
Result<std::vector<Figure>> BenchBeside(const BenchOptions& options);
/// The growth of the daemon's resident memory for each of `big` pending jobs.
Result<std::vector<Figure>> BenchMemory(const BenchOptions& options);
/// kill -9 of daemon and PostgreSQL under submitting clients: counts acknowledged jobs that are
/// gone and jobs that are there twice.
Result<std::vector<Figure>> BenchRecover(const BenchOptions& options);
/// kill -9 of a leader with `big` running jobs beside a standby: how long taking over needs.
Result<std::vector<Figure>> BenchTakeover(const BenchOptions& options);
/// From admission to release on members, beside a plain client that creates the same objects.
Result<std::vector<Figure>> BenchDispatch(const BenchOptions& options);
/// Memory and restart with many jobs that run on fake members.
Result<std::vector<Figure>> BenchLive(const BenchOptions& options);
/// Choosing a member for a job; the rates of placements and of jobs that they govern; how a burst
/// of jobs spreads over unequal members.
Result<std::vector<Figure>> BenchPlacement(const BenchOptions& options);
/// One access decision with 10,000 bindings.
Result<std::vector<Figure>> BenchAccess(const BenchOptions& options);
/// REST submission over TLS with tokens and 10,000 bindings, beside plain loopback.
Result<std::vector<Figure>> BenchSecure(const BenchOptions& options);

}  // namespace muster::bench
