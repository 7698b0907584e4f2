// The difference of two ClusterQueues' quotas as one line of text for the audit log. Both sides
// become maps by (flavor, resource); every pair that is on either side is compared in its three
// numbers, and pairs that are equal say nothing. A number that is absent on one side (no limit, or
// no such pair) reads "none".
#include "schedd/engine/configure/audit_details.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "schedd/base/quantity.h"

namespace muster {
namespace {

using Key = std::pair<std::string, std::string>;  // flavor, resource

// Null, for a queue that does not exist, has no quotas.
std::map<Key, Quota> QuotasOf(const ClusterQueue* queue) {
  std::map<Key, Quota> out;
  if (queue == nullptr) return out;
  for (const ResourceGroup& group : queue->resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      for (const auto& [resource, quota] : flavor.resources) out[{flavor.flavor, resource}] = quota;
    }
  }
  return out;
}

// In the units of the resource, as users write them.
std::string Text(const std::string& resource, const std::optional<std::int64_t>& amount) {
  return amount ? FormatQuantity(resource, *amount) : "none";
}

}  // namespace

// Pairs come in the order of their names.
std::string QuotaChanges(const ClusterQueue* before, const ClusterQueue* after) {
  const std::map<Key, Quota> old_quotas = QuotasOf(before), new_quotas = QuotasOf(after);
  std::set<Key> keys;
  for (const auto* quotas : {&old_quotas, &new_quotas}) {
    for (const auto& [key, quota] : *quotas) keys.insert(key);
  }
  std::string out;
  for (const Key& key : keys) {
    const auto was = old_quotas.find(key), is = new_quotas.find(key);
    std::string parts;
    // Adds "NAME OLD -> NEW" to `parts` if the number differs.
    const auto compare = [&](const char* name, const auto& member) {
      const auto amount = [&](const auto& quotas, const auto& at) {
        return at == quotas.end() ? std::optional<std::int64_t>() : member(at->second);
      };
      const std::optional<std::int64_t> from = amount(old_quotas, was);
      const std::optional<std::int64_t> to = amount(new_quotas, is);
      if (from == to) return;
      parts += (parts.empty() ? " " : ", ") + std::string(name) + " " + Text(key.second, from) +
               " -> " + Text(key.second, to);
    };
    using Amount = std::optional<std::int64_t>;
    compare("nominal", [](const Quota& quota) { return Amount(quota.nominal); });
    compare("borrowingLimit", [](const Quota& quota) { return quota.borrowing_limit; });
    compare("lendingLimit", [](const Quota& quota) { return quota.lending_limit; });
    if (!parts.empty()) out += (out.empty() ? "" : "; ") + key.first + "/" + key.second + parts;
  }
  return out;
}

}  // namespace muster
