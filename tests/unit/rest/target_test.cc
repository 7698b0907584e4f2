// Request targets: which are decoded to what, and which are refused.
#include "api/rest/http/target.h"

#include <gtest/gtest.h>

namespace muster::rest {
namespace {

struct Case {
  const char* target;
  std::vector<std::string> segments;
};

TEST(ParseTarget, SplitsAndDecodesSegments) {
  const Case cases[] = {
      {"/", {}},
      {"/v1/jobs", {"v1", "jobs"}},
      {"/v1/jobs/", {"v1", "jobs"}},
      {"/v1/jobs/a%2Fb", {"v1", "jobs", "a/b"}},
      {"/v1/jobs/a+b", {"v1", "jobs", "a+b"}},
      {"/caf%C3%A9", {"caf\xC3\xA9"}},
      {"/v1/jobs?x=/y/", {"v1", "jobs"}},
  };
  for (const Case& c : cases) {
    Request request;
    ASSERT_TRUE(ParseTarget(c.target, &request)) << c.target;
    EXPECT_EQ(request.segments, c.segments) << c.target;
  }
}

TEST(ParseTarget, RefusesWhatTwoReadersCouldReadDifferently) {
  for (const char* target : {"", "v1/jobs", "*", "//v1", "/v1//jobs", "/v1/./jobs", "/v1/../jobs",
                             "/v1/%2e%2E/jobs", "/v1/%", "/v1/%4", "/v1/%4x", "/v1/%00", "/v1#top",
                             "/v1?a=%zz", "/v1?%00=a", "/v1/jobs//"}) {
    Request request;
    EXPECT_FALSE(ParseTarget(target, &request)) << target;
  }
}

TEST(ParseTarget, KeepsQueryParametersInOrderAndDecoded) {
  Request request;
  ASSERT_TRUE(
      ParseTarget("/v1/jobs?state=Pending%2CRunning&user=a+b&empty=&bare&&user=second", &request));
  const std::vector<std::pair<std::string, std::string>> expected = {{"state", "Pending,Running"},
                                                                     {"user", "a b"},
                                                                     {"empty", ""},
                                                                     {"bare", ""},
                                                                     {"user", "second"}};
  EXPECT_EQ(request.query, expected);
  ASSERT_NE(request.Query("user"), nullptr);
  EXPECT_EQ(*request.Query("user"), "a b");
  EXPECT_EQ(request.Query("absent"), nullptr);
}

TEST(Request, KnowsKubernetesPaths) {
  for (const auto& [target, kubernetes] :
       std::vector<std::pair<const char*, bool>>{{"/api", true},
                                                 {"/apis/batch/v1", true},
                                                 {"/v1/jobs", false},
                                                 {"/", false},
                                                 {"/apiserver", false}}) {
    Request request;
    ASSERT_TRUE(ParseTarget(target, &request));
    EXPECT_EQ(request.IsKubernetesPath(), kubernetes) << target;
  }
}

}  // namespace
}  // namespace muster::rest
