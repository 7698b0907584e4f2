// Fields of a batch script's spec that were changed after its submission
// (BatchState::changed_spec). Pure.
#pragma once

#include <string>

#include "schedd/text/json.h"

namespace muster::shapes {

/// The text of `before` with these fields over it; "" if there are none.
std::string AddChanges(const std::string& before, const json::object& fields);

/// Lays the changed fields over those of the manifest's spec. A field of null is taken away.
void ShowChangedSpec(const std::string& changed_spec, json::value* manifest);

}  // namespace muster::shapes
