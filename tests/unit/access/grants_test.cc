// Nobody gives what it has not (rules U6 and U7), and the sentences of refusals.
#include "api/auth/grants.h"

#include "api/auth/rbac_authorizer.h"
#include "tests/unit/access/support.h"

namespace muster::auth {
namespace {

using ::testing::HasSubstr;

// ann may get and list jobs in namespace a and write roles and bindings; eve may escalate and bind
// the ClusterRole `strong`; ivy may impersonate bob and the group team.
constexpr char kHave[] = R"(
kind: Role
metadata: {name: jobs, namespace: a}
rules: [{verbs: [get, list], apiGroups: [batch], resources: [jobs]}]
---
kind: RoleBinding
metadata: {name: jobs, namespace: a}
roleRef: {kind: Role, name: jobs}
subjects: [{kind: User, name: ann}]
---
kind: ClusterRole
metadata: {name: strong}
rules: [{verbs: [delete, get], apiGroups: [batch], resources: [jobs]}]
---
kind: ClusterRole
metadata: {name: weak}
rules: [{verbs: [get], apiGroups: [batch], resources: [jobs]}]
---
kind: ClusterRole
metadata: {name: trusted}
rules:
- verbs: [bind]
  apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles]
  resourceNames: [strong]
- {verbs: [escalate], apiGroups: [rbac.authorization.k8s.io], resources: [roles]}
---
kind: ClusterRoleBinding
metadata: {name: trusted}
roleRef: {kind: ClusterRole, name: trusted}
subjects: [{kind: User, name: eve}]
---
kind: ClusterRole
metadata: {name: actor}
rules:
- {verbs: [impersonate], apiGroups: [''], resources: [users], resourceNames: [bob]}
- {verbs: [impersonate], apiGroups: [''], resources: [groups], resourceNames: [team]}
---
kind: ClusterRoleBinding
metadata: {name: actor}
roleRef: {kind: ClusterRole, name: actor}
subjects: [{kind: User, name: ivy}]
---
kind: ClusterRole
metadata: {name: owner}
rules: [{verbs: [update], apiGroups: [kueue.x-k8s.io], resources: [cohorts], resourceNames: [mine]}]
---
kind: ClusterRoleBinding
metadata: {name: owner}
roleRef: {kind: ClusterRole, name: owner}
subjects: [{kind: User, name: ann}]
)";

Principal Named(const std::string& user, std::vector<std::string> groups = {}) {
  Principal who;
  who.user = user;
  who.groups = std::move(groups);
  return who;
}

ConfigPtr Have() {
  auto config = std::make_shared<ConfigView>();
  EXPECT_EQ(PutAll(config.get(), kHave), "");
  return config;
}

// "" if the writing of the document is allowed.
std::string Refusal(const Principal& who, const std::string& document) {
  const ConfigPtr now = Have();
  ConfigView after = *now;
  EXPECT_EQ(PutAll(&after, document), "");
  const auto parsed = ParseYaml(document);
  json::value manifest = (*parsed)[0];
  if (!manifest.as_object().contains("apiVersion"))
    manifest.as_object()["apiVersion"] = "rbac.authorization.k8s.io/v1";
  const auto object = shapes::ParseObject(manifest);
  const RbacAuthorizer authorizer([now] { return now; });
  const Status status = CheckGrant(*now->access, *after.access, authorizer, who,
                                   {object->kind, object->ns, object->name});
  return status.ok() ? "" : status.error().detail;
}

std::string NewRole(const std::string& ns, const std::string& verbs) {
  return "{kind: Role, metadata: {name: new, namespace: " + ns + "}, rules: [{verbs: [" + verbs +
         "], apiGroups: [batch], resources: [jobs]}]}";
}
std::string NewBinding(const std::string& ns, const std::string& role) {
  return "{kind: RoleBinding, metadata: {name: new, namespace: " + ns +
         "}, roleRef: {kind: ClusterRole, name: " + role + "}, subjects: [{kind: User, name: x}]}";
}

TEST(Grants, ARoleNeedsItsRulesOrEscalate) {
  EXPECT_EQ(Refusal(Named("ann"), NewRole("a", "get, list")), "");
  EXPECT_EQ(Refusal(Named("ann", {"g", "h"}), NewRole("a", "get, delete")),
            "roles.rbac.authorization.k8s.io \"new\" is forbidden: user \"ann\" (groups=[\"g\" "
            "\"h\"]) is attempting to grant RBAC permissions not currently held:\n"
            "{APIGroups:[\"batch\"], Resources:[\"jobs\"], Verbs:[\"delete\"]}");
  EXPECT_THAT(Refusal(Named("ann"), NewRole("b", "get")), HasSubstr("not currently held"));
  EXPECT_EQ(Refusal(Named("eve"), NewRole("b", "'*'")), "");
  EXPECT_EQ(Refusal(Named("root", {kMastersGroup}), NewRole("b", "'*'")), "");
}

