// What the API accepts as a role, a binding or a token (rules U1, U2 and U6): the sentences of
// Kubernetes' validation, with the path of the field.
#include "tests/unit/access/support.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

struct Refused {
  const char* name;
  const char* text;
  const char* wanted;
};

void ExpectRefused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    ConfigView config;
    EXPECT_THAT(PutAll(&config, c.text), HasSubstr(c.wanted)) << c.name;
  }
}

TEST(RoleReader, RefusesWhatKubernetesRefuses) {
  ExpectRefused({
      {"no verbs", "{kind: Role, metadata: {name: a}, rules: [{apiGroups: [''], resources: [x]}]}",
       "rules[0].verbs: verbs must contain at least one value"},
      {"no groups", "{kind: Role, metadata: {name: a}, rules: [{verbs: [get], resources: [x]}]}",
       "rules[0].apiGroups: resource rules must supply at least one api group"},
      {"no resources",
       "{kind: Role, metadata: {name: a}, rules: [{verbs: [get], apiGroups: ['']}]}",
       "rules[0].resources: resource rules must supply at least one resource"},
      {"paths in a namespace",
       "{kind: Role, metadata: {name: a}, rules: [{verbs: [get], nonResourceURLs: [/x]}]}",
       "rules[0].nonResourceURLs: namespaced rules cannot apply to non-resource URLs"},
      {"paths and resources",
       "{kind: ClusterRole, metadata: {name: a}, rules: [{verbs: [get], nonResourceURLs: [/x], "
       "resources: [x]}]}",
       "rules[0].nonResourceURLs: rules cannot apply to both regular resources and non-resource"},
      {"an aggregation of nothing",
       "{kind: ClusterRole, metadata: {name: a}, aggregationRule: {clusterRoleSelectors: []}}",
       "aggregationRule.clusterRoleSelectors: at least one clusterRoleSelector required"},
      {"an aggregation in a namespace",
       "{kind: Role, metadata: {name: a}, aggregationRule: {clusterRoleSelectors: [{}]}}",
       "aggregationRule: unknown field"},
      {"a spec", "{kind: Role, metadata: {name: a}, spec: {rules: []}}", "spec: unknown field"},
      {"a slash in the name", "{kind: Role, metadata: {name: a/b}}", "metadata.name: must be"},
      {"a number as a verb",
       "{kind: Role, metadata: {name: a}, rules: [{verbs: [1], apiGroups: [''], resources: [x]}]}",
       "rules[0].verbs[0]"},
  });
  ConfigView config;
  EXPECT_EQ(PutAll(&config, "{kind: ClusterRole, metadata: {name: 'system:A b'}}"), "")
      << "names of roles are no DNS names";
}

TEST(RoleReader, RefusesARuleThatNobodyCouldCheck) {
  std::string many;
  for (int i = 0; i < 200; ++i) many += (i == 0 ? "" : ", ") + ("x" + std::to_string(i));
  ConfigView config;
  EXPECT_THAT(PutAll(&config, "{kind: Role, metadata: {name: a}, rules: [{verbs: [" + many +
                                  "], apiGroups: [" + many + "], resources: [" + many + "]}]}"),
              HasSubstr("rules: must have at most 20000 combinations"));
}

TEST(BindingReader, RefusesWhatKubernetesRefuses) {
  ExpectRefused({
      {"no role", "{kind: RoleBinding, metadata: {name: a}}", "roleRef: is required"},
      {"an unknown kind of role",
       "{kind: RoleBinding, metadata: {name: a}, roleRef: {kind: Group, name: b}}",
       "roleRef.kind: must be one of Role, ClusterRole, not \"Group\""},
      {"a Role for the whole cluster",
       "{kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {kind: Role, name: b}}",
       "roleRef.kind: must be one of ClusterRole, not \"Role\""},
      {"a role of another group",
       "{kind: RoleBinding, metadata: {name: a}, roleRef: {apiGroup: x, kind: Role, name: b}}",
       "roleRef.apiGroup: must be rbac.authorization.k8s.io, not \"x\""},
      {"an unknown kind of subject",
       "{kind: RoleBinding, metadata: {name: a}, roleRef: {kind: Role, name: b}, subjects: [{kind: "
       "Pod, name: c}]}",
       "subjects[0].kind: must be one of ServiceAccount, User, Group, not \"Pod\""},
      {"a user of another group",
       "{kind: RoleBinding, metadata: {name: a}, roleRef: {kind: Role, name: b}, subjects: [{kind: "
       "User, name: c, apiGroup: x}]}",
       "subjects[0].apiGroup: must be rbac.authorization.k8s.io, not \"x\""},
      {"a user without a name",
       "{kind: RoleBinding, metadata: {name: a}, roleRef: {kind: Role, name: b}, subjects: [{kind: "
       "User, name: ''}]}",
       "subjects[0].name: is required"},
      {"a service account with a group",
       "{kind: RoleBinding, metadata: {name: a}, roleRef: {kind: Role, name: b}, subjects: [{kind: "
       "ServiceAccount, name: c, apiGroup: rbac.authorization.k8s.io}]}",
       "subjects[0].apiGroup: must be empty for a ServiceAccount"},
      {"a service account without a namespace",
       "{kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {kind: ClusterRole, name: b}, "
       "subjects: [{kind: ServiceAccount, name: c}]}",
       "subjects[0].namespace: is required"},
  });
}

