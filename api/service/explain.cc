// Use cases: why a job waits or is where it is, and the order of a queue. Holds
// SchedulerService::Explain, EstimateSubmission and QueueOrder.
//
// The answer is computed on the caller's thread from the published view, by the same functions of
// schedd/core that decide; the engine is not asked. For that the snapshot of a cycle is rebuilt
// from the view: quota usage and members as published, holders of quota and topology usage
// recounted from the jobs. A pending job also gets an estimate of its start (start_estimate.h),
// which plays other jobs through; limits::kExplainJobs bounds how many, so that one request cannot
// take seconds.
#include <algorithm>
#include <cctype>
#include <limits>

#include "api/service/explain_gate.h"
#include "api/service/explain_hiding.h"
#include "api/service/job_rights.h"
#include "api/service/never_fits.h"
#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"
#include "api/service/start_estimate.h"
#include "api/service/submission.h"
#include "schedd/base/limits.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/core/quota/admission_fair_sharing.h"
#include "schedd/core/topology/member_machines.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/holder_of.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/world/job_table.h"

namespace muster::api {
namespace {

// Usage of each LocalQueue for admission fair sharing, from the stored decaying sums; null while
// admission fair sharing is off.
std::shared_ptr<const core::LocalQueueUsages> LocalUsagesOf(const WorldView& view) {
  if (view.fair_uses == nullptr || !view.settings->admission_fair_sharing) return nullptr;
  core::FairLedger ledger(*view.settings->admission_fair_sharing);
  for (const auto& [queue, use] : *view.fair_uses) {
    ledger.Restore(queue, use.consumed, use.updated);
  }
  return std::make_shared<const core::LocalQueueUsages>(
      ledger.Usages(*view.config, *view.settings));
}

// How much of each topology domain the admitted jobs take; empty if no member has a topology.
core::TopologyUsage MachinesOf(const WorldView& view, const std::vector<JobPtr>& holders) {
  std::vector<MemberCluster> members;
  for (const core::ClusterView& cluster : view.clusters) members.push_back(cluster.member);
  const core::TopologyForestPtr forest =
      core::ForestOf(*view.config, std::move(members), *view.settings);
  if (forest == nullptr) return {};
  core::TopologyUsage usage(forest);
  for (const JobPtr& job : holders) {
    if (job->admission == nullptr || job->pod_sets == nullptr) continue;
    usage.Charge(core::ChargesOn(*forest, *job->pod_sets, *job->admission, job->cluster));
  }
  return usage;
}

// True while waitForPodsReady.blockAdmission keeps all admissions back: a dispatched job whose pods
// are not all ready.
bool SomePodsNotReady(const WorldView& view, const std::vector<JobPtr>& holders) {
  const WaitForPodsReady& rules = view.settings->pods_ready;
  return rules.enabled && rules.block_admission &&
         std::any_of(holders.begin(), holders.end(), [](const JobPtr& job) {
           return IsDispatched(job->state) && !IsTrue(*job, "PodsReady");
         });
}

// The view as the snapshot that a scheduling cycle would have worked on.
core::Snapshot SnapshotOf(const WorldView& view, const std::vector<JobPtr>& holders, WallTime now) {
  core::Snapshot snapshot;
  snapshot.config = view.config;
  snapshot.settings = view.settings;
  snapshot.usage = view.usage;
  snapshot.clusters = view.clusters;
  snapshot.placed = view.placed;
  snapshot.now = now;
  snapshot.local_usages = LocalUsagesOf(view);
  snapshot.pods_not_ready = SomePodsNotReady(view, holders);
  const core::QuotaTree& tree = view.usage.tree();
  auto held = std::make_shared<core::Holders>(view.usage.tree_ptr());
  for (const JobPtr& job : holders) {
    if (job->admission != nullptr) held->Put(HolderOf(tree, *view.settings, job));
  }
  snapshot.holders = std::move(held);
  snapshot.topology = MachinesOf(view, holders);
  return snapshot;
}

// Pending jobs: those of the job's ClusterQueue that may be tried, those of its cohort tree, and
// those of every queue. The last two lists stop one past limits::kExplainJobs, since longer ones
// are not played through.
struct Waiters {
  std::vector<JobPtr> queue, tree, all;
};

Waiters WaitersOf(const WorldView& view, const JobRecord& job) {
  const core::QuotaTree& tree = view.usage.tree();
  // Whether each ClusterQueue is in the cohort tree of the job's own.
  std::map<std::string, bool> same_tree;
  const core::NodeIndex own = tree.ClusterQueueIndex(job.cluster_queue);
  for (const auto& [name, queue] : view.config->cluster_queues) {
    const core::NodeIndex node = tree.ClusterQueueIndex(name);
    same_tree[name] = own >= 0 && node >= 0 && tree.node(node).root == tree.node(own).root;
  }
  Waiters waiters;
  const auto full = [](const std::vector<JobPtr>& list) {
    return list.size() > limits::kExplainJobs;
  };
  view.jobs.ForEach(JobId{}, [&](const JobPtr& other) {
    if (other->state != JobState::kPending) return true;
    if (other->cluster_queue == job.cluster_queue && changes::MayBeTried(*other))
      waiters.queue.push_back(other);
    // What never starts as things are takes nobody's place; what waits for other jobs may.
    const Reason gate = changes::BatchGate(*other).reason;
    if (gate != Reason::kNone && gate != Reason::kDependency) return true;
    if (!full(waiters.tree) && same_tree[other->cluster_queue]) waiters.tree.push_back(other);
    if (!full(waiters.all)) waiters.all.push_back(other);
    return true;
  });
  return waiters;
}

// False if the job's reason goes away neither at a time nor when other jobs end. Then an estimate
// of the start would have nothing to play.
bool WaitsForOthers(const core::Explanation& why, const JobRecord& job) {
  const Reason reason = ReasonOf(why.reason);
  const bool for_a_time = reason == Reason::kBeginTime || reason == Reason::kBackoff;
  if (for_a_time && core::HeldBackUntil(job)) return true;
  if (why.state != JobState::kPending || why.place.position == 0) return false;
  return reason != Reason::kExceedsMaxQuota && reason != Reason::kNoMatchingFlavor &&
         reason != Reason::kNoMemberCluster && reason != Reason::kAdmissionGated;
}

// The explanation of `job` in full, for a reader who may see every job.
JobExplanation ExplanationOf(const WorldView& view, const JobPtr& job, WallTime now) {
  JobExplanation explained;
  explained.now = now;
  core::ExplainInput input;
  input.job = job;
  if (IsTerminal(job->state) || job->state == JobState::kHeld) {
    // core::Explain reads nothing else of the snapshot for these states.
    input.snapshot.now = explained.now;
    explained.why = core::Explain(input);
    return explained;
  }
  const std::vector<JobPtr> holders = HoldersOf(view.jobs);
  input.snapshot = SnapshotOf(view, holders, explained.now);
  const bool waits = job->state == JobState::kPending;
  Waiters waiters;
  if (waits) waiters = WaitersOf(view, *job);
  input.waiting = waiters.queue;
  if (waits) input.gate = ExplainGateOf(*job);
  explained.why = core::Explain(input);
  if (!waits) return explained;
  // No end of another job would start it, so nothing is played.
  if (!WaitsForOthers(explained.why, *job)) {
    explained.start.asked = true;
    std::string why = input.gate ? input.gate->message : "not as things are, whatever ends";
    if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
    explained.start.text = "unknown: " + why;
    return explained;
  }
  // All waiting jobs take part in the estimate if they are few enough. Otherwise only those of the
  // job's cohort tree do, and the answer names that as an assumption.
  const bool all = waiters.all.size() + holders.size() <= limits::kExplainJobs;
  explained.start = EstimateStart(input.snapshot, holders, all ? waiters.all : waiters.tree, job);
  if (!all && explained.start.latest) {
    explained.start.assumptions.push_back(
        "jobs of other cohorts that wait do not take the room on the member clusters");
  }
  return explained;
}

}  // namespace

Result<SubmissionEstimate> SchedulerService::EstimateSubmission(const auth::Principal& who,
                                                                SubmitRequest request) const {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  const auto asked = NewJobPlaceOf(request.ns, request.body);
  if (asked) {
    if (const Status may = MayCreateJob(authorizer_, who, *asked); !may.ok()) return may.error();
  }
  const WallTime now = engine_.WallNow();
  PodSetCache pod_sets;
  SubmissionBuilder builder(*(*view)->config, *(*view)->settings, random_, pod_sets, who,
                            authorizer_);
  builder.Know((*view)->clusters, engine_.CalendarNow());
  Result<std::vector<Submission>> built = builder.Build(request.ns, std::move(request.body), "");
  if (!built.ok()) return built.error();
  auto job = std::make_shared<JobRecord>(*built->front().draft);
  if (!asked) {
    const Status may = MayCreateJob(authorizer_, who, {job->shape, job->ns});
    if (!may.ok()) return may.error();
  }
  const Status parents = CheckDependencies(who, BatchStateOf(*job));
  if (!parents.ok()) return parents.error();
  if (const Status fits = RefuseNeverFits(**view, *job); !fits.ok()) return fits.error();
  SubmissionEstimate out;
  // The number that the next job gets, if nobody else submits before.
  (*view)->jobs.ForEach(JobId{}, [&](const JobPtr& other) {
    job->id = other->id;
    return true;
  });
  job->id = JobId{job->id.value + 1};
  job->submit_time = now;
  job->accept_seq = std::numeric_limits<std::int64_t>::max();
  out.id = job->id;
  out.queue = job->local_queue;
  for (const PodSet& pods : *job->pod_sets)
    out.cpus += AmountOf(pods.requests, "cpu") / 1000 * pods.count;
  const std::vector<JobPtr> holders = HoldersOf((*view)->jobs);
  const core::Snapshot snapshot = SnapshotOf(**view, holders, now);
  Waiters waiters = WaitersOf(**view, *job);
  const bool all = waiters.all.size() + holders.size() < limits::kExplainJobs;
  std::vector<JobPtr>& waiting = all ? waiters.all : waiters.tree;
  waiting.push_back(job);
  const StartEstimate estimate = EstimateStart(snapshot, holders, waiting, job);
  out.start = estimate.latest;
  // A job that may not begin before a time starts then at the earliest.
  const BatchState& state = BatchStateOf(*job);
  if (out.start && state.begin_at && *state.begin_at > *out.start) out.start = state.begin_at;
  out.text = estimate.text;
  job->cluster = estimate.cluster;
  job->name = job->name.empty() ? "job-" + std::to_string(job->id.value) : job->name;
  out.node_list = NodeListOf(*job);
  return out;
}

Result<JobExplanation> SchedulerService::Explain(const auth::Principal& who,
                                                 const std::string& id) const {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  const Result<JobPtr> job = GetJob(who, id);
  if (!job.ok()) return job.error();
  JobExplanation explained = ExplanationOf(**view, *job, engine_.WallNow());
  // Each job that the answer mentions is asked for once or a few times; an answer lists few.
  HideJobs([&](const JobRecord& other) { return SeesJob(authorizer_, who, other); }, (*view)->jobs,
           &explained);
  return explained;
}

Result<QueueLine> SchedulerService::QueueOrder(const auth::Principal& who,
                                               const std::string& cluster_queue, std::size_t offset,
                                               std::size_t limit) const {
  const Status allowed =
      authorizer_.Authorize(who, auth::Verb::kGet, ClusterQueueRef(cluster_queue));
  if (!allowed.ok()) return allowed.error();
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  if (!(*view)->config->cluster_queues.contains(cluster_queue))
    return NotFound("ClusterQueue \"" + cluster_queue + "\" does not exist");
  std::vector<JobPtr> waiting;
  (*view)->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (job->state == JobState::kPending && job->cluster_queue == cluster_queue)
      waiting.push_back(job);
    return true;
  });
  // The order asks for nothing else of a snapshot.
  core::Snapshot snapshot;
  snapshot.config = (*view)->config;
  snapshot.settings = (*view)->settings;
  snapshot.now = engine_.WallNow();
  snapshot.local_usages = LocalUsagesOf(**view);
  const std::size_t many = offset + limit;
  const std::vector<JobPtr> order = core::OrderOfQueue(snapshot, cluster_queue, waiting, many);
  QueueLine line;
  line.waiting = order.size();
  for (std::size_t i = offset; i < std::min(many, order.size()); ++i) {
    if (SeesJob(authorizer_, who, *order[i])) line.places.push_back({i + 1, order[i]});
  }
  return line;
}

}  // namespace muster::api
