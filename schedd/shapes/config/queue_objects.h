// Queue objects: manifests of ResourceFlavor, ClusterQueue, Cohort, LocalQueue,
// WorkloadPriorityClass, Topology, AdmissionCheck, LimitRange, RuntimeClass, Namespace, ConfigMap,
// Secret, placements, overrides and envelopes to typed values, strictly: unknown fields of queue
// kinds are refused with their path (rule C6); what is not done is refused by name:
// rules A3, A4, P2, P3, P28, P29.
#pragma once

#include <span>
#include <string>

#include "schedd/base/result.h"
#include "schedd/model/config.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// A configuration document, identified and validated.
struct ParsedObject {
  ObjectKind kind = ObjectKind::kNamespace;
  std::string ns, name;
  std::int64_t expected_resource_version = 0;  // metadata.resourceVersion, 0 if absent
  json::value manifest;  // normalised: without status, managedFields, uid and the like
};

/// Errors: unknown kind; every wrong field with its path; immutability is checked by ApplyTo.
Result<ParsedObject> ParseObject(const json::value& document);

/// True if apiVersion and kind are a configuration kind of Muster.
bool IsConfigObject(const json::value& document);

/// Puts an object into a configuration (typed part). Errors: LocalQueue.clusterQueue changed, ....
Status ApplyTo(ConfigView* config, ObjectKind kind, const json::value& manifest);
/// Removes it; no error if absent.
void RemoveFrom(ConfigView* config, ObjectKind kind, const std::string& ns,
                const std::string& name);

/// "ClusterQueue", its plural "clusterqueues", its group "kueue.x-k8s.io", served versions,
/// namespaced or not.
struct KindInfo {
  ObjectKind kind;
  const char* name;
  const char* plural;
  const char* group;        // "" for core
  const char* versions[2];  // second null if one
  bool namespaced;
};
const KindInfo& InfoOf(ObjectKind kind);
/// Every kind, in the order in which a set of objects is applied.
std::span<const KindInfo> Kinds();
/// Null if unknown. `plural` as in a path.
const KindInfo* FindKind(std::string_view group, std::string_view plural);

}  // namespace muster::shapes
