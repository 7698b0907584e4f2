// NodeTotals: what a member's nodes can hold together and which of them are alike, with the load of
// the bound pods taken off. Only nodes that are ready and take pods count. Not thread-safe; its
// size is bounded by the number of nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/k8s/pod_loads.h"
#include "schedd/model/queues.h"
#include "schedd/model/resources.h"
#include "schedd/text/json.h"

namespace muster::k8s {

class NodeTotals {
 public:
  void BeginList();
  /// A node as the API server has it (core/v1 Node).
  void Put(const json::object& node);
  void EndList();
  void Remove(const json::object& node);
  /// Takes account of the changes of nodes and of `pods` since the last call. The getters below
  /// answer as of that moment.
  void Sum(PodLoads* pods);

  /// The sum over the nodes that are Ready, not cordoned, and not tainted as control plane or as
  /// lost by the member's own controllers. Nodes with other taints count, because flavors can
  /// tolerate those.
  const ResourceList& allocatable() const { return allocatable_; }
  /// The sum over all nodes.
  const ResourceList& capacity() const { return capacity_; }
  /// What pods of others take of `allocatable`: on each node at most what the node has.
  const ResourceList& used_by_others() const { return used_by_others_; }
  /// Null before the first list. The pointer changes only when the content does.
  const std::shared_ptr<const MachineGroups>& machines() const { return machines_; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t usable() const { return usable_.size(); }

 private:
  /// Labels and repelling taints; nodes that agree in them share one Kind.
  struct Kind {
    LabelMap labels;
    /// With the effects NoSchedule and NoExecute, sorted.
    std::vector<Taint> taints;
  };
  using KindPtr = std::shared_ptr<const Kind>;
  struct KindLess {
    bool operator()(const KindPtr& a, const KindPtr& b) const;
  };
  struct Node {
    bool usable = false;
    KindPtr kind;
    ResourceList allocatable, capacity;
    ResourceList free, used_by_others;
    /// `free` and `used_by_others` are up to date.
    bool weighed = false;
  };
  static bool GroupBefore(const Node* a, const Node* b);
  static void Weigh(const PodLoads& pods, const std::string& name, Node* node);
  KindPtr KindOf(LabelMap labels, std::vector<Taint> taints);
  void SumNodes();
  void Group();

  std::map<std::string, Node> nodes_, listed_;  // by name
  std::set<KindPtr, KindLess> kinds_;
  // A list is under way; a list has been complete once.
  bool listing_ = false, known_ = false;
  bool nodes_changed_ = false;
  // Of nodes_; as of the last Sum.
  std::vector<Node*> usable_;
  ResourceList allocatable_, capacity_, used_by_others_;
  std::shared_ptr<const MachineGroups> machines_;
};

}  // namespace muster::k8s
