// NeverFits (rule P14): compares the least that a job needs with the most that each member can
// have.
//
// A member is too small if its sums, allocatable or capacity, whichever is more, are below the
// job's, or if one pod is larger than each of its machines. Of several lacks the one with the
// smallest ratio has / needed is reported; of several members the one that comes nearest.
#include "schedd/core/member/never_fits.h"

#include <algorithm>
#include <optional>

#include "schedd/base/quantity.h"
#include "schedd/model/license.h"

namespace muster::core {
namespace {

// The resource that a member lacks most of, relative to the request.
struct Lack {
  std::string resource;
  std::int64_t needed = 0, has = 0;
  bool one_pod = false;  // a single pod is larger than each machine
  bool whole = false;    // the member has none of it

  double share() const {
    return needed == 0 ? 1 : static_cast<double>(has) / static_cast<double>(needed);
  }
};

// The requests of all pods with the smallest counts that the job may start with.
ResourceList LeastRequests(const PodSets& pod_sets) {
  ResourceList total;
  for (const PodSet& pods : pod_sets) {
    for (const ResourceAmount& one : pods.requests) {
      const std::int64_t amount = SaturatingMul(one.amount, pods.min_count.value_or(pods.count));
      SetAmount(&total, one.resource, SaturatingAdd(AmountOf(total, one.resource), amount));
    }
  }
  return total;
}

bool Has(const ResourceList& list, std::string_view resource) {
  return std::any_of(list.begin(), list.end(),
                     [&](const ResourceAmount& one) { return one.resource == resource; });
}

// Replaces `worst` if `lack` is worse.
void Keep(Lack lack, std::optional<Lack>* worst) {
  if (!*worst || lack.share() < (*worst)->share()) *worst = std::move(lack);
}

// Finds the worst lack of `needed` against `has`. As in placement, cpu or memory that a member does
// not declare is not limited.
void Compare(const ResourceList& needed, const ResourceList& has, bool one_pod,
             std::optional<Lack>* worst) {
  for (const ResourceAmount& one : needed) {
    const bool told = Has(has, one.resource);
    if (IsLicense(one.resource)) continue;
    if (one.amount <= 0 || (!told && (one.resource == "cpu" || one.resource == "memory"))) continue;
    const std::int64_t most = AmountOf(has, one.resource);
    if (one.amount > most) Keep({one.resource, one.amount, most, one_pod, most == 0}, worst);
  }
}

// What the member lacks; nullopt if it may hold the job.
std::optional<Lack> LackOf(const MemberCluster& member, const ResourceList& needed,
                           const PodSets& pod_sets) {
  ResourceList most = member.allocatable;
  MaxAmounts(&most, member.capacity);
  if (most.empty()) return std::nullopt;
  std::optional<Lack> worst;
  Compare(needed, most, false, &worst);
  if (worst || member.nodes.empty()) return worst;
  for (const PodSet& pods : pod_sets) {
    std::optional<Lack> nearest;  // the lack of the machine that comes closest
    for (const Node& node : member.nodes) {
      std::optional<Lack> lack;
      Compare(pods.requests, node.allocatable, true, &lack);
      if (!lack) {
        nearest.reset();
        break;
      }
      if (!nearest || lack->share() > nearest->share()) nearest = std::move(lack);
    }
    if (nearest) return nearest;
  }
  return std::nullopt;
}

std::string Text(const std::string& member, const Lack& lack) {
  const std::string needed = FormatQuantity(lack.resource, lack.needed);
  if (lack.whole) return member + ", which has no " + lack.resource;
  return member + (lack.one_pod ? ", whose machines have at most " : ", which has ") +
         FormatQuantity(lack.resource, lack.has) + " of the " + needed + " " + lack.resource +
         (lack.one_pod ? " that one pod needs" : " that it needs");
}

}  // namespace

std::string NeverFits(std::span<const ClusterView> clusters, const PodSets& pod_sets,
                      std::string_view pinned) {
  const ResourceList needed = LeastRequests(pod_sets);
  const ClusterView* nearest = nullptr;
  std::optional<Lack> least;
  for (const ClusterView& cluster : clusters) {
    if (!pinned.empty() && cluster.member.name != pinned) continue;
    std::optional<Lack> lack = LackOf(cluster.member, needed, pod_sets);
    if (!lack) return "";
    if (least && lack->share() <= least->share()) continue;
    nearest = &cluster;
    least = std::move(lack);
  }
  if (!least) return "";
  const std::string found = Text(nearest->member.name, *least);
  if (!pinned.empty()) return "it can never run where it is pinned: member cluster " + found;
  return "no member cluster can ever hold it as they are: the nearest is " + found;
}

}  // namespace muster::core
