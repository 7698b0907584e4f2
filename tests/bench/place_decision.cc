// Measures what it costs to choose a member for one job, without daemon and database.
//
// A Fleet has 100 unequal members, 1,000 ResourcePlacements with the policy of the fleet guide, and
// room for 4,000 running jobs. Jobs arrive one after another; from the 4,001st on the oldest ends
// for each new one, so the load stays the same. Each decision is timed twice: by the CPU time of
// the thread, which the bar is for, and by the clock.
#include "tests/bench/place_decision.h"

#include <chrono>
#include <deque>
#include <set>
#include <utility>

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/member/member_fit.h"
#include "tests/bench/cpu_timer.h"
#include "tests/bench/load_scenario.h"

namespace muster::bench {
namespace {

constexpr std::int64_t kDecisions = 20'000;
// Jobs that hold room at the same time; then the oldest ends for each new one.
constexpr std::int64_t kLive = 4'000;
// The jobs use these placements in turn.
constexpr std::int64_t kPlacements = 1'000;
constexpr std::int64_t kMembers = 100;
constexpr std::int64_t kCpu = 1000;
constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::int64_t kMachineCpus = 64;
constexpr const char* kQueue = "bench";

// A member with the CPUs of 1 to 100 machines (in no order of size) and one of three proportions of
// memory. It reports its machines in three groups.
core::ClusterView MemberView(std::int64_t number) {
  const std::int64_t machines = 1 + number * 37 % kMembers;
  const std::int64_t memory_of_cpu = (2 + number % 3 * 2) * kGi;
  core::ClusterView view;
  view.member.name = "member-" + std::to_string(number);
  view.member.backend = "kubernetes";
  view.member.labels = {{"region", "r" + std::to_string(number % 7)}};
  view.member.allocatable = {{"cpu", machines * kMachineCpus * kCpu},
                             {"memory", machines * kMachineCpus * memory_of_cpu},
                             {"nvidia.com/gpu", number % 4 == 0 ? machines * 8 : 0},
                             {"pods", machines * 110}};
  view.member.node_count = static_cast<std::int32_t>(machines);
  view.member.kinds =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"Job", "JobSet"});
  auto groups = std::make_shared<MachineGroups>();
  for (const std::int64_t cpus : {kMachineCpus, kMachineCpus / 2, kMachineCpus / 4}) {
    groups->push_back(
        {{},
         {},
         {{"cpu", cpus * kCpu}, {"memory", kMachineCpus * memory_of_cpu}, {"pods", 100}},
         static_cast<std::int32_t>(machines)});
  }
  view.member.machines = std::move(groups);
  view.free = view.member.allocatable;
  return view;
}

// A ResourcePlacement for one job with the policy of the fleet guide.
PlacementPtr GuidePlacement(const std::string& job) {
  ResourceSelector selector;
  selector.group = "batch";
  selector.version = "v1";
  selector.kind = "Job";
  selector.name = job;
  Placement placement;
  placement.ns = "bench";
  placement.name = job + "-placement";
  placement.selectors = {std::move(selector)};
  placement.has_policy = true;
  placement.policy.type = PlacementType::kPickN;
  for (const auto& [weight, resource] : {std::pair(40, "cpu"), std::pair(30, "memory")}) {
    PropertySorter sorter{std::string(kResourcePropertyPrefix) + "available-" + resource, true};
    placement.policy.preferred.push_back({weight, {}, std::move(sorter)});
  }
  return std::make_shared<const Placement>(std::move(placement));
}

struct Costs {
  std::vector<double> cpu, wall;  // seconds of each decision
  std::set<std::string> picked;   // the members that got a job
};

// A fleet on which jobs start and end one by one.
class Fleet {
 public:
  Fleet() {
    PodSet pods;
    pods.name = "main";
    pods.count = 1;
    pods.requests = {{"cpu", 16 * kCpu}, {"memory", 64 * kGi}};
    pod_sets_ = std::make_shared<const PodSets>(PodSets{pods});
    admission_.cluster_queue = kQueue;
    admission_.pod_sets.emplace_back();
    admission_.pod_sets[0].name = "main";
    admission_.pod_sets[0].count = 1;
    admission_.pod_sets[0].usage = pods.requests;
    admission_.pod_sets[0].flavors = {{"cpu", "bench"}, {"memory", "bench"}};
    Configure();
    for (std::int64_t i = 0; i < kMembers; ++i) snapshot_.clusters.push_back(MemberView(i));
    snapshot_.now = kScenarioStart;
  }

