#include "tests/conformance/procedures/cycle_run.h"

#include <algorithm>
#include <cmath>

#include "schedd/base/quantity.h"
#include "schedd/core/member/placement.h"
#include "schedd/core/queue/gates.h"
#include "schedd/core/queue/queue_entry.h"
#include "schedd/lifecycle/admissions.h"
#include "schedd/lifecycle/evictions.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"
#include "schedd/model/requests.h"
#include "tests/support/attempts_text.h"

namespace muster::conformance {
namespace {

constexpr double kLongestWaitS = 9223372036.854775807;  // the longest duration there is

std::string PriorityText(const core::Eviction& eviction, const AdmissionSettings& settings) {
  const auto text = [&](const JobRecord& job) {
    const std::int64_t effective = EffectivePriority(job, settings);
    return std::to_string(effective) + " (base: " + std::to_string(job.priority) +
           ", boost: " + std::to_string(effective - job.priority) + ")";
  };
  return "; preemptor effective priority: " + text(*eviction.preemptor) +
         "; preemptee effective priority: " + text(*eviction.victim);
}

// What the engine and the simulator make of it. In Kueue a controller, which cases do not run,
// lists a workload's checks: what a case lists is asked for.
changes::Draft CarryOut(const JobRecord& before, const core::PlannedAdmission& admit,
                        ClusterQueue queue, const AdmissionSettings& settings, WallTime now) {
  changes::Draft draft;
  if (admit.second_pass) {
    draft = changes::Completed(before, admit);
  } else {
    const std::vector<std::string> required = RequiredChecks(queue, admit.admission.get());
    for (const AdmissionCheckStatus& listed : StateOf(before).checks) {
      if (std::find(required.begin(), required.end(), listed.name) == required.end())
        queue.admission_checks.push_back({listed.name, {}});
    }
    draft = changes::Reserved(before, admit, queue, settings, now);
  }
  changes::GoOn(draft.get(), settings, now);
  return draft;
}

}  // namespace

CycleRun::CycleRun(const Case& test) : world_(LoadWorld(test)), now_(test.now) {
  error_ = TextAt(At(test.settings, "injectedStatusPatchError"), "message");
  error_reason_ = TextAt(At(test.settings, "injectedStatusPatchError"), "reason");
  config_ = std::make_shared<ConfigView>(world_.config);
  settings_ = std::make_shared<const AdmissionSettings>(world_.settings);
  machines_.nodes = world_.nodes;
  const MemberCluster* members[] = {&machines_};
  forest_ = core::TopologyForest::Build(*config_, members, *settings_);
  Rebuild();
  LoadSharing(test);
  LoadJobs(test);
}

void CycleRun::Rebuild() {
  tree_ = core::QuotaTree::Build(*config_);
  pending_.Configure(config_, tree_, settings_);
}

void CycleRun::LoadSharing(const Case& test) {
  if (!settings_->admission_fair_sharing) return;
  ledger_ = core::FairLedger(*settings_->admission_fair_sharing);
  if (const auto* consumed = test.Input("localQueueConsumedResources").if_object()) {
    for (const auto& [key, resources] : *consumed) {
      const std::size_t slash = key.find('/');
      ledger_.Restore({std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))},
                      LoadAmounts(resources), now_);
    }
  }
  UpdateUsages();
}

// Equal workloads go by their uid's text.
void CycleRun::LoadJobs(const Case& test) {
  const json::array& objects = ListAt(test.Input("objects"), "workloads");
  std::vector<std::size_t> order(world_.jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto uid = [&](std::size_t i) { return TextAt(At(objects[i], "metadata"), "uid"); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return uid(a) < uid(b); });
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    JobRecord& job = world_.jobs[order[rank]];
    job.accept_seq = static_cast<std::int64_t>(rank) + 1;
  }
  std::set<std::string> second;
  if (const auto* list = test.Input("secondPass").if_array()) {
    for (const auto& key : *list) second.emplace(std::string_view(key.as_string()));
  }
  for (std::size_t i = 0; i < world_.jobs.size(); ++i) {
    const auto job = std::make_shared<const JobRecord>(world_.jobs[i]);
    jobs_[job->id] = job;
    keys_[job->id] = KeyOf(*job);
    texts_[job->id] = {uid(i), JobUidOf(objects[i])};
    if (job->admission != nullptr && !IsTrue(*job, "Finished")) {
      cache_[job->id] = job;
      if (IsTrue(*job, "Admitted") && StateOf(*job).unhealthy_nodes.empty()) {
        admitted_before_.insert(job->id);
      }
    }
    if (second.contains(KeyOf(*job))) second_pass_.Offer(job, now_);
    Enter(job);
  }
}

