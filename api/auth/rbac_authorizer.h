// The policy of the server: Kubernetes' RBAC over the roles and bindings that are published.
#pragma once

#include <functional>
#include <string_view>

#include "api/auth/authorizer.h"
#include "schedd/model/config.h"

namespace muster::auth {

/// True for members of system:masters, who may do everything whatever the roles say (rule U3).
bool IsMaster(const Principal& who);

/// Asks the newest published table; takes no lock. Thread-safe if `config` is.
class RbacAuthorizer final : public Authorizer {
 public:
  /// `config` gives the published configuration, never null; it is called once per question.
  explicit RbacAuthorizer(std::function<ConfigPtr()> config) : config_(std::move(config)) {}

  bool Allows(const Principal& who, Verb verb, const ResourceRef& what) const override;
  bool AllowsPath(const Principal& who, Verb verb, std::string_view path) const override;

 private:
  const std::function<ConfigPtr()> config_;
};

}  // namespace muster::auth
