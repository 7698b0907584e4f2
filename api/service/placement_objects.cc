// Judges the condition Scheduled of a placement's configuration objects.
//
// Judge goes from the most basic obstacle to the finest: the selectors cannot be evaluated; nothing
// is selected; no snapshot has been made yet; the policy finds too few members. For the last one
// each member that is not picked is asked why, with the same filters that the scheduler uses
// (core::PolicyFit), so that the sentence names the true reason. Members of other backends than
// Kubernetes take no configuration objects. They count against a placement only if some other
// member takes objects or no job of the placement runs.
#include "api/service/placement_objects.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "api/service/placement_works.h"
#include "schedd/core/member/member_room.h"
#include "schedd/core/member/policy_fit.h"

namespace muster::api {
namespace {

bool TakesObjects(const MemberCluster& member) { return member.backend == "kubernetes"; }

// Copies the placement's works and snapshots. A member that is to lose its objects
// (WorkState::kLeaving) is no part of the status, as in KubeFleet.
void FindRows(const WorkTable& table, const Placement& placement, PlacedObjects* out) {
  const auto of_placement = [&](const auto& row) {
    return row.ns == placement.ns && row.placement == placement.name;
  };
  for (auto it = table.works.lower_bound({placement.ns, placement.name, ""});
       it != table.works.end() && of_placement(*it->second); ++it) {
    if (it->second->state != WorkState::kLeaving) out->works.push_back(it->second);
  }
  const std::int32_t first = std::numeric_limits<std::int32_t>::min();
  for (auto it = table.snapshots.lower_bound({placement.ns, placement.name, first});
       it != table.snapshots.end() && of_placement(*it->second); ++it)
    out->snapshots.push_back(it->second);
}

// "no ClusterQueue gpu, no LocalQueue train": the selectors by name that match no configuration
// object; "" if each matches one. A job that a selector names may still be submitted, so it is not
// missing.
std::string MissingText(const Placement& placement, const propagation::Selection& selection) {
  std::string out;
  for (const ResourceSelector& selector : placement.selectors) {
    if (selector.name.empty()) continue;
    Placement alone = placement;
    alone.selectors = {selector};
    if (!propagation::SelectsObjects(alone)) continue;
    // The selector may name an envelope, whose objects are selected in its place.
    const std::string envelope = selector.kind + "/" + selector.name;
    const bool there = std::any_of(selection.resources.begin(), selection.resources.end(),
                                   [&](const SelectedResource& one) {
      return one.envelope == envelope ||
             (one.ref.kind == selector.kind && one.ref.name == selector.name &&
              one.ref.group == selector.group);
    });
    if (!there) out += (out.empty() ? "no " : ", no ") + selector.kind + " " + selector.name;
  }
  return out;
}

// Why a member does not have the objects, by member.
class Refusals {
 public:
  Refusals(const WorldView& view, const Placement& placement, const std::set<std::string>& picked)
      : clusters_(view.clusters), room_(view.clusters) {
    ask_.placement = std::make_shared<const Placement>(placement);
    // All cluster groups of the placement are open after so long a wait, so none is a reason.
    ask_.waited_s = std::numeric_limits<std::int64_t>::max();
    for (const std::string& name : picked) counts_[{placement.ns, placement.name}][name] = 1;
    fit_.emplace(ask_, room_, &counts_);
  }

  std::size_t size() const { return clusters_.size(); }
  const std::string& name(std::size_t member) const { return clusters_[member].member.name; }

  // The reason why member number `member` is not eligible, without its name; "" if nothing speaks
  // against it.
  std::string Of(std::size_t member) const {
    const MemberCluster& facts = clusters_[member].member;
    if (!TakesObjects(facts)) return "it takes no configuration objects";
    if (!facts.healthy) {
      return (facts.answers ? "it takes no jobs" : "it does not answer") +
             (facts.message.empty() ? "" : ": " + facts.message);
    }
    if (facts.cordoned) return "it is cordoned";
    const auto refusal = fit_->Filter(room_, member);
    if (!refusal) return "";
    return (std::string_view(refusal->filter) == "Placement" ? "" : "it ") + refusal->message;
  }

