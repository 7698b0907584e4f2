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
#include "backends/local/pods/host_shares.h"
#include "backends/local/step_file.h"

namespace muster::local {

/// What all attempts of a backend share; it outlives them.
struct AttemptWorld {
  LocalOptions options;
  HostAbilities abilities;
  std::shared_ptr<EventLoop> loop;
  std::map<std::string, ResourceList> allocatable;  // by cluster
  std::map<std::string, MemberAccounts> accounts;   // by cluster
  AccountCache users;
  HostShares shares;
  /// Absolute: the program muster-step-agent, and the directory of the Slurm commands ("": none).
  std::string step_agent, commands_dir;
  std::function<void(const Observation&)> report;  // called when an observation has changed
  std::function<void(const DispatchKey&)> forget;  // called when an attempt is gone from the disk
};

/// What an attempt's pods are told of a removal.
StopRequest::Cause CauseOf(StopCause cause);

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
  /// Sends a signal to processes of its pods; kNotFound if none runs.
  Status Signal(const SignalOrder& order);
  /// Writes a line to the standard error of its script; kNotFound if no pod runs.
  Status Notify(const std::string& line);
  /// Reports all steps again, for a sink that may not know them.
  void ReportStepsAgain();
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
    WallTime spawn_after;            // the next try to start its supervisor; not set: now
    std::vector<int> cpus, devices;  // given to it while it lives
    Monotonic kill_at;  // when the supervisor itself is killed; 0: the pod was not asked to stop
  };

  Attempt(AttemptWorld& world, std::string dir);
  Status Load();
  Status AdoptPods();
  void LosePod(const std::string& dir, const std::string& why);
  void Advance();
  bool Round();
  bool StepController();
  void StartPods(std::vector<PodWish> wishes);
  bool StartPod(const PodWish& wish);
  void AddHosts(const std::vector<PodWish>& wishes);
  std::string HostsOfJob() const;
  void NameHost(PodWish* wish) const;
  JobAccounts Accounts() const;
  PodContext ContextFor(const PodWish& wish, const std::string& pod_dir) const;
  void StopPod(Pod* pod, const StopRequest& request);
  void StopAll(const StopRequest& request);
  Status OrderPods(const std::function<bool(const Pod&)>& chosen, const json::object& order);
  void Share(const PodWish& wish, Pod* pod);
  void Unshare(Pod* pod);
  std::int64_t PausedUs(WallTime now) const;
  Status Resume(WallTime now);
  bool MakeStepsDirectory(const PodUser& owner);
  void WatchSteps();
  void ReadSteps();
  void ReportSteps(std::vector<StepRecord> steps);
  void ReportStepsOn();
  void EndSteps(WallTime ended);
  void LookAt(Pod* pod);
  Status Reread(Pod* pod) const;
  void OnSilence(Pod* pod);
  void WatchPod(Pod* pod);
  void TryAgain(const std::string& why);
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
  bool batch_ = false;       // its pods belong to a batch script
  std::int64_t orders_ = 0;  // the number of the last order to a supervisor
  // Of the steps of a batch script: the file that reports them, its watch, when it may be read
  // again and whether it has changed, and the steps that have not ended by it.
  std::optional<StepFile> step_file_;
  int steps_watch_ = -1;
  WallTime read_steps_at_;
  bool steps_changed_ = false;
  bool steps_complained_ = false, reporting_again_ = false;
  std::map<std::int32_t, StepRecord> open_steps_;
};

}  // namespace muster::local
