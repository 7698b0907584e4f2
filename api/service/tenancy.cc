// A caller in system:masters is held to the Pod Security level as everybody else, as in Kubernetes:
// who may change the level, changes the level. The cap on priorities is asked of the authorizer
// only where a job is above it.
#include "api/service/tenancy.h"

#include <algorithm>
#include <limits>

#include "schedd/base/find_in.h"
#include "schedd/base/limits.h"
#include "schedd/base/saturating.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/shapes/parts/template_places.h"
#include "schedd/shapes/security/identity.h"
#include "schedd/shapes/security/pod_security.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

using shapes::Field;
using shapes::Problems;

constexpr std::string_view kClassField = "metadata.labels[kueue.x-k8s.io/priority-class]";
constexpr const char* kBoostField = "metadata.annotations[kueue.x-k8s.io/priority-boost]";

const NamespaceTenancy& TenancyOf(const ConfigView& config, const std::string& ns) {
  static const NamespaceTenancy none;
  const Namespace* found = FindIn(config.namespaces, ns);
  return found == nullptr ? none : found->tenancy;
}

// A refusal of manifest fields: who reads it can change the manifest, or ask for another level.
Error NotAllowed(const Problems& problems, const std::string& what) {
  Error error = problems.ToError();
  error.code = Code::kPermissionDenied;
  error.detail = what + ": " + error.detail;
  return error;
}

void CheckTemplates(const Field& root, std::string_view kind, const PodSecurityPolicy& policy) {
  shapes::VisitPodTemplates(root, kind, [&policy](const Field& pod_template) {
    shapes::CheckPodSecurity(policy, shapes::FieldsOfTemplate(pod_template));
  });
}

// The cap of a namespace and where it is written.
struct PriorityCap {
  std::int64_t value = std::numeric_limits<std::int64_t>::max();
  std::string source;
};

// A class that does not exist has no value: nothing above 0 is allowed until it does.
PriorityCap CapOf(const ConfigView& config, const NamespaceTenancy& tenancy) {
  PriorityCap cap;
  if (tenancy.max_priority)
    cap = {*tenancy.max_priority, "annotation muster.io/max-priority of the namespace"};
  if (tenancy.max_priority_class.empty()) return cap;
  const WorkloadPriorityClass* named = FindIn(config.priority_classes, tenancy.max_priority_class);
  const std::int64_t value = named == nullptr ? 0 : named->value;
  if (value >= cap.value) return cap;
  return {value, "annotation muster.io/max-priority-class of the namespace names " +
                     std::string(named == nullptr ? "a class that does not exist, " : "") + "\"" +
                     tenancy.max_priority_class + "\""};
}

// A boost that does not count (gate PriorityBoost off) cannot lower a priority below the cap.
std::int64_t CountedPriority(const AdmissionSettings& settings, std::int64_t value,
                             std::int64_t boost) {
  if (!settings.priority_boost) boost = std::max<std::int64_t>(boost, 0);
  return SaturatingAdd(value, boost);
}

// The policies that pods of this namespace and ClusterQueue must all satisfy: one, or two of
// different versions.
std::vector<PodSecurityPolicy> PodSecurityOf(const ConfigView& config, const std::string& ns,
                                             const std::string& cluster_queue) {
  const std::optional<PodSecurityPolicy>& of_namespace = TenancyOf(config, ns).enforce;
  const ClusterQueue* queue = FindIn(config.cluster_queues, cluster_queue);
  if (queue == nullptr || !queue->pod_security) return {of_namespace.value_or(PodSecurityPolicy())};
  const PodSecurityPolicy of_queue{*queue->pod_security};
  if (!of_namespace) return {of_queue};
  // Of two policies of one version the stricter contains the other; versions are not ordered.
  if (of_namespace->minor == of_queue.minor)
    return {of_namespace->level < of_queue.level ? of_queue : *of_namespace};
  return {*of_namespace, of_queue};
}

}  // namespace

