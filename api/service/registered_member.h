// Annotations of a MemberCluster that was added while the daemon runs. Members that the daemon's
// flags declare do not have them.
#pragma once

#include <string>

#include "schedd/model/queues.h"

namespace muster::api {

/// Where the kubeconfigs of added members are kept. It takes no jobs: a job gets the Secrets of its
/// namespace.
inline constexpr const char* kSystemNamespace = "muster-system";

/// NAMESPACE/NAME of the Secret whose key `kubeconfig` has the member's kubeconfig.
inline constexpr const char* kKubeconfigSecret = "muster.io/kubeconfig-secret";
inline constexpr const char* kKubeconfigContext = "muster.io/context";
inline constexpr const char* kFastDispatch = "muster.io/fast";

/// The value of kKubeconfigSecret; "" for a member that a flag declares.
std::string KubeconfigSecretOf(const StoredObject& member);

}  // namespace muster::api
