#include "tests/sim/invariants.h"

#include <algorithm>

#include "schedd/engine/configure/configuration.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"
#include "tests/support/usage_check.h"

namespace muster::sim {
namespace {

// In quiet moments a second apart.
constexpr int kLooks = 3;
constexpr std::int64_t kCommitsWithinNs = 10 * kSecond;

std::string Name(const JobRecord& job) { return "job " + std::to_string(job.id.value); }

std::int64_t CpuOf(const Admission& admission) {
  std::int64_t cpu = 0;
  for (const PodSetAssignment& one : admission.pod_sets) cpu += AmountOf(one.usage, "cpu");
  return cpu;
}

}  // namespace

Invariants::Invariants(Stage& stage, Database& database, Members& members, Clients& clients)
    : stage_(stage), database_(database), members_(members), clients_(clients) {}

void Invariants::OnDurable() {
  ++checks_;
  const StoredWorld stored = database_.Load();
  CheckQuotas(stored);
  CheckUsageRows(stored);
  for (const JobPtr& job : stored.jobs) CheckLife(*job);
  CheckOrder(last_, stored);
  CheckThrottles(stored);
  std::set<Uid> live;
  for (const DispatchRow& row : stored.dispatches) {
    if (IsLive(row.state) && !live.insert(row.key.job_uid).second)
      stage_.Break("I2: two live rows of job " + std::to_string(row.job.value));
  }
  for (const JobPtr& job : stored.jobs) {
    last_[job->id] = job;
    if (job->state == JobState::kPending) {
      waits_since_.try_emplace(job->id, stage_.clock.Now().ns);
    } else {
      waits_since_.erase(job->id);
    }
  }
}

// By plain sums: a queue without a cohort keeps its nominal quota; queues of one cohort together
// keep the sum of theirs. What a shrunk quota has left above the limit may only get less.
void Invariants::CheckQuotas(const StoredWorld& stored) {
  const auto [config, objects] = Configuration::Read(stored.objects, stored.last_seq);
  std::map<std::string, std::int64_t> limit, used;
  for (const auto& [name, queue] : config->cluster_queues) {
    const std::string node = queue.cohort.empty() ? name : "cohort " + queue.cohort;
    for (const ResourceGroup& group : queue.resource_groups) {
      for (const FlavorQuotas& flavor : group.flavors) {
        for (const auto& [resource, quota] : flavor.resources) limit[node] += quota.nominal;
      }
    }
  }
  for (const JobPtr& job : stored.jobs) {
    if (!HoldsQuota(job->state)) continue;
    if (job->admission == nullptr) stage_.Break("I10: " + Name(*job) + " holds nothing");
    for (std::size_t i = 0; i < job->admission->pod_sets.size(); ++i) {
      if (job->admission->pod_sets[i].count != (*job->pod_sets)[i].count)
        stage_.Break("I10: " + Name(*job) + " is admitted in part");
    }
    if (job->admission->pod_sets.size() != job->pod_sets->size())
      stage_.Break("I10: " + Name(*job) + " is admitted without a pod set");
    const auto queue = config->cluster_queues.find(job->admission->cluster_queue);
    if (queue == config->cluster_queues.end()) continue;
    const std::string& cohort = queue->second.cohort;
    used[cohort.empty() ? queue->first : "cohort " + cohort] += CpuOf(*job->admission);
  }
  for (const auto& [node, amount] : used) {
    const auto before = used_before_.find(node);
    const std::int64_t was = before == used_before_.end() ? 0 : before->second;
    if (amount > limit[node] && amount > was)
      stage_.Break("I3: " + node + " uses " + std::to_string(amount) + " of " +
                   std::to_string(limit[node]));
  }
  used_before_ = std::move(used);
}

// Stored amounts are those of the stored holders.
void Invariants::CheckUsageRows(const StoredWorld& stored) {
  std::map<std::string, std::int64_t> rows, held;
  for (const UsageRow& row : stored.usage) rows[row.cluster_queue] += row.amount;
  for (const JobPtr& job : stored.jobs) {
    if (HoldsQuota(job->state)) held[job->admission->cluster_queue] += CpuOf(*job->admission);
  }
  for (const auto& [queue, amount] : held) rows.try_emplace(queue, 0);
  for (const auto& [queue, amount] : rows) {
    if (amount != held[queue])
      stage_.Break("I4: " + queue + " has a row of " + std::to_string(amount) + " for " +
                   std::to_string(held[queue]) + " that is held");
  }
}

// A job that has ended stays as it is, unless it is a script that its user requeues; attempts and
// versions only grow.
void Invariants::CheckLife(const JobRecord& job) {
  const auto found = last_.find(job.id);
  if (found == last_.end()) return;
  const JobRecord& before = *found->second;
  if (before.uid != job.uid || before.name != job.name)
    stage_.Break("I1: " + Name(job) + " is another one");
  const bool again = before.batch != nullptr && job.requeues > before.requeues;
  if (IsTerminal(before.state) && before.state != job.state && !again)
    stage_.Break("I5: " + Name(job) + " left its end: " + std::string(JobStateName(job.state)));
  if (job.attempt < before.attempt) stage_.Break("I5: " + Name(job) + " has a lower attempt");
  if (job.attempt > before.attempt && IsDispatched(before.state) && HoldsQuota(job.state) &&
      before.admission == job.admission)
    stage_.Break("I5: " + Name(job) + " has another attempt under one admission");
  if (job.resource_version < before.resource_version)
    stage_.Break("I5: " + Name(job) + " went back");
  if (HoldsQuota(job.state) && !HoldsQuota(before.state)) CheckBegin(job);
}

// A dependent begins after its parent's end; afterok after its success.
void Invariants::CheckBegin(const JobRecord& job) {
  const JobId parent = clients_.ParentOf(job.id);
  const auto found = last_.find(parent);
  if (parent.value == 0 || found == last_.end() || found->second->batch != nullptr) return;
  const auto now = database_.memory.ReadJob(parent);
  if (!now.ok()) return;
  if (!IsTerminal((*now)->state))
    stage_.Break("I5: " + Name(job) + " begins before " + Name(**now) + " has ended");
  if (clients_.PlanOf(job.id)->after_ok && (*now)->state != JobState::kSucceeded)
    stage_.Break("I5: " + Name(job) + " begins and " + Name(**now) + " has failed");
}

// As many tasks of an array hold quota as %N allows.
void Invariants::CheckThrottles(const StoredWorld& stored) {
  std::map<JobId, std::int32_t> holders;
  for (const JobPtr& job : stored.jobs) {
    if (job->batch != nullptr && job->batch->array_job_id.value != 0 && HoldsQuota(job->state))
      ++holders[job->batch->array_job_id];
  }
  for (const auto& [array, count] : holders) {
    const JobPlan* plan = clients_.PlanOf(array);
    if (plan != nullptr && plan->throttle > 0 && count > plan->throttle)
      stage_.Break("I7: " + std::to_string(count) + " tasks of array " +
                   std::to_string(array.value) + " begin, which allows " +
                   std::to_string(plan->throttle));
  }
}

// Every task of an array has come to an end of its own.
void Invariants::CheckArrays() {
  for (const auto& [name, id] : clients_.accepted()) {
    const JobPlan* plan = clients_.PlanOf(id);
    if (plan->kind != JobKind::kArray) continue;
    JobQuery query;
    query.array = id;
    query.include_deleted = true;
    query.limit = 1000;
    const auto records = database_.memory.ReadJobs(query);
    if (!records.ok()) stage_.Break("I1: the tasks of " + name + " cannot be read");
    std::int64_t tasks = 0;
    for (const JobPtr& job : *records)
      tasks += IsArrayRecord(*job) ? CountOf(BatchStateOf(*job).waiting_tasks) : 1;
    if (tasks != plan->tasks)
      stage_.Break("I1: array " + name + " has " + std::to_string(tasks) + " of " +
                   std::to_string(plan->tasks) + " tasks");
  }
}

// I7 in a StrictFIFO queue: nobody is admitted past a job of higher priority, or of equal priority
// that was submitted before, that waited at the version before and waits still, was never admitted,
// and is not kept back by itself.
void Invariants::CheckOrder(const std::map<JobId, JobPtr>& before, const StoredWorld& stored) {
  if (!stage_.options.strict_fifo) return;
  const auto waits = [](const JobRecord& job) {
    return job.state == JobState::kPending && job.attempt == 0 && !job.suspended_by_user &&
           job.conditions == nullptr && (job.batch == nullptr);
  };
  for (const JobPtr& job : stored.jobs) {
    const auto was = before.find(job->id);
    if (was == before.end() || !HoldsQuota(job->state) || HoldsQuota(was->second->state) ||
        !waits(*was->second))
      continue;
    for (const JobPtr& other : stored.jobs) {
      const auto other_was = before.find(other->id);
      if (other_was == before.end() || other->cluster_queue != job->cluster_queue ||
          !waits(*other) || !waits(*other_was->second))
        continue;
      // A decision may be older than the acceptance, or release, by the time that commits take.
      if (waits_since_[other->id] + kCommitsWithinNs > stage_.clock.Now().ns) continue;
      const bool ahead = other->priority > job->priority ||
                         (other->priority == job->priority && other->id < job->id &&
                          other->submit_time <= job->submit_time);
      if (ahead) stage_.Break("I7: " + Name(*job) + " passed " + Name(*other));
    }
  }
}

// On a member of two steps pods exist only for a uid that is on record (rule D20).
void Invariants::OnStart(const DispatchKey& key, const SimObject& object) {
  const SwarmOptions& swarm = stage_.options;
  if (++starts_[object.uid] > 1) stage_.Break("I2: " + object.uid + " started twice");
  const auto id = database_.memory.FindJob(key.job_uid);
  std::size_t active = 0;
  std::int64_t cpu = 0;
  for (const auto& [other, one] : members_.objects()) {
    if (!one.active()) continue;
    if (other.job_uid == key.job_uid) ++active;
    if (other.cluster == key.cluster) cpu += one.cpu;
  }
  const bool alone = swarm.on_lost == "wait";
  if (alone && active > 1)
    stage_.Break("I2: " + std::to_string(active) + " attempts of one job run (" +
                 std::to_string(object.job.value) + ")");
  // How much a member's own queue admits is its own matter.
  if (alone && !swarm.own_queues && cpu > swarm.room * 1000)
    stage_.Break("I3: " + key.cluster + " runs " + std::to_string(cpu));
  if (database_.away || !id.ok()) return;
  const auto cancelled = clients_.cancelled().find(*id);
  if (cancelled != clients_.cancelled().end())
    stage_.Break("I5: an attempt of job " + std::to_string(id->value) +
                 " started after its cancellation was answered");
  if (!swarm.two_steps) return;
  const StoredWorld stored = database_.Load();
  const bool recorded = std::any_of(
      stored.dispatches.begin(), stored.dispatches.end(),
      [&](const DispatchRow& row) { return row.key == key && row.remote_uid == object.uid; });
  if (!recorded) stage_.Break("I2: " + object.uid + " runs and is not on record");
}

void Invariants::OnAnswer(const JobPtr& job, const char* what) {
  const bool away = database_.away;
  if (away) database_.memory.SetAway(false);
  const auto stored = database_.memory.ReadJob(job->id);
  if (away) database_.memory.SetAway(true);
  if (!stored.ok()) stage_.Break(std::string("I1: ") + what + " is answered and not stored");
  if ((*stored)->resource_version < job->resource_version)
    stage_.Break(std::string("I1: ") + what + " is answered before it is stored");
}

void Invariants::OnAnswer(const std::vector<AppliedObject>& objects) {
  const StoredWorld stored = database_.Load();
  for (const AppliedObject& applied : objects) {
    if (applied.object == nullptr) continue;
    const bool there =
        std::any_of(stored.objects.begin(), stored.objects.end(), [&](const auto& one) {
          return one->kind == applied.object->kind && one->name == applied.object->name &&
                 one->resource_version >= applied.object->resource_version;
        });
    if (!there) stage_.Break("I1: " + applied.object->name + " is answered and not stored");
  }
}

void Invariants::OnView(const WorldView& view) {
  ++checks_;
  std::vector<JobPtr> holders;
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (HoldsQuota(job->state)) holders.push_back(job);
    const auto stored = last_.find(job->id);
    if (stored == last_.end() || stored->second->resource_version < job->resource_version)
      stage_.Break("I1: the view shows " + Name(*job) + " before it is stored");
    return true;
  });
  const auto differences = core::UsageDifferences(view.usage, holders);
  if (!differences.empty()) stage_.Break("I4: " + differences.front());
}

