// Kubernetes paths through a socket, and the route table against the OpenAPI document.
#include <gtest/gtest.h>

#include <set>

#include "api/rest/openapi_text.h"
#include "api/rest/routes.h"
#include "schedd/text/yaml.h"
#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

const std::string kKueue = "/apis/kueue.x-k8s.io/v1beta1";

TEST(KubePaths, DiscoveryAnswersWithAndWithoutATrailingSlash) {
  ApiWorld api;
  for (const std::string slash : {"", "/"}) {
    EXPECT_EQ(Json(api.Get("/api" + slash).body).at("kind"), "APIVersions");
    EXPECT_EQ(Json(api.Get("/apis" + slash).body).at("kind"), "APIGroupList");
    EXPECT_EQ(Json(api.Get("/apis/kueue.x-k8s.io" + slash).body).at("kind"), "APIGroup");
    EXPECT_EQ(Json(api.Get("/api/v1" + slash).body).at("groupVersion"), "v1");
    EXPECT_EQ(Json(api.Get(kKueue + slash).body).at("groupVersion"), "kueue.x-k8s.io/v1beta1");
  }
  EXPECT_NE(api.Get(kKueue).body.find("\"clusterqueues\""), std::string::npos);
  EXPECT_NE(api.Get("/apis/batch/v1").body.find("\"jobs\""), std::string::npos);
  EXPECT_EQ(api.Get("/apis/example.org/v1").status, 404);
  EXPECT_EQ(api.Get("/apis/example.org").status, 404);
}

TEST(KubePaths, AConfigurationObjectLivesAsInKubernetes) {
  ApiWorld api;
  const std::string flavors = kKueue + "/resourceflavors";
  const json::value flavor = Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ResourceFlavor",
    "metadata":{"name":"spot","labels":{"tier":"cheap"}},"spec":{"nodeLabels":{"instance":"spot"}}})");
  const Answer made = api.Post(flavors, flavor);
  ASSERT_EQ(made.status, 201) << made.body;
  json::value object = Json(made.body);
  for (const char* key : {"uid", "resourceVersion", "generation", "creationTimestamp"}) {
    EXPECT_TRUE(object.at("metadata").as_object().contains(key)) << key;
  }
  const Answer again = api.Post(flavors, flavor);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(Json(again.body).at("kind"), "Status");
  EXPECT_EQ(Json(again.body).at("reason"), "AlreadyExists");
  EXPECT_EQ(Json(api.Get(flavors + "/spot").body).at("spec"), flavor.at("spec"));
  EXPECT_EQ(api.Get(flavors + "/spot/status").status, 200);

  const json::value list = Json(api.Get(flavors).body);
  EXPECT_EQ(list.at("kind"), "ResourceFlavorList");
  EXPECT_TRUE(list.at("metadata").at("resourceVersion").is_string());
  EXPECT_EQ(
      Json(api.Get(flavors + "?labelSelector=tier%3Dcheap").body).at("items").as_array().size(),
      1u);
  EXPECT_EQ(Json(api.Get(flavors + "?labelSelector=tier%20in%20(dear,none)").body)
                .at("items")
                .as_array()
                .size(),
            0u);
  EXPECT_EQ(Json(api.Get(flavors + "?fieldSelector=metadata.name%3Dspot").body)
                .at("items")
                .as_array()
                .size(),
            1u);
  EXPECT_EQ(api.Get(flavors + "?fieldSelector=spec.x%3Dy").status, 400);
  EXPECT_EQ(api.Get(flavors + "?watch=true").status, 501);

  object.at_pointer("/spec/nodeLabels").as_object()["zone"] = "b";
  const Answer replaced = api.Ask("PUT", flavors + "/spot", WriteJson(object));
  EXPECT_EQ(replaced.status, 200) << replaced.body;
  const Answer stale = api.Ask("PUT", flavors + "/spot", WriteJson(object));
  EXPECT_EQ(stale.status, 409) << "the resourceVersion is of before the replacement";
  EXPECT_EQ(Json(stale.body).at("reason"), "Conflict");
  EXPECT_EQ(api.Ask("PUT", flavors + "/other", WriteJson(object)).status, 400)
      << "another name than the path's";

  EXPECT_EQ(api.Ask("DELETE", flavors + "/spot", R"({"preconditions":{"uid":"not-it"}})").status,
            409);
  EXPECT_EQ(api.Ask("DELETE", flavors + "/spot?dryRun=All").status, 200);
  EXPECT_EQ(api.Get(flavors + "/spot").status, 200);
  EXPECT_EQ(Json(api.Ask("DELETE", flavors + "/spot", R"({"propagationPolicy":"Background"})").body)
                .at("status"),
            "Success");
  EXPECT_EQ(api.Get(flavors + "/spot").status, 404);
  EXPECT_EQ(api.Ask("DELETE", flavors + "/spot").status, 404);
}

