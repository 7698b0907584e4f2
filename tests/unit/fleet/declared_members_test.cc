// Member declarations in objects: the Secret, the context, and what is missing.
#include <gtest/gtest.h>

#include "schedd/daemon/fleet.h"
#include "schedd/text/base64.h"

namespace muster {
namespace {

void Put(ObjectTable* objects, ObjectKind kind, const std::string& ns, const std::string& name,
         const std::string& manifest) {
  auto object = std::make_shared<StoredObject>();
  object->kind = kind;
  object->ns = ns;
  object->name = name;
  object->manifest = manifest;
  objects->insert_or_assign(ObjectKey{kind, ns, name}, ObjectPtr(object));
}

void PutMember(ObjectTable* objects, const std::string& name, const std::string& annotations,
               const std::string& spec = "") {
  Put(objects, ObjectKind::kMemberCluster, "", name,
      R"({"metadata":{"name":")" + name + R"(","annotations":{)" + annotations + R"(}},"spec":{)" +
          spec + "}}");
}

TEST(DeclaredMembers, AreThoseThatNameASecretWithWhatItHolds) {
  ObjectTable objects;
  PutMember(&objects, "by-flag", R"("muster.io/backend":"kubernetes")");
  PutMember(
      &objects, "full",
      R"("muster.io/kubeconfig-secret":"ns/way","muster.io/context":"c","muster.io/fast":"true")");
  PutMember(&objects, "no-secret", R"("muster.io/kubeconfig-secret":"ns/absent")");
  PutMember(&objects, "other-key", R"("muster.io/kubeconfig-secret":"ns/other")");
  PutMember(&objects, "other-namespace", R"("muster.io/kubeconfig-secret":"elsewhere/way")");
  Put(&objects, ObjectKind::kSecret, "ns", "way",
      R"({"data":{"kubeconfig":")" + EncodeBase64("text") + R"("}})");
  Put(&objects, ObjectKind::kSecret, "ns", "other", R"({"data":{"config":"dGV4dA=="}})");
  const std::vector<MemberDeclaration> wanted{
      {.name = "full", .kubeconfig = "text", .context = "c", .fast = true},
      {.name = "no-secret", .kubeconfig = "", .context = "", .fast = false},
      {.name = "other-key", .kubeconfig = "", .context = "", .fast = false},
      {.name = "other-namespace", .kubeconfig = "", .context = "", .fast = false}};
  EXPECT_EQ(DeclaredMembers(objects), wanted);
}

TEST(DeclaredMembers, HaveTheHeartbeatPeriodOfTheirObjects) {
  ObjectTable objects;
  PutMember(&objects, "added", R"("muster.io/kubeconfig-secret":"ns/way")",
            R"("heartbeatPeriodSeconds":5)");
  PutMember(&objects, "flagged", R"("muster.io/backend":"kubernetes")",
            R"("heartbeatPeriodSeconds":600)");
  PutMember(&objects, "flagged-by-default", R"("muster.io/backend":"kubernetes")");
  PutMember(&objects, "here", R"("muster.io/backend":"local")", R"("heartbeatPeriodSeconds":7)");
  const std::vector<MemberDeclaration> added = DeclaredMembers(objects);
  ASSERT_EQ(added.size(), 1U);
  EXPECT_EQ(added[0].heartbeat_s, 5);
  const std::map<std::string, std::int64_t> flagged{{"flagged", 600}, {"flagged-by-default", 60}};
  EXPECT_EQ(HeartbeatsOfFlagged(objects), flagged);
}

}  // namespace
}  // namespace muster
