// What rules match and who has them (rules U1 to U3), case by case as Kubernetes decides them.
#include "schedd/model/access_table.h"

#include "tests/unit/access/support.h"

namespace muster {
namespace {

// ann is bound to ClusterRole r, which has one rule.
AccessTable WithRule(const std::string& rule) {
  ConfigView config;
  EXPECT_EQ(PutAll(&config, "kind: ClusterRole\nmetadata: {name: r}\nrules: [{" + rule +
                                "}]\n---\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: "
                                "{kind: ClusterRole, name: r}\nsubjects: [{kind: User, name: "
                                "ann}]\n"),
            "");
  return *config.access;
}

struct Case {
  const char* name;
  const char* rule;
  const char* asked;
  bool allowed;
};

TEST(AccessRules, MatchAsKubernetesMatchesThem) {
  const char* jobs = "verbs: [get], apiGroups: [batch], resources: [jobs]";
  const char* named =
      "verbs: [get, list, deletecollection], apiGroups: [batch], resources: [jobs], resourceNames: "
      "[one]";
  const char* paths = "verbs: [get], nonResourceURLs: [/metrics, /api/*]";
  const Case cases[] = {
      {"what it names", jobs, "ann get batch/jobs a", true},
      {"in every namespace and in the cluster", jobs, "ann get batch/jobs", true},
      {"another verb is not meant", jobs, "ann list batch/jobs a", false},
      {"another group is not meant", jobs, "ann get core/jobs a", false},
      {"a subresource is not meant by its resource", jobs, "ann get batch/jobs/status a", false},
      {"another user is not meant", jobs, "bob get batch/jobs a", false},
      {"a group of the user's name is not meant", jobs, "bob,ann get batch/jobs a", false},
      {"* is every verb", "verbs: ['*'], apiGroups: [batch], resources: [jobs]",
       "ann impersonate batch/jobs a", true},
      {"* is every group", "verbs: [get], apiGroups: ['*'], resources: [jobs]",
       "ann get example.org/jobs a", true},
      {"* is every resource", "verbs: [get], apiGroups: [batch], resources: ['*']",
       "ann get batch/cronjobs a", true},
      {"* is every subresource", "verbs: [get], apiGroups: [batch], resources: ['*']",
       "ann get batch/jobs/log a", true},
      {"a subresource by its name", "verbs: [get], apiGroups: [batch], resources: [jobs/log]",
       "ann get batch/jobs/log a", true},
      {"a subresource does not mean its resource",
       "verbs: [get], apiGroups: [batch], resources: [jobs/log]", "ann get batch/jobs a", false},
      {"*/scale is that subresource of all",
       "verbs: [get], apiGroups: [batch], resources: ['*/scale']", "ann get batch/jobs/scale a",
       true},
      {"*/scale is no other subresource",
       "verbs: [get], apiGroups: [batch], resources: ['*/scale']", "ann get batch/jobs/rescale a",
       false},
      {"jobs/* is no pattern", "verbs: [get], apiGroups: [batch], resources: ['jobs/*']",
       "ann get batch/jobs/log a", false},
      {"a name that is listed", named, "ann get batch/jobs:one a", true},
      {"a name that is not", named, "ann get batch/jobs:two a", false},
      {"a list has no name", named, "ann list batch/jobs a", false},
      {"nor has deletecollection", named, "ann deletecollection batch/jobs a", false},
      {"a path by its name", paths, "ann get /metrics", true},
      {"a longer path is another", paths, "ann get /metrics/x", false},
      {"a star at the end of a path", paths, "ann get /api/v1/x", true},
      {"which needs what is before it", paths, "ann get /api", false},
      {"paths need their verb", paths, "ann post /metrics", false},
      {"* is every path", "verbs: [get], nonResourceURLs: ['*']", "ann get /anything", true},
      {"resources are no paths", "verbs: ['*'], apiGroups: ['*'], resources: ['*']",
       "ann get /metrics", false},
      {"paths are no resources", "verbs: ['*'], nonResourceURLs: ['*']", "ann get batch/jobs a",
       false},
  };
  for (const Case& c : cases)
    EXPECT_EQ(May(WithRule(c.rule), c.asked), c.allowed) << c.name << ": " << c.asked;
}

constexpr char kWorld[] = R"(
kind: ClusterRole
metadata: {name: reader}
rules:
- {verbs: [get], apiGroups: [batch], resources: [jobs]}
- {verbs: [get], nonResourceURLs: [/x]}
---
kind: Role
metadata: {name: reader, namespace: a}
rules: [{verbs: [list], apiGroups: [batch], resources: [jobs]}]
---
kind: RoleBinding
metadata: {name: of-cluster-role, namespace: a}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: User, name: ann}, {kind: Group, name: team}, {kind: ServiceAccount, name: runner}]
---
kind: RoleBinding
metadata: {name: of-role, namespace: a}
roleRef: {kind: Role, name: reader}
subjects: [{kind: User, name: bob}, {kind: ServiceAccount, name: runner, namespace: b}]
---
kind: RoleBinding
metadata: {name: of-nothing, namespace: b}
roleRef: {kind: Role, name: reader}
subjects: [{kind: User, name: bob}]
---
kind: ClusterRoleBinding
metadata: {name: everywhere}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: User, name: eve}]
)";

