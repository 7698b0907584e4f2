// The objects that a daemon needs for one of Kueue's loads: queue objects, machines, and the jobs
// as users send them.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/reference_loads.h"

namespace muster::bench {

/// The flag of musterd for a member whose jobs only sleep.
std::string MemberFlag(const ReferenceLoad& load);
/// The path of the member's object.
inline constexpr const char* kMemberPath =
    "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/sim";
/// A merge patch with the member's machines; "" if the load has none.
std::string MachinesPatch(const ReferenceLoad& load);
/// YAML for POST /v1/apply, in this order; each part is within the limits of one request.
std::vector<std::string> WorldManifests(const ReferenceLoad& load);
/// The name of a job, such as "small-0-3-17": class, cohort, queue, number.
std::string JobName(const ReferenceLoad& load, const Arrival& arrival);
/// A batch/v1 Job with its run time in an annotation.
std::string JobManifest(const ReferenceLoad& load, const Arrival& arrival);

}  // namespace muster::bench
