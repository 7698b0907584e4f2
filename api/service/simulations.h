// Simulations: the use case behind POST /v1/simulate. What is asked and answered is in
// api/openapi/muster.v1.yaml; the limits are limits::kSimulate*.
#pragma once

#include <atomic>

#include "schedd/base/result.h"
#include "schedd/text/json.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// Runs one at a time, on the calling thread, which must not be the engine's: it may take seconds.
/// Thread-safe.
class Simulations {
 public:
  /// Nothing of `view` is changed; its objects are the start where the request says `current`.
  /// Errors: every wrong field; kResourceExhausted with a time to retry while another one runs, and
  /// kOutOfRange for what is beyond a limit.
  Result<json::value> Run(const WorldView& view, const json::value& request);

 private:
  std::atomic<bool> running_ = false;
};

}  // namespace muster::api
