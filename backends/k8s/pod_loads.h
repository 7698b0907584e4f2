// PodLoads: the resource requests of the pods that are bound to a member's nodes, per node, with
// Muster's pods and those of others apart. Not thread-safe; a few hundred bytes per bound pod.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "backends/k8s/status/reader.h"
#include "schedd/model/resources.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// The amounts in a Kubernetes resource list. An amount that cannot be read is left out.
ResourceList ReadAmounts(const Reader& list);

/// What the member's scheduler reserves for a pod (core/v1 PodSpec): the larger of what its init
/// containers and what its containers with the sidecars request; pod-level requests in place of
/// that; the overhead; and 1 of "pods".
ResourceList PodRequest(const Reader& spec);

/// Whose a pod is.
enum class PodSide : std::uint8_t { kOurs, kOthers };

class PodLoads {
 public:
  /// A list replaces the pods of its side: BeginList, Put for each, EndList. A second BeginList
  /// forgets the pages since the first.
  void BeginList(PodSide side);
  /// A pod as the API server has it. It counts while it is bound and has not ended, also while it
  /// is being deleted.
  void Put(PodSide side, const json::object& pod);
  void EndList(PodSide side);
  void Remove(PodSide side, const json::object& pod);
  /// Forgets all pods of one side.
  void Forget(PodSide side);

  /// The sum of the requests of that side's pods on a node.
  ResourceList On(const std::string& node, PodSide side) const;
  /// Names of the nodes whose load has changed since the last call.
  std::set<std::string> TakeChanged();
  std::size_t pods(PodSide side) const { return Of(side).pods.size(); }

 private:
  /// Wider than an amount, so that subtracting a pod always gives back the sum before it was added.
  using Sums = std::map<std::string, __int128, std::less<>>;
  struct Pod {
    std::string node;
    ResourceList requests;
    /// The number of the last list that contained it.
    std::uint64_t listed = 0;
  };
  struct Side {
    std::unordered_map<std::string, Pod> pods;  // by uid
    std::map<std::string, Sums> nodes;
    std::uint64_t list = 0;
  };
  const Side& Of(PodSide side) const { return sides_[static_cast<std::size_t>(side)]; }
  Side& Of(PodSide side) { return sides_[static_cast<std::size_t>(side)]; }
  void Count(Side* side, const Pod& pod, int sign);

  std::array<Side, 2> sides_;
  std::set<std::string> changed_;
};

}  // namespace muster::k8s
