// MemberFit: one demand compared with the members of a MemberRoom: which members are eligible,
// which of them its placement prefers, and which have room now, in sums and on machines (rules P11,
// P12). Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/core/member/policy_fit.h"

namespace muster::core {

class MemberFit {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// `config` and everything that `demand` points to must outlive it. It may be used with `room`
  /// and with copies of it.
  MemberFit(const ConfigView& config, const MemberRoom& room, const PlacementDemand& demand);
  ~MemberFit();
  MemberFit(const MemberFit&) = delete;
  MemberFit& operator=(const MemberFit&) = delete;

  /// The member to run on now; kNone if none has room. Order: cluster group, spread score, affinity
  /// score; then the larger free share of the dominant resource and a stable hash, or the larger
  /// name (rule P11). `score` (may be null) gets the member's score.
  std::size_t Pick(const MemberRoom& room, Uid job_uid, std::uint64_t seed,
                   MemberScore* score = nullptr) const;
  /// The member of this name if the demand fits there now, else kNone. For pods whose machines are
  /// decided already.
  std::size_t PickNamed(const MemberRoom& room, std::string_view name,
                        MemberScore* score = nullptr) const;
  /// True if the member of this name may be picked and its sums have room; its machines are not
  /// looked at.
  bool SumsFit(const MemberRoom& room, std::string_view name) const;
  /// The placement's view of one member, whether or not it has room.
  struct Rank {
    std::size_t group = 0;  // position among the cluster groups
    MemberScore score;
  };
  /// nullopt if there is no such member, or no policy.
  std::optional<Rank> RankAt(const MemberRoom& room, std::string_view name) const;
  /// Takes the demand off a member's free sums and its machines.
  void Charge(MemberRoom* room, std::size_t member) const;
  /// Reason and message after a Pick that returned kNone.
  PlacementChoice Refusal(const MemberRoom& room) const;
  /// One verdict per member, for explain.
  std::vector<ClusterVerdict> Verdicts(const MemberRoom& room) const;

 private:
  struct Need {
    std::string resource;
    std::int32_t index = -1;
    std::int64_t amount = 0;
    bool optional = false;  // cpu, memory: a member that does not declare it has no limit
  };
  // What no free room can change about a member.
  struct LastingVerdict {
    const char* filter = "";  // ClusterVerdict::filter of the filter that turns it away
    std::string mismatch;     // the sentence of that filter; "" if none does
    bool large_enough = false;
    bool open = false;  // neither cordoned nor unhealthy
  };
  // The members that could be picked now, and their scores.
  struct Ranks {
    std::vector<bool> feasible;
    std::vector<MemberScore> scores;  // empty without policy
  };
  // The pods, compiled against the machines of one member.
  struct Machines {
    std::vector<MachineShape::CompiledPods> all;
    std::vector<MachineShape::CompiledPods> judged;  // without topology aware pod sets
  };

  bool HasRoom(const MemberRoom::Member& member, const std::vector<std::int64_t>& amounts,
               const Need& need) const;
  void ChooseDominant(const MemberRoom& room);
  void JudgeForGood(const MemberCluster& member, bool by_taints, LastingVerdict* standing) const;
  bool Sums(const MemberRoom& room, std::size_t member) const;
  Ranks RanksOf(const MemberRoom& room, bool want_terms) const;
  std::size_t Best(const MemberRoom& room, const Ranks& ranks, Uid job_uid,
                   std::uint64_t seed) const;
  const Machines& MachinesOf(const MemberRoom& room, std::size_t member) const;
  std::optional<MachineMisfit> MisfitOn(const MemberRoom& room, std::size_t member) const;
  std::string ShapeText(const MemberRoom& room, std::size_t member,
                        const MachineMisfit& misfit) const;
  std::string AmountsText(const MemberRoom& room, std::size_t member, bool fits) const;
  bool RefusedForGood(const MemberRoom& room, const FilterRefusal& refusal,
                      std::size_t member) const;
  ClusterVerdict Verdict(const MemberRoom& room, std::size_t member) const;

  const ConfigView& config_;
  PlacementDemand demand_;
  std::vector<Need> needs_;
  std::vector<LastingVerdict> standings_;                    // by member
  std::size_t dominant_ = kNone;                             // position in needs_
  std::unique_ptr<PolicyFit> policy_;                        // null: any member will do
  mutable std::vector<std::unique_ptr<Machines>> machines_;  // by member; null: not needed yet
  mutable std::unique_ptr<MemberRoom> emptied_;              // null: not needed yet
};

/// All members that may hold the job, by its placement; by name if no placement governs it.
MemberOrder OrderMembers(const MemberRoom& room, const PlacementDemand& demand);

/// The kind of the object that a job is on a member: "Job" for a batch script.
std::string_view KindOnMember(const JobRecord& job);

}  // namespace muster::core
