// A slice stands for `domainCount` domains. For the pod counts, and for each level's values, it has
// either one `universal` value for all domains or a list of `individual` ones; values may share a
// prefix and a suffix. Reading expands slices into plain domains, with a bound on their number
// before anything is allocated, because a few bytes can announce billions of domains. Writing makes
// one slice and picks the shorter form of each part.
#include "schedd/shapes/parts/topology_slices.h"

#include <algorithm>

#include "schedd/base/limits.h"

namespace muster::shapes {
namespace {

// One level's value in each of the slice's domains.
std::vector<std::string> ReadValues(const Field& level, std::size_t domains) {
  level.OnlyMembers({"universal", "individual"});
  const Field individual = level["individual"];
  if (!individual.present()) {
    const Field universal = level["universal"];
    if (!universal.Require()) return {};
    return std::vector<std::string>(domains, std::string(universal.StringOr("")));
  }
  level["universal"].Refuse("may not be given beside individual");
  individual.OnlyMembers({"prefix", "suffix", "roots"});
  const std::string prefix(individual["prefix"].StringOr(""));
  const std::string suffix(individual["suffix"].StringOr(""));
  const Field roots = individual["roots"];
  std::vector<std::string> values;
  if (!roots.Require()) return values;
  for (const auto& root : roots.Elements()) {
    values.push_back(prefix + std::string(root.StringOr("")) + suffix);
  }
  if (values.size() != domains) roots.Fail("must have one element per domain");
  return values;
}

// The number of pods in each of the slice's domains.
std::vector<std::int32_t> ReadCounts(const Field& counts, std::size_t domains) {
  counts.OnlyMembers({"universal", "individual"});
  const Field individual = counts["individual"];
  if (!individual.present()) {
    const Field universal = counts["universal"];
    if (!universal.Require()) return {};
    return std::vector<std::int32_t>(domains, universal.CountOr(1, 1));
  }
  counts["universal"].Refuse("may not be given beside individual");
  std::vector<std::int32_t> list;
  for (const auto& count : individual.Elements()) list.push_back(count.CountOr(1, 1));
  if (list.size() != domains) individual.Fail("must have one element per domain");
  return list;
}

// Appends the domains of one slice: their counts first, then level by level their values.
void ReadSlice(const Field& slice, TopologyAssignment* assignment) {
  slice.OnlyMembers({"domainCount", "podCounts", "valuesPerLevel"});
  // A domain holds at least one pod, so all slices together have at most as many as a job has pods.
  const auto room = limits::kPodsPerJob - static_cast<std::int64_t>(assignment->domains.size());
  const auto count = slice["domainCount"].Int(1, room);
  if (!slice["domainCount"].Require() || !count) return;
  const auto domains = static_cast<std::size_t>(*count);
  const auto counts = ReadCounts(slice["podCounts"], domains);
  const auto levels = slice["valuesPerLevel"].Elements();
  if (levels.size() != assignment->levels.size())
    return slice["valuesPerLevel"].Fail("must have one element per level");
  const std::size_t first = assignment->domains.size();
  if (counts.size() != domains) return;
  for (const auto pods : counts) assignment->domains.push_back({{}, pods});
  for (const auto& level : levels) {
    auto values = ReadValues(level, domains);
    values.resize(domains);
    for (std::size_t i = 0; i < domains; ++i) {
      assignment->domains[first + i].values.push_back(std::move(values[i]));
    }
  }
}

// A domain of v1beta1's plain list.
void ReadDomain(const Field& domain, TopologyAssignment* assignment) {
  domain.OnlyMembers({"values", "count"});
  TopologyDomain read;
  for (const auto& value : domain["values"].Elements())
    read.values.emplace_back(value.StringOr(""));
  if (read.values.size() != assignment->levels.size())
    domain["values"].Fail("must have one element per level");
  read.count = domain["count"].CountOr(1, 1);
  assignment->domains.push_back(std::move(read));
}

// The length of the longest prefix that all values of one level share.
std::size_t CommonStart(const std::vector<TopologyDomain>& domains, std::size_t level) {
  const std::string& first = domains.front().values[level];
  std::size_t common = first.size();
  for (const auto& domain : domains) {
    const std::string& value = domain.values[level];
    common = std::min(common, value.size());
    common = static_cast<std::size_t>(
        std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(common),
                      value.begin())
            .first -
        first.begin());
  }
  return common;
}

// One `universal` value if all domains share it, else a common prefix and the rest of each value.
json::object RenderValues(const std::vector<TopologyDomain>& domains, std::size_t level) {
  const std::string& first = domains.front().values[level];
  const bool same = std::all_of(domains.begin(), domains.end(), [&](const TopologyDomain& domain) {
    return domain.values[level] == first;
  });
  if (same) return {{"universal", first}};
  const std::size_t common = CommonStart(domains, level);
  json::object individual;
  if (common > 0) individual["prefix"] = first.substr(0, common);
  json::array roots;
  for (const auto& domain : domains) roots.emplace_back(domain.values[level].substr(common));
  individual["roots"] = std::move(roots);
  return {{"individual", std::move(individual)}};
}

json::object RenderCounts(const std::vector<TopologyDomain>& domains) {
  const auto differs = [&](const TopologyDomain& domain) {
    return domain.count != domains.front().count;
  };
  if (std::none_of(domains.begin(), domains.end(), differs))
    return {{"universal", domains.front().count}};
  json::array counts;
  for (const auto& domain : domains) counts.emplace_back(domain.count);
  return {{"individual", std::move(counts)}};
}

}  // namespace

// A malformed domain makes the whole assignment unusable.
TopologyAssignmentPtr ReadTopologyAssignment(const Field& field) {
  if (field.Object() == nullptr) return nullptr;
  field.OnlyMembers({"levels", "slices", "domains"});
  auto assignment = std::make_shared<TopologyAssignment>();
  for (const auto& level : field["levels"].Elements()) {
    assignment->levels.emplace_back(level.StringOr(""));
  }
  for (const auto& slice : field["slices"].Elements()) ReadSlice(slice, assignment.get());
  for (const auto& domain : field["domains"].Elements()) ReadDomain(domain, assignment.get());
  const auto malformed = [&](const TopologyDomain& domain) {
    return domain.values.size() != assignment->levels.size();
  };
  const auto& domains = assignment->domains;
  if (std::any_of(domains.begin(), domains.end(), malformed)) return nullptr;
  return assignment;
}

json::object RenderTopologyAssignment(const TopologyAssignment& assignment) {
  json::object rendered;
  rendered["levels"] = json::array(assignment.levels.begin(), assignment.levels.end());
  json::array slices;
  if (!assignment.domains.empty()) {
    json::array levels;
    for (std::size_t i = 0; i < assignment.levels.size(); ++i) {
      levels.emplace_back(RenderValues(assignment.domains, i));
    }
    slices.emplace_back(
        json::object{{"domainCount", static_cast<std::int64_t>(assignment.domains.size())},
                     {"podCounts", RenderCounts(assignment.domains)},
                     {"valuesPerLevel", std::move(levels)}});
  }
  rendered["slices"] = std::move(slices);
  return rendered;
}

}  // namespace muster::shapes
