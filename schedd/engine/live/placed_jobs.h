// PlacedJobs: what placements have to know of the jobs, kept in step with their records: which jobs
// wait under a name, whose pods are on their way to the machines of a member, and how many jobs
// each placement has on each member.
//
// It costs nothing where no placement asks: names are indexed from the first question on, and only
// jobs of placements with spread constraints are counted. On the engine thread only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster {

class PlacedJobs {
 public:
  using Jobs = std::unordered_map<JobId, JobPtr>;

  /// Forgets all jobs, for a recovery. The times of facts that members reported stay valid.
  void Clear();
  /// Counts anew if the placements with spread constraints are others than before.
  void Configure(const ConfigPtr& config, const Jobs& jobs);
  /// `after` replaces `before`; null: the job comes into memory.
  void Move(const JobRecord* before, const JobPtr& after);

  /// True if the job counts for a placement with spread constraints.
  bool IsCounted(JobId id) const { return counted_.contains(id); }
  /// Jobs by placement and member; immutable. Null if no placement has spread constraints.
  std::shared_ptr<const core::PlacedCounts> Counts();
  /// The jobs that have room on the member and are not in its newest facts yet, in id order: their
  /// pods do not run, or the facts are older than the start. Null if there are none.
  std::shared_ptr<const std::vector<JobPtr>> StartingOn(const std::string& cluster);
  /// The member reported at `since` that the job runs: the job counts as starting until facts are
  /// as new. No effect for a member that reports no machines.
  void AwaitFacts(const JobPtr& running, WallTime since);
  /// The member is healthy and reported the state of its machines at `at`; not set: it reports no
  /// machines. True if jobs stopped counting as starting.
  bool TakeFacts(const std::string& cluster, WallTime at);

  /// The pending jobs with one of these names, as (namespace, name), or with an annotation that
  /// names one of these placements.
  std::set<JobId> Named(const Jobs& jobs,
                        const std::set<std::pair<std::string, std::string>>& names,
                        const std::set<std::string>& references);

 private:
  struct Member {
    std::map<JobId, JobPtr> starting;
    // Those of `starting` that run and await facts, by the time of their start.
    std::set<std::pair<WallTime, JobId>> awaiting;
    // `starting` as a list; null: to be made.
    std::shared_ptr<const std::vector<JobPtr>> list;
  };
  struct Place {
    PlacementTable::Key placement;
    std::string cluster;
    bool operator==(const Place&) const = default;
  };
  // An attempt that runs, and since when.
  struct AwaitedAttempt {
    std::int32_t attempt = 0;
    std::string cluster;
    WallTime since;
  };
  using Names = std::unordered_multimap<std::size_t, JobId>;  // looked up only

  void Count(const JobRecord& job);
  void Add(const Place& place, std::int32_t jobs);
  void Index(const JobRecord& job, bool waits);
  bool Starts(const JobRecord& job) const;
  void Leave(const JobRecord& job);

  ConfigPtr config_ = std::make_shared<const ConfigView>();
  // The placements with spread constraints.
  std::vector<PlacementPtr> spreading_;
  std::unordered_map<JobId, Place> counted_;
  core::PlacedCounts counts_;
  std::shared_ptr<const core::PlacedCounts> shown_;  // of `counts_`; null: to be made
  std::map<std::string, Member> members_;
  // The time of the newest facts of each member that reports machines.
  std::map<std::string, WallTime> told_;
  std::unordered_map<JobId, AwaitedAttempt> awaited_;
  // `awaited_` as it was before Clear; looked up only.
  std::unordered_map<JobId, AwaitedAttempt> carried_;
  bool names_known_ = false;
  // By NameHash of the job's name or ReferenceHash of the placement that it names.
  Names names_;
};

}  // namespace muster
