// Who asks and what they may do. Until authentication exists the daemon listens on loopback only,
// so the principal is whoever can open a local socket; it is still named, authorised in one table
// and audited.
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::auth {

struct Principal {
  std::string user = "anonymous";
  std::string method = "loopback";
};

enum class Verb : std::uint8_t { kGet, kList, kCreate, kUpdate, kDelete };

/// What is acted on: a kind ("jobs", "clusterqueues"), a namespace ("" if none) and a name ("" for
/// lists).
struct ResourceRef {
  std::string_view kind, ns, name;
};

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  /// Done, or kPermissionDenied with a sentence. Thread-safe.
  virtual Status Authorize(const Principal& who, Verb verb, const ResourceRef& what) const = 0;
};

/// Allows every principal of the loopback interface everything.
class LoopbackAuthorizer final : public Authorizer {
 public:
  Status Authorize(const Principal& who, Verb verb, const ResourceRef& what) const override;
};

/// The principal of a loopback request: the user it names (X-Muster-User header or x-muster-user
/// metadata), or "anonymous". kUnauthenticated: the name is not 1-64 characters of [A-Za-z0-9._@-],
/// or the request has `credentials` (an Authorization header), which nothing here can check.
Result<Principal> LoopbackPrincipal(std::string_view claimed_user, bool credentials);

}  // namespace muster::auth
