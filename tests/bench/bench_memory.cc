// Benchmark: the memory that a pending job takes in the daemon with all its indices. A musterd of
// its own gets jobs that no quota can serve; its resident memory is read before and after.
#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/bench/benchmarks.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

constexpr std::size_t kBatch = 1000;
constexpr int kQuietSeconds = 12;  // jemalloc gives pages back after ten

// Waits until the daemon has used hardly any CPU for some seconds: by then all jobs have their
// reasons, and all rows are written.
Status AwaitIdle(const Server& server) {
  int quiet = 0;
  double before = server.Cpu().daemon;
  for (int second = 0; second < 600; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const double now = server.Cpu().daemon;
    quiet = now - before < 0.05 ? quiet + 1 : 0;
    before = now;
    if (quiet >= kQuietSeconds) return Done{};
  }
  return Internal("the daemon did not come to rest in 10 minutes");
}

Status SubmitPending(const Server& server, std::size_t count, const std::string& prefix) {
  for (std::size_t at = 0; at < count; at += kBatch) {
    std::string body = "[";
    for (std::size_t i = at; i < std::min(at + kBatch, count); ++i)
      body += (i == at ? "" : ",") + JobManifest(prefix + std::to_string(i));
    auto answer = server.Call("POST", "/v1/namespaces/bench/jobs:batch", body + "]");
    if (!answer.ok()) return answer.error();
  }
  return Done{};
}

}  // namespace

Result<std::vector<Figure>> BenchMemory(const BenchOptions& options) {
  Server server(options.bin_dir,
                {"--simulated-cluster=sim,cpu=1000,memory=1000Ti,run-time-ms=1000"});
  auto started = server.Start();
  if (!started.ok()) return started.error();
  // Less than one job needs, so all jobs wait with the reason that says so.
  auto applied = server.Call("POST", "/v1/apply", QueueManifests("500m", false));
  if (!applied.ok()) return applied.error();
  // The first jobs fill buffers and caches, which must not count.
  Status status = SubmitPending(server, kBatch, "warm-");
  if (status.ok()) status = AwaitIdle(server);
  if (!status.ok()) return status.error();
  const auto before = static_cast<double>(server.ResidentBytes());
  status = SubmitPending(server, options.big, "training-run-");
  if (status.ok()) status = AwaitIdle(server);
  if (!status.ok()) return status.error();
  const auto after = static_cast<double>(server.ResidentBytes());
  const std::string count = std::to_string(options.big);
  const double bar =
      // With fewer jobs the daemon's own memory weighs too much.
      options.big >= 1'000'000 ? 1.2 : 0;
  return std::vector<Figure>{
      {"daemon resident with " + count + " pending jobs", after / 1e6, "MB", 0, true,
       "without PostgreSQL"},
      {"of it for each pending job", (after - before) / static_cast<double>(options.big) / 1024,
       "KiB", bar, true, "record, queue, view, all indices"},
  };
}

}  // namespace muster::bench
