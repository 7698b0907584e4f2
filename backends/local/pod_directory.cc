// A pod's directory, and the supervisor that works in it.
//
// A directory is built under another name and renamed, so a pod that exists is complete.
// status.json belongs to the supervisor; only after the supervisor's death the backend writes it
// (WriteLostStatus).
//
// The lock. SpawnSupervisor locks `alive` and passes the descriptor to the supervisor, so there is
// no moment in which a started supervisor has no lock. Whether it lives is asked by trying a shared
// lock.
//
// Stopping is free of races: the request is written to the file `stop` first and the supervisor
// signalled afterwards; the supervisor writes its pid first and looks for the file afterwards. So
// at least one of the two sees the other.
#include "backends/local/pod_directory.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/local/process/files.h"
#include "backends/local/process/process_tree.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// The descriptor under which the supervisor expects the locked file.
constexpr int kAliveFd = 3;
// Mode of our own files in a directory that containers pass through.
constexpr unsigned kOurs = 0600;

json::object IdentityJson(const PodIdentity& identity, std::int64_t sequence, WallTime created) {
  return {{"id", identity.id},       {"name", identity.name},   {"podSet", identity.pod_set},
          {"owner", identity.owner}, {"index", identity.index}, {"epoch", identity.epoch},
          {"sequence", sequence},    {"createdUs", created.us}};
}

// Empty if the text is no object.
json::object ObjectIn(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return !error && value.is_object() ? std::move(value.get_object()) : json::object();
}

// A file of ours; an empty object if it is absent or unreadable.
json::object ReadJson(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path);
  return text.ok() ? ObjectIn(*text) : json::object();
}

SupervisorId SupervisorIn(const json::object& status) {
  return {static_cast<pid_t>(Integer(status, "pid", 0)),
          static_cast<std::uint64_t>(Integer(status, "startTicks", 0))};
}

PodPhase PhaseOf(const std::string& name) {
  if (name == "Running") return PodPhase::kRunning;
  if (name == "Succeeded") return PodPhase::kSucceeded;
  if (name == "Failed") return PodPhase::kFailed;
  return PodPhase::kPending;
}

// Takes exit code and signal of the first failed container.
void TakeEnd(const json::object& end, PodRecord* record) {
  const auto code = static_cast<std::int32_t>(Integer(end, "exitCode", 0));
  if (code == 0 || record->exit_code != 0) return;
  record->exit_code = code;
  record->exit_signal = static_cast<std::int32_t>(Integer(end, "signal", 0));
}

// Takes over failures of the main containers, or of the others.
void ReadFailures(const json::object& status, bool main, PodRecord* record) {
  for (const json::value& entry : ArrayOrEmpty(status, "containers")) {
    const json::object& failure = ObjectOrEmpty(entry, "failure");
    if (failure.empty() || FlagAt(entry, "main") != main) continue;
    TakeEnd(failure, record);
    record->out_of_memory = record->out_of_memory || FlagAt(failure, "outOfMemory");
    if (!record->failed_by_itself) record->failure_message = Text(failure, "message");
    record->failed_by_itself = true;
  }
}

// Reads all containers. Failures that came by themselves count before ends that came with a stop.
void ReadContainers(const json::object& status, PodRecord* record) {
  ReadFailures(status, true, record);
  ReadFailures(status, false, record);
  for (const json::value& entry : ArrayOrEmpty(status, "containers")) {
    const json::object& container = ObjectOrEmpty(entry);
    record->restarts += static_cast<std::int32_t>(Integer(container, "restarts", 0));
    if (Text(container, "state") != "ended") continue;
    record->out_of_memory = record->out_of_memory || FlagAt(container, "outOfMemory");
    const auto code = static_cast<std::int32_t>(Integer(container, "exitCode", 0));
    record->exit_codes.emplace_back(Text(container, "name"), code);
    TakeEnd(container, record);
  }
}

// Changes the owner; -1 leaves user or group as it is.
Status Give(const std::string& path, std::int64_t uid, std::int64_t gid) {
  if (uid < 0 && gid < 0) return Done{};
  const auto user = uid < 0 ? static_cast<uid_t>(-1) : static_cast<uid_t>(uid);
  const auto group = gid < 0 ? static_cast<gid_t>(-1) : static_cast<gid_t>(gid);
  if (::lchown(path.c_str(), user, group) == 0) return Done{};
  return Unavailable("cannot give " + path + " to its user: " + std::strerror(errno));
}

