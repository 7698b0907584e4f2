#include "schedd/model/placement.h"

namespace muster {
namespace {

// A ClusterResourcePlacement is found by the namespaces that it selects; what else it selects lies
// in them.
bool IsIndexed(const Placement& placement, const ResourceSelector& selector) {
  return !placement.ns.empty() || (selector.group.empty() && selector.kind == "Namespace");
}

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

std::string MentionOf(const Placement& placement) {
  if (placement.ns.empty()) return "ClusterResourcePlacement " + placement.name;
  return "ResourcePlacement " + placement.ns + "/" + placement.name;
}

void PlacementTable::Put(PlacementPtr placement) {
  Erase(placement->ns, placement->name);
  for (const ResourceSelector& selector : placement->selectors) {
    if (!IsIndexed(*placement, selector)) continue;
    if (selector.name.empty()) {
      selecting_[placement->ns].insert(placement->name);
    } else {
      by_target_[TargetOf(placement->ns, selector.group, selector.kind, selector.name)].insert(
          placement->name);
    }
  }
  Key key{placement->ns, placement->name};
  all_.insert_or_assign(std::move(key), std::move(placement));
}

void PlacementTable::Erase(const std::string& ns, const std::string& name) {
  const auto found = all_.find({ns, name});
  if (found == all_.end()) return;
  const auto drop = [&](auto* index, const auto& key) {
    const auto entry = index->find(key);
    if (entry == index->end()) return;
    entry->second.erase(name);
    if (entry->second.empty()) index->erase(entry);
  };
  for (const ResourceSelector& selector : found->second->selectors) {
    if (selector.name.empty()) {
      drop(&selecting_, ns);
    } else {
      drop(&by_target_, TargetOf(ns, selector.group, selector.kind, selector.name));
    }
  }
  all_.erase(found);
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

std::vector<PlacementPtr> PlacementTable::OfCluster() const {
  std::vector<PlacementPtr> found;
  for (const auto& [key, placement] : all_) {  // the empty namespace comes first
    if (!key.first.empty()) break;
    found.push_back(placement);
  }
  return found;
}

}  // namespace muster
