// A container's output and status. Output goes to the bounded log and, for the first main
// container, to the files that the pod's annotations name.
#include "backends/local/supervisor/container_run.h"

#include <unistd.h>

#include <cerrno>

namespace muster::local {
namespace {

// Writes to a file of the user, whose failure must not disturb the container. The user names the
// file, so quotas, reserved blocks and what /proc lets only root write must hold the user back.
void WriteToUser(int fd, std::string_view data, const Credentials& user) {
  if (fd < 0) return;
  const ScopedUser as(user);
  if (!as.problem().empty()) return;
  while (!data.empty()) {
    const ssize_t wrote = ::write(fd, data.data(), data.size());
    if (wrote < 0 && errno == EINTR) continue;
    // The user's disk may be full; the log still has the output.
    if (wrote <= 0) return;
    data.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

PodRunner::Container::Container(const ContainerSpec& container_spec, std::string log_dir,
                                std::int64_t log_bytes)
    : spec(container_spec),
      user(CredentialsOf(container_spec)),
      log(std::move(log_dir), log_bytes) {}

PodRunner::Container::~Container() {
  for (const int fd : {output, errors, user_output, user_errors}) {
    if (fd >= 0) ::close(fd);
  }
}

void PodRunner::Container::KeepUserFiles(int output_file, int error_file) {
  if (output_file >= 0) user_output = output_file;
  if (error_file >= 0) user_errors = error_file;
}

bool PodRunner::Container::WantsUserFiles() const {
  return (!spec.stdout_path.empty() && user_output < 0) ||
         (!spec.stderr_path.empty() && user_errors < 0);
}

void PodRunner::Container::Record(int fd, std::string_view data) {
  log.Write(data);
  WriteToUser(fd == errors ? user_errors : user_output, data, user);
}

void PodRunner::Container::TellError(std::string_view line) {
  log.Write(line);
  WriteToUser(user_errors >= 0 ? user_errors : user_output, line, user);
}

void PodRunner::Container::CloseOutput(int fd) {
  ::close(fd);
  if (fd == output) output = -1;
  if (fd == errors) errors = -1;
}

const char* PodRunner::Container::StateName() const {
  return state == State::kRunning ? "running" : state == State::kEnded ? "ended" : "waiting";
}

PodStatusText::PodStatusText(const std::string& pod, const std::string& phase)
    : status_({{"pod", pod}, {"phase", phase}, {"takesOrders", true}}) {}

void PodStatusText::SetSupervisor(pid_t pid, std::uint64_t start_ticks) {
  status_["pid"] = static_cast<std::int64_t>(pid);
  status_["startTicks"] = start_ticks;
}

void PodStatusText::SetTimes(std::int64_t started_us, std::int64_t ended_us) {
  status_["startedUs"] = started_us;
  status_["endedUs"] = ended_us;
}

void PodStatusText::SetUse(boost::json::object use, bool suspended) {
  status_["use"] = std::move(use);
  status_["suspended"] = suspended;
}

void PodStatusText::SetOutcome(const std::string& reason, const std::string& message,
                               bool stop_requested) {
  status_["reason"] = reason;
  status_["message"] = message;
  status_["stopRequested"] = stop_requested;
}

std::string PodStatusText::Render() {
  status_["containers"] = std::move(containers_);
  return boost::json::serialize(status_);
}

}  // namespace muster::local
