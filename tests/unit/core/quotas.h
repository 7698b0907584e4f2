// Resource groups in one line, for the tests of schedd/core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/model/queues.h"

namespace muster::core::testing {

struct QuotaEntry {
  std::string flavor, resource;
  std::int64_t nominal = 0;
  std::optional<std::int64_t> borrowing = {}, lending = {};
};

/// One resource group; the entries of one flavor are consecutive and name the same resources.
inline ResourceGroup Group(const std::vector<QuotaEntry>& quotas) {
  ResourceGroup group;
  for (const auto& quota : quotas) {
    if (group.flavors.empty() || group.flavors.back().flavor != quota.flavor) {
      group.flavors.push_back({quota.flavor, {}});
    }
    group.flavors.back().resources.emplace_back(
        quota.resource, Quota{quota.nominal, quota.borrowing, quota.lending});
    auto& covered = group.covered_resources;
    if (std::find(covered.begin(), covered.end(), quota.resource) == covered.end()) {
      covered.push_back(quota.resource);
    }
  }
  return group;
}

}  // namespace muster::core::testing
