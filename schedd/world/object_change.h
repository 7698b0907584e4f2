// ObjectChange: a change of one configuration object, and its outcome. Plain values.
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
  /// POST.
  bool must_not_exist = false;
  /// PUT.
  bool must_exist = false;
  /// 0: any; otherwise kAborted if the stored version is another.
  std::int64_t expected_resource_version = 0;
};

enum class ApplyOutcome : std::uint8_t { kCreated, kConfigured, kUnchanged, kDeleted };
/// "created", ...
std::string_view ApplyOutcomeName(ApplyOutcome outcome);

/// One change that was carried out.
struct AppliedObject {
  /// After the change; for kDeleted the last state.
  ObjectPtr object;
  ApplyOutcome outcome = ApplyOutcome::kUnchanged;
};

}  // namespace muster
