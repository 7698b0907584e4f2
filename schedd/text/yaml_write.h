// WriteYaml: a JSON value as YAML for people. Pure, thread-safe.
#pragma once

#include <string>

#include "schedd/text/json.h"

namespace muster {

/// Block-style YAML of a value; strings are quoted where they would read as another type.
std::string WriteYaml(const json::value& value);

}  // namespace muster