TEST(AccessBindings, GrantInTheirNamespaceAlone) {
  ConfigView config;
  ASSERT_EQ(PutAll(&config, kWorld), "");
  const AccessTable& table = *config.access;
  EXPECT_TRUE(May(table, "ann get batch/jobs a"));
  EXPECT_FALSE(May(table, "ann get batch/jobs b"));
  EXPECT_FALSE(May(table, "ann get batch/jobs")) << "the whole cluster is no namespace";
  EXPECT_FALSE(May(table, "ann list batch/jobs a")) << "a Role of the same name is another";
  EXPECT_FALSE(May(table, "ann get /x")) << "paths are granted by ClusterRoleBindings alone";
  EXPECT_TRUE(May(table, "nobody,other,team get batch/jobs a"));
  EXPECT_TRUE(May(table, "bob list batch/jobs a"));
  EXPECT_FALSE(May(table, "bob list batch/jobs b")) << "its role does not exist";
  EXPECT_TRUE(May(table, "eve get batch/jobs"));
  EXPECT_TRUE(May(table, "eve get batch/jobs z"));
  EXPECT_TRUE(May(table, "eve get /x"));
}

TEST(AccessBindings, AServiceAccountIsAUserOfItsNamespace) {
  ConfigView config;
  ASSERT_EQ(PutAll(&config, kWorld), "");
  const AccessTable& table = *config.access;
  EXPECT_TRUE(May(table, "system:serviceaccount:a:runner get batch/jobs a"));
  EXPECT_TRUE(May(table, "system:serviceaccount:b:runner list batch/jobs a"));
  EXPECT_FALSE(May(table, "system:serviceaccount:b:runner get batch/jobs a"));
}

TEST(AccessBindings, AreFoundNoMoreWhenTheyAreReplacedOrRemoved) {
  ConfigView config;
  ASSERT_EQ(PutAll(&config, kWorld), "");
  const auto before = config.access;
  ASSERT_EQ(PutAll(&config,
                   "{kind: RoleBinding, metadata: {name: of-cluster-role, namespace: a}, "
                   "roleRef: {kind: ClusterRole, name: reader}, subjects: [{kind: User, "
                   "name: zoe}]}"),
            "");
  EXPECT_TRUE(May(*config.access, "zoe get batch/jobs a"));
  EXPECT_FALSE(May(*config.access, "ann get batch/jobs a"));
  EXPECT_TRUE(May(*before, "ann get batch/jobs a")) << "a published table does not change";
  shapes::RemoveFrom(&config, ObjectKind::kRoleBinding, "a", "of-cluster-role");
  EXPECT_FALSE(May(*config.access, "zoe get batch/jobs a"));
  shapes::RemoveFrom(&config, ObjectKind::kClusterRole, "", "reader");
  EXPECT_FALSE(May(*config.access, "eve get batch/jobs"));
}

constexpr char kAggregates[] = R"(
kind: ClusterRole
metadata: {name: all}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {of: all}}, {matchLabels: {of: both}}]}
rules: [{verbs: [delete], apiGroups: [''], resources: [secrets]}]
---
kind: ClusterRole
metadata: {name: part, labels: {of: all}}
rules: [{verbs: [get], apiGroups: [batch], resources: [jobs]}]
---
kind: ClusterRole
metadata: {name: other}
rules: [{verbs: [list], apiGroups: [batch], resources: [jobs]}]
---
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {kind: ClusterRole, name: all}
subjects: [{kind: User, name: ann}]
)";

std::string OtherWith(const std::string& label, const std::string& rest) {
  return "{kind: ClusterRole, metadata: {name: other, labels: {of: " + label + "}}, " + rest + "}";
}

TEST(AccessAggregation, CollectsTheRulesOfWhatIsSelected_AndFollowsChanges) {
  ConfigView config;
  ASSERT_EQ(PutAll(&config, kAggregates), "");
  const std::string list = "rules: [{verbs: [list], apiGroups: [batch], resources: [jobs]}]";
  EXPECT_TRUE(May(*config.access, "ann get batch/jobs"));
  EXPECT_FALSE(May(*config.access, "ann list batch/jobs"));
  EXPECT_FALSE(May(*config.access, "ann delete core/secrets")) << "its own rules are dropped";
  ASSERT_EQ(PutAll(&config, OtherWith("both", list)), "");
  EXPECT_TRUE(May(*config.access, "ann list batch/jobs")) << "a label was added";
  EXPECT_EQ(config.access->RulesOfRole("", "all").size(), 2U);
  ASSERT_EQ(PutAll(&config, OtherWith("none", list)), "");
  EXPECT_FALSE(May(*config.access, "ann list batch/jobs")) << "a label was taken away";
  shapes::RemoveFrom(&config, ObjectKind::kClusterRole, "", "part");
  EXPECT_FALSE(May(*config.access, "ann get batch/jobs")) << "a part was removed";
}