// Writes the pod's directories and files. The directory itself is open to nobody else until it is
// renamed: its mode is set last.
Status WriteFiles(const std::string& dir, const BuiltPod& built) {
  for (const BuiltDirectory& one : built.directories) {
    const std::string path = dir + "/" + one.path;
    // Parts of two volumes may share a directory.
    if (IsDirectory(path)) continue;
    if (Status made = MakeDirectories(path); !made.ok()) return made;
    if (Status given = Give(path, one.uid, one.gid); !given.ok()) return given;
    if (::chmod(path.c_str(), one.mode) != 0)
      return Unavailable("cannot set the mode of " + path + ": " + std::strerror(errno));
  }
  for (const VolumeFile& file : built.files) {
    const std::string path = dir + "/" + file.path;
    if (Status wrote = WriteWholeFile(path, file.data, file.mode); !wrote.ok()) return wrote;
    if (Status given = Give(path, file.uid, file.gid); !given.ok()) return given;
  }
  return WriteWholeFile(dir + "/spec.json", json::serialize(built.spec), kOurs);
}

Status Install(const std::string& staging, const std::string& dir) {
  if (::rename(staging.c_str(), dir.c_str()) == 0) return Done{};
  return Unavailable(std::string("a pod's directory cannot be made: ") + std::strerror(errno));
}

std::string StagingOf(const std::string& dir) {
  const std::size_t slash = dir.rfind('/');
  return dir.substr(0, slash + 1) + ".new-" + dir.substr(slash + 1);
}

// Signals the supervisor. The caller may have read the status before the supervisor wrote its pid;
// it is read again. If the pid is still missing, the supervisor has yet to look for what it is
// signalled about, and will find it.
void SignalSupervisor(const std::string& dir, SupervisorId supervisor, int signal) {
  if (supervisor.pid == 0) supervisor = SupervisorIn(ReadJson(dir + "/status.json"));
  if (supervisor.pid > 0) SignalIfSame(supervisor.pid, supervisor.start_ticks, signal);
}

}  // namespace

Status WritePodDirectory(const std::string& dir, const PodIdentity& identity, std::int64_t sequence,
                         WallTime created, const BuiltPod& built) {
  const std::string staging = StagingOf(dir);
  if (Status cleared = RemoveTree(staging); !cleared.ok()) return cleared;
  if (Status made = MakeDirectories(staging, 0700); !made.ok()) return made;
  if (Status wrote = WriteFiles(staging, built); !wrote.ok()) return wrote;
  const std::string about = json::serialize(IdentityJson(identity, sequence, created));
  if (Status wrote = WriteWholeFile(staging + "/pod.json", about, kOurs); !wrote.ok()) return wrote;
  if (::chmod(staging.c_str(), built.mode) != 0)
    return Unavailable("cannot set the mode of " + staging + ": " + std::strerror(errno));
  return Install(staging, dir);
}

Status WriteRefusedPod(const std::string& dir, const PodIdentity& identity, std::int64_t sequence,
                       WallTime created, const std::string& why) {
  const std::string staging = StagingOf(dir);
  if (Status cleared = RemoveTree(staging); !cleared.ok()) return cleared;
  if (Status made = MakeDirectories(staging, 0700); !made.ok()) return made;
  const json::object status{{"pod", identity.name},      {"phase", "Failed"},
                            {"reason", "FailedToStart"}, {"message", why},
                            {"endedUs", created.us},     {"exitCode", 128}};
  const std::string about = json::serialize(IdentityJson(identity, sequence, created));
  if (Status wrote = WriteWholeFile(staging + "/pod.json", about, kOurs); !wrote.ok()) return wrote;
  if (Status wrote = WriteWholeFile(staging + "/status.json", json::serialize(status), kOurs);
      !wrote.ok())
    return wrote;
  return Install(staging, dir);
}

