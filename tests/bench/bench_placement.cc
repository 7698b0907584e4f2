// Benchmark: choosing a member for a job. MeasureDecisions (place_decision.h) times single
// decisions; MeasureRate sends jobs to a daemon with many members, with a placement for each job,
// with one for their namespace, and without; MeasureSpread says how evenly a burst of jobs is
// spread over members of unequal size.
#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include "tests/bench/benchmarks.h"
#include "tests/bench/http_load.h"
#include "tests/bench/place_decision.h"
#include "tests/bench/server.h"
#include "tests/bench/sql_ceiling.h"

namespace muster::bench {
namespace {

constexpr double kPatience = 300;  // seconds
constexpr std::size_t kSenders = 4;
constexpr std::size_t kDocuments = 1000;  // of one request
constexpr double kAppliedBar = 1000, kSpreadBar = 1.05;
constexpr double kSpreadRoom = 1.2;  // times the room that the jobs need

// The policy of the fleet guide.
constexpr const char* kGuidePolicy =
    R"({"placementType":"PickN","numberOfClusters":1,"affinity":{"clusterAffinity":{)"
    R"("preferredDuringSchedulingIgnoredDuringExecution":[)"
    R"({"weight":40,"preference":{"propertySorter":)"
    R"({"name":"resources.kubernetes-fleet.io/available-cpu","sortOrder":"Descending"}}},)"
    R"({"weight":30,"preference":{"propertySorter":)"
    R"({"name":"resources.kubernetes-fleet.io/available-memory","sortOrder":"Descending"}}}]}}})";
constexpr const char* kPickAll = R"({"placementType":"PickAll"})";
constexpr const char* kPlacementVersion = "placement.kubernetes-fleet.io/v1beta1";

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string SpecOf(const std::string& selector, const std::string& policy) {
  return R"("spec":{"resourceSelectors":[)" + selector + R"(],"policy":)" + policy +
         R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%",)"
         R"("maxSurge":"25%","unavailablePeriodSeconds":60},)"
         R"("applyStrategy":{"whenToApply":"IfNotDrifted"}},"revisionHistoryLimit":15}})";
}

// A ResourcePlacement for one job.
std::string OwnPlacement(const std::string& job) {
  return R"({"apiVersion":")" + std::string(kPlacementVersion) +
         R"(","kind":"ResourcePlacement","metadata":{"name":")" + job +
         R"(-placement","namespace":"bench"},)" +
         SpecOf(R"({"group":"batch","version":"v1","kind":"Job","name":")" + job + R"("})",
                kGuidePolicy);
}

// A ClusterResourcePlacement for namespace bench with its jobs.
std::string NamespacePlacement(const std::string& policy) {
  return R"({"apiVersion":")" + std::string(kPlacementVersion) +
         R"(","kind":"ClusterResourcePlacement","metadata":{"name":"bench"},)" +
         SpecOf(R"({"group":"","version":"v1","kind":"Namespace","name":"bench"})", policy);
}

// The cores of members with these weights, `total` in all.
std::vector<std::int64_t> Capacities(const std::vector<std::int64_t>& weights, double total) {
  const auto all = static_cast<double>(std::accumulate(weights.begin(), weights.end(), 0LL));
  std::vector<std::int64_t> cores;
  for (const std::int64_t weight : weights)
    cores.push_back(static_cast<std::int64_t>(total * static_cast<double>(weight) / all) + 1);
  return cores;
}

// Flags for member-1, member-2, and so on, whose jobs run for a day.
std::vector<std::string> MemberFlags(const std::vector<std::int64_t>& cores) {
  std::vector<std::string> flags;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    flags.push_back("--simulated-cluster=member-" + std::to_string(i + 1) +
                    ",cpu=" + std::to_string(cores[i]) + ",memory=" + std::to_string(cores[i]) +
                    "Gi,run-time-ms=86400000");
  }
  return flags;
}

Status StartFleet(Server* server, std::size_t members) {
  auto started = server->Start();
  if (!started.ok()) return started.error();
  auto applied = server->Call("POST", "/v1/apply", QueueManifests("1000000000", false));
  if (!applied.ok()) return applied.error();
  return WaitForMembers(*server, members);
}

std::string PrefixOf(std::size_t sender) { return "s" + std::to_string(sender) + "-"; }

std::size_t PartOf(std::size_t jobs, std::size_t sender) {
  return jobs / kSenders + (sender < jobs % kSenders ? 1 : 0);
}

// Sends the jobs by several clients at the same time; returns the seconds until all run.
Result<double> SubmitAndWait(const Server& server, std::size_t jobs) {
  std::vector<Status> statuses(kSenders, Status(Done{}));
  const double begun = Now();
  {
    std::vector<std::jthread> senders;
    for (std::size_t i = 0; i < kSenders; ++i) {
      senders.emplace_back([&, i] {
        statuses[i] = SubmitBacklog(server, PartOf(jobs, i), PrefixOf(i), JobManifest);
      });
    }
  }
  for (const Status& status : statuses)
    if (!status.ok()) return status.error();
  const Status running = WaitForRunning(server, jobs, kPatience);
  if (!running.ok()) return running.error();
  return Now() - begun;
}