TEST(Grants, AnAggregatedRoleNeedsEverything) {
  const std::string role =
      "{kind: ClusterRole, metadata: {name: n}, aggregationRule: {clusterRoleSelectors: [{}]}}";
  EXPECT_THAT(Refusal(Named("ann"), role),
              HasSubstr("must have cluster-admin privileges to use the aggregationRule"));
  EXPECT_EQ(Refusal(Named("root", {kMastersGroup}), role), "");
}

TEST(Grants, ABindingNeedsTheRolesRulesInItsNamespaceOrBind) {
  EXPECT_EQ(Refusal(Named("ann"), NewBinding("a", "weak")), "");
  EXPECT_THAT(Refusal(Named("ann"), NewBinding("b", "weak")), HasSubstr("not currently held"));
  EXPECT_THAT(Refusal(Named("ann"), NewBinding("a", "strong")), HasSubstr("Verbs:[\"delete\"]"));
  EXPECT_EQ(Refusal(Named("eve"), NewBinding("a", "strong")), "");
  EXPECT_THAT(Refusal(Named("eve"), NewBinding("a", "weak")), HasSubstr("not currently held"));
  EXPECT_EQ(Refusal(Named("ann"), NewBinding("a", "absent")),
            "clusterroles.rbac.authorization.k8s.io \"absent\" not found");
}

std::string NewToken(const std::string& spec) {
  return "{apiVersion: muster.io/v1, kind: AccessToken, metadata: {name: t}, spec: {sha256: " +
         std::string(64, 'a') + ", " + spec + "}}";
}

TEST(Grants, ATokenIsForOneself_OrForWhomOneMayImpersonate) {
  Principal ann = Named("ann", {"team", "system:authenticated"});
  ann.uid = 1000;
  EXPECT_EQ(Refusal(ann, NewToken("user: ann, groups: [team], uid: 1000")), "");
  EXPECT_EQ(Refusal(ann, NewToken("user: ann")), "");
  EXPECT_EQ(Refusal(ann, NewToken("user: ann, groups: [other]")),
            "accesstokens.muster.io \"t\" is forbidden: user \"ann\" may not make a token with the "
            "group \"other\": that needs the verb impersonate on it");
  EXPECT_THAT(Refusal(ann, NewToken("user: ann, groups: ['system:masters']")),
              HasSubstr("the group \"system:masters\""));
  EXPECT_THAT(Refusal(ann, NewToken("user: ann, uid: 0")), HasSubstr("the account 0"));
  EXPECT_THAT(Refusal(ann, NewToken("user: bob")), HasSubstr("the user \"bob\""));
  EXPECT_EQ(Refusal(Named("ivy"), NewToken("user: bob, groups: [team]")), "");
  EXPECT_THAT(Refusal(Named("ivy", {"own"}), NewToken("user: bob, groups: [own]")),
              HasSubstr("the group \"own\""))
      << "an own group is not to be given to others";
  EXPECT_THAT(Refusal(Named("ivy"), NewToken("user: bob, uid: 0")), HasSubstr("the account 0"));
  EXPECT_EQ(Refusal(Named("root", {kMastersGroup}), NewToken("user: x, uid: 0, groups: [y]")), "");
}

TEST(Refusals, AreKubernetesSentences) {
  const ConfigPtr now = Have();
  const RbacAuthorizer authorizer([now] { return now; });
  const Principal bob = Named("bob");
  EXPECT_EQ(
      authorizer.Authorize(bob, Verb::kList, {"batch", "jobs", "", "team-a", ""}).error().detail,
      "User \"bob\" cannot list resource \"jobs\" in API group \"batch\" in the namespace "
      "\"team-a\"");
  EXPECT_EQ(authorizer.Authorize(bob, Verb::kGet, {"", "pods", "log", "", "p"}).error().detail,
            "User \"bob\" cannot get resource \"pods/log\" in API group \"\" at the cluster scope");
  EXPECT_EQ(authorizer.AuthorizePath(bob, Verb::kGet, "/metrics").error().detail,
            "User \"bob\" cannot get path \"/metrics\"");
  EXPECT_EQ(authorizer.Authorize(bob, Verb::kGet, {"", "pods", "", "", ""}).error().code,
            Code::kPermissionDenied);
  EXPECT_TRUE(authorizer.Authorize(Named("ann"), Verb::kGet, {"batch", "jobs", "", "a", "j"}).ok());
  EXPECT_TRUE(authorizer.AuthorizePath(Named("x", {kMastersGroup}), Verb::kGet, "/metrics").ok());
}

}  // namespace
}  // namespace muster::auth
