// Explained as JSON. Pure: equal values, equal text.
#pragma once

#include "api/service/explained.h"
#include "schedd/text/json.h"

namespace muster::api {

json::object ExplanationJson(const Explained& explained);

}  // namespace muster::api