TEST(BindingReader, ABindingKeepsItsRole) {
  ConfigView config;
  const std::string start = "{kind: RoleBinding, metadata: {name: a, namespace: x}, roleRef: ";
  ASSERT_EQ(PutAll(&config, start + "{kind: Role, name: b}}"), "");
  EXPECT_EQ(PutAll(&config, start + "{kind: Role, name: c}}"), "roleRef: cannot change roleRef");
  EXPECT_EQ(PutAll(&config, start + "{kind: ClusterRole, name: b}}"),
            "roleRef: cannot change roleRef");
  EXPECT_EQ(PutAll(&config, start + "{kind: Role, name: b}, subjects: [{kind: User, name: u}]}"),
            "");
}

TEST(BindingReader, FillsInKubernetesDefaults) {
  auto documents = ParseYaml(
      "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, roleRef: "
      "{kind: Role, name: b}, subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}]}");
  const auto parsed = shapes::ParseObject((*documents)[0]);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->manifest.at("roleRef").at("apiGroup"), "rbac.authorization.k8s.io");
  const json::array& subjects = parsed->manifest.at("subjects").as_array();
  EXPECT_EQ(subjects[0].at("apiGroup"), "rbac.authorization.k8s.io");
  EXPECT_FALSE(subjects[1].as_object().contains("apiGroup"));
}

std::string Token(const std::string& spec) {
  return "{apiVersion: muster.io/v1, kind: AccessToken, metadata: {name: t}, spec: {" + spec + "}}";
}
const std::string kHash(64, 'a');

TEST(TokenReader, ReadsATokenAndKeepsWhatItStandsFor) {
  ConfigView config;
  const std::string rest = ", groups: [g], uid: 1000, sha256: " + kHash;
  ASSERT_EQ(PutAll(&config, Token("user: ann, expires: '2027-01-31T12:00:00Z'" + rest)), "");
  const AccessToken* token = config.access->FindToken("t");
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->user, "ann");
  EXPECT_THAT(token->groups, ::testing::ElementsAre("g"));
  EXPECT_EQ(token->uid, 1000U);
  EXPECT_TRUE(token->expires.set());
  EXPECT_EQ(PutAll(&config, Token("user: ann, description: for CI" + rest)), "");
  EXPECT_FALSE(config.access->FindToken("t")->expires.set());
  EXPECT_THAT(PutAll(&config, Token("user: root" + rest)),
              HasSubstr("spec.user: field is immutable"));
  shapes::RemoveFrom(&config, ObjectKind::kAccessToken, "", "t");
  EXPECT_EQ(config.access->FindToken("t"), nullptr);
}

TEST(TokenReader, RefusesWhatIsNoToken) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"user: ann", "spec.sha256: is required"},
      {"user: ann, sha256: abc", "spec.sha256: must be the SHA-256"},
      {"user: ann, sha256: " + std::string(64, 'A'), "spec.sha256: must be the SHA-256"},
      {"sha256: " + kHash, "spec.user: is required"},
      {"user: ann, uid: -1, sha256: " + kHash, "spec.uid"},
      {"user: ann, uid: 4294967295, sha256: " + kHash, "spec.uid"},
      {"user: ann, expires: soon, sha256: " + kHash, "spec.expires: must be a time"},
      {"user: ann, token: x, sha256: " + kHash, "spec.token: unknown field"},
  };
  for (const auto& [spec, wanted] : cases) {
    ConfigView config;
    EXPECT_THAT(PutAll(&config, Token(spec)), HasSubstr(wanted)) << spec;
  }
}

}  // namespace
}  // namespace muster
