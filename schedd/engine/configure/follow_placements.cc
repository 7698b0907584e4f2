// How waiting jobs follow an edit of placements. ReachOf (placement_wakes.h) names jobs and
// namespaces that the edit may concern; each of these jobs is compared under both configurations.
// The placement that governs a job is part of what makes jobs equal (rule A14). So a job with
// another placement is no longer equal to the jobs that it was equal to, and takes its place in the
// queue anew; a job whose placement only says something else is tried again with its queue. Jobs
// that are placed stay where they are (rule P17).
#include <set>

#include "schedd/core/member/placement_ask.h"
#include "schedd/engine/configure/configuration.h"
#include "schedd/engine/configure/placement_wakes.h"

namespace muster {
namespace {

// The placement that governs a job, or the sentence why none does.
struct Governance {
  PlacementPtr by;
  std::string obstacle;
  bool operator==(const Governance&) const = default;
};

Governance GovernedBy(const ConfigView& config, const JobRecord& job) {
  Governance governed;
  governed.by = core::GoverningPlacement(config, job, &governed.obstacle);
  return governed;
}

// True if both are revisions of the same placement.
bool SameName(const PlacementPtr& a, const PlacementPtr& b) {
  return a != nullptr && b != nullptr && a->ns == b->ns && a->name == b->name;
}

}  // namespace

// Stand-ins of a job follow with it, for they are queued in its place.
void Configuration::FollowPlacements(const ConfigView& before,
                                     const std::vector<ObjectKey>& changed) {
  jobs_.placed().Configure(config_.view(), jobs_.all());
  const PlacementReach reach = ReachOf(before, *config_.view(), changed);
  if (reach.empty()) return;
  for (const JobId id : JobsWithin(reach)) {
    const JobPtr job = jobs_.Find(id);
    if (job == nullptr) continue;
    const Governance was = GovernedBy(before, *job), is = GovernedBy(*config_.view(), *job);
    if (was == is) continue;
    const bool other_equals = !SameName(was.by, is.by) || was.obstacle != is.obstacle;
    RequeueFor(job, other_equals);
    const auto entries = stand_ins_.by_job().find(id);
    if (entries == stand_ins_.by_job().end()) continue;
    for (const JobPtr& entry : entries->second) RequeueFor(entry, other_equals);
  }
}

// The jobs that an edit may concern: waiting jobs, and jobs that hold quota and have stand-ins in
// their queue.
std::set<JobId> Configuration::JobsWithin(const PlacementReach& reach) {
  std::set<JobId> ids = jobs_.placed().Named(jobs_.all(), reach.names, reach.references);
  if (!reach.namespaces.empty()) {
    for (const auto& [id, job] : jobs_.all()) {
      if (job->state == JobState::kPending && reach.namespaces.contains(job->ns)) ids.insert(id);
    }
  }
  for (const auto& [id, entries] : stand_ins_.by_job()) {
    const JobPtr owner = jobs_.Find(id);
    if (owner != nullptr && reach.Covers(*owner)) ids.insert(id);
  }
  return ids;
}

// `other_equals`: the entry is equal to other jobs than before, and their verdicts hold for it.
void Configuration::RequeueFor(const JobPtr& entry, bool other_equals) {
  // An entry that is not durable yet is queued, with the new placements, when it is.
  if (!waiting_.Contains(entry->id)) return;
  if (other_equals) {
    waiting_.Requeue(entry);
  } else {
    commits_.tx().wakes.insert(entry->cluster_queue);
  }
}

}  // namespace muster
