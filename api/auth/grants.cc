// Who writes a role or a binding must have, in the same place, all rules that it gives, or the verb
// that stands for trust: escalate for roles, bind for bindings. A token gives an identity, so that
// it needs the verb impersonate on everything that is not the asker's own.
#include "api/auth/grants.h"

#include <algorithm>

#include "api/auth/rbac_authorizer.h"
#include "api/auth/user_resource.h"
#include "schedd/base/names.h"

namespace muster::auth {
namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

// What an aggregated role may come to collect.
std::vector<PolicyRule> FullAuthority() {
  return {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
}

// `groups=["a" "b"]`.
std::string GroupsText(const Principal& who) {
  std::string out = "groups=[";
  for (std::size_t i = 0; i < who.groups.size(); ++i)
    out += (i == 0 ? "" : " ") + Quoted(who.groups[i]);
  return out + "]";
}

// `roles.rbac.authorization.k8s.io "x" is forbidden: ...`.
Error Forbidden(std::string_view resource, std::string_view group, const std::string& name,
                const std::string& why) {
  return {Code::kPermissionDenied, std::string(resource) + "." + std::string(group) + " " +
                                       Quoted(name) + " is forbidden: " + why};
}

// "" if the asker has all rules in the namespace, else Kubernetes' sentence.
std::string MissingRules(const AccessTable& now, const Principal& who, const std::string& ns,
                         const std::vector<PolicyRule>& wanted) {
  const std::vector<PolicyRule> missing = now.Uncovered(who.user, who.groups, ns, wanted);
  if (missing.empty()) return "";
  return "user " + Quoted(who.user) + " (" + GroupsText(who) +
         ") is attempting to grant RBAC permissions not currently held:\n" + DescribeRules(missing);
}

bool Collects(const Role* role) { return role != nullptr && role->aggregated; }

// An object that is created has no name yet when Kubernetes asks, so that a rule with resourceNames
// lets nobody create what it names.
Status CheckRole(const AccessTable& now, const Authorizer& authorizer, const Principal& who,
                 const Role* before, const Role& after) {
  const char* resource = after.ns.empty() ? "clusterroles" : "roles";
  const std::string_view name = before == nullptr ? std::string_view() : after.name;
  if (authorizer.Allows(who, Verb::kEscalate, {kRbacGroup, resource, "", after.ns, name}))
    return Done{};
  const std::string missing = MissingRules(now, who, after.ns, after.rules);
  if (!missing.empty()) return Forbidden(resource, kRbacGroup, after.name, missing);
  if ((Collects(before) || Collects(&after)) &&
      !MissingRules(now, who, "", FullAuthority()).empty())
    return Forbidden(resource, kRbacGroup, after.name,
                     "must have cluster-admin privileges to use the aggregationRule");
  return Done{};
}

Status CheckBinding(const AccessTable& now, const AccessTable& after, const Authorizer& authorizer,
                    const Principal& who, const RoleBinding& binding) {
  const char* role_resource = binding.cluster_role ? "clusterroles" : "roles";
  if (authorizer.Allows(who, Verb::kBind,
                        {kRbacGroup, role_resource, "", binding.ns, binding.role}))
    return Done{};
  const std::string role_ns = binding.cluster_role ? "" : binding.ns;
  if (!after.HasRole(role_ns, binding.role)) {
    return NotFound(std::string(role_resource) + "." + std::string(kRbacGroup) + " " +
                    Quoted(binding.role) + " not found");
  }
  const std::string missing =
      MissingRules(now, who, binding.ns, after.RulesOfRole(role_ns, binding.role));
  if (missing.empty()) return Done{};
  return Forbidden(binding.ns.empty() ? "clusterrolebindings" : "rolebindings", kRbacGroup,
                   binding.name, missing);
}

bool HasGroup(const Principal& who, const std::string& group) {
  return std::find(who.groups.begin(), who.groups.end(), group) != who.groups.end();
}

// For oneself a token may leave out groups, and have no other ones. For another user each group
// has to be granted, as in an impersonation; the group of all known callers is no grant.
Status CheckToken(const Authorizer& authorizer, const Principal& who, const AccessToken& token) {
  const auto may_be =
      [&](std::string_view group, std::string_view resource, std::string_view name) {
    return authorizer.Allows(who, Verb::kImpersonate, {group, resource, "", "", name});
  };
  const auto refused = [&](const std::string& what) {
    return Forbidden("accesstokens", "muster.io", token.name,
                     "user " + Quoted(who.user) + " may not make a token with " + what +
                         ": that needs the verb impersonate on it");
  };
  const bool oneself = token.user == who.user;
  if (!oneself && !authorizer.Allows(who, Verb::kImpersonate, UserResource(token.user)))
    return refused("the user " + Quoted(token.user));
  for (const std::string& group : token.groups) {
    if (group == kAuthenticatedGroup || (oneself && HasGroup(who, group))) continue;
    if (!may_be("", "groups", group)) return refused("the group " + Quoted(group));
  }
  if (!token.uid || (oneself && who.uid == token.uid)) return Done{};
  const std::string uid = std::to_string(*token.uid);
  if (may_be("authentication.k8s.io", "uids", uid)) return Done{};
  return refused("the account " + uid);
}

}  // namespace

Status CheckGrant(const AccessTable& now, const AccessTable& after, const Authorizer& authorizer,
                  const Principal& who, const GrantRef& object) {
  if (IsMaster(who)) return Done{};
  switch (object.kind) {
    case ObjectKind::kRole:
    case ObjectKind::kClusterRole: {
      const Role* role = after.FindRole(object.ns, object.name);
      if (role == nullptr) return Done{};
      return CheckRole(now, authorizer, who, now.FindRole(object.ns, object.name), *role);
    }
    case ObjectKind::kRoleBinding:
    case ObjectKind::kClusterRoleBinding: {
      const RoleBinding* binding = after.FindBinding(object.ns, object.name);
      if (binding == nullptr) return Done{};
      return CheckBinding(now, after, authorizer, who, *binding);
    }
    case ObjectKind::kAccessToken: {
      const AccessToken* token = after.FindToken(object.name);
      return token == nullptr ? Status(Done{}) : CheckToken(authorizer, who, *token);
    }
    default:
      return Done{};
  }
}

}  // namespace muster::auth
