// Licences (--licenses): resources that ClusterQueues have quota of and member clusters do not
// have.
#pragma once

#include <string_view>

namespace muster {

/// A licence NAME is the resource "license/NAME".
inline constexpr std::string_view kLicensePrefix = "license/";
inline bool IsLicense(std::string_view resource) { return resource.starts_with(kLicensePrefix); }

}  // namespace muster
