// Pod templates: checked as the Kubernetes API would, and reduced to what a decision needs: the
// effective request of one pod and where it may run (rules A5, A28).
//
// The fields that this version knows are checked; unknown fields inside a template are kept (rule
// C6). Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schedd/model/workload.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// The restartPolicy that the pods of a kind may have.
enum class RestartRule {
  kAny,                        // the shape's controller sets its own
  kNeverOrOnFailure,           // required, as batch/v1 Job does
  kNeverOrOnFailureDefaulted,  // may be absent: JobSet's webhook fills in OnFailure
  kAlways,                     // may be absent: pods of a StatefulSet
};

/// How the pod templates of a kind differ from others.
struct PodRules {
  RestartRule restart = RestartRule::kAny;
  const char* required_container = nullptr;  // PyTorchJob: "pytorch"
  bool may_be_flat = false;  // the value is a pod spec instead of a template (early Workloads)
};

/// Checks a pod template ({metadata, spec}) and makes a pod set of `count` such pods.
PodSet ReadPodSet(const Field& pod_template, std::string name, std::int32_t count,
                  const PodRules& rules);

/// Records a problem at `where` if the pod sets are more, or have more pods together, than allowed,
/// or if their topology requests contradict each other.
void CheckPodSets(const Field& where, const PodSets& pod_sets);

}  // namespace muster::shapes
