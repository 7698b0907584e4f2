// The JSON columns of tables works and resource_snapshots. Pure; a text of another form is
// kDataLoss.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/work.h"

namespace muster::pg {

/// The state of each object that a Work puts on its member cluster.
std::string ManifestsText(const std::vector<ManifestStatus>& manifests);
Result<std::vector<ManifestStatus>> ParseManifests(std::string_view text);

/// The manifests that a snapshot of a placement holds.
std::string ResourcesText(const std::vector<SelectedResource>& resources);
Result<std::vector<SelectedResource>> ParseResources(std::string_view text);

/// The names of the overrides that were applied to a Work.
std::string NamesText(const std::vector<std::string>& names);
Result<std::vector<std::string>> ParseNames(std::string_view text);

}  // namespace muster::pg
