// ReleaseWatch: the moments at which a member's watch reports that Jobs of a benchmark are created,
// released and ended. The watch ends when its time is over or when the member finds it too slow. It
// then continues at the last version; if that version is too old, after a list.
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

/// One thread and one connection.
class ReleaseWatch {
 public:
  /// Microseconds since 1970 at which the first report of each kind arrived; 0 if none has.
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
  /// How often a list reported what the watch had missed: the moments of those Jobs are late.
  std::size_t lists() const { return lists_; }

 private:
  void Run();
  bool List(bool hear);
  void Hear(std::string_view line);
  void HearObject(std::string_view object);

  const std::string path_;
  const std::string prefix_;  // with the text that precedes it in an object: "name":"
  const int watch_s_;
  std::string version_;  // the last version seen; only the thread uses it once it runs
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
