// What the parts of a simulated world tell each other about faults: Killed ends the daemon whose
// code is running; Violation ends the world.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace muster::sim {

/// Thrown out of the daemon's code at an effect; the world then destroys that daemon.
struct Killed {
  std::string where;
};

/// An invariant is broken. The world stops.
struct Violation {
  std::string what;  // "I4: ..."
};

/// Lines of what happened, hashed as they come (I12) and kept only if somebody wants to read them.
class Trace {
 public:
  void Add(std::int64_t at_ns, const std::string& line) {
    for (const char c : line) Mix(static_cast<unsigned char>(c));
    Mix(static_cast<std::uint64_t>(at_ns));
    ++lines_;
    if (sink) sink(at_ns, line);
  }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t lines() const { return lines_; }

  std::function<void(std::int64_t at_ns, const std::string& line)> sink;

 private:
  void Mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001b3ULL; }
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  std::uint64_t lines_ = 0;
};

}  // namespace muster::sim
