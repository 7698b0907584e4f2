// One plan for all placements that select configuration objects. For each placement: find the
// latest revision, or make one (LatestOf); pick members (pick.h); roll the revision out
// (rollout.h); end revisions beyond the history (EndRevisions). Then the rows and revisions of
// placements that are gone (PlanRest).
//
// A row of a placement or member that is stored but that this version cannot read (another version
// of Muster wrote it) is left as it is: nothing was deleted. An unreadable override stops all
// placements, because it may concern any of them.
#include "schedd/propagation/step/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/core/member/disruption.h"
#include "schedd/propagation/step/pick.h"
#include "schedd/propagation/step/render.h"
#include "schedd/propagation/step/rollout.h"
#include "schedd/propagation/step/select.h"

namespace muster::propagation {
namespace {

constexpr std::int64_t kGatherUs = limits::kSnapshotGatherMs * 1000;

// Plans once; Run gives the result.
class WorkPlanner {
 public:
  WorkPlanner(const WorldView& world, const std::function<bool(const std::string& cluster)>& takes,
              WallTime now)
      : world_(world),
        room_(world.clusters),
        evictions_(core::ExecutedEvictions(*world.config)),
        now_(now) {
    fleet_ = {&world.clusters, &room_, &takes};
    for (const core::ClusterView& cluster : world.clusters) members_.insert(cluster.member.name);
  }

  WorkPlan Run();

 private:
  void PlanPlacement(const PlacementPtr& placement);
  SnapshotPtr LatestOf(const Placement& placement);
  void EndRevisions(const Placement& placement, const SnapshotPtr& latest,
                    const std::vector<WorkPtr>& works);
  void PlanRest();
  bool IsPlanned(const std::string& ns, const std::string& name) const {
    return planned_.contains({ns, name});
  }
  bool IsStored(ObjectKind kind, const std::string& ns, const std::string& name) const {
    return world_.objects != nullptr && world_.objects->contains({kind, ns, name});
  }
  // True for a placement that is stored and cannot be read: another version of Muster wrote it.
  bool IsUnreadable(const PlacementTable::Key& placement) const {
    const auto& [ns, name] = placement;
    const ObjectKind kind =
        ns.empty() ? ObjectKind::kClusterResourcePlacement : ObjectKind::kResourcePlacement;
    return world_.config->placements->Find(ns, name) == nullptr && IsStored(kind, ns, name);
  }
  // True for a member that exists, also if its object cannot be read.
  bool IsThere(const std::string& member) const {
    return members_.contains(member) || IsStored(ObjectKind::kMemberCluster, "", member);
  }
  bool AnOverrideIsUnreadable() const;
  // Time alone may change the plan at `at`.
  void AskAgain(WallTime at) {
    if (!plan_.again_at.set() || at < plan_.again_at) plan_.again_at = at;
  }

