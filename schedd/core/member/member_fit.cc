// MemberFit: the choice of a member (rules P11 and P12). The sentences are in
// member_fit_verdicts.cc.
//
// Filters run from cheap to expensive. Kind, flavors and the taints of ungoverned jobs do not
// depend on the free room and are judged once, in the constructor. Sums and the policy's filters
// are checked for each Pick. The members that pass are ranked by cluster group, spread score and
// affinity score, then by the share of the job's dominant resource that stays free, then by a hash
// of job and member (KubeFleet's tie-break by name is an option). Only the best one is asked
// whether its machines can take the pods, then the next: packing is the most expensive step and
// rarely refuses.
//
// The hash spreads the jobs of one burst over members that are equal otherwise; a fixed order would
// send all of them to the same member until its next heartbeat.
#include "schedd/core/member/member_fit.h"

#include <algorithm>
#include <tuple>

#include "schedd/base/quantity.h"
#include "schedd/core/quota/flavor_match.h"
#include "schedd/model/license.h"

namespace muster::core {
namespace {

// A message names at most this many members; explain lists all.
constexpr std::size_t kMembersInMessage = 5;

// The finaliser of splitmix64.
std::uint64_t Mix(std::uint64_t value) {
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

// True if the pods or the flavors assigned to them tolerate the taint.
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

// "" if the member's labels serve the flavor. A member that serves any flavor may lack a label, but
// not have another value.
std::string LabelMismatch(const MemberCluster& member, const ResourceFlavor& flavor) {
  for (const auto& [key, value] : flavor.node_labels) {
    const auto label = member.labels.find(key);
    if (label == member.labels.end() && member.any_flavor) continue;
    if (label != member.labels.end() && label->second == value) continue;
    return "does not have label " + key + "=" + value + " of flavor " + flavor.name;
  }
  return "";
}

// A member that does not list its kinds serves all.
bool Serves(const MemberCluster& member, std::string_view kind) {
  return kind.empty() || member.kinds == nullptr ||
         std::find(member.kinds->begin(), member.kinds->end(), kind) != member.kinds->end();
}

std::string KindText(std::string_view kind) { return "does not serve " + std::string(kind); }

bool Asks(const PlacementDemand& demand) { return demand.ask != nullptr && !demand.ask->empty(); }

// True if the member was named, by PickFixed or by a pin: taints are then not judged (rule P10).
bool NamesMember(const PlacementAsk& ask) {
  return (ask.own != nullptr && !ask.own->cluster.empty()) ||
         (ask.placement != nullptr && ask.placement->policy.type == PlacementType::kPickFixed);
}

// The sort key of a member; the smallest is the best.
auto RankOf(const PolicyFit& policy, const MemberScore& score, std::size_t member) {
  return std::make_tuple(policy.Group(member), -std::int64_t{score.spread},
                         -std::int64_t{score.affinity});
}

}  // namespace

MemberFit::MemberFit(const ConfigView& config, const MemberRoom& room,
                     const PlacementDemand& demand)
    : config_(config), demand_(demand), machines_(room.size()) {
  for (const auto& [resource, amount] : RequestsOf(*demand.pod_sets, demand.admission)) {
    if (amount <= 0 || IsLicense(resource)) continue;
    const bool optional = resource == "cpu" || resource == "memory";
    needs_.push_back({resource, room.ResourceIndex(resource), amount, optional});
  }
  const bool asks = Asks(demand);
  if (asks && !demand.in_place) {
    policy_ = std::make_unique<PolicyFit>(*demand.ask, room, demand.placed);
  }
  // Taints are judged by pods and flavors only if no placement judges them.
  const bool by_taints =
      !asks || !(demand.in_place || NamesMember(*demand.ask) || policy_->judges_taints());
  for (std::size_t i = 0; i < room.size(); ++i) {
    const auto& member = room.member(i);
    LastingVerdict& standing = standings_.emplace_back();
    JudgeForGood(*member.facts, by_taints, &standing);
    standing.large_enough = std::all_of(needs_.begin(), needs_.end(), [&](const Need& need) {
      return HasRoom(member, member.allocatable, need);
    });
    standing.open = member.facts->healthy && !member.facts->cordoned;
  }
  ChooseDominant(room);
}

MemberFit::~MemberFit() = default;

// The filters that no free room can change: kind, flavors, and taints if pods are to tolerate them.
void MemberFit::JudgeForGood(const MemberCluster& member, bool by_taints,
                             LastingVerdict* standing) const {
  const auto refuse = [&](const char* filter, std::string message) {
    standing->filter = filter;
    standing->mismatch = std::move(message);
  };
  if (!Serves(member, demand_.kind)) return refuse("JobKind", KindText(demand_.kind));
  for (std::size_t i = 0; i < demand_.pod_sets->size(); ++i) {
    std::vector<const ResourceFlavor*> flavors;
    if (demand_.admission != nullptr && i < demand_.admission->pod_sets.size()) {
      for (const auto& [resource, name] : demand_.admission->pod_sets[i].flavors) {
        const auto flavor = config_.flavors.find(name);
        if (flavor == config_.flavors.end())
          return refuse("Flavor", "flavor " + name + " not found");
        flavors.push_back(&flavor->second);
      }
    }
    for (const auto* flavor : flavors) {
      if (auto text = LabelMismatch(member, *flavor); !text.empty())
        return refuse("Flavor", std::move(text));
    }
    for (const auto& taint : member.taints) {
      if (by_taints && Repels(taint) && !Tolerated(taint, (*demand_.pod_sets)[i], flavors))
        return refuse("TaintToleration", "has untolerated taint " + TaintText(taint));
    }
  }
}

// The dominant resource is the one of which the job takes the largest share of the whole fleet; the
// first one on ties.
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

// True if the member has `need` in `amounts` (its free or its allocatable ones).
bool MemberFit::HasRoom(const MemberRoom::Member& member, const std::vector<std::int64_t>& amounts,
                        const Need& need) const {
  const bool declared = need.index >= 0 && member.declared[static_cast<std::size_t>(need.index)];
  if (!declared) return need.optional;
  return need.amount <= amounts[static_cast<std::size_t>(need.index)];
}

// True if the member is eligible and its free sums hold the demand.
bool MemberFit::Sums(const MemberRoom& room, std::size_t index) const {
  const auto& standing = standings_[index];
  if (!standing.mismatch.empty() || !standing.large_enough || !standing.open) return false;
  const auto& member = room.member(index);
  return std::all_of(needs_.begin(), needs_.end(),
                     [&](const Need& need) { return HasRoom(member, member.free, need); });
}

MemberFit::Ranks MemberFit::RanksOf(const MemberRoom& room, bool want_terms) const {
  Ranks ranks;
  ranks.feasible.resize(room.size());
  for (std::size_t i = 0; i < room.size(); ++i) {
    ranks.feasible[i] = Sums(room, i) && (policy_ == nullptr || !policy_->Filter(room, i));
  }
  if (policy_ != nullptr) policy_->Score(room, ranks.feasible, want_terms, &ranks.scores);
  return ranks;
}

// The best of the feasible members. Free shares are compared as cross products of 128-bit integers,
// so that no rounding decides.
std::size_t MemberFit::Best(const MemberRoom& room, const Ranks& ranks, Uid job_uid,
                            std::uint64_t seed) const {
  std::size_t best = kNone;
  __int128 best_left = 0;  // best_left / best_all: free share after placing
  __int128 best_all = 1;
  const bool by_name = policy_ != nullptr && policy_->kubefleet_tie_break();
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (!ranks.feasible[i]) continue;
    __int128 left = 1;  // a member that does not declare the dominant resource counts as all free
    __int128 all = 1;
    if (dominant_ != kNone) {
      const auto resource = static_cast<std::size_t>(needs_[dominant_].index);
      if (room.member(i).declared[resource]) {
        left = room.member(i).free[resource] - needs_[dominant_].amount;
        all = std::max<std::int64_t>(1, room.member(i).allocatable[resource]);
      }
    }
    const auto better = [&] {
      if (best == kNone) return true;
      if (policy_ != nullptr) {
        const auto mine = RankOf(*policy_, ranks.scores[i], i);
        const auto theirs = RankOf(*policy_, ranks.scores[best], best);
        if (mine != theirs) return mine < theirs;
      }
      const std::string& name = room.member(i).facts->name;
      const std::string& other = room.member(best).facts->name;
      if (by_name) return name > other;
      const __int128 mine = left * best_all;
      const __int128 theirs = best_left * all;
      if (mine != theirs) return mine > theirs;
      return TieBreak(job_uid, name, seed) > TieBreak(job_uid, other, seed);
    };
    if (!better()) continue;
    best = i;
    best_left = left;
    best_all = all;
  }
  return best;
}

std::size_t MemberFit::Pick(const MemberRoom& room, Uid job_uid, std::uint64_t seed,
                            MemberScore* score) const {
  Ranks ranks = RanksOf(room, false);
  while (true) {
    const std::size_t best = Best(room, ranks, job_uid, seed);
    if (best == kNone) return kNone;
    if (!MisfitOn(room, best)) {
      if (score != nullptr && policy_ != nullptr) *score = ranks.scores[best];
      return best;
    }
    // Its machines cannot take the pods: the next best member is asked.
    ranks.feasible[best] = false;
  }
}

std::size_t MemberFit::PickNamed(const MemberRoom& room, std::string_view name,
                                 MemberScore* score) const {
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (room.member(i).facts->name != name) continue;
    const bool refused = policy_ != nullptr && policy_->Filter(room, i).has_value();
    if (!Sums(room, i) || refused || MisfitOn(room, i)) return kNone;
    if (score != nullptr && policy_ != nullptr) *score = RanksOf(room, false).scores[i];
    return i;
  }
  return kNone;
}

