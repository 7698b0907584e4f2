// Warnings: Warning headers on Kubernetes paths, fieldValidation, and `warnings` below /v1.
#include <gtest/gtest.h>

#include "api/rest/kube_warnings.h"
#include "schedd/base/limits.h"
#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

const std::string kKueue = "/apis/kueue.x-k8s.io/v1beta1";
const std::string kJobs = "/apis/batch/v1/namespaces/default/jobs";
const std::string kUnknown = "unknown field \"spec.template.spec.containers[0].comand\"";

json::value Misspelt(const std::string& name) {
  json::value job = JobManifest(name);
  job.at_pointer("/spec/template/spec/containers/0").as_object()["comand"] = "x";
  return job;
}

TEST(FieldValidation, WarnsUnlessItIsTold) {
  ApiWorld api;
  const std::string header =
      "Warning: 299 - \"unknown field \\\"spec.template.spec.containers[0].comand\\\"\"";
  const Answer warned = api.Post(kJobs + "?fieldManager=test", Misspelt("a"));
  EXPECT_EQ(warned.status, 201) << warned.body;
  EXPECT_NE(warned.head.find(header), std::string::npos) << warned.head;
  EXPECT_NE(api.Get(kJobs + "/a").body.find("comand"), std::string::npos) << "it is kept";
  const Answer dry = api.Post(kJobs + "?dryRun=All&fieldValidation=Warn", Misspelt("b"));
  EXPECT_EQ(dry.status, 201);
  EXPECT_NE(dry.head.find(header), std::string::npos);
  const Answer ignored = api.Post(kJobs + "?fieldValidation=Ignore", Misspelt("c"));
  EXPECT_EQ(ignored.status, 201);
  EXPECT_EQ(ignored.head.find("Warning"), std::string::npos);
  const Answer strict = api.Post(kJobs + "?fieldValidation=Strict", Misspelt("d"));
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(std::string(Json(strict.body).at("message").as_string()),
            "Job in version \"v1\" cannot be handled as a Job: strict decoding error: " + kUnknown);
  EXPECT_EQ(api.Get(kJobs + "/d").status, 404);
  EXPECT_EQ(api.Post(kJobs + "?fieldValidation=Strict", JobManifest("e")).status, 201);
  for (const char* method : {"POST", "PUT", "PATCH"}) {
    const std::string path = std::string(method) == "POST" ? kJobs : kJobs + "/a";
    const Answer bad = api.Ask(
        method, path + "?fieldValidation=strict", WriteJson(JobManifest("a")),
        std::string(method) == "PATCH" ? "Content-Type: application/merge-patch+json\r\n" : "");
    EXPECT_EQ(bad.status, 400) << method;
    EXPECT_NE(bad.body.find("Unsupported value"), std::string::npos) << bad.body;
  }
}

TEST(Warnings, AreMembersOfTheAnswersBelowV1) {
  ApiWorld api;
  const json::value one = Json(api.Post("/v1/namespaces/default/jobs", Misspelt("a")).body);
  EXPECT_EQ(one.at("warnings"), json::value(json::array{kUnknown}));
  const json::value none = Json(api.Post("/v1/namespaces/default/jobs", JobManifest("b")).body);
  EXPECT_EQ(none.at("warnings"), json::value(json::array()));
  const json::value batch =
      Json(api.Post("/v1/namespaces/default/jobs:batch",
                    json::array{JobManifest("c"), JobManifest("b"), Misspelt("d")})
               .body);
  EXPECT_EQ(batch.at(0).at("warnings"), json::value(json::array()));
  EXPECT_FALSE(batch.at(1).as_object().contains("warnings")) << "a problem";
  EXPECT_EQ(batch.at(2).at("warnings"), json::value(json::array{kUnknown}));
  const json::value applied =
      Json(api.Post("/v1/apply?dryRun=true", json::array{JobManifest("e"), Misspelt("f")}).body);
  EXPECT_EQ(applied.at("items").at(0).at("warnings"), json::value(json::array()));
  EXPECT_EQ(applied.at("items").at(1).at("warnings"), json::value(json::array{kUnknown}));
  const json::value script = Json(
      api.Post("/v1/namespaces/default/jobs", Json(R"({"script":"#!/bin/sh\n","queue":"queue"})"))
          .body);
  EXPECT_EQ(script.at("warnings"), json::value(json::array()));
}

TEST(Warnings, ACycleOfCohortsIsTakenAndSaidAtOnce) {
  ApiWorld api;
  const auto cohort = [](const std::string& name, const std::string& parent) {
    return Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Cohort","metadata":{"name":")" +
                name + R"("},"spec":{"parent":")" + parent + R"("}})");
  };
  const Answer first = api.Post(kKueue + "/cohorts", cohort("a", "b"));
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(first.head.find("Warning"), std::string::npos);
  EXPECT_FALSE(Json(first.body).at("status").as_object().contains("conditions"));
  const Answer closed = api.Post(kKueue + "/cohorts", cohort("b", "a"));
  EXPECT_EQ(closed.status, 201) << "as Kueue takes it";
  EXPECT_NE(
      closed.head.find("Warning: 299 - \"Cohort \\\"b\\\": its cohorts form a cycle (b -> a -> b)"),
      std::string::npos)
      << closed.head;
  for (const char* name : {"a", "b"}) {
    const json::value status = Json(api.Get(kKueue + "/cohorts/" + name).body).at("status");
    EXPECT_EQ(status.at_pointer("/conditions/0/type"), "Active") << name;
    EXPECT_EQ(status.at_pointer("/conditions/0/reason"), "CohortCycle") << name;
    EXPECT_EQ(status.at_pointer("/conditions/0/status"), "False") << name;
  }
  const json::value queue = Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
    "metadata":{"name":"lost"},"spec":{"cohort":"a"}})");
  const Answer made = api.Post(kKueue + "/clusterqueues", queue);
  EXPECT_NE(made.head.find("ClusterQueue \\\"lost\\\": its cohorts form a cycle (a -> b -> a)"),
            std::string::npos)
      << made.head;
  EXPECT_EQ(Json(made.body).at_pointer("/status/conditions/0/reason"), "CohortCycle") << made.body;
  const json::value applied =
      Json(api.Post("/v1/apply?dryRun=true", json::array{cohort("c", "c")}).body);
  EXPECT_EQ(applied.at("items").at(0).at("warnings").as_array().size(), 1u);
  const Answer broken = api.Ask("PATCH", kKueue + "/cohorts/a", R"({"spec":{"parent":null}})",
                                "Content-Type: application/merge-patch+json\r\n");
  EXPECT_EQ(broken.status, 200) << broken.body;
  EXPECT_EQ(broken.head.find("Warning"), std::string::npos);
  EXPECT_FALSE(Json(broken.body).at("status").as_object().contains("conditions"));
}

TEST(Warnings, AreBoundedAndStayInTheirHeader) {
  rest::Response response;
  rest::AddWarnings({"a \"quoted\" \\ and\r\nX-Evil: 1"}, &response);
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].second, R"(299 - "a \"quoted\" \\ and??X-Evil: 1")");
  rest::Response many;
  rest::AddWarnings(std::vector<std::string>(100, std::string(1000, 'x')), &many);
  std::size_t bytes = 0;
  for (const auto& [name, value] : many.headers) bytes += value.size();
  EXPECT_LE(bytes, limits::kWarningHeaderBytes);
  EXPECT_GE(many.headers.size(), 3u);
}

}  // namespace
}  // namespace muster::test
