// The size of an elastic job inside column admission_state (Kueue KEP-77). Pure; reading a text of
// another form throws as Boost.JSON does, which ParseColumn turns into an error.
#pragma once

#include "schedd/model/workload_slices.h"
#include "schedd/text/json.h"

namespace muster::pg {

json::object ScaleJson(const ElasticScale& scale);
ElasticScale ScaleOfJson(const json::object& object);

}  // namespace muster::pg
