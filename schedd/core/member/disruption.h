// What may leave its member now: what disruption budgets leave of jobs and of configuration objects
// (rule P31), what eviction objects took off members, and whom NoExecute taints of members
// drive away. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "schedd/model/config.h"
#include "schedd/model/job.h"
#include "schedd/model/work.h"

namespace muster::core {

/// The jobs of one placement, or the members that have its configuration objects, that count for
/// its budget.
struct DisruptionCount {
  std::int64_t wanted = 0;     // run, start, or were evicted and wait to run again; are picked
  std::int64_t available = 0;  // run; have all of it, and it works
  std::int64_t desired = -1;   // what percentages are of; negative: of `wanted`
};

/// How many jobs or members that are available may stop being so.
std::int64_t DisruptionsAllowed(const DisruptionBudget& budget, const DisruptionCount& count);

/// Why a budget cannot be kept for a placement of this type, "" if it can: for PickAll the number
/// that is wanted is not known beforehand, so there is no maxUnavailable and no percentage.
std::string BudgetProblem(const DisruptionBudget& budget, PlacementType type);

/// When eviction objects took placements off members, the last one of each.
using Evictions = std::map<WorkKey, WallTime>;
/// Of all placements, or of one.
Evictions ExecutedEvictions(const ConfigView& config, const PlacementTable::Key* of = nullptr);
/// It was picked before that, so it is to leave. A work that is picked anew says a later time.
bool IsEvicted(const Work& work, const Evictions& evictions);
/// All objects are applied there, and work as far as anybody can tell.
bool IsAvailable(const Work& work);

/// True if the job counts as wanted.
bool CountsForBudget(const JobRecord& job);

/// The budgets with the jobs that they are counted over. What leaves is counted at once, so that
/// one look lets no more go than the budgets do.
class Disruptions {
 public:
  /// `config` must outlive it.
  explicit Disruptions(const ConfigView& config) : config_(config) {}

  /// False: there is no budget, and nothing needs to be counted.
  bool needs_count() const { return !config_.disruption_budgets.empty(); }
  /// `available`: it runs, on a member that answers, and is not on its way out.
  void Count(const JobRecord& job, bool available);

  /// True if `jobs` available jobs of the placement may leave together: they are counted as gone.
  bool Take(const PlacementTable::Key& placement, std::int64_t jobs);
  /// An available job has left, whatever its budget says.
  void Gone(const PlacementTable::Key& placement);
  /// Null if the placement has no budget.
  const DisruptionBudget* BudgetOf(const PlacementTable::Key& placement) const;
  DisruptionCount CountOf(const PlacementTable::Key& placement) const;
  /// "ResourcePlacementDisruptionBudget ml/train keeps it: 2 of 3 jobs run, and none more may
  /// stop"
  std::string WhyBlocked(const PlacementTable::Key& placement) const;

 private:
  const ConfigView& config_;
  std::map<PlacementTable::Key, DisruptionCount> counts_;
};

/// The placement that governs the job, as a key; nullopt if none does.
std::optional<PlacementTable::Key> GovernorOf(const ConfigView& config, const JobRecord& job);

/// What a NoExecute taint of its member does to a job.
struct TaintEviction {
  WallTime at;          // when it goes; not after now: at once
  std::string message;  // why
};
/// The taint that drives the job away first; nullopt if none ever does. By the rules of placing:
/// jobs that were sent to this member by name are not judged, the jobs of a placement by its
/// tolerations, others by their pods' and flavors'. tolerationSeconds count from the later of the
/// taint and the job's admission.
std::optional<TaintEviction> DrivenAway(const ConfigView& config, const JobRecord& job,
                                        const MemberCluster& member);
/// True if the member has a taint that drives jobs away.
bool DrivesAway(const MemberCluster& member);

}  // namespace muster::core