// A job of a BestEffortFIFO queue that has its quota free and finds room on a member that answers
// is not left waiting. Jobs that have a reason of their own to wait are left out.
void Invariants::OnQuiet(const WorldView& view) {
  ++checks_;
  std::map<std::string, std::int64_t> room;
  for (const core::ClusterView& one : view.clusters) {
    if (!one.member.healthy || one.member.cordoned) continue;
    room[one.member.name] = AmountOf(one.free, "cpu");
  }
  // A head that has its victims evicted keeps its room from others (rule A15), and so does one that
  // needs the room of a cancelled job beside that of its victims.
  bool evicts = false;
  std::set<JobId> able;
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    evicts = evicts || (HoldsQuota(job->state) &&
                        (IsTrue(*job, "Evicted") || changes::IsCancelling(*job)));
    return true;
  });
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (job->state != JobState::kPending) return true;
    if (job->reason == Reason::kNone && job->message.empty())
      stage_.Break("I14: " + Name(*job) + " waits without a reason");
    if (evicts || stage_.options.strict_fifo || job->conditions != nullptr || job->batch != nullptr)
      return true;
    std::int64_t cpu = 0;
    for (const PodSet& pods : *job->pod_sets) cpu += pods.count * AmountOf(pods.requests, "cpu");
    const core::NodeIndex node = view.usage.tree().ClusterQueueIndex(job->cluster_queue);
    const auto pair = view.usage.tree().PairIndex("default", "cpu");
    const bool fits = node >= 0 && pair >= 0 && view.usage.Available(node, pair) >= cpu;
    const bool holds =
        std::any_of(room.begin(), room.end(), [cpu](const auto& one) { return one.second >= cpu; });
    if (!fits || !holds) return true;
    able.insert(job->id);
    if (++able_[job->id] >= kLooks)
      stage_.Break("I14: " + Name(*job) + " waits (" + std::string(ReasonName(job->reason)) + ": " +
                   job->message + ") and could be admitted");
    return true;
  });
  std::erase_if(able_, [&able](const auto& one) { return !able.contains(one.first); });
}

