// Namespaces, and what a namespace or a queue lets its jobs do: the Pod Security level, service
// accounts, the highest priority, how many jobs may wait. Plain values; rules U70 to U75.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/scheduling.h"

namespace muster {

/// The levels of Kubernetes' Pod Security Standards, the laxest first.
enum class PodSecurityLevel : std::uint8_t { kPrivileged = 0, kBaseline = 1, kRestricted = 2 };

/// "privileged", "baseline", "restricted".
constexpr std::string_view PodSecurityLevelName(PodSecurityLevel level) {
  switch (level) {
    case PodSecurityLevel::kPrivileged:
      return "privileged";
    case PodSecurityLevel::kBaseline:
      return "baseline";
    case PodSecurityLevel::kRestricted:
      break;
  }
  return "restricted";
}

/// A level as one version of the standards defines it.
struct PodSecurityPolicy {
  static constexpr int kLatest = std::numeric_limits<int>::max();
  PodSecurityLevel level = PodSecurityLevel::kBaseline;
  int minor = kLatest;  // of Kubernetes 1.x
  bool operator==(const PodSecurityPolicy&) const = default;
};

/// "baseline:latest", "restricted:v1.30".
inline std::string PodSecurityPolicyName(const PodSecurityPolicy& policy) {
  return std::string(PodSecurityLevelName(policy.level)) + ":" +
         (policy.minor == PodSecurityPolicy::kLatest ? "latest"
                                                     : "v1." + std::to_string(policy.minor));
}

/// What the labels and annotations of a Namespace say of its tenants.
struct NamespaceTenancy {
  /// Labels pod-security.kubernetes.io/enforce and warn with their versions; unset: no such label.
  std::optional<PodSecurityPolicy> enforce, warn;
  /// There is a label pod-security.kubernetes.io/audit, which has no effect here.
  bool audit = false;
  /// Annotation muster.io/service-accounts: names that pods may have beside "default"; sorted.
  std::vector<std::string> service_accounts;
  /// Annotations muster.io/max-priority-class and max-priority: the lower one counts.
  std::string max_priority_class;  // "": none
  std::optional<std::int32_t> max_priority;
  /// Annotation muster.io/max-pending-jobs, in place of the daemon's own cap.
  std::optional<std::int64_t> max_pending_jobs;

  bool HasServiceAccount(std::string_view name) const {
    return std::binary_search(service_accounts.begin(), service_accounts.end(), name);
  }
};

struct Namespace {
  std::string name;
  LabelMap labels;
  std::string placement = {};  // annotation muster.io/placement; "": none
  NamespaceTenancy tenancy = {};
};

}  // namespace muster
