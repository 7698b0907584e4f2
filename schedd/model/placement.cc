// PlacementTable finds the placements for a job without looking at all of them. Three indexes are
// kept beside the table: placements by the object that they name, ResourcePlacements by namespace
// if they select by labels or a whole kind, and placements with spread constraints.
#include "schedd/model/placement.h"

namespace muster {
namespace {

// A ClusterResourcePlacement is found by the namespaces that it selects; its other selectors select
// objects in these.
bool IsIndexed(const Placement& placement, const ResourceSelector& selector) {
  return !placement.ns.empty() || (selector.group.empty() && selector.kind == "Namespace");
}

// The key of an object in by_target_.
PlacementTable::Target TargetOf(const std::string& ns, const std::string& group,
                                const std::string& kind, const std::string& name) {
  return {ns, group + "/" + kind, name};
}

}  // namespace

std::string_view PlacementTypeName(PlacementType type) {
  switch (type) {
    case PlacementType::kPickAll:
      return "PickAll";
    case PlacementType::kPickFixed:
      return "PickFixed";
    case PlacementType::kPickN:
      return "PickN";
  }
  return "";
}

bool IsReservedNamespace(std::string_view ns) {
  return ns == "default" || ns.starts_with("kube-") || ns.starts_with("fleet-");
}

std::string MentionOf(const Placement& placement) {
  if (placement.ns.empty()) return "ClusterResourcePlacement " + placement.name;
  return "ResourcePlacement " + placement.ns + "/" + placement.name;
}

// Sets are copied and put back, because values in a SharedMap are shared with other versions.
void PlacementTable::Put(PlacementPtr placement) {
  Erase(placement->ns, placement->name);
  for (const ResourceSelector& selector : placement->selectors) {
    if (!IsIndexed(*placement, selector)) continue;
    if (selector.name.empty()) {
      selecting_[placement->ns].insert(placement->name);
    } else {
      const Target target = TargetOf(placement->ns, selector.group, selector.kind, selector.name);
      const auto known = by_target_.find(target);
      std::set<std::string> names;
      if (known != by_target_.end()) names = known->second;
      names.insert(placement->name);
      by_target_.insert_or_assign(target, std::move(names));
    }
  }
  Key key{placement->ns, placement->name};
  if (!placement->policy.spread.empty()) spreading_.insert(key);
  all_.insert_or_assign(std::move(key), std::move(placement));
}

// The reverse of Put: each index loses the name, and an empty entry goes.
void PlacementTable::Erase(const std::string& ns, const std::string& name) {
  const PlacementPtr gone = Find(ns, name);
  if (gone == nullptr) return;
  for (const ResourceSelector& selector : gone->selectors) {
    if (selector.name.empty()) {
      const auto of_namespace = selecting_.find(ns);
      if (of_namespace == selecting_.end()) continue;
      of_namespace->second.erase(name);
      if (of_namespace->second.empty()) selecting_.erase(of_namespace);
      continue;
    }
    const Target target = TargetOf(ns, selector.group, selector.kind, selector.name);
    const auto known = by_target_.find(target);
    if (known == by_target_.end()) continue;
    std::set<std::string> names = known->second;
    names.erase(name);
    if (names.empty()) {
      by_target_.erase(target);
    } else {
      by_target_.insert_or_assign(target, std::move(names));
    }
  }
  spreading_.erase({ns, name});
  all_.erase({ns, name});
}

PlacementPtr PlacementTable::Find(const std::string& ns, const std::string& name) const {
  const auto found = all_.find({ns, name});
  return found == all_.end() ? nullptr : found->second;
}

std::vector<PlacementPtr> PlacementTable::Naming(const std::string& ns, const std::string& group,
                                                 const std::string& kind,
                                                 const std::string& name) const {
  std::vector<PlacementPtr> naming;
  const auto found = by_target_.find(TargetOf(ns, group, kind, name));
  if (found == by_target_.end()) return naming;
  for (const std::string& placement : found->second) naming.push_back(Find(ns, placement));
  return naming;
}

std::vector<PlacementPtr> PlacementTable::Selecting(const std::string& ns) const {
  std::vector<PlacementPtr> selecting;
  const auto found = selecting_.find(ns);
  if (found == selecting_.end()) return selecting;
  for (const std::string& placement : found->second) selecting.push_back(Find(ns, placement));
  return selecting;
}

std::vector<PlacementPtr> PlacementTable::Spreading() const {
  std::vector<PlacementPtr> spreading;
  for (const auto& [ns, name] : spreading_) spreading.push_back(Find(ns, name));
  return spreading;
}

}  // namespace muster
