// MachineShape: what is free on the machines of one member, by groups of alike ones, and packing of
// pods into it: greedy, largest pods first (rule P12). Where the member really puts
// pods is its own affair; this says whether there is a way. Pure values; copies are cheap.
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
  std::vector<const ResourceFlavor*> flavors;  // that admission gave them
  std::int32_t count = 0;
  bool topology_aware = false;  // by a flavor: which machines is decided elsewhere (NodePlacer)
};

/// The pods of a job as admitted; as declared without admission. Pod sets and configuration must
/// outlive what is returned.
std::vector<MachinePods> MachinePodsOf(const ConfigView& config, const PodSets& pod_sets,
                                       const Admission* admission);

class MachineShape {
 public:
  explicit MachineShape(std::shared_ptr<const MachineGroups> groups);

  /// Pods as numbers; good for this room and its copies.
  struct Compiled {
    const PodSet* spec = nullptr;
    std::int32_t count = 0;
    std::vector<std::int64_t> each;  // by resource
    bool lacks_resource = false;     // asks for something that no machine has
    std::vector<bool> suits;         // by group: labels and taints
    std::vector<std::int32_t> idle;  // by group: kinds of devices there that the pods do not use
    std::size_t dominant = kNone;    // the resource of which a pod takes the largest share
    std::int64_t total = 0;          // free of that, on all machines
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  Compiled Compile(const MachinePods& pods) const;
  /// How many of the pods have room, each on one machine; at most count.
  std::int32_t RoomFor(const Compiled& pods) const;
  /// Puts as many pods as there is room for, devices that they do not use kept free where that
  /// works, and returns how many.
  std::int32_t Take(const Compiled& pods);
  /// Pods that were bound somewhere are gone. Which machines they leave is not known: taken as
  /// spread evenly, the fullest first.
  void Release(const Compiled& pods);
  /// The resource that a sentence names; "" if the pods ask for nothing.
  std::string_view DominantOf(const Compiled& pods) const;

  /// As a fact of a member again.
  MachineGroups Groups() const;

 private:
  // Machines of a group that are filled alike.
  struct Run {
    std::uint32_t group = 0;
    std::int32_t count = 0;
    std::size_t row = 0;  // of free_
  };
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;

  std::int64_t* Row(const Run& run) { return free_.data() + run.row * resources_.size(); }
  const std::int64_t* Row(const Run& run) const {
    return free_.data() + run.row * resources_.size();
  }
  std::int64_t EachHolds(const Run& run, const Compiled& pods) const;
  std::vector<std::size_t> InOrder(const Compiled& pods) const;
  void Change(const Compiled& pods, std::int64_t count, const Run& run);
  void Split(std::size_t run, std::int32_t first);

  std::shared_ptr<const MachineGroups> groups_;
  std::vector<std::string> resources_;  // sorted
  std::vector<Run> runs_;               // first to be filled first
  std::vector<std::int64_t> free_;      // row-major
};

/// Which pods found no place.
struct MachineMisfit {
  std::size_t pods = 0;  // position in the list given
  std::int32_t room = 0;
};

/// Takes all of them from `room`, those with the largest part of what is free first. The first
/// misfit is returned, nullopt if there is none; then the others are not taken if `whole`.
std::optional<MachineMisfit> PackAll(const std::vector<MachineShape::Compiled>& pods, bool whole,
                                     MachineShape* room);

}  // namespace muster::core
