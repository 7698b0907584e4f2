// Benchmark: one of Kueue's loads in real time through a whole daemon, with a simulated member
// whose jobs only sleep. Jobs are sent at their arrival times (load_sender.h); the run ends when no
// job waits, starts or runs. The figures come from the jobs' own times and from the accounting.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "schedd/base/time.h"
#include "schedd/text/json.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/load_sender.h"
#include "tests/bench/load_world.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

constexpr double kPatienceSeconds = 900;

struct OneRun {
  double elapsed = 0;
  double late_p99 = 0;
  double daemon_cpu = 0, postgres_cpu = 0, generator_cpu = 0;
  double memory = 0;                    // MB of the daemon at the end
  double admissions = 0;                // including those after evictions
  double lowest_use = 1;                // the lowest use of a queue's nominal quota
  double thrown_away = 0;               // CPU seconds of attempts that were evicted
  std::map<std::string, double> waits;  // mean by class, in seconds
};

Result<bool> AnyIn(const Server& server, const char* state) {
  auto page =
      server.Call("GET", std::string("/v1/jobs?namespace=bench&limit=1&fields=id&state=") + state);
  if (!page.ok()) return page.error();
  return page->find("\"id\"") != std::string::npos;
}

// Waits until no job waits, starts or runs. The states are asked for twice, since a job may move
// back while the others are asked for.
Status WaitForEnd(const Server& server, double begin) {
  for (const char* state : {"Pending", "Admitted", "Running", "Pending", "Admitted", "Running"}) {
    for (;;) {
      const auto any = AnyIn(server, state);
      if (!any.ok()) return any.error();
      if (!*any) break;
      if (SteadySeconds() - begin > kPatienceSeconds)
        return Internal(std::string("jobs are still ") + state + " after a long while");
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
  }
  return Done{};
}

double Between(const json::object& job, const char* from, const char* to) {
  WallTime a, b;
  const json::value* first = job.if_contains(from);
  const json::value* last = job.if_contains(to);
  if (first == nullptr || last == nullptr || !first->is_string() || !last->is_string()) return 0;
  if (!ParseRfc3339(std::string(first->get_string()), &a) ||
      !ParseRfc3339(std::string(last->get_string()), &b)) {
    return 0;
  }
  return static_cast<double>(b.us - a.us) / kMicrosPerSecond;
}

const JobClass* ClassOf(const ReferenceLoad& load, std::string_view job_name) {
  for (int parts = 0; parts < 3; ++parts) job_name = job_name.substr(0, job_name.rfind('-'));
  const auto one = std::find_if(load.classes.begin(), load.classes.end(),
                                [&](const JobClass& c) { return c.name == job_name; });
  return one == load.classes.end() ? nullptr : &*one;
}

// Reads waits, admissions and the end of the run from the jobs' own times.
Status ReadJobs(const Server& server, const ReferenceLoad& load, OneRun* run) {
  auto page = server.Call("GET",
                          "/v1/jobs?namespace=bench&limit=200000&fields=name,clusterQueue,state,"
                          "attempt,submitTime,admitTime,endTime");
  if (!page.ok()) return page.error();
  const auto parsed = ParseJson(*page);
  if (!parsed.ok()) return parsed.error();
  std::map<std::string, std::pair<double, double>> waits;  // sum, number of jobs
  std::map<std::string, double> used;
  for (const json::value& item : parsed->at("items").as_array()) {
    const json::object& job = item.as_object();
    if (job.at("state").as_string() != "Succeeded")
      return Internal("job " + std::string(job.at("name").as_string()) + " did not succeed");
    const JobClass* one = ClassOf(load, std::string_view(job.at("name").as_string()));
    if (one == nullptr) return Internal("a job of no class is there");
    auto& [sum, count] = waits[one->name];
    sum += Between(job, "submitTime", "admitTime");
    count += 1;
    used[std::string(job.at("clusterQueue").as_string())] +=
        static_cast<double>(one->cpu()) * Between(job, "admitTime", "endTime");
    run->admissions += static_cast<double>(job.at("attempt").as_int64());
  }
  std::size_t seen = 0;
  for (const auto& [name, wait] : waits) {
    run->waits[name] = wait.first / wait.second;
    seen += static_cast<std::size_t>(wait.second);
  }
  if (seen != JobsOf(load)) return Internal("only " + std::to_string(seen) + " jobs are known");
  for (const auto& [queue, cpu_seconds] : used) {
    run->lowest_use =
        std::min(run->lowest_use, cpu_seconds / (static_cast<double>(load.nominal) * run->elapsed));
  }
  return Done{};
}

// Adds up what attempts that did not succeed have held, and for how long.
Status ReadThrownAway(const Server& server, const ReferenceLoad& load, OneRun* run) {
  std::string token;
  do {
    auto page = server.Call("GET", "/v1/accounting?namespace=bench&limit=1000" +
                                       (token.empty() ? "" : "&page_token=" + token));
    if (!page.ok()) return page.error();
    const auto parsed = ParseJson(*page);
    if (!parsed.ok()) return parsed.error();
    for (const json::value& item : parsed->at("items").as_array()) {
      const JobClass* one = ClassOf(load, std::string_view(item.at("job").at("name").as_string()));
      for (const json::value& attempt : item.at("attempts").as_array()) {
        if (one == nullptr || attempt.at("outcome").as_string() == "Succeeded") continue;
        run->thrown_away += static_cast<double>(one->cpu()) / 1000 *
                            Between(attempt.as_object(), "admitTime", "endTime");
      }
    }
    const json::value* next = parsed->as_object().if_contains("next_page_token");
    token = next != nullptr && next->is_string() ? std::string(next->get_string()) : "";
  } while (!token.empty());
  return Done{};
}

Result<OneRun> Run(const BenchOptions& options, const ReferenceLoad& load) {
  Server server(options.bin_dir, {MemberFlag(load)});
  const auto started = server.Start();
  if (!started.ok()) return started.error();
  for (const std::string& piece : WorldManifests(load)) {
    const auto applied = server.Call("POST", "/v1/apply", piece);
    if (!applied.ok()) return applied.error();
  }
  if (const std::string machines = MachinesPatch(load); !machines.empty()) {
    const auto patched = server.Call("PATCH", kMemberPath, machines);
    if (!patched.ok()) return patched.error();
  }
  OneRun run;
  const double own_before = OwnCpu();
  const CpuSeconds before = server.Cpu();
  const double begin = SteadySeconds();
  auto sent = SendLoad(load, server.port(), begin);
  if (!sent.ok()) return sent.error();
  const Status ended = WaitForEnd(server, begin);
  if (!ended.ok()) return ended.error();
  run.elapsed = SteadySeconds() - begin;
  const CpuSeconds after = server.Cpu();
  run.daemon_cpu = after.daemon - before.daemon;
  run.postgres_cpu = after.postgres - before.postgres;
  run.generator_cpu = OwnCpu() - own_before;
  run.memory = static_cast<double>(server.ResidentBytes()) / (1 << 20);
  run.late_p99 = Percentile(&sent->lateness, 0.99);
  Status read = ReadJobs(server, load, &run);
  if (read.ok()) read = ReadThrownAway(server, load, &run);
  if (!read.ok()) return read.error();
  return run;
}

double MedianOf(const std::vector<OneRun>& runs, double OneRun::*member) {
  std::vector<double> values;
  for (const OneRun& run : runs) values.push_back(run.*member);
  return Median(std::move(values));
}

}  // namespace

