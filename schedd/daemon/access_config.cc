#include "schedd/daemon/access_config.h"

#include "schedd/daemon/config.h"

namespace muster {

bool HasRemoteMethod(const DaemonConfig& config) {
  return !config.tls.client_ca.empty() || config.tls.tokens || !config.oidc.empty() || config.munge;
}

}  // namespace muster
