// stepped_clock: preloaded into a program (LD_PRELOAD), it moves the wall clock that the program
// reads by the seconds in the file that MUSTER_CLOCK_OFFSET names: eight bytes, which a test
// rewrites at any time. The monotonic clock runs on, as it does when somebody sets a host's time.
//
// Debian's libfaketime does not get along with jemalloc: each waits for the other's initialization.
// Nothing here allocates, and nothing calls the functions that it replaces. What it cannot move is
// a wait of the kernel until a wall time; musterd has none.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

// Where the file is mapped; null without one.
const volatile std::int64_t* MapOffset() {
  const char* const path = std::getenv("MUSTER_CLOCK_OFFSET");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const mapped = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(mapped);
}

std::int64_t OffsetS() {
  static const volatile std::int64_t* const mapped = MapOffset();
  return mapped == nullptr ? 0 : *mapped;
}

timespec Now() {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  now.tv_sec += OffsetS();
  return now;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const int failed = static_cast<int>(syscall(SYS_clock_gettime, clock, out));
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    out->tv_sec += OffsetS();
  return failed;
}

int gettimeofday(timeval* out, void*) noexcept {
  const timespec now = Now();
  *out = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  const time_t now = Now().tv_sec;
  if (out != nullptr) *out = now;
  return now;
}

}