bool MemberFit::SumsFit(const MemberRoom& room, std::string_view name) const {
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (room.member(i).facts->name == name)
      return Sums(room, i) && (policy_ == nullptr || !policy_->Filter(room, i));
  }
  return false;
}

std::optional<MemberFit::Rank> MemberFit::RankAt(const MemberRoom& room,
                                                 std::string_view name) const {
  for (std::size_t i = 0; i < room.size() && policy_ != nullptr; ++i) {
    if (room.member(i).facts->name == name)
      return Rank{policy_->Group(i), RanksOf(room, false).scores[i]};
  }
  return std::nullopt;
}

// Pods are compiled once per member: the labels and taints of its machines do not change.
const MemberFit::Machines& MemberFit::MachinesOf(const MemberRoom& room, std::size_t member) const {
  auto& known = machines_[member];
  if (known != nullptr) return *known;
  known = std::make_unique<Machines>();
  const MachineShape& machines = room.Machines(member, config_);
  for (const auto& pods : MachinePodsOf(config_, *demand_.pod_sets, demand_.admission)) {
    known->all.push_back(machines.Compile(pods));
    if (!pods.topology_aware) known->judged.push_back(known->all.back());
  }
  return *known;
}

// The pods that the member's machines cannot take; nullopt if they take all. Only for members whose
// sums fit. Pod sets of topology aware scheduling have their machines already. One pod set needs no
// packing: its room is a sum over the machines.
std::optional<MachineMisfit> MemberFit::MisfitOn(const MemberRoom& room, std::size_t member) const {
  if (!room.KnowsMachines(member)) return std::nullopt;
  const auto& judged = MachinesOf(room, member).judged;
  const MachineShape& machines = room.Machines(member, config_);
  if (judged.empty()) return std::nullopt;
  if (judged.size() == 1) {
    const std::int32_t fits = machines.RoomFor(judged[0]);
    if (fits >= judged[0].count) return std::nullopt;
    return MachineMisfit{0, fits};
  }
  MachineShape trial = machines;
  return PackAll(judged, true, &trial);
}

