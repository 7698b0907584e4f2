// PodRunner: runs one pod from its first init container to its last process: order, restarts,
// output, deadlines, stopping.
//
// One thread, one epoll. The state is written to status.json before another process could rely on
// it: the file exists before any container runs, and says Succeeded or Failed only when no process
// is left.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/local/process/log_files.h"
#include "backends/local/process/stop_request.h"
#include "backends/local/supervisor/pod_spec_file.h"
#include "backends/local/supervisor/pod_use.h"

namespace muster::local {

class PodRunner {
 public:
  /// The current directory is the pod's.
  explicit PodRunner(SupervisedPod pod);
  ~PodRunner();
  /// Returns when the pod has ended and its end is on disk.
  void Run();

 private:
  enum class State { kWaiting, kRunning, kEnded };
  struct Container;

  void Advance();
  bool AdvanceStartUp();
  void Start(Container* container);
  void HoldPlace(Container* container);
  void Reap();
  void OnExit(Container* container, int wait_status);
  void Conclude(Container* container, int exit_code, int signal, std::string why);
  void ScheduleRestart(Container* container);
  void KillLeftovers(const Container& container);
  void OnStopRequest();
  void BeginStop(std::int64_t grace_ms, int first_signal);
  void SignalAll(int signal);
  void CheckTimers();
  void GuardProcesses();
  int WaitMs() const;
  void PumpOutput(int fd);
  void DrainOutput(Container* container);
  void Watch(int fd);
  bool AllMainsEnded() const;
  bool AnyRunning() const;
  // pod_control.cc
  Container* Script() const;
  void TakeOrders();
  void Tell(const std::string& line);
  void SignalTargets(int signal, const std::string& target, std::int64_t step);
  void Pause();
  void Resume();
  void PlanWarning();
  void Warn();
  void SampleMemory();
  void TellStop(StopRequest::Cause cause);
  void TellOutOfMemory(std::int64_t kills);
  // step_agent.cc
  void ListenForSteps();
  void OnAgentWanted();
  void TellAgent(const std::string& text);
  void PumpAgent();
  void CloseAgentOutput();

  void FailPod(const std::string& reason, const std::string& message);
  void WriteStatus();
  std::string Phase() const;

  SupervisedPod pod_;
  PodCgroups cgroups_;
  std::vector<std::unique_ptr<Container>> containers_;
  int epoll_ = -1, signals_ = -1;
  int wanted_ = -1, agent_output_ = -1;  // step_agent.cc
  pid_t agent_pid_ = 0;                  // started by us; 0: none lives
  std::int64_t agent_next_ms_ = 0;
  bool stopping_ = false, stop_requested_ = false, finished_ = false, failed_ = false;
  std::int64_t started_us_ = 0, ended_us_ = 0;
  std::int64_t kill_at_ms_ = 0, deadline_ms_ = 0, guard_at_ms_ = 0;
  std::int64_t warn_at_ms_ = 0, paused_at_ms_ = 0;  // paused_at_ms_: 0 while it is not suspended
  std::int64_t sample_at_ms_ = 0, sample_every_ms_ = 0;
  PodUse use_;
  std::string reason_, message_;
};

}  // namespace muster::local
