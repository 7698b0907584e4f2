// The three roles of a new installation, cell by cell (rule U8).
#include "schedd/shapes/config/default_access.h"

#include "tests/unit/access/support.h"

namespace muster {
namespace {

constexpr char kSite[] = R"(
kind: RoleBinding
metadata: {name: users, namespace: a}
roleRef: {kind: ClusterRole, name: kueue-batch-user-role}
subjects: [{kind: Group, name: team-a}]
---
kind: RoleBinding
metadata: {name: admins, namespace: a}
roleRef: {kind: ClusterRole, name: kueue-batch-admin-role}
subjects: [{kind: Group, name: admins-a}]
---
kind: ClusterRole
metadata: {name: queue-a}
rules:
- verbs: [get, update, patch]
  apiGroups: [kueue.x-k8s.io]
  resources: [clusterqueues]
  resourceNames: [a]
---
kind: ClusterRoleBinding
metadata: {name: queue-a}
roleRef: {kind: ClusterRole, name: queue-a}
subjects: [{kind: Group, name: admins-a}]
---
kind: ClusterRoleBinding
metadata: {name: boss}
roleRef: {kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, name: boss}]
)";

ConfigView Installation(bool local_only) {
  ConfigView config;
  for (const json::object& manifest : shapes::DefaultAccess(local_only)) {
    const auto parsed = shapes::ParseObject(manifest);
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().detail);
    if (!parsed.ok()) continue;
    EXPECT_EQ(manifest.at("metadata").at("labels").at(shapes::kBootstrappingLabel),
              shapes::kDefaultsValue);
    EXPECT_TRUE(shapes::ApplyTo(&config, parsed->kind, parsed->manifest).ok());
  }
  EXPECT_EQ(PutAll(&config, kSite), "");
  return config;
}

struct Row {
  const char* action;
  // Of the cluster admin, the batch admin and the batch user of namespace a.
  bool boss, admin, user;
};

TEST(DefaultAccess, TheThreeRolesMayWhatTheirTableSays) {
  const ConfigView config = Installation(false);
  const Row rows[] = {
      {"create batch/jobs a", true, true, true},
      {"list batch/jobs a", true, true, true},
      {"get batch/jobs:j a", true, true, true},
      {"delete batch/jobs:j a", true, true, false},
      {"update batch/jobs:j a", true, true, false},
      {"patch ray.io/rayjobs:j a", true, true, false},
      {"delete batch/jobs/own:j a", true, false, true},
      {"update muster.io/batchscripts/own:j a", true, false, true},
      {"get batch/jobs/own:j a", true, true, true},
      {"get batch/jobs/log:j a", true, false, false},
      {"list kueue.x-k8s.io/workloads a", true, true, true},
      {"update kueue.x-k8s.io/workloads:w a", true, true, false},
      {"create batch/jobs b", true, false, false},
      {"list batch/jobs b", true, false, false},
      {"list batch/jobs", true, false, false},
      {"get kueue.x-k8s.io/localqueues:q a", true, true, true},
      {"update kueue.x-k8s.io/localqueues:q a", true, true, false},
      {"create kueue.x-k8s.io/localqueues a", true, true, false},
      {"update kueue.x-k8s.io/clusterqueues:a", true, true, false},
      {"update kueue.x-k8s.io/clusterqueues:b", true, false, false},
      {"delete kueue.x-k8s.io/clusterqueues:a", true, false, false},
      {"create kueue.x-k8s.io/clusterqueues", true, false, false},
      {"update kueue.x-k8s.io/cohorts:all", true, false, false},
      {"update kueue.x-k8s.io/resourceflavors:f", true, false, false},
      {"create kueue.x-k8s.io/topologies", true, false, false},
      {"update cluster.kubernetes-fleet.io/memberclusters:m", true, false, false},
      {"create placement.kubernetes-fleet.io/resourceplacements a", true, false, false},
      {"create rbac.authorization.k8s.io/rolebindings a", true, false, false},
      {"create rbac.authorization.k8s.io/roles a", true, false, false},
      {"get core/secrets:s a", true, false, false},
      {"list core/secrets a", true, false, false},
      {"create core/configmaps a", true, true, true},
      {"list muster.io/events a", true, true, true},
      {"list muster.io/accounting a", true, true, true},
      {"create muster.io/simulations a", true, true, true},
      {"list muster.io/audit", true, false, false},
      {"impersonate core/users:x", true, false, false},
      {"get /metrics", true, false, false},
      {"get /version", true, true, true},
      {"get /apis/batch/v1", true, true, true},
  };
  for (const Row& row : rows) {
    const std::string action = row.action;
    const AccessTable& table = *config.access;
    EXPECT_EQ(May(table, "boss,system:authenticated " + action), row.boss) << action;
    EXPECT_EQ(May(table, "adm,admins-a,system:authenticated " + action), row.admin) << action;
    EXPECT_EQ(May(table, "usr,team-a,system:authenticated " + action), row.user) << action;
  }
}

TEST(DefaultAccess, AccountsOfTheHostMaySubmitEverywhere_UntilTheirBindingIsDeleted) {
  ConfigView config = Installation(true);
  const std::string who = "somebody,system:authenticated ";
  for (const char* action :
       {"create batch/jobs z", "delete batch/jobs/own:j z", "list kueue.x-k8s.io/clusterqueues",
        "list cluster.kubernetes-fleet.io/memberclusters", "get /metrics"})
    EXPECT_TRUE(May(*config.access, who + action)) << action;
  for (const char* action : {"delete batch/jobs:j z", "get batch/jobs/log:j z",
                             "update kueue.x-k8s.io/clusterqueues:q", "get core/secrets:s z"})
    EXPECT_FALSE(May(*config.access, who + action)) << action;
  shapes::RemoveFrom(&config, ObjectKind::kClusterRoleBinding, "", shapes::kLocalUsers);
  EXPECT_FALSE(May(*config.access, who + "create batch/jobs z"));
  EXPECT_TRUE(May(*config.access, who + "get /version"));
}

TEST(DefaultAccess, MastersMayDoEverything_AndNobodyElseMayMuch) {
  const ConfigView config = Installation(false);
  EXPECT_TRUE(May(*config.access, "root,system:masters delete core/secrets:s a"));
  EXPECT_FALSE(May(*config.access, "x,system:authenticated list batch/jobs a"));
  EXPECT_FALSE(May(*config.access, "x get /version")) << "an unknown caller has no group";
  EXPECT_TRUE(May(*config.access, "x,system:authenticated create muster.io/accesstokens"));
}

}  // namespace
}  // namespace muster
