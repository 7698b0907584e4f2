// EngineContext: the services and options that the engine is constructed with. Every owner
// (owners.h) holds a reference to it, and it outlives all of them. Used on the engine thread only,
// but for the inbox.
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
  /// Any thread pushes, the engine thread pops. Shared with the callbacks of the store, which may
  /// answer after the engine is destroyed.
  std::shared_ptr<BoundedQueue<Envelope>> inbox;

  /// The settings of rule A2; they do not change while the daemon runs.
  const AdmissionSettings& settings() const { return *options.settings; }
};

}  // namespace muster
