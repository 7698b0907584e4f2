// FakeMembers: the member clusters of an engine under test, without dispatcher and threads. An
// order is carried out only when the test says so, in call order for each key, with the faults that
// the test chose; reports go to the engine as commands.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedd/engine/engine.h"

namespace muster::test {

/// An order of the engine that is not carried out yet.
struct PendingOrder {
  enum class Kind { kEnsure, kRemove, kList, kAcknowledge, kConfirm };
  Kind kind = Kind::kEnsure;
  DispatchKey key;  // a List has only the cluster
  RemovePolicy policy;
  std::string uid = {};      // of an Ensure: the object to release or resize; of the last two
  std::int32_t pods = 0;     // of an Ensure
  std::int64_t version = 0;  // of the job's record that it was ordered with
  std::string ns = {}, name = {};
};

class FakeMembers final : public OrderSink {
 public:
  using PostFn = std::function<bool(Command)>;

  /// What exists on the members.
  struct Object {
    std::string uid = {};
    RemotePhase phase = RemotePhase::kRunning;
    std::string name = {};
    std::int32_t succeeded = 0;  // pods
    std::vector<ReclaimablePods> reclaimable = {};
    std::int32_t pods = 0;      // as ordered last
    std::int64_t version = 0;   // of that order
    RemoteObject object = {};   // of a member that makes attempts in two steps
    bool held = false;          // our finalizer holds the object until its end is acknowledged
    bool deleting = false;      // a user deleted the object while it was held
    std::int64_t sequence = 0;  // of the order that made the object
    bool unlabelled = false;    // a user removed its labels: watches do not report it
    bool active() const { return phase == RemotePhase::kRunning || phase == RemotePhase::kPending; }
  };

  void SetPost(PostFn post) { post_ = std::move(post); }

  void Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) override;
  void Remove(const DispatchKey& key, RemovePolicy policy) override;
  void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                   const std::string& uid) override;
  void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid) override;
  void List(const std::string& cluster) override;
  void Signal(const DispatchKey& key, const SignalOrder& order) override {
    signals.emplace_back(key, order.signal);
  }
  void Forget() override;

  /// True if every waiting order is for a member cluster that does not answer.
  bool Idle() const;
  /// What the errors say that Carry makes.
  std::string fault_text = "laid by the test";
  /// Carries out the oldest order, or the one at `at`. With `fault` the call fails with that code
  /// (kUnknown: it takes effect and fails nevertheless).
  void Carry(std::size_t at = 0, std::optional<Code> fault = std::nullopt);
  /// Carries out all orders without faults, except those for member clusters that do not answer.
  void CarryAll();
  /// The attempt ends and its end is reported; false if there is no such active object.
  bool End(const DispatchKey& key, RemotePhase phase, std::int32_t exit_code = 0);
  /// Reports that some pods have succeeded and that some of them will not be replaced by others.
  /// False if there is no such active object.
  bool Progress(const DispatchKey& key, std::int32_t succeeded,
                std::vector<ReclaimablePods> reclaimable);
  /// The object disappears without a report.
  void Vanish(const DispatchKey& key) { objects.erase(key); }
  /// A user deletes the object on the member cluster: it disappears once nothing holds it.
  void Delete(DispatchKey key);
  /// A user removes the labels of the object: the member cluster reports it as gone.
  void Unlabel(const DispatchKey& key);
  /// The member cluster reports the state of the object.
  void Say(const DispatchKey& key) { post_(ObservedCommand{Seen(key, objects.at(key))}); }
  /// The member cluster reports its health and capacity; an unreachable one is unhealthy.
  void Tell(const std::string& cluster);
  /// Another, empty cluster takes the member cluster's name.
  void Recreate(const std::string& cluster);
  /// Loses all waiting orders: the daemon died before it sent them.
  void ForgetOrders() { orders.clear(); }

  std::deque<PendingOrder> orders;
  std::function<void(const PendingOrder&)> on_order;  // called for each new order; may be null
  std::vector<std::pair<DispatchKey, int>> signals;
  std::map<DispatchKey, Object> objects;
  bool two_steps = false;           // attempts are made suspended, then released by their uid
  std::set<std::string> away;       // clusters that do not answer
  int foreign_writes = 0;           // I6: must never be above 0
  int attempts_that_went_down = 0;  // I7: must never be above 0
  std::map<DispatchKey, int> acknowledged;
  std::map<DispatchKey, int> starts;       // how often pods were started for a key
  std::size_t most_active_of_one_job = 0;  // I2: must never be above 1

 private:
  void Take(PendingOrder order);
  void CarryList(PendingOrder order, bool happens);
  void CarryConfirm(const PendingOrder& order, std::optional<Error> fault);
  void CarryEnsure(const PendingOrder& order, bool happens, std::optional<Error> fault);
  /// What is under the key, released or resized.
  Result<RemoteRef> Release(const PendingOrder& order);
  Result<RemoteRef> Make(const PendingOrder& order);
  void Start(const DispatchKey& key, Object* object);
  RemovalResult CarryRemove(const PendingOrder& order);
  std::string IncarnationOf(const std::string& cluster) const;
  Observation Seen(const DispatchKey& key, const Object& object) const;
  PostFn post_;
  int made_ = 0;
  std::map<std::string, int> recreated_;
  std::map<std::pair<std::string, Uid>, std::int32_t> last_attempts_;  // by cluster and job
};

}  // namespace muster::test
