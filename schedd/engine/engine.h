// Engine: the single writer. All state changes happen on its thread; everyone else posts commands
// and reads View(). It decides optimistically ahead of commits (at most limits::kCommitDepth),
// answers only after the commit, and after a failed or unknown commit drops everything and recovers
// from the store.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "schedd/base/clock.h"
#include "schedd/base/random.h"
#include "schedd/engine/context/engine_options.h"
#include "schedd/store/store.h"
#include "schedd/telemetry/metrics.h"
#include "schedd/world/command.h"
#include "schedd/world/order_sink.h"
#include "schedd/world/world_view.h"

namespace muster {

class Engine {
 public:
  /// `store`, `clock`, `random`, `orders` and `metrics` must outlive the engine. `on_events` gets
  /// every committed event in order, on the engine thread (for streams); may be null.
  Engine(Store& store, const Clock& clock, Random& random, OrderSink& orders, Metrics& metrics,
         EngineOptions options, std::function<void(const std::vector<Event>&)> on_events);
  ~Engine();

  /// From any thread. False: the inbox is full or the engine stops; the callback will not be
  /// called.
  bool Post(Command command);
  /// Never blocks; never null (before recovery: an empty world with ready = false).
  WorldViewPtr View() const;
  /// Of the engine's clock; from any thread.
  WallTime WallNow() const;
  /// Handles what has arrived, or one cycle; false if there was nothing to do. Simulation drives
  /// this.
  bool Step();
  /// The production loop: recover, then Step and wait, until stopped; finishes commits in flight.
  void Run(std::stop_token stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