TEST(KubePaths, JobsAreSubmittedReadListedAndDeleted) {
  ApiWorld api;
  const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
  json::value manifest = JobManifest("train");
  const Answer made = api.Post(jobs + "?fieldManager=kubectl", manifest);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(Json(made.body).at("kind"), "Job");
  EXPECT_TRUE(Json(made.body).at("metadata").as_object().contains("uid"));
  EXPECT_EQ(api.Post(jobs, manifest).status, 409);
  EXPECT_EQ(api.Post(jobs + "?dryRun=All", JobManifest("dry")).status, 201);
  EXPECT_EQ(api.Get(jobs + "/dry").status, 404);
  EXPECT_EQ(Json(api.Get(jobs + "/train").body).at("metadata").at("name"), "train");
  for (const std::string& path : {jobs, std::string("/apis/batch/v1/jobs")}) {
    const json::value list = Json(api.Get(path).body);
    EXPECT_EQ(list.at("kind"), "JobList") << path;
    ASSERT_EQ(list.at("items").as_array().size(), 1u) << path;
    EXPECT_EQ(list.at("items").at(0).at("metadata").at("name"), "train");
  }
  EXPECT_EQ(Json(api.Get("/apis/ray.io/v1/rayjobs").body).at("items").as_array().size(), 0u);
  manifest.at("metadata").as_object()["namespace"] = "other";
  EXPECT_EQ(api.Post(jobs, manifest).status, 400);
  EXPECT_EQ(api.Post("/apis/batch/v1/jobs", JobManifest("x")).status, 405);
  EXPECT_EQ(api.Ask("DELETE", jobs + "/train").status, 200);
  EXPECT_EQ(api.Ask("DELETE", jobs + "/nothing").status, 404);
}

TEST(KubePaths, PathsThatNameNothingAreStatus404) {
  ApiWorld api;
  for (const char* path :
       {"/api/v1/pods", "/api/v2/namespaces", "/apis/batch/v1/namespaces/default/cronjobs",
        "/apis/batch/v1/jobs/train",
        "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/clusterqueues",
        "/apis/kueue.x-k8s.io/v1/clusterqueues", "/api/v1/namespaces/default/pods/x"}) {
    const Answer answer = api.Get(path);
    EXPECT_EQ(answer.status, 404) << path << answer.body;
    EXPECT_EQ(Json(answer.body).at("kind"), "Status") << path;
  }
  EXPECT_EQ(Json(api.Get("/api/v1/namespaces/default").body).at("kind"), "Namespace");
}

TEST(OpenApi, TheDocumentAndTheRoutesAreTheSame) {
  const Result<std::vector<json::value>> document = ParseYaml(rest::kOpenApiText);
  ASSERT_TRUE(document.ok()) << document.error().detail;
  std::set<std::string> written, served;
  for (const auto& [path, item] : document->front().at("paths").as_object()) {
    for (const auto& [method, operation] : item.as_object()) {
      if (method == "parameters") continue;
      const json::value& access = operation.at("x-muster-access");
      written.insert(std::string(method) + " " + std::string(path) + " " +
                     std::string(access.at("verb").as_string()) + " " +
                     std::string(access.at("resource").as_string()));
      EXPECT_TRUE(operation.as_object().contains("operationId")) << path;
    }
  }
  ServiceWorld w;
  const FixedAuthenticator authenticator;
  rest::ApiContext context(w.service, *w.world.metrics, authenticator);
  for (const rest::Route& route : rest::MusterRoutes(context)) {
    std::string method(rest::MethodName(route.method));
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    served.insert(method + " " + route.pattern + " " + std::string(auth::VerbName(route.verb)) +
                  " " + route.resource);
  }
  EXPECT_EQ(written, served);
}

}  // namespace
}  // namespace muster::test
