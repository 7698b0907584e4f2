// NodeTotals: what a member's machines can hold together and which are alike: of nodes that are
// ready and take pods, less what is bound to them. Plain, not thread-safe; bounded by the member's
// nodes.
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
  /// Takes account of what has changed of nodes and of `pods` since the last time. What follows
  /// is as of then.
  void Sum(PodLoads* pods);

  /// The sum over nodes that are Ready, not cordoned, and not tainted as control plane or as lost
  /// by the member's own controllers. Nodes with other taints count: flavors tolerate those.
  const ResourceList& allocatable() const { return allocatable_; }
  /// The sum over all nodes.
  const ResourceList& capacity() const { return capacity_; }
  /// What pods of others take of `allocatable`: on no node more than it has.
  const ResourceList& used_by_others() const { return used_by_others_; }
  /// Null before the first list. Another object only when it says something else.
  const std::shared_ptr<const MachineGroups>& machines() const { return machines_; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t usable() const { return usable_.size(); }

 private:
  /// What machines have in common; kept once.
  struct Kind {
    LabelMap labels;
    std::vector<Taint> taints;  // that repel, in order
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
    bool weighed = false;  // free and used_by_others are as they should be
  };
  static bool GroupBefore(const Node* a, const Node* b);
  static void Weigh(const PodLoads& pods, const std::string& name, Node* node);
  KindPtr KindOf(LabelMap labels, std::vector<Taint> taints);
  void SumNodes();
  void Group();

  std::map<std::string, Node> nodes_, listed_;  // by name
  std::set<KindPtr, KindLess> kinds_;
  bool listing_ = false, known_ = false;  // known_: a list has come
  bool nodes_changed_ = false;
  std::vector<Node*> usable_;  // of nodes_; as of the last Sum
  ResourceList allocatable_, capacity_, used_by_others_;
  std::shared_ptr<const MachineGroups> machines_;
};

}  // namespace muster::k8s
