// SetAsideObject: an object on a member that carries Muster's labels and must not be touched: a
// copy, an object that Muster did not make, or one that is ahead of the database (rules D13, D14).
// A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedd/model/dispatch.h"

namespace muster {

/// Why an object is left alone. Values are stored: never renumber.
enum class SetAsideReason : std::uint8_t {
  kAhead = 1,  // of an attempt or number that the database never gave out: the database lost writes
  kCopy = 2,   // the attempt that its labels name has another object
  kUnowned = 3,  // labelled as ours, but not made by Muster
};
/// "ahead of the database", "a copy", "not made by Muster".
std::string_view SetAsideReasonText(SetAsideReason reason);

/// Identified by (cluster, remote_uid).
struct SetAsideObject {
  std::string cluster, remote_uid;
  RemoteObject object;
  /// As its labels say.
  Uid job_uid;
  std::int32_t attempt = 0;
  std::int64_t sequence = 0;
  SetAsideReason reason = SetAsideReason::kAhead;
  /// An administrator has let the collection go on: the object is removed like any orphan.
  bool released = false;
  WallTime first_seen;
  bool operator==(const SetAsideObject&) const = default;
};

}  // namespace muster
