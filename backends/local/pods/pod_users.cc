// Users of containers. A daemon that is root can run containers as any user; any other daemon
// refuses users that are not its own, because it could not change to them.
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

Status Refuse(const char* key, std::int64_t id) {
  return InvalidArgument(std::string("securityContext.") + key + " " + std::to_string(id) +
                         " needs a musterd that runs as root");
}

}  // namespace

// Supplementary groups and fsGroup can only be set by root and are ignored otherwise.
Result<PodUser> UserOf(const json::object& pod_spec, const json::object& container,
                       const PodContext& context) {
  const std::optional<std::int64_t> uid = Wanted(pod_spec, container, "runAsUser"),
                                    gid = Wanted(pod_spec, container, "runAsGroup");
  const bool root = context.own_uid == 0;
  PodUser user;
  if (uid && *uid != context.own_uid) {
    if (!root) return Refuse("runAsUser", *uid).error();
    user.uid = *uid;
    user.gid = gid ? *gid : context.group_of ? context.group_of(*uid) : *uid;
  } else if (gid && *gid != context.own_gid) {
    if (!root) return Refuse("runAsGroup", *gid).error();
    user.gid = *gid;
  }
  if (root && !user.foreign() && MustNotBeRoot(pod_spec, container)) {
    return InvalidArgument(
        "securityContext.runAsNonRoot is set, but the container would run as root: images are not "
        "pulled here, so give runAsUser");
  }
  if (!root) return user;
  const json::object& security = ObjectOrEmpty(pod_spec, "securityContext");
  for (const json::value& group : ArrayOrEmpty(security, "supplementalGroups")) {
    if (group.is_int64()) user.groups.push_back(group.get_int64());
  }
  if (const auto fs_group = MaybeInteger(security, "fsGroup")) user.groups.push_back(*fs_group);
  return user;
}

bool PodUsers::any_foreign() const {
  return std::any_of(all.begin(), all.end(), [](const PodUser& user) { return user.foreign(); });
}

Result<PodUsers> UsersOf(const json::object& pod_spec, const PodContext& context) {
  PodUsers users;
  for (const char* list : {"containers", "initContainers"}) {
    for (const json::value& entry : ArrayOrEmpty(pod_spec, list)) {
      Result<PodUser> user = UserOf(pod_spec, ObjectOrEmpty(entry), context);
      if (!user.ok()) {
        return InvalidArgument("container " + Text(ObjectOrEmpty(entry), "name") + ": " +
                               user.error().detail);
      }
      if (std::find(users.all.begin(), users.all.end(), *user) == users.all.end())
        users.all.push_back(std::move(*user));
    }
  }
  if (context.own_uid == 0) {
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
