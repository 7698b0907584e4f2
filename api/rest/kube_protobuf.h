// Kubernetes' protobuf as a body of requests: kubectl sends it for the kinds that are compiled into
// it (`kubectl auth can-i`, `kubectl create rolebinding`), whatever a server says that it takes.
// Answers are JSON, which such clients take too. Pure functions, thread-safe.
#pragma once

#include <string_view>

#include "schedd/base/result.h"
#include "schedd/text/json.h"
#include "schedd/text/parse_budget.h"

namespace muster::rest {

/// The object in `body` as JSON, with the names of Kubernetes' JSON. What is empty is left out, and
/// so are `status` and those fields of the metadata that the server writes. kInvalidArgument for
/// what is no such message, for other kinds than reviews, roles and their bindings, Namespaces,
/// ConfigMaps, Secrets and Jobs, and for a field that is not known here: nothing is dropped unseen.
Result<json::value> ParseKubeProtobuf(std::string_view body, ParseBudget* budget);

}  // namespace muster::rest
