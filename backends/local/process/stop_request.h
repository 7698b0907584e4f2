// StopRequest: the content of a pod's file `stop`, by which the backend asks the supervisor to stop
// the pod. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::local {

struct StopRequest {
  std::int64_t grace_ms = -1;  // -1: the pod's own grace period
  /// What slurmstepd says of it, such as "DUE TO TIME LIMIT"; only pods of batch scripts tell.
  enum class Cause { kNone, kCancelled, kTimeLimit, kPreempted, kRequeued, kNodeFailure };
  Cause cause = Cause::kNone;  // kNone: nothing is said
};

/// "30000 time-limit"
std::string WriteStopRequest(const StopRequest& request);
/// An unknown word reads as kNone, and what is no number as -1.
StopRequest ReadStopRequest(std::string_view text);

/// What such a line says of the cause: " DUE TO TIME LIMIT"; "" for kCancelled and kNone.
std::string_view StopWords(StopRequest::Cause cause);
/// The line that a batch script's output gets when it is stopped, with its line end; "" for kNone.
/// `when_us` is shown as local time.
std::string StopLine(StopRequest::Cause cause, std::int64_t job, const std::string& host,
                     std::int64_t when_us);

}  // namespace muster::local
