// Attempt: what its pods' directories say: adopting them after a restart, watching them, reading
// them, and what a silent supervisor means.
//
// What cannot be read or written now (no descriptors are left, the disk is full) is no news: the
// pod stays as it was known, and is looked at again after kRetryUs. What somebody has removed or
// spoilt ends the pod.
#include <algorithm>
#include <utility>

#include "backends/local/attempt.h"
#include "backends/local/process/files.h"

namespace muster::local {
namespace {

constexpr std::int64_t kRetryUs = 5 * kMicrosPerSecond;
// After that time a process whose files the kernel has closed holds no lock any more.
constexpr std::int64_t kLockFreedUs = kMicrosPerSecond;
// How often a supervisor is started that ends before it writes a status.
constexpr int kSpawns = 3;

}  // namespace

// Reads all pods in the order in which they were started, and watches those that live.
Status Attempt::AdoptPods() {
  for (const std::string& name : ListDirectory(dir_ + "/pods")) {
    // A directory that was being written when the daemon died; no container ran in it.
    if (name[0] == '.') continue;
    auto pod = std::make_unique<Pod>();
    pod->dir = dir_ + "/pods/" + name;
    Result<PodOnDisk> disk = ReadPodDirectory(pod->dir, &pod->sequence);
    if (!disk.ok()) {
      // Nothing is known of a pod that cannot be read now: it may run.
      if (disk.error().code == Code::kUnavailable) return disk.error();
      LosePod(pod->dir, disk.error().detail);
      continue;
    }
    pod->disk = std::move(*disk);
    pods_.push_back(std::move(pod));
  }
  std::sort(pods_.begin(), pods_.end(),
            [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
  for (const auto& pod : pods_) {
    if (!pod->disk.record.live()) continue;
    GivenToPod given = ReadGiven(pod->dir);
    world_.shares.Have(state_.key.cluster, given.cpus, given.devices);
    pod->cpus = std::move(given.cpus);
    pod->devices = std::move(given.devices);
    LookAt(pod.get());
    // The daemon may have died between the request and the signal.
    if (!pod->disk.record.live() || !pod->disk.record.stopping) continue;
    const Result<std::string> asked = ReadWholeFile(pod->dir + "/stop");
    StopPod(pod.get(), ReadStopRequest(asked.ok() ? *asked : ""));
  }
  return Done{};
}

// A pod that somebody has taken the record of: what runs of it is ended, and the attempt has
// failed, because nobody can say any more what of it ran.
void Attempt::LosePod(const std::string& dir, const std::string& why) {
  KillRemains(dir, {});
  if (leaving() || state_.outcome.phase != RemotePhase::kPending) return;
  state_.outcome = {RemotePhase::kFailed, Reason::kLost, why, {}};
  Save();
}

// Has the pod looked at whenever its directory changes. Without that it is looked at again and
// again.
void Attempt::WatchPod(Pod* pod) {
  const std::weak_ptr<Attempt> self = weak_from_this();
  const Result<int> watch = world_.loop->Watch(pod->dir, [self, pod] {
    if (const std::shared_ptr<Attempt> attempt = self.lock()) {
      attempt->LookAt(pod);
      // The kernel tells of the close of a supervisor that was killed before it frees its lock.
      if (pod->disk.record.live())
        attempt->WakeAt(attempt->world_.options.clock->WallNow().Plus(kLockFreedUs));
      attempt->Advance();
    }
  });
  if (watch.ok()) {
    pod->watch = *watch;
  } else {
    TryAgain(watch.error().detail);
  }
}

void Attempt::TryAgain(const std::string& why) {
  trouble_ = why;
  WakeAt(world_.options.clock->WallNow().Plus(kRetryUs));
}

// Watches a pod that lives and reads its files. If it lives by its record and its supervisor does
// not, OnSilence decides. What cannot be read now says nothing.
void Attempt::LookAt(Pod* pod) {
  if (!pod->disk.record.live()) return;
  if (pod->watch < 0) WatchPod(pod);
  // Asked before the status is read, because a supervisor writes its last status before it ends.
  const std::optional<bool> lives = SupervisorLives(pod->dir);
  if (!lives)
    return TryAgain("it cannot be told whether pod " + pod->disk.record.identity.id +
                    " runs: no descriptors are left, or the disk fails");
  if (Status read = Reread(pod); !read.ok()) return TryAgain(read.error().detail);
  if (pod->disk.record.live() && !*lives) OnSilence(pod);
  if (pod->disk.record.live()) return;
  Unshare(pod);
  world_.loop->Unwatch(pod->watch);
  pod->watch = -1;
}

// The pod has no living supervisor and no end on disk.
void Attempt::OnSilence(Pod* pod) {
  // Without a status no container ever ran: starting it (again) cannot run anything twice.
  if (!pod->disk.has_status && !pod->disk.record.stopping && pod->spawns < kSpawns) {
    // A try that has failed closes the file `alive`, which has the pod looked at again at once.
    if (world_.options.clock->WallNow() < pod->spawn_after) return WakeAt(pod->spawn_after);
    ++pod->spawns;
    const Status spawned = SpawnSupervisor(world_.options.supervisor_path, pod->dir);
    if (spawned.ok() || spawned.error().code == Code::kAlreadyExists) return;
    TryAgain(spawned.error().detail);
    pod->spawn_after = world_.options.clock->WallNow().Plus(kRetryUs);
    if (pod->spawns < kSpawns) return;
  }
  KillRemains(pod->dir, pod->disk.supervisor);
  const bool never_ran = !pod->disk.has_status;
  const std::string why = pod->disk.record.stopping ? "stopped before it ran"
                          : never_ran ? "the pod's supervisor could not be started: " + trouble_
                                      : "the pod's supervisor was killed";
  // As the supervisor would have stamped it.
  const WallTime today = world_.options.clock->CalendarNow();
  const char* const reason = never_ran ? "FailedToStart" : "Lost";
  // Somebody has removed it; no record of the end is possible or needed there.
  if (!IsDirectory(pod->dir)) {
    pod->disk.record.phase = PodPhase::kFailed;
    pod->disk.record.lost = true;
    pod->disk.record.reason = "Lost";
    pod->disk.record.message = "the pod's directory " + pod->dir + " was removed";
    pod->disk.record.ended = world_.options.clock->WallNow();
    return;
  }
  Status told = WriteLostStatus(pod->dir, pod->disk, today, reason, why);
  if (told.ok()) told = Reread(pod);
  if (!told.ok()) TryAgain(told.error().detail);
}

// Supervisors stamp by the host's clock, which may step; back-offs and records go by the backend's.
// A stamp that was read once stays as it is.
Status Attempt::Reread(Pod* pod) const {
  PodOnDisk disk = pod->disk;
  if (Status read = ReadPodStatus(pod->dir, &disk); !read.ok()) return read;
  const std::int64_t ahead_us = CalendarAheadUs(*world_.options.clock);
  const auto take = [ahead_us](WallTime known, WallTime* read) {
    if (read->set()) *read = known.set() ? known : read->Plus(-ahead_us);
  };
  take(pod->disk.record.started, &disk.record.started);
  take(pod->disk.record.ended, &disk.record.ended);
  pod->disk = std::move(disk);
  return Done{};
}

}  // namespace muster::local
