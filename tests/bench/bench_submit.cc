// Benchmark: durable submission over REST, in batches and by sbatch processes, beside plain SQL
// clients that insert the same rows into the same PostgreSQL.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tests/bench/benchmarks.h"
#include "tests/bench/http_load.h"
#include "tests/bench/server.h"
#include "tests/bench/sql_ceiling.h"

extern char** environ;  // NOLINT: the environment of the spawned sbatch

namespace muster::bench {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

LoadResult Submit(int port, int connections, double seconds, const std::string& prefix) {
  LoadOptions load;
  load.port = port;
  load.connections = connections;
  load.seconds = seconds;
  load.make = [&prefix](std::size_t i, std::string* name, std::string* path, std::string* body) {
    *name = prefix + std::to_string(i);
    *path = "/v1/namespaces/bench/jobs";
    *body = JobManifest(*name);
  };
  return RunLoad(load);
}

LoadResult SubmitBatches(int port, double seconds, const std::string& prefix) {
  LoadOptions load;
  load.port = port;
  load.connections = 2;
  load.seconds = seconds;
  load.make = [&prefix](std::size_t i, std::string* name, std::string* path, std::string* body) {
    *name = prefix + std::to_string(i);
    *path = "/v1/namespaces/bench/jobs:batch";
    *body = "[";
    for (int j = 0; j < 1000; ++j)
      *body += (j == 0 ? "" : ",") + JobManifest(*name + "-" + std::to_string(j));
    *body += "]";
  };
  return RunLoad(load);
}

struct ProcessRate {
  double per_second = 0, cpu_ms = 0;
};

// Runs sbatch processes one after another; their CPU time is that of the processes alone.
Result<ProcessRate> RunSbatch(const Server& server, int count) {
  setenv("MUSTER_URL", server.url().c_str(), 1);
  setenv("MUSTER_NAMESPACE", "bench", 1);
  const std::string program = server.bin_dir() + "/slurm/sbatch";
  std::string words[] = {"sbatch", "--parsable", "-p",     "bench",
                         "-o",     "/dev/null",  "--wrap", "true"};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
  rusage before{}, after{};
  getrusage(RUSAGE_CHILDREN, &before);
  const double begun = Now();
  for (int i = 0; i < count; ++i) {
    pid_t pid = 0;
    int status = 0;
    if (posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ) != 0)
      return Internal("cannot run sbatch");
    waitpid(pid, &status, 0);
    if (status != 0) return Internal("sbatch failed");
  }
  const double elapsed = Now() - begun;
  getrusage(RUSAGE_CHILDREN, &after);
  posix_spawn_file_actions_destroy(&actions);
  const auto cpu = [](const rusage& use) {
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
  };
  return ProcessRate{count / elapsed, (cpu(after) - cpu(before)) * 1000 / count};
}

struct Rounds {
  std::vector<double> rest64, rest8, batch, sql64, sql8, copy, p99, commit_p50, ratio64, ratio8,
      ratio_batch;
};

Status OneRound(const Server& server, const std::string& url, const BenchOptions& options,
                int round, Rounds* out) {
  const std::string tag = "r" + std::to_string(round);
  const std::string manifest = JobManifest("plain");
  auto sql64 = InsertRate(url, 64, options.seconds, manifest);
  if (!sql64.ok()) return sql64.error();
  auto rest64 = Submit(server.port(), 64, options.seconds, tag + "a");
  if (rest64.answered == 0) return Internal("nothing was accepted: " + rest64.first_refusal);
  auto sql8 = InsertRate(url, 8, options.seconds, manifest);
  if (!sql8.ok()) return sql8.error();
  const auto rest8 = Submit(server.port(), 8, options.seconds, tag + "b");
  auto sql1 = InsertRate(url, 1, 1.0, manifest);
  if (!sql1.ok()) return sql1.error();
  auto copy = CopyRate(url, 1000, options.seconds, manifest);
  if (!copy.ok()) return copy.error();
  const auto batch = SubmitBatches(server.port(), options.seconds, tag + "c");
  out->rest64.push_back(rest64.rate());
  out->p99.push_back(Percentile(&rest64.latencies, 0.99) * 1000);
  out->rest8.push_back(rest8.rate());
  out->batch.push_back(batch.rate() * 1000);
  out->sql64.push_back(sql64->per_second);
  out->sql8.push_back(sql8->per_second);
  out->copy.push_back(copy->per_second);
  out->commit_p50.push_back(Percentile(&sql64->commit_seconds, 0.5) * 1000);
  out->ratio64.push_back(out->rest64.back() / out->sql64.back());
  out->ratio8.push_back(out->rest8.back() / out->sql8.back());
  out->ratio_batch.push_back(out->batch.back() / out->copy.back());
  return Done{};
}

}  // namespace

Result<std::vector<Figure>> BenchSubmit(const BenchOptions& options) {
  Server server(options.bin_dir,
                {"--simulated-cluster=sim,cpu=1000000,memory=1000Ti,run-time-ms=1000"});
  auto started = server.Start();
  if (!started.ok()) return started.error();
  auto applied = server.Call("POST", "/v1/apply", QueueManifests("1000000", true));
  if (!applied.ok()) return applied.error();
  auto url = server.PostgresUrl();
  if (!url.ok()) return url.error();
  Rounds rounds;
  for (int i = 0; i < options.runs; ++i) {
    auto status = OneRound(server, *url, options, i, &rounds);
    if (!status.ok()) return status.error();
  }
  auto sbatch = RunSbatch(server, 500);
  if (!sbatch.ok()) return sbatch.error();
  return std::vector<Figure>{
      {"REST, 64 connections, one Job each", Median(rounds.rest64), "jobs/s", 0, false, ""},
      {"64 plain SQL clients, same row each", Median(rounds.sql64), "rows/s", 0, false,
       "the ceiling"},
      {"ratio", Median(rounds.ratio64), "", 1.0, false, "of that ceiling, median of ratios"},
      {"REST 64: p99", Median(rounds.p99), "ms", 5 * Median(rounds.commit_p50), true,
       "5 x one commit of the 64 clients (p50)"},
      {"REST, 8 connections", Median(rounds.rest8), "jobs/s", 2829, false,
       "Slurm's best here, not durable"},
      {"8 plain SQL clients", Median(rounds.sql8), "rows/s", 0, false, "the ceiling"},
      {"ratio, 8 connections", Median(rounds.ratio8), "", 0.5, false, "of that ceiling"},
      {"jobs:batch, 1,000 a request", Median(rounds.batch), "jobs/s", 0, false, ""},
      {"COPY of the same rows, 1,000 a commit", Median(rounds.copy), "rows/s", 0, false,
       "the ceiling"},
      {"ratio, jobs:batch", Median(rounds.ratio_batch), "", 0.5, false, "of that ceiling"},
      {"sbatch, one process after another", sbatch->per_second, "/s", 363, false,
       "1.5 x Slurm's best here (242/s)"},
      {"sbatch: CPU of one process", sbatch->cpu_ms, "ms", 3, true, ""},
  };
}

}  // namespace muster::bench
