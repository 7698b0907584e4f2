// Writes what Muster knows of a member cluster: capacity and free amounts, labels, taints,
// properties, and how much is free on its largest machines. Facts come from the member's last
// report (MemberCluster) and from the scheduler's accounts of what is free (core::ClusterView).
#include "api/service/member_facts.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "api/service/views.h"
#include "schedd/base/quantity.h"

namespace muster::api {
namespace {

// Facts are stale so long after the heartbeat period: longer than a probe takes.
constexpr std::int64_t kOverdueS = 30;

json::object LabelsJson(const LabelMap& labels) {
  json::object out;
  for (const auto& [key, value] : labels) out[key] = value;
  return out;
}

json::array TaintsJson(const std::vector<Taint>& taints) {
  json::array out;
  for (const Taint& taint : taints) {
    out.push_back(
        json::object{{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  return out;
}

json::array NamesJson(const std::vector<std::string>& names) {
  json::array out;
  for (const std::string& name : names) out.push_back(json::value(name));
  return out;
}

// Negative amounts become 0: jobs may hold more of a member than its capacity after machines left
// it.
ResourceList Clamped(ResourceList amounts) {
  for (auto& one : amounts) one.amount = std::max<std::int64_t>(0, one.amount);
  return amounts;
}

// Members that report no capacity have their allocatable amounts as capacity.
const ResourceList& CapacityOf(const MemberCluster& member) {
  return member.capacity.empty() ? member.allocatable : member.capacity;
}

// The number of machines; negative if it is not known.
std::int64_t MachinesOf(const MemberCluster& member) {
  if (member.node_count >= 0 || member.nodes.empty()) return member.node_count;
  return static_cast<std::int64_t>(member.nodes.size());
}

// The largest free amount on one machine, and how many machines have how much free. The counts are
// grouped by powers of two of whole units, so that any fleet fits a screen.
json::object MachinesJson(const MachineGroups& groups) {
  // Free amount (rounded down to a power of two) to the number of machines, the largest first.
  using Slots = std::map<std::int64_t, std::int64_t, std::greater<>>;
  std::map<std::string, Slots> slots;
  std::map<std::string, std::int64_t> largest;
  std::int64_t machines = 0;
  for (const MachineGroup& group : groups) {
    machines += group.count;
    for (const ResourceAmount& one : group.free) {
      const std::int64_t unit = IsMilliResource(one.resource) ? 1000 : 1;
      const std::int64_t whole = std::max<std::int64_t>(0, one.amount / unit);
      // The largest power of two that is free, in whole units (cpu: cores).
      const auto floor = std::bit_floor(static_cast<std::uint64_t>(whole));
      slots[one.resource][static_cast<std::int64_t>(floor) * unit] += group.count;
      std::int64_t& most = largest[one.resource];
      most = std::max(most, one.amount);
    }
  }
  json::object most, free;
  for (const auto& [resource, amount] : largest) most[resource] = FormatQuantity(resource, amount);
  for (const auto& [resource, counts] : slots) {
    json::array list;
    for (const auto& [amount, count] : counts) {
      list.push_back(
          json::object{{"atLeast", FormatQuantity(resource, amount)}, {"machines", count}});
    }
    free[resource] = std::move(list);
  }
  return json::object{
      {"ready", machines}, {"largestFree", std::move(most)}, {"freeSlots", std::move(free)}};
}

}  // namespace

std::map<std::string, std::string> PropertiesOf(const MemberCluster& member) {
  std::map<std::string, std::string> out;
  if (const std::int64_t machines = MachinesOf(member); machines >= 0)
    out.emplace(kNodeCountProperty, std::to_string(machines));
  if (!member.version.empty()) out.emplace(kVersionProperty, member.version);
  // Declared properties keep the text that they were declared with, quantities as well.
  for (const auto& [name, text] : member.properties.texts) out.emplace(name, text);
  return out;
}

json::object PropertiesJson(const MemberCluster& member) {
  json::object out;
  for (const auto& [name, value] : PropertiesOf(member)) {
    json::object property{{"value", value}};
    if (member.observed_at.set()) property["observationTime"] = FormatRfc3339(member.observed_at);
    out[name] = std::move(property);
  }
  return out;
}

json::object UsageJson(const core::ClusterView& cluster) {
  json::object out;
  out["capacity"] = ResourcesJson(CapacityOf(cluster.member));
  out["allocatable"] = ResourcesJson(cluster.member.allocatable);
  out["available"] = ResourcesJson(Clamped(cluster.free));
  if (cluster.member.observed_at.set())
    out["observationTime"] = FormatRfc3339(cluster.member.observed_at);
  return out;
}

json::object FactsJson(const core::ClusterView& cluster, WallTime now) {
  const MemberCluster& member = cluster.member;
  json::object out;
  out["name"] = member.name;
  out["backend"] = member.backend;
  out["healthy"] = member.healthy;
  out["answers"] = member.healthy || member.answers;
  if (!member.message.empty()) out["message"] = member.message;
  // Age in whole seconds; a member whose clock is ahead has age 0.
  if (member.observed_at.set()) {
    const std::int64_t age =
        std::max<std::int64_t>(0, (now.us - member.observed_at.us) / kMicrosPerSecond);
    out["observedAt"] = FormatRfc3339(member.observed_at);
    out["ageSeconds"] = age;
    out["heartbeatPeriodSeconds"] = member.heartbeat_s;
    out["stale"] = age > member.heartbeat_s + kOverdueS;
  }
  out["cordoned"] = member.cordoned;
  if (!member.version.empty()) out["version"] = member.version;
  if (const std::int64_t machines = MachinesOf(member); machines >= 0) out["nodeCount"] = machines;
  out["labels"] = LabelsJson(member.labels);
  out["taints"] = TaintsJson(member.taints);
  json::object properties;
  for (const auto& [name, value] : PropertiesOf(member)) properties[name] = value;
  out["properties"] = std::move(properties);
  out["datasets"] = NamesJson(member.datasets);
  if (member.kinds != nullptr) out["kinds"] = NamesJson(*member.kinds);
  out["capacity"] = ResourcesJson(CapacityOf(member));
  out["allocatable"] = ResourcesJson(member.allocatable);
  out["usedByOthers"] = ResourcesJson(member.used_by_others);
  out["free"] = ResourcesJson(Clamped(cluster.free));
  if (member.machines != nullptr) out["machines"] = MachinesJson(*member.machines);
  return out;
}

}  // namespace muster::api
