// A daemon that has not recovered, or does not lead, knows no jobs. It refuses every request that
// reads or changes the world with 503 and the reason. The cases come from the route table, so that
// a new route is a case too.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/rest/routes.h"
#include "tests/unit/rest/waiting_world.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

// A path that the pattern matches: "/v1/jobs/{id}:hold" becomes "/v1/jobs/1:hold".
std::string PathOf(std::string pattern) {
  const std::vector<std::pair<std::string, std::string>> values = {
      {"{namespace}", "default"},    {"{id}", "1"},
      {"{group}", "kueue.x-k8s.io"}, {"{version}", "v1beta1"},
      {"{plural}", "workloads"},     {"{name}", "a"},
      {"{view}", "jobs"},            {"{item}", "7"},
      {"{part}", "log"},             {"{file}", "none.js"}};
  for (const auto& [name, value] : values) {
    const std::size_t at = pattern.find(name);
    if (at != std::string::npos) pattern.replace(at, name.size(), value);
  }
  EXPECT_EQ(pattern.find('{'), std::string::npos) << pattern << ": a parameter this test lacks";
  return pattern;
}

TEST(RestReadiness, BeforeTheDaemonIsReadyEveryRouteOfTheWorldIs503WithTheReason) {
  WaitingWorld world;
  const std::set<std::string> open = {"/",
                                      "/livez",
                                      "/healthz",
                                      "/readyz",
                                      "/metrics",
                                      "/openapi.yaml",
                                      "/version",
                                      "/api",
                                      "/apis",
                                      "/apis/{group}",
                                      "/api/v1",
                                      "/apis/{group}/{version}",
                                      "/v1/status",
                                      "/ui",
                                      "/ui/{view}",
                                      "/ui/{view}/{item}",
                                      "/ui/{view}/{item}/{part}",
                                      "/ui/assets/{file}",
                                      "/ui/providers",
                                      "/openapi/v3",
                                      "/openapi/v3/api/v1",
                                      "/openapi/v3/apis/{group}/{version}"};
  std::size_t of_the_world = 0;
  for (const rest::Route& route : rest::MusterRoutes(world.context)) {
    const std::string method(rest::MethodName(route.method));
    const std::string path = PathOf(route.pattern);
    EXPECT_EQ(route.needs_world, !open.contains(route.pattern)) << method << " " << route.pattern;
    const Answer answer = world.Ask(method, path);
    if (open.contains(route.pattern)) {
      const bool waits = route.pattern == "/readyz", lacks = route.pattern.ends_with("{file}");
      EXPECT_EQ(answer.status, waits ? 503 : lacks ? 404 : 200) << method << " " << path;
      continue;
    }
    ++of_the_world;
    EXPECT_EQ(answer.status, 503) << method << " " << path << ": " << answer.body;
    EXPECT_NE(answer.head.find("Retry-After: 1\r\n"), std::string::npos) << answer.head;
    EXPECT_NE(answer.body.find("the scheduler is not ready: recovery has not run yet"),
              std::string::npos)
        << answer.body;
    const bool kubernetes = path.starts_with("/api");
    EXPECT_EQ(answer.body.find("\"kind\":\"Status\"") != std::string::npos, kubernetes) << path;
  }
  EXPECT_GE(of_the_world, 60u);
  EXPECT_EQ(world.Ask("HEAD", "/v1/jobs").status, 503);
}

TEST(RestReadiness, AListIs200OnceTheDaemonHasRecovered) {
  WaitingWorld world;
  EXPECT_EQ(world.Ask("GET", "/v1/jobs").status, 503);
  while (!world.engine.View()->ready) world.engine.Step();
  EXPECT_EQ(world.Ask("GET", "/v1/jobs").status, 200);
  EXPECT_EQ(world.Ask("GET", "/apis/kueue.x-k8s.io/v1beta1/workloads").status, 200);
}

TEST(RestReadiness, WithoutItsLeadItAnswers503AndEndsEventStreams) {
  WaitingWorld world;
  while (!world.engine.View()->ready) world.engine.Step();
  RawClient follower(world.server.port());
  follower.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(follower.ReadUntil(": following"));
  world.store.SetAway(true);
  ApplyCommand command;
  command.changes = {NamespaceObject("default")};
  command.done = [](Result<std::vector<AppliedObject>>) {};
  ASSERT_TRUE(world.engine.Post(std::move(command)));
  while (world.engine.View()->ready) world.engine.Step();
  const Answer list = world.Ask("GET", "/v1/jobs");
  EXPECT_EQ(list.status, 503);
  EXPECT_NE(list.body.find("the database cannot be reached"), std::string::npos) << list.body;
  EXPECT_TRUE(follower.ReadUntil("0\r\n\r\n")) << "the stream ends in good order";
}

}  // namespace
}  // namespace muster::test
