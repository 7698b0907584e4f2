#include "schedd/daemon/access_config.h"

#include "schedd/daemon/config.h"
#include "schedd/model/access_table.h"
#include "schedd/shapes/config/default_access.h"

namespace muster {

bool HasRemoteMethod(const DaemonConfig& config) {
  return !config.tls.client_ca.empty() || config.tls.tokens || !config.oidc.empty() || config.munge;
}

std::string LocalUsersProblem(bool remote_method, const AccessTable& roles) {
  if (!remote_method || roles.FindBinding("", shapes::kLocalUsers) == nullptr) return "";
  return std::string("ClusterRoleBinding ") + shapes::kLocalUsers +
         ", which is for installations that only accounts of their own host reach, lets everybody "
         "who is known submit and see jobs in every namespace, people of other hosts too: bind the "
         "roles that people need, then delete it";
}

}  // namespace muster
