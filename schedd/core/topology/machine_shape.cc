// MachineShape: greedy packing of pods into groups of machines (rule P12).
//
// A member may have thousands of machines and few kinds of them, so machines are kept as runs:
// machines of one group with equal free amounts. Taking n pods fills whole machines of a run with
// as many pods as each holds, and one more machine with the remainder; each of these steps splits a
// run in two at most. So packing costs runs and not machines.
//
// The order is a heuristic: the largest pods first, and for each pod set the machines with the
// fewest devices that the pods do not use, so that cpu pods do not block GPU machines; within a
// group the fullest machines first. Packing can fail where a perfect packing exists; then the job
// waits, and nothing is lost.
//
// Labels of the host name are ignored: a group has the machines of many host names.
#include "schedd/core/topology/machine_shape.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "schedd/base/quantity.h"
#include "schedd/core/topology/topology_usage.h"
#include "schedd/model/topology.h"
#include "schedd/model/license.h"

namespace muster::core {
namespace {

// GPUs and other extended resources: a machine that does not declare one has none. cpu, memory and
// the like are not limited where they are not declared.
bool IsDevice(std::string_view resource) {
  return resource != "cpu" && resource != "memory" && resource != "pods" &&
         resource != "ephemeral-storage" && !resource.starts_with("hugepages-");
}

// True if a machine of the group has all wanted labels, the host name aside.
bool HasLabels(const LabelMap& machine, const LabelMap& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    if (label.first == kHostnameLabel) return true;
    const auto found = machine.find(label.first);
    return found != machine.end() && found->second == label.second;
  });
}

bool MeetsTerm(const LabelMap& machine, const NodeSelectorTerm& term) {
  const auto& all = term.match_expressions;
  return std::all_of(all.begin(), all.end(), [&](const Requirement& requirement) {
    return requirement.key == kHostnameLabel || Matches(requirement, machine);
  });
}

// True if labels, required affinity and taints of the group let the pods in.
bool Suits(const MachineGroup& group, const MachinePods& pods) {
  static const SchedulingConstraints kNone;
  const SchedulingConstraints& asked = pods.spec->constraints ? *pods.spec->constraints : kNone;
  const auto& flavors = pods.flavors;
  if (!HasLabels(group.labels, asked.node_selector)) return false;
  if (!std::all_of(flavors.begin(), flavors.end(), [&](const ResourceFlavor* flavor) {
        return HasLabels(group.labels, flavor->node_labels);
      })) {
    return false;
  }
  const auto& terms = asked.required_terms;
  if (asked.has_required_affinity && !terms.empty() &&
      std::none_of(terms.begin(), terms.end(),
                   [&](const NodeSelectorTerm& term) { return MeetsTerm(group.labels, term); })) {
    return false;
  }
  const auto tolerated = [&](const Taint& taint) {
    const auto in = [&](const std::vector<Toleration>& list) {
      return std::any_of(list.begin(), list.end(),
                         [&](const Toleration& one) { return Tolerates(one, taint); });
    };
    return in(asked.tolerations) ||
           std::any_of(flavors.begin(), flavors.end(),
                       [&](const ResourceFlavor* flavor) { return in(flavor->tolerations); });
  };
  return std::all_of(group.taints.begin(), group.taints.end(), tolerated);
}

// True if a / of_a > b / of_b. A part of nothing is larger than any other.
bool LargerPart(std::int64_t a, std::int64_t of_a, std::int64_t b, std::int64_t of_b) {
  return static_cast<__int128>(a) * of_b > static_cast<__int128>(b) * of_a;
}

// True if a pod of `a` takes a larger part of the free amounts than one of `b`.
bool Larger(const MachineShape::CompiledPods& a, const MachineShape::CompiledPods& b) {
  if (a.dominant == MachineShape::kNone || b.dominant == MachineShape::kNone)
    return a.dominant != MachineShape::kNone && b.dominant == MachineShape::kNone;
  return LargerPart(a.each[a.dominant], a.total, b.each[b.dominant], b.total);
}

}  // namespace

