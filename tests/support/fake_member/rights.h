// Rights: what the user of a fake member may not do. It may do everything but what a test takes
// away, and may ask about itself (SelfSubjectAccessReview), as every user of Kubernetes may.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "tests/support/fake_member/api.h"

namespace muster::fake {

/// Not thread-safe.
class Rights {
 public:
  /// `plural` with its group unless that is "": "jobs.batch", "pods". `ns` "": everywhere.
  void Set(const std::string& verb, const std::string& plural, const std::string& ns, bool allowed);
  /// The authorizer's answer to a request that is not allowed.
  std::optional<Answer> Refusal(const Route& route, const Resource& resource) const;
  static bool IsReview(const Request& request, const Route& route);
  Answer Review(const Request& request) const;

 private:
  bool Allows(const std::string& verb, const std::string& plural, const std::string& ns) const;

  std::set<std::tuple<std::string, std::string, std::string>> denied_;
};

}  // namespace muster::fake
