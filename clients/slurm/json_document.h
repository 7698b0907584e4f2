// The JSON documents of `--json` in the form of slurmrestd's data parser v0.0.40 and newer (rule
// B22): numbers that may be unset are objects with `set`, `infinite` and `number`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedd/text/json.h"

namespace muster::slurm {

/// A number that may be unset or infinite.
json::object SlurmNumber(bool set, std::int64_t number, bool infinite = false);
/// A time as such a number; unset for a time that has not come.
json::object SlurmTime(std::string_view stamp);
/// `meta` of a document: who made it.
json::object SlurmMeta(const char* command);
/// A document of JSON text as YAML.
std::string YamlOf(const std::string& document);

}  // namespace muster::slurm