TEST(AccessAggregation, GoesOnThroughOtherAggregates_AlsoInACircle) {
  ConfigView config;
  ASSERT_EQ(PutAll(&config, kAggregates), "");
  ASSERT_EQ(PutAll(&config, OtherWith("both",
                                      "aggregationRule: {clusterRoleSelectors: "
                                      "[{matchLabels: {of: more}}, {matchLabels: {of: "
                                      "both}}]}")),
            "");
  ASSERT_EQ(PutAll(&config,
                   "{kind: ClusterRole, metadata: {name: deep, labels: {of: more}}, "
                   "rules: [{verbs: [watch], apiGroups: [batch], resources: [jobs]}]}"),
            "");
  EXPECT_TRUE(May(*config.access, "ann watch batch/jobs"));
}

// Many bindings of one role are one question to it, and hide no other role.
TEST(AccessBindings, OneOfManyRolesSuffices) {
  ConfigView config;
  std::string text;
  for (int i = 0; i < 24; ++i) {
    const std::string number = std::to_string(i), role = std::to_string(i % 12);
    text += "---\nkind: ClusterRole\nmetadata: {name: role-" + role + "}\nrules: [{verbs: [v" +
            role +
            "], apiGroups: [batch], resources: [jobs]}]\n---\nkind: RoleBinding\nmetadata: "
            "{namespace: a, name: b" +
            number + "}\nroleRef: {kind: ClusterRole, name: role-" + role +
            "}\nsubjects: [{kind: Group, name: g" + std::to_string(i % 2) + "}]\n";
  }
  ASSERT_EQ(PutAll(&config, text), "");
  for (int i = 0; i < 12; ++i) {
    const std::string asked = " v" + std::to_string(i) + " batch/jobs";
    EXPECT_TRUE(May(*config.access, "ann,g0,g1" + asked + " a")) << i;
    EXPECT_EQ(May(*config.access, "ann,g0" + asked + " a"), i % 2 == 0) << i;
    EXPECT_FALSE(May(*config.access, "ann,g0,g1" + asked + " b")) << i;
    EXPECT_FALSE(May(*config.access, "ann,g0,g1" + asked)) << i;
  }
  EXPECT_FALSE(May(*config.access, "ann,g0,g1 v12 batch/jobs a"));
}

std::string Missing(const std::string& own, const std::string& wanted) {
  ConfigView config;
  EXPECT_EQ(PutAll(&config, "{kind: ClusterRole, metadata: {name: w}, rules: [{" + wanted + "}]}"),
            "");
  const auto rules = config.access->RulesOfRole("", "w");
  return DescribeRules(WithRule(own).Uncovered("ann", {}, "a", rules));
}

TEST(AccessCovers, EachPartNeedsOneRule) {
  const std::string jobs = "apiGroups: [batch], resources: [jobs]";
  EXPECT_EQ(Missing("verbs: [get, list], " + jobs, "verbs: [get], " + jobs), "");
  EXPECT_EQ(Missing("verbs: [get], " + jobs, "verbs: [list, get, watch], " + jobs),
            R"({APIGroups:["batch"], Resources:["jobs"], Verbs:["list" "watch"]})");
  EXPECT_EQ(Missing("verbs: ['*'], " + jobs, "verbs: ['*'], " + jobs), "");
  EXPECT_EQ(Missing("verbs: [get, list], " + jobs, "verbs: ['*'], " + jobs),
            R"({APIGroups:["batch"], Resources:["jobs"], Verbs:["*"]})");
  EXPECT_EQ(Missing("verbs: [get], apiGroups: [batch], resources: ['*']",
                    "verbs: [get], apiGroups: [batch], resources: [jobs, jobs/log]"),
            "");
  EXPECT_EQ(Missing("verbs: [get], apiGroups: [batch], resources: ['*/log']",
                    "verbs: [get], apiGroups: [batch], resources: [jobs/log]"),
            "");
  EXPECT_EQ(Missing("verbs: [get], " + jobs + ", resourceNames: [one]", "verbs: [get], " + jobs),
            R"({APIGroups:["batch"], Resources:["jobs"], Verbs:["get"]})");
  EXPECT_EQ(Missing("verbs: [get], " + jobs, "verbs: [get], " + jobs + ", resourceNames: [one]"),
            "");
  EXPECT_EQ(Missing("verbs: [get], " + jobs + ", resourceNames: [one]",
                    "verbs: [get], " + jobs + ", resourceNames: [one, two]"),
            R"({APIGroups:["batch"], Resources:["jobs"], ResourceNames:["two"], Verbs:["get"]})");
  EXPECT_EQ(
      Missing("verbs: [get], nonResourceURLs: [/a/*]", "verbs: [get], nonResourceURLs: [/a/b, /b]"),
      R"({NonResourceURLs:["/b"], Verbs:["get"]})");
}

}  // namespace
}  // namespace muster
