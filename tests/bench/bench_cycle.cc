// Benchmarks of single scheduling cycles in a FullHouse, where all quota is in use: what a cycle
// costs in which nothing fits, as a function of how many jobs wait and of which queues are woken;
// how much memory a pending job takes; and, in a CrowdedCohort, what a search for victims costs.
#include <malloc.h>

#include <algorithm>
#include <cstdio>

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/cycle_cache.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/cpu_timer.h"
#include "tests/bench/load_scenario.h"

namespace muster::bench {
namespace {

constexpr std::int64_t kCpu = 1000;
constexpr std::int32_t kCohorts = 10, kQueues = 100;  // as in Kueue's large-scale load
constexpr int kKinds = 4;                             // different jobs in each queue

std::string QueueName(std::int64_t number) { return "cq-" + std::to_string(number); }

PodSetsPtr CpuOf(std::int64_t amount) {
  return PodSetsOf({"", 0, 0, 0, 0, 1, amount, RackRequest::kAnywhere, 0});
}

std::size_t ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long pages = 0, resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &pages, &resident);
  std::fclose(file);
  return read == 2 ? resident * 4096 : 0;
}

// 1,000 queues in 10 cohorts whose quota is all in use, and the jobs that wait for it.
class FullHouse {
 public:
  FullHouse() : settings_(std::make_shared<const AdmissionSettings>()) {
    auto config = std::make_shared<ConfigView>();
    config->namespaces["bench"] = {"bench", {}};
    config->flavors["bench"].name = "bench";
    for (std::int32_t i = 0; i < kCohorts * kQueues; ++i) {
      AddQueue(config.get(), QueueName(i), "cohort-" + std::to_string(i / kQueues), 20 * kCpu,
               100 * kCpu);
    }
    config_ = std::move(config);
    tree_ = core::QuotaTree::Build(*config_);
    usage_ = core::Usage(tree_);
    holders_ = std::make_shared<core::Holders>(tree_);
    pending_.Configure(config_, tree_, settings_);
    for (std::int32_t i = 0; i < kCohorts * kQueues; ++i) Occupy(i);
    for (int kind = 0; kind < kKinds; ++kind) kinds_.push_back(CpuOf((kind + 1) * kCpu));
  }

  // Adds `count` pending jobs to the queues in turn. Their priority is too low to preempt.
  void Wait(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::int64_t>(waiting_ % (kCohorts * kQueues));
      const std::size_t kind = waiting_ / (kCohorts * kQueues) % kKinds;
      ++waiting_;
      pending_.Add(MakeJob(next_id_, QueueName(number), 50, kinds_[kind], Now()), Now());
      ++next_id_;
    }
  }

  // Reports that quota of a queue has become free, which wakes the queues of its cohort. In truth
  // nothing is free.
  void Flush(std::int64_t queue) {
    pending_.NoteRelease(QueueName(queue));
    pending_.FlushTrees({QueueName(queue)}, Now());
  }
  void FlushAll() { pending_.FlushAll(Now()); }

  struct Cost {
    double seconds = 0;
    std::size_t heads = 0, cycles = 0;
  };
  // Decides until no queue has a job to try, or, if `single`, one cycle with one head of each
  // queue.
  Result<Cost> Decide(bool single) {
    Cost cost;
    CpuTimer timer;
    core::CycleInput input;
    input.now = Monotonic{1};
    if (single) input.budget.rounds = 1;
    input.cache = &cache_;
    while (pending_.HasActive()) {
      core::Snapshot snapshot;
      snapshot.config = config_;
      snapshot.settings = settings_;
      snapshot.usage = usage_;
      snapshot.holders = holders_;
      snapshot.now = Now();
      timer.Begin();
      snapshot.heads = pending_.Heads(1, kCohorts * kQueues);
      const core::Plan plan = core::Decide(snapshot, input);
      pending_.Settle(plan, Now());
      timer.End();
      if (!plan.admits.empty() || !plan.evictions.empty()) return Internal("something fitted");
      ++cost.cycles;
      cost.heads += plan.heads_evaluated;
      if (single) break;
    }
    cost.seconds = timer.seconds();
    return cost;
  }

 private:
  static WallTime Now() { return kScenarioStart; }

  // A job that uses the whole nominal quota of a queue.
  void Occupy(std::int32_t queue) {
    const std::string name = QueueName(queue);
    auto job = MakeJob(next_id_++, name, 50, CpuOf(20 * kCpu), Now());
    auto admission = std::make_shared<Admission>();
    admission->cluster_queue = name;
    PodSetAssignment pods;
    pods.name = "main";
    pods.count = 1;
    pods.flavors["cpu"] = "bench";
    pods.usage = {{"cpu", 20 * kCpu}};
    admission->pod_sets.push_back(std::move(pods));
    job->admission = std::move(admission);
    job->state = JobState::kRunning;
    job->admit_time = Now();
    usage_.Add(*job->admission);
    holders_->Put(core::MakeHolder(*tree_, *settings_, job));
  }

  AdmissionSettingsPtr settings_;
  ConfigPtr config_;
  core::QuotaTreePtr tree_;
  core::Usage usage_;
  std::shared_ptr<core::Holders> holders_;
  core::PendingQueues pending_;
  core::CycleCache cache_;
  std::vector<PodSetsPtr> kinds_;
  std::int64_t next_id_ = 1;
  std::size_t waiting_ = 0;
};

