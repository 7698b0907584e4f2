// Dispatcher: carries the engine's committed orders to backends, and their reports back as
// commands.
//
// It knows no backend's technology; one instance serves every member. It reads and renders
// manifests off the engine thread, makes calls for one key strictly one after another, retries
// calls that failed for a reason of the environment with back-off and jitter, and lists every
// member at start, after gaps and on a timer (reconciliation). Whether a failure is final is
// decided by the engine's state machine (schedd/dispatch/step): every outcome is reported, and an
// order that the engine repeats is delayed by how often its key has failed. An order that was given
// under a lead is carried out only while that lead holds (schedd/base/lead_term.h). Thread-safe;
// owns its threads between Start and Stop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "schedd/base/clock.h"
#include "schedd/telemetry/metrics.h"
#include "schedd/world/command.h"
#include "schedd/world/order_sink.h"
#include "schedd/world/world_view.h"

namespace muster::dispatch {

struct DispatcherOptions {
  /// Of this Muster installation; stamped on objects.
  std::string instance_id;
  /// Of shapes::RenderOptions.
  std::string default_image;
  std::int64_t reconcile_every_ms = 30'000;
  std::int64_t retry_base_ms = 200, retry_max_ms = 30'000;
  /// The lead is checked before each call; null: no other daemon can lead.
  std::shared_ptr<LeadTerm> lead = nullptr;
};

class Dispatcher final : public OrderSink, public ObservationSink {
 public:
  Dispatcher(Store& store, const Clock& clock, TimerService& timers, Random& random,
             Metrics& metrics, DispatcherOptions options);
  ~Dispatcher() override;

  /// Before Start; backends must outlive the dispatcher's Stop.
  void AddBackend(Backend& backend);
  /// `post` hands commands to the engine (Engine::Post; repeated here while the inbox is full);
  /// `view` reads its world.
  void Start(std::function<bool(Command)> post, std::function<WorldViewPtr()> view);
  void Stop();
  /// Start without a thread, for the deterministic simulation: work is done by Turn alone.
  void StartByHand(std::function<bool(Command)> post, std::function<WorldViewPtr()> view);
  /// One pass of the worker without waiting, on the caller's thread; only after StartByHand.
  void Turn();
  /// True if a Turn would do something.
  bool HasTurn() const;

  /// A backend serves this member from now on, or no longer. Any thread, after Start. The backend
  /// was given to AddBackend.
  void AddCluster(const std::string& cluster, Backend& backend);
  void RemoveCluster(const std::string& cluster);

  /// The backend of a cluster; null if none serves it. Any thread.
  Backend* BackendOf(const std::string& cluster) const;

  void Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) override;
  void Remove(const DispatchKey& key, RemovePolicy policy) override;
  void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                   const std::string& uid) override;
  void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid) override;
  void Signal(const DispatchKey& key, const SignalOrder& order) override;
  void List(const std::string& cluster) override;
  void Forget() override;
  void OnObservation(Observation observation) override;
  void OnFacts(ClusterFacts facts) override;
  void OnGap(const std::string& cluster) override;

 private:
  struct Impl;
  void Begin();
  // Shared with callbacks and timers that are still to come.
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster::dispatch
