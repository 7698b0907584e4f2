// Patches of objects. Server-side apply is a merge here: who owns which field is not kept.
#pragma once

#include "tests/support/fake_member/json_tools.h"

namespace muster::fake {

/// RFC 6902; false if an operation cannot be applied or a test fails; `target` is then undefined.
bool ApplyJsonPatch(const json::value& patch, json::value& target);
/// RFC 7386.
void ApplyMergePatch(const json::value& patch, json::value& target);

}  // namespace muster::fake