// What was measured: one cycle with all queues woken, all cycles until every queue is parked again,
// the cycles after one cohort is woken, and the arrival of one job.
struct CycleCosts {
  double single_ms = 0, all_ms = 0, tree_ms = 0, arrival_us = 0;
  std::size_t all_heads = 0, tree_heads = 0;
};

Result<CycleCosts> Measure(FullHouse* house, int runs) {
  std::vector<double> single, all, tree, arrival;
  CycleCosts out;
  for (int i = 0; i < std::max(runs, 5); ++i) {
    house->FlushAll();
    const auto one = house->Decide(true);
    if (!one.ok()) return one.error();
    single.push_back(one->seconds * 1e3);
    house->FlushAll();
    const auto every = house->Decide(false);
    if (!every.ok()) return every.error();
    all.push_back(every->seconds * 1e3);
    out.all_heads = every->heads;
    house->Flush(i);
    const auto flushed = house->Decide(false);
    if (!flushed.ok()) return flushed.error();
    tree.push_back(flushed->seconds * 1e3);
    out.tree_heads = flushed->heads;
    const double begun = ThreadCpuSeconds();
    house->Wait(100);
    const auto none = house->Decide(false);
    if (!none.ok()) return none.error();
    arrival.push_back((ThreadCpuSeconds() - begun) * 1e6 / 100);
  }
  out.single_ms = Median(single);
  out.all_ms = Median(all);
  out.tree_ms = Median(tree);
  out.arrival_us = Median(arrival);
  return out;
}

}  // namespace

