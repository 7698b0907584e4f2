#include "schedd/model/admission_state.h"

namespace muster {

std::string_view CheckStateName(CheckState state) {
  switch (state) {
    case CheckState::kPending:
      return "Pending";
    case CheckState::kReady:
      return "Ready";
    case CheckState::kRetry:
      return "Retry";
    case CheckState::kRejected:
      return "Rejected";
  }
  return "";
}

}  // namespace muster
