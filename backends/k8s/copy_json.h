// Workloads that stand for attempts: how they are written on a member and read back. Pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/k8s/session.h"
#include "backends/member_queues.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// The group of Kueue's API, with the slash.
inline constexpr std::string_view kKueueGroup = "kueue.x-k8s.io/";

/// The Workload to create for a copy. kInvalidArgument if a template is no JSON object.
Result<json::object> CopyManifest(const CopyOrder& order, const std::vector<CopyPodSet>& pod_sets,
                                  std::string_view version, const std::string& instance);

/// A Workload that is a copy of this installation: it has our labels, and the name that follows
/// from them. Nothing if it is any other Workload.
std::optional<MemberCopy> ReadCopy(const json::object& workload, const std::string& member,
                                   const std::string& instance);

}  // namespace muster::k8s
