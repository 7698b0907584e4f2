// The API paths of each kind.
#include "tests/unit/k8s_status/support.h"

namespace muster::k8s {
namespace {

TEST(Kinds, AreFoundByVersionAndName) {
  for (const KindInfo& kind : Kinds()) EXPECT_EQ(KindByApi(kind.api_version, kind.kind), &kind);
  EXPECT_EQ(KindByApi("batch/v1beta1", "Job"), nullptr);
  EXPECT_EQ(KindByApi("batch/v1", "CronJob"), nullptr);
  EXPECT_EQ(Kinds().size(), 6U);
}

TEST(Paths, NameGroupNamespaceAndResource) {
  EXPECT_EQ(GroupPath("v1"), "/api/v1");
  EXPECT_EQ(GroupPath("ray.io/v1"), "/apis/ray.io/v1");
  EXPECT_EQ(CollectionPath("v1", "nodes", ""), "/api/v1/nodes");
  EXPECT_EQ(CollectionPath(KindNamed("JobSet"), ""), "/apis/jobset.x-k8s.io/v1alpha2/jobsets");
  EXPECT_EQ(ObjectPath("v1", "namespaces", "", "team"), "/api/v1/namespaces/team");
  EXPECT_EQ(ObjectPath(KindNamed("Job"), "team", "a"), "/apis/batch/v1/namespaces/team/jobs/a");
}

TEST(Paths, NoNameLeavesItsPlace) {
  EXPECT_EQ(ObjectPath(KindNamed("Job"), "../x", "a/b?c=d"),
            "/apis/batch/v1/namespaces/..%2Fx/jobs/a%2Fb%3Fc%3Dd");
}

TEST(Dependents, AreConfigMapsAndSecrets) {
  EXPECT_EQ(DependentResource("v1", "ConfigMap"), "configmaps");
  EXPECT_EQ(DependentResource("v1", "Secret"), "secrets");
  EXPECT_EQ(DependentResource("v1", "Service"), "services");
  EXPECT_EQ(DependentResource("v1", "Pod"), "");
  EXPECT_EQ(DependentResource("apps/v1", "Secret"), "");
}

}  // namespace
}  // namespace muster::k8s
