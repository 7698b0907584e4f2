// ObjectChange: a change of one configuration object, and what came of it. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedd/model/queues.h"

namespace muster {

/// One configuration object to put or remove; validated by the service.
struct ObjectChange {
  ObjectKind kind = ObjectKind::kNamespace;
  std::string ns, name;
  std::string manifest;  // normalised JSON; "" to remove
  bool remove = false;
  bool must_not_exist = false;                 // POST
  bool must_exist = false;                     // PUT
  std::int64_t expected_resource_version = 0;  // 0: any; otherwise kAborted if stale
};

enum class ApplyOutcome : std::uint8_t { kCreated, kConfigured, kUnchanged, kDeleted };
/// "created", ...
std::string_view ApplyOutcomeName(ApplyOutcome outcome);

struct ObjectApplied {
  ObjectPtr object;  // after the change; the last state for kDeleted
  ApplyOutcome outcome = ApplyOutcome::kUnchanged;
};

}  // namespace muster
