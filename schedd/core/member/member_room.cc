// MemberRoom: sums and machines of all members during a cycle.
//
// Machines are expensive, so they are lazy and copied on write. The room at the start of the cycle
// (declared machines less the pods that are starting) is computed when a member's machines are
// first asked for, and shared by all copies of the MemberRoom. ReleasePods only notes the pods;
// they are taken off at the next question (Prepare), and only then a copy gets machines of its own.
#include "schedd/core/member/member_room.h"

#include <algorithm>
#include <map>

#include "schedd/base/quantity.h"
#include "schedd/core/member/pod_sets_key.h"

namespace muster::core {
namespace {

// No member has the name.
constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

// Collects the pods that are starting, equal ones together: there may be thousands of jobs, and
// packing costs by kinds of pods.
class StartingPods {
 public:
  StartingPods(const ConfigView& config, const MachineShape& room) : config_(config), room_(room) {}

  void Add(const JobRecord& job) {
    if (job.pod_sets == nullptr) return;
    const auto all = MachinePodsOf(config_, *job.pod_sets, job.admission.get());
    for (const MachinePods& pods : all) {
      // Pods that are equal for every machine: the key without their number, and the flavors.
      std::string key;
      PodSet one = *pods.spec;
      one.count = 0;
      AppendPodSetsKey({one}, &key);
      for (const auto* flavor : pods.flavors) key += '/' + flavor->name;
      const auto [entry, fresh] = known_.try_emplace(std::move(key), list_.size());
      if (fresh) {
        list_.push_back(room_.Compile(pods));
      } else {
        list_[entry->second].count += pods.count;
      }
    }
  }
  const std::vector<MachineShape::CompiledPods>& list() const { return list_; }

 private:
  const ConfigView& config_;
  const MachineShape& room_;
  std::map<std::string, std::size_t> known_;  // by pod set key and flavors: position in list_
  std::vector<MachineShape::CompiledPods> list_;
};

}  // namespace

MemberRoom::MemberRoom(std::span<const ClusterView> clusters) {
  for (const auto& cluster : clusters) {
    for (const auto& entry : cluster.member.allocatable) resources_.push_back(entry.resource);
  }
  std::sort(resources_.begin(), resources_.end());
  resources_.erase(std::unique(resources_.begin(), resources_.end()), resources_.end());
  for (const auto& cluster : clusters) {
    Member& member = members_.emplace_back();
    machines_.emplace_back().start = std::make_shared<MachineStart>();
    machines_.back().start->starting = cluster.starting;
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

// The position of the member of this name; kNobody if there is none.
std::size_t MemberRoom::Find(std::string_view name) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& one) { return one.facts->name == name; });
  return found == members_.end() ? kNobody : static_cast<std::size_t>(found - members_.begin());
}

void MemberRoom::Release(std::string_view name, const ResourceList& amounts) {
  const std::size_t at = Find(name);
  if (at == kNobody) return;
  for (const auto& [resource, amount] : amounts) {
    const std::int32_t index = ResourceIndex(resource);
    if (index < 0) continue;
    auto& free = members_[at].free[static_cast<std::size_t>(index)];
    free = SaturatingAdd(free, amount);
  }
}

void MemberRoom::Take(std::string_view name, const ResourceList& amounts) {
  Release(name, Scaled(amounts, -1));
}

void MemberRoom::ReleasePods(std::string_view name, const PodSetsPtr& pod_sets,
                             const AdmissionPtr& admission) {
  const std::size_t at = Find(name);
  if (at == kNobody || !KnowsMachines(at) || pod_sets == nullptr || admission == nullptr) return;
  machines_[at].gone.push_back({pod_sets, admission});
}

const MachineShape& MemberRoom::Machines(std::size_t member, const ConfigView& config) const {
  return *Prepare(member, config, false);
}

MachineShape* MemberRoom::ChangeMachines(std::size_t member, const ConfigView& config) {
  return Prepare(member, config, true);
}

// The machines of a member, up to date. `own`: they will be changed, so they must not be shared.
MachineShape* MemberRoom::Prepare(std::size_t member, const ConfigView& config, bool own) const {
  MachineSlot& slot = machines_[member];
  auto& start = *slot.start;
  if (start.room == nullptr) {
    start.room = std::make_shared<MachineShape>(members_[member].facts->machines);
    if (start.starting != nullptr) {
      StartingPods starting(config, *start.room);
      for (const JobPtr& job : *start.starting) starting.Add(*job);
      PackAll(starting.list(), false, start.room.get());
    }
  }
  // Shared with the start until the first change.
  if (slot.room == nullptr) slot.room = start.room;
  own = own || !slot.gone.empty();
  if (own && slot.room.use_count() > 1) slot.room = std::make_shared<MachineShape>(*slot.room);
  for (const ReleasedPods& gone : slot.gone) {
    for (const MachinePods& pods : MachinePodsOf(config, *gone.pod_sets, gone.admission.get())) {
      slot.room->Release(slot.room->Compile(pods));
    }
  }
  slot.gone.clear();
  return slot.room.get();
}

MemberRoom MemberRoom::Emptied() const {
  MemberRoom empty = *this;
  for (Member& member : empty.members_) member.free = member.allocatable;
  return empty;
}

}  // namespace muster::core
