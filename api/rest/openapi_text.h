// The text of api/openapi/muster.v1.yaml, compiled in: the daemon serves the very file that the
// test compares with its routes.
#pragma once

#include <string_view>

namespace muster::rest {

extern const std::string_view kOpenApiText;

}  // namespace muster::rest