// Each flavor of a pod set once; flavors that do not exist any more are left out.
std::vector<MachinePods> MachinePodsOf(const ConfigView& config, const PodSets& pod_sets,
                                       const Admission* admission) {
  std::vector<MachinePods> all;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    MachinePods& pods = all.emplace_back();
    pods.spec = &pod_sets[i];
    pods.count = pod_sets[i].count;
    if (admission == nullptr || i >= admission->pod_sets.size()) continue;
    pods.count = admission->pod_sets[i].count;
    for (const auto& [resource, name] : admission->pod_sets[i].flavors) {
      const auto flavor = config.flavors.find(name);
      if (flavor == config.flavors.end()) continue;
      auto& flavors = pods.flavors;
      if (std::find(flavors.begin(), flavors.end(), &flavor->second) != flavors.end()) continue;
      flavors.push_back(&flavor->second);
      pods.topology_aware = pods.topology_aware || !flavor->second.topology.empty();
    }
  }
  return all;
}

MachineShape::MachineShape(std::shared_ptr<const MachineGroups> groups)
    : groups_(std::move(groups)) {
  for (const MachineGroup& group : *groups_) {
    for (const auto& entry : group.free) resources_.push_back(entry.resource);
  }
  std::sort(resources_.begin(), resources_.end());
  resources_.erase(std::unique(resources_.begin(), resources_.end()), resources_.end());
  for (const MachineGroup& group : *groups_) {
    if (group.count <= 0) continue;
    const auto index = static_cast<std::uint32_t>(&group - groups_->data());
    runs_.push_back({index, group.count, runs_.size()});
    for (const std::string& resource : resources_) {
      const auto has = std::find_if(group.free.begin(), group.free.end(),
                                    [&](const auto& entry) { return entry.resource == resource; });
      // An undeclared resource does not limit the pods, unless it is a device.
      const std::int64_t undeclared = IsDevice(resource) ? 0 : kUnlimited;
      free_.push_back(has == group.free.end()
                          ? undeclared
                          : std::clamp<std::int64_t>(has->amount, 0, kUnlimited));
    }
  }
}

MachineShape::CompiledPods MachineShape::Compile(const MachinePods& pods) const {
  CompiledPods compiled;
  compiled.spec = pods.spec;
  compiled.count = pods.count;
  compiled.each.resize(resources_.size());
  const auto ask = [&](const std::string& resource, std::int64_t amount) {
    if (amount <= 0) return;
    const auto at = std::lower_bound(resources_.begin(), resources_.end(), resource);
    if (at != resources_.end() && *at == resource) {
      compiled.each[static_cast<std::size_t>(at - resources_.begin())] = amount;
    } else if (IsDevice(resource)) {
      compiled.lacks_resource = true;
    }
  };
  for (const auto& [resource, amount] : NodeRequestsOf(*pods.spec)) {
    if (!IsLicense(resource)) ask(resource, amount);
  }
  ask("pods", 1);
  for (const MachineGroup& group : *groups_) {
    compiled.suits.push_back(Suits(group, pods));
    std::int32_t idle = 0;
    for (const auto& [resource, amount] : group.free) {
      if (amount > 0 && IsDevice(resource) && AmountOf(NodeRequestsOf(*pods.spec), resource) == 0)
        ++idle;
    }
    compiled.idle.push_back(idle);
  }
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    if (compiled.each[r] == 0 || resources_[r] == "pods") continue;
    std::int64_t total = 0;
    for (const Run& run : runs_) {
      total = SaturatingAdd(total, SaturatingMul(Row(run)[r], run.count));
    }
    if (compiled.dominant != kNone &&
        !LargerPart(compiled.each[r], total, compiled.each[compiled.dominant], compiled.total)) {
      continue;
    }
    compiled.dominant = r;
    compiled.total = total;
  }
  return compiled;
}

std::string_view MachineShape::DominantOf(const CompiledPods& pods) const {
  return pods.dominant == kNone ? std::string_view() : resources_[pods.dominant];
}

// The number of pods for which one machine of the run has room.
std::int64_t MachineShape::EachHolds(const Run& run, const CompiledPods& pods) const {
  if (pods.lacks_resource || !pods.suits[run.group]) return 0;
  std::int64_t most = pods.count;
  const std::int64_t* row = Row(run);
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    if (pods.each[r] > 0) most = std::min(most, std::max<std::int64_t>(0, row[r]) / pods.each[r]);
  }
  return most;
}

std::int32_t MachineShape::RoomFor(const CompiledPods& pods) const {
  std::int64_t room = 0;
  for (const Run& run : runs_) {
    // Both factors are below 2^31.
    room += EachHolds(run, pods) * run.count;
    if (room >= pods.count) return pods.count;
  }
  return static_cast<std::int32_t>(room);
}