 private:
  const std::vector<core::ClusterView>& clusters_;
  core::MemberRoom room_;
  core::PlacementAsk ask_;
  // The picked members, which spread constraints count.
  core::PlacedCounts counts_;
  std::optional<core::PolicyFit> fit_;
};

// KubeFleet's sentence.
std::string NotEligible(const std::string& cluster, const std::string& why) {
  return "Cluster \"" + cluster + "\" is not eligible for resource placement yet: " + why;
}

// PickFixed: each named member must have the objects.
void JudgePickFixed(const WorldView& view, const Placement& placement,
                    const std::set<std::string>& picked, PlacedObjects* out) {
  const Refusals refusals(view, placement, picked);
  for (const std::string& name : placement.policy.cluster_names) {
    if (picked.contains(name)) continue;
    out->scheduled = Verdict::kFalse;
    // Finds the named member in the list of all.
    std::size_t at = 0;
    while (at < refusals.size() && refusals.name(at) != name) ++at;
    if (at == refusals.size()) {
      out->unpicked.push_back("Specified cluster \"" + name + "\" is not found");
      continue;
    }
    const std::string why = refusals.Of(at);
    if (!why.empty()) out->unpicked.push_back(NotEligible(name, why));
  }
}

// Adds a sentence for members that are not eligible, at most `missing`, the number of members that
// the policy still wants.
void ListRefused(const WorldView& view, const Placement& placement,
                 const std::set<std::string>& picked, std::size_t missing, PlacedObjects* out) {
  const Refusals refusals(view, placement, picked);
  for (std::size_t i = 0; i < refusals.size() && out->unpicked.size() < missing; ++i) {
    if (picked.contains(refusals.name(i))) continue;
    const std::string why = refusals.Of(i);
    if (!why.empty()) out->unpicked.push_back(NotEligible(refusals.name(i), why));
  }
}

// Sets `out->scheduled`, `out->unpicked` and `out->because` by the placement policy.
void JudgePolicy(const WorldView& view, const Placement& placement, PlacedObjects* out) {
  std::set<std::string> picked;
  for (const WorkPtr& work : out->works) picked.insert(work->cluster);
  const auto wanted = static_cast<std::size_t>(placement.policy.number_of_clusters);
  std::vector<std::string> reasons;
  switch (placement.policy.type) {
    case PlacementType::kPickFixed:
      JudgePickFixed(view, placement, picked, out);
      reasons = out->unpicked;
      break;
    case PlacementType::kPickN:
      if (picked.size() >= wanted) break;
      out->scheduled = Verdict::kFalse;
      ListRefused(view, placement, picked, wanted - picked.size(), out);
      reasons = out->unpicked;
      break;
    case PlacementType::kPickAll:
      // PickAll is fulfilled by any number of members. If there is none, the sentence says why.
      if (!picked.empty()) break;
      ListRefused(view, placement, picked, view.clusters.size(), out);
      reasons = std::exchange(out->unpicked, {});
      break;
  }
  if (reasons.empty()) return;
  out->because = reasons.front();
  if (reasons.size() > 1) out->because += " (and " + std::to_string(reasons.size() - 1) + " more)";
}

// Sets `out->scheduled` and what goes with it; `jobs` as for LookAtObjects.
void Judge(const WorldView& view, const Placement& placement, std::size_t jobs,
           PlacedObjects* out) {
  const std::string missing = MissingText(placement, out->selection);
  if (!out->selection.obstacle.empty()) {
    out->scheduled = Verdict::kFalse;
    out->because = out->selection.obstacle;
    return;
  }
  if (out->selection.resources.empty() && out->works.empty()) {
    if (jobs > 0) return;
    out->scheduled = Verdict::kUnknown;
    out->because = "nothing is selected" + (missing.empty() ? "" : ": there is " + missing);
    return;
  }
  if (out->snapshots.empty()) {
    // The propagator has not planned this placement yet.
    out->scheduled = Verdict::kUnknown;
    return;
  }
  // Jobs run on members that take no objects; without any other member the policy is not judged.
  const bool takers = std::any_of(view.clusters.begin(), view.clusters.end(),
                                  [](const auto& one) { return TakesObjects(one.member); });
  if (takers || jobs == 0) JudgePolicy(view, placement, out);
  if (out->because.empty() && !missing.empty()) out->because = "there is " + missing;
}

}  // namespace

const ResourceSnapshot* PlacedObjects::Latest() const {
  return snapshots.empty() ? nullptr : snapshots.back().get();
}

PlacedObjects LookAtObjects(const WorldView& view, const Placement& placement, std::size_t jobs) {
  PlacedObjects out;
  FindRows(*view.works, placement, &out);
  out.selects = propagation::SelectsObjects(placement);
  if (!out.selects) return out;
  out.selection = propagation::SelectResources(view, placement);
  Judge(view, placement, jobs, &out);
  return out;
}

json::array SelectedObjects(const PlacedObjects& objects) {
  const ResourceSnapshot* latest = objects.Latest();
  const auto& resources = latest != nullptr ? latest->resources : objects.selection.resources;
  std::vector<const SelectedResource*> order;
  for (const SelectedResource& resource : resources) order.push_back(&resource);
  const auto rank = [](const ResourceRef& ref) {
    return ref.group.empty() && ref.kind == "Namespace" ? 0 : 1;
  };
  std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    const int left = rank(a->ref), right = rank(b->ref);
    return std::tie(left, a->ref.group, a->ref.kind, a->ref.ns, a->ref.name) <
           std::tie(right, b->ref.group, b->ref.kind, b->ref.ns, b->ref.name);
  });
  json::array out;
  for (const SelectedResource* one : order)
    out.push_back(ResourceIdentifier(one->ref, one->envelope));
  return out;
}

json::array ResourceRevisions(const PlacedObjects& objects) {
  json::array out;
  for (const SnapshotPtr& snapshot : objects.snapshots) {
    json::array clusters;
    for (const WorkPtr& work : objects.works)
      if (work->snapshot == snapshot->index) clusters.emplace_back(work->cluster);
    out.push_back(json::object{{"index", std::to_string(snapshot->index)},
                               {"hash", snapshot->hash},
                               {"creationTimestamp", FormatRfc3339(snapshot->created_at)},
                               {"clusters", std::move(clusters)}});
  }
  return out;
}

}  // namespace muster::api