void Invariants::CheckAttempts(const JobRecord& job) {
  const auto attempts = database_.memory.ReadAttempts({job.id});
  if (!attempts.ok()) stage_.Break("I8: attempts cannot be read");
  if (attempts->size() != static_cast<std::size_t>(job.attempt))
    stage_.Break("I8: " + Name(job) + " has " + std::to_string(attempts->size()) + " records for " +
                 std::to_string(job.attempt) + " attempts");
  for (const AttemptRecord& one : *attempts) {
    if (!one.end_time.set()) stage_.Break("I8: " + Name(job) + " has an open attempt");
    if (stage_.options.clock_jumps) continue;  // the daemon's clock was set back meanwhile
    if (one.end_time < one.admit_time || (one.start_time.set() && one.end_time < one.start_time))
      stage_.Break("I8: an attempt of " + Name(job) + " ended before it began");
  }
}

void Invariants::AtRest(const WorldView& view) {
  const StoredWorld stored = database_.Load();
  CheckArrays();
  for (const auto& [name, id] : clients_.accepted()) {
    const auto job = database_.memory.ReadJob(id);
    if (!job.ok()) stage_.Break("I1: accepted and lost: " + name);
    if (!IsTerminal((*job)->state)) stage_.Break("R33: " + name + " has not ended");
  }
  for (const JobPtr& job : stored.jobs) {
    if (!IsArrayRecord(*job)) CheckAttempts(*job);
  }
  for (const UsageRow& row : stored.usage) {
    if (row.amount != 0) stage_.Break("I6: " + row.cluster_queue + " has usage left");
  }
  for (const core::ClusterView& one : view.clusters) {
    if (AmountOf(one.free, "cpu") != stage_.options.room * 1000)
      stage_.Break("I6: " + one.member.name + " has room missing");
  }
  for (const auto& [key, object] : members_.objects()) {
    if (object.active()) stage_.Break("I9: " + object.uid + " runs and its job has ended");
    const bool known = std::any_of(stored.dispatches.begin(), stored.dispatches.end(),
                                   [&key = key](const DispatchRow& row) {
      return row.key == key && row.state != DispatchState::kGone;
    });
    // Without labels no list has it; suspended it never runs.
    if (object.unlabelled && object.phase == RemotePhase::kSuspended) continue;
    if (!known)
      stage_.Break("I9: " + object.uid + " of job " + std::to_string(object.job.value) +
                   ", attempt " + std::to_string(key.attempt) + " on " + key.cluster +
                   (object.unlabelled ? " (unlabelled)" : "") +
                   (object.deleting ? " (being deleted)" : "") + " has no row");
  }
  for (const std::string& copy : members_.queues().Left())
    stage_.Break("I9: a copy is left: " + copy);
  for (const DispatchRow& row : stored.dispatches) {
    if (IsLive(row.state))
      stage_.Break("I9: a row of job " + std::to_string(row.job.value) + " is live");
  }
}

}  // namespace muster::sim
