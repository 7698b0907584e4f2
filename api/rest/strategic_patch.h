// Strategic merge patches, which `kubectl apply`, `edit` and `patch` send for the kinds that
// Kubernetes itself has: merge patches whose lists of objects with names are merged item by item.
// Pure functions, thread-safe.
#pragma once

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::rest {

/// `now` with `patch` merged into it. Which lists are merged, and by which key, is Kubernetes'
/// table for pods and metadata; other lists are replaced. kInvalidArgument for a directive
/// ("$patch", "$retainKeys", "$deleteFromPrimitiveList/...", "$setElementOrder/...") that is
/// malformed, for an item of a merged list that lacks its key, and for lists that are too long to
/// be merged item by item.
Result<json::value> MergedStrategically(const json::value& patch, json::value now);

}  // namespace muster::rest
