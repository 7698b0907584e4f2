// Benchmark: many jobs that run at the same time on 20 fake members; the daemon's memory, and how
// long it needs after a kill -9 until it is steady.
#include <chrono>
#include <thread>

#include "schedd/text/json.h"
#include "tests/bench/bench_members.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/release_watch.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

constexpr double kPatience = 900;  // seconds
constexpr int kMembers = 20;
// Seconds in which the allocator gives back the memory that recovery needed.
constexpr int kSettle = 15;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string Endless(const std::string& name) { return MemberJob(name, ""); }

}  // namespace

Result<std::vector<Figure>> BenchLive(const BenchOptions& options) {
  auto members = BenchMembers::Fake(kMembers, 400);
  if (!members.ok()) return members.error();
  Server server(options.bin_dir, (*members)->Flags(false));
  auto started = server.Start();
  if (!started.ok()) return started.error();
  auto applied = server.Call("POST", "/v1/apply", QueueManifests("1000000000", false));
  if (!applied.ok()) return applied.error();
  Status status = WaitForMembers(server, kMembers);
  if (!status.ok()) return status.error();
  const double begun = Now();
  status = SubmitBacklog(server, options.live, "live-", Endless);
  if (status.ok()) status = WaitForRunning(server, options.live, kPatience);
  if (!status.ok()) return status.error();
  const double filled = Now() - begun;
  const double resident = static_cast<double>(server.ResidentBytes()) / 1e6;

  server.Kill(false);
  const double killed = Now();
  auto ready = server.Start();
  if (!ready.ok()) return ready.error();
  status = WaitForMembers(server, kMembers);
  if (status.ok()) status = WaitForRunning(server, options.live, kPatience);
  if (!status.ok()) return status.error();
  // The first new job is placed when recovery is over, and dispatched when its member answers.
  auto job = server.CallUntilTaken("POST", "/v1/namespaces/bench/jobs", Endless("after"));
  if (!job.ok()) return job.error();
  status = WaitForRunning(server, options.live + 1, kPatience);
  if (!status.ok()) return status.error();
  const double steady = Now() - killed;
  const double peak = static_cast<double>(server.ResidentBytes()) / 1e6;
  std::this_thread::sleep_for(std::chrono::seconds(kSettle));
  const double again = static_cast<double>(server.ResidentBytes()) / 1e6;
  return std::vector<Figure>{
      {"jobs that run on 20 fake members", static_cast<double>(options.live), "", 0, false, ""},
      {"submitted, admitted, released, running", static_cast<double>(options.live) / filled,
       "jobs/s", 0, false, "from the first submission on"},
      {"resident memory of musterd", resident, "MB", 600, true, ""},
      {"kill -9 to ready", *ready, "s", 0, false, ""},
      {"kill -9 to steady: members listed, a new job runs", steady, "s", 10, true, ""},
      {"resident memory when steady", peak, "MB", 0, false, "what recovery needed included"},
      {"resident memory 15 s later", again, "MB", 600, true, ""},
  };
}

}  // namespace muster::bench
