// Kubernetes' Pod Security Standards (rule U70): what a pod template of each level may not say.
//
// Source: the page "Pod Security Standards" of Kubernetes' documentation, and
// k8s.io/pod-security-admission/policy, whose checks, lists and versions these are. One relaxation
// is left out: since 1.35 `hostUsers: false` allows more, but members that do not know the field,
// or that run processes, ignore it. Pure.
#pragma once

#include "schedd/model/tenancy.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// A pod template as the checks look at it.
struct PodTemplateFields {
  Field metadata;  // of the pods
  Field spec;      // PodSpec
};
/// The fields of a template, or of the pod spec in its place (template_places.h).
PodTemplateFields FieldsOfTemplate(const Field& pod_template);

/// Records a problem at every field of the template that this policy does not allow; none for
/// privileged. Looks at containers, init containers and ephemeral containers. A value of the wrong
/// type is a problem too, so that none is taken for an absent one.
void CheckPodSecurity(const PodSecurityPolicy& policy, const PodTemplateFields& pod);

// --- the two parts, one source each
/// The controls of level baseline; those that restricted replaces by stricter ones are left out for
/// that level.
void CheckBaseline(const PodSecurityPolicy& policy, const PodTemplateFields& pod);
/// The controls that restricted has beside those of baseline.
void CheckRestricted(const PodSecurityPolicy& policy, const PodTemplateFields& pod);

/// All containers of the pod, in the order of the standard's own checks.
std::vector<Field> ContainerFields(const Field& pod_spec);

}  // namespace muster::shapes
