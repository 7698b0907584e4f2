// srun while its step runs: output, stdin, signals, the ends of tasks and what is said about them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "clients/steps/messages.h"
#include "clients/steps/srun/step_io.h"
#include "clients/steps/srun/terminal.h"
#include "clients/steps/wire.h"

namespace muster::steps {

struct RunSettings {
  std::string job;
  bool quiet = false;
  bool quit_on_interrupt = false;  // the first Ctrl-C ends the step
  bool disable_status = false;     // Ctrl-C goes to the tasks at once
  bool kill_on_bad_exit = false;
  bool once_per_code = false;  // SLURM_SRUN_REDUCE_TASK_EXIT_MSG
  std::int64_t wait_s = 0;     // -W: after the first task's end; 0: for ever
  bool terminal = false;
};

/// Blocks the signals that srun forwards; the result is read for them.
Descriptor WatchForwardedSignals();

class StepRun {
 public:
  StepRun(Channel* channel, const StepCreated& step, RunSettings settings, StepIo* io, int signals);
  /// Until all tasks have ended and all output is written. Returns srun's exit status.
  int Run();

 private:
  struct Failed {
    std::string host;
    std::int32_t status = 0;
    std::vector<std::int32_t> tasks;
  };
  bool Wait();
  int Timeout() const;
  void ReadChannel();
  void OnFrame(Frame frame);
  void OnExited(const TasksEnded& ended);
  void ReadSignals();
  void OnInterrupt();
  void SendSignal(int signal);
  void Abort(const std::string& why);
  void ReadInput();
  void FeedTasks();
  void ReadTerminal();
  void SayFailed();
  void SayTasks();
  void Info(const std::string& text) const;
  void CheckTimers();

  Channel* channel_;
  StepCreated step_;
  RunSettings settings_;
  StepIo* io_;
  int signals_;
  TerminalMode terminal_;
  Descriptor master_;
  bool input_open_ = true;
  std::map<std::int32_t, bool> running_;  // task: still runs
  std::vector<Failed> failed_;
  std::map<std::int32_t, bool> told_codes_;
  bool ended_ = false, aborted_ = false, lost_ = false;
  int exit_ = 0;
  std::int64_t first_end_ms_ = 0, failed_at_ms_ = 0, last_output_ms_ = 0;
  std::int64_t interrupt_ms_ = 0;
  int interrupts_ = 0;
};

}  // namespace muster::steps
