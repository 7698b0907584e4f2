// Which jobs may leave their member now: what disruption budgets allow (rule P31), what eviction
// objects took off members (rule P30), and which jobs NoExecute taints drive away (rule P32). Pure;
// not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "schedd/model/config.h"
#include "schedd/model/job.h"
#include "schedd/model/work.h"

namespace muster::core {

/// The jobs of one placement, or the members with its configuration objects, that count for its
/// budget.
struct DisruptionCount {
  /// Jobs that run, start, or were evicted and wait to run again; members that are picked.
  std::int64_t wanted = 0;
  /// Jobs that run; members on which all objects are available.
  std::int64_t available = 0;
  /// The number that percentages refer to; negative: `wanted`.
  std::int64_t desired = -1;
};

/// How many of the available jobs or members may become unavailable.
std::int64_t DisruptionsAllowed(const DisruptionBudget& budget, const DisruptionCount& count);

/// Why a budget cannot be kept for a placement of this type; "" if it can. The number of members of
/// a PickAll placement is not known beforehand, so maxUnavailable and percentages mean nothing
/// there.
std::string BudgetProblem(const DisruptionBudget& budget, PlacementType type);

/// The time of the last executed eviction object, by work (placement and member).
using Evictions = std::map<WorkKey, WallTime>;
/// Those of all placements, or of one (`of`).
Evictions ExecutedEvictions(const ConfigView& config, const PlacementTable::Key* of = nullptr);
/// True if the work was scheduled before an eviction of its placement and member, so that it has to
/// leave. A work that is picked anew has a later time.
bool IsEvicted(const Work& work, const Evictions& evictions);
/// True if all objects of the work are applied on the member, and are available as far as that can
/// be told (rule P27).
bool IsAvailable(const Work& work);

/// True if the job counts as wanted.
bool CountsForBudget(const JobRecord& job);

/// The budgets and the jobs that they count. A job that leaves is counted as gone at once, so one
/// pass lets no more jobs leave than the budgets allow.
class Disruptions {
 public:
  /// `config` must outlive it.
  explicit Disruptions(const ConfigView& config) : config_(config) {}

  /// False if there is no budget and no job needs to be counted.
  bool needs_count() const { return !config_.disruption_budgets.empty(); }
  /// Counts a job. `available`: it runs on a member that answers, and is not being stopped.
  void Count(const JobRecord& job, bool available);

  /// True if `jobs` available jobs of the placement may leave together; then they are counted as
  /// gone.
  bool Take(const PlacementTable::Key& placement, std::int64_t jobs);
  /// Counts an available job as gone, whatever its budget says.
  void Gone(const PlacementTable::Key& placement);
  /// Null if the placement has no budget.
  const DisruptionBudget* BudgetOf(const PlacementTable::Key& placement) const;
  DisruptionCount CountOf(const PlacementTable::Key& placement) const;
  /// "ResourcePlacementDisruptionBudget ml/train keeps it: 2 of 3 jobs run, and 0 of them may stop"
  std::string WhyBlocked(const PlacementTable::Key& placement) const;

 private:
  const ConfigView& config_;
  std::map<PlacementTable::Key, DisruptionCount> counts_;
};

/// The placement that governs the job, as a key; nullopt if none does.
std::optional<PlacementTable::Key> GovernorOf(const ConfigView& config, const JobRecord& job);

/// When and why a NoExecute taint drives a job off its member.
struct TaintEviction {
  WallTime at;  // a time in the past or an unset one: at once
  std::string message;
};
/// The taint that drives the job away first; nullopt if none ever does. The rules are those of
/// placing a job (rule P10): a job that named its member is not asked; the jobs of a placement are
/// judged by its tolerations, others by those of their pods and flavors. tolerationSeconds count
/// from the taint's time or the job's admission, whichever is later.
std::optional<TaintEviction> DrivenAway(const ConfigView& config, const JobRecord& job,
                                        const MemberCluster& member);
/// True if the member has a NoExecute taint.
bool DrivesAway(const MemberCluster& member);

}  // namespace muster::core
