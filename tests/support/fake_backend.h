// FakeBackend: a member cluster for tests of the dispatcher. Each call waits until the test answers
// it with the outcome that the test wants.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "tests/support/held_calls.h"

namespace muster::test {

/// One call that waits for its answer.
struct BackendCall {
  enum class Kind { kEnsure, kRemove, kList, kAcknowledge, kConfirm };
  Kind kind = Kind::kEnsure;
  DispatchKey key;  // a List has only the cluster
  DispatchOrder order;
  RemovePolicy policy;
  Callback<RemoteRef> ensured;
  Callback<RemovalResult> removed;
  Callback<std::vector<Observation>> listed;
  RemoteObject object = {};  // of an Acknowledge or a Confirm
  std::string uid = {};
  Callback<Done> acknowledged;
  Callback<Presence> confirmed;
};

/// Thread-safe.
class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(std::string cluster) : cluster_(std::move(cluster)) {}

  /// Waits for the next call and takes it. CHECKs that one comes within ten seconds.
  BackendCall Take();
  std::size_t waiting() const;

  std::vector<std::string> Clusters() const override { return {cluster_}; }
  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override;
  bool CreatesSuspended(const std::string&) const override { return creates_suspended; }
  void Acknowledge(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
                   Callback<Done> done) override;
  void Remove(const DispatchKey& key, const RemovePolicy& policy,
              Callback<RemovalResult> done) override;
  void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
               Callback<Presence> done) override;
  void List(const std::string& cluster, Callback<std::vector<Observation>> done) override;
  void Start(ObservationSink&) override {}
  void Stop() override {}
  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override;
  Result<std::vector<PodStatus>> Pods(const DispatchKey&) override {
    return std::vector<PodStatus>{};
  }
  Result<LogChunk> ReadLog(const DispatchKey&, const LogQuery&) override {
    log_reads.Pass();
    return LogChunk{};
  }

  bool creates_suspended = false;  // set before the first call
  HeldCalls log_reads;

 private:
  void Push(BackendCall call);
  const std::string cluster_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<BackendCall> calls_;
};

}  // namespace muster::test
