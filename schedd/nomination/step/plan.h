// PlanNominations: what must be done for jobs of ClusterQueues with a dispatch mode (rules P33,
// P34): which members are asked to admit them, which member has admitted one, and which copies must
// exist. Pure: equal worlds give equal plans.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/member_queues.h"
#include "schedd/world/command.h"
#include "schedd/world/world_view.h"

namespace muster::nomination {

/// The identity of a copy on its member. The name alone is unique only in its namespace, and
/// anybody may make a Workload of that name in another namespace.
std::string CopyId(const std::string& ns, const std::string& name);

/// What is known of a member's own queue. Copies are keyed by CopyId.
struct MemberQueueState {
  enum class Queue : std::uint8_t { kUnknown, kNone, kRuns };
  Queue queue = Queue::kUnknown;
  /// Why there is no queue; "": none was found.
  std::string trouble;
  /// The last list was answered: `copies` are all that the member has.
  bool answers = false;
  std::map<std::string, MemberCopy> copies;
  /// Copies about which a call has not ended, or ended after the list began.
  std::set<std::string> unsure;
  /// Why a copy could not be made. It is tried again when the entry is gone.
  struct Refusal {
    std::string message;
    /// The member itself refused it; false: a fault on the way.
    bool for_good = false;
  };
  std::map<std::string, Refusal> refusals;
};
using MemberQueueStates = std::map<std::string, MemberQueueState>;  // Kubernetes members

/// A copy of the job's next attempt that should be made.
struct CopyWish {
  JobPtr job;
  std::string cluster;
};

struct NominationPlan {
  std::vector<NominateCommand> nominations;
  std::vector<ChooseMemberCommand> choices;
  /// Of the check muster.io/member-queues.
  std::vector<SetCheckStatusCommand> answers;
  std::vector<CopyWish> copies;
  std::vector<CopyRemoval> removals;
  /// Members whose copies matter now.
  std::set<std::string> watched;
};

/// Nothing is decided for the jobs in `busy`: their last decision is not durable or not visible
/// yet.
NominationPlan PlanNominations(const WorldView& world, const MemberQueueStates& members,
                               const std::set<JobId>& busy, WallTime now);

/// True if some ClusterQueue has a dispatch mode.
bool AnyDispatchMode(const ConfigView& config);

/// The wait before a job is tried again for which no member's queue could be asked, or that a queue
/// took back: 10 s, doubled with each retry, at most 5 min.
std::int32_t RetryAfterS(std::int32_t retries);

}  // namespace muster::nomination
