// Placements: which waiting jobs go by another one after an edit, when time alone opens a member to
// one, and what the cycle is told of jobs that are placed already.
#include <algorithm>

#include "schedd/core/member/placement_ask.h"
#include "schedd/engine/impl.h"
#include "schedd/engine/placement_wakes.h"
#include "schedd/engine/stand_ins_impl.h"

namespace muster {
namespace {

struct Governed {
  PlacementPtr by;
  std::string obstacle;
  bool operator==(const Governed&) const = default;
};

Governed GovernedBy(const ConfigView& config, const JobRecord& job) {
  Governed governed;
  governed.by = core::GoverningPlacement(config, job, &governed.obstacle);
  return governed;
}

bool SameName(const PlacementPtr& a, const PlacementPtr& b) {
  return a != nullptr && b != nullptr && a->ns == b->ns && a->name == b->name;
}

// When time alone may open a member to the job; nullopt: never.
std::optional<WallTime> OpensAt(const core::PlacementAsk& ask, WallTime now) {
  std::optional<WallTime> at;
  const auto offer = [&at](WallTime time) { at = at ? std::min(*at, time) : time; };
  for (const AvoidedCluster& avoided : ask.avoided) offer(avoided.until);
  if (ask.placement == nullptr) return at;
  const std::int64_t next = core::NextGroupAfter(ask.placement->policy, ask.waited_s);
  if (next >= 0) offer(now.PlusSeconds(SaturatingSub(next, ask.waited_s)));
  return at;
}

// The waiting jobs that an edit may reach.
std::set<JobId> Within(const PlacementReach& reach, EngineState* state) {
  std::set<JobId> ids = state->placed_jobs.Named(state->live.jobs, reach.names, reach.references);
  if (reach.namespaces.empty()) return ids;
  for (const auto& [id, job] : state->live.jobs) {
    if (job->state == JobState::kPending && reach.namespaces.contains(job->ns)) ids.insert(id);
  }
  return ids;
}

}  // namespace

// A waiting job that goes by another placement than before is no longer equal to those that it was
// equal to: it takes its place in the queue anew. If its placement says something else, its queue
// tries again. What is placed stays where it is.
void Engine::Impl::FollowPlacements(const ConfigView& before,
                                    const std::vector<ObjectKey>& changed) {
  placed_jobs.Configure(live.config, live.jobs);
  const PlacementReach reach = ReachOf(before, *live.config, changed);
  if (reach.empty()) return;
  std::set<JobId> ids = Within(reach, this);
  // One that holds quota may have entries in its queue that want to move.
  for (const auto& [id, entries] : stand_ins->by_job) {
    const auto owner = live.jobs.find(id);
    if (owner != live.jobs.end() && reach.Covers(*owner->second)) ids.insert(id);
  }
  const auto follow = [this](const JobPtr& entry, bool others) {
    if (!live.pending.Contains(entry->id)) return;  // it is queued when it is durable
    if (others) {  // nothing was found of those that it is equal to now, or that holds for it too
      live.pending.Remove(entry->id);
      live.pending.Add(entry, clock.WallNow());
    } else {
      tx.wakes.insert(entry->cluster_queue);
    }
  };
  for (const JobId id : ids) {
    const auto found = live.jobs.find(id);
    if (found == live.jobs.end()) continue;
    const JobPtr job = found->second;
    const Governed was = GovernedBy(before, *job), is = GovernedBy(*live.config, *job);
    if (was == is) continue;
    const bool others = !SameName(was.by, is.by) || was.obstacle != is.obstacle;
    follow(job, others);
    const auto entries = stand_ins->by_job.find(id);
    if (entries == stand_ins->by_job.end()) continue;
    for (const JobPtr& entry : entries->second) follow(entry, others);
  }
}

void Engine::Impl::NoteOpening(const core::NotAdmitted& waiting) {
  const JobRecord& job = *waiting.job;
  const WallTime now = clock.WallNow();
  const core::PlacementAsk ask = core::AskOf(*live.config, *options.settings, job, now);
  if (ask.empty()) return;
  const std::optional<WallTime> at = OpensAt(ask, now);
  if (!at) return;
  const auto known = openings.try_emplace(job.cluster_queue, *at).first;
  known->second = std::min(known->second, *at);
}

// Equal jobs wait together, and the one that has waited longest is the one that was looked at: a
// queue that is woken then notes when the next of them may go.
bool Engine::Impl::FireOpenings() {
  QueueNames names;
  const WallTime now = clock.WallNow();
  std::erase_if(openings, [&](const auto& one) {
    if (one.second > now) return false;
    names.insert(one.first);
    return true;
  });
  WakeQueues(names);
  return !names.empty();
}

// Where a member tells of its machines, what is on its way to them is told too.
void Engine::Impl::AddStarting(std::vector<core::ClusterView>* clusters) {
  for (core::ClusterView& view : *clusters) {
    if (view.member.machines != nullptr) view.starting = placed_jobs.StartingOn(view.member.name);
  }
}

}  // namespace muster
