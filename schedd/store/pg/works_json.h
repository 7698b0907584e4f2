// The JSON columns of works and resource_snapshots. Pure; text of another shape is kDataLoss.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/work.h"

namespace muster::pg {

std::string ManifestsText(const std::vector<ManifestStatus>& manifests);
Result<std::vector<ManifestStatus>> ParseManifests(std::string_view text);

std::string ResourcesText(const std::vector<SelectedResource>& resources);
Result<std::vector<SelectedResource>> ParseResources(std::string_view text);

std::string NamesText(const std::vector<std::string>& names);
Result<std::vector<std::string>> ParseNames(std::string_view text);

}  // namespace muster::pg
