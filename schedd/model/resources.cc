// Operations on a ResourceList, a sorted vector: a handful of resources is found faster in it than
// in a map.
#include "schedd/model/resources.h"

#include <algorithm>

#include "schedd/base/quantity.h"

namespace muster {
namespace {

// The first entry whose name is not below `resource`.
template <class List>
auto Position(List& list, std::string_view resource) {
  return std::lower_bound(
      list.begin(), list.end(), resource,
      [](const ResourceAmount& entry, std::string_view name) { return entry.resource < name; });
}

// The entry of `resource`, made with amount 0 if it is not there yet.
ResourceAmount& Entry(ResourceList* list, std::string_view resource) {
  auto at = Position(*list, resource);
  if (at == list->end() || at->resource != resource) {
    at = list->insert(at, ResourceAmount{std::string(resource), 0});
  }
  return *at;
}

}  // namespace

std::int64_t AmountOf(const ResourceList& list, std::string_view resource) {
  const auto at = Position(list, resource);
  return at == list.end() || at->resource != resource ? 0 : at->amount;
}

void SetAmount(ResourceList* list, std::string_view resource, std::int64_t amount) {
  Entry(list, resource).amount = amount;
}

void AddAmounts(ResourceList* list, const ResourceList& other) {
  for (const auto& [resource, amount] : other) {
    auto& entry = Entry(list, resource);
    entry.amount = SaturatingAdd(entry.amount, amount);
  }
}

ResourceList Scaled(const ResourceList& list, std::int64_t factor) {
  ResourceList scaled = list;
  for (auto& entry : scaled) entry.amount = SaturatingMul(entry.amount, factor);
  return scaled;
}

void MaxAmounts(ResourceList* list, const ResourceList& other) {
  for (const auto& [resource, amount] : other) {
    auto& entry = Entry(list, resource);
    entry.amount = std::max(entry.amount, amount);
  }
}

}  // namespace muster
