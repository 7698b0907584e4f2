// CHECK: a broken invariant or a programmer's error. Prints where and what, then aborts; a restart
// is fast and safe, a wrong decision is neither. Always on, in every build type.
#pragma once

namespace muster {

/// Prints `file:line: CHECK failed: text` to stderr and aborts. Thread-safe.
[[noreturn]] void CheckFailed(const char* file, int line, const char* text);

}  // namespace muster

#define MUSTER_CHECK(condition)                              \
  do {                                                       \
    if (!(condition)) [[unlikely]]                           \
      ::muster::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)
