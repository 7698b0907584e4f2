// SimulatedBackend: members that only sleep. Every attempt runs for the same time, or for as long
// as its object says, and then succeeds (or fails, at a given rate), so that the scheduler can be
// measured and tried without running anything.
//
// In memory: what it knows is lost with the process, and a restarted daemon finds its attempts
// lost. Thread-safe. Callbacks run inside the call; observations of an end on the thread of the
// timer service.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "schedd/base/clock.h"

namespace muster::simulated {

/// Annotation of a job: how many milliseconds its attempts run, as a decimal number.
inline constexpr const char* kRunTimeAnnotation = "muster.io/run-time-ms";

struct SimulatedCluster {
  std::string name;
  ResourceList allocatable;
};

struct SimulatedOptions {
  std::vector<SimulatedCluster> clusters;
  std::int64_t run_time_ms = 1000;  // of attempts that do not say; 0: they end at once
  std::int32_t failure_percent =
      0;  // of attempts that end with exit code 1; which ones follows from their key
};

class SimulatedBackend final : public Backend {
 public:
  /// `clock` and `timers` must outlive the backend's Stop.
  SimulatedBackend(const Clock& clock, TimerService& timers, SimulatedOptions options);
  ~SimulatedBackend() override;

  std::vector<std::string> Clusters() const override;
  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override;
  void Remove(const DispatchKey& key, const RemovePolicy& policy, Callback<Removed> done) override;
  void List(const std::string& cluster, Callback<std::vector<Observation>> done) override;
  void Start(ObservationSink& sink) override;
  void Stop() override;
  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override;
  Result<std::vector<PodStatus>> Pods(const DispatchKey& key) override;
  /// Always kNotFound: nothing is written by what only sleeps.
  Result<LogChunk> ReadLog(const DispatchKey& key, const LogQuery& query) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with the timer that is due
};

}  // namespace muster::simulated
