#include "tests/support/fake_clock.h"

namespace muster::test {

TimerId ManualTimers::At(Monotonic when, std::function<void()> fire) {
  std::lock_guard lock(mutex_);
  timers_.emplace(std::make_pair(when, ++last_), std::move(fire));
  return last_;
}

void ManualTimers::Cancel(TimerId id) {
  std::lock_guard lock(mutex_);
  std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
}

std::size_t ManualTimers::FireDue() {
  std::size_t fired = 0;
  while (true) {
    std::function<void()> fire;
    {
      std::lock_guard lock(mutex_);
      if (timers_.empty() || timers_.begin()->first.first > clock_.Now()) return fired;
      fire = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    }
    fire();
    ++fired;
  }
}

std::size_t ManualTimers::waiting() const {
  std::lock_guard lock(mutex_);
  return timers_.size();
}

bool ManualTimers::Next(Monotonic* when) const {
  std::lock_guard lock(mutex_);
  if (timers_.empty()) return false;
  *when = timers_.begin()->first.first;
  return true;
}

std::uint64_t SeededRandom::Next() {
  std::uint64_t mixed = state_.fetch_add(0x9e3779b97f4a7c15ULL) + 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

}  // namespace muster::test
