// Sums on the cohort tree: quota-availability, cohort-lendable, subtree-quota, cache-snapshot,
// snapshot-add-remove.
#include <set>

#include "schedd/core/quota/holders.h"
#include "schedd/core/quota/queue_status.h"
#include "schedd/shapes/config/object_readers.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/topology_world.h"

namespace muster::conformance {
namespace {

using core::NodeIndex;
using core::QuotaTree;
using core::Usage;

// Calls visit(index, node) for the queues or the cohorts of a tree.
template <class Visit>
void ForEachNode(const QuotaTree& tree, bool queues, Visit visit) {
  for (std::size_t i = 0; i < tree.node_count(); ++i) {
    const auto index = static_cast<NodeIndex>(i);
    if (tree.node(index).is_cluster_queue == queues) visit(index, tree.node(index));
  }
}

// One amount for every pair that the node or something below it has quota for.
template <class Amount>
json::array AmountsOf(const QuotaTree& tree, NodeIndex index, bool zeros, Amount amount) {
  std::vector<FlavorAmount> amounts;
  for (const auto pair : tree.node(index).pairs) {
    const std::int64_t value = amount(pair);
    if (value == 0 && !zeros) continue;
    const auto& [flavor, resource] = tree.pair(pair);
    amounts.push_back({flavor, resource, value});
  }
  return ToJson(amounts);
}

json::array SubtreeOf(const QuotaTree& tree, NodeIndex index) {
  return AmountsOf(tree, index, true, [&](core::FlavorResourceIndex pair) {
    return tree.node(index).subtree[static_cast<std::size_t>(pair)];
  });
}

void AddUsage(const json::value& by_queue, Usage* usage) {
  if (!by_queue.is_object()) return;
  for (const auto& [name, list] : by_queue.get_object()) {
    const NodeIndex queue = usage->tree().ClusterQueueIndex(name);
    for (const auto& [flavor, resource, amount] : FlavorAmounts(list))
      usage->Add(queue, usage->tree().PairIndex(flavor, resource), amount);
  }
}

void QuotaAvailability(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const auto tree = QuotaTree::Build(world.config);
  Usage usage(tree);
  AddUsage(test.Input("clusterQueueUsage"), &usage);
  json::object available, potential;
  ForEachNode(*tree, true, [&](NodeIndex index, const QuotaTree::Node& node) {
    available[node.name] = AmountsOf(*tree, index, true, [&](core::FlavorResourceIndex pair) {
      return usage.Available(index, pair);
    });
    potential[node.name] = AmountsOf(*tree, index, true, [&](core::FlavorResourceIndex pair) {
      return usage.Potential(index, pair);
    });
  });
  Check(test, "available", available, report);
  Check(test, "potentiallyAvailable", potential, report);
}

// Only the cohorts that the case asks about: a cohort without object is one as well.
void CheckSubtrees(const Case& test, const char* key, const ConfigView& config, Report* report) {
  if (!test.Wants(key)) return;
  const auto tree = QuotaTree::Build(config);
  json::object quotas;
  for (const auto& wanted : test.Want(key).as_object()) {
    const NodeIndex index = tree->CohortIndex(wanted.key());
    quotas[wanted.key()] = index < 0 ? json::value() : json::value(SubtreeOf(*tree, index));
  }
  Check(test, key, quotas, report);
}

void SubtreeQuota(const Case& test, Report* report) {
  ConfigView config = LoadWorld(test).config;
  CheckSubtrees(test, "subtreeQuotaBefore", config, report);
  config.cohorts.erase(std::string(std::string_view(test.Input("deleteCohort").as_string())));
  CheckSubtrees(test, "subtreeQuotaAfter", config, report);
}

json::object QuotaJson(const QuotaTree& tree, core::FlavorResourceIndex pair, const Quota& quota) {
  json::object item = {{"flavor", tree.pair(pair).first},
                       {"resource", tree.pair(pair).second},
                       {"nominal", AmountJson(quota.nominal)}};
  if (quota.borrowing_limit) item["borrowingLimit"] = AmountJson(*quota.borrowing_limit);
  if (quota.lending_limit) item["lendingLimit"] = AmountJson(*quota.lending_limit);
  return item;
}

json::array QuotasOf(const QuotaTree& tree, const std::vector<ResourceGroup>& groups) {
  json::array quotas;
  for (const auto& group : groups) {
    for (const auto& flavor : group.flavors) {
      for (const auto& [resource, quota] : flavor.resources) {
        quotas.push_back(QuotaJson(tree, tree.PairIndex(flavor.flavor, resource), quota));
      }
    }
  }
  return quotas;
}

json::array UsageOf(const Usage& usage, NodeIndex index) {
  return AmountsOf(usage.tree(), index, false,
                   [&](core::FlavorResourceIndex pair) { return usage.At(index, pair); });
}

// The part of a snapshot that cases show. Queues that admit nothing are only named.
json::object SnapshotJson(const World& world, const Usage& usage,
                          const std::vector<const JobRecord*>& holders) {
  const QuotaTree& tree = usage.tree();
  json::object queues, cohorts;
  json::array inactive;
  ForEachNode(tree, true, [&](NodeIndex index, const QuotaTree::Node& node) {
    const ClusterQueue& queue = world.config.cluster_queues.at(node.name);
    if (!core::ReadinessOf(world.config, world.settings, tree, queue, false).active) {
      inactive.emplace_back(node.name);
      return;
    }
    std::set<std::string> keys;
    for (const JobRecord* job : holders) {
      if (job->admission->cluster_queue == node.name) keys.insert(KeyOf(*job));
    }
    json::array workloads(keys.begin(), keys.end());
    queues[node.name] = json::object{{"fairWeight", node.fair_weight},
                                     {"quotas", QuotasOf(tree, queue.resource_groups)},
                                     {"subtreeQuota", SubtreeOf(tree, index)},
                                     {"usage", UsageOf(usage, index)},
                                     {"workloads", std::move(workloads)}};
  });
  ForEachNode(tree, false, [&](NodeIndex index, const QuotaTree::Node& node) {
    if (node.in_cycle) return;
    const auto declared = world.config.cohorts.find(node.name);
    json::object cohort = {{"subtreeQuota", SubtreeOf(tree, index)},
                           {"usage", UsageOf(usage, index)}};
    // Without an object there is nothing that has a weight.
    cohort["fairWeight"] = declared == world.config.cohorts.end() ? 0 : node.fair_weight;
    if (declared != world.config.cohorts.end())
      cohort["quotas"] = QuotasOf(tree, declared->second.resource_groups);
    cohorts[node.name] = std::move(cohort);
  });
  return {{"clusterQueues", std::move(queues)},
          {"cohorts", std::move(cohorts)},
          {"inactiveClusterQueues", std::move(inactive)}};
}

// Amounts of zero in lists of usage say as much as no entry.
json::value WithoutZeroUsage(json::value snapshot) {
  for (const char* kind : {"clusterQueues", "cohorts"}) {
    auto* nodes = snapshot.as_object().if_contains(kind);
    if (nodes == nullptr || !nodes->is_object()) continue;
    for (auto& node : nodes->get_object()) {
      json::array kept;
      for (const auto& item : ListAt(node.value(), "usage")) {
        if (IntAt(item, "amount") != 0) kept.push_back(item);
      }
      node.value().as_object()["usage"] = std::move(kept);
    }
  }
  return snapshot;
}

void CheckSnapshot(const Case& test, const json::object& snapshot, Report* report) {
  if (!test.Wants("snapshot")) return;
  CompareRules rules = RulesOf(test, "snapshot");
  // Ignored paths are those of one queue or cohort. The generation counts Kueue's own cache
  // updates.
  for (auto& path : rules.ignore) path = "[].[]." + path;
  rules.ignore.emplace_back("clusterQueues.[].allocatableResourceGeneration");
  const json::value want = WithoutZeroUsage(test.Want("snapshot"));
  for (const auto& difference : Differences(want, WithoutZeroUsage(snapshot), rules))
    report->Fail("snapshot" + difference);
}

std::vector<const JobRecord*> HoldersOf(const World& world) {
  std::vector<const JobRecord*> holders;
  for (const auto& job : world.jobs) {
    if (job.admission != nullptr && !IsTrue(job, "Finished")) holders.push_back(&job);
  }
  return holders;
}

core::HolderPtr HolderOf(const World& world, const QuotaTree& tree, const JobRecord& job) {
  return core::MakeHolder(tree, world.settings, std::make_shared<const JobRecord>(job));
}

void Charge(const core::Holder& holder, Usage* usage) {
  for (const auto& [pair, amount] : holder.charges) usage->Add(holder.queue, pair, amount);
}

// What is used of every machine that a flavor's tree has, by resource.
json::object MachinesJson(const core::TopologyTree& tree, const core::TopologyUsage& usage) {
  json::object machines;
  const auto& resources = usage.forest()->resources();
  for (core::LeafIndex leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    json::object used;
    for (std::size_t i = 0; i < resources.size(); ++i) {
      const std::int64_t amount = usage.At(tree.Slot(leaf))[i];
      if (amount != 0) used[resources[i]] = amount;
    }
    std::string name;
    for (const auto& value : tree.AssignmentValues(leaf)) name += (name.empty() ? "" : ",") + value;
    machines[name] = std::move(used);
  }
  return machines;
}

void CheckMachines(const Case& test, World world, Report* report) {
  if (!test.Wants("tasUsage")) return;
  if (const auto* relabeled = test.Input("relabeledResourceFlavors").if_array()) {
    for (const auto& object : *relabeled) {
      shapes::Problems problems;
      ResourceFlavor flavor = shapes::ReadResourceFlavor(shapes::Field(object, &problems));
      std::string name = flavor.name;
      world.config.flavors[name] = std::move(flavor);
    }
  }
  const auto forest = ForestOf(world);
  core::TopologyUsage usage(forest);
  ChargeTopologyUsage(test.Input("tasFlavorUsage"), &usage);
  json::object machines;
  for (const auto& [name, flavor] : world.config.flavors) {
    const auto* tree = forest->AnyTree(name);
    if (tree != nullptr) machines[name] = MachinesJson(*tree, usage);
  }
  Check(test, "tasUsage", machines, report);
}

void CacheSnapshot(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const auto tree = QuotaTree::Build(world.config);
  Usage usage(tree);
  const auto holders = HoldersOf(world);
  for (const JobRecord* job : holders) Charge(*HolderOf(world, *tree, *job), &usage);
  CheckSnapshot(test, SnapshotJson(world, usage, holders), report);
  CheckMachines(test, world, report);
}

// The holders of the case without those that it removes and does not add again.
std::vector<const JobRecord*> HoldersAfter(const Case& test, const World& world) {
  std::set<std::string> gone;
  const auto each = [&](const char* key, auto change) {
    if (const auto* names = test.Input(key).if_array()) {
      for (const auto& name : *names) change(std::string(std::string_view(name.as_string())));
    }
  };
  each("remove", [&](const std::string& name) { gone.insert(name); });
  each("add", [&](const std::string& name) { gone.erase(name); });
  std::vector<const JobRecord*> left;
  for (const JobRecord* job : HoldersOf(world)) {
    if (!gone.contains(KeyOf(*job))) left.push_back(job);
  }
  return left;
}

// Kueue compares usage here: a queue's workloads and its cohort are checked where the case
// tells them.
void FollowWant(const json::value& want, const ConfigView& config, json::object* snapshot) {
  for (auto& entry : snapshot->at("clusterQueues").as_object()) {
    const std::string name(entry.key());
    json::object& shown = entry.value().as_object();
    const json::value& wanted = At(At(want, "clusterQueues"), name);
    if (ListAt(wanted, "workloads").empty()) shown.erase("workloads");
    if (!At(wanted, "cohort").is_null()) shown["cohort"] = config.cluster_queues.at(name).cohort;
  }
}

void SnapshotAddRemove(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const auto tree = QuotaTree::Build(world.config);
  Usage usage(tree);
  for (const JobRecord* job : HoldersOf(world)) Charge(*HolderOf(world, *tree, *job), &usage);
  const auto each = [&](const char* key, auto change) {
    const json::value& names = test.Input(key);
    if (!names.is_array()) return;
    for (const auto& name : names.get_array()) {
      const auto holder = HolderOf(world, *tree, *world.Find(name.as_string()));
      for (const auto& [pair, amount] : holder->charges) change(holder->queue, pair, amount);
    }
  };
  each("remove", [&](auto queue, auto pair, auto amount) { usage.Remove(queue, pair, amount); });
  each("add", [&](auto queue, auto pair, auto amount) { usage.Add(queue, pair, amount); });
  json::object snapshot = SnapshotJson(world, usage, HoldersAfter(test, world));
  FollowWant(test.Want("snapshot"), world.config, &snapshot);
  CheckSnapshot(test, snapshot, report);
}

// inputs.cohort, or the only cohort there is.
NodeIndex CohortOf(const Case& test, const QuotaTree& tree) {
  if (const auto* name = test.Input("cohort").if_string()) return tree.CohortIndex(*name);
  NodeIndex only = -1;
  ForEachNode(tree, false, [&](NodeIndex index, const QuotaTree::Node&) { only = index; });
  return only;
}

void CohortLendable(const Case& test, Report* report) {
  const auto tree = QuotaTree::Build(LoadWorld(test).config);
  const NodeIndex cohort = CohortOf(test, *tree);
  json::object lendable;
  for (const auto pair : tree->node(cohort).pairs) {
    const core::ResourceIndex resource = tree->ResourceOf(pair);
    lendable[tree->resource(resource)] =
        tree->node(cohort).lendable[static_cast<std::size_t>(resource)];
  }
  Check(test, "lendable", lendable, report);
}

const Registration kLendable("cohort-lendable", CohortLendable);
const Registration kAvailability("quota-availability", QuotaAvailability);
const Registration kSubtree("subtree-quota", SubtreeQuota);
const Registration kSnapshot("cache-snapshot", CacheSnapshot);
const Registration kAddRemove("snapshot-add-remove", SnapshotAddRemove);

}  // namespace
}  // namespace muster::conformance
