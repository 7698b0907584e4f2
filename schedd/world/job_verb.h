// JobVerb: what can be asked of one job that is there.
#pragma once

#include <cstdint>

namespace muster {

enum class JobVerb : std::uint8_t {
  kCancel,
  kHold,
  kRelease,
  kRequeue,
  kDelete,
  kSuspend,  // stops the processes of a running job; it keeps its quota
  kResume,
  kKeep,  // the client of an allocation lives
};
/// As the audit trail has it: "cancel".
constexpr const char* JobVerbName(JobVerb verb) {
  switch (verb) {
    case JobVerb::kCancel:
      return "cancel";
    case JobVerb::kHold:
      return "hold";
    case JobVerb::kRelease:
      return "release";
    case JobVerb::kRequeue:
      return "requeue";
    case JobVerb::kDelete:
      return "delete";
    case JobVerb::kSuspend:
      return "suspend";
    case JobVerb::kResume:
      return "resume";
    case JobVerb::kKeep:
      return "keep";
  }
  return "";
}

}  // namespace muster
