// POST /v1/quotas through a socket: an edit, what it would do, and what is refused.
#include <gtest/gtest.h>

#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

json::value QuotaOfQueue(ApiWorld& api) {
  return Json(api.Get("/v1/quotas?clusterQueue=cq").body).at("items").at(0);
}

std::string EditOf(ApiWorld& api, const std::string& more) {
  const json::value quota = QuotaOfQueue(api);
  return R"({"clusterQueue":"cq","flavor":)" + json::serialize(quota.at("flavor")) +
         R"(,"resource":)" + json::serialize(quota.at("resource")) + more + "}";
}

TEST(RestQuota, ADryRunSaysWhatItWouldAdmitAndChangesNothing) {
  ApiWorld api;
  ASSERT_EQ(api.Ask("POST", "/v1/quotas", EditOf(api, R"(,"nominal":"0")")).status, 200);
  const Answer job = api.Post("/v1/namespaces/default/jobs", JobManifest("waits"));
  ASSERT_EQ(job.status, 201) << job.body;
  const Answer dry = api.Ask("POST", "/v1/quotas?dryRun=true", EditOf(api, R"(,"nominal":"8")"));
  ASSERT_EQ(dry.status, 200) << dry.body;
  EXPECT_EQ(Json(dry.body).at("quota").at("nominal"), "8");
  ASSERT_EQ(Json(dry.body).at("wouldAdmit").as_array().size(), 1U) << dry.body;
  EXPECT_EQ(Json(dry.body).at("wouldAdmit").at(0).at("name"), "waits");
  EXPECT_TRUE(Json(dry.body).at("wouldPreempt").as_array().empty());
  EXPECT_EQ(QuotaOfQueue(api).at("nominal"), "0");
}

TEST(RestQuota, AnEditIsAnsweredWithTheQuota_NullRemovesALimit) {
  ApiWorld api;
  const Answer set = api.Ask("POST", "/v1/quotas", EditOf(api, R"(,"nominal":"9")"));
  ASSERT_EQ(set.status, 200) << set.body;
  EXPECT_EQ(Json(set.body).at("quota").at("nominal"), "9");
  EXPECT_EQ(QuotaOfQueue(api).at("nominal"), "9");
  const Answer removed = api.Ask("POST", "/v1/quotas", EditOf(api, R"(,"borrowingLimit":null)"));
  ASSERT_EQ(removed.status, 200) << removed.body;
  EXPECT_TRUE(Json(removed.body).at("quota").at("borrowingLimit").is_null());
}

TEST(RestQuota, WhatIsWrongIsRefusedByItsField) {
  ApiWorld api;
  struct Case {
    const char* more;
    int status;
    const char* says;
  };
  const Case cases[] = {
      {R"(,"nominal":"-1")", 400, "nominal"},
      {R"(,"nominal":9)", 400, "nominal"},
      {R"(,"nominal":null)", 400, "nominal"},
      {R"(,"nominal":"x")", 400, "nominal"},
      {R"(,"lendinglimit":"1")", 400, "lendinglimit"},
      {R"(,"nominal":"3","etag":"1000000")", 409, "read it again"},
      {"", 400, "sets none"},
  };
  for (const Case& one : cases) {
    const Answer answer = api.Ask("POST", "/v1/quotas", EditOf(api, one.more));
    EXPECT_EQ(answer.status, one.status) << one.more << answer.body;
    EXPECT_NE(answer.body.find(one.says), std::string::npos) << one.more << answer.body;
  }
  EXPECT_EQ(api.Ask("POST", "/v1/quotas?dryrun=1", EditOf(api, R"(,"nominal":"1")")).status, 400);
  EXPECT_EQ(QuotaOfQueue(api).at("nominal"), "4");
}

TEST(RestQuota, TheOrderOfAQueueHasPositions) {
  ApiWorld api;
  ASSERT_EQ(api.Ask("POST", "/v1/quotas", EditOf(api, R"(,"nominal":"0")")).status, 200);
  for (const char* name : {"first", "second", "third"})
    ASSERT_EQ(api.Post("/v1/namespaces/default/jobs", JobManifest(name)).status, 201);
  const std::string path = "/v1/clusterqueues/cq/order";
  const json::value all = Json(api.Get(path).body);
  EXPECT_EQ(all.at("waiting"), 3);
  ASSERT_EQ(all.at("items").as_array().size(), 3U);
  EXPECT_EQ(all.at("items").at(0).at("name"), "first");
  EXPECT_EQ(all.at("items").at(0).at("position"), 1);
  const json::value piece = Json(api.Get(path + "?offset=1&limit=1").body);
  EXPECT_EQ(piece.at("waiting"), 3);
  ASSERT_EQ(piece.at("items").as_array().size(), 1U);
  EXPECT_EQ(piece.at("items").at(0).at("name"), "second");
  EXPECT_EQ(piece.at("items").at(0).at("position"), 2);
  EXPECT_TRUE(Json(api.Get(path + "?offset=9").body).at("items").as_array().empty());
  EXPECT_EQ(api.Get("/v1/clusterqueues/none/order").status, 404);
  EXPECT_EQ(api.Get(path + "?limit=0").status, 400);
  EXPECT_EQ(api.Get(path + "?since=1").status, 400);
}

}  // namespace
}  // namespace muster::test
