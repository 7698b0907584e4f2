// PlacementRun: fresh placements (rules A43 to A45). Replaced nodes and elastic slices are in
// topology_repair.cc.
//
// Groups are placed one after another, by flavor name and then in the workload's order, as in
// Kueue. A group is one pod set, or two that share a group name: the leader (the smaller one) and
// its workers are placed by one search. What a group takes is charged to a buffer of the placer
// that only the following groups see; what the last group takes is not charged.
#include "schedd/core/placer/topology_run.h"

#include <algorithm>
#include <utility>

#include "schedd/base/quantity.h"

namespace muster::core {

PlacementRun::PlacementRun(NodePlacer* placer, const JobRecord& job,
                           std::span<const TopologyAsk> asks, const Options& options)
    : placer_(*placer), job_(job), asks_(asks), options_(options) {}

PlacementRun::~PlacementRun() {
  for (const auto& charges : assumed_) placer_.assumed_.Release(charges);
}

// All flavors must have a tree on this member before anything is placed.
bool PlacementRun::PlaceAll() {
  const TopologyForest& forest = *placer_.usage_.forest();
  result_.cluster = forest.cluster_name(options_.cluster);
  for (std::size_t i = 0; i < asks_.size(); ++i) {
    if (forest.Tree(options_.cluster, asks_[i].flavor) == nullptr)
      return Fail(i, "Flavor \"" + asks_[i].flavor + "\" information missing in TAS cache");
  }
  const std::vector<Group> groups = Groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    more_to_place_ = i + 1 < groups.size();
    if (!PlaceGroup(groups[i])) return false;
  }
  return true;
}

// The larger pod set of a group are the workers, of equals the first. A third pod set of the same
// name is ignored; validation refuses it.
std::vector<PlacementRun::Group> PlacementRun::Groups() const {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < asks_.size(); ++i) {
    const auto* request = asks_[i].spec->topology.get();
    Group own{asks_[i].flavor, {}, i, kNone};
    if (request != nullptr) own.name = request->pod_set_group;
    const auto same = [&](const Group& group) {
      return !own.name.empty() && group.name == own.name && group.flavor == own.flavor;
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back(own);
    } else if (found->leader == kNone) {
      found->leader = i;
      if (asks_[i].count > asks_[found->workers].count) std::swap(found->leader, found->workers);
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.flavor < b.flavor; });
  return groups;
}

// A job with a failed node is repaired, an elastic one is grown or shrunk, any other placed afresh.
bool PlacementRun::PlaceGroup(const Group& group) {
  const bool repair = job_.admission_state != nullptr && job_.admission != nullptr &&
                      !job_.admission_state->unhealthy_nodes.empty();
  if (repair) {
    // In the workload's order, as the results are.
    const std::size_t first = std::min(group.workers, group.leader);
    const std::size_t second = std::max(group.workers, group.leader);
    return ReplaceNode(first) && (second == kNone || ReplaceNode(second));
  }
  if (placer_.settings_.elastic_jobs_with_tas) {
    if (const auto placed = PlaceElastic(group)) return *placed;
  }
  return PlaceFresh(group);
}

// A new placement of a group, without regard to an earlier one.
bool PlacementRun::PlaceFresh(const Group& group) {
  const TopologyAsk& ask = asks_[group.workers];
  if (!Find(group.workers, group.leader, ask.count, ask.spec->topology.get(), -1)) return false;
  const auto& workers = placer_.solver_.workers();
  const auto& leaders = placer_.solver_.leaders();
  if (!options_.only_whether) {
    Keep(group.workers, Build(group.workers, workers));
    if (group.leader != kNone) Keep(group.leader, Build(group.leader, leaders));
  }
  Assume(group.workers, workers);
  if (group.leader != kNone) Assume(group.leader, leaders);
  return true;
}

