// The lead: every call is begun only while the lead it was ordered under holds. What has lost it
// for good is dropped; what waits for the database's word waits here and is looked at again.
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/dispatch/impl.h"
#include "schedd/telemetry/log.h"

namespace muster::dispatch {
namespace {

constexpr std::int64_t kSameWaitNs = 1 * kNanosPerSecond;  // asked again within it: one wait
constexpr std::int64_t kToldAfterNs = 5 * kNanosPerSecond;

using Waiting = decltype(Lane::waiting)::value_type;

const Permit& PermitOf(const Waiting& task) {
  return std::visit([](const auto& one) -> const Permit& { return one.permit; }, task);
}

}  // namespace

Permit Dispatcher::Impl::PermitNow() const {
  return options.lead == nullptr ? Permit() : options.lead->Current();
}

// Whether the lane's next call may begin; if not, the lane is looked at again when it may. An
// Ensure is asked once more when its turn comes among those of its member.
bool Dispatcher::Impl::MayBegin(const DispatchKey& key, Lane* lane) {
  while (!lane->waiting.empty() && PermitOf(lane->waiting.front()).IsVoid()) {
    if (std::holds_alternative<AcknowledgeTask>(lane->waiting.front())) lane->acknowledges = false;
    lane->waiting.pop_front();
  }
  if (lane->waiting.empty()) return false;
  const Waiting& next = lane->waiting.front();
  if (std::holds_alternative<EnsureTask>(next) || PermitOf(next).Holds()) return true;
  held.insert(key);
  AskAgain();
  return false;
}

bool Dispatcher::Impl::MayStart(const EnsureTask& task) {
  if (task.permit.Holds()) return true;
  AskAgain();
  return false;
}

void Dispatcher::Impl::AskAgain() {
  if (std::exchange(asking, true)) return;
  At(limits::kLeadAskedAgainMs, AskAgainTask{});
  const Monotonic now = clock.Now();
  if (now - asked_last > kSameWaitNs) {
    waits_since = now;
    wait_told = false;
  }
  asked_last = now;
  if (wait_told || now - waits_since < kToldAfterNs) return;
  wait_told = true;
  Log(LogLevel::kWarning, "dispatch", "orders_wait_for_the_lead",
      {{"err", "the database has not confirmed lately that this daemon leads"}});
}

// What waits to be rendered is looked at after every task.
void Dispatcher::Impl::AskedAgain() {
  asking = false;
  for (const DispatchKey& key : std::exchange(held, {})) Advance(key);
}

void Dispatcher::Impl::DropVoid(std::deque<EnsureTask>* queue) {
  while (!queue->empty() && queue->front().permit.IsVoid()) {
    const DispatchKey key = queue->front().key;
    queue->pop_front();
    lanes[key].busy = false;
    Advance(key);
  }
}

// Calls that are under way end by themselves; their lanes stay until then.
void Dispatcher::Impl::Forget() {
  for (auto& [cluster, out] : outgoing) {
    for (auto* queue : {&out.to_release, &out.to_create}) {
      for (const EnsureTask& task : *queue) lanes[task.key].busy = false;
      queue->clear();
    }
  }
  for (auto& [key, lane] : lanes) {
    lane.waiting.clear();
    lane.acknowledges = false;
  }
  std::erase_if(lanes, [](const auto& one) { return !one.second.busy && !one.second.delayed; });
  held.clear();
  ready_releases.clear();
  ready_order.clear();
}

}  // namespace muster::dispatch
