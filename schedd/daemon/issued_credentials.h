// The methods for credentials that others issue: tokens of configured issuers, munge.
#pragma once

#include <memory>

#include "api/auth/jwt/document_fetcher.h"
#include "api/auth/jwt/jwt_method.h"
#include "api/auth/munge/munge_decoder.h"
#include "api/auth/munge/munge_method.h"
#include "schedd/daemon/config.h"

namespace muster {

/// Owns the methods and what they ask. Destroyed after the authenticator that has the methods.
struct IssuedCredentials {
  std::unique_ptr<auth::DocumentFetcher> fetcher;
  std::unique_ptr<auth::MungeDecoder> decoder;
  std::shared_ptr<auth::JwtMethod> jwt;      // null without `oidc:`
  std::shared_ptr<auth::MungeMethod> munge;  // null without `munge`
};

/// Begins to fetch the issuers' keys; does not wait for them, because a provider that is down must
/// not keep the daemon from starting. `clock` must outlive the result.
IssuedCredentials OpenIssuedCredentials(const DaemonConfig& config,
                                        auth::MungeMethod::AccountLookup account,
                                        const Clock* clock);

}  // namespace muster