void CycleRun::Enter(const JobPtr& job) {
  if (core::CheckEntry(*config_, *settings_, *job) == core::QueueEntry::kEnters) {
    pending_.Add(job, now_);
  }
}

core::Snapshot CycleRun::Take() {
  core::Snapshot snapshot;
  snapshot.config = config_;
  snapshot.settings = settings_;
  snapshot.usage = core::Usage(tree_);
  snapshot.topology = core::TopologyUsage(forest_);
  auto holders = std::make_shared<core::Holders>(tree_);
  for (const auto& [id, job] : cache_) {
    snapshot.usage.Add(*ChargedAdmission(*job, *settings_));
    snapshot.topology.Charge(core::ChargesOn(*forest_, *job->pod_sets, *job->admission, ""));
    holders->Put(core::MakeHolder(*tree_, *settings_, job));
    snapshot.pods_not_ready =
        snapshot.pods_not_ready || (IsTrue(*job, "Admitted") && !IsTrue(*job, "PodsReady"));
  }
  snapshot.holders = std::move(holders);
  snapshot.second_pass = second_pass_.TakeDue({now_.us + core::SecondPassDelayUs(1)});
  // Queues that are not active yield no head.
  for (auto& heads : pending_.Heads(1, 100'000)) {
    if (!core::QueueGate(*config_, *settings_, *tree_, heads.cluster_queue)) {
      snapshot.heads.push_back(std::move(heads));
    }
  }
  if (settings_->admission_fair_sharing && settings_->admission_fair_sharing_gate) {
    snapshot.local_usages =
        std::make_shared<const core::LocalQueueUsages>(ledger_.Usages(*config_, *settings_));
  }
  snapshot.now = now_;
  snapshot.cycle = cycle_;
  return snapshot;
}

void CycleRun::Schedule() {
  const core::Snapshot snapshot = Take();
  core::CycleInput input;
  input.budget.rounds = 1;
  input.keep_assignments = true;
  core::Plan plan = core::Decide(snapshot, input);
  cycle_ += static_cast<std::int64_t>(plan.rounds);
  if (!error_.empty()) {
    // What could not be written did not happen.
    for (const auto& admit : plan.admits) {
      if (admit.second_pass) continue;
      core::UnadmittedWorkload again;
      again.job = admit.job;
      again.requeue = core::RequeueReason::kFailedAfterNomination;
      plan.not_admitted.push_back(std::move(again));
    }
    plan.admits.clear();
  }
  pending_.Settle(plan, now_);
  for (const auto& eviction : plan.evictions) Evicted(eviction);
  for (const auto& admit : plan.admits) Admitted(admit);
  for (const auto& waiting : plan.not_admitted) Waits(waiting);
  for (const auto& one : plan.recomputations) {
    constexpr const char* kNames[] = {"new_targets", "deferred_fit", "skipped"};
    ++recomputed_[one.cluster_queue][kNames[static_cast<std::size_t>(one.result)]];
  }
}

void CycleRun::Put(JobRecord job) {
  const auto shared = std::make_shared<const JobRecord>(std::move(job));
  jobs_[shared->id] = shared;
  if (cache_.contains(shared->id)) cache_[shared->id] = shared;
  if (pending_.Contains(shared->id)) pending_.Add(shared, now_);
}

// False if status writes fail.
bool CycleRun::Patch() {
  if (!error_.empty()) return false;
  ++patches_;
  return true;
}

std::string CycleRun::WaitText(WallTime since) const {
  const double seconds =
      since.set() ? static_cast<double>(now_.us - since.us) / kMicrosPerSecond : kLongestWaitS;
  return std::to_string(static_cast<std::int64_t>(std::llround(seconds))) + "s";
}

void CycleRun::Admitted(const core::PlannedAdmission& admit) {
  if (!Patch()) return;
  const JobPtr before = jobs_.at(admit.job->id);
  const bool was_admitted = IsTrue(*before, "Admitted");
  const std::string& queue = admit.admission->cluster_queue;
  const JobRecord job =
      *CarryOut(*before, admit, config_->cluster_queues.at(queue), *settings_, now_);
  std::string considered = admit.assignment == nullptr ? "" : AttemptsText(*admit.assignment);
  if (!considered.empty()) considered = "; Flavors considered: " + considered;
  if (!admit.second_pass) {
    Event(job, "Normal", "QuotaReserved",
          "Quota reserved in ClusterQueue " + queue + ", wait time since queued was " +
              WaitText(QueueTime(job, *settings_)) + considered);
  }
  if (IsTrue(job, "Admitted") && !was_admitted) {
    Event(job, "Normal", "Admitted",
          "Admitted by ClusterQueue " + queue + ", wait time since reservation was " +
              WaitText(FindCondition(job, "QuotaReserved")->last_transition));
  }
  const core::LocalQueueKey local{job.ns, job.local_queue};
  if (!admit.second_pass && core::AdmitsByUsage(*config_, *settings_, queue)) {
    ledger_.PushPenalty(local, job.id, core::RequestsOf(*job.pod_sets, admit.admission.get()));
    UpdateUsages();
  }
  cache_[job.id] = nullptr;
  if (admit.replaced != nullptr) {
    // The old slice stays in the cache until a controller, which cases do not run, sees its end.
    JobRecord old = *jobs_.at(admit.replaced->id);
    const std::string message =
        "Replaced to accommodate a workload (UID: " + texts_.at(job.id).uid +
        ", JobUID: " + texts_.at(job.id).job_uid + ") due to workload slice aggregation";
    const std::string reason(ReasonName(Reason::kWorkloadSliceReplaced));
    SetCondition(&old, "Finished", true, reason, message, now_);
    Event(old, "Normal", reason, message);
    Put(std::move(old));
  }
  Put(job);
}

void CycleRun::Evicted(const core::Eviction& eviction) {
  const JobRecord& victim = *jobs_.at(eviction.victim->id);
  if (eviction.reason == Reason::kNodeFailures && error_reason_ == "NotFound") return;
  const Texts preemptor =
      eviction.preemptor == nullptr ? Texts{} : texts_.at(eviction.preemptor->id);
  if (!Patch()) {
    if (eviction.reason == Reason::kNodeFailures) SecondPassFailed(victim, eviction.detail);
    return;
  }
  changes::Draft marked =
      changes::Evicted(victim, eviction, preemptor.uid, preemptor.job_uid, now_);
  const std::string& message = FindCondition(*marked, "Evicted")->message;
  Event(victim, "Normal", "EvictedDueTo" + std::string(ReasonName(eviction.reason)), message);
  if (eviction.reason == Reason::kPreempted) {
    const std::string priorities = PriorityText(eviction, *settings_);
    Event(victim, "Normal", "Preempted", message + priorities);
    Event(*eviction.preemptor, "Normal", "PreemptedWorkload",
          "Preempted workload " + KeyText(victim.id) + " (UID: " + texts_.at(victim.id).uid +
              ") in ClusterQueue " + victim.cluster_queue + priorities);
  }
  Put(*marked);
}

void CycleRun::SecondPassFailed(const JobRecord& job, const std::string& message) {
  Event(job, "Warning", "SecondPassFailed", message);
}

void CycleRun::Waits(const core::UnadmittedWorkload& waiting) {
  JobRecord job = *jobs_.at(waiting.job->id);
  if (waiting.skipped_preemption) ++skipped_[job.cluster_queue];
  if (waiting.second_pass) {
    SecondPassFailed(job, waiting.message);
    return;
  }
  if (!Patch()) return;
  // One that never held quota has no conditions; a Workload shows them all the same, as api/service
  // writes it.
  if (FindCondition(job, "QuotaReserved") == nullptr)
    MarkWaiting(&job, job.reason, job.message, *settings_, now_);
  if (const auto draft = changes::Waiting(job, waiting, *settings_, now_)) job = *draft;
  Event(job, "Warning", std::string(WaitingReasonName(waiting.reason, *settings_)),
        waiting.message);
  Put(std::move(job));
}

void CycleRun::UpdateUsages() {
  for (const auto& [key, local] : config_->local_queues) {
    pending_.SetUsage(key.first, key.second, ledger_.UsageOf(key, local.fair_weight));
  }
}

void CycleRun::Event(const JobRecord& job, const std::string& type, const std::string& reason,
                     const std::string& message) {
  events_.push_back(json::object{{"namespace", job.ns},
                                 {"name", job.name},
                                 {"type", type},
                                 {"reason", reason},
                                 {"message", message}});
}

void CycleRun::RequeueInadmissible() { pending_.FlushAll(now_); }

void CycleRun::Delete(const std::string& key) {
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const auto& entry) { return entry.second == key; });
  if (found == keys_.end()) return;
  const JobId id = found->first;
  if (const auto held = cache_.find(id); held != cache_.end()) {
    pending_.NoteRelease(held->second->admission->cluster_queue);
    cache_.erase(held);
  }
  pending_.Remove(id);
  second_pass_.Erase(id);
  jobs_.erase(id);
}

