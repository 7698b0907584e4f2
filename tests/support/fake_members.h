// FakeMembers: the members of an engine under test, without dispatcher and threads. Orders are
// carried out only when the test says so, in call order per key, with the faults it laid; reports
// go to the engine as commands.
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

/// One order of the engine, not yet carried out.
struct PendingOrder {
  enum class Kind { kEnsure, kRemove, kList, kAcknowledge, kConfirm };
  Kind kind = Kind::kEnsure;
  DispatchKey key;  // of a List only the cluster
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
    bool held = false;          // until it is acknowledged
    bool deleting = false;      // somebody deleted it while it was held
    std::int64_t sequence = 0;  // of the order that made it
    bool unlabelled = false;    // somebody took its labels away: nothing tells of it
    bool active() const { return phase == RemotePhase::kRunning || phase == RemotePhase::kPending; }
  };

  void SetPost(PostFn post) { post_ = std::move(post); }

  void Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) override;
  void Remove(const DispatchKey& key, RemovePolicy policy) override;
  void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                   const std::string& uid) override;
  void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid) override;
  void List(const std::string& cluster) override;
  void Forget() override;

  /// True if no order is for a member that answers.
  bool Idle() const;
  /// Carries out the oldest order, or the one at `at`. `fault`: the call fails with it (kUnknown:
  /// it happens and fails all the same).
  void Carry(std::size_t at = 0, std::optional<Code> fault = std::nullopt);
  /// Carries out everything without faults, apart from what is for members that are away.
  void CarryAll();
  /// The attempt ends and says so; false if there is no such active object.
  bool End(const DispatchKey& key, RemotePhase phase, std::int32_t exit_code = 0);
  /// Some pods have ended well, and some of them will not be followed by others; the attempt says
  /// so. False if there is no such active object.
  bool Progress(const DispatchKey& key, std::int32_t succeeded,
                std::vector<ReclaimablePods> reclaimable);
  /// The object goes away behind everybody's back.
  void Vanish(const DispatchKey& key) { objects.erase(key); }
  /// Somebody on the member deletes the object: it goes once nothing holds it.
  void Delete(DispatchKey key);
  /// Somebody takes the labels of the object away: its member tells that it is gone.
  void Unlabel(const DispatchKey& key);
  /// The member says what the object is like.
  void Say(const DispatchKey& key) { post_(ObservedCommand{Seen(key, objects.at(key))}); }
  /// The member tells of itself; away members are unhealthy.
  void Tell(const std::string& cluster);
  /// All of it is gone, and another cluster has its name.
  void Recreate(const std::string& cluster);
  /// Loses what was ordered: the daemon died before it left.
  void ForgetOrders() { orders.clear(); }

  std::deque<PendingOrder> orders;
  std::function<void(const PendingOrder&)> on_order;  // as the engine gives it; may be null
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
  Removed CarryRemove(const PendingOrder& order);
  std::string IncarnationOf(const std::string& cluster) const;
  Observation Seen(const DispatchKey& key, const Object& object) const;
  PostFn post_;
  int made_ = 0;
  std::map<std::string, int> recreated_;
  std::map<std::pair<std::string, Uid>, std::int32_t> last_attempts_;  // by cluster and job
};

}  // namespace muster::test
