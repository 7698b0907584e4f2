// NodeTotals: sums over a member's nodes that are recomputed only where something has changed.
//
// Most events of a node are heartbeats, and most changes of load touch few nodes. So each node
// keeps its own result (`free`, `used_by_others`) with the mark `weighed`; Sum weighs the unmarked
// nodes again, adds up, and groups. The sums over all nodes (`allocatable`, `capacity`) change with
// nodes alone.
//
// Groups: the usable nodes are sorted by free cpu, then by all that is free, then by kind;
// neighbours that are equal in all three form one MachineGroup with a count. The host name is left
// out of the labels, because with it no two nodes would be alike.
#include "backends/k8s/node_totals.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "backends/k8s/status/reader.h"
#include "schedd/base/quantity.h"

namespace muster::k8s {
namespace {

constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
constexpr std::size_t kLabelBytes = 317;  // a prefix of 253, a slash, a name of 63

bool IsReady(const Reader& status) {
  bool ready = false;
  status["conditions"].Each([&](const Reader& condition) {
    if (condition["type"].View() == "Ready") ready = condition["status"].View() == "True";
  });
  return ready;
}

// Whether the node is closed to all jobs: it is cordoned, or has one of the taints of Kubernetes
// that mark a control plane or a lost node. A flavor's tolerations do not open such a node.
bool IsClosed(const Reader& spec) {
  bool closed = spec["unschedulable"].IsTrue();
  spec["taints"].Each([&](const Reader& taint) {
    const std::string_view key = taint["key"].View();
    const std::string_view effect = taint["effect"].View();
    if (effect != "NoSchedule" && effect != "NoExecute") return;
    closed = closed || key == "node-role.kubernetes.io/control-plane" ||
             key == "node-role.kubernetes.io/master" || key == "node.kubernetes.io/not-ready" ||
             key == "node.kubernetes.io/unreachable" || key == "node.kubernetes.io/unschedulable" ||
             key == "node.kubernetes.io/out-of-service";
  });
  return closed;
}

// The taints that keep pods away. PreferNoSchedule does not.
std::vector<Taint> RepellingTaints(const Reader& spec) {
  std::vector<Taint> taints;
  spec["taints"].Each([&](const Reader& taint) {
    const std::string_view effect = taint["effect"].View();
    if (effect != "NoSchedule" && effect != "NoExecute") return;
    taints.push_back(
        {taint["key"].Text(kLabelBytes), taint["value"].Text(kLabelBytes), std::string(effect)});
  });
  std::sort(taints.begin(), taints.end(), [](const Taint& a, const Taint& b) {
    return std::tie(a.key, a.value, a.effect) < std::tie(b.key, b.value, b.effect);
  });
  return taints;
}

// The node's labels without its host name.
LabelMap LabelsOf(const Reader& metadata) {
  LabelMap labels;
  const json::object* object = metadata["labels"].Object();
  if (object == nullptr) return labels;
  for (const auto& [name, value] : *object) {
    if (std::string_view(name) == kHostnameLabel) continue;
    labels[CleanText(name, kLabelBytes)] = Reader(&value).Text(kLabelBytes);
  }
  return labels;
}

}  // namespace

bool NodeTotals::KindLess::operator()(const KindPtr& a, const KindPtr& b) const {
  if (a == b) return false;
  if (a->labels != b->labels) return a->labels < b->labels;
  return std::lexicographical_compare(a->taints.begin(), a->taints.end(), b->taints.begin(),
                                      b->taints.end(), [](const Taint& one, const Taint& other) {
                                        return std::tie(one.key, one.value, one.effect) <
                                               std::tie(other.key, other.value, other.effect);
                                      });
}

// The one Kind with these labels and taints.
NodeTotals::KindPtr NodeTotals::KindOf(LabelMap labels, std::vector<Taint> taints) {
  return *kinds_.insert(std::make_shared<const Kind>(Kind{std::move(labels), std::move(taints)}))
              .first;
}

void NodeTotals::BeginList() {
  listing_ = true;
  listed_.clear();
}

void NodeTotals::Put(const json::object& object) {
  const Reader node(object);
  const std::string name = node["metadata"]["name"].Text(kNameBytes);
  if (name.empty()) return;
  Node read;
  read.usable = IsReady(node["status"]) && !IsClosed(node["spec"]);
  read.allocatable = ReadAmounts(node["status"]["allocatable"]);
  read.capacity = ReadAmounts(node["status"]["capacity"]);
  read.kind = KindOf(LabelsOf(node["metadata"]), RepellingTaints(node["spec"]));
  if (listing_) {
    listed_[name] = std::move(read);
    return;
  }
  Node& known = nodes_[name];
  // Most events of a node are heartbeats, which change none of these.
  if (known.usable == read.usable && known.kind == read.kind &&
      known.allocatable == read.allocatable && known.capacity == read.capacity) {
    return;
  }
  known = std::move(read);
  nodes_changed_ = true;
}

void NodeTotals::EndList() {
  listing_ = false;
  nodes_.swap(listed_);
  listed_.clear();
  known_ = nodes_changed_ = true;
}

void NodeTotals::Remove(const json::object& node) {
  if (nodes_.erase(Reader(node)["metadata"]["name"].Text(kNameBytes)) > 0) nodes_changed_ = true;
}

void NodeTotals::Sum(PodLoads* pods) {
  bool changed = nodes_changed_;
  for (const std::string& name : pods->TakeChanged()) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end() || !found->second.usable) continue;
    found->second.weighed = false;
    changed = true;
  }
  if (!known_ || !changed) return;
  if (std::exchange(nodes_changed_, false)) SumNodes();
  used_by_others_.clear();
  for (auto& [name, node] : nodes_) {
    if (!node.usable) continue;
    if (!std::exchange(node.weighed, true)) Weigh(*pods, name, &node);
    AddAmounts(&used_by_others_, node.used_by_others);
  }
  Group();
}

