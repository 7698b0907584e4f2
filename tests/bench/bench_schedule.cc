#include <chrono>
#include <thread>

#include "schedd/text/json.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/http_load.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

LoadResult SubmitFor(const Server& server, double seconds, const std::string& prefix) {
  LoadOptions load;
  load.port = server.port();
  load.connections = 8;
  load.seconds = seconds;
  load.make = [&prefix](std::size_t i, std::string* name, std::string* path, std::string* body) {
    *name = prefix + std::to_string(i);
    *path = "/v1/namespaces/bench/jobs";
    *body = JobManifest(*name);
  };
  return RunLoad(load);
}

// Seconds from the release of `count` held jobs until none of them is pending.
Result<double> ReleaseAndWait(const Server& server) {
  const double begun = Now();
  auto released = server.Call("POST", "/v1/apply", QueueManifests("1000000000", false));
  if (!released.ok()) return released.error();
  for (;;) {
    if (JobsIn(server, "Pending") == 0 && JobsIn(server, "Admitted") == 0) return Now() - begun;
    if (Now() - begun > 120) return Internal("the backlog did not start in 120 s");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

struct OneRun {
  double start_rate = 0, undisturbed = 0, meanwhile = 0, p99_ms = 0;
};

Result<OneRun> Run(const BenchOptions& options) {
  OneRun out;
  Server server(options.bin_dir,
                {"--simulated-cluster=sim,cpu=1000000000,memory=100000Ti,run-time-ms=600000"});
  auto started = server.Start();
  if (!started.ok()) return started.error();
  auto applied = server.Call("POST", "/v1/apply", QueueManifests("1000000000", true));
  if (!applied.ok()) return applied.error();
  auto status = SubmitBacklog(server, options.jobs, "quiet", JobManifest);
  if (!status.ok()) return status.error();
  auto seconds = ReleaseAndWait(server);
  if (!seconds.ok()) return seconds.error();
  out.start_rate = static_cast<double>(options.jobs) / *seconds;

  auto held = server.Call("POST", "/v1/apply", QueueManifests("1000000000", true));
  if (!held.ok()) return held.error();
  out.undisturbed = SubmitFor(server, options.seconds, "alone").rate();
  status = SubmitBacklog(server, options.jobs, "busy", JobManifest);
  if (!status.ok()) return status.error();
  auto released = server.Call("POST", "/v1/apply", QueueManifests("1000000000", false));
  if (!released.ok()) return released.error();
  auto meanwhile = SubmitFor(server, options.seconds, "meanwhile");
  out.meanwhile = meanwhile.rate();
  out.p99_ms = Percentile(&meanwhile.latencies, 0.99) * 1000;
  return out;
}

}  // namespace

Result<std::vector<Figure>> BenchSchedule(const BenchOptions& options) {
  if (!options.load.empty()) return BenchLoad(options);
  if (!options.virtual_load.empty()) return BenchVirtual(options);
  if (options.nothing_fits) return BenchNothingFits(options);
  if (options.victims) return BenchVictims(options);
  std::vector<double> rates, undisturbed, meanwhile, ratios, p99;
  for (int i = 0; i < options.runs; ++i) {
    auto run = Run(options);
    if (!run.ok()) return run.error();
    rates.push_back(run->start_rate);
    undisturbed.push_back(run->undisturbed);
    meanwhile.push_back(run->meanwhile);
    ratios.push_back(run->meanwhile / run->undisturbed);
    p99.push_back(run->p99_ms);
  }
  return std::vector<Figure>{
      {"backlog released at once: admitted and started", Median(rates), "jobs/s", 3000, false,
       "Slurm tuned: 660 to 708/s"},
      {"submission, 8 connections, nothing starting", Median(undisturbed), "jobs/s", 0, false, ""},
      {"submission while jobs are started", Median(meanwhile), "jobs/s", 0, false, ""},
      {"ratio", Median(ratios), "", 0.5, false, "of the undisturbed rate"},
      {"submission while jobs are started: p99", Median(p99), "ms", 0, false,
       "Slurm: 48 to 2,244 ms"},
  };
}

}  // namespace muster::bench
