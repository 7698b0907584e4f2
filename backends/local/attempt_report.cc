// Attempt: what it reports: observations, pod statuses, and the hosts file by which its pods find
// each other.
//
// An attempt's exit code is that of the first pod that failed by itself; if none did, that of a
// container that kept failing in a pod that its controller then stopped. It is never the code of
// our own TERM.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "backends/local/attempt.h"
#include "backends/local/pods/batch_world.h"
#include "backends/local/process/files.h"
#include "schedd/base/saturating.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

const char* PhaseName(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
  }
  return "";
}

// Whether two observations are equal in all that is reported by itself. What was measured changes
// all the time; it goes with the others, at the end last.
bool Same(const Observation& a, const Observation& b) {
  return a.remote_uid == b.remote_uid && a.phase == b.phase && a.ready_pods == b.ready_pods &&
         a.active_pods == b.active_pods && a.succeeded_pods == b.succeeded_pods &&
         a.failed_pods == b.failed_pods && a.start_time == b.start_time &&
         a.end_time == b.end_time && a.exit_code == b.exit_code && a.exit_signal == b.exit_signal &&
         a.reason == b.reason && a.message == b.message && a.reclaimable == b.reclaimable;
}

// True if `a` explains the attempt's failure better than `b`: a pod that failed goes before one
// that was stopped while a container of it kept failing; then the earlier end.
bool TellsBefore(const PodRecord& a, const PodRecord& b) {
  if (a.stopping != b.stopping) return b.stopping;
  return a.ended < b.ended;
}

// OutOfMemory in place of a general reason, and for a success of which a process was killed.
Reason ReasonOfEnd(const Outcome& outcome, bool out_of_memory) {
  if (!out_of_memory) return outcome.reason;
  const bool general = outcome.phase == RemotePhase::kSucceeded ||
                       outcome.reason == Reason::kFailed || outcome.reason == Reason::kNone ||
                       outcome.reason == Reason::kBackoffLimitExceeded ||
                       outcome.reason == Reason::kPodFailurePolicy;
  return general ? Reason::kOutOfMemory : outcome.reason;
}

}  // namespace

Observation Attempt::Observe() const {
  Observation seen;
  seen.key = state_.key;
  seen.remote_uid = state_.remote_uid;
  const PodRecord* failed = nullptr;
  // A pod that the attempt's end results from ran out of memory.
  bool out_of_memory = false;
  for (const auto& pod : pods_) {
    const PodRecord& record = pod->disk.record;
    const bool counts = state_.outcome.phase == RemotePhase::kSucceeded
                            ? record.phase == PodPhase::kSucceeded
                            : record.phase == PodPhase::kFailed;
    // In a job of Slurm it counts wherever it happened, also in a step that the script survived.
    out_of_memory = out_of_memory || ((counts || batch_) && record.out_of_memory);
    seen.use.user_cpu_us = SaturatingAdd(seen.use.user_cpu_us, record.use.user_cpu_us);
    seen.use.system_cpu_us = SaturatingAdd(seen.use.system_cpu_us, record.use.system_cpu_us);
    seen.use.max_rss_bytes = std::max(seen.use.max_rss_bytes, record.use.max_rss_bytes);
    seen.use.read_bytes = SaturatingAdd(seen.use.read_bytes, record.use.read_bytes);
    seen.use.written_bytes = SaturatingAdd(seen.use.written_bytes, record.use.written_bytes);
    // As in Kubernetes, a pod that is being stopped is neither.
    seen.active_pods += record.live() && !record.stopping;
    seen.ready_pods += record.phase == PodPhase::kRunning && !record.stopping;
    seen.succeeded_pods += record.phase == PodPhase::kSucceeded;
    seen.start_time = Earlier(seen.start_time, record.started);
    if (record.phase != PodPhase::kFailed) continue;
    if (record.stopping && !record.failed_by_itself) continue;
    seen.failed_pods += !record.stopping;
    if (failed == nullptr || TellsBefore(record, *failed)) failed = &record;
  }
  const Outcome& outcome = state_.outcome;
  if (outcome.ended.set()) {
    seen.phase = outcome.phase;
    seen.reason = ReasonOfEnd(outcome, out_of_memory);
    seen.message = outcome.message;
    seen.end_time = outcome.ended;
    if (outcome.phase == RemotePhase::kSucceeded) seen.exit_code = 0;
    if (outcome.phase == RemotePhase::kFailed && failed != nullptr) {
      seen.exit_code = failed->exit_code;
      seen.exit_signal = failed->exit_signal;
      if (seen.message.empty()) {
        seen.message = failed->failed_by_itself ? failed->failure_message : failed->message;
      }
    }
    return seen;
  }
  seen.message = trouble_;
  if (state_.suspended) {
    seen.phase = RemotePhase::kSuspended;
  } else if (outcome.phase != RemotePhase::kPending) {
    // The end is decided, and the pods are still being stopped.
    seen.phase = RemotePhase::kRunning;
  } else {
    seen.phase = phase_;
    seen.reclaimable = reclaimable_;
    if (seen.message.empty() && failed != nullptr && !failed->stopping)
      seen.message = failed->message;
  }
  return seen;
}

