#include "backends/k8s/node_totals.h"

#include <string_view>
#include <utility>

#include "backends/k8s/reader.h"
#include "schedd/base/quantity.h"

namespace muster::k8s {
namespace {

bool IsReady(const Reader& status) {
  bool ready = false;
  status["conditions"].Each([&](const Reader& condition) {
    if (condition["type"].View() == "Ready") ready = condition["status"].View() == "True";
  });
  return ready;
}

// Taints that say "nothing of yours runs here", by nobody's wish for tolerating pods.
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

ResourceList Amounts(const Reader& list) {
  ResourceList out;
  const json::object* object = list.Object();
  if (object == nullptr) return out;
  for (const auto& [name, value] : *object) {
    const json::string* text = value.if_string();
    if (text == nullptr) continue;
    const auto amount = ParseQuantity(name, *text);
    // One unreadable amount is as good as none of it: nothing is placed for it.
    if (amount.ok()) SetAmount(&out, name, *amount);
  }
  return out;
}

}  // namespace

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
  read.allocatable = Amounts(node["status"]["allocatable"]);
  if (listing_) {
    listed_[name] = std::move(read);
    return;
  }
  Node& known = nodes_[name];
  const bool same = known.usable == read.usable && known.allocatable == read.allocatable;
  known = std::move(read);
  if (!same) Sum();
}

void NodeTotals::EndList() {
  listing_ = false;
  nodes_.swap(listed_);
  listed_.clear();
  Sum();
}

void NodeTotals::Remove(const json::object& node) {
  if (nodes_.erase(Reader(node)["metadata"]["name"].Text(kNameBytes)) > 0) Sum();
}

void NodeTotals::Sum() {
  ResourceList sum;
  usable_ = 0;
  for (const auto& [name, node] : nodes_) {
    if (!node.usable) continue;
    ++usable_;
    AddAmounts(&sum, node.allocatable);
  }
  if (sum == allocatable_ && version_ > 0) return;
  allocatable_ = std::move(sum);
  ++version_;
}

}  // namespace muster::k8s
