// NodeTotals: what a member's machines can hold together: the allocatable amounts of nodes that are
// ready and take pods. Plain, not thread-safe; bounded by the member's nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

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

  /// The sum over nodes that are Ready, not cordoned, and not tainted as control plane or as lost
  /// by the member's own controllers. Nodes with other taints count: flavors tolerate those.
  const ResourceList& allocatable() const { return allocatable_; }
  /// Grows whenever `allocatable` changes.
  std::uint64_t version() const { return version_; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t usable() const { return usable_; }

 private:
  struct Node {
    bool usable = false;
    ResourceList allocatable;
  };
  void Sum();
  std::map<std::string, Node> nodes_, listed_;  // by name
  bool listing_ = false;
  ResourceList allocatable_;
  std::size_t usable_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace muster::k8s
