// Engine::Impl: the loop and its parts. Everything runs on the engine thread, but for the inbox,
// `stopping` and the published view.
#pragma once

#include <atomic>

#include "schedd/engine/engine.h"
#include "schedd/engine/publisher.h"
#include "schedd/engine/recovery.h"

namespace muster {

struct Engine::Impl {
  Impl(Store& store, const Clock& clock, Random& random, OrderSink& orders, Metrics& metrics,
       EngineOptions options, Publisher::OnEvents on_events);

  bool Step(std::chrono::nanoseconds wait);
  void Run(std::stop_token stop);
  std::chrono::nanoseconds IdleTime() const;

  // The order matters: metrics and Publisher share `published`, and owners refer to `context`.
  const std::shared_ptr<Published> published;
  EngineContext context;
  Owners owners;
  Publisher publisher;
  Recovery recovery;
  std::atomic<bool> stopping{false};

 private:
  bool Ready() const { return recovery.Problem().empty(); }
  /// Gives one item of the inbox to the part that it is for.
  void Dispatch(Envelope envelope);
  /// Gives a command to its owner.
  void Handle(Command command);
  /// Answers a command that arrives while the engine is not ready.
  void Refuse(Command& command);
  /// The part of a step that needs a recovered world; true if it, or the step before, did
  /// something.
  bool StepReady(bool worked);
  bool FireTimers();
  void FailWaiting(const Error& error);
  Monotonic NextTimer() const;
  WallTime NextDeadline() const;
};

}  // namespace muster
