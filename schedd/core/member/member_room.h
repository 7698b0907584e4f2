// MemberRoom: what is free on the member clusters while a cycle decides, by index instead of by
// name, down to their machines where those are told. Pure; not thread-safe.
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
  /// Takes from it; below 0 where it has less.
  void Take(std::string_view member, const ResourceList& amounts);
  /// The pods of a job that held `admission` leave the machines of the member of this name. Their
  /// amounts are Release's.
  void ReleasePods(std::string_view member, const PodSetsPtr& pod_sets,
                   const AdmissionPtr& admission);

  /// True if the member's machines are told.
  bool KnowsMachines(std::size_t member) const {
    return members_[member].facts->machines != nullptr;
  }
  /// What is free on them, with the pods taken off that start there. Worked out when it is first
  /// asked for; only if KnowsMachines.
  const MachineShape& Machines(std::size_t member, const ConfigView& config) const;
  /// The same, to be changed.
  MachineShape* ChangeMachines(std::size_t member, const ConfigView& config);

  /// As if nothing ran anywhere.
  MemberRoom Emptied() const;

 private:
  friend class MemberFit;
  struct Gone {
    PodSetsPtr pod_sets;
    AdmissionPtr admission;
  };
  // At first; one for all copies.
  struct MachineStart {
    std::shared_ptr<const std::vector<JobPtr>> starting;  // null: none
    std::shared_ptr<MachineShape> room;                   // null: not worked out yet
  };
  struct MachineSlot {
    std::shared_ptr<MachineStart> start;
    std::shared_ptr<MachineShape> room;  // null: as at first
    std::vector<Gone> gone;              // not taken off `room` yet
  };
  MachineShape* Prepare(std::size_t member, const ConfigView& config, bool own) const;
  std::size_t Find(std::string_view member) const;

  std::vector<std::string> resources_;  // sorted
  std::vector<Member> members_;
  mutable std::vector<MachineSlot> machines_;  // by member
};

}  // namespace muster::core
