// Benchmark: squeue over a deep queue of pending jobs, single gets in the meantime, and the
// daemon's memory.
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/bench/benchmarks.h"
#include "tests/bench/http_load.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<double> TimeSqueue(const Server& server, const std::string& arguments) {
  const std::string command = "MUSTER_URL=" + server.url() + " MUSTER_NAMESPACE=bench " +
                              server.bin_dir() + "/slurm/squeue " + arguments + " >/dev/null";
  const double begun = Now();
  if (std::system(command.c_str()) != 0) return Internal("squeue failed");
  return Now() - begun;
}

// The latencies of single gets by one client, with a pause between them, while `busy` runs.
std::vector<double> GetsDuring(const Server& server, const std::function<void()>& busy) {
  std::vector<double> seconds;
  std::jthread reader([&](std::stop_token stop) {
    LoadOptions load;
    load.port = server.port();
    load.connections = 1;
    load.requests = 20;
    load.method = "GET";
    load.make = [](std::size_t i, std::string* name, std::string* path, std::string* body) {
      *name = "";
      *path = "/v1/jobs/" + std::to_string(i % 1000 + 1);
      *body = "";
    };
    while (!stop.stop_requested()) {
      const auto result = RunLoad(load);
      seconds.insert(seconds.end(), result.latencies.begin(), result.latencies.end());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  busy();
  reader.request_stop();
  reader.join();
  return seconds;
}

}  // namespace

Result<std::vector<Figure>> BenchQuery(const BenchOptions& options) {
  if (options.memory) return BenchMemory(options);
  Server server(options.bin_dir,
                {"--simulated-cluster=sim,cpu=1000,memory=1000Ti,run-time-ms=1000"});
  auto started = server.Start();
  if (!started.ok()) return started.error();
  auto applied = server.Call("POST", "/v1/apply", QueueManifests("1000", true));
  if (!applied.ok()) return applied.error();
  const auto empty_bytes = static_cast<double>(server.ResidentBytes());
  for (std::size_t at = 0; at < options.big; at += 1000) {
    std::string body = "[";
    for (std::size_t i = at; i < at + 1000; ++i)
      body += (i == at ? "" : ",") + JobManifest("deep" + std::to_string(i));
    auto answer = server.Call("POST", "/v1/namespaces/bench/jobs:batch", body + "]");
    if (!answer.ok()) return answer.error();
  }
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto deep_bytes = static_cast<double>(server.ResidentBytes());
  std::vector<double> all, ids;
  std::vector<double> gets;
  Status status = Done{};
  for (int i = 0; i < std::max(options.runs, 3); ++i) {
    auto more = GetsDuring(server, [&] {
      auto seconds = TimeSqueue(server, "");
      if (seconds.ok())
        all.push_back(*seconds);
      else
        status = seconds.error();
    });
    gets.insert(gets.end(), more.begin(), more.end());
    auto seconds = TimeSqueue(server, "-h -o %i");
    if (seconds.ok())
      ids.push_back(*seconds);
    else
      status = seconds.error();
  }
  if (!status.ok()) return status.error();
  return std::vector<Figure>{
      {"squeue, all columns, " + std::to_string(options.big) + " pending", Median(all), "s", 0.5,
       true, "Slurm 0.8 s when quiet"},
      {"squeue -h -o %i", Median(ids), "s", 0, false, ""},
      {"one job's get meanwhile: p99", Percentile(&gets, 0.99) * 1000, "ms", 10, true, ""},
      {"daemon resident, empty", empty_bytes / 1e6, "MB", 0, false, ""},
      {"daemon resident, " + std::to_string(options.big) + " pending", deep_bytes / 1e6, "MB", 250,
       true, "slurmctld 309 MB"},
  };
}

}  // namespace muster::bench
