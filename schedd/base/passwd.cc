#include "schedd/base/passwd.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace muster {
namespace {

// The largest entry that is taken; a group of thousands of members is some 100 KiB.
constexpr std::size_t kEntryBytes = 1 << 20;

Error NotAnswered(int error) {
  return Unavailable(std::string("the name service of this host does not answer: ") +
                     std::strerror(error));
}

template <class Call>
Result<std::optional<PasswdEntry>> PasswdBy(Call call) {
  std::optional<PasswdEntry> out;
  const int error = WithEntryBuffer([&](char* buffer, std::size_t size) {
    passwd entry{};
    passwd* found = nullptr;
    const int failed = call(&entry, buffer, size, &found);
    if (failed == 0 && found != nullptr)
      out = PasswdEntry{entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir, entry.pw_shell};
    return failed;
  });
  if (error != 0) return NotAnswered(error);
  return out;
}

}  // namespace

int WithEntryBuffer(const std::function<int(char* buffer, std::size_t size)>& ask) {
  std::vector<char> buffer(1024);
  int error = ask(buffer.data(), buffer.size());
  while ((error == ERANGE && buffer.size() < kEntryBytes) || error == EINTR) {
    if (error == ERANGE) buffer.resize(buffer.size() * 4);
    error = ask(buffer.data(), buffer.size());
  }
  // These say, on some systems, that there is no such entry (getpwnam(3)).
  const bool absent = error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
  return absent ? 0 : error;
}

Result<std::optional<PasswdEntry>> PasswdByUid(std::uint32_t uid) {
  return PasswdBy([uid](passwd* entry, char* buffer, std::size_t size, passwd** found) {
    return ::getpwuid_r(uid, entry, buffer, size, found);
  });
}

Result<std::optional<PasswdEntry>> PasswdByName(const std::string& name) {
  return PasswdBy([&name](passwd* entry, char* buffer, std::size_t size, passwd** found) {
    return ::getpwnam_r(name.c_str(), entry, buffer, size, found);
  });
}

Result<std::optional<std::string>> GroupNameOf(std::uint32_t gid) {
  std::optional<std::string> name;
  const int error = WithEntryBuffer([&](char* buffer, std::size_t size) {
    group entry{};
    group* found = nullptr;
    const int failed = ::getgrgid_r(gid, &entry, buffer, size, &found);
    if (failed == 0 && found != nullptr) name = entry.gr_name;
    return failed;
  });
  if (error != 0) return NotAnswered(error);
  return name;
}

}  // namespace muster
