// Jobs that a member cluster's own queue admits: what their records say (rule P34). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedd/model/job.h"
#include "schedd/model/queues.h"

namespace muster {

/// The admission check that a job of a ClusterQueue with a dispatch mode passes when a member has
/// admitted it. It is Muster's own: no other controller answers it, and no AdmissionCheck can have
/// the name.
inline constexpr std::string_view kMemberQueuesCheck = "muster.io/member-queues";

/// Kueue's labels of a job that its queue manages.
inline constexpr std::string_view kQueueNameLabel = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kPrebuiltWorkloadLabel = "kueue.x-k8s.io/prebuilt-workload-name";
/// Kueue's label of a Workload that another cluster's scheduler made: which one.
inline constexpr std::string_view kOriginLabel = "kueue.x-k8s.io/multikueue-origin";

/// Null if the job has no such check.
const AdmissionCheckStatus* MemberQueuesCheck(const JobRecord& job);

/// True while the job holds quota and waits for a member to admit it; it has no attempt yet.
bool AsksMembers(const JobRecord& job);

/// True if all other checks of the job are ready, so that what they add to the pods is known.
bool OtherChecksReady(const JobRecord& job);

/// True while the job's attempt is on a member whose own queue has admitted it.
bool IsRunByMemberQueue(const JobRecord& job);

/// The attempt to which copies on members belong: the next one while the job waits, else the
/// current one.
std::int32_t AttemptOfCopies(const JobRecord& job);

/// The name of the Workload that stands for an attempt in members' queues.
std::string CopyName(const Uid& job_uid, std::int32_t attempt);

}  // namespace muster
