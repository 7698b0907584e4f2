// Benchmark: from admission to release on members, beside a plain client that creates the same
// objects.
//
// For each way of dispatching (two steps: a suspended create and a release; fast: one create) a run
// does this. It submits jobs to a stopped queue, opens the queue, and measures from the first
// admission in the database to the last release that the members' watches report. Then a plain
// client creates the same objects under other names over as many connections: that is the ceiling.
// Before the two-step run, 100 jobs are sent one after another to an idle daemon, for latencies.
#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include "schedd/text/json.h"
#include "tests/bench/bench_members.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/plain_load.h"
#include "tests/bench/release_watch.h"
#include "tests/bench/server.h"
#include "tests/bench/sql_ceiling.h"

namespace muster::bench {
namespace {

constexpr double kPatience = 300;    // seconds
constexpr int kConnections = 8;      // musterd's default for a member
constexpr std::size_t kAlone = 100;  // jobs that are dispatched one after another

std::string DispatchManifest(const std::string& name) { return MemberJob(name, "0s"); }

using Watches = std::vector<std::unique_ptr<ReleaseWatch>>;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Watches Watch(const BenchMembers& members, const std::string& prefix) {
  Watches watches;
  for (const MemberTarget& target : members.targets())
    watches.push_back(std::make_unique<ReleaseWatch>(target, "bench", prefix));
  return watches;
}

std::size_t Count(const Watches& watches, std::size_t (ReleaseWatch::*what)() const) {
  return std::accumulate(
      watches.begin(), watches.end(), std::size_t{0},
      [what](std::size_t sum, const auto& watch) { return sum + (*watch.*what)(); });
}

std::int64_t LastRelease(const Watches& watches) {
  std::int64_t last = 0;
  for (const auto& watch : watches) last = std::max(last, watch->last_release());
  return last;
}

Status WaitFor(const Watches& watches, std::size_t (ReleaseWatch::*what)() const, std::size_t count,
               const char* of) {
  const double begun = Now();
  while (Count(watches, what) < count) {
    if (Now() - begun > kPatience)
      return Unavailable(std::to_string(Count(watches, what)) + " of " + std::to_string(count) +
                         " jobs were " + of + " in time");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Done{};
}

// The time of the first admission of jobs with the prefix, in microseconds since 1970.
Result<std::int64_t> FirstAdmission(const Server& server, const std::string& prefix) {
  auto url = server.PostgresUrl();
  if (!url.ok()) return url.error();
  auto rows = QueryRows(
      *url, "select min(admit_time) from job_state join jobs on job_id = id where name like '" +
                prefix + "%'");
  if (!rows.ok()) return rows.error();
  return std::atoll((*rows)[0][0].c_str());
}

struct MusterRun {
  double rate = 0;
  double cpu_ms = 0, postgres_ms = 0, own_ms = 0;  // CPU time for each job until the last release
  std::string sample;                              // one of the Jobs on the member
};

// Submits `jobs` jobs to a stopped queue and opens it; the rate is from the first admission to the
// last release.
Result<MusterRun> DispatchBacklog(const Server& server, const BenchMembers& members,
                                  const std::string& prefix, std::size_t jobs) {
  auto held = server.Call("POST", "/v1/apply", QueueManifests("1000000000", true));
  if (!held.ok()) return held.error();
  Status status = SubmitBacklog(server, jobs, prefix, DispatchManifest);
  if (!status.ok()) return status.error();
  const Watches watches = Watch(members, prefix);
  const CpuSeconds cpu = server.Cpu();
  const double own = OwnCpu();
  auto opened = server.Call("POST", "/v1/apply", QueueManifests("1000000000", false));
  if (!opened.ok()) return opened.error();
  status = WaitFor(watches, &ReleaseWatch::released, jobs, "released");
  if (!status.ok()) return status.error();
  MusterRun run;
  const CpuSeconds used = server.Cpu();
  run.cpu_ms = (used.daemon - cpu.daemon) * 1000 / static_cast<double>(jobs);
  run.postgres_ms = (used.postgres - cpu.postgres) * 1000 / static_cast<double>(jobs);
  run.own_ms = (OwnCpu() - own) * 1000 / static_cast<double>(jobs);
  auto first = FirstAdmission(server, prefix);
  if (!first.ok()) return first.error();
  run.rate = static_cast<double>(jobs) * 1e6 / static_cast<double>(LastRelease(watches) - *first);
  status = WaitFor(watches, &ReleaseWatch::ended, jobs, "done");
  if (!status.ok()) return status.error();
  auto sample = SampleJob(members.targets()[0], "bench");
  if (!sample.ok()) return sample.error();
  run.sample = *sample;
  return run;
}

// The rate at which plain clients create the same objects, with as many connections to each member.
Result<double> PlainRate(const BenchMembers& members, PlainOptions options) {
  const Watches watches = Watch(members, options.prefix);
  const std::size_t jobs = options.jobs, count = members.targets().size();
  options.jobs = (jobs + count - 1) / count;
  Status first = Done{};
  const auto begun = std::chrono::system_clock::now();
  {
    std::vector<std::jthread> loads;
    std::vector<Status> statuses(count, Status(Done{}));
    for (std::size_t i = 0; i < count; ++i)
      loads.emplace_back([&, i] { statuses[i] = RunPlainLoad(members.targets()[i], options); });
    loads.clear();
    for (const Status& status : statuses) first = first.ok() ? status : first;
  }
  if (!first.ok()) return first.error();
  Status status = WaitFor(watches, &ReleaseWatch::released, options.jobs * count, "released");
  if (status.ok()) {
    const auto since =
        std::chrono::duration_cast<std::chrono::microseconds>(begun.time_since_epoch());
    const double rate = static_cast<double>(options.jobs * count) * 1e6 /
                        static_cast<double>(LastRelease(watches) - since.count());
    status = WaitFor(watches, &ReleaseWatch::ended, options.jobs * count, "done");
    if (status.ok()) return rate;
  }
  return status.error();
}

struct Latencies {
  std::vector<double> created, released;  // seconds since the admission
};

// Dispatches jobs one after another, each when the one before is released.
Result<Latencies> DispatchAlone(const Server& server, const BenchMembers& members,
                                const std::string& prefix) {
  const Watches watches = Watch(members, prefix);
  for (std::size_t i = 0; i < kAlone; ++i) {
    auto job = server.Call("POST", "/v1/namespaces/bench/jobs",
                           DispatchManifest(prefix + std::to_string(i)));
    if (!job.ok()) return job.error();
    const Status status = WaitFor(watches, &ReleaseWatch::released, i + 1, "released");
    if (!status.ok()) return status.error();
  }
  auto url = server.PostgresUrl();
  if (!url.ok()) return url.error();
  auto rows = QueryRows(
      *url, "select name, admit_time from job_state join jobs on job_id = id where name like '" +
                prefix + "%'");
  if (!rows.ok()) return rows.error();
  std::map<std::string, std::int64_t> admitted;
  for (const auto& row : *rows) admitted[row[0]] = std::atoll(row[1].c_str());
  Latencies out;
  for (const auto& watch : watches) {
    for (const auto& [name, moments] : watch->jobs()) {
      out.created.push_back(static_cast<double>(moments.created - admitted[name]) / 1e6);
      out.released.push_back(static_cast<double>(moments.released - admitted[name]) / 1e6);
    }
  }
  const Status ended = WaitFor(watches, &ReleaseWatch::ended, kAlone, "done");
  if (!ended.ok()) return ended.error();
  return out;
}

struct Kind {
  std::string name;  // "a real member"
  std::size_t jobs = 0;
  double bar = 0;  // jobs/s; 0: no bar
  double ratio = 0;
};

struct Samples {
  std::map<std::string, std::vector<double>> of;
  std::vector<double> created, released;
};

// Measures one way of dispatching and its ceiling. The members keep the objects of earlier runs.
Status RunOnce(const BenchOptions& options, const BenchMembers& members, const Kind& kind,
               const std::string& turn, bool fast, Samples* out) {
  Server server(options.bin_dir, members.Flags(fast));
  auto started = server.Start();
  if (!started.ok()) return started.error();
  auto applied = server.Call("POST", "/v1/apply", QueueManifests("1000000000", false));
  if (!applied.ok()) return applied.error();
  Status healthy = WaitForMembers(server, members.targets().size());
  if (!healthy.ok()) return healthy;
  const std::string way = fast ? "fast" : "safe";
  if (!fast) {
    auto alone = DispatchAlone(server, members, turn + "alone-");
    if (!alone.ok()) return alone.error();
    out->created.insert(out->created.end(), alone->created.begin(), alone->created.end());
    out->released.insert(out->released.end(), alone->released.begin(), alone->released.end());
  }
  auto run = DispatchBacklog(server, members, turn + way + "-", kind.jobs);
  if (!run.ok()) return run.error();
  server.Stop();
  PlainOptions plain{"bench", turn + "plain-" + way + "-", run->sample, kind.jobs, kConnections,
                     !fast};
  auto ceiling = PlainRate(members, plain);
  if (!ceiling.ok()) return ceiling.error();
  out->of[way].push_back(run->rate);
  out->of[way + " plain"].push_back(*ceiling);
  out->of[way + " ratio"].push_back(run->rate / *ceiling);
  out->of[way + " cpu"].push_back(run->cpu_ms);
  out->of[way + " postgres"].push_back(run->postgres_ms);
  out->of[way + " own"].push_back(run->own_ms);
  return Done{};
}

void AddCpu(const Samples& samples, const std::string& way, std::vector<Figure>* out) {
  const auto median = [&](const char* of) { return Median(samples.of.at(way + of)); };
  out->push_back({"  CPU of musterd a job", median(" cpu"), "ms", 0, false, ""});
  out->push_back({"  CPU of PostgreSQL a job", median(" postgres"), "ms", 0, false, ""});
  out->push_back({"  CPU of this program a job", median(" own"), "ms", 0, false,
                  "the watches, and the members if they are fake"});
}

void AddFigures(const Kind& kind, Samples samples, std::vector<Figure>* out) {
  const auto median = [&](const std::string& key) { return Median(samples.of[key]); };
  out->push_back({kind.name + ": admitted to released, two steps", median("safe"), "jobs/s",
                  kind.bar, false, "the peer: about 100/s at best"});
  out->push_back({"  plain client, the same create and patch", median("safe plain"), "jobs/s", 0,
                  false, std::to_string(kConnections) + " connections to each member"});
  out->push_back({"  ratio", median("safe ratio"), "", kind.ratio, false, "of the plain client"});
  AddCpu(samples, "safe", out);
  out->push_back(
      {kind.name + ": dispatch=fast", median("fast"), "jobs/s", 0, false, "one create each"});
  out->push_back({"  plain client, one create", median("fast plain"), "jobs/s", 0, false, ""});
  out->push_back({"  ratio", median("fast ratio"), "", kind.ratio, false, "of the plain client"});
  AddCpu(samples, "fast", out);
  out->push_back({kind.name + ", unloaded: admitted to created, p99",
                  Percentile(&samples.created, 0.99) * 1000, "ms", 250, true,
                  "as the member's watch tells it"});
  out->push_back(
      {"  the same, median", Percentile(&samples.created, 0.5) * 1000, "ms", 0, false, ""});
  out->push_back({"  admitted to released, p99", Percentile(&samples.released, 0.99) * 1000, "ms",
                  0, false, ""});
}

Status Measure(const BenchOptions& options, const Kind& kind,
               Result<std::unique_ptr<BenchMembers>> members, std::vector<Figure>* out) {
  if (!members.ok()) return members.error();
  Samples samples;
  for (int i = 0; i < options.runs; ++i) {
    for (const bool fast : {false, true}) {
      const Status status =
          RunOnce(options, **members, kind, "r" + std::to_string(i), fast, &samples);
      if (!status.ok()) return status;
    }
  }
  AddFigures(kind, std::move(samples), out);
  return Done{};
}

}  // namespace

Result<std::vector<Figure>> BenchDispatch(const BenchOptions& options) {
  if (options.live > 0) return BenchLive(options);
  if (options.placement) return BenchPlacement(options);
  std::vector<Figure> figures;
  if (options.over != "real") {
    const Status status = Measure(options, {"4 fake members", options.jobs, 2000, 0},
                                  BenchMembers::Fake(4, 100), &figures);
    if (!status.ok()) return status.error();
  }
  if (options.over != "fake") {
    // A real member takes tens of jobs a second, so a thirtieth of the backlog is enough.
    const std::size_t jobs = std::max<std::size_t>(1, options.jobs / 30);
    const Status status =
        Measure(options, {"a real member", jobs, 0, 0.7}, BenchMembers::Real(1, 40), &figures);
    if (!status.ok()) return status.error();
  }
  return figures;
}

}  // namespace muster::bench
