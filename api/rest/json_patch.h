// Bodies of PATCH: JSON merge patches (RFC 7386), strategic merge patches (strategic_patch.h), and
// of JSON patches (RFC 6902) the operations add, remove, replace and test. Pure functions.
#pragma once

#include "api/rest/http/message.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::rest {

/// The format that the Content-Type of a PATCH stands for.
enum class PatchMedia : std::uint8_t { kMerge, kJson, kStrategic, kOther };
PatchMedia PatchMediaOf(const std::string& content_type);

/// `now` with the patch of `request` applied. The result of a merge patch, of either sort, has a
/// resourceVersion only if the patch names one, else the patch is for any version. kInvalidArgument
/// for a malformed patch, kAborted for a test that fails.
Result<json::value> Patched(const Request& request, json::value now);

/// The 415 for a format that is not taken.
Response UnsupportedPatch();

}  // namespace muster::rest
