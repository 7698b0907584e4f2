// MemberRoom: the free room on the member clusters while a cycle decides, by index instead of by
// name, and down to their machines where members declare them. Copies are cheap. Pure; not
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedd/core/member/cluster_view.h"
#include "schedd/core/member/placement.h"
#include "schedd/core/topology/machine_shape.h"

namespace muster::core {

class MemberRoom {
 public:
  /// `clusters` must outlive it.
  explicit MemberRoom(std::span<const ClusterView> clusters);

  /// The sums of one member.
  struct Member {
    const MemberCluster* facts = nullptr;
    std::vector<std::int64_t> free, allocatable;  // by resource index
    std::vector<bool> declared;                   // by resource index
  };

  std::size_t size() const { return members_.size(); }
  const Member& member(std::size_t index) const { return members_[index]; }
  /// Index of a resource that some member declares; -1 if none does.
  std::int32_t ResourceIndex(std::string_view resource) const;
  /// Adds to the free amounts of the member of this name; resources that no member declares are
  /// ignored.
  void Release(std::string_view member, const ResourceList& amounts);
  /// Takes from the free amounts; they may become negative.
  void Take(std::string_view member, const ResourceList& amounts);
  /// The pods of a job that held `admission` leave the machines of the member of this name. Sums
  /// are not changed: Release does that.
  void ReleasePods(std::string_view member, const PodSetsPtr& pod_sets,
                   const AdmissionPtr& admission);

  /// True if the member declares its machines.
  bool KnowsMachines(std::size_t member) const {
    return members_[member].facts->machines != nullptr;
  }
  /// The free room of the member's machines, without that of the pods that are starting there.
  /// Computed at the first call; only if KnowsMachines.
  const MachineShape& Machines(std::size_t member, const ConfigView& config) const;
  /// The same, not shared with other copies, to be changed.
  MachineShape* ChangeMachines(std::size_t member, const ConfigView& config);

  /// The room as if nothing ran anywhere; of sums only.
  MemberRoom Emptied() const;

 private:
  friend class MemberFit;
  // Pods that have left a member's machines.
  struct ReleasedPods {
    PodSetsPtr pod_sets;
    AdmissionPtr admission;
  };
  // The machines of a member at the start of the cycle, shared by all copies.
  struct MachineStart {
    std::shared_ptr<const std::vector<JobPtr>> starting;  // null: none
    std::shared_ptr<MachineShape> room;                   // null: not computed yet
  };
  struct MachineSlot {
    std::shared_ptr<MachineStart> start;
    std::shared_ptr<MachineShape> room;  // null: the same as start's
    std::vector<ReleasedPods> gone;      // not added to the free room of `room` yet
  };
  MachineShape* Prepare(std::size_t member, const ConfigView& config, bool own) const;
  std::size_t Find(std::string_view member) const;

  std::vector<std::string> resources_;  // sorted
  std::vector<Member> members_;
  mutable std::vector<MachineSlot> machines_;  // by member
};

}  // namespace muster::core
