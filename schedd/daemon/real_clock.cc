// The clocks of the C++ library, timers on one thread, and a Mersenne twister seeded by the kernel.
//
// Timers stand in a map ordered by (time, id); `due` finds the time of an id, for Cancel. The
// thread waits for the first of them or for a change, and fires without holding the lock, so that a
// timer may set another one.
#include "schedd/daemon/real_clock.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <unordered_map>

#include "schedd/base/mutex.h"

namespace muster {
namespace {

// A timer that is further away is looked at once a day, because the library's sums of times
// overflow.
constexpr std::int64_t kLongestWaitNs = 86'400 * kNanosPerSecond;

}  // namespace

Monotonic RealClock::Now() const {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::steady_clock::now().time_since_epoch())
              .count()};
}

WallTime RealClock::WallNow() const {
  return {std::chrono::duration_cast<std::chrono::microseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()};
}

struct RealTimers::Impl {
  explicit Impl(const Clock& real_clock) : clock(real_clock) {
    thread = std::jthread([this](std::stop_token stop) { Loop(stop); });
  }

  void Loop(std::stop_token stop) {
    MutexLock lock(mutex);
    while (!stop.stop_requested()) {
      if (queue.empty()) {
        changed.Wait(mutex, stop, [this]() MUSTER_REQUIRES(mutex) { return !queue.empty(); });
        continue;
      }
      const auto first = queue.begin();
      const std::int64_t wait_ns = first->first.first - clock.Now();
      if (wait_ns > 0) {
        const auto key = first->first;
        // The wait ends early if an earlier timer comes.
        changed.WaitFor(mutex, stop, std::chrono::nanoseconds(std::min(wait_ns, kLongestWaitNs)),
                        [this, key]() MUSTER_REQUIRES(mutex) {
          return queue.empty() || queue.begin()->first < key;
        });
        continue;
      }
      auto fire = std::move(first->second);
      due.erase(first->first.second);
      queue.erase(first);
      lock.Unlock();
      fire();
      lock.Lock();
    }
  }

  const Clock& clock;
  Mutex mutex;
  StoppableCondVar changed;
  std::map<std::pair<Monotonic, TimerId>, std::function<void()>> queue MUSTER_GUARDED_BY(mutex);
  std::unordered_map<TimerId, Monotonic> due MUSTER_GUARDED_BY(mutex);
  TimerId next_id MUSTER_GUARDED_BY(mutex) = 1;
  // Last: it starts when everything above exists.
  std::jthread thread;
};

RealTimers::RealTimers(const Clock& clock) : impl_(std::make_unique<Impl>(clock)) {}
RealTimers::~RealTimers() = default;

// Equal times fire in the order in which they were set, because ids grow.
TimerId RealTimers::At(Monotonic when, std::function<void()> fire) {
  TimerId id = 0;
  {
    MutexLock lock(impl_->mutex);
    id = impl_->next_id++;
    impl_->queue.emplace(std::pair(when, id), std::move(fire));
    impl_->due.emplace(id, when);
  }
  impl_->changed.NotifyOne();
  return id;
}

void RealTimers::Cancel(TimerId id) {
  MutexLock lock(impl_->mutex);
  const auto found = impl_->due.find(id);
  if (found == impl_->due.end()) return;
  impl_->queue.erase({found->second, id});
  impl_->due.erase(found);
}

// 256 bits of the kernel's random source.
RealRandom::RealRandom() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device(),
                     device(), device(), device(), device()};
  generator_.seed(seed);
}

std::uint64_t RealRandom::Next() {
  MutexLock lock(mutex_);
  return generator_();
}

}  // namespace muster
