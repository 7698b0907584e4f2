// Changing the user. ScopedUser changes the effective ids only and can go back; BecomeUser changes
// all ids and gives up what root's rights have left (confine.h).
#include "backends/local/supervisor/credentials.h"

#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "backends/local/supervisor/confine.h"

namespace muster::local {
namespace {

std::string CannotBe(uid_t uid) {
  return "cannot run as user " + std::to_string(uid) + ": " + std::strerror(errno);
}

}  // namespace

Credentials CredentialsOf(const ContainerSpec& container) {
  Credentials user;
  user.uid = container.uid < 0 ? ::geteuid() : static_cast<uid_t>(container.uid);
  user.gid = container.gid < 0 ? ::getegid() : static_cast<gid_t>(container.gid);
  for (const std::int64_t group : container.groups)
    user.groups.push_back(static_cast<gid_t>(group));
  user.differ = user.uid != ::geteuid() || user.gid != ::getegid() || !user.groups.empty();
  return user;
}

ScopedUser::ScopedUser(const Credentials& user) : uid_(::geteuid()), gid_(::getegid()) {
  if (!user.differ) return;
  const int count = ::getgroups(0, nullptr);
  groups_.resize(static_cast<std::size_t>(count < 0 ? 0 : count));
  if (count < 0 || ::getgroups(count, groups_.data()) < 0 ||
      ::setgroups(user.groups.size(), user.groups.data()) != 0) {
    problem_ = CannotBe(user.uid);
    return;
  }
  changed_ = true;
  if (::setegid(user.gid) != 0 || ::seteuid(user.uid) != 0) problem_ = CannotBe(user.uid);
}

ScopedUser::~ScopedUser() {
  if (!changed_) return;
  // The process must not continue with a mixture of both users' rights.
  if (::seteuid(uid_) != 0 || ::setegid(gid_) != 0 ||
      ::setgroups(groups_.size(), groups_.data()) != 0) {
    ::_exit(127);
  }
}

std::string BecomeUser(const Credentials& user) {
  if (user.uid != 0) DropBoundingSet();
  if (user.differ && (::setgroups(user.groups.size(), user.groups.data()) != 0 ||
                      ::setgid(user.gid) != 0 || ::setuid(user.uid) != 0)) {
    return CannotBe(user.uid);
  }
  return user.uid == 0 ? "" : GiveUpPrivileges();
}

}  // namespace muster::local
