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
#include "schedd/base/lead_term.h"
#include "schedd/base/limits.h"
#include "schedd/base/random.h"
#include "schedd/store/store.h"
#include "schedd/telemetry/metrics.h"
#include "schedd/world/command.h"
#include "schedd/world/order_sink.h"
#include "schedd/world/world_view.h"

namespace muster {

struct EngineOptions {
  std::string holder = "musterd";
  std::int64_t finished_kept_ms = limits::kFinishedJobsKeptMs;
  std::size_t max_inflight_submissions = limits::kInflightSubmissions;
  /// Pending and held together; beyond it submissions are refused with kResourceExhausted.
  std::size_t max_waiting_jobs = limits::kPendingJobs;
  std::size_t commit_depth = limits::kCommitDepth;
  std::size_t cycle_heads = limits::kCycleHeads;
  /// With nothing to write an empty commit is made as often, so that a lead or a database that is
  /// lost is noticed; 0: never.
  std::int64_t heartbeat_ms = 0;
  /// For how long a member may be away before its attempts are Unknown.
  std::int64_t lost_after_ms = limits::kMemberLostAfterMs;
  /// For how long an object without a row is watched before it is removed.
  std::int64_t orphan_grace_ms = limits::kOrphanGraceMs;
  /// The switches that change decisions; never null.
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  /// Runs on the engine thread each time a recovery is done and visible in View(); may be null.
  std::function<void()> on_ready;
  /// Begun, renewed and ended by the engine; null: the lead is not asked for.
  std::shared_ptr<LeadTerm> lead = nullptr;
  /// No other daemon can have led the store before this one, or it has ended for sure.
  bool sole_leader = false;
};

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
