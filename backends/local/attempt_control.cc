// Attempt: control over what runs: stopping, signals, suspension, lines for the script's output,
// and which cpus and devices each pod has.
#include <signal.h>

#include <algorithm>
#include <utility>

#include "backends/local/attempt.h"
#include "backends/local/pods/batch_world.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/model/resources.h"

namespace muster::local {
namespace {

// How long beyond the grace period a supervisor may take to stop its pod.
constexpr std::int64_t kSupervisorSlackNs = 15 * kNanosPerSecond;
constexpr std::int64_t kDefaultGraceMs = 30'000;

constexpr char kGpu[] = "nvidia.com/gpu";

const char* TargetName(SignalOrder::Target target) {
  switch (target) {
    case SignalOrder::Target::kSteps:
      return "steps";
    case SignalOrder::Target::kBatch:
      return "batch";
    case SignalOrder::Target::kFull:
      return "full";
    case SignalOrder::Target::kStep:
      return "step";
  }
  return "";
}

}  // namespace

StopRequest::Cause CauseOf(StopCause cause) {
  switch (cause) {
    case StopCause::kCancelled:
      return StopRequest::Cause::kCancelled;
    case StopCause::kTimeLimit:
      return StopRequest::Cause::kTimeLimit;
    case StopCause::kPreempted:
      return StopRequest::Cause::kPreempted;
    case StopCause::kRequeued:
      return StopRequest::Cause::kRequeued;
    case StopCause::kNodeFailure:
      return StopRequest::Cause::kNodeFailure;
  }
  return StopRequest::Cause::kNone;
}

// Asks the supervisor to stop the pod. Without a grace period in the request: the pod's own, or
// 30 s; the longest of all templates bounds how long the supervisor may take.
void Attempt::StopPod(Pod* pod, const StopRequest& request) {
  const std::int64_t grace_ms = request.grace_ms;
  if (!pod->disk.record.live()) return;
  // One request is enough, unless this one gives a grace period.
  if (pod->disk.record.stopping && pod->kill_at.ns != 0 && grace_ms < 0) return;
  const Status asked = RequestStop(pod->dir, pod->disk.supervisor, request);
  if (!asked.ok()) trouble_ = asked.error().detail;
  pod->disk.record.stopping = true;
  std::int64_t longest_ms = grace_ms;
  if (grace_ms < 0) {
    longest_ms = kDefaultGraceMs;
    for (const json::object* pod_template : controller_->templates(object_)) {
      longest_ms =
          std::max(longest_ms, SecondsToMillis(Integer(ObjectOrEmpty(*pod_template, "spec"),
                                                       "terminationGracePeriodSeconds", 0)));
    }
  }
  pod->kill_at = world_.options.clock->Now() + MillisToNanos(longest_ms) + kSupervisorSlackNs;
  LookAt(pod);
}

void Attempt::StopAll(const StopRequest& request) {
  for (const auto& pod : pods_) StopPod(pod.get(), request);
}

// Kills supervisors (with all their processes) that have not stopped their pods in time, because
// they are stopped or starved themselves.
void Attempt::KillOverdue() {
  const Monotonic now = world_.options.clock->Now();
  for (const auto& pod : pods_) {
    if (!pod->disk.record.live() || pod->kill_at.ns == 0 || pod->kill_at > now) continue;
    KillRemains(pod->dir, pod->disk.supervisor);
    LookAt(pod.get());
  }
}

// The supervisors carry signals out, because they know the processes below them and hold the files
// of the output. attempt.json says first that the job is suspended, and last that it is not any
// more: a daemon that dies in between has the same order again.
Status Attempt::Signal(const SignalOrder& order) {
  if (order.signal <= 0 || order.signal > SIGRTMAX)
    return InvalidArgument("there is no signal " + std::to_string(order.signal));
  const bool everything = order.target == SignalOrder::Target::kFull;
  const WallTime now = world_.options.clock->WallNow();
  const bool resumes = everything && order.signal == SIGCONT && state_.paused_since.set();
  // Its pods may all have ended while it was suspended; the controller goes on from there.
  if (resumes && live_pods() == 0 && !leaving() && state_.outcome.phase == RemotePhase::kPending)
    return Resume(now);
  const bool pauses =
      everything && order.signal == SIGSTOP && live_pods() > 0 && !state_.paused_since.set();
  if (pauses) {
    state_.paused_since = now;
    if (!Save()) {
      state_.paused_since = {};
      return Unavailable(trouble_);
    }
  }
  const auto all = [](const Pod&) { return true; };
  json::object sent{
      {"signal", order.signal}, {"target", TargetName(order.target)}, {"step", order.step}};
  if (Status ordered = OrderPods(all, sent); !ordered.ok()) {
    if (!pauses) return ordered;
    // The job is not suspended then. Pods before the one that refused may have stopped already.
    sent["signal"] = SIGCONT;
    (void)OrderPods(all, sent);
    state_.paused_since = {};
    Save();
    return ordered;
  }
  return resumes ? Resume(now) : Done{};
}

// Notes that the job is not suspended any more.
Status Attempt::Resume(WallTime now) {
  state_.paused_us = PausedUs(now);
  state_.paused_since = {};
  Save();
  return Done{};
}

// The first pod runs the script.
Status Attempt::Notify(const std::string& line) {
  std::string text = line.substr(0, limits::kNotifyBytes);
  std::erase_if(text, [](char c) { return c == '\0' || c == '\r'; });
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const Pod* first = nullptr;
  for (const auto& pod : pods_) {
    if (!pod->disk.record.live()) continue;
    if (first == nullptr || pod->disk.record.identity.index < first->disk.record.identity.index)
      first = pod.get();
  }
  return OrderPods([first](const Pod& pod) { return &pod == first; }, {{"line", text}});
}

// Numbers of orders grow, also over a restart of the daemon.
Status Attempt::OrderPods(const std::function<bool(const Pod&)>& chosen,
                          const json::object& order) {
  if (state_.suspended || leaving() || live_pods() == 0)
    return NotFound("the job does not run on " + state_.key.cluster);
  orders_ = std::max(orders_ + 1, world_.options.clock->WallNow().us);
  for (const auto& pod : pods_) {
    if (!pod->disk.record.live() || !chosen(*pod)) continue;
    if (pod->disk.has_status && !pod->disk.takes_orders) {
      return Error{Code::kUnimplemented,
                   "the job was started by an earlier release, whose jobs take no signals"};
    }
    if (Status posted = PostOrder(pod->dir, pod->disk.supervisor, orders_, order); !posted.ok())
      return posted;
  }
  return Done{};
}

// For how long the attempt has been suspended in all.
std::int64_t Attempt::PausedUs(WallTime now) const {
  if (!state_.paused_since.set()) return state_.paused_us;
  return state_.paused_us + std::max<std::int64_t>(0, now.us - state_.paused_since.us);
}

// Chooses the pod's cpus, if it is a batch script's, and its devices.
void Attempt::Share(const PodWish& wish, Pod* pod) {
  const std::string& member = state_.key.cluster;
  if (IsBatchPod(wish.pod_template))
    pod->cpus = world_.shares.TakeCpus(CpusAsked(wish.pod_template));
  const int devices = DevicesAsked(wish.pod_template, kGpu);
  const auto allocatable = world_.allocatable.find(member);
  if (devices == 0 || allocatable == world_.allocatable.end()) return;
  const std::int64_t total = AmountOf(allocatable->second, kGpu);
  pod->devices = world_.shares.TakeDevices(
      member, devices, static_cast<int>(std::min<std::int64_t>(total, 1 << 16)));
}

void Attempt::Unshare(Pod* pod) {
  world_.shares.GiveBack(state_.key.cluster, std::exchange(pod->cpus, {}),
                         std::exchange(pod->devices, {}));
}

}  // namespace muster::local
