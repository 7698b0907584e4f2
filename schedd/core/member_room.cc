#include "schedd/core/member_room.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/core/flavor_match.h"

namespace muster::core {
namespace {

constexpr std::size_t kMembersInMessage = 5;  // a sentence, not a report: explain lists them all

std::uint64_t Mix(std::uint64_t value) {  // the finaliser of splitmix64
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9ULL;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::uint64_t TieBreak(Uid job, const std::string& cluster, std::uint64_t seed) {
  std::uint64_t hash = Mix(job.hi ^ Mix(job.lo ^ seed));
  for (const char c : cluster) hash = Mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

bool Tolerated(const Taint& taint, const PodSet& pod_set,
               const std::vector<const ResourceFlavor*>& flavors) {
  const auto in = [&](const std::vector<Toleration>& tolerations) {
    return std::any_of(tolerations.begin(), tolerations.end(),
                       [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
  };
  return (pod_set.constraints && in(pod_set.constraints->tolerations)) ||
         std::any_of(flavors.begin(), flavors.end(),
                     [&](const ResourceFlavor* flavor) { return in(flavor->tolerations); });
}

// "" if the member's labels serve the flavor.
std::string LabelMismatch(const MemberCluster& member, const ResourceFlavor& flavor) {
  for (const auto& [key, value] : flavor.node_labels) {
    const auto label = member.labels.find(key);
    if (label == member.labels.end() && member.any_flavor) continue;
    if (label != member.labels.end() && label->second == value) continue;
    return "does not have label " + key + "=" + value + " of flavor " + flavor.name;
  }
  return "";
}

std::string Mismatch(const ConfigView& config, const MemberCluster& member,
                     const PlacementDemand& demand) {
  for (std::size_t i = 0; i < demand.pod_sets->size(); ++i) {
    std::vector<const ResourceFlavor*> flavors;
    if (demand.admission != nullptr && i < demand.admission->pod_sets.size()) {
      for (const auto& [resource, name] : demand.admission->pod_sets[i].flavors) {
        const auto flavor = config.flavors.find(name);
        if (flavor == config.flavors.end()) return "flavor " + name + " not found";
        flavors.push_back(&flavor->second);
      }
    }
    for (const auto* flavor : flavors) {
      if (auto text = LabelMismatch(member, *flavor); !text.empty()) return text;
    }
    for (const auto& taint : member.taints) {
      if (Repels(taint) && !Tolerated(taint, (*demand.pod_sets)[i], flavors)) {
        return "has untolerated taint " + TaintText(taint);
      }
    }
  }
  return "";
}

}  // namespace

MemberRoom::MemberRoom(std::span<const ClusterView> clusters) {
  for (const auto& cluster : clusters) {
    for (const auto& entry : cluster.member.allocatable) resources_.push_back(entry.resource);
  }
  std::sort(resources_.begin(), resources_.end());
  resources_.erase(std::unique(resources_.begin(), resources_.end()), resources_.end());
  for (const auto& cluster : clusters) {
    Member& member = members_.emplace_back();
    member.facts = &cluster.member;
    member.free.resize(resources_.size());
    member.allocatable.resize(resources_.size());
    member.declared.resize(resources_.size());
    for (const auto& [resource, amount] : cluster.member.allocatable) {
      const auto index = static_cast<std::size_t>(ResourceIndex(resource));
      member.declared[index] = true;
      member.allocatable[index] = amount;
      member.free[index] = AmountOf(cluster.free, resource);
    }
  }
}

std::int32_t MemberRoom::ResourceIndex(std::string_view resource) const {
  const auto at = std::lower_bound(resources_.begin(), resources_.end(), resource);
  if (at == resources_.end() || *at != resource) return -1;
  return static_cast<std::int32_t>(at - resources_.begin());
}

void MemberRoom::Release(std::string_view name, const ResourceList& amounts) {
  for (Member& member : members_) {
    if (member.facts->name != name) continue;
    for (const auto& [resource, amount] : amounts) {
      const std::int32_t index = ResourceIndex(resource);
      if (index < 0) continue;
      auto& free = member.free[static_cast<std::size_t>(index)];
      free = SaturatingAdd(free, amount);
    }
  }
}

MemberFit::MemberFit(const ConfigView& config, const MemberRoom& room,
                     const PlacementDemand& demand) {
  for (const auto& [resource, amount] : RequestsOf(*demand.pod_sets, demand.admission)) {
    if (amount <= 0) continue;
    const bool optional = resource == "cpu" || resource == "memory";
    needs_.push_back({resource, room.ResourceIndex(resource), amount, optional});
  }
  for (std::size_t i = 0; i < room.size(); ++i) {
    const auto& member = room.member(i);
    Standing& standing = standings_.emplace_back();
    standing.mismatch = Mismatch(config, *member.facts, demand);
    standing.large_enough = std::all_of(needs_.begin(), needs_.end(), [&](const Need& need) {
      return HasRoom(member, member.allocatable, need);
    });
    standing.open = member.facts->healthy && !member.facts->cordoned;
  }
  ChooseDominant(room);
}

// The resource of which the job takes the largest share of the whole fleet; the first one on ties.
void MemberFit::ChooseDominant(const MemberRoom& room) {
  __int128 best_amount = 0;
  __int128 best_total = 1;
  for (std::size_t n = 0; n < needs_.size(); ++n) {
    if (needs_[n].index < 0) continue;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < room.size(); ++i) {
      total = SaturatingAdd(total,
                            room.member(i).allocatable[static_cast<std::size_t>(needs_[n].index)]);
    }
    if (total <= 0 || needs_[n].amount * best_total <= best_amount * total) continue;
    best_amount = needs_[n].amount;
    best_total = total;
    dominant_ = n;
  }
}

bool MemberFit::HasRoom(const MemberRoom::Member& member, const std::vector<std::int64_t>& amounts,
                        const Need& need) const {
  const bool declared = need.index >= 0 && member.declared[static_cast<std::size_t>(need.index)];
  if (!declared) return need.optional;
  return need.amount <= amounts[static_cast<std::size_t>(need.index)];
}

bool MemberFit::FitsNow(const MemberRoom& room, std::size_t index) const {
  const auto& standing = standings_[index];
  if (!standing.mismatch.empty() || !standing.large_enough || !standing.open) return false;
  const auto& member = room.member(index);
  return std::all_of(needs_.begin(), needs_.end(),
                     [&](const Need& need) { return HasRoom(member, member.free, need); });
}

std::size_t MemberFit::Pick(const MemberRoom& room, Uid job_uid, std::uint64_t seed) const {
  std::size_t best = kNone;
  __int128 best_left = 0;  // best_left / best_all: free share after placing
  __int128 best_all = 1;
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (!FitsNow(room, i)) continue;
    __int128 left = 1;  // a member that does not declare the dominant resource counts as all free
    __int128 all = 1;
    if (dominant_ != kNone) {
      const auto resource = static_cast<std::size_t>(needs_[dominant_].index);
      if (room.member(i).declared[resource]) {
        left = room.member(i).free[resource] - needs_[dominant_].amount;
        all = std::max<std::int64_t>(1, room.member(i).allocatable[resource]);
      }
    }
    const __int128 mine = left * best_all;
    const __int128 theirs = best_left * all;
    const bool better =
        best == kNone || mine > theirs ||
        (mine == theirs && TieBreak(job_uid, room.member(i).facts->name, seed) >
                               TieBreak(job_uid, room.member(best).facts->name, seed));
    if (!better) continue;
    best = i;
    best_left = left;
    best_all = all;
  }
  return best;
}

std::size_t MemberFit::PickNamed(const MemberRoom& room, std::string_view name) const {
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (room.member(i).facts->name == name && FitsNow(room, i)) return i;
  }
  return kNone;
}

void MemberFit::Charge(MemberRoom* room, std::size_t index) const {
  auto& member = room->members_[index];
  for (const auto& need : needs_) {
    if (need.index < 0) continue;
    auto& free = member.free[static_cast<std::size_t>(need.index)];
    free = SaturatingSub(free, need.amount);
  }
}

ClusterVerdict MemberFit::Verdict(const MemberRoom& room, std::size_t index) const {
  const auto& member = room.member(index);
  const auto& standing = standings_[index];
  ClusterVerdict verdict;
  verdict.cluster = member.facts->name;
  verdict.eligible = standing.mismatch.empty() && standing.large_enough;
  verdict.fits_now = FitsNow(room, index);
  if (!standing.mismatch.empty()) {
    verdict.message = standing.mismatch;
    return verdict;
  }
  for (const auto& need : needs_) {
    const auto& compared = standing.large_enough ? member.free : member.allocatable;
    if (!verdict.fits_now && HasRoom(member, compared, need)) continue;
    const auto amount = [&](std::int64_t value) { return FormatQuantity(need.resource, value); };
    const bool declared = need.index >= 0 && member.declared[static_cast<std::size_t>(need.index)];
    if (!declared && need.optional) continue;
    const auto at = static_cast<std::size_t>(std::max(need.index, 0));
    if (!verdict.message.empty()) verdict.message += ", ";
    verdict.message += "needs " + amount(need.amount) + " " + need.resource + ", ";
    verdict.message += declared ? amount(std::max<std::int64_t>(0, member.free[at])) + " of " +
                                      amount(member.allocatable[at]) + " free"
                                : "has none";
  }
  if (!standing.open) {
    verdict.message = std::string(member.facts->cordoned ? "is cordoned" : "is not reachable") +
                      (verdict.message.empty() ? "" : ", " + verdict.message);
  }
  return verdict;
}

std::vector<ClusterVerdict> MemberFit::Verdicts(const MemberRoom& room) const {
  std::vector<ClusterVerdict> verdicts;
  for (std::size_t i = 0; i < room.size(); ++i) verdicts.push_back(Verdict(room, i));
  return verdicts;
}

PlacementChoice MemberFit::Refusal(const MemberRoom& room) const {
  PlacementChoice choice;
  bool ever = false;
  for (std::size_t i = 0; i < room.size(); ++i) {
    const ClusterVerdict verdict = Verdict(room, i);
    ever = ever || verdict.eligible;
    if (i < kMembersInMessage) {
      choice.message += (i == 0 ? "member cluster " : "; member cluster ") + verdict.cluster +
                        ": " + verdict.message;
    }
  }
  if (room.size() > kMembersInMessage) {
    choice.message += "; and " + std::to_string(room.size() - kMembersInMessage) + " more";
  }
  choice.reason = ever ? Reason::kWaitingForCapacity : Reason::kNoMemberCluster;
  return choice;
}

}  // namespace muster::core