// Checks in the database that a policy chose the members of exactly so many jobs.
Status CheckGoverned(const Server& server, std::size_t jobs) {
  auto url = server.PostgresUrl();
  if (!url.ok()) return url.error();
  auto rows = QueryRows(*url,
                        "select count(*) from job_state where conditions::text like "
                        "'%picked by scheduling policy%'");
  if (!rows.ok()) return rows.error();
  if ((*rows)[0][0] == std::to_string(jobs)) return Done{};
  return Internal((*rows)[0][0] + " jobs were placed by a policy, not " + std::to_string(jobs));
}

// Applies a ResourcePlacement for each job, before the jobs are sent; returns the seconds.
Result<double> ApplyOwn(const Server& server, std::size_t jobs) {
  std::vector<std::string> bodies;
  std::size_t documents = 0;
  for (std::size_t sender = 0; sender < kSenders; ++sender) {
    for (std::size_t i = 0; i < PartOf(jobs, sender); ++i, ++documents) {
      if (documents % kDocuments == 0) bodies.emplace_back();
      bodies.back() +=
          (bodies.back().empty() ? "[" : ",") + OwnPlacement(PrefixOf(sender) + std::to_string(i));
    }
  }
  const double begun = Now();
  for (const std::string& body : bodies) {
    auto applied = server.CallUntilTaken("POST", "/v1/apply?namespace=bench", body + "]");
    if (!applied.ok()) return applied.error();
  }
  return Now() - begun;
}

// Applies placements one by one, as kubectl does; returns the number in a second.
Result<double> ApplyOneByOne(const Server& server, double seconds) {
  LoadOptions load;
  load.port = server.port();
  load.connections = 8;
  load.seconds = seconds;
  load.make = [](std::size_t i, std::string* name, std::string* path, std::string* body) {
    *name = "later-" + std::to_string(i);
    *path = "/apis/" + std::string(kPlacementVersion) + "/namespaces/bench/resourceplacements";
    *body = OwnPlacement(*name);
  };
  const LoadResult result = RunLoad(load);
  if (result.refused > 0) return Internal("a placement was refused: " + result.first_refusal);
  return result.rate();
}

using Samples = std::map<std::string, std::vector<double>>;

// Sends all jobs to unequal members that have three times the room. `by` says which placement
// governs the jobs: their "own", one of their "namespace", or "none".
Status MeasureRate(const BenchOptions& options, const std::string& by, Samples* out) {
  std::vector<std::int64_t> weights;
  for (int i = 0; i < options.members; ++i) weights.push_back(1 + i * 7 % 10);
  const auto jobs = static_cast<double>(options.jobs);
  Server server(options.bin_dir, MemberFlags(Capacities(weights, jobs * 3)));
  Status status = StartFleet(&server, weights.size());
  if (!status.ok()) return status;
  double applying = 0;
  if (by == "own") {
    auto seconds = ApplyOwn(server, options.jobs);
    if (!seconds.ok()) return seconds.error();
    applying = *seconds;
  }
  if (by == "namespace") {
    auto applied = server.Call("POST", "/v1/apply", NamespacePlacement(kGuidePolicy));
    if (!applied.ok()) return applied.error();
  }
  const CpuSeconds cpu = server.Cpu();
  auto seconds = SubmitAndWait(server, options.jobs);
  if (!seconds.ok()) return seconds.error();
  (*out)[by + " cpu"].push_back((server.Cpu().daemon - cpu.daemon) * 1000 / jobs);
  (*out)[by].push_back(jobs / *seconds);
  status = CheckGoverned(server, by == "none" ? 0 : options.jobs);
  if (!status.ok() || by != "own") return status;
  (*out)["applied"].push_back(jobs / applying);
  (*out)["both"].push_back(jobs / (applying + *seconds));
  auto alone = ApplyOneByOne(server, options.seconds);
  if (!alone.ok()) return alone.error();
  (*out)["alone"].push_back(*alone);
  return Done{};
}

