// A waiting job that goes by another placement than before is no longer equal to the jobs that it
// was equal to: it takes its place in the queue anew. If its placement only says something else,
// its queue tries again. Jobs that are placed stay where they are.
#include <set>

#include "schedd/core/member/placement_ask.h"
#include "schedd/engine/configure/configuration.h"
#include "schedd/engine/configure/placement_wakes.h"

namespace muster {
namespace {

// The placement that a job goes by, or why none governs it.
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

bool SameName(const PlacementPtr& a, const PlacementPtr& b) {
  return a != nullptr && b != nullptr && a->ns == b->ns && a->name == b->name;
}

}  // namespace

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

// The jobs that an edit may reach: those that wait, and those that hold quota and have entries in
// their queue that want to move.
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

// `other_equals`: it is equal to other jobs than before, and what was found of those holds for it.
void Configuration::RequeueFor(const JobPtr& entry, bool other_equals) {
  if (!waiting_.Contains(entry->id)) return;  // it is queued when it is durable
  if (other_equals) {
    waiting_.Requeue(entry);
  } else {
    commits_.tx().wakes.insert(entry->cluster_queue);
  }
}

}  // namespace muster
