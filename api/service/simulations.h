// Simulations: the use case behind POST /v1/simulate. api/openapi/muster.v1.yaml describes request
// and answer; the limits are limits::kSimulate*.
#pragma once

#include <atomic>

#include "schedd/base/result.h"
#include "schedd/text/json.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// Runs one simulation at a time, on the calling thread, which must not be the engine's: a run may
/// take seconds. Thread-safe.
class Simulations {
 public:
  /// `view` is not changed; its objects are the start if the request says `current`. Errors: every
  /// wrong field; kResourceExhausted with a time to retry while another simulation runs;
  /// kOutOfRange for a run beyond a limit.
  Result<json::value> Run(const WorldView& view, const json::value& request);

 private:
  std::atomic<bool> running_ = false;
};

}  // namespace muster::api