void AddRates(const BenchOptions& options, const Samples& samples, std::vector<Figure>* out) {
  const auto median = [&](const char* of) { return Median(samples.at(of)); };
  const std::string members = std::to_string(options.members) + " members: ";
  out->push_back({members + "ResourcePlacements applied", median("applied"), "/s", kAppliedBar,
                  false, std::to_string(kDocuments) + " in a request, one client"});
  out->push_back({"  one in a request", median("alone"), "/s", kAppliedBar, false,
                  "8 clients, beside " + std::to_string(options.jobs) + " that are there"});
  out->push_back({"jobs with one each: submitted to dispatched", median("own"), "jobs/s",
                  kAppliedBar, false, ""});
  out->push_back({"  with the applying of their placements", median("both"), "jobs/s", kAppliedBar,
                  false, ""});
  out->push_back(
      {"  CPU of musterd a job, without applying", median("own cpu"), "ms", 0, true, ""});
  out->push_back({"jobs of a placed namespace: the same", median("namespace"), "jobs/s",
                  kAppliedBar, false, "one ClusterResourcePlacement"});
  out->push_back({"  CPU of musterd a job", median("namespace cpu"), "ms", 0, true, ""});
  out->push_back({"jobs without placement: the same", median("none"), "jobs/s", 0, false, ""});
  out->push_back({"  CPU of musterd a job", median("none cpu"), "ms", 0, true, ""});
}

// How uneven the jobs are spread: the largest of (a member's part of the jobs) / (its part of the
// cores).
double Excess(const std::vector<std::int64_t>& cores, const std::vector<std::int64_t>& jobs) {
  const auto sum = [](const std::vector<std::int64_t>& of) {
    return static_cast<double>(std::accumulate(of.begin(), of.end(), 0LL));
  };
  double most = 0;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    most = std::max(most, static_cast<double>(jobs[i]) / sum(jobs) /
                              (static_cast<double>(cores[i]) / sum(cores)));
  }
  return most;
}

// The Excess of a policy that always takes the member with the most free cores.
double ExcessOfLargest(const std::vector<std::int64_t>& cores, std::size_t jobs) {
  std::vector<std::int64_t> placed(cores.size());
  for (std::size_t job = 0; job < jobs; ++job) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < cores.size(); ++i)
      if (cores[i] - placed[i] > cores[best] - placed[best]) best = i;
    ++placed[best];
  }
  return Excess(cores, placed);
}

Result<std::vector<std::int64_t>> JobsByMember(const Server& server, std::size_t members) {
  auto url = server.PostgresUrl();
  if (!url.ok()) return url.error();
  auto rows = QueryRows(*url, "select cluster, count(*) from job_state group by cluster");
  if (!rows.ok()) return rows.error();
  std::vector<std::int64_t> jobs(members);
  for (const auto& row : *rows) {
    for (std::size_t i = 0; i < members; ++i)
      if (row[0] == "member-" + std::to_string(i + 1)) jobs[i] = std::atoll(row[1].c_str());
  }
  return jobs;
}

// Sends all jobs at once to members whose cores are as 1:2:3:4.
Result<Figure> MeasureSpread(const BenchOptions& options, const std::string& name,
                             const std::string& policy) {
  const auto cores = Capacities({1, 2, 3, 4}, static_cast<double>(options.jobs) * kSpreadRoom);
  std::vector<double> excesses;
  std::string beside;
  for (int run = 0; run < options.runs; ++run) {
    Server server(options.bin_dir, MemberFlags(cores));
    const Status status = StartFleet(&server, cores.size());
    if (!status.ok()) return status.error();
    auto applied = server.Call("POST", "/v1/apply", NamespacePlacement(policy));
    if (!applied.ok()) return applied.error();
    auto seconds = SubmitAndWait(server, options.jobs);
    if (!seconds.ok()) return seconds.error();
    const Status governed = CheckGoverned(server, options.jobs);
    if (!governed.ok()) return governed.error();
    auto jobs = JobsByMember(server, cores.size());
    if (!jobs.ok()) return jobs.error();
    excesses.push_back(Excess(cores, *jobs));
    beside = "jobs";
    for (const std::int64_t count : *jobs) beside += " " + std::to_string(count);
  }
  // The worst run counts.
  const double worst = *std::max_element(excesses.begin(), excesses.end());
  return Figure{name, worst, "", kSpreadBar, true, beside};
}

}  // namespace

Result<std::vector<Figure>> BenchPlacement(const BenchOptions& options) {
  auto figures = MeasureDecisions();
  if (!figures.ok()) return figures.error();
  Samples samples;
  for (int run = 0; run < options.runs; ++run) {
    for (const char* by : {"own", "namespace", "none"}) {
      const Status status = MeasureRate(options, by, &samples);
      if (!status.ok()) return status.error();
    }
  }
  AddRates(options, samples, &*figures);
  auto even = MeasureSpread(options, "4 members of 1:2:3:4, PickAll: part / share", kPickAll);
  if (!even.ok()) return even.error();
  figures->push_back(*even);
  auto guide = MeasureSpread(options, "the same, the policy of the guide", kGuidePolicy);
  if (!guide.ok()) return guide.error();
  const double formula = ExcessOfLargest(
      Capacities({1, 2, 3, 4}, static_cast<double>(options.jobs) * kSpreadRoom), options.jobs);
  guide->beside += "; most free cores first: " + std::to_string(formula);
  figures->push_back(*guide);
  return figures;
}

}  // namespace muster::bench
