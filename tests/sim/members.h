// Members: the member clusters of a simulated world, with the objects on them and the pods that
// run. What happens on a member happens at once; the network is elsewhere (network.h). One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "tests/sim/own_queues.h"
#include "tests/sim/stage.h"

namespace muster::sim {

/// An object on a member.
struct SimObject {
  std::string uid;
  RemotePhase phase = RemotePhase::kSuspended;
  RemoteObject object;  // empty on a member of one step
  JobId job;
  std::int64_t cpu = 0;  // of all pods, in thousandths
  std::int32_t pods = 0;
  std::int64_t sequence = 0;
  bool held = false, deleting = false, unlabelled = false;
  bool released = false;  // by Muster; the member's own queue may still keep it
  WallTime start_time, end_time;
  bool active() const { return phase == RemotePhase::kRunning || phase == RemotePhase::kPending; }
};

class Members {
 public:
  /// `name` is a word and a number: "member-0".
  explicit Members(Stage& stage);

  const std::vector<std::string>& names() const { return names_; }
  const std::map<DispatchKey, SimObject>& objects() const { return objects_; }
  bool IsAway(const std::string& cluster) const { return away_.contains(cluster); }
  OwnQueues& queues() { return queues_; }
  /// When it went away or came back the last time.
  void SetAway(const std::string& cluster, bool away);

  // Calls, as a member carries them out.
  Result<RemoteRef> Ensure(const DispatchOrder& order);
  RemovalResult Remove(const DispatchKey& key, const RemovePolicy& policy);
  void Acknowledge(const DispatchKey& key, const std::string& uid);
  Presence Confirm(const DispatchKey& key, const std::string& uid);
  std::vector<Observation> List(const std::string& cluster);
  ClusterFacts Facts(const std::string& cluster) const;

  // Events that Muster did not order.
  /// Another, empty cluster takes the name.
  void Wipe(const std::string& cluster);
  /// A user deletes the object; it goes when nothing holds it.
  void Delete(const DispatchKey& key);
  /// A user removes its labels: reports lack it.
  void Unlabel(const DispatchKey& key);
  /// The member reports the object again.
  void Say(const DispatchKey& key);

  /// Every change of an object, at once; set by the world.
  std::function<void(const Observation&)> on_change = [](const Observation&) {};
  /// Pods of an object start.
  std::function<void(const DispatchKey&, const SimObject&)> on_start;
  /// How long the attempt will run, and whether it fails.
  std::int64_t RunMs(const DispatchKey& key) const;
  bool Fails(const DispatchKey& key) const;

 private:
  Result<RemoteRef> Make(const DispatchOrder& order);
  Result<RemoteRef> Release(const DispatchOrder& order);
  void Start(const DispatchKey& key, SimObject* object);
  void End(const DispatchKey& key, const std::string& uid);
  void Erase(const DispatchKey& key);
  Observation Seen(const DispatchKey& key, const SimObject& object) const;
  std::string IncarnationOf(const std::string& cluster) const;
  WallTime NowOn(const std::string& cluster) const;

  Stage& stage_;
  OwnQueues queues_{stage_};
  std::vector<std::string> names_;
  std::map<DispatchKey, SimObject> objects_;
  std::set<std::string> away_;
  std::map<std::string, int> wiped_;
  std::map<std::string, std::int64_t> skew_us_;  // of the member's clock
  int made_ = 0;
};

}  // namespace muster::sim
