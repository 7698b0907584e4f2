// PodLoads: sums of requests per node that are kept up to date pod by pod.
//
// Each pod is remembered with its node and requests, so that it can be subtracted when it ends,
// moves out of the list or changes (a resize in place). A pod counts by its spec from its binding
// to its end: that is what the scheduler of the member reserves, whatever the node has granted so
// far.
#include "backends/k8s/pod_loads.h"

#include <algorithm>
#include <utility>

#include "schedd/base/quantity.h"

namespace muster::k8s {
namespace {

ResourceList RequestsOf(const Reader& container) {
  return ReadAmounts(container["resources"]["requests"]);
}

bool HasEnded(const Reader& pod) {
  const std::string_view phase = pod["status"]["phase"].View();
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace

// An unreadable amount counts as none: no pod is placed for it.
ResourceList ReadAmounts(const Reader& list) {
  ResourceList out;
  const json::object* object = list.Object();
  if (object == nullptr) return out;
  for (const auto& [name, value] : *object) {
    const json::string* text = value.if_string();
    if (text == nullptr) continue;
    const auto amount = ParseQuantity(name, *text);
    if (amount.ok()) SetAmount(&out, name, *amount);
  }
  return out;
}

ResourceList PodRequest(const Reader& spec) {
  ResourceList total, sidecars, peak;
  spec["containers"].Each(
      [&](const Reader& container) { AddAmounts(&total, RequestsOf(container)); });
  // Init containers run one after another, each beside the sidecars (restartPolicy Always) that
  // have started before it. `peak` is the largest sum of such a moment.
  spec["initContainers"].Each([&](const Reader& container) {
    ResourceList asked = RequestsOf(container);
    if (container["restartPolicy"].View() == "Always") {
      AddAmounts(&total, asked);
      AddAmounts(&sidecars, asked);
      asked = sidecars;
    } else {
      AddAmounts(&asked, sidecars);
    }
    MaxAmounts(&peak, asked);
  });
  MaxAmounts(&total, peak);
  for (const auto& [resource, amount] : ReadAmounts(spec["resources"]["requests"]))
    SetAmount(&total, resource, amount);
  AddAmounts(&total, ReadAmounts(spec["overhead"]));
  SetAmount(&total, "pods", 1);
  return total;
}

void PodLoads::BeginList(PodSide side) { ++Of(side).list; }

// An unchanged pod only gets the number of the list; most events of a pod change neither its node
// nor its requests.
void PodLoads::Put(PodSide whose, const json::object& object) {
  const Reader read(object);
  Pod pod{read["spec"]["nodeName"].Text(kNameBytes), {}, Of(whose).list};
  if (pod.node.empty() || HasEnded(read)) return Remove(whose, object);
  const std::string uid = read["metadata"]["uid"].Text(kNameBytes);
  if (uid.empty()) return;
  pod.requests = PodRequest(read["spec"]);
  Side& side = Of(whose);
  Pod& known = side.pods[uid];
  const bool same = known.node == pod.node && known.requests == pod.requests;
  known.listed = pod.listed;
  if (same) return;
  if (!known.node.empty()) Count(&side, known, -1);
  known = std::move(pod);
  Count(&side, known, +1);
}

// Subtracts the pods that the list did not contain.
void PodLoads::EndList(PodSide whose) {
  Side& side = Of(whose);
  std::erase_if(side.pods, [&](const auto& entry) {
    if (entry.second.listed == side.list) return false;
    Count(&side, entry.second, -1);
    return true;
  });
}

void PodLoads::Remove(PodSide whose, const json::object& pod) {
  Side& side = Of(whose);
  const auto found = side.pods.find(Reader(pod)["metadata"]["uid"].Text(kNameBytes));
  if (found == side.pods.end()) return;
  Count(&side, found->second, -1);
  side.pods.erase(found);
}

void PodLoads::Forget(PodSide whose) {
  Side& side = Of(whose);
  for (const auto& [node, sums] : side.nodes) changed_.insert(node);
  side.pods.clear();
  side.nodes.clear();
}

ResourceList PodLoads::On(const std::string& node, PodSide whose) const {
  ResourceList out;
  const Side& side = Of(whose);
  const auto found = side.nodes.find(node);
  if (found == side.nodes.end()) return out;
  for (const auto& [resource, sum] : found->second)
    out.push_back({resource, static_cast<std::int64_t>(std::min<__int128>(sum, kUnlimited))});
  return out;
}

std::set<std::string> PodLoads::TakeChanged() { return std::exchange(changed_, {}); }

// Adds (`sign` +1) or subtracts (-1) a pod's requests, and marks its node as changed.
void PodLoads::Count(Side* side, const Pod& pod, int sign) {
  changed_.insert(pod.node);
  Sums& sums = side->nodes[pod.node];
  for (const auto& [resource, amount] : pod.requests) {
    const auto at = sums.try_emplace(resource, 0).first;
    at->second += static_cast<__int128>(amount) * sign;
    if (at->second == 0) sums.erase(at);
  }
  if (sums.empty()) side->nodes.erase(pod.node);
}

}  // namespace muster::k8s