void CycleRun::SetNominalQuota(const std::string& cluster_queue, const std::string& flavor,
                               const std::string& resource, const std::string& quantity) {
  auto config = std::make_shared<ConfigView>(*config_);
  for (auto& group : config->cluster_queues.at(cluster_queue).resource_groups) {
    for (auto& entry : group.flavors) {
      if (entry.flavor != flavor) continue;
      for (auto& [name, quota] : entry.resources) {
        if (name == resource) quota.nominal = *ParseQuantity(resource, quantity);
      }
    }
  }
  config_ = std::move(config);
  Rebuild();
}

std::vector<JobRecord> CycleRun::Workloads() const {
  std::vector<JobRecord> all;
  for (const auto& [id, job] : jobs_) all.push_back(*job);
  return all;
}

std::map<std::string, AdmissionPtr> CycleRun::Assignments(bool fresh) const {
  std::map<std::string, AdmissionPtr> assignments;
  for (const auto& [id, job] : cache_) {
    if (fresh && admitted_before_.contains(id)) continue;
    assignments[KeyText(id)] = job->admission;
  }
  return assignments;
}

json::object CycleRun::Left(bool active) const {
  json::object left;
  for (const auto& [name, queue] : config_->cluster_queues) {
    json::array keys;
    for (const auto& job : pending_.Ordered(name, 100'000)) {
      if (pending_.IsActive(job->id) == active) keys.emplace_back(KeyText(job->id));
    }
    std::sort(keys.begin(), keys.end(), [](const json::value& a, const json::value& b) {
      return a.as_string() < b.as_string();
    });
    if (!keys.empty()) left[name] = std::move(keys);
  }
  return left;
}

json::object CycleRun::SkippedPreemptions() const {
  json::object skipped;
  for (const auto& [name, queue] : config_->cluster_queues) {
    const auto found = skipped_.find(name);
    skipped[name] = found == skipped_.end() ? 0 : found->second;
  }
  return skipped;
}

json::object CycleRun::Recomputations() const {
  json::object all;
  for (const auto& [queue, results] : recomputed_) {
    json::object counts;
    for (const auto& [result, count] : results) counts[result] = count;
    all[queue] = std::move(counts);
  }
  return all;
}

json::object CycleRun::PendingPenalties() const {
  json::object pending;
  if (!settings_->admission_fair_sharing) return pending;
  for (const auto& [key, local] : config_->local_queues) {
    // What weighs and is not history.
    core::FairLedger history(*settings_->admission_fair_sharing);
    history.Restore(key, ledger_.HistoryOf(key));
    pending[key.first + "/" + key.second] = ledger_.UsageOf(key, 1) > history.UsageOf(key, 1);
  }
  return pending;
}

json::array CycleRun::With(const char* condition) const {
  json::array keys;
  for (const auto& [id, job] : jobs_) {
    if (IsTrue(*job, condition)) keys.emplace_back(KeyText(id));
  }
  return keys;
}

}  // namespace muster::conformance
