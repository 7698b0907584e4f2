#include "schedd/model/dispatch.h"

namespace muster {

std::string_view DispatchStateName(DispatchState state) {
  switch (state) {
    case DispatchState::kIntent:
      return "Intent";
    case DispatchState::kCreated:
      return "Created";
    case DispatchState::kReleasing:
      return "Releasing";
    case DispatchState::kRunning:
      return "Running";
    case DispatchState::kFinishing:
      return "Finishing";
    case DispatchState::kTerminal:
      return "Terminal";
    case DispatchState::kCleaning:
      return "Cleaning";
    case DispatchState::kGone:
      return "Gone";
    case DispatchState::kRevoking:
      return "Revoking";
    case DispatchState::kUnknown:
      return "Unknown";
    case DispatchState::kConflict:
      return "Conflict";
    case DispatchState::kLost:
      return "Lost";
    case DispatchState::kQuarantined:
      return "Quarantined";
  }
  return "";
}

}  // namespace muster
