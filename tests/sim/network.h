// Network: the backend of one daemon's life, and the wire between it and the members: calls and
// answers take time, get lost or arrive twice; reports are late, lost until a gap is noticed, or
// repeated. Reports about one attempt keep their order; nothing else does. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/member_queues.h"
#include "tests/sim/members.h"

namespace muster::sim {

class Network final : public Backend, public MemberQueues {
 public:
  Network(Stage& stage, Members& members);
  ~Network() override { Die(); }

  /// The daemon is dead: it hears nothing more. Calls on their way to members in two steps arrive.
  void Die() { *alive_ = false; }
  /// Called before each order that makes or releases pods leaves.
  std::function<void()> on_order;
  /// A member reports.
  void Report(const Observation& seen);
  /// The daemon notices that a member went away or came back.
  void Noticed(const std::string& cluster);

  std::vector<std::string> Clusters() const override { return members_.names(); }
  bool CreatesSuspended(const std::string&) const override { return stage_.options.two_steps; }
  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override;
  void Acknowledge(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
                   Callback<Done> done) override;
  void Remove(const DispatchKey& key, const RemovePolicy& policy,
              Callback<RemovalResult> done) override;
  void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
               Callback<Presence> done) override;
  void List(const std::string& cluster, Callback<std::vector<Observation>> done) override;
  void Start(ObservationSink& sink) override;
  void Stop() override { sink_ = nullptr; }
  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override;
  bool RunsQueue(const std::string&) const override { return stage_.options.own_queues; }
  void EnsureCopy(const CopyOrder& order, Callback<Done> done) override;
  void RemoveCopy(const CopyRemoval& removal, Callback<Done> done) override;
  void ListCopies(const std::string& cluster, Callback<std::vector<MemberCopy>> done) override;
  Result<std::vector<PodStatus>> Pods(const DispatchKey&) override {
    return std::vector<PodStatus>{};
  }
  Result<LogChunk> ReadLog(const DispatchKey&, const LogQuery&) override { return LogChunk{}; }

 private:
  template <class T>
  void Call(const std::string& cluster, const char* what, std::function<Result<T>()> carry,
            Callback<T> done);
  template <class T>
  void Answer(std::int64_t after_ns, Callback<T> done, Result<T> outcome);
  void TellFacts(const std::string& cluster);
  std::int64_t Delay();

  Stage& stage_;
  Members& members_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  ObservationSink* sink_ = nullptr;
  std::map<DispatchKey, std::int64_t> last_report_;  // when the last one arrives
};

}  // namespace muster::sim
