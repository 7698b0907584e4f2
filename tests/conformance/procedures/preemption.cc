// Who is evicted for whom: preemption, candidates-ordering, satisfies-preemption-policy,
// effective-priority, preemption-message, fair-clusterqueue-ordering.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/preempt/fair_targets.h"
#include "schedd/core/preempt/preemption.h"
#include "schedd/core/preempt/preemption_classical.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {
namespace {

using core::Charge;
using core::Charges;
using core::HolderPtr;
using core::Holders;
using core::NodeIndex;
using core::QuotaTreePtr;

// The reservations of a world.
struct Ledger {
  QuotaTreePtr tree;
  core::Usage usage;
  Holders holders;
};

Ledger LedgerOf(const World& world) {
  Ledger ledger;
  ledger.tree = core::QuotaTree::Build(world.config);
  ledger.usage = core::Usage(ledger.tree);
  ledger.holders = Holders(ledger.tree);
  for (const JobRecord& job : world.jobs) {
    if (job.admission == nullptr) continue;
    ledger.usage.Add(*job.admission);
    ledger.holders.Put(
        core::MakeHolder(*ledger.tree, world.settings, std::make_shared<const JobRecord>(job)));
  }
  return ledger;
}

std::string TextIn(const Case& test, std::string_view key) {
  const json::value& text = test.Input(key);
  return text.is_string() ? std::string(std::string_view(text.get_string())) : "";
}

core::FlavorMode ModeOf(const std::string& name) {
  if (name == "Fit") return core::FlavorMode::kFit;
  return name == "Preempt" ? core::FlavorMode::kPreempt : core::FlavorMode::kNoFit;
}

core::Assignment LoadAssignment(const json::value& object) {
  core::Assignment assignment;
  assignment.borrowing_level = static_cast<std::int32_t>(IntAt(object, "borrowingLevel"));
  for (const auto& item : ListAt(object, "podSets")) {
    core::PodSetFlavors pods;
    pods.name = TextAt(item, "name");
    pods.count = static_cast<std::int32_t>(IntAt(item, "count"));
    for (const auto& [resource, flavor] : At(item, "flavors").as_object()) {
      core::FlavorAssignment chosen;
      chosen.flavor = TextAt(flavor, "flavor");
      chosen.mode = ModeOf(TextAt(flavor, "mode"));
      chosen.tried_flavor_idx = static_cast<std::int32_t>(IntAt(flavor, "triedFlavorIdx"));
      if (chosen.mode != core::FlavorMode::kFit) pods.reasons = {"lacks room"};
      pods.flavors.emplace(resource, std::move(chosen));
    }
    assignment.pod_sets.push_back(std::move(pods));
  }
  return assignment;
}

void Preemption(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  Ledger ledger = LedgerOf(world);
  JobRecord incoming = LoadJob(test.Input("incoming"), world, JobId{1'000'000});
  incoming.cluster_queue = TextIn(test, "targetClusterQueue");
  const core::Assignment assignment = LoadAssignment(test.Input("assignment"));
  const core::Demand demand = core::DemandOf(incoming, world.settings);
  const Charges requests = core::TotalRequests(*ledger.tree, demand, assignment, nullptr);
  const auto contested = assignment.Contested(*ledger.tree);
  const core::Usage before = ledger.usage;

  core::VictimSearch search(world.settings, ledger.holders, &ledger.usage);
  const core::Preemptor preemptor = core::PreemptorOf(*ledger.tree, world.settings, incoming);
  const auto victims = search.Find(preemptor, requests, contested, nullptr);
  if (!(ledger.usage == before)) report->Fail("the search changed the usage");

  json::array targets;
  std::vector<JobRecord> workloads = world.jobs;
  for (const core::Victim& victim : victims) {
    const JobRecord& job = *victim.holder->job;
    targets.push_back(
        json::object{{"workload", KeyOf(job)}, {"reason", std::string(ReasonName(victim.reason))}});
    if (victim.holder->evicted) continue;  // on its way out already
    const std::string message = core::PreemptionMessage(
        TextOf(incoming.uid), JobUidOf(test.Input("incoming")), victim.reason,
        ledger.tree->Path(preemptor.queue), ledger.tree->Path(victim.holder->queue));
    for (JobRecord& workload : workloads) {
      if (workload.id == job.id) MarkPreempted(&workload, victim.reason, message, test.now);
    }
  }
  Check(test, "preemptedCount", targets.size(), report);
  Check(test, "targets", targets, report);
  CheckWorkloads(test, "workloads", workloads, report);
}
const Registration kPreemption("preemption", Preemption);

// A candidate without a reservation is in no queue.
std::string QueueOf(const json::value& candidate) {
  const std::string queue = TextAt(candidate, "clusterQueue");
  return queue.empty() ? "(none)" : queue;
}

// A tree in which the candidates' queues stand beside the preemptor's.
World CandidateWorld(const Case& test, const std::string& own) {
  World world = LoadWorld(test);
  const ResourceGroup group{{"x"}, {{"f", {{"x", {}}}}}};
  world.config.cluster_queues[own].resource_groups = {group};
  for (const auto& candidate : test.Input("candidates").as_array()) {
    world.config.cluster_queues[QueueOf(candidate)].resource_groups = {group};
  }
  for (auto& [name, queue] : world.config.cluster_queues) queue.name = name;
  return world;
}

void CandidatesOrdering(const Case& test, Report* report) {
  const std::string own = TextIn(test, "preemptorClusterQueue");
  const World world = CandidateWorld(test, own);
  const QuotaTreePtr tree = core::QuotaTree::Build(world.config);
  Holders holders(tree);
  core::LocalQueueUsages usages;
  std::int64_t id = 0;
  for (const auto& candidate : test.Input("candidates").as_array()) {
    JobRecord job = LoadJob(At(candidate, "workload"), world, JobId{++id});
    if (job.admission == nullptr) job.admit_time = test.now;
    // All of them use the one pair that the search is about.
    job.admission = std::make_shared<const Admission>(
        Admission{QueueOf(candidate), {{"main", 1, {{"x", "f"}}, {}, nullptr, false}}});
    if (const json::value& usage = At(candidate, "localQueueFSUsage"); usage.is_number())
      usages[{job.ns, job.local_queue}] = usage.to_number<double>();
    holders.Put(
        core::MakeHolder(*tree, world.settings, std::make_shared<const JobRecord>(std::move(job))));
  }
  const core::Preemptor preemptor{nullptr, tree->ClusterQueueIndex(own), 0, {}};
  const std::vector<core::FlavorResourceIndex> contested = {0};
  const core::VictimQuery query{
      world.settings, holders, world.settings.admission_fair_sharing ? &usages : nullptr,
      preemptor,      {},      contested};
  core::CandidateMerge merge;
  for (const auto& [name, queue] : world.config.cluster_queues) {
    const NodeIndex node = tree->ClusterQueueIndex(name);
    merge.Add({core::CandidateList(query, node, PreemptionPolicy::kAny), name == own ? 1 : 0, -1});
  }
  json::array order;
  while (!merge.empty()) order.push_back(json::value((*merge.Pop())->job->name.c_str()));
  Check(test, "order", order, report);
}
const Registration kCandidatesOrdering("candidates-ordering", CandidatesOrdering);

void FairClusterQueueOrdering(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const Ledger ledger = LedgerOf(world);
  const auto node = [&](const json::value& name) {
    return ledger.tree->ClusterQueueIndex(std::string_view(name.as_string()));
  };
  const core::Preemptor preemptor{nullptr, node(test.Input("preemptorClusterQueue")), 0, {}};
  std::vector<core::FlavorResourceIndex> all;
  for (std::size_t i = 0; i < ledger.tree->flavor_resource_count(); ++i)
    all.push_back(static_cast<core::FlavorResourceIndex>(i));
  const core::VictimQuery query{world.settings, ledger.holders, nullptr, preemptor, {}, all};
  core::FairTargets targets(ledger.usage, preemptor.queue);
  for (const auto& name : test.Input("candidateClusterQueues").as_array())
    targets.Add(core::CandidateList(query, node(name), PreemptionPolicy::kAny));

  const json::value& actions = test.Input("actions");
  json::array order;
  while (core::CandidateList* list = targets.Next()) {
    const std::size_t at = order.size();
    order.push_back(json::value(ledger.tree->node(list->queue()).name.c_str()));
    const bool drop =
        actions.is_array() && at < actions.as_array().size() && actions.at(at) == "drop";
    if (drop) {
      targets.Drop(list->queue());
    } else {
      list->Pop();
    }
  }
  Check(test, "order", order, report);
}
const Registration kFairClusterQueueOrdering("fair-clusterqueue-ordering",
                                             FairClusterQueueOrdering);

PreemptionPolicy PolicyOf(const json::value& text) {
  if (!text.is_string() || text.as_string() == "Never") return PreemptionPolicy::kNever;
  if (text.as_string() == "LowerPriority") return PreemptionPolicy::kLowerPriority;
  return text.as_string() == "Any" ? PreemptionPolicy::kAny
                                   : PreemptionPolicy::kLowerOrNewerEqualPriority;
}

void SatisfiesPreemptionPolicy(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const JobRecord preemptor = LoadJob(test.Input("preemptor"), world, JobId{1});
  const JobRecord job = LoadJob(test.Input("candidate"), world, JobId{2});
  core::Holder candidate;
  candidate.priority = EffectivePriority(job, world.settings);
  candidate.queue_time = QueueTime(job, world.settings);
  const core::Preemptor wants{&preemptor, -1, EffectivePriority(preemptor, world.settings),
                              QueueTime(preemptor, world.settings)};
  Check(test, "satisfies", core::SatisfiesPolicy(wants, candidate, PolicyOf(test.Input("policy"))),
        report);
}
const Registration kSatisfiesPreemptionPolicy("satisfies-preemption-policy",
                                              SatisfiesPreemptionPolicy);

void EffectivePriorityOf(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const JobRecord job = LoadJob(test.Input("workload"), world, JobId{1});
  const std::int64_t effective = EffectivePriority(job, world.settings);
  Check(test, "basePriority", job.priority, report);
  Check(test, "boost", effective - job.priority, report);
  Check(test, "effectivePriority", effective, report);
}
const Registration kEffectivePriority("effective-priority", EffectivePriorityOf);

void PreemptionMessageOf(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const JobRecord preemptor = LoadJob(test.Input("preemptor"), world, JobId{1});
  const std::string message = core::PreemptionMessage(
      TextOf(preemptor.uid), JobUidOf(test.Input("preemptor")), ReasonOf(TextIn(test, "reason")),
      TextIn(test, "preemptorPath"), TextIn(test, "preempteePath"));
  Check(test, "message", json::value(message.c_str()), report);
}
const Registration kPreemptionMessage("preemption-message", PreemptionMessageOf);

}  // namespace
}  // namespace muster::conformance
