// MemberRoom: what is free on the member clusters while a cycle decides, by index instead of by
// name; and MemberFit: one demand compiled against it (placement.md 4.4 steps 1-3 and 5). Pure; not
// thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedd/core/placement.h"

namespace muster::core {

class MemberRoom {
 public:
  /// `clusters` must outlive it.
  explicit MemberRoom(std::span<const ClusterView> clusters);

  struct Member {
    const MemberCluster* facts = nullptr;
    std::vector<std::int64_t> free, allocatable;  // by resource index
    std::vector<bool> declared;                   // by resource index
  };

  std::size_t size() const { return members_.size(); }
  const Member& member(std::size_t index) const { return members_[index]; }
  /// Index of a resource that some member declares, -1 if none does.
  std::int32_t ResourceIndex(std::string_view resource) const;
  /// Adds to what is free on the member of this name; no-op for what no member declares.
  void Release(std::string_view member, const ResourceList& amounts);

 private:
  friend class MemberFit;
  std::vector<std::string> resources_;  // sorted
  std::vector<Member> members_;
};

class MemberFit {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Compiles what `demand` needs and which members are eligible for it. `config` and what `demand`
  /// points to must outlive it.
  MemberFit(const ConfigView& config, const MemberRoom& room, const PlacementDemand& demand);

  /// The member to run on now, kNone if none has the room.
  std::size_t Pick(const MemberRoom& room, Uid job_uid, std::uint64_t seed) const;
  /// The member of this name if the demand fits it now, else kNone.
  std::size_t PickNamed(const MemberRoom& room, std::string_view name) const;
  /// Takes the demand from a member's free room.
  void Charge(MemberRoom* room, std::size_t member) const;
  /// Reason and message of a Pick that gave kNone.
  PlacementChoice Refusal(const MemberRoom& room) const;
  std::vector<ClusterVerdict> Verdicts(const MemberRoom& room) const;

 private:
  struct Need {
    std::string resource;
    std::int32_t index = -1;
    std::int64_t amount = 0;
    bool optional = false;  // a member that does not declare it is not limited by it
  };
  struct Standing {
    std::string mismatch;  // "" if labels and taints admit the job
    bool large_enough = false;
    bool open = false;  // neither cordoned nor unhealthy
  };

  bool HasRoom(const MemberRoom::Member& member, const std::vector<std::int64_t>& amounts,
               const Need& need) const;
  bool FitsNow(const MemberRoom& room, std::size_t member) const;
  ClusterVerdict Verdict(const MemberRoom& room, std::size_t member) const;
  void ChooseDominant(const MemberRoom& room);

  std::vector<Need> needs_;
  std::vector<Standing> standings_;  // by member
  std::size_t dominant_ = kNone;     // position in needs_
};

}  // namespace muster::core
