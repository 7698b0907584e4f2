// Amounts by resource name. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// One resource and its amount (cpu in milli-units, others in base units).
struct ResourceAmount {
  std::string resource;
  std::int64_t amount = 0;
  bool operator==(const ResourceAmount&) const = default;
};

/// A small map, sorted by resource name, each name once.
using ResourceList = std::vector<ResourceAmount>;

/// The amount of `resource`, 0 if absent.
std::int64_t AmountOf(const ResourceList& list, std::string_view resource);
/// Sets or replaces one amount, keeping the order.
void SetAmount(ResourceList* list, std::string_view resource, std::int64_t amount);
/// list += other, saturating.
void AddAmounts(ResourceList* list, const ResourceList& other);
/// Every amount times `factor`, saturating.
ResourceList Scaled(const ResourceList& list, std::int64_t factor);
/// The larger of the two per resource.
void MaxAmounts(ResourceList* list, const ResourceList& other);

}  // namespace muster
