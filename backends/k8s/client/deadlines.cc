// Deadlines: a map by time, and one timer for its first entry. A timer that fires early, because
// its deadline was dropped, finds nothing due and is set for the next; that is cheaper than
// cancelling it each time.
#include "backends/k8s/client/deadlines.h"

namespace muster::k8s {

Deadlines::Deadlines(const Clock& clock, TimerService& timers, std::shared_ptr<StrandGate> gate)
    : clock_(clock), timers_(timers), gate_(std::move(gate)) {}

Deadlines::Key Deadlines::At(Monotonic when, std::function<void()> fire) {
  const Key key{when, ++last_};
  if (stopped_) return key;
  due_.emplace(key, std::move(fire));
  Arm();
  return key;
}

void Deadlines::Drop(Key* key) {
  due_.erase(*key);
  *key = Key{};
}

void Deadlines::Stop() {
  stopped_ = true;
  due_.clear();
  if (armed_) timers_.Cancel(timer_);
  armed_ = false;
}

// Sets the timer for the first deadline, unless it is set for that time or an earlier one.
void Deadlines::Arm() {
  if (due_.empty()) return;
  const Monotonic first = due_.begin()->first.first;
  if (armed_ && armed_at_ <= first) return;
  if (armed_) timers_.Cancel(timer_);
  armed_ = true;
  armed_at_ = first;
  timer_ = timers_.At(first, [weak = weak_from_this(), gate = gate_, first] {
    gate->Post([weak, first] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      // A timer that was cancelled too late must not disarm its successor.
      if (self->armed_at_ == first) self->armed_ = false;
      self->Fire();
    });
  });
}

// Runs everything that is due. A deadline may drop or add others, so the map is read anew each
// time.
void Deadlines::Fire() {
  const auto self = shared_from_this();
  const Monotonic now = clock_.Now();
  while (!due_.empty() && due_.begin()->first.first <= now) {
    auto fire = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    fire();
  }
  Arm();
}

}  // namespace muster::k8s
