// Which sanitizer the tests are built with, for the few bounds that do not hold with one.
#pragma once

namespace muster::test {

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// Either one keeps memory that was freed, and needs several times as much for what is in use.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = kThreadSanitizer;
#endif

}  // namespace muster::test
