// Attempt: control over what runs: signals, suspension, lines for the script's output, and which
// cpus and devices each pod has.
#include <signal.h>

#include <algorithm>
#include <utility>

#include "backends/local/attempt.h"
#include "backends/local/pods/batch_world.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/model/resources.h"

namespace muster::local {
namespace {

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

// The supervisors carry signals out, because they know the processes below them and hold the files
// of the output. attempt.json says first that the job is suspended, and last that it is not any
// more: a daemon that dies in between has the same order again.
Status Attempt::Signal(const SignalOrder& order) {
  if (order.signal <= 0 || order.signal > SIGRTMAX)
    return InvalidArgument("there is no signal " + std::to_string(order.signal));
  const bool everything = order.target == SignalOrder::Target::kFull;
  const WallTime now = world_.options.clock->WallNow();
  if (everything && order.signal == SIGSTOP && live_pods() > 0 && !state_.paused_since.set()) {
    state_.paused_since = now;
    if (!Save()) {
      state_.paused_since = {};
      return Unavailable(trouble_);
    }
  }
  const json::object sent{
      {"signal", order.signal}, {"target", TargetName(order.target)}, {"step", order.step}};
  if (Status ordered = OrderPods([](const Pod&) { return true; }, sent); !ordered.ok())
    return ordered;
  if (everything && order.signal == SIGCONT && state_.paused_since.set()) {
    state_.paused_us = PausedUs(now);
    state_.paused_since = {};
    Save();
  }
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
