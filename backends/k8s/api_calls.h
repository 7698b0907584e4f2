// What all calls of a member's API server have in common: the types of bodies, and how long an
// answer is waited for.
#pragma once

#include <cstdint>

#include "schedd/base/result.h"

namespace muster::k8s {

inline constexpr char kJson[] = "application/json";
inline constexpr char kJsonPatch[] = "application/json-patch+json";
inline constexpr char kMergePatch[] = "application/merge-patch+json";

/// Of a read, and of a call that changes one object.
inline constexpr std::int64_t kCallMs = 15'000;
/// Of a create, which may wait for webhooks.
inline constexpr std::int64_t kWriteMs = 20'000;

/// A call whose answer was lost, and that may be repeated: the member is not reached.
inline Error Unanswered(Error error) {
  if (error.code == Code::kUnknown) error.code = Code::kUnavailable;
  return error;
}

}  // namespace muster::k8s