  // Times finding the placement that governs the job, and Place.
  Result<Costs> PlaceAll() {
    return Run([this](const JobPtr& job) {
      const core::PlacementAsk ask =
          core::AskOf(*snapshot_.config, *snapshot_.settings, *job, snapshot_.now);
      core::PlacementDemand demand;
      demand.pod_sets = job->pod_sets.get();
      demand.admission = &admission_;
      demand.ask = &ask;
      demand.kind = core::KindOnMember(*job);
      demand.job_uid = job->uid;
      return core::Place(*snapshot_.config, snapshot_.clusters, demand, false).cluster;
    });
  }

  // Times a whole cycle with the job as its only head: gates, quota, flavors, placement.
  Result<Costs> DecideAll() {
    core::CycleCache cache;
    core::CycleInput input;
    input.now = Monotonic{1};
    input.cache = &cache;
    return Run([&](const JobPtr& job) {
      core::QueueHeads heads;
      heads.cluster_queue = kQueue;
      heads.jobs.push_back(job);
      snapshot_.heads.assign(1, std::move(heads));
      const core::Plan plan = core::Decide(snapshot_, input);
      return plan.admits.empty() ? std::string() : plan.admits.front().cluster;
    });
  }

 private:
  void Configure() {
    auto config = std::make_shared<ConfigView>();
    config->namespaces["bench"] = {"bench", {}};
    config->flavors["bench"].name = "bench";
    AddQueue(config.get(), kQueue, "", 0, 0);
    ResourceGroup& group = config->cluster_queues[kQueue].resource_groups[0];
    const Quota plenty{std::int64_t{1} << 60, std::nullopt, std::nullopt};
    group.covered_resources = {"cpu", "memory"};
    group.flavors = {{"bench", {{"cpu", plenty}, {"memory", plenty}}}};
    auto placements = std::make_shared<PlacementTable>();
    for (std::int64_t i = 0; i < kPlacements; ++i) placements->Put(GuidePlacement(NameOf(i)));
    config->placements = std::move(placements);
    snapshot_.usage = core::Usage(core::QuotaTree::Build(*config));
    snapshot_.config = std::move(config);
  }
  static std::string NameOf(std::int64_t i) { return "job-" + std::to_string(i % kPlacements); }

  void Charge(const std::string& cluster, std::int64_t sign) {
    for (core::ClusterView& view : snapshot_.clusters) {
      if (view.member.name == cluster)
        AddAmounts(&view.free, Scaled((*pod_sets_)[0].requests, -sign));
    }
  }

  template <class Decision>
  Result<Costs> Run(const Decision& decide) {
    Costs costs;
    std::deque<std::string> live;  // the members of the running jobs, the oldest first
    for (std::int64_t i = 0; i < kLive + kDecisions; ++i) {
      const auto job = MakeJob(i + 1, kQueue, 0, pod_sets_, kScenarioStart);
      job->name = NameOf(i);
      const auto begun = std::chrono::steady_clock::now();
      const double cpu = ThreadCpuSeconds();
      const std::string cluster = decide(job);
      const double spent = ThreadCpuSeconds() - cpu;
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
      if (cluster.empty()) return Internal("no member was found for " + job->name);
      Charge(cluster, 1);
      live.push_back(cluster);
      // The first jobs only fill the fleet.
      if (i < kLive) continue;
      Charge(live.front(), -1);
      live.pop_front();
      costs.cpu.push_back(spent);
      costs.wall.push_back(taken.count());
      costs.picked.insert(cluster);
    }
    for (const std::string& cluster : live) Charge(cluster, -1);
    return costs;
  }

  core::Snapshot snapshot_;
  PodSetsPtr pod_sets_;
  Admission admission_;
};

void AddCosts(const std::string& of, Costs costs, std::vector<Figure>* out) {
  const auto ms = [](std::vector<double>* seconds, double part) {
    return Percentile(seconds, part) * 1000;
  };
  out->push_back({"1 job, 100 members: " + of + ", CPU, p99", ms(&costs.cpu, 0.99), "ms", 1, true,
                  std::to_string(costs.cpu.size()) + " decisions; KubeFleet: 20 s at p90"});
  out->push_back({"  the same, median", ms(&costs.cpu, 0.5), "ms", 0, true,
                  std::to_string(costs.picked.size()) + " members were picked"});
  out->push_back(
      {"  by the clock, p99", ms(&costs.wall, 0.99), "ms", 0, true, "with what else ran here"});
}

}  // namespace

Result<std::vector<Figure>> MeasureDecisions() {
  Fleet fleet;
  auto placed = fleet.PlaceAll();
  if (!placed.ok()) return placed.error();
  auto decided = fleet.DecideAll();
  if (!decided.ok()) return decided.error();
  std::vector<Figure> figures;
  AddCosts("Place", std::move(placed).value(), &figures);
  AddCosts("Decide", std::move(decided).value(), &figures);
  return figures;
}

}  // namespace muster::bench
