// CheckMember: finds out what a cluster is and what the kubeconfig's user may do there, before the
// cluster becomes a member.
#pragma once

#include "backends/k8s/client/api_client.h"
#include "backends/k8s/client/kubeconfig.h"
#include "backends/member_probe.h"

namespace muster::k8s {

/// Asks the cluster with a client of its own. Blocks until the cluster has answered, a quarter of a
/// minute at most. Must not be called on the strand of a client.
MemberReport CheckMember(const ClientEnvironment& environment, MemberAccess access,
                         const std::string& name);

}  // namespace muster::k8s
