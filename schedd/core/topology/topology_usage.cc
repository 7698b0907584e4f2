// Usage of machines (rule A44). An admission names its machines by level values; these are resolved
// to slots once, when its charges are computed. A machine that left the flavor's tree, for instance
// because a label changed, still has its pods: they are charged to the machine's slot if usage is
// kept by machine, and the charges are marked stale.
#include "schedd/core/topology/topology_usage.h"

#include <algorithm>

#include "schedd/base/quantity.h"

namespace muster::core {
namespace {

// Where a domain's pods are charged: its slot, and its leaf if the flavor's tree still has it.
struct Place {
  std::int32_t slot = -1;
  LeafIndex leaf = -1;
};

Place PlaceOf(const TopologyForest& forest, std::size_t cluster, const TopologyTree& tree,
              const TopologyDomain& domain) {
  Place place;
  place.leaf = tree.FindLeaf(domain.values);
  if (place.leaf >= 0) {
    place.slot = tree.Slot(place.leaf);
  } else if (tree.ends_at_hosts() && domain.values.size() == 1) {
    // The machine belongs to another flavor now, and still has these pods.
    place.slot = forest.SlotOfHost(cluster, domain.values[0]);
  }
  return place;
}

// The tree of the pod set's topology flavor; null if it has no topology, or no tree of the cluster.
const TopologyTree* TreeOf(const TopologyForest& forest, std::size_t cluster,
                           const PodSetAssignment& pod_set) {
  if (pod_set.topology == nullptr) return nullptr;
  for (const auto& [resource, flavor] : pod_set.flavors) {
    if (const auto* tree = forest.Tree(cluster, flavor)) return tree;
  }
  return nullptr;
}

// True if the cluster has every machine that the admission names.
bool HasAllLeaves(const TopologyForest& forest, std::size_t cluster, const Admission& admission) {
  for (const auto& pod_set : admission.pod_sets) {
    const auto* tree = TreeOf(forest, cluster, pod_set);
    if (tree == nullptr) continue;
    const auto missing = [&](const TopologyDomain& domain) {
      return tree->FindLeaf(domain.values) < 0;
    };
    const auto& domains = pod_set.topology->domains;
    if (std::any_of(domains.begin(), domains.end(), missing)) return false;
  }
  return true;
}

// The cluster of this name, or the first with all machines of the admission; cluster_count() if the
// name is unknown.
std::size_t ClusterOf(const TopologyForest& forest, const Admission& admission,
                      std::string_view name) {
  for (std::size_t i = 0; i < forest.cluster_count(); ++i) {
    if (name.empty() ? HasAllLeaves(forest, i, admission) : forest.cluster_name(i) == name)
      return i;
  }
  return name.empty() ? 0 : forest.cluster_count();
}

const ResourceList* RequestsOf(const PodSets& pod_sets, const std::string& name) {
  for (const auto& pod_set : pod_sets) {
    if (pod_set.name == name) return &NodeRequestsOf(pod_set);
  }
  return nullptr;
}

// Adds up the charges of an admission, pod set by pod set.
class Collector {
 public:
  Collector(const TopologyForest& forest, std::size_t cluster)
      : forest_(forest), cluster_(cluster), pods_(forest.ResourceIndex("pods")) {}

  void Add(const TopologyTree& tree, const TopologyAssignment& assignment,
           const ResourceList* requests) {
    for (const auto& domain : assignment.domains) {
      const Place place = PlaceOf(forest_, cluster_, tree, domain);
      charges_.stale = charges_.stale || place.leaf < 0;
      if (place.slot < 0) continue;
      const std::int64_t* capacity = place.leaf < 0 ? nullptr : tree.Capacity(place.leaf);
      Put(place.slot, capacity, pods_, domain.count);
      if (requests == nullptr) continue;
      for (const auto& one : *requests) {
        const std::int32_t resource = forest_.ResourceIndex(one.resource);
        if (resource < 0 || resource == pods_) continue;
        Put(place.slot, capacity, resource, SaturatingMul(one.amount, domain.count));
      }
    }
  }

