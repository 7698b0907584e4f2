// Topology aware scheduling (KEP-2724, rules A43, A44): what a pod set asks for and where admission
// put it. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The node label whose value is one machine.
inline constexpr char kHostnameLabel[] = "kubernetes.io/hostname";

/// The kind Topology: node labels from the widest level to the narrowest.
struct Topology {
  std::string name;
  std::vector<std::string> levels;  // node label keys; kubernetes.io/hostname only as the last
  bool operator==(const Topology&) const = default;
};

/// One layer of slices: groups of `size` pods, each inside one domain of `level`.
struct TopologyLayer {
  std::string level;
  std::int32_t size = 0;
  bool operator==(const TopologyLayer&) const = default;
};

/// What a pod template's annotations kueue.x-k8s.io/podset-*-topology say. At most one of required,
/// preferred and unconstrained.
struct TopologyRequest {
  std::optional<std::string> required, preferred;  // a level's node label
  bool unconstrained = false;
  std::string pod_set_group;                  // pod sets of one group are placed together; "": none
  std::optional<std::string> slice_required;  // podset-slice-required-topology
  std::optional<std::int32_t> slice_size;
  std::vector<TopologyLayer> slice_layers;  // at most 3, outermost first; instead of the two above
  bool operator==(const TopologyRequest&) const = default;
};

/// Some pods in one domain.
struct TopologyDomain {
  std::vector<std::string> values;  // one per level of the assignment
  std::int32_t count = 0;
  bool operator==(const TopologyDomain&) const = default;
};

/// Where the pods of one pod set go: domains in the order of their values. With hostname as the
/// lowest level only that level is listed.
struct TopologyAssignment {
  std::vector<std::string> levels;
  std::vector<TopologyDomain> domains;
  bool operator==(const TopologyAssignment&) const = default;
};
using TopologyAssignmentPtr = std::shared_ptr<const TopologyAssignment>;

}  // namespace muster