Result<std::vector<Figure>> BenchNothingFits(const BenchOptions& options) {
  std::vector<Figure> figures;
  FullHouse house;
  std::size_t waiting = 0;
  malloc_trim(0);
  const std::size_t before = ResidentBytes();
  for (const std::size_t target : {10'000u, 100'000u, 1'000'000u}) {
    house.Wait(target - waiting);
    waiting = target;
    const auto cold = house.Decide(false);
    if (!cold.ok()) return cold.error();
    if (target == 1'000'000) {
      figures.push_back({"1,000,000 pending: resident memory of each",
                         static_cast<double>(ResidentBytes() - before) / 1e6 / 1024, "KiB", 1.2,
                         true, "record and PendingQueues, without the daemon's other indices"});
    }
    const auto cost = Measure(&house, options.runs);
    if (!cost.ok()) return cost.error();
    waiting += 100 * static_cast<std::size_t>(std::max(options.runs, 5));
    const std::string pending = std::to_string(target / 1000) + "k pending, 1,000 queues: ";
    figures.push_back({pending + "one cycle, all queues woken", cost->single_ms, "ms",
                       target == 100'000 ? 5.0 : 0, true, "one head of each queue"});
    figures.push_back({pending + "until all is parked again", cost->all_ms, "ms", 0, true,
                       std::to_string(cost->all_heads) + " heads, " + std::to_string(kKinds) +
                           " kinds in each queue"});
    figures.push_back({pending + "one tree woken", cost->tree_ms, "ms", 0, true,
                       std::to_string(cost->tree_heads) + " heads"});
    figures.push_back({pending + "one more job arrives, is parked", cost->arrival_us, "us", 0, true,
                       "its Add and what Decide makes of it"});
  }
  return figures;
}

namespace {

constexpr std::int32_t kLenders = 100;           // queues of the cohort
constexpr std::int64_t kBorrowersOfQueue = 100;  // running jobs of each queue

// One cohort in which 10,000 jobs run on borrowed quota, and a queue that uses none of its own.
class CrowdedCohort {
 public:
  explicit CrowdedCohort(bool fair) {
    auto settings = std::make_shared<AdmissionSettings>();
    if (fair) {
      settings->fair_sharing = {FairStrategy::kLessThanOrEqualToFinalShare,
                                FairStrategy::kLessThanInitialShare};
    }
    settings_ = std::move(settings);
    auto config = std::make_shared<ConfigView>();
    config->namespaces["bench"] = {"bench", {}};
    config->flavors["bench"].name = "bench";
    for (std::int32_t i = 0; i < kLenders; ++i)
      AddQueue(config.get(), QueueName(i), "all", 10 * kCpu, 1000 * kCpu);
    AddQueue(config.get(), "claims", "all", 9000 * kCpu, 0);
    config_ = std::move(config);
    tree_ = core::QuotaTree::Build(*config_);
    usage_ = core::Usage(tree_);
    holders_ = std::make_shared<core::Holders>(tree_);
    const PodSetsPtr pods = CpuOf(kCpu);
    for (std::int64_t i = 0; i < kLenders * kBorrowersOfQueue; ++i) {
      const std::string queue = QueueName(i % kLenders);
      auto job =
          MakeJob(i + 1, queue, static_cast<std::int32_t>(i * 7919 % 100), pods, kScenarioStart);
      auto admission = std::make_shared<Admission>();
      admission->cluster_queue = queue;
      PodSetAssignment held;
      held.name = "main";
      held.count = 1;
      held.flavors["cpu"] = "bench";
      held.usage = {{"cpu", kCpu}};
      admission->pod_sets.push_back(std::move(held));
      job->admission = std::move(admission);
      job->state = JobState::kRunning;
      job->admit_time = WallTime{kScenarioStart.us + i * 31 % 1000 * kMicrosPerSecond};
      usage_.Add(*job->admission);
      holders_->Put(core::MakeHolder(*tree_, *settings_, job));
    }
  }

  // CPU seconds of one Decide whose head wants `cpu`. Adds the number of victims to `victims`.
  double Search(std::int64_t cpu, std::int64_t id, std::size_t* victims) const {
    core::Snapshot snapshot;
    snapshot.config = config_;
    snapshot.settings = settings_;
    snapshot.usage = usage_;
    snapshot.holders = holders_;
    snapshot.now = kScenarioStart;
    core::QueueHeads heads;
    heads.cluster_queue = "claims";
    heads.jobs.push_back(MakeJob(id, "claims", 50, CpuOf(cpu), kScenarioStart));
    snapshot.heads.push_back(std::move(heads));
    core::CycleInput input;
    input.now = Monotonic{1};
    const double begun = ThreadCpuSeconds();
    const core::Plan plan = core::Decide(snapshot, input);
    const double spent = ThreadCpuSeconds() - begun;
    *victims += plan.evictions.size();
    return spent;
  }

 private:
  AdmissionSettingsPtr settings_;
  ConfigPtr config_;
  core::QuotaTreePtr tree_;
  core::Usage usage_;
  std::shared_ptr<core::Holders> holders_;
};

}  // namespace

Result<std::vector<Figure>> BenchVictims(const BenchOptions& options) {
  std::vector<Figure> figures;
  const int searches = 200 * std::max(options.runs, 1);
  for (const bool fair : {false, true}) {
    const CrowdedCohort cohort(fair);
    std::vector<double> costs;
    std::size_t victims = 0;
    for (int i = 0; i < searches; ++i) {
      const std::int64_t cpu = (1 + std::int64_t{i} * 37 % 9000) * kCpu;
      costs.push_back(cohort.Search(cpu, 100'000 + i, &victims) * 1e3);
    }
    if (victims == 0) return Internal("nobody was evicted");
    const std::string kind = fair ? "fair sharing: " : "classical: ";
    const auto count = static_cast<double>(victims) / searches;
    figures.push_back({kind + "search among 10,000 candidates, p99", Percentile(&costs, 0.99), "ms",
                       20, true, "a whole Decide, 1 to 9,000 victims wanted"});
    figures.push_back({kind + "median", Median(costs), "ms", 0, true,
                       std::to_string(count) + " victims on average"});
  }
  return figures;
}

}  // namespace muster::bench
