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
  std::string load;           // one of Kueue's own loads; "": the backlog
  double scale = 1;           // share of that load's jobs
  std::string virtual_load;   // the same on the virtual clock; "": not
  bool nothing_fits = false;  // cycles over a full house instead
  bool victims = false;       // searches for victims instead
  std::string over;           // "fake" or "real" members alone; "": both
  std::size_t live = 0;       // so many jobs run at once on 20 fake members instead
  bool placement = false;     // what choosing among members costs instead, and how it spreads
  int members = 50;           // of that
  bool memory = false;        // of the deep queue: only what the daemon's memory grows by
};

/// REST submission with 64 and 8 connections, jobs:batch, sbatch as a process; beside PostgreSQL's
/// own rates.
Result<std::vector<Figure>> BenchSubmit(const BenchOptions& options);
/// A backlog released at once on a member that only sleeps, and submission meanwhile.
Result<std::vector<Figure>> BenchSchedule(const BenchOptions& options);
/// One of Kueue's own loads in real time, beside its quota bound.
Result<std::vector<Figure>> BenchLoad(const BenchOptions& options);
/// The same on the virtual clock, decisions only: admissions per second of CPU.
Result<std::vector<Figure>> BenchVirtual(const BenchOptions& options);
/// Cycles in which nothing fits over 10k, 100k and 1M pending jobs, and what each job takes of
/// memory.
Result<std::vector<Figure>> BenchNothingFits(const BenchOptions& options);
/// Searches for victims among 10,000 candidates of one cohort.
Result<std::vector<Figure>> BenchVictims(const BenchOptions& options);
/// squeue and single gets over a deep queue; the daemon's memory with it.
Result<std::vector<Figure>> BenchQuery(const BenchOptions& options);
/// What the daemon's resident memory grows by for each of `big` pending jobs.
Result<std::vector<Figure>> BenchMemory(const BenchOptions& options);
/// kill -9 of daemon and PostgreSQL under submitting clients: what was acknowledged and is gone, or
/// is there twice.
Result<std::vector<Figure>> BenchRecover(const BenchOptions& options);
/// From admitted to released on members, beside a plain client that posts the same objects.
Result<std::vector<Figure>> BenchDispatch(const BenchOptions& options);
/// Memory and restart with many jobs that run on fake members.
Result<std::vector<Figure>> BenchLive(const BenchOptions& options);
/// Choosing a member for a job; placements and jobs that go by them over many members; how a burst
/// spreads over unequal ones.
Result<std::vector<Figure>> BenchPlacement(const BenchOptions& options);

}  // namespace muster::bench
