#include "schedd/daemon/issued_credentials.h"

namespace muster {

IssuedCredentials OpenIssuedCredentials(const DaemonConfig& config,
                                        auth::MungeMethod::AccountLookup account,
                                        const Clock* clock) {
  IssuedCredentials out;
  if (!config.oidc.empty()) {
    out.fetcher = auth::NewCurlFetcher();
    out.jwt = std::make_shared<auth::JwtMethod>(config.oidc, out.fetcher.get(), clock);
  }
  if (config.munge) {
    out.decoder = auth::NewMungeDecoder(config.munge_socket);
    out.munge = std::make_shared<auth::MungeMethod>(out.decoder.get(), std::move(account), clock);
  }
  return out;
}

}  // namespace muster