// Resolves the request, matches the machines against the pods' constraints (those of admission
// checks included) and runs the solver.
bool PlacementRun::Find(std::size_t workers, std::size_t leader, std::int32_t count,
                        const TopologyRequest* request, DomainIndex within) {
  const TopologyAsk& ask = asks_[workers];
  const TopologyTree& tree = TreeOf(workers);
  const AdmissionSettings& settings = placer_.settings_;
  std::string error;
  const auto constraints = MergedConstraints(*ask.spec, Checks(), &error);
  if (!error.empty()) return Fail(workers, std::move(error));
  SolverTask task;
  error = ResolveTopology(tree, request, ask.implied, settings, &task.spec);
  if (!error.empty()) return Fail(workers, std::move(error));
  std::vector<PodNeed> needs, leader_needs;
  std::vector<std::string> names;
  ListNeeds(ask, &needs, &names);
  if (leader != kNone) ListNeeds(asks_[leader], &leader_needs, nullptr);
  task.tree = &tree;
  // "As if empty" leaves out placed workloads; what earlier pod sets of this workload take stays.
  task.usage = options_.simulate_empty ? nullptr : &placer_.usage_;
  task.assumed = assumed_.empty() ? nullptr : &placer_.assumed_;
  task.match = &placer_.matcher_.Match(tree, constraints, settings.tas_preferred_affinity);
  task.needs = needs;
  task.leader_needs = leader_needs;
  task.count = count;
  task.within = within;
  task.balanced = settings.tas_balanced_placement;
  task.respect_preferred = settings.tas_preferred_affinity;
  if (placer_.solver_.Solve(task)) return true;
  return Fail(workers, options_.only_whether ? "" : placer_.solver_.Failure(names));
}

// Every pod takes one of `pods`, whether it asks for some or not.
void PlacementRun::ListNeeds(const TopologyAsk& ask, std::vector<PodNeed>* needs,
                             std::vector<std::string>* names) const {
  const TopologyForest& forest = *placer_.usage_.forest();
  const auto add = [&](const std::string& resource, std::int64_t amount) {
    needs->push_back({forest.ResourceIndex(resource), amount});
    if (names != nullptr) names->push_back(resource);
  };
  static const std::string kPods = "pods";
  bool pods_listed = false;
  for (const auto& one : NodeRequestsOf(*ask.spec)) {
    // The requests are sorted by name; `pods` goes to its place in that order.
    const bool is_pods = one.resource == kPods;
    if (!pods_listed && one.resource >= kPods) {
      add(kPods, is_pods ? SaturatingAdd(one.amount, 1) : 1);
      pods_listed = true;
    }
    if (!is_pods) add(one.resource, one.amount);
  }
  if (!pods_listed) add(kPods, 1);
}

const TopologyTree& PlacementRun::TreeOf(std::size_t ask) const {
  return *placer_.usage_.forest()->Tree(options_.cluster, asks_[ask].flavor);
}

std::span<const AdmissionCheckStatus> PlacementRun::Checks() const {
  if (job_.admission_state == nullptr) return {};
  return job_.admission_state->checks;
}

TopologyAssignment PlacementRun::Build(std::size_t ask,
                                       const std::vector<LeafCount>& leaves) const {
  const TopologyTree& tree = TreeOf(ask);
  TopologyAssignment assignment;
  assignment.levels = tree.AssignmentLevels();
  assignment.domains.reserve(leaves.size());
  for (const auto& [leaf, count] : leaves) {
    assignment.domains.push_back({tree.AssignmentValues(leaf), count});
  }
  return assignment;
}

void PlacementRun::Keep(std::size_t ask, TopologyAssignment assignment) {
  result_.placed.emplace_back(asks_[ask].pod_set,
                              std::make_shared<const TopologyAssignment>(std::move(assignment)));
}

void PlacementRun::Assume(std::size_t ask, const std::vector<LeafCount>& leaves) {
  if (!more_to_place_) return;
  const TopologyTree& tree = TreeOf(ask);
  std::vector<PodNeed> needs;
  ListNeeds(asks_[ask], &needs, nullptr);
  TopologyCharges charges;
  for (const auto& [leaf, count] : leaves) {
    for (const auto& need : needs) {
      // A machine without the resource would not have been chosen.
      if (need.resource < 0 || need.amount == 0) continue;
      charges.list.push_back(
          {tree.UsageAt(leaf) + need.resource, SaturatingMul(need.amount, count), 0});
    }
  }
  placer_.assumed_.Charge(charges);
  assumed_.push_back(std::move(charges));
}

bool PlacementRun::Fail(std::size_t ask, std::string why) {
  result_.failed = true;
  result_.failed_pod_set = asks_[ask].pod_set;
  result_.failed_flavor = asks_[ask].flavor;
  result_.failure = std::move(why);
  return false;
}

}  // namespace muster::core
