// Flavor assignment of schedd/core against the oracle's, on random worlds: the same flavors, modes,
// borrowing levels, scan positions and reasons, with victims simulated for real.
#include <gtest/gtest.h>

#include "schedd/core/flavor/flavor_assigner.h"
#include "tests/property/oracle/random_world.h"
#include "tests/property/oracle/translate.h"

namespace muster::oracle {
namespace {

constexpr int kWorlds = 50000;

// A position that an earlier search may have left: any flavor of each group.
Scan RandomScan(const World& world, const Workload& of, Draw* draw) {
  Scan scan;
  for (const Pods& pods : of.pods) {
    auto& tried = scan.tried.emplace_back();
    for (const Group& group : world.queues[static_cast<std::size_t>(of.queue)].groups) {
      const int last = static_cast<int>(group.flavors.size()) - 2;
      const int index = draw->Between(-1, last);
      for (const int resource : group.resources) {
        if (pods.requests.count(resource)) tried[resource] = index;
      }
    }
  }
  return scan;
}

core::ScanPosition PositionOf(const World& world, const Scan& scan) {
  core::ScanPosition position;
  for (const auto& tried : scan.tried) {
    auto& to = position.emplace_back();
    for (const auto& [resource, index] : tried) {
      to[world.resources[static_cast<std::size_t>(resource)]] = index;
    }
  }
  return position;
}

// What is compared, as text. Of a NoFit over several groups not the reason: rule A33 leaves
// open what a group counts for that did get a flavor.
std::string NoFitText(Reason reason, std::size_t groups) {
  return "NoFit " + (groups == 1 ? std::string(ReasonName(reason)) : "");
}

std::string TextOf(const World& world, int queue, const Assignment& of) {
  const std::size_t groups = world.queues[static_cast<std::size_t>(queue)].groups.size();
  if (of.fitness == Fitness::kNoFit) return NoFitText(ReasonOf(of.why), groups);
  std::string text = of.fitness == Fitness::kPreempt ? "Preempt" : "Fit";
  text += " level " + std::to_string(of.level);
  for (const auto& choices : of.choices) {
    text += " [";
    for (const auto& [resource, choice] : choices) {
      text += " " + world.resources[static_cast<std::size_t>(resource)] + "@" +
              world.flavors[static_cast<std::size_t>(choice.flavor)].name + ":" +
              (choice.grade.mode == Mode::kFit ? "Fit" : "Preempt") + ":" +
              std::to_string(choice.tried);
    }
    text += " ]";
  }
  return text;
}

std::string TextOf(const core::Assignment& of, std::size_t groups) {
  const core::FlavorMode mode = of.Mode();
  if (mode == core::FlavorMode::kNoFit) return NoFitText(of.no_fit_reason, groups);
  std::string text = mode == core::FlavorMode::kPreempt ? "Preempt" : "Fit";
  text += " level " + std::to_string(of.borrowing_level);
  for (const auto& pods : of.pod_sets) {
    text += " [";
    for (const auto& [resource, choice] : pods.flavors) {
      text += " " + resource + "@" + choice.flavor + ":" +
              (choice.mode == core::FlavorMode::kFit ? "Fit" : "Preempt") + ":" +
              std::to_string(choice.tried_flavor_idx);
    }
    text += " ]";
  }
  return text;
}

std::string CoreAssignment(const World& world, int workload) {
  const ConfigPtr config = ConfigOf(world);
  const AdmissionSettingsPtr settings = SettingsOf(world);
  const auto tree = core::QuotaTree::Build(*config);
  core::Usage usage(tree);
  core::Holders holders(tree);
  for (int i = 0; i < static_cast<int>(world.workloads.size()); ++i) {
    if (!world.workloads[static_cast<std::size_t>(i)].holding) continue;
    const JobPtr job = RecordOf(world, i);
    usage.Add(*job->admission);
    holders.Put(core::MakeHolder(*tree, *settings, job));
  }
  const JobPtr job = RecordOf(world, workload);
  core::VictimSearch search(*settings, holders, &usage);
  core::AssignRequest request;
  request.oracle = &search;
  core::ScanPosition resume;
  if (const auto& scan = world.workloads[static_cast<std::size_t>(workload)].scan) {
    resume = PositionOf(world, *scan);
    request.resume = &resume;
  }
  const ClusterQueue& queue = config->cluster_queues.at(job->cluster_queue);
  return TextOf(core::AssignFlavors(*config, *settings, usage, queue, *job, nullptr, request),
                queue.resource_groups.size());
}

TEST(FlavorAgreement, CoreAssignsWhatTheOracleAssigns) {
  std::map<std::string, int> outcomes;
  for (int seed = 0; seed < kWorlds; ++seed) {
    World world = RandomWorld(static_cast<std::uint64_t>(seed));
    world.settings.partial_admission = false;
    Draw draw(static_cast<std::uint64_t>(seed) + 1);
    const int workload = draw.Between(0, static_cast<int>(world.workloads.size()) - 1);
    Workload& of = world.workloads[static_cast<std::size_t>(workload)];
    if (of.holding) continue;
    if (draw.Percent(30)) of.scan = RandomScan(world, of, &draw);
    Ledger ledger = LedgerOf(world);
    const Assignment expected = Nominate(world, workload, nullptr, &ledger);
    const std::string text = TextOf(world, of.queue, expected);
    ++outcomes[text.substr(0, text.find(' '))];
    const std::string actual = CoreAssignment(world, workload);
    if (actual == text) continue;
    FAIL() << "seed " << seed << ", workload " << workload << ": " << actual << " instead of "
           << text << "\n"
           << Describe(world);
  }
  for (const char* outcome : {"NoFit", "Preempt", "Fit"}) {
    EXPECT_GT(outcomes[outcome], kWorlds / 20) << outcome << ": the worlds have become one-sided";
  }
}

}  // namespace
}  // namespace muster::oracle
