// Topology aware scheduling (KEP-2724, rules A43, A44): the topology request of a pod set, and the
// domains that admission assigned to it. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The node label whose value names one machine.
inline constexpr char kHostnameLabel[] = "kubernetes.io/hostname";

/// The kind Topology: node labels from the widest level to the narrowest.
struct Topology {
  std::string name;
  /// Node label keys; kubernetes.io/hostname only as the last.
  std::vector<std::string> levels;
  bool operator==(const Topology&) const = default;
};

/// One layer of slices: groups of `size` pods, each inside one domain of `level`.
struct TopologyLayer {
  std::string level;
  std::int32_t size = 0;
  bool operator==(const TopologyLayer&) const = default;
};

/// The annotations kueue.x-k8s.io/podset-*-topology of a pod template. At most one of required,
/// preferred and unconstrained.
struct TopologyRequest {
  /// The node label of a level.
  std::optional<std::string> required, preferred;
  bool unconstrained = false;
  /// Pod sets of one group are placed together; "": none.
  std::string pod_set_group;
  /// podset-slice-required-topology.
  std::optional<std::string> slice_required;
  std::optional<std::int32_t> slice_size;
  /// At most 3, outermost first; in place of the two fields above.
  std::vector<TopologyLayer> slice_layers;
  bool operator==(const TopologyRequest&) const = default;
};

/// A number of pods in one domain.
struct TopologyDomain {
  /// One for each level of the assignment.
  std::vector<std::string> values;
  std::int32_t count = 0;
  bool operator==(const TopologyDomain&) const = default;
};

/// The domains of the pods of one pod set, in the order of their values. If hostname is the lowest
/// level, only that level is listed.
struct TopologyAssignment {
  std::vector<std::string> levels;
  std::vector<TopologyDomain> domains;
  bool operator==(const TopologyAssignment&) const = default;
};
using TopologyAssignmentPtr = std::shared_ptr<const TopologyAssignment>;

}  // namespace muster
