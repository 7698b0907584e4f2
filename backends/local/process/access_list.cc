// An access list is the extended attribute system.posix_acl_access: a version and entries in the
// order owner, users by number, owning group, mask, others (linux/posix_acl_xattr.h, acl(5)).
#include "backends/local/process/access_list.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace muster::local {
namespace {

constexpr char kAccessList[] = "system.posix_acl_access";
constexpr std::uint32_t kNoId = 0xFFFFFFFF;
// More users than one attempt's pods have.
constexpr std::size_t kEntriesMax = 512;
// For a file system without access lists.
constexpr unsigned kPassForAll = 0711;

void AddEntry(std::string* list, std::uint16_t tag, std::uint16_t rights, std::uint32_t id) {
  posix_acl_xattr_entry entry{};
  entry.e_tag = htole16(tag);
  entry.e_perm = htole16(rights);
  entry.e_id = htole32(id);
  list->append(reinterpret_cast<const char*>(&entry), sizeof entry);
}

// The users that the directory's list names.
std::set<std::uint32_t> UsersIn(const std::string& directory) {
  char bytes[sizeof(posix_acl_xattr_header) + kEntriesMax * sizeof(posix_acl_xattr_entry)];
  const ssize_t size = ::getxattr(directory.c_str(), kAccessList, bytes, sizeof bytes);
  std::set<std::uint32_t> users;
  posix_acl_xattr_entry entry{};
  for (std::size_t at = sizeof(posix_acl_xattr_header);
       size > 0 && at + sizeof entry <= static_cast<std::size_t>(size); at += sizeof entry) {
    std::memcpy(&entry, bytes + at, sizeof entry);
    if (le16toh(entry.e_tag) == ACL_USER) users.insert(le32toh(entry.e_id));
  }
  return users;
}

Error CannotOpenUp(const std::string& directory) {
  return Unavailable("cannot let the pod's user into " + directory + ": " + std::strerror(errno));
}

}  // namespace

Status LetPass(const std::string& directory, const std::vector<std::int64_t>& users) {
  std::set<std::uint32_t> all = UsersIn(directory);
  const std::size_t before = all.size();
  for (const std::int64_t user : users) all.insert(static_cast<std::uint32_t>(user));
  if (all.size() == before) return Done{};
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return CannotOpenUp(directory);
  // A directory of an earlier release is open to all already.
  if ((info.st_mode & S_IXOTH) != 0) return Done{};
  posix_acl_xattr_header header{};
  header.a_version = htole32(POSIX_ACL_XATTR_VERSION);
  std::string list(reinterpret_cast<const char*>(&header), sizeof header);
  AddEntry(&list, ACL_USER_OBJ, static_cast<std::uint16_t>((info.st_mode >> 6) & 7U), kNoId);
  for (const std::uint32_t user : all) AddEntry(&list, ACL_USER, ACL_EXECUTE, user);
  AddEntry(&list, ACL_GROUP_OBJ, 0, kNoId);
  AddEntry(&list, ACL_MASK, ACL_EXECUTE, kNoId);
  AddEntry(&list, ACL_OTHER, 0, kNoId);
  if (all.size() + 4 <= kEntriesMax &&
      ::setxattr(directory.c_str(), kAccessList, list.data(), list.size(), 0) == 0) {
    return Done{};
  }
  return ::chmod(directory.c_str(), kPassForAll) == 0 ? Status(Done{}) : CannotOpenUp(directory);
}

}  // namespace muster::local
