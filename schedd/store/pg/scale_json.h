// The size of an elastic job in column admission_state (KEP-77). Pure; throws as Boost.JSON does on
// text of another shape, which ParseColumn turns into an error.
#pragma once

#include "schedd/model/workload_slices.h"
#include "schedd/text/json.h"

namespace muster::pg {

json::object ScaleJson(const ElasticScale& scale);
ElasticScale ScaleOfJson(const json::object& object);

}  // namespace muster::pg
