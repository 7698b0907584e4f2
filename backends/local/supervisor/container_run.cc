// A container's output and status. Output goes to the bounded log and, for the first main
// container, to the files that the pod's annotations name.
#include "backends/local/supervisor/container_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "backends/local/supervisor/pod_clock.h"

namespace muster::local {
namespace {

// What waits for a pipe whose reader is stopped is not more than this and a pipe's content.
constexpr std::size_t kMostPending = 1 << 20;
// How long the end of a container waits for such a reader to go on.
constexpr int kLastWaitMs = 1000;

// Writes to a file of the user, whose failure must not disturb the container. The user names the
// file, so quotas, reserved blocks and what /proc lets only root write must hold the user back.
// What a pipe or terminal does not take now stays in `data`.
void WriteToUser(int fd, std::string* data, const Credentials& user) {
  const ScopedUser as(user);
  std::size_t done = 0;
  while (fd >= 0 && as.problem().empty() && done < data->size()) {
    const ssize_t wrote = ::write(fd, data->data() + done, data->size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) {
      data->erase(0, done);
      return;
    }
    // The user's disk may be full; the log still has the output.
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  data->clear();
}

}  // namespace

PodRunner::Container::Container(const ContainerSpec& container_spec, std::string log_dir,
                                std::int64_t log_bytes)
    : spec(container_spec),
      user(CredentialsOf(container_spec)),
      log(std::move(log_dir), log_bytes) {}

PodRunner::Container::~Container() {
  for (const int fd : {output, errors, output_file.fd, error_file.fd}) {
    if (fd >= 0) ::close(fd);
  }
}

// Never waited for: a descriptor that only this process writes to.
void PodRunner::Container::KeepUserFiles(int new_output, int new_error) {
  if (new_output >= 0) output_file.fd = new_output;
  if (new_error >= 0) error_file.fd = new_error;
  for (const int fd : {new_output, new_error}) {
    if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
}

bool PodRunner::Container::WantsUserFiles() const {
  return (!spec.stdout_path.empty() && output_file.fd < 0) ||
         (!spec.stderr_path.empty() && error_file.fd < 0);
}

void PodRunner::Container::Record(int fd, std::string_view data) {
  log.Write(data, WallMicros());
  UserFile& file = fd == errors ? error_file : output_file;
  file.pending += data;
  WriteToUser(file.fd, &file.pending, user);
}

void PodRunner::Container::TellError(std::string_view line) {
  log.Write(line, WallMicros());
  UserFile& file = error_file.fd >= 0 ? error_file : output_file;
  if (file.pending.size() < kMostPending) file.pending += line;
  WriteToUser(file.fd, &file.pending, user);
}

bool PodRunner::Container::WriteOn(int fd) {
  for (UserFile* file : {&output_file, &error_file}) {
    if (file->fd != fd) continue;
    WriteToUser(fd, &file->pending, user);
    return true;
  }
  return false;
}

// So a container whose output nobody takes waits, as if it wrote there itself, and the supervisor
// does not.
void PodRunner::Container::HoldBack(int epoll) {
  const std::pair<int, UserFile*> streams[] = {{output, &output_file}, {errors, &error_file}};
  for (const auto& [pipe, file] : streams) {
    const bool full = !file->pending.empty();
    if (full == file->held) continue;
    file->held = full;
    epoll_event writable{}, readable{};
    writable.events = EPOLLOUT;
    writable.data.fd = file->fd;
    ::epoll_ctl(epoll, full ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, file->fd, &writable);
    readable.events = EPOLLIN;
    readable.data.fd = pipe;
    if (pipe >= 0) ::epoll_ctl(epoll, full ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, pipe, &readable);
  }
}

void PodRunner::Container::WriteRest(int epoll) {
  for (UserFile* file : {&output_file, &error_file}) {
    pollfd writable{file->fd, POLLOUT, 0};
    while (!file->pending.empty() && ::poll(&writable, 1, kLastWaitMs) == 1)
      WriteToUser(file->fd, &file->pending, user);
    file->pending.clear();
  }
  HoldBack(epoll);
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