// Reports the present observation if it has changed.
void Attempt::Report() {
  Observation now = Observe();
  if (reported_ && Same(*reported_, now)) return;
  reported_ = now;
  world_.report(now);
}

std::vector<PodStatus> Attempt::Pods() const {
  std::vector<PodStatus> all;
  for (const auto& pod : pods_) {
    const PodRecord& record = pod->disk.record;
    PodStatus status;
    status.name = record.identity.id;
    status.pod_set = record.identity.pod_set;
    status.phase = PhaseName(record.phase);
    status.message = record.message;
    if (record.stopping && record.failed_by_itself && !record.live())
      status.message = record.failure_message + "; then " + record.message;
    status.index = record.identity.index;
    if (!record.live()) {
      status.exit_code = record.phase == PodPhase::kSucceeded ? 0 : record.exit_code;
      status.exit_signal = record.exit_signal;
    }
    status.start_time = record.started;
    status.end_time = record.ended;
    all.push_back(std::move(status));
  }
  return all;
}

// One line for each host of a batch script's nodes, with an address of its own, so that two nodes
// can listen at the same port.
std::string Attempt::HostsOfJob() const {
  std::vector<std::string> hosts;
  std::set<std::string> seen{"localhost"};
  for (const json::object* pod_template : controller_->templates(object_)) {
    if (!IsBatchPod(*pod_template)) continue;
    const Result<BatchWorld> world = ReadBatchWorld(*pod_template);
    if (!world.ok()) continue;
    for (const std::string& host : world->hosts) {
      if (seen.insert(host).second) hosts.push_back(host);
    }
  }
  std::string lines;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    lines += LoopbackOf(AttemptDirectoryName(state_.key), i) + " " + hosts[i] + "\n";
  return lines;
}

// A pod of a batch script has the host name of its node.
void Attempt::NameHost(PodWish* wish) const {
  if (!IsBatchPod(wish->pod_template)) return;
  const Result<BatchWorld> world = ReadBatchWorld(wish->pod_template);
  if (!world.ok()) return;
  const std::string host = HostOf(*world, wish->identity.index);
  if (!host.empty()) wish->host_name = host;
}

// Appends the pods' host names to the attempt's hosts file, which its pods see as /etc/hosts.
// Appended and not replaced, because the mount shows the file by its inode. Each name once: the
// same pods come again when one of them could not be started.
void Attempt::AddHosts(const std::vector<PodWish>& wishes) {
  if (world_.abilities.isolation == "none") return;
  const std::string path = dir_ + "/hosts";
  std::string lines;
  if (!PathExists(path)) {
    const Result<std::string> own = ReadWholeFile("/etc/hosts");
    // The job's hosts come first, because a name may stand for something else on this host.
    lines = HostsOfJob() + (own.ok() ? *own : std::string("127.0.0.1 localhost\n")) + "\n";
  }
  for (const PodWish& wish : wishes) {
    if (IsBatchPod(wish.pod_template)) continue;
    const std::string host = wish.host_name.empty() ? wish.identity.name : wish.host_name;
    std::string subdomain = Text(ObjectOrEmpty(wish.pod_template, "spec"), "subdomain");
    if (!wish.subdomain.empty()) subdomain = wish.subdomain;
    std::string line = "127.0.0.1 " + host;
    if (!subdomain.empty()) {
      for (const std::string& base : {host + "." + subdomain, subdomain}) {
        line += " " + base + " " + base + "." + state_.ns + " " + base + "." + state_.ns + ".svc " +
                base + "." + state_.ns + ".svc.cluster.local";
      }
    }
    if (hosts_.insert(line).second) lines += line + "\n";
  }
  if (lines.empty()) return;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  // All users of the pods read it, whatever the umask is. Without the file names do not resolve,
  // but addresses still work.
  const bool written =
      fd >= 0 && ::fchmod(fd, 0644) == 0 && ::write(fd, lines.data(), lines.size()) >= 0;
  if (!written) {
    ::unlink(path.c_str());
    hosts_.clear();
  }
  if (fd >= 0) ::close(fd);
}

}  // namespace muster::local