Result<std::vector<Figure>> BenchLoad(const BenchOptions& options) {
  const ReferenceLoad* found = FindReferenceLoad(options.load);
  if (found == nullptr)
    return InvalidArgument("--load is baseline, large-scale or tas, not " + options.load);
  const ReferenceLoad load = Scaled(*found, options.scale);
  const QuotaBound bound = BoundOf(load);
  std::vector<OneRun> runs;
  std::string each;
  for (int i = 0; i < options.runs; ++i) {
    auto run = Run(options, load);
    if (!run.ok()) return run.error();
    char text[32];
    std::snprintf(text, sizeof text, "%s%.2f", each.empty() ? "" : ", ", run->elapsed);
    each += text;
    runs.push_back(std::move(run).value());
  }
  const double elapsed = MedianOf(runs, &OneRun::elapsed);
  const double admissions = MedianOf(runs, &OneRun::admissions);
  const auto jobs = static_cast<double>(JobsOf(load));
  const double all_cpus = static_cast<double>(load.cohorts * load.queues * load.nominal) / 1000;
  const double thrown_away = MedianOf(runs, &OneRun::thrown_away) / all_cpus;
  std::vector<Figure> figures = {
      {load.name + ": " + std::to_string(JobsOf(load)) + " jobs finished in", elapsed, "s", 0,
       false, "each run: " + each},
      {"quota bound", bound.seconds, "s", 0, false, "from " + bound.from},
      {"elapsed / quota bound", elapsed / bound.seconds, "", load.bar, true,
       "the reference: " + std::to_string(static_cast<int>(load.reference_seconds)) + " s"},
      {"thrown away by evictions, of the whole quota", thrown_away, "s", 0, false,
       "what evicted jobs had run: the rules take it, whoever follows them"},
      {"elapsed / (quota bound + thrown away)", elapsed / (bound.seconds + thrown_away), "", 0,
       false, ""},
      {"admissions", admissions / elapsed, "/s", 0, false, ""},
      {"admissions after an eviction", admissions - jobs, "", 0, false, ""},
      {"lowest use of a queue's nominal quota", MedianOf(runs, &OneRun::lowest_use) * 100, "%", 0,
       false, ""},
      {"submission answered after its time, p99", MedianOf(runs, &OneRun::late_p99) * 1000, "ms", 0,
       false, ""},
      {"CPU of musterd", MedianOf(runs, &OneRun::daemon_cpu), "s", 0, false, ""},
      {"CPU of PostgreSQL", MedianOf(runs, &OneRun::postgres_cpu), "s", 0, false, ""},
      {"CPU of the generator", MedianOf(runs, &OneRun::generator_cpu), "s", 0, false, ""},
      {"memory of musterd at the end", MedianOf(runs, &OneRun::memory), "MB", 0, false, ""},
  };
  for (const JobClass& one : load.classes) {
    std::vector<double> waits;
    for (const OneRun& run : runs) waits.push_back(run.waits.at(one.name));
    figures.push_back(
        {"submitted to admitted, mean: " + one.name, Median(std::move(waits)), "s", 0, false, ""});
  }
  return figures;
}

}  // namespace muster::bench