  const WorldView& world_;
  core::MemberRoom room_;
  core::Evictions evictions_;
  WallTime now_;
  Fleet fleet_;
  std::set<std::string> members_;
  std::set<PlacementTable::Key> planned_;
  WorkPlan plan_;
};

// The revision that members should have: a new one if the selected objects have changed. Changes
// within kSnapshotGatherMs after the last revision wait, so that objects applied together make one
// revision. A selection that cannot be sent keeps the last revision. Null if the placement never
// had anything to send.
SnapshotPtr WorkPlanner::LatestOf(const Placement& placement) {
  SnapshotPtr last;
  const auto& all = world_.works->snapshots;
  for (auto it = all.lower_bound({placement.ns, placement.name, 0}); it != all.end(); ++it) {
    if (it->second->ns != placement.ns || it->second->placement != placement.name) break;
    last = it->second;
  }
  Selection selection = SelectResources(world_, placement);
  if (!selection.obstacle.empty()) return last;
  if (last == nullptr ? selection.resources.empty() : selection.hash == last->hash) return last;
  // If the last revision is in the future, a clock was set back: it is not waited for.
  if (last != nullptr && last->created_at <= now_) {
    const WallTime gathered{last->created_at.us + kGatherUs};
    if (gathered > now_) {
      AskAgain(gathered);
      return last;
    }
  }
  ResourceSnapshot next;
  next.ns = placement.ns;
  next.placement = placement.name;
  next.index = last == nullptr ? 0 : last->index + 1;
  next.hash = std::move(selection.hash);
  next.created_at = now_;
  next.resources = std::move(selection.resources);
  plan_.snapshots.push_back(std::make_shared<const ResourceSnapshot>(std::move(next)));
  return plan_.snapshots.back();
}

// Ends the revisions beyond the history limit, except those that some member still has when this
// plan is carried out.
void WorkPlanner::EndRevisions(const Placement& placement, const SnapshotPtr& latest,
                               const std::vector<WorkPtr>& works) {
  // The revision of each member after this plan.
  std::map<std::string, std::int32_t> used;
  for (const WorkPtr& work : works) used[work->cluster] = work->snapshot;
  for (const WorkPtr& work : plan_.works) {
    if (work->ns == placement.ns && work->placement == placement.name)
      used[work->cluster] = work->snapshot;
  }
  for (const auto& [ns, name, cluster] : plan_.ended_works) {
    if (ns == placement.ns && name == placement.name) used.erase(cluster);
  }
  std::set<std::int32_t> needed;
  for (const auto& [cluster, index] : used) needed.insert(index);
  std::vector<SnapshotKey> known;
  const auto& all = world_.works->snapshots;
  for (auto it = all.lower_bound({placement.ns, placement.name, 0}); it != all.end(); ++it) {
    if (it->second->ns != placement.ns || it->second->placement != placement.name) break;
    known.push_back(it->first);
  }
  const bool fresh = latest != nullptr && !all.contains(KeyOf(*latest));
  const auto kept = static_cast<std::size_t>(std::max(1, placement.revision_history_limit));
  const std::size_t size = known.size() + (fresh ? 1 : 0);
  for (std::size_t i = 0; i + kept < size && i < known.size(); ++i) {
    if (!needed.contains(std::get<2>(known[i]))) plan_.ended_snapshots.push_back(known[i]);
  }
}

// Rows of removed members end; their objects stay on the member. Evicted rows do not count as
// picks.
void WorkPlanner::PlanPlacement(const PlacementPtr& placement) {
  // `unreadable`: rows of members whose object cannot be read.
  std::vector<WorkPtr> works, unreadable;
  const auto& all = world_.works->works;
  for (auto it = all.lower_bound({placement->ns, placement->name, ""}); it != all.end(); ++it) {
    if (it->second->ns != placement->ns || it->second->placement != placement->name) break;
    if (members_.contains(it->second->cluster)) {
      works.push_back(it->second);
    } else if (IsThere(it->second->cluster)) {
      unreadable.push_back(it->second);
    } else {
      plan_.ended_works.push_back(it->first);
    }
  }
  const SnapshotPtr latest = LatestOf(*placement);
  if (latest == nullptr) return;
  const Renderer renderer(*world_.config, *latest);
  RolloutInput input;
  input.placement = placement.get();
  input.latest = latest.get();
  input.renderer = &renderer;
  input.clusters = &world_.clusters;
  input.works = works;
  input.evictions = &evictions_;
  std::erase_if(works, [&](const WorkPtr& one) { return core::IsEvicted(*one, evictions_); });
  input.picks = PickMembers(fleet_, placement, works);
  input.now = now_;
  RollOut(input, &plan_);
  input.works.insert(input.works.end(), unreadable.begin(), unreadable.end());
  EndRevisions(*placement, latest, input.works);
}

// Rows and revisions of placements that are gone or select no configuration objects any more: the
// rows leave, and the revisions end when nothing is left on members.
void WorkPlanner::PlanRest() {
  std::set<PlacementTable::Key> leaving;
  for (const auto& [key, work] : world_.works->works) {
    if (IsPlanned(work->ns, work->placement)) continue;
    if (!IsThere(work->cluster)) {
      plan_.ended_works.push_back(key);
      continue;
    }
    if (IsUnreadable({work->ns, work->placement})) continue;
    Work row = *work;
    if (row.state != WorkState::kLeaving) {
      const bool gone = world_.config->placements->Find(row.ns, row.placement) == nullptr;
      Leave(&row, gone && row.abandon);
    }
    if (!row.manifests.empty()) leaving.insert({row.ns, row.placement});
    Record(work, std::move(row), &plan_);
  }
  for (const auto& [key, snapshot] : world_.works->snapshots) {
    const PlacementTable::Key placement{snapshot->ns, snapshot->placement};
    if (!planned_.contains(placement) && !leaving.contains(placement) && !IsUnreadable(placement))
      plan_.ended_snapshots.push_back(key);
  }
}

// Which members such an override concerns is not known, so everything stays as it is.
bool WorkPlanner::AnOverrideIsUnreadable() const {
  if (world_.objects == nullptr) return false;
  for (const ObjectKind kind :
       {ObjectKind::kClusterResourceOverride, ObjectKind::kResourceOverride}) {
    for (auto it = world_.objects->lower_bound({kind, "", ""});
         it != world_.objects->end() && std::get<0>(it->first) == kind; ++it) {
      const auto& [its_kind, ns, name] = it->first;
      if (!world_.config->overrides.contains({ns, name})) return true;
    }
  }
  return false;
}

WorkPlan WorkPlanner::Run() {
  const bool frozen = AnOverrideIsUnreadable();
  for (const auto& [key, placement] : world_.config->placements->all()) {
    if (!SelectsObjects(*placement)) continue;
    planned_.insert({placement->ns, placement->name});
    if (!frozen) PlanPlacement(placement);
  }
  PlanRest();
  return std::move(plan_);
}

}  // namespace

WorkPlan PlanWorks(const WorldView& world,
                   const std::function<bool(const std::string& cluster)>& takes_objects,
                   WallTime now) {
  return WorkPlanner(world, takes_objects, now).Run();
}

}  // namespace muster::propagation
