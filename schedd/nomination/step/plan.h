// PlanNominations: what is to be done for jobs of ClusterQueues with a dispatch mode
// (rules P33, P34): which members are asked to admit them, which one has, and which copies there
// must be. Pure: equal worlds give equal plans.
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

/// What a copy is known by on its member: its name is unique only in its namespace, and anybody may
/// have made a Workload of that name in another one.
std::string CopyId(const std::string& ns, const std::string& name);

/// What is known of a member's own queue. Copies are by CopyId.
struct MemberQueueState {
  enum class Queue : std::uint8_t { kUnknown, kNone, kRuns };
  Queue queue = Queue::kUnknown;
  std::string trouble;   // why there is none; "": none was found
  bool answers = false;  // its last list was answered: `copies` is all that it has
  std::map<std::string, MemberCopy> copies;
  /// A call that concerns it has not ended, or ended after the list began.
  std::set<std::string> unsure;
  /// Copies that could not be made: why. It is tried again when the entry has gone.
  struct Refusal {
    std::string message;
    bool for_good = false;  // the member's word, rather than a fault on the way
  };
  std::map<std::string, Refusal> refusals;
};
using MemberQueueStates = std::map<std::string, MemberQueueState>;  // Kubernetes members

/// A copy that is to be made: of the job's next attempt.
struct CopyWish {
  JobPtr job;
  std::string cluster;
};

struct NominationPlan {
  std::vector<NominateCommand> nominations;
  std::vector<ChooseMemberCommand> choices;
  std::vector<SetCheckStatusCommand> answers;  // of the check muster.io/member-queues
  std::vector<CopyWish> copies;
  std::vector<CopyRemoval> removals;
  std::set<std::string> watched;  // members whose copies matter now
};

/// Of the jobs in `busy` nothing is decided: what was decided last is not durable yet, or not seen.
NominationPlan PlanNominations(const WorldView& world, const MemberQueueStates& members,
                               const std::set<JobId>& busy, WallTime now);

/// True if some ClusterQueue has a dispatch mode.
bool AnyDispatchMode(const ConfigView& config);

/// After how many seconds a job is tried again that no member's queue could be asked for, or that
/// one took back.
std::int32_t RetryAfterS(std::int32_t retries);

}  // namespace muster::nomination
