// Resource groups of ClusterQueues and Cohorts, by Kueue's rules (rules A3, A4): a flavor and a
// resource stand in one group only, and every flavor of a group lists the covered resources in
// their order. Amounts are kept in the resource's own unit (milli-CPU, bytes, pieces).
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity_text.h"
#include "schedd/shapes/config/object_readers.h"

namespace muster::shapes {
namespace {

// The names that the groups read so far have taken.
struct TakenNames {
  std::set<std::string, std::less<>> flavors, resources;
};

// coveredResources: names that no other group has.
std::vector<std::string> ReadCovered(const Field& covered, TakenNames* seen) {
  std::vector<std::string> names;
  if (!covered.Require()) return names;
  for (const auto& item : covered.Elements()) {
    const std::string name(item.StringOr(""));
    if (!IsQualifiedName(name)) item.Fail(std::string("a resource's name ") + kQualifiedNameRule);
    if (!seen->resources.insert(name).second)
      item.Fail("duplicate: " + Quoted(name) + " is covered already");
    names.push_back(name);
  }
  if (names.empty()) covered.Fail("must name at least one resource");
  if (names.size() > limits::kResourcesPerGroup) {
    covered.Fail("must name at most " + std::to_string(limits::kResourcesPerGroup) + " resources");
  }
  return names;
}

// A quota of half a GPU is a mistake. It is refused; rounding it up would give more than its author
// meant.
std::optional<std::int64_t> ReadAmount(const Field& field, const std::string& resource) {
  const auto amount = field.Quantity(resource);
  const auto text = field.present() ? QuantityText(*field.value()) : std::nullopt;
  if (text && !IsWholeAmount(resource, *text)) field.Fail(kWholeAmountRule);
  return amount;
}

// The quota of one resource of a flavor. Limits are refused where the queue or cohort has nobody to
// borrow from or lend to.
Quota ReadQuota(const Field& field, const std::string& resource, const QuotaRules& rules) {
  field.OnlyMembers({"name", "nominalQuota", "borrowingLimit", "lendingLimit"});
  Quota quota;
  const Field nominal = field["nominalQuota"];
  if (nominal.Require()) quota.nominal = ReadAmount(nominal, resource).value_or(0);
  const Field borrowing = field["borrowingLimit"];
  const Field lending = field["lendingLimit"];
  quota.borrowing_limit = ReadAmount(borrowing, resource);
  quota.lending_limit = ReadAmount(lending, resource);
  if (!rules.limits_allowed) {
    borrowing.Refuse(rules.limits_message);
    lending.Refuse(rules.limits_message);
  }
  if (rules.lending_at_most_nominal && quota.lending_limit &&
      *quota.lending_limit > quota.nominal) {
    lending.Fail("must be less than or equal to the nominalQuota");
  }
  return quota;
}

// The quotas of one flavor; `covered` are the resources that it has to list.
FlavorQuotas ReadFlavor(const Field& field, const std::vector<std::string>& covered,
                        const QuotaRules& rules, TakenNames* seen) {
  field.OnlyMembers({"name", "resources"});
  FlavorQuotas flavor;
  const Field name = field["name"];
  if (name.Require()) {
    flavor.flavor = name.StringOr("");
    if (!IsDnsSubdomain(flavor.flavor)) name.Fail(kDnsSubdomainRule);
    if (!seen->flavors.insert(flavor.flavor).second)
      name.Fail("duplicate: " + Quoted(flavor.flavor) + " is in a group already");
  }
  const Field resources = field["resources"];
  if (!resources.Require()) return flavor;
  std::size_t at = 0;
  for (const auto& item : resources.Elements()) {
    const Field resource_name = item["name"];
    const std::string resource(resource_name.StringOr(""));
    if (resource_name.Require() && (at >= covered.size() || resource != covered[at])) {
      resource_name.Fail(
          "must match the name in coveredResources: the same resources in the same order");
    }
    ++at;
    flavor.resources.emplace_back(resource, ReadQuota(item, resource, rules));
  }
  if (at < covered.size())
    resources.Fail("must have the same number of resources as the coveredResources");
  return flavor;
}

ResourceGroup ReadGroup(const Field& field, const QuotaRules& rules, TakenNames* seen) {
  field.OnlyMembers({"coveredResources", "flavors"});
  ResourceGroup group;
  group.covered_resources = ReadCovered(field["coveredResources"], seen);
  const Field flavors = field["flavors"];
  if (!flavors.Require()) return group;
  for (const auto& flavor : flavors.Elements()) {
    group.flavors.push_back(ReadFlavor(flavor, group.covered_resources, rules, seen));
  }
  if (group.flavors.empty()) flavors.Fail("must have at least one flavor");
  if (group.flavors.size() > limits::kFlavorsPerGroup) {
    flavors.Fail("must have at most " + std::to_string(limits::kFlavorsPerGroup) + " flavors");
  }
  if (group.flavors.size() * group.covered_resources.size() > limits::kFlavorResourcesPerGroup) {
    field.Fail("must have at most " + std::to_string(limits::kFlavorResourcesPerGroup) +
               " quotas (flavors x resources)");
  }
  return group;
}

}  // namespace

std::vector<ResourceGroup> ReadResourceGroups(const Field& groups, const QuotaRules& rules) {
  std::vector<ResourceGroup> list;
  TakenNames seen;
  for (const auto& group : groups.Elements()) list.push_back(ReadGroup(group, rules, &seen));
  if (list.size() > limits::kResourceGroups) {
    groups.Fail("must have at most " + std::to_string(limits::kResourceGroups) + " groups");
  }
  if (seen.flavors.size() > limits::kFlavorsPerQueue ||
      seen.resources.size() > limits::kFlavorsPerQueue) {
    groups.Fail("must have at most " + std::to_string(limits::kFlavorsPerQueue) +
                " flavors and as many resources together");
  }
  return list;
}

}  // namespace muster::shapes
