#include "schedd/world/object_change.h"

namespace muster {

std::string_view ApplyOutcomeName(ApplyOutcome outcome) {
  switch (outcome) {
    case ApplyOutcome::kCreated:
      return "created";
    case ApplyOutcome::kConfigured:
      return "configured";
    case ApplyOutcome::kUnchanged:
      return "unchanged";
    case ApplyOutcome::kDeleted:
      return "deleted";
  }
  return "";
}

}  // namespace muster
