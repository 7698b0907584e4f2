// Pod templates: checked as the Kubernetes API would, and reduced to what a decision needs: the
// effective request of one pod and where it may run (rules A5, A28).
//
// Fields this version knows are checked; unknown fields inside a template are kept (rule C6).
// Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schedd/model/workload.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// Which restartPolicy a shape's pods may have.
enum class RestartRule {
  kAny,                        // the shape's controller sets its own
  kNeverOrOnFailure,           // required, as batch/v1 Job does
  kNeverOrOnFailureDefaulted,  // may be absent: JobSet's webhook fills in OnFailure
  kAlways,                     // may be absent: pods of a StatefulSet
};

struct PodRules {
  RestartRule restart = RestartRule::kAny;
  const char* required_container = nullptr;  // PyTorchJob: "pytorch"
  bool may_be_flat = false;  // a pod spec stands where the template belongs (old Workloads)
};

/// Checks a pod template ({metadata, spec}) and makes the pod set of `count` pods of it.
PodSet ReadPodSet(const Field& pod_template, std::string name, std::int32_t count,
                  const PodRules& rules);

/// nodeSelector, node affinity and tolerations; null if there are none. Checks them.
std::shared_ptr<const SchedulingConstraints> ReadConstraints(const Field& pod_spec);

/// Taints of a flavor or a member cluster; tolerations of a pod or a flavor. Checked by Kubernetes'
/// rules.
std::vector<Taint> ReadTaints(const Field& taints);
std::vector<Toleration> ReadTolerations(const Field& tolerations);
/// A map of label keys to label values.
LabelMap ReadLabelMap(const Field& labels);

/// Records a problem at `where` if the pod sets together are more pods, or more pod sets, than
/// allowed, or ask together for a topology that cannot be.
void CheckPodSets(const Field& where, const PodSets& pod_sets);

}  // namespace muster::shapes
