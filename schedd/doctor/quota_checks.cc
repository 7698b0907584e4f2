// The tree is built from the stored objects, and usage added up from the stored admissions, by the
// functions that decide (schedd/core/quota); nothing that the daemon computed is taken over.
#include "schedd/doctor/quota_checks.h"

#include <map>
#include <memory>
#include <tuple>

#include "schedd/base/quantity.h"
#include "schedd/base/saturating.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/engine/configure/configuration.h"
#include "schedd/model/requests.h"

namespace muster::doctor {
namespace {

bool HasQuota(ObjectKind kind) {
  return kind == ObjectKind::kClusterQueue || kind == ObjectKind::kCohort;
}

ConfigPtr ConfigOf(const StoredWorld& world) {
  std::vector<ObjectPtr> objects;
  for (const ObjectPtr& one : world.objects) {
    if (HasQuota(one->kind) || one->kind == ObjectKind::kResourceFlavor) objects.push_back(one);
  }
  return Configuration::Read(objects, world.last_seq).first;
}

core::Usage UsageOf(const StoredWorld& world, const AdmissionSettings& settings) {
  core::Usage usage(core::QuotaTree::Build(*ConfigOf(world)));
  for (const JobPtr& job : world.jobs) {
    if (!HoldsQuota(job->state) || job->admission == nullptr) continue;
    usage.Add(*ChargedAdmission(*job, settings));
  }
  return usage;
}

// What a node may use: its subtree's quota, and what it may borrow if there is a lender above it.
std::int64_t LimitOf(const core::QuotaTree& tree, core::NodeIndex at,
                     core::FlavorResourceIndex pair) {
  const core::QuotaTree::Cell& cell = tree.cell(at, pair);
  if (tree.parent(at) < 0) return cell.subtree;
  return SaturatingAdd(cell.subtree, cell.borrowing_limit);
}

std::vector<std::string> Over(const StoredWorld& world, const AdmissionSettings& settings) {
  const core::Usage usage = UsageOf(world, settings);
  const core::QuotaTree& tree = usage.tree();
  std::vector<std::string> off;
  for (core::NodeIndex at = 0; at < static_cast<core::NodeIndex>(tree.node_count()); ++at) {
    for (core::FlavorResourceIndex pair = 0;
         pair < static_cast<core::FlavorResourceIndex>(tree.flavor_resource_count()); ++pair) {
      const std::int64_t used = usage.At(at, pair), limit = LimitOf(tree, at, pair);
      if (used <= limit || tree.node(at).in_cycle) continue;
      const auto& [flavor, resource] = tree.pair(pair);
      off.push_back((tree.node(at).is_cluster_queue ? "ClusterQueue " : "Cohort ") +
                    tree.node(at).name + " uses " + FormatQuantity(resource, used) + " " +
                    resource + " of flavor " + flavor + ", and may use " +
                    FormatQuantity(resource, limit));
    }
  }
  return off;
}

bool WasEdited(const StoredWorld& world) {
  for (const ObjectPtr& one : world.objects) {
    if (HasQuota(one->kind) && one->generation > 1) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> OverQuota(const StoredWorld& world, const AdmissionSettings& settings) {
  return WasEdited(world) ? std::vector<std::string>() : Over(world, settings);
}

std::vector<std::string> OverEditedQuota(const StoredWorld& world,
                                         const AdmissionSettings& settings) {
  return WasEdited(world) ? Over(world, settings) : std::vector<std::string>();
}

// Amounts of queues and pairs that no quota has any more are not charged, as in a recovery.
std::vector<std::string> WrongUsage(const StoredWorld& world, const AdmissionSettings& settings) {
  const core::Usage usage = UsageOf(world, settings);
  const core::QuotaTree& tree = usage.tree();
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> stored;
  for (const UsageRow& row : world.usage)
    stored[{row.cluster_queue, row.flavor, row.resource}] = row.amount;
  for (core::NodeIndex at = 0; at < static_cast<core::NodeIndex>(tree.node_count()); ++at) {
    if (!tree.node(at).is_cluster_queue) continue;
    for (core::FlavorResourceIndex pair = 0;
         pair < static_cast<core::FlavorResourceIndex>(tree.flavor_resource_count()); ++pair) {
      if (usage.At(at, pair) != 0)
        stored.try_emplace({tree.node(at).name, tree.pair(pair).first, tree.pair(pair).second}, 0);
    }
  }
  std::vector<std::string> off;
  for (const auto& [key, amount] : stored) {
    const auto& [queue, flavor, resource] = key;
    const core::NodeIndex at = tree.ClusterQueueIndex(queue);
    const core::FlavorResourceIndex pair = tree.PairIndex(flavor, resource);
    const std::int64_t right = at < 0 || pair < 0 ? 0 : usage.At(at, pair);
    if (right == amount) continue;
    off.push_back("the row of ClusterQueue " + queue + " says " + FormatQuantity(resource, amount) +
                  " " + resource + " of flavor " + flavor + ", and its admitted jobs use " +
                  FormatQuantity(resource, right));
  }
  return off;
}

// An elastic job holds what it was scaled to, and one with a least number may hold less.
std::vector<std::string> PartialGangs(const StoredWorld& world, const AdmissionSettings&) {
  std::vector<std::string> off;
  for (const JobPtr& job : world.jobs) {
    if (!HoldsQuota(job->state)) continue;
    const std::string name = "job " + std::to_string(job->id.value);
    if (job->admission == nullptr) {
      off.push_back(name + " is admitted and holds no quota");
      continue;
    }
    if (job->admission->pod_sets.size() != job->pod_sets->size()) {
      off.push_back(name + " holds quota for " + std::to_string(job->admission->pod_sets.size()) +
                    " of its " + std::to_string(job->pod_sets->size()) + " pod sets");
      continue;
    }
    const bool elastic = job->admission_state != nullptr && job->admission_state->scale.has_value();
    for (std::size_t i = 0; i < job->pod_sets->size() && !elastic; ++i) {
      const PodSet& asked = (*job->pod_sets)[i];
      const std::int32_t held = job->admission->pod_sets[i].count;
      if (held >= asked.min_count.value_or(asked.count)) continue;
      off.push_back(name + " holds quota for " + std::to_string(held) + " of " +
                    std::to_string(asked.count) + " pods of pod set " + asked.name);
    }
  }
  return off;
}

}  // namespace muster::doctor