  // Sorts by position and adds up amounts of the same one.
  TopologyCharges Take() {
    auto& list = charges_.list;
    std::sort(list.begin(), list.end(),
              [](const TopologyCharge& a, const TopologyCharge& b) { return a.at < b.at; });
    auto last = list.begin();
    for (auto one = list.begin(); one != list.end(); ++one) {
      if (one == last) continue;
      if (one->at == last->at) {
        last->amount = SaturatingAdd(last->amount, one->amount);
        last->capacity = std::max(last->capacity, one->capacity);
      } else {
        *++last = *one;
      }
    }
    if (!list.empty()) list.erase(last + 1, list.end());
    return std::move(charges_);
  }

 private:
  void Put(std::int32_t slot, const std::int64_t* capacity, std::int32_t resource,
           std::int64_t amount) {
    if (amount == 0) return;
    const auto at = slot * static_cast<std::int32_t>(forest_.resources().size()) + resource;
    charges_.list.push_back({at, amount, capacity == nullptr ? 0 : capacity[resource]});
  }

  const TopologyForest& forest_;
  const std::size_t cluster_;
  const std::int32_t pods_;
  TopologyCharges charges_;
};

std::size_t Index(const TopologyCharge& charge) { return static_cast<std::size_t>(charge.at); }

// Wraps around, so that every charge can be taken back exactly. Placement never lets a leaf come
// near the limits; only amounts written by others could.
void AddWrapping(std::int64_t* amount, std::int64_t more) {
  *amount = static_cast<std::int64_t>(static_cast<std::uint64_t>(*amount) +
                                      static_cast<std::uint64_t>(more));
}

void SubtractWrapping(std::int64_t* amount, std::int64_t less) {
  *amount = static_cast<std::int64_t>(static_cast<std::uint64_t>(*amount) -
                                      static_cast<std::uint64_t>(less));
}

}  // namespace

// A member that is not known gives stale charges, which never fit.
TopologyCharges ChargesOn(const TopologyForest& forest, const PodSets& pod_sets,
                          const Admission& admission, std::string_view cluster) {
  const auto placed = [](const PodSetAssignment& pod_set) { return pod_set.topology != nullptr; };
  // Most admissions name no machines.
  if (std::none_of(admission.pod_sets.begin(), admission.pod_sets.end(), placed)) return {};
  const std::size_t at = ClusterOf(forest, admission, cluster);
  if (at == forest.cluster_count()) return {.list = {}, .stale = true};
  Collector collector(forest, at);
  for (const auto& pod_set : admission.pod_sets) {
    const auto* tree = TreeOf(forest, at, pod_set);
    if (tree == nullptr) continue;
    collector.Add(*tree, *pod_set.topology, RequestsOf(pod_sets, pod_set.name));
  }
  return collector.Take();
}

// Both lists are sorted by position, so one pass compares them.
TopologyCharges NetCharges(const TopologyCharges& after, const TopologyCharges& before) {
  TopologyCharges net;
  net.stale = after.stale;
  auto held = before.list.begin();
  for (const auto& one : after.list) {
    while (held != before.list.end() && held->at < one.at) ++held;
    const bool both = held != before.list.end() && held->at == one.at;
    const std::int64_t more = both ? SaturatingSub(one.amount, held->amount) : one.amount;
    if (more > 0) net.list.push_back({one.at, more, one.capacity});
  }
  return net;
}

TopologyUsage::TopologyUsage(TopologyForestPtr forest)
    : forest_(std::move(forest)),
      resources_(forest_->resources().size()),
      amounts_(forest_->slot_count() * resources_, 0) {}

void TopologyUsage::Charge(const TopologyCharges& charges) {
  for (const auto& one : charges.list) AddWrapping(&amounts_[Index(one)], one.amount);
}

void TopologyUsage::Release(const TopologyCharges& charges) {
  for (const auto& one : charges.list) SubtractWrapping(&amounts_[Index(one)], one.amount);
}

bool TopologyUsage::Fits(const TopologyCharges& charges) const {
  return !charges.stale &&
         std::all_of(charges.list.begin(), charges.list.end(), [&](const TopologyCharge& one) {
           return one.amount <= SaturatingSub(one.capacity, amounts_[Index(one)]);
         });
}

}  // namespace muster::core