Result<PodOnDisk> ReadPodDirectory(const std::string& dir, std::int64_t* sequence) {
  const Result<std::string> text = ReadWholeFile(dir + "/pod.json");
  if (!text.ok() && text.error().code == Code::kUnavailable) return text.error();
  const json::object about = text.ok() ? ObjectIn(*text) : json::object();
  if (about.empty()) return Internal("the record of a pod, " + dir + "/pod.json, is unreadable");
  PodOnDisk pod;
  PodRecord& record = pod.record;
  record.identity = {Text(about, "id"),
                     Text(about, "name"),
                     Text(about, "podSet"),
                     Text(about, "owner"),
                     static_cast<std::int32_t>(Integer(about, "index", -1)),
                     static_cast<std::int32_t>(Integer(about, "epoch", 0))};
  record.created = {Integer(about, "createdUs", 0)};
  *sequence = Integer(about, "sequence", 0);
  if (Status read = ReadPodStatus(dir, &pod); !read.ok()) return read.error();
  return pod;
}

Status ReadPodStatus(const std::string& dir, PodOnDisk* known) {
  const Result<std::string> text = ReadWholeFile(dir + "/status.json");
  if (!text.ok() && text.error().code == Code::kUnavailable) return text.error();
  const json::object status = text.ok() ? ObjectIn(*text) : json::object();
  // Somebody has taken it away or spoilt it: what was read before still holds, and nothing is
  // started again.
  if (status.empty() && known->has_status) return Done{};
  PodOnDisk pod;
  PodRecord& record = pod.record;
  record.identity = known->record.identity;
  record.created = known->record.created;
  record.stopping = PathExists(dir + "/stop");
  // Also one that is spoilt was written by a supervisor, whose containers may have run.
  pod.has_status = text.ok();
  if (!status.empty()) {
    record.phase = PhaseOf(Text(status, "phase"));
    record.started = {Integer(status, "startedUs", 0)};
    record.ended = {Integer(status, "endedUs", 0)};
    record.reason = Text(status, "reason");
    record.message = Text(status, "message");
    record.lost = FlagAt(status, "lost");
    pod.supervisor = SupervisorIn(status);
    pod.takes_orders = FlagAt(status, "takesOrders");
    const json::object& use = ObjectOrEmpty(status, "use");
    record.use = {Integer(use, "userCpuUs", 0), Integer(use, "systemCpuUs", 0),
                  Integer(use, "maxRssBytes", 0), Integer(use, "readBytes", 0),
                  Integer(use, "writtenBytes", 0)};
    ReadContainers(status, &record);
    // A pod whose containers never started has an exit code of its own.
    if (record.exit_code == 0)
      record.exit_code = static_cast<std::int32_t>(Integer(status, "exitCode", 0));
  }
  *known = std::move(pod);
  return Done{};
}

