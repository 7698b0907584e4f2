#include "tests/property/core/random_world.h"

#include <string>

namespace muster::core::testing {
namespace {

const char* const kResources[] = {"cpu", "gpu"};

Quota RandomQuota(Dice* dice, std::int64_t most, bool limits) {
  Quota quota;
  quota.nominal = dice->Roll(0, most);
  if (limits && dice->Chance(40)) quota.borrowing_limit = dice->Roll(0, most);
  if (limits && dice->Chance(40)) quota.lending_limit = dice->Roll(0, quota.nominal);
  return quota;
}

std::vector<ResourceGroup> RandomGroups(Dice* dice, std::int64_t most, bool limits) {
  const int first = static_cast<int>(dice->Roll(0, 2));
  const int count = static_cast<int>(dice->Roll(1, 3));
  ResourceGroup both;
  both.covered_resources = {"cpu", "gpu"};
  for (int i = 0; i < count; ++i) {
    FlavorQuotas flavor{"f" + std::to_string((first + i) % 3), {}};
    for (const char* resource : kResources) {
      flavor.resources.emplace_back(resource, RandomQuota(dice, most, limits));
    }
    both.flavors.push_back(flavor);
  }
  return {both};
}

std::string CohortName(std::int64_t index) { return "cohort-" + std::to_string(index); }

void AddCohorts(Dice* dice, const Shape& shape, ConfigView* config) {
  std::vector<int> depth;
  for (int i = 0; i < shape.cohorts; ++i) {
    Cohort cohort;
    cohort.name = CohortName(i);
    depth.push_back(1);
    if (i > 0 && dice->Chance(80)) {
      const auto parent = static_cast<std::size_t>(dice->Roll(0, i - 1));
      if (depth[parent] < 6) {
        cohort.parent = CohortName(static_cast<std::int64_t>(parent));
        depth.back() = depth[parent] + 1;
      }
    }
    if (dice->Chance(50)) {
      cohort.resource_groups = RandomGroups(dice, shape.most / 2, !cohort.parent.empty());
    }
    config->cohorts[cohort.name] = cohort;
  }
}

void AddQueue(Dice* dice, const Shape& shape, int index, ConfigView* config) {
  ClusterQueue queue;
  queue.name = "queue-" + std::to_string(index);
  if (shape.cohorts > 0 && dice->Chance(85)) {
    queue.cohort = CohortName(dice->Roll(0, shape.cohorts - 1));
  }
  queue.resource_groups = RandomGroups(dice, shape.most, !queue.cohort.empty());
  queue.namespace_selector = LabelSelector{};
  if (dice->Chance(15)) queue.namespace_selector->match_labels = {{"team", "a"}};
  if (dice->Chance(35)) queue.strategy = QueueingStrategy::kStrictFifo;
  if (dice->Chance(30)) queue.when_can_borrow = FungibilityPolicy::kTryNextFlavor;
  if (dice->Chance(5)) queue.stop_policy = StopPolicy::kHold;
  for (const char* ns : {"default", "a"}) {
    LocalQueue local{ns, queue.name, queue.name, StopPolicy::kNone};
    if (dice->Chance(5)) local.stop_policy = StopPolicy::kHold;
    config->local_queues[{local.ns, local.name}] = local;
  }
  config->cluster_queues[queue.name] = queue;
}

std::shared_ptr<const SchedulingConstraints> RandomConstraints(Dice* dice) {
  auto constraints = std::make_shared<SchedulingConstraints>();
  if (dice->Chance(50)) constraints->node_selector = {{"kind", dice->Chance(50) ? "x" : "y"}};
  if (dice->Chance(50)) constraints->tolerations = {{"spot", "Exists", "", "", {}}};
  if (dice->Chance(30)) {
    constraints->has_required_affinity = true;
    constraints->required_terms = {{{{"kind", dice->Chance(50) ? "In" : "NotIn", {"y"}}}}};
  }
  return constraints;
}

}  // namespace

ConfigView RandomConfig(Dice* dice, const Shape& shape) {
  ConfigView config;
  config.namespaces["default"] = {"default", {}};
  config.namespaces["a"] = {"a", {{"team", "a"}}};
  config.flavors["f0"] = {"f0", {{"kind", "x"}}, {}, {}};
  config.flavors["f1"] = {"f1", {{"kind", "y"}}, {{"spot", "true", "NoSchedule"}}, {}};
  config.flavors["f2"] = {"f2", {}, {}, {}};
  AddCohorts(dice, shape, &config);
  for (int i = 0; i < shape.queues; ++i) AddQueue(dice, shape, i, &config);
  return config;
}

std::vector<JobPtr> RandomJobs(Dice* dice, const Shape& shape, const ConfigView& config) {
  std::vector<JobPtr> jobs;
  for (int i = 1; i <= shape.jobs; ++i) {
    auto job = std::make_shared<JobRecord>();
    job->id = {i};
    job->uid = {dice->Next(), dice->Next()};
    job->name = "j" + std::to_string(i);
    job->ns = dice->Chance(50) ? "default" : "a";
    auto queue = config.cluster_queues.begin();
    std::advance(queue, dice->Roll(0, static_cast<std::int64_t>(config.cluster_queues.size()) - 1));
    job->cluster_queue = job->local_queue = queue->first;
    job->priority = static_cast<std::int32_t>(dice->Roll(0, 2));
    job->submit_time = {1 + dice->Roll(0, shape.jobs)};
    job->accept_seq = i;
    PodSets pod_sets;
    for (std::int64_t p = dice->Roll(1, 3); p > 0; --p) {
      PodSet pods{
          "p" + std::to_string(p), static_cast<std::int32_t>(dice->Roll(1, 3)), {}, nullptr};
      for (const char* resource : kResources) {
        if (dice->Chance(70))
          SetAmount(&pods.requests, resource, dice->Roll(0, shape.most / 4 + 1));
      }
      if (dice->Chance(25)) pods.constraints = RandomConstraints(dice);
      pod_sets.push_back(pods);
    }
    job->pod_sets = std::make_shared<const PodSets>(pod_sets);
    jobs.push_back(job);
  }
  return jobs;
}

std::vector<ClusterView> RandomMembers(Dice* dice, const Shape& shape) {
  std::vector<ClusterView> clusters;
  for (int i = 0; i < shape.members; ++i) {
    ClusterView view;
    view.member.name = "member-" + std::to_string(i);
    view.member.any_flavor = dice->Chance(70);
    if (dice->Chance(50)) view.member.labels = {{"kind", dice->Chance(50) ? "x" : "y"}};
    if (dice->Chance(15)) view.member.taints = {{"spot", "true", "NoSchedule"}};
    view.member.cordoned = dice->Chance(10);
    view.member.healthy = !dice->Chance(10);
    SetAmount(&view.member.allocatable, "gpu", dice->Roll(0, shape.most * 2));
    if (dice->Chance(50)) SetAmount(&view.member.allocatable, "cpu", dice->Roll(0, shape.most * 2));
    view.free = view.member.allocatable;
    for (auto& entry : view.free) entry.amount = dice->Roll(entry.amount / 2, entry.amount);
    clusters.push_back(view);
  }
  return clusters;
}

}  // namespace muster::core::testing
