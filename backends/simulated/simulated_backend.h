// SimulatedBackend: members whose attempts only sleep. Every attempt runs for the same time, or for
// as long as its object says, and then succeeds (or fails, at a given rate), so that the scheduler
// can be measured and tried without running anything.
//
// All state is in memory: a restarted daemon finds none of its attempts and reports them lost.
// Thread-safe. Callbacks run inside the call; the observation of an end comes on the thread of the
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
  /// How long an attempt runs whose job has no kRunTimeAnnotation; 0: it ends at once.
  std::int64_t run_time_ms = 1000;
  /// How many of a hundred attempts end with exit code 1. The attempt's key decides which ones.
  std::int32_t failure_percent = 0;
};

class SimulatedBackend final : public Backend {
 public:
  /// `clock` and `timers` must outlive the backend's Stop.
  SimulatedBackend(const Clock& clock, TimerService& timers, SimulatedOptions options);
  ~SimulatedBackend() override;

  std::vector<std::string> Clusters() const override;
  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override;
  void Remove(const DispatchKey& key, const RemovePolicy& policy,
              Callback<RemovalResult> done) override;
  /// Signals and lines are accepted while the attempt runs and change nothing: the pods' messages
  /// show the last one.
  void Signal(const DispatchKey& key, const SignalOrder& order, Callback<Done> done) override;
  void Notify(const DispatchKey& key, const std::string& line, Callback<Done> done) override;
  void List(const std::string& cluster, Callback<std::vector<Observation>> done) override;
  void Start(ObservationSink& sink) override;
  void Stop() override;
  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override;
  Result<std::vector<PodStatus>> Pods(const DispatchKey& key) override;
  /// Always kNotFound: simulated attempts write no output.
  Result<LogChunk> ReadLog(const DispatchKey& key, const LogQuery& query) override;

 private:
  struct Impl;
  /// Timers hold it weakly, so that a timer that fires late finds it gone.
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster::simulated
