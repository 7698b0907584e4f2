// MachineShape: the free room on the machines of one member, by groups of alike machines, and
// greedy packing of pods into it, the largest pods first (rule P12). It tells whether the pods can
// be placed; where the member puts them is the member's own decision. Pure values; copies are
// cheap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// Pods of one pod set that go to machines together.
struct MachinePods {
  const PodSet* spec = nullptr;
  std::vector<const ResourceFlavor*> flavors;  // the flavors of their admission
  std::int32_t count = 0;
  bool topology_aware = false;  // a flavor has a topology: NodePlacer chooses the machines
};

/// The pods of a job as admitted, or as declared if `admission` is null. Pod sets and configuration
/// must outlive the result.
std::vector<MachinePods> MachinePodsOf(const ConfigView& config, const PodSets& pod_sets,
                                       const Admission* admission);

class MachineShape {
 public:
  explicit MachineShape(std::shared_ptr<const MachineGroups> groups);

  /// Pods as numbers; valid for this room and its copies.
  struct CompiledPods {
    const PodSet* spec = nullptr;
    std::int32_t count = 0;
    std::vector<std::int64_t> each;  // by resource: the request of one pod
    bool lacks_resource = false;     // they ask for a device that no machine has
    std::vector<bool> suits;         // by group: its labels and taints suit the pods
    std::vector<std::int32_t> idle;  // by group: how many kinds of devices the pods do not use
    std::size_t dominant = kNone;    // the resource of which a pod takes the largest share
    std::int64_t total = 0;          // the free amount of that resource on all machines
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  CompiledPods Compile(const MachinePods& pods) const;
  /// The number of pods that have room, each on one machine; at most count.
  std::int32_t RoomFor(const CompiledPods& pods) const;
  /// Places as many pods as there is room for and returns their number. Machines with devices that
  /// the pods do not use come last.
  std::int32_t Take(const CompiledPods& pods);
  /// Gives back the room of pods that were bound somewhere. Which machines they leave is not known:
  /// they count as spread evenly over the machines that suit them, the remainder on the fullest.
  void Release(const CompiledPods& pods);
  /// The dominant resource, for sentences; "" if the pods ask for nothing.
  std::string_view DominantOf(const CompiledPods& pods) const;

  /// The room as a fact of a member again.
  MachineGroups Groups() const;

 private:
  // Machines of one group that are filled alike.
  struct Run {
    std::uint32_t group = 0;
    std::int32_t count = 0;
    std::size_t row = 0;  // the row of free_ with the free amounts of one such machine
  };
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;

  std::int64_t* Row(const Run& run) { return free_.data() + run.row * resources_.size(); }
  const std::int64_t* Row(const Run& run) const {
    return free_.data() + run.row * resources_.size();
  }
  std::int64_t EachHolds(const Run& run, const CompiledPods& pods) const;
  std::vector<std::size_t> InOrder(const CompiledPods& pods) const;
  void Change(const CompiledPods& pods, std::int64_t count, const Run& run);
  void Split(std::size_t run, std::int32_t first);

  std::shared_ptr<const MachineGroups> groups_;
  std::vector<std::string> resources_;  // sorted
  std::vector<Run> runs_;               // in the order of their groups, then those split off
  std::vector<std::int64_t> free_;      // by row, then resource
};

/// Pods that do not all have room.
struct MachineMisfit {
  std::size_t pods = 0;   // position in the list that was given
  std::int32_t room = 0;  // how many of them have room
};

/// Takes all pods from `room`, those with the largest part of the free amounts first. Returns the
/// first pods that do not fit; nullopt if all do. With `whole`, packing ends there.
std::optional<MachineMisfit> PackAll(const std::vector<MachineShape::CompiledPods>& pods,
                                     bool whole, MachineShape* room);

}  // namespace muster::core
