// ReleaseWatch: what a member's own watch tells of the Jobs that a benchmark made there, with the
// moment at which each word arrived.
#pragma once

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
  ReleaseWatch(const MemberTarget& target, const std::string& ns, std::string prefix);
  ~ReleaseWatch();
  ReleaseWatch(const ReleaseWatch&) = delete;
  ReleaseWatch& operator=(const ReleaseWatch&) = delete;

  std::size_t released() const;
  std::size_t ended() const;
  /// Microseconds since 1970 of the last release.
  std::int64_t last_release() const;
  std::unordered_map<std::string, Moments> jobs() const;

 private:
  void Hear(std::string_view line);

  const std::string prefix_;  // with what stands before it in an object: "name":"
  MemberWire wire_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Moments> jobs_;
  std::size_t released_ = 0, ended_ = 0;
  std::int64_t last_release_ = 0;
  std::jthread thread_;
};

}  // namespace muster::bench
