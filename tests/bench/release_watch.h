// ReleaseWatch: what a member's own watch tells of the Jobs that a benchmark made there, with the
// moment at which each word arrived. A watch ends when its time is up and when its member thinks it
// too slow: it is taken up again where it ended, or, where that is too long ago, after a list.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "tests/bench/member_wire.h"

namespace muster::bench {

class ReleaseWatch {
 public:
  /// Microseconds since 1970 at which the first word of each kind came; 0: not yet.
  struct Moments {
    std::int64_t created = 0, released = 0, ended = 0;
  };

  /// Follows Jobs of the namespace whose names begin with `prefix`, until it is destroyed.
  ReleaseWatch(const MemberTarget& target, const std::string& ns, std::string prefix,
               int watch_s = 60);
  ~ReleaseWatch();
  ReleaseWatch(const ReleaseWatch&) = delete;
  ReleaseWatch& operator=(const ReleaseWatch&) = delete;

  std::size_t released() const;
  std::size_t ended() const;
  /// Microseconds since 1970 of the last release.
  std::int64_t last_release() const;
  std::unordered_map<std::string, Moments> jobs() const;
  /// How often a list had to say what the watch did not: its moments are late.
  std::size_t lists() const { return lists_; }

 private:
  void Run();
  bool List(bool hear);
  void Hear(std::string_view line);
  void HearObject(std::string_view object);

  const std::string path_;
  const std::string prefix_;  // with what stands before it in an object: "name":"
  const int watch_s_;
  std::string version_;  // told of up to here; the thread's own once it runs
  bool too_old_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> lists_ = 0;
  MemberWire wire_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Moments> jobs_;
  std::size_t released_ = 0, ended_ = 0;
  std::int64_t last_release_ = 0;
  std::jthread thread_;
};

}  // namespace muster::bench
