// One attempt on a local member: an object, its controller, its pods. Lives on the backend's
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/local/attempt_state.h"
#include "backends/local/controllers/controller.h"
#include "backends/local/event_loop.h"
#include "backends/local/host.h"
#include "backends/local/local_backend.h"
#include "backends/local/pod_directory.h"

namespace muster::local {

/// What attempts share; outlives them.
struct AttemptWorld {
  LocalOptions options;
  HostAbilities abilities;
  std::shared_ptr<EventLoop> loop;
  std::map<std::string, ResourceList> allocatable;  // by cluster
  std::function<void(const Observation&)> report;   // only changes reach it
  std::function<void(const DispatchKey&)> forget;   // the attempt is gone from the disk
};

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  /// Writes a new attempt. Errors: kInvalidArgument (a kind or template that cannot run here), the
  /// disk's.
  static Result<std::shared_ptr<Attempt>> Create(AttemptWorld& world, const std::string& dir,
                                                 const DispatchOrder& order,
                                                 std::vector<int> ports);
  /// Takes over what a directory holds: live pods are watched again, ends are read.
  static Result<std::shared_ptr<Attempt>> Adopt(AttemptWorld& world, const std::string& dir);
  ~Attempt();

  /// Lets its pods start; no effect if they may already.
  Status Release();
  /// Takes over an object with other pod counts if its scale is newer than the one it has; what
  /// follows is started and stopped with the next look. The old object stays if it cannot be
  /// written.
  Status Resize(const DispatchOrder& order);
  /// Stops it, then removes it or keeps its logs; `done` when nothing of it runs any more.
  void Remove(const RemovePolicy& policy, Callback<Removed> done);
  /// Looks at every pod again and does what is due.
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
    Monotonic kill_at;  // the supervisor itself is killed then; 0: not asked to stop
  };

  Attempt(AttemptWorld& world, std::string dir);
  Status Load();
  void AdoptPods();
  void Advance();
  bool Round();
  bool StepController();
  void StartPods(std::vector<PodWish> wishes);
  bool StartPod(const PodWish& wish);
  void AddHosts(const std::vector<PodWish>& wishes) const;
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
  std::string trouble_;                       // why a step could not be done; tried again
  WallTime wake_at_;
  std::optional<TimerId> timer_;
  std::vector<Callback<Removed>> waiting_;
  std::optional<Observation> reported_;
};

}  // namespace muster::local
