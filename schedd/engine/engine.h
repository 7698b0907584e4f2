// Engine: the single writer. All state changes happen on its thread; other threads post commands
// and read View(). It decides ahead of its commits, by at most limits::kCommitDepth of them,
// answers a client only after the commit, and after a failed or unknown commit drops everything
// that is not durable and recovers from the store.
#pragma once

#include <chrono>
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
  /// The newest published view, from any thread. Never blocks for long and is never null; before
  /// the first recovery it is an empty world with ready = false.
  WorldViewPtr View() const;
  /// The two wall clocks that the engine was given (schedd/base/clock.h); from any thread.
  WallTime WallNow() const;
  WallTime CalendarNow() const;
  /// One pass of the loop without waiting; false if there was nothing to do. Tests and the
  /// deterministic simulation drive the engine by it, instead of Run.
  bool Step();
  /// For how long Run would sleep after a Step that found nothing to do; zero if something waits in
  /// the inbox. Engine thread only.
  std::chrono::nanoseconds IdleTime() const;
  /// The loop of the daemon: Step and wait until `stop`; then it finishes the commits on their way.
  /// Recovery is a part of Step.
  void Run(std::stop_token stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
