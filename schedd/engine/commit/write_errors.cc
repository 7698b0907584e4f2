#include "schedd/engine/commit/write_errors.h"

namespace muster {

// A broken constraint (kFailedPrecondition) or a value that the schema does not take
// (kInvalidArgument).
bool RefusedForGood(const Error& error) {
  return error.code == Code::kFailedPrecondition || error.code == Code::kInvalidArgument;
}

// kUnknown: the answer to a COMMIT was lost, so the outcome is not known. kAborted: the epoch is
// over. In all other cases the store knows that it wrote nothing.
Error WriteError(const Error& error) {
  switch (error.code) {
    case Code::kUnknown:
      return Unavailable(
          "the database has not confirmed this write: whether it was written is not known; ask "
          "before trying again, or repeat it under the same idempotency key");
    case Code::kAborted:
      return Unavailable("this daemon no longer leads; nothing was written");
    default:
      return Unavailable("the database is away; nothing was written");
  }
}

}  // namespace muster
