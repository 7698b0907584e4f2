// Bodies in Kubernetes' protobuf, as kubectl sends them.
#include "api/rest/kube_protobuf.h"

#include <gtest/gtest.h>

#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

const std::string kType = "Content-Type: application/vnd.kubernetes.protobuf\r\n";

// A field of bytes, and one of a number below 128.
std::string Bytes(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}
std::string Number(int number, char value) {
  return std::string{static_cast<char>(number << 3), value};
}

std::string Body(const std::string& api_version, const std::string& kind,
                 const std::string& object) {
  return std::string("k8s\0", 4) + Bytes(1, Bytes(1, api_version) + Bytes(2, kind)) +
         Bytes(2, object) + Bytes(3, "") + Bytes(4, "");
}

Result<json::value> Parse(const std::string& body) {
  ParseBudget budget;
  return rest::ParseKubeProtobuf(body, &budget);
}

TEST(KubeProtobuf, ObjectsAreThoseOfTheirJson) {
  const std::string rbac = "rbac.authorization.k8s.io/v1";
  const struct {
    const char* what;
    std::string body;
    const char* json;  // nullptr: refused
  } cases[] = {
      {"a role with an empty group",
       Body(rbac, "Role",
            Bytes(1, Bytes(1, "r") + Bytes(2, "") + Bytes(8, "") + Number(7, 0)) +
                Bytes(2, Bytes(1, "get") + Bytes(1, "list") + Bytes(2, "") + Bytes(3, "secrets"))),
       R"({"metadata":{"name":"r"},"rules":[{"verbs":["get","list"],"apiGroups":[""],
           "resources":["secrets"]}],"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role"})"},
      {"maps, and bytes in base64",
       Body("v1", "Secret",
            Bytes(1, Bytes(11, Bytes(1, "k") + Bytes(2, "v"))) +
                Bytes(2, Bytes(1, "a") + Bytes(2, std::string("\0\xff", 2))) + Number(5, 0)),
       R"({"metadata":{"labels":{"k":"v"}},"data":{"a":"AP8="},"immutable":false,
           "apiVersion":"v1","kind":"Secret"})"},
      {"a zero that is set is kept, what the server writes is not",
       Body("batch/v1", "Job", Bytes(2, Number(7, 0)) + Bytes(3, Number(4, 1))),
       R"({"spec":{"backoffLimit":0},"apiVersion":"batch/v1","kind":"Job"})"},
      {"an unknown field that is empty", Body("v1", "Namespace", Bytes(9, "") + Number(10, 0)),
       R"({"apiVersion":"v1","kind":"Namespace"})"},
      {"an unknown field that is not", Body("v1", "Namespace", Bytes(9, "x")), nullptr},
      {"another kind", Body("v1", "Pod", ""), nullptr},
      {"a version that is not served", Body("rbac.authorization.k8s.io/v1beta1", "Role", ""),
       nullptr},
      {"no envelope", "{}", nullptr},
      {"an envelope that ends early", std::string("k8s\0\x0a\x7f", 6), nullptr},
      {"an object that ends early", Body("v1", "Namespace", std::string("\x0a\x05x", 3)), nullptr},
      {"a text where a message belongs", Body("v1", "Namespace", Bytes(1, "x")), nullptr},
      {"a number where a text belongs", Body("v1", "Namespace", Bytes(1, Number(1, 1))), nullptr},
      {"a text that is no UTF-8", Body("v1", "Namespace", Bytes(1, Bytes(1, "\xff"))), nullptr},
      {"a number without an end", Body("v1", "Namespace", std::string(12, '\xff')), nullptr},
      {"field zero", Body("v1", "Namespace", Bytes(0, "x")), nullptr},
  };
  for (const auto& one : cases) {
    const Result<json::value> object = Parse(one.body);
    ASSERT_EQ(object.ok(), one.json != nullptr) << one.what;
    if (object.ok()) {
      EXPECT_EQ(*object, Json(one.json)) << one.what << WriteJson(*object);
    } else {
      EXPECT_EQ(object.error().code, Code::kInvalidArgument) << one.what;
    }
  }
}