// Recomputes what depends on nodes alone, and drops kinds that no node has any more.
void NodeTotals::SumNodes() {
  allocatable_.clear();
  capacity_.clear();
  usable_.clear();
  for (auto& [name, node] : nodes_) {
    AddAmounts(&capacity_, node.capacity);
    if (!node.usable) continue;
    usable_.push_back(&node);
    AddAmounts(&allocatable_, node.allocatable);
  }
  std::erase_if(kinds_, [](const KindPtr& kind) { return kind.use_count() == 1; });
}

// Computes what is free on a node and what others take of it. Pods that were bound without the
// scheduler may request more than the node has, or resources that it lacks; the excess does not
// count.
void NodeTotals::Weigh(const PodLoads& pods, const std::string& name, Node* node) {
  const ResourceList others = pods.On(name, PodSide::kOthers);
  const ResourceList ours = pods.On(name, PodSide::kOurs);
  node->free = node->allocatable;
  node->used_by_others.clear();
  for (ResourceAmount& one : node->free) {
    const std::int64_t taken = std::min(one.amount, AmountOf(others, one.resource));
    if (taken > 0) node->used_by_others.push_back({one.resource, taken});
    one.amount = std::max<std::int64_t>(
        0, SaturatingSub(one.amount, SaturatingAdd(taken, AmountOf(ours, one.resource))));
  }
}

// A strict order in which nodes of one group are equal: most free cpu first.
bool NodeTotals::GroupBefore(const Node* a, const Node* b) {
  const std::int64_t one = AmountOf(a->free, "cpu");
  const std::int64_t other = AmountOf(b->free, "cpu");
  if (one != other) return one > other;
  if (a->free != b->free) {
    return std::lexicographical_compare(a->free.begin(), a->free.end(), b->free.begin(),
                                        b->free.end(),
                                        [](const ResourceAmount& x, const ResourceAmount& y) {
      return std::tie(x.resource, x.amount) < std::tie(y.resource, y.amount);
    });
  }
  return KindLess()(a->kind, b->kind);
}

void NodeTotals::Group() {
  std::sort(usable_.begin(), usable_.end(), GroupBefore);
  MachineGroups groups;
  const Node* last = nullptr;
  for (const Node* node : usable_) {
    if (last == nullptr || GroupBefore(last, node))
      groups.push_back({node->kind->labels, node->kind->taints, node->free, 0});
    ++groups.back().count;
    last = node;
  }
  if (machines_ == nullptr || *machines_ != groups)
    machines_ = std::make_shared<const MachineGroups>(std::move(groups));
}

}  // namespace muster::k8s
