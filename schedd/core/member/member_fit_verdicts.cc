// MemberFit: the sentences about members, for messages and explain. A verdict names the first
// filter that turns the member away, in the order of rule P11; `eligible` says whether the member
// could take the job later, when jobs end or time passes.
#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/core/member/member_fit.h"
#include "schedd/core/topology/topology_usage.h"

namespace muster::core {
namespace {

// A message names at most this many members; explain lists all.
constexpr std::size_t kRefusalsInMessage = 5;

}  // namespace

// The needs with their free amounts: all if the demand fits, else those that lack room.
std::string MemberFit::AmountsText(const MemberRoom& room, std::size_t index, bool fits) const {
  const auto& member = room.member(index);
  std::string text;
  for (const auto& need : needs_) {
    const auto& compared = standings_[index].large_enough ? member.free : member.allocatable;
    // Only what lacks room is named if something does.
    if (!fits && HasRoom(member, compared, need)) continue;
    const auto amount = [&](std::int64_t value) { return FormatQuantity(need.resource, value); };
    const bool declared = need.index >= 0 && member.declared[static_cast<std::size_t>(need.index)];
    if (!declared && need.optional) continue;
    const auto at = static_cast<std::size_t>(std::max(need.index, 0));
    if (!text.empty()) text += ", ";
    text += "needs " + amount(need.amount) + " " + need.resource + ", ";
    text += declared ? amount(std::max<std::int64_t>(0, member.free[at])) + " of " +
                           amount(member.allocatable[at]) + " free"
                     : "has none";
  }
  return text;
}

// "its 4 pods of 8 nvidia.com/gpu do not fit: machines have room for 3".
std::string MemberFit::ShapeText(const MemberRoom& room, std::size_t member,
                                 const MachineMisfit& misfit) const {
  const auto& judged = MachinesOf(room, member).judged;
  const MachineShape::CompiledPods& pods = judged[misfit.pods];
  const bool one = pods.count == 1;
  std::string text = one ? "its pod" : "its " + std::to_string(pods.count) + " pods";
  const std::string resource(room.Machines(member, config_).DominantOf(pods));
  if (!resource.empty()) {
    text += " of " + FormatQuantity(resource, AmountOf(NodeRequestsOf(*pods.spec), resource)) +
            " " + resource;
  }
  if (judged.size() > 1) text += " (pod set " + pods.spec->name + ")";
  text += one ? " does not fit: " : " do not fit: ";
  // Labels and taints exclude all machines: then room is not the problem.
  if (std::none_of(pods.suits.begin(), pods.suits.end(), [](bool suits) { return suits; })) {
    return text + "no machine has the labels and taints that " + (one ? "it goes" : "they go") +
           " by";
  }
  if (misfit.room == 0) return text + "no machine has the room";
  return text + "machines have room for " + std::to_string(misfit.room);
}

// False if the refusal may end by itself or as jobs come and go: an avoided member, spread, a
// cluster group that opens later, or an affinity to available amounts that an empty member would
// meet.
bool MemberFit::RefusedForGood(const MemberRoom& room, const FilterRefusal& refusal,
                               std::size_t member) const {
  const std::string_view filter = refusal.filter;
  if (filter == "AvoidedCluster" || filter == "TopologySpreadConstraints") return false;
  if (filter == "ClusterGroup")
    return policy_->Group(member) == demand_.ask->placement->policy.groups.size();
  if (filter != "ClusterAffinity") return true;
  if (emptied_ == nullptr) emptied_ = std::make_unique<MemberRoom>(room.Emptied());
  return policy_->Filter(*emptied_, member).has_value();
}

// What no free room can change comes first. The message about a closed member also says what it
// would lack.
ClusterVerdict MemberFit::Verdict(const MemberRoom& room, std::size_t index) const {
  const MemberCluster& facts = *room.member(index).facts;
  const auto& standing = standings_[index];
  ClusterVerdict verdict;
  verdict.cluster = facts.name;
  if (!standing.mismatch.empty()) {
    verdict.filter = standing.filter;
    verdict.message = standing.mismatch;
    return verdict;
  }
  if (policy_ != nullptr) {
    if (auto refusal = policy_->Filter(room, index)) {
      verdict.eligible = standing.large_enough && !RefusedForGood(room, *refusal, index);
      verdict.filter = refusal->filter;
      verdict.message = std::move(refusal->message);
      return verdict;
    }
  }
  verdict.eligible = standing.large_enough;
  const bool sums = Sums(room, index);
  const auto misfit = sums ? MisfitOn(room, index) : std::nullopt;
  verdict.fits_now = sums && !misfit;
  verdict.message = misfit ? ShapeText(room, index, *misfit) : AmountsText(room, index, sums);
  if (misfit) {
    verdict.filter = "MachineShape";
  } else if (!sums) {
    verdict.filter = "Capacity";
  }
  if (!standing.open) {
    verdict.filter = "ClusterEligibility";
    verdict.message = std::string(facts.cordoned ? "is cordoned" : "is not reachable") +
                      (verdict.message.empty() ? "" : ", " + verdict.message);
  }
  return verdict;
}

std::vector<ClusterVerdict> MemberFit::Verdicts(const MemberRoom& room) const {
  const Ranks ranks = RanksOf(room, true);
  std::vector<ClusterVerdict> verdicts;
  for (std::size_t i = 0; i < room.size(); ++i) {
    ClusterVerdict& verdict = verdicts.emplace_back(Verdict(room, i));
    if (ranks.scores.empty()) continue;
    verdict.terms = ranks.scores[i].terms;
    verdict.affinity_score = ranks.scores[i].affinity;
    verdict.spread_score = ranks.scores[i].spread;
  }
  return verdicts;
}

// WaitingForCapacity if some member could hold the job later, NoMemberCluster if none ever could.
PlacementChoice MemberFit::Refusal(const MemberRoom& room) const {
  PlacementChoice choice;
  choice.reason = Reason::kNoMemberCluster;
  if (policy_ != nullptr && !demand_.ask->obstacle.empty()) {
    choice.message = demand_.ask->obstacle;
    return choice;
  }
  for (std::size_t i = 0; i < room.size(); ++i) {
    const ClusterVerdict verdict = Verdict(room, i);
    if (verdict.eligible) choice.reason = Reason::kWaitingForCapacity;
    if (i < kRefusalsInMessage) {
      choice.message += (i == 0 ? "member cluster " : "; member cluster ") + verdict.cluster +
                        ": " + verdict.message;
    }
  }
  if (room.size() > kRefusalsInMessage) {
    choice.message += "; and " + std::to_string(room.size() - kRefusalsInMessage) + " more";
  }
  return choice;
}

}  // namespace muster::core