TEST(KubeProtobuf, EveryCutBodyIsRefusedOrRead) {
  const std::string whole =
      Body("v1", "ConfigMap",
           Bytes(1, Bytes(1, "c") + Bytes(12, Bytes(1, "k") + Bytes(2, "v"))) +
               Bytes(2, Bytes(1, "a") + Bytes(2, "b")));
  for (std::size_t size = 0; size < whole.size(); ++size) (void)Parse(whole.substr(0, size));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    (void)Parse(changed);
  }
  EXPECT_TRUE(Parse(whole).ok());
}

TEST(KubeProtobuf, IsTakenOnKubernetesPathsAlone) {
  ApiWorld api;
  const std::string review =
      Body("authorization.k8s.io/v1", "SelfSubjectAccessReview",
           Bytes(1, "") + Bytes(2, Bytes(2, Bytes(1, "/version") + Bytes(2, "get"))));
  const std::string path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const Answer answer = api.Ask("POST", path, review, kType);
  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(Json(answer.body).at("spec"),
            Json(R"({"nonResourceAttributes":{"path":"/version","verb":"get"}})"));
  EXPECT_EQ(api.Ask("POST", path, "{}", "Content-Type: text/plain\r\n").status, 415);
  const std::string name_space = Body("v1", "Namespace", Bytes(1, Bytes(1, "made")));
  EXPECT_EQ(api.Ask("POST", "/api/v1/namespaces", name_space, kType).status, 201);
  EXPECT_EQ(api.Get("/api/v1/namespaces/made").status, 200);
  EXPECT_EQ(api.Ask("POST", "/v1/apply", name_space, kType).status, 415);
}

TEST(KubeOpenApi, EveryKindSaysThatTheServerChecksFields) {
  ApiWorld api;
  const json::value index = Json(api.Get("/openapi/v3").body);
  for (const auto& group : index.at("paths").as_object()) {
    const std::string url(group.value().at("serverRelativeURL").as_string());
    const json::value document = Json(api.Get(url).body);
    std::size_t patches = 0;
    for (const auto& path : document.at("paths").as_object()) {
      const json::value* patch = path.value().as_object().if_contains("patch");
      if (patch == nullptr) continue;
      ++patches;
      EXPECT_EQ(patch->at_pointer("/parameters/1/name"), "fieldValidation") << url;
    }
    EXPECT_EQ(patches, document.at_pointer("/components/schemas").as_object().size()) << url;
  }
  EXPECT_TRUE(index.at("paths").as_object().contains("apis/batch/v1"));
  EXPECT_EQ(api.Get("/openapi/v3/apis/example.org/v1").status, 404);
}

TEST(KubePaths, TheStatusOfANamespaceIsNoListInIt) {
  ApiWorld api;
  const Answer status = api.Get("/api/v1/namespaces/default/status");
  EXPECT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(Json(status.body).at("kind"), "Namespace");
  EXPECT_EQ(api.Ask("PUT", "/api/v1/namespaces/default/status", status.body).status, 405);
}

TEST(KubePaths, PodsAreRefusedWithTheWayToLogs) {
  ApiWorld api;
  const Answer pods = api.Get("/api/v1/namespaces/default/pods");
  EXPECT_EQ(pods.status, 404);
  EXPECT_NE(pods.body.find("Muster has no pods of its own"), std::string::npos) << pods.body;
}

TEST(KubeChanges, StrategicMergesAreForKubernetesOwnKinds) {
  ApiWorld api;
  const std::string type = "Content-Type: application/strategic-merge-patch+json\r\n";
  const std::string patch = R"({"metadata":{"labels":{"a":"b"}}})";
  EXPECT_EQ(api.Ask("PATCH", "/api/v1/namespaces/default", patch, type).status, 200);
  const std::string queue = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/queue";
  EXPECT_EQ(api.Ask("PATCH", queue, patch, type).status, 415);
}

}  // namespace
}  // namespace muster::test
