// Users and groups of containers, within what JobUser and CheckGroup allow.
#include "backends/local/pods/pod_users.h"

#include <algorithm>

#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// A number of the container's securityContext, else of the pod's.
std::optional<std::int64_t> Wanted(const json::object& pod_spec, const json::object& container,
                                   const char* key) {
  const std::optional<std::int64_t> of_container =
      MaybeInteger(ObjectOrEmpty(container, "securityContext"), key);
  return of_container ? of_container
                      : MaybeInteger(ObjectOrEmpty(pod_spec, "securityContext"), key);
}

// runAsNonRoot, where the container's setting replaces the pod's.
bool MustNotBeRoot(const json::object& pod_spec, const json::object& container) {
  const json::object& own = ObjectOrEmpty(container, "securityContext");
  if (Has(own, "runAsNonRoot")) return FlagAt(own, "runAsNonRoot");
  return FlagAt(pod_spec, {"securityContext", "runAsNonRoot"});
}

// securityContext.supplementalGroups and fsGroup.
Result<std::vector<std::int64_t>> MoreGroups(const json::object& pod_spec,
                                             const JobAccounts& accounts,
                                             const HostAccount& account) {
  const json::object& security = ObjectOrEmpty(pod_spec, "securityContext");
  std::vector<std::int64_t> groups;
  const auto add = [&](const char* key, std::int64_t group) {
    groups.push_back(group);
    return CheckGroup(accounts, account, key, group);
  };
  for (const json::value& group : ArrayOrEmpty(security, "supplementalGroups")) {
    if (!group.is_int64()) continue;
    if (Status fine = add("supplementalGroups", group.get_int64()); !fine.ok()) return fine.error();
  }
  if (const auto fs_group = MaybeInteger(security, "fsGroup")) {
    if (Status fine = add("fsGroup", *fs_group); !fine.ok()) return fine.error();
  }
  return groups;
}

// The daemon's own user: a job of root, or any job of a daemon that is not root, which cannot set
// supplementary groups and an fsGroup and ignores them.
Result<PodUser> OwnUser(const json::object& pod_spec, const json::object& container,
                        const JobAccounts& accounts) {
  PodUser user;
  const bool root = accounts.own_uid == 0;
  const std::optional<std::int64_t> gid = Wanted(pod_spec, container, "runAsGroup");
  if (gid && *gid != accounts.own_gid) {
    if (!root) {
      return InvalidArgument("securityContext.runAsGroup " + std::to_string(*gid) +
                             " needs a musterd that runs as root");
    }
    user.gid = *gid;
  }
  if (!root) return user;
  if (MustNotBeRoot(pod_spec, container)) {
    return InvalidArgument(
        "securityContext.runAsNonRoot is set, but the container would run as root: images are not "
        "pulled here, so give runAsUser");
  }
  HostAccount own;
  own.uid = accounts.own_uid;
  own.gid = accounts.own_gid;
  Result<std::vector<std::int64_t>> groups = MoreGroups(pod_spec, accounts, own);
  if (!groups.ok()) return groups.error();
  user.groups = std::move(*groups);
  return user;
}

void AddGroup(std::vector<std::int64_t>* groups, std::int64_t group) {
  if (std::find(groups->begin(), groups->end(), group) == groups->end()) groups->push_back(group);
}

}  // namespace

Result<PodUser> UserOf(const json::object& pod_spec, const json::object& container,
                       const JobAccounts& accounts) {
  const Result<std::int64_t> uid = JobUser(accounts, Wanted(pod_spec, container, "runAsUser"));
  if (!uid.ok()) return uid.error();
  if (*uid == accounts.own_uid) return OwnUser(pod_spec, container, accounts);
  const Result<HostAccount> found = accounts.Account(*uid);
  if (!found.ok()) return found.error();
  const HostAccount& account = *found;
  PodUser user;
  user.uid = *uid;
  user.gid = Wanted(pod_spec, container, "runAsGroup").value_or(account.gid);
  if (Status fine = CheckGroup(accounts, account, "runAsGroup", user.gid); !fine.ok())
    return fine.error();
  const Result<std::vector<std::int64_t>> more = MoreGroups(pod_spec, accounts, account);
  if (!more.ok()) return more.error();
  for (const std::int64_t group : account.groups) {
    if (group != user.gid) AddGroup(&user.groups, group);
  }
  for (const std::int64_t group : *more) AddGroup(&user.groups, group);
  return user;
}

bool PodUsers::any_foreign() const {
  return std::any_of(all.begin(), all.end(), [](const PodUser& user) { return user.foreign(); });
}

Result<PodUsers> UsersOf(const json::object& pod_spec, const JobAccounts& accounts) {
  PodUsers users;
  for (const char* list : {"containers", "initContainers"}) {
    for (const json::value& entry : ArrayOrEmpty(pod_spec, list)) {
      Result<PodUser> user = UserOf(pod_spec, ObjectOrEmpty(entry), accounts);
      if (!user.ok()) {
        Error refused = user.error();
        refused.detail = "container " + Text(ObjectOrEmpty(entry), "name") + ": " + refused.detail;
        return refused;
      }
      if (std::find(users.all.begin(), users.all.end(), *user) == users.all.end())
        users.all.push_back(std::move(*user));
    }
  }
  if (accounts.own_uid == 0) {
    users.fs_group = MaybeInteger(ObjectOrEmpty(pod_spec, "securityContext"), "fsGroup")
                         .value_or(std::int64_t{-1});
  }
  return users;
}

DirectoryRights RightsOfShared(const PodUsers& users) {
  if (!users.any_foreign()) return {};
  if (const PodUser* one = users.only()) return {0700, one->uid, one->gid};
  if (users.fs_group >= 0) return {02770, -1, users.fs_group};
  return {};
}

}  // namespace muster::local
