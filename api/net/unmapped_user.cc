// A map has a line for each range: the first uid inside, the first outside, how many. The host's
// own namespace has the one line "0 0 4294967295", which leaves out -1 alone, and -1 is no user.
#include "api/net/unmapped_user.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace muster::net {
namespace {

constexpr std::uint64_t kAllUsers = 0xFFFFFFFF;
// The kernel's default (fs/overflowuid).
constexpr std::uint32_t kUsualOverflow = 65534;

std::string TextOfFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

// Ranges of users outside do not overlap, so their sum says whether all are there.
std::optional<std::uint32_t> UnmappedUserOf(std::string_view uid_map,
                                            std::string_view overflow_uid) {
  std::istringstream ranges{std::string(uid_map)};
  std::uint64_t inside = 0, outside = 0, count = 0, mapped = 0;
  while (ranges >> inside >> outside >> count) mapped += count;
  if (mapped >= kAllUsers) return std::nullopt;
  std::istringstream text{std::string(overflow_uid)};
  std::uint32_t overflow = 0;
  return text >> overflow ? overflow : kUsualOverflow;
}

std::optional<std::uint32_t> UnmappedUser() {
  static const std::optional<std::uint32_t> unmapped =
      UnmappedUserOf(TextOfFile("/proc/self/uid_map"), TextOfFile("/proc/sys/kernel/overflowuid"));
  return unmapped;
}

}  // namespace muster::net
