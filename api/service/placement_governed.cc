// Finds the jobs that placements govern: one pass over the view's jobs for a whole list of
// placements. core::GoverningPlacement decides for each job, as it does for admission. That is dear
// for many jobs, so if one placement is asked for, Candidates first drops the jobs that cannot be
// its own.
#include "api/service/placement_governed.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/service/placement_parts.h"
#include "schedd/core/member/placement_ask.h"

namespace muster::api {
namespace {

// Whether a job appears in the status of a placement. Of ended jobs those appear that a member has
// run or refused, until their object is deleted.
bool Counts(const JobRecord& job) {
  if (!IsTerminal(job.state)) return true;
  if (job.deletion_requested || job.cluster.empty()) return false;
  return job.start_time.set() || job.state == JobState::kSucceeded ||
         JobStageOf(job) == JobStage::kRefused;
}

// True if the cluster-scoped placement selects this namespace.
bool Takes(const Placement& placement, const Namespace& ns) {
  return std::any_of(
      placement.selectors.begin(), placement.selectors.end(),
      [&](const ResourceSelector& selector) { return core::SelectsNamespace(selector, ns); });
}

// A cheap test whether a placement may govern a job. It may answer true for a job that another
// placement governs, but never false for one of its own.
class Candidates {
 public:
  Candidates(const ConfigView& config, const Placement& placement) : placement_(placement) {
    const auto named = [&](const auto& object) { return object.placement == placement.name; };
    const auto any = [&](const auto& table) {
      return std::any_of(table.begin(), table.end(),
                         [&](const auto& entry) { return named(entry.second); });
    };
    named_by_default_ =
        any(config.local_queues) || any(config.cluster_queues) || any(config.namespaces);
    if (!placement.ns.empty()) return;
    for (const auto& [name, ns] : config.namespaces)
      if (Takes(placement, ns)) namespaces_.insert(name);
  }

  bool Has(const JobRecord& job) const {
    if (!placement_.ns.empty() && job.ns != placement_.ns) return false;
    if (named_by_default_) return true;
    if (job.placement != nullptr && job.placement->placement == placement_.name) return true;
    if (placement_.ns.empty()) return namespaces_.contains(job.ns);
    return std::any_of(placement_.selectors.begin(), placement_.selectors.end(),
                       [&](const ResourceSelector& one) { return core::Selects(one, job); });
  }

 private:
  // True if a queue or a namespace names the placement as its default: then any job may be its own.
  const Placement& placement_;
  bool named_by_default_ = false;
  std::set<std::string> namespaces_;
};

}  // namespace

GovernedJobs FindGoverned(const WorldView& view, ObjectKind kind, const std::string& ns,
                          const std::string& name) {
  GovernedJobs out;
  const bool of_cluster = kind == ObjectKind::kClusterResourcePlacement;
  const PlacementTable& placements = *view.config->placements;
  PlacementPtr only;
  if (!name.empty()) only = placements.Find(of_cluster ? "" : ns, name);
  if (placements.all().empty() || (!name.empty() && only == nullptr)) return out;
  std::optional<Candidates> candidates;
  if (only != nullptr) candidates.emplace(*view.config, *only);
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (!of_cluster && !ns.empty() && job->ns != ns) return true;
    if (!Counts(*job) || (candidates && !candidates->Has(*job))) return true;
    const PlacementPtr governing = core::GoverningPlacement(*view.config, *job, nullptr);
    if (governing == nullptr || governing->ns.empty() != of_cluster) return true;
    if (only == nullptr || governing == only) out[{governing->ns, governing->name}].push_back(job);
    return true;
  });
  return out;
}

}  // namespace muster::api
