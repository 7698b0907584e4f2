// PlacedJobs: what placements need to know of the jobs, kept in step with their records: which wait
// under a name, whose pods are on their way to the machines of a member, and how many jobs each
// placement has on each member.
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

  /// As if no job were known. What members have told stays: it holds for jobs that come again.
  void Clear();
  /// Counts anew if the placements with spread constraints are others than before.
  void Configure(const ConfigPtr& config, const Jobs& jobs);
  /// A record takes the place of another; null: it is new.
  void Move(const JobRecord* before, const JobPtr& after);

  /// True if it counts for a placement with spread constraints.
  bool IsCounted(JobId id) const { return counted_.contains(id); }
  /// Null if no placement has spread constraints. A value that does not change.
  std::shared_ptr<const core::PlacedCounts> Counts();
  /// Jobs with room on the member that its facts do not count yet, by id; null if there are none:
  /// their pods do not run, or it has told no facts since they do.
  std::shared_ptr<const std::vector<JobPtr>> StartingOn(const std::string& cluster);
  /// The member said at `since` that the job runs, and its record says so: it counts as starting
  /// until facts are as new. It does not where the member tells no machines.
  void AwaitFacts(const JobPtr& running, WallTime since);
  /// The member is well and told what its machines had at `at`; not set: it tells no machines. True
  /// if jobs have started by that.
  bool TakeFacts(const std::string& cluster, WallTime at);

  /// Pending jobs that have one of these names, as (namespace, name), or whose annotation names one
  /// of these placements; in id order.
  std::set<JobId> Named(const Jobs& jobs,
                        const std::set<std::pair<std::string, std::string>>& names,
                        const std::set<std::string>& references);

 private:
  struct Member {
    std::map<JobId, JobPtr> starting;
    std::set<std::pair<WallTime, JobId>> awaiting;    // of `starting`: those that run
    std::shared_ptr<const std::vector<JobPtr>> list;  // of `starting`; null: to be made
  };
  struct Place {
    PlacementTable::Key placement;
    std::string cluster;
    bool operator==(const Place&) const = default;
  };
  struct AwaitedAttempt {  // an attempt that runs, and since when
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
  std::vector<PlacementPtr> spreading_;  // with spread constraints
  std::unordered_map<JobId, Place> counted_;
  core::PlacedCounts counts_;
  std::shared_ptr<const core::PlacedCounts> shown_;  // of `counts_`; null: to be made
  std::map<std::string, Member> members_;
  std::map<std::string, WallTime> told_;  // of members that tell machines: their newest facts
  std::unordered_map<JobId, AwaitedAttempt> awaited_;
  std::unordered_map<JobId, AwaitedAttempt> carried_;  // `awaited_` of before Clear; looked up only
  bool names_known_ = false;
  Names names_;  // by a hash of a name or of a reference
};

}  // namespace muster