// Positions of runs in the order in which they are filled: fewer devices that the pods leave idle,
// then by group, then less left of the dominant resource.
std::vector<std::size_t> MachineShape::InOrder(const CompiledPods& pods) const {
  std::vector<std::size_t> order(runs_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t at) {
    const Run& run = runs_[at];
    const std::int64_t left = pods.dominant == kNone ? 0 : Row(run)[pods.dominant];
    return std::make_tuple(pods.idle[run.group], run.group, left);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

// Adds `count` times the request of one pod to the free amounts of a run's machines.
void MachineShape::Change(const CompiledPods& pods, std::int64_t count, const Run& run) {
  std::int64_t* row = Row(run);
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    if (pods.each[r] == 0 || row[r] >= kUnlimited) continue;
    row[r] = SaturatingAdd(row[r], SaturatingMul(pods.each[r], count));
  }
}

// Cuts a run behind its first `first` machines. The rest becomes the last run, so other positions
// stay.
void MachineShape::Split(std::size_t run, std::int32_t first) {
  if (first >= runs_[run].count) return;
  Run rest = runs_[run];
  rest.count -= first;
  runs_[run].count = first;
  const std::size_t from = rest.row * resources_.size();
  rest.row = runs_.size();
  for (std::size_t r = 0; r < resources_.size(); ++r) free_.push_back(free_[from + r]);
  runs_.push_back(rest);
}

// Of each run, `full` machines get as many pods as they hold, and one more gets the remainder.
std::int32_t MachineShape::Take(const CompiledPods& pods) {
  std::int64_t left = pods.count;
  for (const std::size_t at : InOrder(pods)) {
    if (left == 0) break;
    const std::int64_t each = EachHolds(runs_[at], pods);
    if (each == 0) continue;
    const std::int64_t full = std::min<std::int64_t>(runs_[at].count, left / each);
    const std::int64_t more = full < runs_[at].count ? left - full * each : 0;
    std::size_t next = at;
    if (full > 0) {
      Split(at, static_cast<std::int32_t>(full));
      Change(pods, -each, runs_[at]);
      next = runs_.size() - 1;
    }
    if (more > 0) {
      Split(next, 1);
      Change(pods, -more, runs_[next]);
    }
    left -= full * each + more;
  }
  return pods.count - static_cast<std::int32_t>(left);
}

// Each machine that suits the pods gives back base = pods / machines of them, and the fullest ones
// one more until all pods are given back.
void MachineShape::Release(const CompiledPods& pods) {
  std::vector<std::size_t> order;
  std::int64_t machines = 0;
  for (std::size_t at = 0; at < runs_.size(); ++at) {
    if (!pods.suits[runs_[at].group]) continue;
    order.push_back(at);
    machines += runs_[at].count;
  }
  if (machines == 0 || pods.count <= 0) return;
  const std::int64_t base = pods.count / machines;
  std::int64_t extra = pods.count % machines;  // the number of machines that give back one more
  if (pods.dominant != kNone) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return Row(runs_[a])[pods.dominant] < Row(runs_[b])[pods.dominant];
    });
  }
  for (const std::size_t at : order) {
    const auto first = static_cast<std::int32_t>(std::min<std::int64_t>(runs_[at].count, extra));
    if (first > 0 && first < runs_[at].count) {
      Split(at, first);
      Change(pods, base, runs_.back());
    }
    Change(pods, first > 0 ? base + 1 : base, runs_[at]);
    extra -= first;
  }
}

MachineGroups MachineShape::Groups() const {
  MachineGroups groups;
  for (const Run& run : runs_) {
    MachineGroup group = (*groups_)[run.group];
    group.count = run.count;
    for (auto& entry : group.free) {
      const auto at = std::lower_bound(resources_.begin(), resources_.end(), entry.resource);
      entry.amount = Row(run)[static_cast<std::size_t>(at - resources_.begin())];
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<MachineMisfit> PackAll(const std::vector<MachineShape::CompiledPods>& pods,
                                     bool whole, MachineShape* room) {
  std::vector<std::size_t> order(pods.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return Larger(pods[a], pods[b]); });
  std::optional<MachineMisfit> first;
  for (const std::size_t at : order) {
    const std::int32_t taken = room->Take(pods[at]);
    if (taken == pods[at].count) continue;
    if (!first) first = MachineMisfit{at, taken};
    if (whole) break;
  }
  return first;
}

}  // namespace muster::core
