// Three indices that placements need, each kept in step with the records by Move:
//
// - Counts for spread constraints (rule P9): how many jobs each placement has on each member. Only
//   placements with spread constraints are counted; Configure counts anew when these change. A job
//   counts for the placement that governed it when it was placed, because decisions stay (rule
//   P17).
// - Jobs that start on a member (rule P13): the pods of a decided job are in no report of its
//   member yet, so the room that they will take must be added to what the member reports. A job
//   starts from its reservation until facts arrive that are as new as the observation that it runs;
//   AwaitFacts and TakeFacts compare the two times, both as the member reports them.
// - Names of waiting jobs, to find those that a placement or an annotation names. The index is
//   built when Named is called first and is kept up to date from then on. It is keyed by a hash, so
//   each hit is compared with the real name.
#include "schedd/engine/live/placed_jobs.h"

#include <algorithm>
#include <functional>

#include "schedd/core/member/placement_ask.h"
#include "schedd/model/job.h"

namespace muster {
namespace {

// It holds quota and room on a member, whether its pods exist or not.
bool IsPlaced(const JobRecord& job) { return HoldsQuota(job.state) && !job.cluster.empty(); }

bool IsPending(const JobRecord& job) { return job.state == JobState::kPending; }

std::size_t NameHash(const std::string& ns, const std::string& name) {
  return std::hash<std::string>{}(ns + "/" + name);
}

// The same index holds references to placements, under "@", which is not a valid name of a
// namespace.
std::size_t ReferenceHash(const std::string& placement) { return NameHash("@", placement); }

// The placement that the job's annotation muster.io/placement names; null if there is none.
const std::string* ReferenceOf(const JobRecord& job) {
  return job.placement == nullptr || job.placement->placement.empty() ? nullptr
                                                                      : &job.placement->placement;
}

}  // namespace

// For a recovery. The times of facts survive, and the attempts that awaited facts are remembered as
// `carried_`: Move takes them up again if the same attempt still runs.
void PlacedJobs::Clear() {
  PlacedJobs fresh;
  fresh.told_ = std::move(told_);
  fresh.carried_ = std::move(awaited_);
  *this = std::move(fresh);
}

// Only a change among the placements with spread constraints has the jobs counted anew.
void PlacedJobs::Configure(const ConfigPtr& config, const Jobs& jobs) {
  config_ = config;
  std::vector<PlacementPtr> spreading = config->placements->Spreading();
  if (spreading == spreading_) return;
  spreading_ = std::move(spreading);
  counted_.clear();
  counts_.clear();
  shown_.reset();
  if (spreading_.empty()) return;
  for (const auto& [id, job] : jobs) Count(*job);
}

// Brings the entry of one job up to date: taken off where it was, added where it is.
void PlacedJobs::Count(const JobRecord& job) {
  const auto known = counted_.find(job.id);
  const bool placed = IsPlaced(job);
  // A decision stays: the job counts for the placement that governed it when it was placed.
  if (known != counted_.end() && placed && known->second.cluster == job.cluster) return;
  if (known != counted_.end()) {
    Add(known->second, -1);
    counted_.erase(known);
  }
  if (!placed) return;
  const PlacementPtr placement = core::GoverningPlacement(*config_, job, nullptr);
  if (placement == nullptr || placement->policy.spread.empty()) return;
  Place place{{placement->ns, placement->name}, job.cluster};
  Add(place, 1);
  counted_[job.id] = std::move(place);
}

// `jobs` is +1 or -1. Entries of 0 go, so that equal counts are equal maps.
void PlacedJobs::Add(const Place& place, std::int32_t jobs) {
  shown_.reset();
  auto& by_cluster = counts_[place.placement];
  const std::int32_t left = by_cluster[place.cluster] += jobs;
  if (left == 0) by_cluster.erase(place.cluster);
  if (by_cluster.empty()) counts_.erase(place.placement);
}

// A job that was running before a recovery comes back as new and running (`before` is null): it is
// starting again if it awaited facts then.
void PlacedJobs::Move(const JobRecord* before, const JobPtr& after) {
  if (!spreading_.empty()) Count(*after);
  const bool waited = before != nullptr && IsPending(*before);
  if (names_known_ && waited != IsPending(*after)) Index(*after, !waited);
  const bool started = before != nullptr && Starts(*before);
  const bool starts = Starts(*after);
  if (started && (!starts || before->cluster != after->cluster)) Leave(*before);
  if (starts) {
    Member& member = members_[after->cluster];
    member.starting[after->id] = after;
    member.list.reset();
  } else if (before == nullptr && !carried_.empty()) {
    const auto known = carried_.find(after->id);
    const bool same = known != carried_.end() && after->state == JobState::kRunning &&
                      known->second.attempt == after->attempt &&
                      known->second.cluster == after->cluster;
    if (same) AwaitFacts(after, known->second.since);
  }
}

// Reserved and admitted jobs start; a running one only while it awaits facts of this very attempt.
bool PlacedJobs::Starts(const JobRecord& job) const {
  if (!IsPlaced(job)) return false;
  // A reserved job sends its pods once its checks are ready; its room is taken already.
  if (job.state != JobState::kRunning) return true;
  if (awaited_.empty()) return false;
  const auto awaited = awaited_.find(job.id);
  return awaited != awaited_.end() && awaited->second.attempt == job.attempt &&
         awaited->second.cluster == job.cluster;
}

void PlacedJobs::Leave(const JobRecord& job) {
  Member& member = members_[job.cluster];
  member.starting.erase(job.id);
  member.list.reset();
  const auto awaited = awaited_.find(job.id);
  if (awaited == awaited_.end()) return;
  member.awaiting.erase({awaited->second.since, job.id});
  awaited_.erase(awaited);
}

// Facts that are as new as `since` contain its pods already. A member without reports of machines
// has no entry in `told_`: its room is a sum that the ledger keeps.
void PlacedJobs::AwaitFacts(const JobPtr& running, WallTime since) {
  const auto told = told_.find(running->cluster);
  if (told == told_.end() || told->second >= since) return;
  awaited_[running->id] = {running->attempt, running->cluster, since};
  Member& member = members_[running->cluster];
  member.awaiting.insert({since, running->id});
  member.starting[running->id] = running;
  member.list.reset();
}

// If the clock of the observations was set back, times cannot be compared: then all jobs that run
// count as contained in the facts.
bool PlacedJobs::TakeFacts(const std::string& cluster, WallTime at) {
  // Without reports of machines nothing has to be awaited.
  bool all = !at.set();
  if (all) {
    told_.erase(cluster);
  } else {
    const auto told = told_.try_emplace(cluster, at).first;
    all = at < told->second;
    told->second = at;
  }
  const auto found = members_.find(cluster);
  if (found == members_.end()) return false;
  Member& member = found->second;
  bool started = false;
  while (!member.awaiting.empty() && (all || member.awaiting.begin()->first <= at)) {
    const JobId id = member.awaiting.begin()->second;
    member.awaiting.erase(member.awaiting.begin());
    member.starting.erase(id);
    awaited_.erase(id);
    started = true;
  }
  if (started) member.list.reset();
  return started;
}

std::shared_ptr<const core::PlacedCounts> PlacedJobs::Counts() {
  if (spreading_.empty()) return nullptr;
  if (shown_ == nullptr) shown_ = std::make_shared<const core::PlacedCounts>(counts_);
  return shown_;
}

// The list is made when it is asked for and shared until the next change, because each snapshot and
// each view takes one.
std::shared_ptr<const std::vector<JobPtr>> PlacedJobs::StartingOn(const std::string& cluster) {
  const auto member = members_.find(cluster);
  if (member == members_.end() || member->second.starting.empty()) return nullptr;
  if (member->second.list == nullptr) {
    std::vector<JobPtr> jobs;
    jobs.reserve(member->second.starting.size());
    for (const auto& [id, job] : member->second.starting) jobs.push_back(job);
    member->second.list = std::make_shared<const std::vector<JobPtr>>(std::move(jobs));
  }
  return member->second.list;
}

// `waits`: adds the entries of a job that starts to wait; else removes those of one that stops.
void PlacedJobs::Index(const JobRecord& job, bool waits) {
  const auto change = [&](std::size_t hash) {
    if (waits) {
      names_.emplace(hash, job.id);
      return;
    }
    const auto [first, last] = names_.equal_range(hash);
    const auto at =
        std::find_if(first, last, [&](const auto& one) { return one.second == job.id; });
    if (at != last) names_.erase(at);
  };
  change(NameHash(job.ns, job.name));
  if (const std::string* reference = ReferenceOf(job)) change(ReferenceHash(*reference));
}

// The index is built at the first call: without placements that name jobs it costs nothing.
std::set<JobId> PlacedJobs::Named(const Jobs& jobs,
                                  const std::set<std::pair<std::string, std::string>>& names,
                                  const std::set<std::string>& references) {
  if (!names_known_) {
    names_known_ = true;
    for (const auto& [id, job] : jobs) {
      if (IsPending(*job)) Index(*job, true);
    }
  }
  std::set<JobId> found;
  const auto look = [&](std::size_t hash, const auto& matches) {
    const auto [first, last] = names_.equal_range(hash);
    for (auto one = first; one != last; ++one) {
      const auto job = jobs.find(one->second);
      if (job != jobs.end() && matches(*job->second)) found.insert(one->second);
    }
  };
  for (const auto& [ns, name] : names) {
    look(NameHash(ns, name),
         [&](const JobRecord& job) { return job.ns == ns && job.name == name; });
  }
  for (const std::string& placement : references) {
    look(ReferenceHash(placement), [&](const JobRecord& job) {
      const std::string* reference = ReferenceOf(job);
      return reference != nullptr && *reference == placement;
    });
  }
  return found;
}

}  // namespace muster
