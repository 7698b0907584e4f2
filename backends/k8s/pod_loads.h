// PodLoads: what the pods that are bound to a member's nodes ask of each node, ours and those of
// others apart. Plain, not thread-safe; a few hundred bytes per bound pod.
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

/// The amounts in a Kubernetes resource list. One that cannot be read is left out.
ResourceList ReadAmounts(const Reader& list);

/// What the scheduler of a member reserves for a pod (core/v1 PodSpec): the larger of init
/// containers and of containers with sidecars; what the pod as a whole asks for goes before that;
/// its overhead; and 1 of "pods".
ResourceList PodRequest(const Reader& spec);

enum class PodSide : std::uint8_t { kOurs, kOthers };

class PodLoads {
 public:
  /// A list replaces what is held of its side: BeginList, Put..., EndList. A second BeginList
  /// forgets the pages since the first.
  void BeginList(PodSide side);
  /// A pod as the API server has it. It counts while it is bound and has not ended, also while it
  /// is being deleted.
  void Put(PodSide side, const json::object& pod);
  void EndList(PodSide side);
  void Remove(PodSide side, const json::object& pod);
  /// Forgets all of one side.
  void Forget(PodSide side);

  /// What the counting pods of that side ask of a node.
  ResourceList On(const std::string& node, PodSide side) const;
  /// Names of the nodes whose load has changed since they were last taken.
  std::set<std::string> TakeChanged();
  std::size_t pods(PodSide side) const { return Of(side).pods.size(); }

 private:
  // Wider than an amount: what was added can always be taken off again.
  using Sums = std::map<std::string, __int128, std::less<>>;
  struct Pod {
    std::string node;
    ResourceList requests;
    std::uint64_t listed = 0;  // the list that held it last
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
