// Dialer: makes the writer's session to a database that may swallow what is sent to it.
//
// A try to connect that gets no answer lasts until libpq's connect_timeout, which is two seconds
// for each host at least. If the server comes back meanwhile, that try does not see it: its packets
// are lost. So a try that is not answered soon goes on in its own thread, and the next call begins
// another one beside it. Whichever connects first is the session ("happy eyeballs", RFC 8305, with
// tries at one address in place of tries at several).
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "schedd/base/limits_dialer.h"
#include "schedd/base/mutex.h"
#include "schedd/base/result.h"

namespace muster::pg {

/// `Session` is what a try gives, a movable owner. One thread calls Dial; the tries run in threads
/// of the Dialer.
template <class Session>
class Dialer {
 public:
  /// `open` makes a session or says why not. It is called from several threads at once, and may
  /// take long.
  explicit Dialer(std::function<Result<Session>()> open) : open_(std::move(open)) {}
  /// Waits for the tries that are under way.
  ~Dialer() {
    {
      const MutexLock lock(mutex_);
      wanted_ = false;
    }
    for (Try& one : tries_) one.thread.join();
  }
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  /// The session of the first try that succeeds, be it this call's or one that an earlier call has
  /// left under way; else the error of this call's try. kUnavailable if none is answered within
  /// `wait`: the tries go on, and the caller calls again. With limits::kDials under way it begins
  /// none. Sessions of slower tries are closed as soon as one has succeeded.
  Result<Session> Dial(std::chrono::milliseconds wait) {
    JoinEnded();
    MutexLock lock(mutex_);
    wanted_ = true;
    Try* own = nullptr;
    if (!made_ && tries_.size() < limits::kDials) {
      own = &tries_.emplace_back();
      own->thread = std::thread([this, own] { Run(*own); });
    }
    answered_.WaitFor(mutex_, wait, [this, own]() MUSTER_REQUIRES(mutex_) {
      return made_.has_value() || (own != nullptr && own->ended);
    });
    if (made_) {
      wanted_ = false;
      Result<Session> session(std::move(*made_));
      made_.reset();
      return session;
    }
    if (own != nullptr && own->ended) return own->refusal;
    return Unavailable("the database has not answered yet");
  }

 private:
  // Everything but the thread is guarded by mutex_.
  struct Try {
    std::thread thread;
    bool ended = false;
    Error refusal{Code::kUnavailable, ""};
  };

  // A session that nobody wants, or that comes second, is closed outside the lock.
  void Run(Try& self) {
    Result<Session> outcome = open_();
    const MutexLock lock(mutex_);
    self.ended = true;
    if (!outcome.ok()) {
      self.refusal = outcome.error();
    } else if (wanted_ && !made_) {
      made_ = std::move(outcome).value();
    }
    answered_.NotifyAll();
  }

  void JoinEnded() {
    std::list<Try> ended;
    {
      const MutexLock lock(mutex_);
      for (auto it = tries_.begin(); it != tries_.end();) {
        const auto next = std::next(it);
        if (it->ended) ended.splice(ended.end(), tries_, it);
        it = next;
      }
    }
    for (Try& one : ended) one.thread.join();
  }

  const std::function<Result<Session>()> open_;
  Mutex mutex_;
  CondVar answered_;
  // Grows and shrinks by the thread that dials alone; a list, because tries keep their address.
  std::list<Try> tries_;
  std::optional<Session> made_ MUSTER_GUARDED_BY(mutex_);
  // False while there is a session.
  bool wanted_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::pg
