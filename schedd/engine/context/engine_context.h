// EngineContext: what the engine was given and every owner of a part of its state uses. It outlives
// all of them; on the engine thread only.
#pragma once

#include <memory>

#include "schedd/base/bounded_queue.h"
#include "schedd/base/clock.h"
#include "schedd/base/random.h"
#include "schedd/engine/context/engine_metrics.h"
#include "schedd/engine/context/engine_options.h"
#include "schedd/engine/context/envelope.h"
#include "schedd/store/store.h"
#include "schedd/world/order_sink.h"

namespace muster {

struct EngineContext {
  Store& store;
  const Clock& clock;
  Random& random;
  OrderSink& orders;
  const EngineOptions options;
  EngineMetrics metrics;
  /// Shared with the store's callbacks, one of which may come after the engine has gone.
  std::shared_ptr<BoundedQueue<Envelope>> inbox;

  const AdmissionSettings& settings() const { return *options.settings; }
};

}  // namespace muster
