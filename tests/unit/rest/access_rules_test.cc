// S06: every row of the table of access rules is a route that is served, with the verb and resource
// of the row. That every route has a row is seen by the compiler.
#include "api/auth/access_rules.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "api/rest/api_context.h"
#include "api/rest/routes.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

std::string ScopeText(auth::AccessScope scope) { return std::to_string(static_cast<int>(scope)); }

TEST(RestAccessRules, S06_EveryRowIsARouteOfTheSameAccess) {
  ServiceWorld w;
  const FixedAuthenticator authenticator;
  rest::ApiContext context(w.service, *w.world.metrics, authenticator);
  std::set<std::string> served, rows;
  for (const rest::Route& route : rest::MusterRoutes(context)) {
    served.insert(std::string(rest::MethodName(route.method)) + " " + route.pattern + " " +
                  std::string(auth::VerbName(route.verb)) + " " + route.resource + " " +
                  ScopeText(static_cast<auth::AccessScope>(route.access)));
  }
  for (const auth::AccessRule& rule : auth::kAccessRules) {
    if (rule.way.starts_with("muster.")) continue;
    rows.insert(std::string(rule.way) + " " + std::string(auth::VerbName(rule.verb)) + " " +
                std::string(rule.resource) + " " + ScopeText(rule.scope));
  }
  EXPECT_EQ(served, rows);
  std::printf("S06: %zu routes with a row\n", served.size());
}

}  // namespace
}  // namespace muster::test
