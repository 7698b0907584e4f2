// Dispatcher::Impl: the lead. Every call begins only while the lead under which it was ordered
// holds (schedd/base/lead_term.h). If the database has not confirmed the lead lately, the call
// waits here and is checked again every kLeadAskedAgainMs. If the lead is lost, the call is
// dropped, here or on its way to the member. When the store fails the engine says Forget, and every
// call that has not begun is dropped; the recovery orders again what is still wanted.
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/dispatch/impl.h"
#include "schedd/telemetry/log.h"

namespace muster::dispatch {
namespace {

// Two checks within this time belong to one wait.
constexpr std::int64_t kSameWaitNs = 1 * kNanosPerSecond;
// A wait of this length is logged, once.
constexpr std::int64_t kToldAfterNs = 5 * kNanosPerSecond;

using LaneTask = decltype(Lane::waiting)::value_type;

const Permit& PermitOf(const LaneTask& task) {
  return std::visit([](const auto& one) -> const Permit& { return one.permit; }, task);
}

}  // namespace

Permit Dispatcher::Impl::PermitNow() const {
  return options.lead == nullptr ? Permit() : options.lead->Current();
}

// True if the lane's next call may begin; calls whose lead is lost are dropped. If not, the lane is
// looked at again when the lead is confirmed. An Ensure only enters the queue of its member now;
// MayStart checks its lead when its turn comes.
bool Dispatcher::Impl::MayBegin(const DispatchKey& key, Lane* lane) {
  while (!lane->waiting.empty() && PermitOf(lane->waiting.front()).IsVoid()) {
    if (std::holds_alternative<AcknowledgeTask>(lane->waiting.front())) lane->acknowledges = false;
    lane->waiting.pop_front();
  }
  if (lane->waiting.empty()) return false;
  const LaneTask& next = lane->waiting.front();
  if (std::holds_alternative<EnsureTask>(next) || PermitOf(next).Holds()) return true;
  held.insert(key);
  AskAgain();
  return false;
}

// True if the Ensure may be rendered and sent now.
bool Dispatcher::Impl::MayStart(const EnsureTask& task) {
  if (task.permit.Holds()) return true;
  AskAgain();
  return false;
}

// Schedules the next check, and logs a wait that has become long.
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

// Ensures that wait for the lead need nothing here: StartEnsures looks at them after every task.
void Dispatcher::Impl::AskedAgain() {
  asking = false;
  for (const DispatchKey& key : std::exchange(held, {})) Advance(key);
}

// Drops Ensures at the front of a queue whose lead is lost; their lanes go on.
void Dispatcher::Impl::DropVoid(std::deque<EnsureTask>* queue) {
  while (!queue->empty() && queue->front().permit.IsVoid()) {
    const DispatchKey key = queue->front().key;
    queue->pop_front();
    lanes[key].busy = false;
    Advance(key);
  }
}

// Drops all calls that have not begun. Calls that are under way end by themselves; their lanes stay
// until then.
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
