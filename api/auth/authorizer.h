// The caller of a request and what it may do. Until authentication exists the daemon listens on
// loopback only, so every process of the host can be the caller. The caller has a name all the
// same, every use case asks the Authorizer, and the name goes into the audit trail.
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::auth {

/// The user in whose name a request is made, and how the name was established.
struct Principal {
  std::string user = "anonymous";
  std::string method = "loopback";
};

enum class Verb : std::uint8_t { kGet, kList, kCreate, kUpdate, kDelete };

/// The object of a request: a kind ("jobs", "clusterqueues"), a namespace ("" if none) and a name
/// ("" for lists).
struct ResourceRef {
  std::string_view kind, ns, name;
};

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  /// Done, or kPermissionDenied with a sentence. Thread-safe.
  virtual Status Authorize(const Principal& who, Verb verb, const ResourceRef& what) const = 0;
};

}  // namespace muster::auth
