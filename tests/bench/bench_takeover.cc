// Benchmark: two daemons on one PostgreSQL with many jobs that run on 20 fake members. The leader
// is killed; how long the standby needs from the end of the lease until it leads and is steady.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "schedd/store/pg/embedded_postgres.h"
#include "tests/bench/bench_members.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/release_watch.h"
#include "tests/bench/server.h"
#include "tests/bench/sql_ceiling.h"

namespace muster::bench {
namespace {

constexpr double kPatience = 900;  // seconds
constexpr int kMembers = 20;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string Endless(const std::string& name) { return MemberJob(name, ""); }

// A directory that ends with the benchmark.
struct Scratch {
  Scratch() {
    std::string pattern = "/tmp/muster-bench-XXXXXX";
    path = mkdtemp(pattern.data());
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

// For how many seconds the lease still holds by the database's clock.
Result<double> LeaseLeft(const std::string& url) {
  const auto rows =
      QueryRows(url, "select extract(epoch from expires - clock_timestamp())::float8 from leader");
  if (!rows.ok()) return rows.error();
  if (rows->size() != 1) return Internal("the database has no leader row");
  return std::max(0.0, std::atof((*rows)[0][0].c_str()));
}

struct Times {
  std::vector<double> silent, taken, steady;
};

// Kills the leader; the standby leads from then on, and the leader comes back as its standby.
Status Round(const std::string& url, std::size_t running, Server* leader, Server* standby,
             Times* times) {
  leader->Kill(false);
  const double killed = Now();
  const auto left = LeaseLeft(url);
  if (!left.ok()) return left.error();
  const Status ready = standby->AwaitAnswer("/readyz");
  if (!ready.ok()) return ready;
  times->silent.push_back(Now() - killed);
  times->taken.push_back(times->silent.back() - *left);
  auto job = standby->CallUntilTaken("POST", "/v1/namespaces/bench/jobs",
                                     Endless("after-" + std::to_string(running)));
  if (!job.ok()) return job.error();
  Status status = WaitForRunning(*standby, running, kPatience);
  if (!status.ok()) return status;
  times->steady.push_back(Now() - killed - *left);
  const auto back = leader->Start("/v1/jobs?limit=1");
  return back.ok() ? Status(Done{}) : back.error();
}

}  // namespace

Result<std::vector<Figure>> BenchTakeover(const BenchOptions& options) {
  const Scratch scratch;
  auto postgres = EmbeddedPostgres::Start(scratch.path);
  if (!postgres.ok()) return postgres.error();
  const std::string& url = (*postgres)->owner_url();
  auto members = BenchMembers::Fake(kMembers, 400);
  if (!members.ok()) return members.error();
  std::vector<std::string> flags = (*members)->Flags(false);
  flags.insert(flags.end(), {"--postgres", url, "--secrets-key", scratch.path + "/key"});
  Server first(options.bin_dir, flags);
  auto started = first.Start();
  if (!started.ok()) return started.error();
  auto applied = first.Call("POST", "/v1/apply", QueueManifests("1000000000", false));
  if (!applied.ok()) return applied.error();
  Status status = WaitForMembers(first, kMembers);
  if (status.ok()) status = SubmitBacklog(first, options.big, "live-", Endless);
  if (status.ok()) status = WaitForRunning(first, options.big, kPatience);
  if (!status.ok()) return status.error();
  flags.emplace_back("--standby");
  Server second(options.bin_dir, flags);
  started = second.Start("/v1/jobs?limit=1");
  if (!started.ok()) return started.error();

  Times times;
  Server* leader = &first;
  Server* standby = &second;
  for (int i = 0; i < options.runs; ++i) {
    status = Round(url, options.big + static_cast<std::size_t>(i) + 1, leader, standby, &times);
    if (!status.ok()) return status.error();
    std::swap(leader, standby);
  }
  const std::string runs = std::to_string(options.runs) + " kills, the longest";
  const auto longest = [](const std::vector<double>& all) {
    return *std::max_element(all.begin(), all.end());
  };
  return std::vector<Figure>{
      {"jobs that run on 20 fake members", static_cast<double>(options.big), "", 0, false, ""},
      {"end of the lease to ready", longest(times.taken), "s", 3, true, runs},
      {"end of the lease to steady: a new job runs", longest(times.steady), "s", 0, false, runs},
      {"kill -9 of the leader to ready", longest(times.silent), "s", 10, true, runs},
  };
}

}  // namespace muster::bench
