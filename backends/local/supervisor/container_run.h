// PodRunner::Container: one container as the supervisor sees it: its process, its output, its end.
// PodStatusText: the status.json that is written from all of them.
#pragma once

#include <sys/types.h>

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/local/supervisor/credentials.h"
#include "backends/local/supervisor/pod_runner.h"

namespace muster::local {

/// The latest end of a container with an exit code other than 0 that came by itself, that is, not
/// because the pod was being stopped.
struct OwnFailure {
  int exit_code = 0, signal = 0;
  bool out_of_memory = false;
  std::string message;
};

/// Not thread-safe.
struct PodRunner::Container {
  Container(const ContainerSpec& container_spec, std::string log_dir, std::int64_t log_bytes);
  ~Container();
  /// Takes over the open files of the pod's annotations; they stay open over restarts.
  void KeepUserFiles(int new_output, int new_error);
  /// True while one of those files has not been opened yet.
  bool WantsUserFiles() const;
  /// Writes output that came from `fd` to the log and to the user's file. What a pipe in the file's
  /// place does not take is pending; HoldBack must follow.
  void Record(int fd, std::string_view data);
  /// Writes a line of the supervisor where the container's standard error goes. HoldBack must
  /// follow.
  void TellError(std::string_view line);
  /// Writes what is pending for the user's file `fd`; false if it has no such file.
  bool WriteOn(int fd);
  /// Waits in `epoll` for the user's file instead of for output while something is pending.
  void HoldBack(int epoll);
  /// Writes what is pending at the container's end; drops it if nobody reads for a second.
  void WriteRest(int epoll);
  void CloseOutput(int fd);
  bool failed() const { return exit_code != 0; }
  const char* StateName() const;

  const ContainerSpec& spec;
  const Credentials user;
  State state = State::kWaiting;
  pid_t pid = 0;
  int output = -1, errors = -1;  // pipes being read
  struct UserFile {
    int fd = -1;
    std::string pending;
    bool held = false;  // waited for in epoll, instead of the pipe
  };
  UserFile output_file, error_file;
  int exit_code = 0, signal = 0, restarts = 0;
  bool out_of_memory = false;         // the kernel killed a process of its last run (oom_kill)
  std::int64_t kills_before = 0;      // count of such kills when that run began
  std::optional<OwnFailure> failure;  // cleared when the container ends with 0
  bool stand_in = false;              // has no process
  std::int64_t started_us = 0, ended_us = 0, started_ms = 0, start_at_ms = 0, backoff_ms = 0;
  std::string message;
  LogWriter log;
};

/// Builds status.json, which the backend reads (pod_directory.cc).
class PodStatusText {
 public:
  PodStatusText(const std::string& pod, const std::string& phase);
  void SetSupervisor(pid_t pid, std::uint64_t start_ticks);
  void SetTimes(std::int64_t started_us, std::int64_t ended_us);
  void SetUse(boost::json::object use, bool suspended);
  void SetOutcome(const std::string& reason, const std::string& message, bool stop_requested);
  template <class ContainerT>
  void Add(const ContainerT& container, const char* state) {
    boost::json::object one{{"name", container.spec.name},
                            {"main", container.spec.role == ContainerRole::kMain},
                            {"state", state},
                            {"exitCode", container.exit_code},
                            {"signal", container.signal},
                            {"restarts", container.restarts},
                            {"outOfMemory", container.out_of_memory},
                            {"startedUs", container.started_us},
                            {"endedUs", container.ended_us},
                            {"message", container.message}};
    if (container.failure) {
      one["failure"] = boost::json::object{{"exitCode", container.failure->exit_code},
                                           {"signal", container.failure->signal},
                                           {"outOfMemory", container.failure->out_of_memory},
                                           {"message", container.failure->message}};
    }
    containers_.push_back(std::move(one));
  }
  std::string Render();

 private:
  boost::json::object status_;
  boost::json::array containers_;
};

}  // namespace muster::local
