// RouteTable: all routes of the server in one list, and the match of a request against it.
//
// A pattern consists of literal segments and {names}; a last segment may carry a verb
// ("{id}:hold"). Immutable after construction, thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "api/auth/authorizer.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// Where a handler runs.
enum class Run : std::uint8_t {
  kInline,  // on the thread that read the request: only for handlers that never block
  kPool,    // on a worker of the pool: for handlers that may read the store
  kTable,   // on the one thread of low priority: for handlers that look at all jobs
  kMember,  // on a worker of the members' pool: for handlers that may wait for a member cluster
};

/// What a request needs before its handler runs.
enum class Access : std::uint8_t {
  kPublic,   // nothing: /livez, /healthz, /readyz and the web page alone
  kPath,     // a known caller that may read the path (RBAC's nonResourceURLs)
  kKnown,    // a known caller: questions about oneself
  kService,  // a known caller; the service asks what it may do
};

struct Route {
  Method method = Method::kGet;
  std::string pattern;                 // "/v1/jobs/{id}:hold"
  auth::Verb verb = auth::Verb::kGet;  // verb and resource are those of the route's access rule
  std::string resource;                // x-muster-access of the OpenAPI document has them
  std::size_t body_limit = 0;          // bytes; 0: the request has no body
  Run run = Run::kPool;
  std::variant<SyncHandler, AsyncHandler> handler;
  bool needs_world = false;  // 503 until the daemon has recovered and leads
  Access access = Access::kService;
  /// Of a route that runs inline: whether this request has to run on the pool, because whom it
  /// comes from may take a while to find out. Null: never.
  std::function<bool(const Request& request)> may_block = {};
  /// Of a route that runs on the pool: whether this request looks at all jobs. Null: none does.
  std::function<bool(const Request& request)> is_table = {};
};

struct RouteMatch {
  int index = -1;  // into routes(), -1: none
  std::vector<std::string> params;
  std::string allow;  // "GET, POST": the path's methods, if only the method is wrong
};

class RouteTable {
 public:
  explicit RouteTable(std::vector<Route> routes);
  const std::vector<Route>& routes() const { return routes_; }
  /// If several patterns match, the one with the most literal segments wins.
  RouteMatch Match(Method method, const std::vector<std::string>& segments) const;
  /// The methods of a path, "GET, HEAD, POST"; "" if it has no route.
  std::string Allowed(const std::vector<std::string>& segments) const;

 private:
  struct Part {
    bool is_param = false;
    std::string text;    // literal, or the parameter's name
    std::string suffix;  // ":hold" after a parameter
  };
  bool Matches(const std::vector<Part>& parts, const std::vector<std::string>& segments,
               std::vector<std::string>* params) const;

  std::vector<Route> routes_;
  std::vector<std::vector<Part>> parts_;               // of routes_
  std::map<std::size_t, std::vector<int>> by_length_;  // segments -> routes, most literal first
};

}  // namespace muster::rest
