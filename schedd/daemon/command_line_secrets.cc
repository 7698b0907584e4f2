// The kernel shows the memory that argv points into. The whole URL goes, not only the password: its
// length would tell something, and libpq writes passwords in several ways.
#include "schedd/daemon/command_line_secrets.h"

#include <cstring>
#include <string_view>

namespace muster {
namespace {

constexpr char kHidden[] = "hidden";

// The value that argument `at` or the one after it gives a database URL; null if it gives none.
char* UrlAt(int argc, char** argv, int at) {
  for (const std::string_view flag : {"--postgres", "--postgres-owner"}) {
    const std::string_view word = argv[at];
    if (word == flag && at + 1 < argc) return argv[at + 1];
    if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=')
      return argv[at] + flag.size() + 1;
  }
  return nullptr;
}

}  // namespace

bool HideDatabasePasswords(int argc, char** argv, bool (*may_have_password)(const char* url)) {
  bool found = false;
  for (int i = 1; i < argc; ++i) {
    char* const url = UrlAt(argc, argv, i);
    if (url == nullptr || !may_have_password(url)) continue;
    found = true;
    const std::size_t size = std::strlen(url);
    std::memset(url, 0, size);
    std::memcpy(url, kHidden, size < sizeof kHidden ? size : sizeof kHidden - 1);
  }
  return found;
}

}  // namespace muster
