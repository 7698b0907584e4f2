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
  enum class Kind { kEnsure, kRemove, kList };
  Kind kind = Kind::kEnsure;
  DispatchKey key;  // of a List only the cluster
  RemovePolicy policy;
  std::int32_t pods = 0;     // of an Ensure
  std::int64_t version = 0;  // of the job's record that it was ordered with
};

class FakeMembers final : public OrderSink {
 public:
  using PostFn = std::function<bool(Command)>;

  /// What exists on the members.
  struct Object {
    std::string uid;
    RemotePhase phase = RemotePhase::kRunning;
    std::string name;
    std::int32_t succeeded = 0;  // pods
    std::vector<ReclaimablePods> reclaimable = {};
    std::int32_t pods = 0;     // as ordered last
    std::int64_t version = 0;  // of that order
    bool active() const { return phase == RemotePhase::kRunning || phase == RemotePhase::kPending; }
  };

  void SetPost(PostFn post) { post_ = std::move(post); }

  void Ensure(const DispatchKey& key, JobPtr job, bool suspended) override;
  void Remove(const DispatchKey& key, JobPtr job, RemovePolicy policy) override;
  void List(const std::string& cluster) override;

  /// Carries out the oldest order, or the one at `at`. `fault`: the call fails with it (kUnknown:
  /// it happens and fails all the same).
  void Carry(std::size_t at = 0, std::optional<Code> fault = std::nullopt);
  /// Carries out everything without faults.
  void CarryAll();
  /// The attempt ends and says so; false if there is no such active object.
  bool End(const DispatchKey& key, RemotePhase phase, std::int32_t exit_code = 0);
  /// Some pods have ended well, and some of them will not be followed by others; the attempt says
  /// so. False if there is no such active object.
  bool Progress(const DispatchKey& key, std::int32_t succeeded,
                std::vector<ReclaimablePods> reclaimable);
  /// The object goes away behind everybody's back.
  void Vanish(const DispatchKey& key) { objects.erase(key); }
  /// Loses what was ordered: the daemon died before it left.
  void ForgetOrders() { orders.clear(); }

  std::deque<PendingOrder> orders;
  std::map<DispatchKey, Object> objects;
  std::map<DispatchKey, int> starts;       // how often pods were started for a key
  std::size_t most_active_of_one_job = 0;  // I2: must never be above 1

 private:
  Observation Seen(const DispatchKey& key, const Object& object) const;
  PostFn post_;
  int made_ = 0;
};

}  // namespace muster::test
