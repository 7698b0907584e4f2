// epoll, level-triggered. A handler may forget any descriptor, its own included.
#include "clients/steps/agent/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace muster::steps {
namespace {

std::int64_t ClockUs(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

std::int64_t MonotonicMs() { return ClockUs(CLOCK_MONOTONIC) / 1000; }
std::int64_t WallUs() { return ClockUs(CLOCK_REALTIME); }

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

void EventLoop::Watch(int fd, Handler handler, bool write) {
  epoll_event event{};
  event.events = EPOLLIN | (write ? EPOLLOUT : 0u);
  event.data.fd = fd;
  const bool before = watched_.contains(fd);
  ::epoll_ctl(epoll_.get(), before ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  watched_[fd] = {std::make_shared<Handler>(std::move(handler)), write};
}

void EventLoop::WantWrite(int fd, bool write) {
  const auto at = watched_.find(fd);
  if (at == watched_.end() || at->second.write == write) return;
  at->second.write = write;
  epoll_event event{};
  event.events = EPOLLIN | (write ? EPOLLOUT : 0u);
  event.data.fd = fd;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::WantWrite(const Channel& channel) {
  const int fd = channel.fd();
  WantWrite(fd, channel.wants_write());
  const auto at = watched_.find(fd);
  if (at == watched_.end() || !channel.stalled() || std::exchange(at->second.retries, true)) return;
  // If the number is another channel's by then, that one is looked at once in vain.
  After(kStalledMs, [this, fd] {
    const auto now = watched_.find(fd);
    if (now == watched_.end()) return;
    now->second.retries = false;
    const std::shared_ptr<Handler> handler = now->second.handler;
    (*handler)();
  });
}

void EventLoop::Forget(int fd) {
  if (watched_.erase(fd) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

std::int64_t EventLoop::After(std::int64_t ms, Handler handler) {
  timers_[{MonotonicMs() + ms, ++last_timer_}] = std::move(handler);
  return last_timer_;
}

void EventLoop::CancelTimer(std::int64_t timer) {
  std::erase_if(timers_, [&](const auto& one) { return one.first.second == timer; });
}

// Runs what is due; returns the milliseconds until the next one, or -1.
int EventLoop::RunTimers() {
  while (!timers_.empty()) {
    const std::int64_t left = timers_.begin()->first.first - MonotonicMs();
    if (left > 0) return static_cast<int>(std::min<std::int64_t>(left, 3'600'000));
    Handler handler = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    handler();
    if (stopped_) return 0;
  }
  return -1;
}

void EventLoop::Run() {
  epoll_event events[64];
  while (!stopped_) {
    const int wait = RunTimers();
    if (stopped_) break;
    const int got = ::epoll_wait(epoll_.get(), events, 64, wait);
    for (int i = 0; i < got && !stopped_; ++i) {
      const auto at = watched_.find(events[i].data.fd);
      if (at == watched_.end()) continue;
      // Kept alive: the handler may forget itself.
      const std::shared_ptr<Handler> handler = at->second.handler;
      (*handler)();
    }
  }
}

}  // namespace muster::steps
