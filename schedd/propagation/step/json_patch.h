// JSON Patch (RFC 6902) of manifests, with the variables of overrides (rule P28). Pure.
#pragma once

#include <string>

#include "schedd/model/member_cluster.h"
#include "schedd/model/override.h"
#include "schedd/text/json.h"

namespace muster::propagation {

/// Applies one operation. Returns "" or why it cannot be applied, without the path: "there is
/// nothing at the path". If it fails, `document` may be changed in part.
std::string ApplyPatch(const JsonPatch& patch, const MemberCluster& member, json::value* document);

}  // namespace muster::propagation