void MemberFit::Charge(MemberRoom* room, std::size_t index) const {
  auto& member = room->members_[index];
  for (const auto& need : needs_) {
    if (need.index < 0) continue;
    auto& free = member.free[static_cast<std::size_t>(need.index)];
    free = SaturatingSub(free, need.amount);
  }
  // Topology aware pod sets take their machines here as well.
  if (!room->KnowsMachines(index)) return;
  const auto& all = MachinesOf(*room, index).all;
  PackAll(all, false, room->ChangeMachines(index, config_));
}

// Room is not looked at here: the placer looks for machines on one member after the other.
MemberOrder OrderMembers(const MemberRoom& room, const PlacementDemand& demand) {
  std::unique_ptr<PolicyFit> policy;
  if (Asks(demand)) policy = std::make_unique<PolicyFit>(*demand.ask, room, demand.placed);
  MemberOrder order;
  std::vector<bool> feasible(room.size());
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < room.size(); ++i) {
    const MemberCluster& facts = *room.member(i).facts;
    std::string why;
    if (!Serves(facts, demand.kind)) why = KindText(demand.kind);
    if (why.empty() && policy != nullptr) {
      if (auto refusal = policy->Filter(room, i)) why = std::move(refusal->message);
    }
    // The message names only the first few members that are refused.
    feasible[i] = why.empty();
    if (feasible[i]) {
      members.push_back(i);
    } else if (i - members.size() < kMembersInMessage) {
      order.refused += (order.refused.empty() ? "member cluster " : "; member cluster ") +
                       facts.name + ": " + why;
    }
  }
  if (policy != nullptr) {
    std::vector<MemberScore> scores;
    policy->Score(room, feasible, false, &scores);
    const auto name = [&](std::size_t i) -> const std::string& {
      return room.member(i).facts->name;
    };
    std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      const auto mine = RankOf(*policy, scores[a], a);
      const auto theirs = RankOf(*policy, scores[b], b);
      if (mine != theirs) return mine < theirs;
      return policy->kubefleet_tie_break() ? name(a) > name(b) : name(a) < name(b);
    });
  }
  for (const std::size_t i : members) order.members.push_back(room.member(i).facts->name);
  return order;
}

std::string_view KindOnMember(const JobRecord& job) {
  switch (job.shape) {
    case ShapeKind::kBatchScript:
    case ShapeKind::kWorkload:
      return job.pod_sets == nullptr || job.pod_sets->size() == 1 ? "Job" : "JobSet";
    default:
      return GroupKindOf(job.shape).kind;
  }
}

}  // namespace muster::core
