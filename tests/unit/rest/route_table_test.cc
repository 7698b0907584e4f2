// RouteTable: the most literal route wins, verbs behind a colon, methods of a path.
#include "api/rest/http/route_table.h"

#include <gtest/gtest.h>

#include "api/rest/http/target.h"

namespace muster::rest {
namespace {

Route On(Method method, const char* pattern) {
  return {method, pattern, auth::Verb::kGet, "things", 0, Run::kInline, SyncHandler([](Request&) {
            return Response{};
          })};
}

class RouteTableTest : public ::testing::Test {
 protected:
  std::string Find(Method method, const char* target, std::vector<std::string>* params = nullptr) {
    Request request;
    EXPECT_TRUE(ParseTarget(target, &request)) << target;
    const RouteMatch match = table_.Match(method, request.segments);
    if (params != nullptr) *params = match.params;
    return match.index < 0 ? "-" + match.allow
                           : table_.routes()[static_cast<std::size_t>(match.index)].pattern;
  }
  RouteTable table_{{On(Method::kGet, "/"), On(Method::kGet, "/v1/jobs"),
                     On(Method::kGet, "/v1/jobs/{id}"), On(Method::kDelete, "/v1/jobs/{id}"),
                     On(Method::kPost, "/v1/jobs/{id}:hold"),
                     On(Method::kGet, "/apis/{g}/{v}/{plural}/{name}/status"),
                     On(Method::kGet, "/apis/{g}/{v}/namespaces/{ns}/{plural}"),
                     On(Method::kGet, "/apis/{g}/{v}")}};
};

TEST_F(RouteTableTest, LiteralsParametersAndVerbsAreTold) {
  std::vector<std::string> params;
  EXPECT_EQ(Find(Method::kGet, "/"), "/");
  EXPECT_EQ(Find(Method::kGet, "/v1/jobs/"), "/v1/jobs");
  EXPECT_EQ(Find(Method::kGet, "/v1/jobs/17", &params), "/v1/jobs/{id}");
  EXPECT_EQ(params, std::vector<std::string>{"17"});
  EXPECT_EQ(Find(Method::kPost, "/v1/jobs/17:hold", &params), "/v1/jobs/{id}:hold");
  EXPECT_EQ(params, std::vector<std::string>{"17"});
  EXPECT_EQ(Find(Method::kGet, "/v1/jobs/ns%2Fname", &params), "/v1/jobs/{id}");
  EXPECT_EQ(params, std::vector<std::string>{"ns/name"});
}

TEST_F(RouteTableTest, TheMostLiteralPatternWins) {
  std::vector<std::string> params;
  EXPECT_EQ(Find(Method::kGet, "/apis/batch/v1/namespaces/default/jobs", &params),
            "/apis/{g}/{v}/namespaces/{ns}/{plural}");
  EXPECT_EQ(params, (std::vector<std::string>{"batch", "v1", "default", "jobs"}));
  EXPECT_EQ(Find(Method::kGet, "/apis/kueue/v1/cohorts/a/status"),
            "/apis/{g}/{v}/{plural}/{name}/status");
}

TEST_F(RouteTableTest, AWrongMethodSaysWhichOnesAreRight) {
  EXPECT_EQ(Find(Method::kPut, "/v1/jobs/17"), "-GET, HEAD, DELETE");
  EXPECT_EQ(Find(Method::kPost, "/v1/jobs"), "-GET, HEAD");
  EXPECT_EQ(Find(Method::kGet, "/v1/nothing"), "-");
  EXPECT_EQ(Find(Method::kPost, "/v1/jobs/:hold"), "-GET, HEAD, DELETE")
      << "a verb needs something before it";
}

}  // namespace
}  // namespace muster::rest
