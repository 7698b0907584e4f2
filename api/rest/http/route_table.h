// RouteTable: all routes of the server in one list, and the match of a request against it.
//
// A pattern consists of literal segments and {names}; a last segment may carry a verb
// ("{id}:hold"). Immutable after construction, thread-safe.
#pragma once

#include <cstddef>
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
};

struct Route {
  Method method = Method::kGet;
  std::string pattern;                 // "/v1/jobs/{id}:hold"
  auth::Verb verb = auth::Verb::kGet;  // what the service authorises
  std::string resource;                // the kind; x-muster-access of the OpenAPI document has it
  std::size_t body_limit = 0;          // bytes; 0: the request has no body
  Run run = Run::kPool;
  std::variant<SyncHandler, AsyncHandler> handler;
  bool needs_world = false;  // 503 until the daemon has recovered and leads
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
