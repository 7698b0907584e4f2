// Attempt: one attempt on a local member: its object, the controller of the object's kind, its
// pods. Used on the backend's thread alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/local/attempt_state.h"
#include "backends/local/controllers/controller.h"
#include "backends/local/event_loop.h"
#include "backends/local/host.h"
#include "backends/local/host_accounts.h"
#include "backends/local/local_backend.h"
#include "backends/local/pod_directory.h"

namespace muster::local {

/// What all attempts of a backend share; it outlives them.
struct AttemptWorld {
  LocalOptions options;
  HostAbilities abilities;
  std::shared_ptr<EventLoop> loop;
  std::map<std::string, ResourceList> allocatable;  // by cluster
  std::map<std::string, MemberAccounts> accounts;   // by cluster
  AccountCache users;
  std::function<void(const Observation&)> report;  // called when an observation has changed
  std::function<void(const DispatchKey&)> forget;  // called when an attempt is gone from the disk
};

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  /// Writes a new, suspended attempt. Errors: kInvalidArgument (a kind or template that cannot run
  /// here), or the disk's.
  static Result<std::shared_ptr<Attempt>> Create(AttemptWorld& world, const std::string& dir,
                                                 const DispatchOrder& order,
                                                 std::vector<int> ports);
  /// Takes over the attempt in a directory: live pods are watched again, ends are read. An error if
  /// there is no attempt in it.
  static Result<std::shared_ptr<Attempt>> Adopt(AttemptWorld& world, const std::string& dir);
  ~Attempt();

  /// Lets its pods start with the next LookAgain; no effect if they may start already.
  Status Release();
  /// Takes over an object with other pod counts if its scale is newer than the present one; the
  /// next LookAgain starts and stops pods accordingly. If it cannot be written the old object
  /// stays.
  Status Resize(const DispatchOrder& order);
  /// Stops the pods, then removes the attempt or, if the policy says so, keeps it for its logs.
  /// `done` is called when no pod runs any more.
  void Remove(const RemovePolicy& policy, Callback<RemovalResult> done);
  /// Reads the state of every pod anew and does what is due.
  void LookAgain();
  Observation Observe() const;
  std::vector<PodStatus> Pods() const;
  const AttemptState& state() const { return state_; }
  const std::string& dir() const { return dir_; }
  int live_pods() const;
  bool leaving() const { return state_.removing || state_.removed; }

 private:
  struct Pod {
    PodOnDisk disk;
    std::string dir;
    std::int64_t sequence = 0;
    int watch = -1;
    int spawns = 0;
    Monotonic kill_at;  // when the supervisor itself is killed; 0: the pod was not asked to stop
  };

  Attempt(AttemptWorld& world, std::string dir);
  Status Load();
  void AdoptPods();
  void Advance();
  bool Round();
  bool StepController();
  void StartPods(std::vector<PodWish> wishes);
  bool StartPod(const PodWish& wish);
  void AddHosts(const std::vector<PodWish>& wishes);
  JobAccounts Accounts() const;
  PodContext ContextFor(const PodWish& wish, const std::string& pod_dir) const;
  void StopPod(Pod* pod, std::int64_t grace_ms);
  void StopAll(std::int64_t grace_ms);
  void LookAt(Pod* pod);
  void OnSilence(Pod* pod);
  bool WatchPod(Pod* pod);
  void KillOverdue();
  void FinishRemoval();
  bool Save();
  void Rearm();
  void WakeAt(WallTime when);
  void Report();

  AttemptWorld& world_;
  std::string dir_;
  AttemptState state_;
  json::object object_;
  std::vector<Dependent> dependents_;
  const Controller* controller_ = nullptr;
  std::vector<std::unique_ptr<Pod>> pods_;
  RemotePhase phase_ = RemotePhase::kPending;
  std::vector<ReclaimablePods> reclaimable_;  // of the last step
  std::string trouble_;                       // why a step failed; it is tried again
  std::set<std::string> hosts_;               // lines that the hosts file has got from this object
  WallTime wake_at_;
  std::optional<TimerId> timer_;
  std::vector<Callback<RemovalResult>> waiting_;
  std::optional<Observation> reported_;
};

}  // namespace muster::local
