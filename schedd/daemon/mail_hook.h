// MailHook: tells a program of what batch scripts want mails about (flag mail-program; rule B38).
// The program is called as mail(1) is: `-s SUBJECT USER`, with an empty standard input. The engine
// only hands over what has happened; a thread of its own calls the program, one call at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schedd/base/bounded_queue.h"
#include "schedd/base/clock.h"
#include "schedd/daemon/mail_text.h"
#include "schedd/store/store.h"
#include "schedd/world/world_view.h"

namespace muster {

class MailHook {
 public:
  /// `view` reads the engine's world; `clock` must outlive this.
  MailHook(std::string program, const Clock& clock, std::function<WorldViewPtr()> view);
  ~MailHook();
  /// Takes what was published; on the engine thread. Events beyond a bound are dropped, and logged.
  void Publish(const std::vector<Event>& events);
  /// Ends the thread; a call that is under way is ended with it.
  void Stop();

 private:
  struct Happened {
    std::string event;
    JobPtr job;
  };
  struct Part {
    JobId job;
    std::int32_t attempt = 0;
    MailEvent part = MailEvent::kTimeLimit50;
    auto operator<=>(const Part&) const = default;
  };

  void Run(std::stop_token stop);
  void Tell(const Happened& one, std::stop_token stop);
  void TellArray(const Happened& one, std::stop_token stop);
  bool BeganBefore(JobId array) const;
  void Schedule(const JobRecord& job);
  void TellParts(std::stop_token stop);
  void Call(const Mail& mail, std::stop_token stop);

  const std::string program_;
  const Clock& clock_;
  const std::function<WorldViewPtr()> view_;
  BoundedQueue<Happened> happened_;
  // Parts of time limits that are to be told, by their time.
  std::set<std::pair<WallTime, Part>> parts_;
  // Arrays of which the first task has begun since this was made at `made_`.
  std::set<JobId> begun_;
  const WallTime made_;
  std::jthread thread_;
};

}  // namespace muster
