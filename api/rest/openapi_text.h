// The text of api/openapi/muster.v1.yaml, compiled in. The daemon serves the same file that a unit
// test compares with its routes.
#pragma once

#include <string_view>

namespace muster::rest {

extern const std::string_view kOpenApiText;

}  // namespace muster::rest
