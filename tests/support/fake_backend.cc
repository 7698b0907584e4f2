#include "tests/support/fake_backend.h"

namespace muster::test {

BackendCall FakeBackend::Take() {
  std::unique_lock lock(mutex_);
  const bool came =
      arrived_.wait_for(lock, std::chrono::seconds(60), [this] { return !calls_.empty(); });
  MUSTER_CHECK(came);
  BackendCall call = std::move(calls_.front());
  calls_.pop_front();
  return call;
}

std::size_t FakeBackend::waiting() const {
  std::lock_guard lock(mutex_);
  return calls_.size();
}

void FakeBackend::Push(BackendCall call) {
  {
    std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  arrived_.notify_one();
}

void FakeBackend::Ensure(const DispatchOrder& order, Callback<RemoteRef> done) {
  BackendCall call;
  call.key = order.key;
  call.order = order;
  call.ensured = std::move(done);
  Push(std::move(call));
}

void FakeBackend::Acknowledge(const DispatchKey& key, const RemoteObject& object,
                              const std::string& uid, Callback<Done> done) {
  BackendCall call;
  call.kind = BackendCall::Kind::kAcknowledge;
  call.key = key;
  call.object = object;
  call.uid = uid;
  call.acknowledged = std::move(done);
  Push(std::move(call));
}

void FakeBackend::Remove(const DispatchKey& key, const RemovePolicy& policy,
                         Callback<RemovalResult> done) {
  BackendCall call;
  call.kind = BackendCall::Kind::kRemove;
  call.key = key;
  call.policy = policy;
  call.removed = std::move(done);
  Push(std::move(call));
}

void FakeBackend::Confirm(const DispatchKey& key, const RemoteObject& object,
                          const std::string& uid, Callback<Presence> done) {
  BackendCall call;
  call.kind = BackendCall::Kind::kConfirm;
  call.key = key;
  call.object = object;
  call.uid = uid;
  call.confirmed = std::move(done);
  Push(std::move(call));
}

void FakeBackend::List(const std::string& cluster, Callback<std::vector<Observation>> done) {
  BackendCall call;
  call.kind = BackendCall::Kind::kList;
  call.key.cluster = cluster;
  call.listed = std::move(done);
  Push(std::move(call));
}

void FakeBackend::Facts(const std::string& cluster, Callback<ClusterFacts> done) {
  ClusterFacts facts;
  facts.cluster = cluster;
  done(std::move(facts));
}

}  // namespace muster::test