Status SpawnSupervisor(const std::string& supervisor_path, const std::string& dir) {
  const int alive = ::open((dir + "/alive").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (alive < 0)
    return Unavailable(std::string("a pod's lock cannot be made: ") + std::strerror(errno));
  if (::flock(alive, LOCK_EX | LOCK_NB) != 0) {
    ::close(alive);
    return AlreadyExists("the pod already has a supervisor");
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, alive, kAliveFd);
  char* argv[] = {const_cast<char*>(supervisor_path.c_str()), const_cast<char*>(dir.c_str()),
                  nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, supervisor_path.c_str(), &actions, nullptr, argv, environment);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(alive);
  if (failed != 0) {
    return Unavailable(std::string("the pod's supervisor cannot be started: ") +
                       std::strerror(failed));
  }
  // The supervisor forks at once and its parent half exits, which is what is reaped here.
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Unavailable("the pod's supervisor did not start");
  return Done{};
}

std::optional<bool> SupervisorLives(const std::string& dir) {
  // Opened read-only, because closing a writable descriptor would be reported by inotify.
  const int alive = ::open((dir + "/alive").c_str(), O_RDONLY | O_CLOEXEC);
  // Without the file no supervisor was ever started, or the pod's directory is gone.
  if (alive < 0 && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (alive < 0) return std::nullopt;
  const bool is_free = ::flock(alive, LOCK_SH | LOCK_NB) == 0;
  const int why = errno;
  ::close(alive);
  if (is_free) return false;
  if (why != EWOULDBLOCK) return std::nullopt;
  return true;
}

Status RequestStop(const std::string& dir, SupervisorId supervisor, const StopRequest& request) {
  Status wrote = WriteWholeFile(dir + "/stop", WriteStopRequest(request), kOurs);
  SignalSupervisor(dir, supervisor, SIGTERM);
  return wrote;
}

Status PostOrder(const std::string& dir, SupervisorId supervisor, std::int64_t number,
                 const json::object& order) {
  const std::string orders = dir + "/orders";
  if (Status made = MakeDirectories(orders, 0700); !made.ok()) return made;
  if (ListDirectory(orders).size() >= limits::kPodOrdersWaiting)
    return Overloaded("the job has not taken earlier signals yet", 1000);
  // Names sort as their numbers do.
  std::string name = std::to_string(number);
  name.insert(0, 20 - std::min<std::size_t>(20, name.size()), '0');
  if (Status wrote = WriteWholeFile(orders + "/" + name, json::serialize(order), kOurs);
      !wrote.ok())
    return wrote;
  SignalSupervisor(dir, supervisor, SIGUSR1);
  return Done{};
}

GivenToPod ReadGiven(const std::string& dir) {
  const json::object spec = ReadJson(dir + "/spec.json");
  GivenToPod given;
  const auto read = [](const json::array& from, std::vector<int>* out) {
    for (const json::value& number : from) {
      if (number.is_int64()) out->push_back(static_cast<int>(number.get_int64()));
    }
  };
  read(ArrayOrEmpty(spec, {"batch", "cpus"}), &given.cpus);
  read(ArrayOrEmpty(spec, "devices"), &given.devices);
  return given;
}

void KillRemains(const std::string& dir, const SupervisorId& known) {
  const SupervisorId supervisor =
      known.pid > 0 ? known : SupervisorIn(ReadJson(dir + "/status.json"));
  ProcessInfo now;
  if (supervisor.pid > 0 && ReadProcess(supervisor.pid, &now) &&
      now.start_ticks == supervisor.start_ticks) {
    KillDescendants(supervisor.pid);
    SignalIfSame(supervisor.pid, supervisor.start_ticks, SIGKILL);
  }
  const json::object spec = ReadJson(dir + "/spec.json");
  const std::string key = Text(spec, "cgroupKey");
  if (key.empty()) return;
  std::vector<CgroupMount> mounts;
  for (const json::value& entry : ArrayOrEmpty(spec, "cgroups")) {
    const json::object& mount = ObjectOrEmpty(entry);
    mounts.push_back({static_cast<int>(Integer(mount, "version", 2)), Text(mount, "base"),
                      FlagAt(mount, "memory"), FlagAt(mount, "cpu"), FlagAt(mount, "pids")});
  }
  const PodCgroups groups(std::move(mounts), key);
  groups.KillAll();
  // Also with control groups: a process may have been forked before it entered its group.
  for (int pass = 0; pass < 50 && KillByEnvironment(MarkerOf(key)) > 0; ++pass) {
  }
  groups.Remove();
}

Status WriteLostStatus(const std::string& dir, const PodOnDisk& pod, WallTime now,
                       const std::string& reason, const std::string& why) {
  json::object status = ReadJson(dir + "/status.json");
  status["pod"] = pod.record.identity.name;
  status["phase"] = "Failed";
  status["lost"] = true;
  status["reason"] = reason;
  status["message"] = why;
  status["endedUs"] = now.us;
  status["exitCode"] = 128 + SIGKILL;
  for (json::value& entry : status["containers"].is_array()
                                ? status["containers"].get_array()
                                : status["containers"].emplace_array()) {
    json::object& container = entry.as_object();
    if (Text(container, "state") == "ended") continue;
    container["state"] = "ended";
    container["exitCode"] = 128 + SIGKILL;
    container["signal"] = SIGKILL;
  }
  return WriteWholeFile(dir + "/status.json", json::serialize(status), kOurs);
}

std::vector<std::string> ContainersOf(const std::string& dir) {
  std::vector<std::string> mains, others;
  const json::object spec = ReadJson(dir + "/spec.json");
  for (const json::value& entry : ArrayOrEmpty(spec, "containers")) {
    const json::object& container = ObjectOrEmpty(entry);
    (Text(container, "role") == "main" ? mains : others).push_back(Text(container, "name"));
  }
  mains.insert(mains.end(), others.begin(), others.end());
  return mains;
}

bool ContainerEnded(const std::string& dir, const std::string& container) {
  const json::object status = ReadJson(dir + "/status.json");
  const std::string phase = Text(status, "phase");
  if (phase == "Succeeded" || phase == "Failed") return true;
  for (const json::value& entry : ArrayOrEmpty(status, "containers")) {
    if (Text(ObjectOrEmpty(entry), "name") == container)
      return Text(ObjectOrEmpty(entry), "state") == "ended";
  }
  return false;
}

}  // namespace muster::local
