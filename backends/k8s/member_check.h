// What a cluster is and what its user may do there, asked before it becomes a member.
#pragma once

#include "backends/k8s/client/api_client.h"
#include "backends/k8s/client/kubeconfig.h"
#include "backends/member_probe.h"

namespace muster::k8s {

/// Asks the cluster with a client of its own. Blocks until it has answered, a quarter of a minute
/// at most. Not on the strand of any client.
MemberReport CheckMember(const ClientEnvironment& environment, MemberAccess access,
                         const std::string& name);

}  // namespace muster::k8s