Status CheckManifestTenancy(const ConfigView& config, const std::string& ns,
                            const std::string& cluster_queue, const shapes::ParsedJob& job) {
  const std::string_view kind = ShapeKindName(job.shape);
  const std::vector<PodSecurityPolicy> policies = PodSecurityOf(config, ns, cluster_queue);
  for (const PodSecurityPolicy& policy : policies) {
    if (policy.level == PodSecurityLevel::kPrivileged) continue;
    Problems problems;
    CheckTemplates(Field(job.manifest, &problems), kind, policy);
    if (!problems.empty())
      return NotAllowed(problems, "violates PodSecurity \"" + PodSecurityPolicyName(policy) +
                                      "\" of namespace \"" + ns + "\" and ClusterQueue \"" +
                                      cluster_queue + "\"");
  }
  const bool privileged = std::all_of(policies.begin(), policies.end(), [](const auto& policy) {
    return policy.level == PodSecurityLevel::kPrivileged;
  });
  Problems problems;
  shapes::CheckIdentity(Field(job.manifest, &problems), kind,
                        {ns, TenancyOf(config, ns), privileged});
  if (!problems.empty()) return NotAllowed(problems, "is not allowed in namespace \"" + ns + "\"");
  return Done{};
}

std::vector<std::string> PodSecurityWarnings(const ConfigView& config, const std::string& ns,
                                             const json::value& manifest) {
  std::string in = ns.empty() ? TextAt(manifest, {"metadata", "namespace"}) : ns;
  if (in.empty()) in = "default";
  const std::optional<PodSecurityPolicy>& warn = TenancyOf(config, in).warn;
  if (!warn) return {};
  Problems problems;
  CheckTemplates(Field(manifest, &problems), ViewAt(manifest, "kind"), *warn);
  if (problems.empty()) return {};
  std::vector<std::string> warnings;
  for (const FieldError& one : problems.ToError().fields) {
    if (warnings.size() == limits::kManifestWarnings) break;
    warnings.push_back("would violate PodSecurity \"" + PodSecurityPolicyName(*warn) +
                       "\": " + one.field + " " + one.message);
  }
  return warnings;
}

Status CheckPriorityCap(const ConfigView& config, const AdmissionSettings& settings,
                        const std::string& ns, const WantedPriority& wanted,
                        const auth::Principal& who, const auth::Authorizer& authorizer) {
  const NamespaceTenancy& tenancy = TenancyOf(config, ns);
  if (!tenancy.max_priority && tenancy.max_priority_class.empty()) return Done{};
  const PriorityCap cap = CapOf(config, tenancy);
  const std::int64_t priority = CountedPriority(settings, wanted.value, wanted.boost);
  if (priority <= cap.value) return Done{};
  if (authorizer.Allows(who, auth::Verb::kUpdate, {"", "namespaces", "", "", ns})) return Done{};
  // The boost alone is to blame if the class would be allowed without it.
  const bool boosted = wanted.boost > 0 && wanted.value <= cap.value;
  const std::string field = boosted ? kBoostField : std::string(wanted.class_field);
  Error error = InvalidField(field, "the priority would be " + std::to_string(priority) +
                                        ", and namespace \"" + ns + "\" allows at most " +
                                        std::to_string(cap.value) + " (" + cap.source + ")");
  error.code = Code::kPermissionDenied;
  return error;
}

Status CheckPriorityEdit(const WorldView& view, const JobRecord& job, const auth::Principal& who,
                         const auth::Authorizer& authorizer, ChangeJobCommand* edit) {
  if (!edit->priority_class && !edit->priority_boost) return Done{};
  const NamespaceTenancy& tenancy = TenancyOf(*view.config, job.ns);
  if (!tenancy.max_priority && tenancy.max_priority_class.empty()) return Done{};
  if (edit->expected_resource_version == 0) edit->expected_resource_version = job.resource_version;
  WantedPriority wanted{job.priority, job.priority_boost, kClassField};
  if (edit->priority_class) {
    // The engine refuses a class that does not exist.
    const auto* named = FindIn(view.config->priority_classes, *edit->priority_class);
    if (named == nullptr) return Done{};
    wanted.value = named->value;
  }
  if (edit->priority_boost) wanted.boost = *edit->priority_boost;
  const AdmissionSettings& settings = *view.settings;
  if (CountedPriority(settings, wanted.value, wanted.boost) <=
      CountedPriority(settings, job.priority, job.priority_boost)) {
    return Done{};
  }
  return CheckPriorityCap(*view.config, settings, job.ns, wanted, who, authorizer);
}

}  // namespace muster::api
