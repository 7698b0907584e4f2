// The queue state machine: queue-order, queue-heads, queue-push, queue-requeue, queue-operations,
// queue-add-workload, queue-update-workload, queue-update-while-inflight, queue-requeue-allowed,
// requeue-inadmissible, requeue-backoff-expired, second-pass-queue.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "schedd/core/queue/queue_entry.h"
#include "schedd/core/queue/queue_order.h"
#include "schedd/core/queue/second_pass.h"
#include "schedd/core/quota/admission_fair_sharing.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {
namespace {

using core::PendingQueues;
using core::QueueEntry;
using core::RequeueReason;

constexpr std::int64_t kRivalId = 1'000'000;  // of no workload of a case

// The queues of a case, before anything is in them.
class Queues {
 public:
  explicit Queues(const Case& test) : world_(LoadWorld(test)) {
    auto config = std::make_shared<ConfigView>(world_.config);
    settings_ = std::make_shared<const AdmissionSettings>(world_.settings);
    pending_.Configure(config, core::QuotaTree::Build(*config), settings_);
  }

  // A workload object; the same key is the same workload. Without LocalQueue it is of the case's
  // only ClusterQueue.
  JobPtr Load(const json::value& workload) {
    JobRecord job = LoadJob(workload, world_, JobId{});
    const auto [known, fresh] = ids_.try_emplace(KeyOf(job), JobId{next_id_});
    if (fresh) ++next_id_;
    job.id = known->second;
    job.accept_seq = job.id.value;
    if (job.cluster_queue.empty()) job.cluster_queue = OnlyQueue();
    return std::make_shared<const JobRecord>(std::move(job));
  }
  std::string OnlyQueue() const {
    const auto& queues = world_.config.cluster_queues;
    return queues.empty() ? "cq" : queues.begin()->first;
  }
  // What the manager does with a new or changed workload: where it enters, or why it does not.
  QueueEntry Enter(const JobPtr& job) {
    pending_.Remove(job->id);
    locals_.erase(KeyOf(*job));
    const QueueEntry entry = core::CheckEntry(world_.config, world_.settings, *job);
    if (entry == QueueEntry::kEnters || entry == QueueEntry::kNoClusterQueue) {
      locals_[KeyOf(*job)] = job->ns + "/" + job->local_queue;
    }
    if (entry == QueueEntry::kEnters) pending_.Add(job, world_.now);
    return entry;
  }
  void EnterAll() {
    for (const auto& job : jobs()) Enter(job);
  }

  std::vector<JobPtr> jobs() {
    std::vector<JobPtr> all;
    for (const auto& job : world_.jobs) {
      const auto [known, fresh] = ids_.try_emplace(KeyOf(job), JobId{next_id_});
      if (fresh) ++next_id_;
      JobRecord copy = job;
      copy.id = known->second;
      copy.accept_seq = copy.id.value;
      if (copy.cluster_queue.empty()) copy.cluster_queue = OnlyQueue();
      all.push_back(std::make_shared<const JobRecord>(std::move(copy)));
    }
    return all;
  }
  json::object LocalQueues() const {
    json::object assigned;
    for (const auto& [key, local] : locals_) assigned[key] = local;
    return assigned;
  }
  // Keys of a queue's workloads, active or inadmissible ones.
  json::array Keys(const std::string& queue, bool active) {
    json::array keys;
    for (const auto& job : pending_.Ordered(queue, 1000)) {
      if (pending_.IsActive(job->id) == active) keys.emplace_back(KeyOf(*job));
    }
    return keys;
  }

  PendingQueues& pending() { return pending_; }
  const World& world() const { return world_; }

 private:
  World world_;
  AdmissionSettingsPtr settings_;
  PendingQueues pending_;
  std::map<std::string, JobId> ids_;
  std::map<std::string, std::string> locals_;
  std::int64_t next_id_ = 1;
};

core::LocalQueueKey LocalQueueKeyOf(std::string_view key) {
  const std::size_t slash = key.find('/');
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

CompareRules AnyOrder() {
  CompareRules rules;
  rules.ignore_order = true;
  return rules;
}

json::value Head(Queues* queues, const std::string& queue) {
  const JobPtr head = queues->pending().Pop(queue);
  return head == nullptr ? json::value(nullptr) : json::value(KeyOf(*head));
}

void QueueOrder(const Case& test, Report* report) {
  Queues queues(test);
  const World& world = queues.world();
  core::FairLedger ledger(world.settings.admission_fair_sharing.value_or(AdmissionFairSharing{}));
  if (const auto* consumed = test.Input("localQueueConsumedResources").if_object()) {
    for (const auto& [key, resources] : *consumed) {
      ledger.Restore(LocalQueueKeyOf(key), LoadAmounts(resources), world.now);
    }
  }
  for (const auto& [key, local] : world.config.local_queues) {
    queues.pending().SetUsage(key.first, key.second, ledger.UsageOf(key, local.fair_weight));
  }
  for (const auto& job : queues.jobs()) queues.pending().Add(job, world.now);
  Check(test, "head", Head(&queues, queues.OnlyQueue()), report);
}

void QueueHeads(const Case& test, Report* report) {
  Queues queues(test);
  queues.EnterAll();
  json::array heads;
  for (const auto& [name, queue] : queues.world().config.cluster_queues) {
    if (!name.starts_with("active-")) continue;
    if (const JobPtr head = queues.pending().Pop(name)) heads.emplace_back(head->name);
  }
  Check(test, "heads", heads, AnyOrder(), report);
  Check(test, "assignedLocalQueue", queues.LocalQueues(), report);
}

void QueuePush(const Case& test, Report* report) {
  Queues queues(test);
  for (const auto& job : queues.jobs()) queues.pending().Add(job, queues.world().now);
  Check(test, "inadmissible", queues.Keys(queues.OnlyQueue(), false), AnyOrder(), report);
  Check(test, "head", Head(&queues, queues.OnlyQueue()), report);
}

core::LastAssignmentPtr LoadLast(const json::value& object) {
  if (!object.is_object()) return nullptr;
  auto last = std::make_shared<core::LastAssignment>();
  for (const auto& pod_set : ListAt(object, "lastTriedFlavorIdx")) {
    auto& tried = last->tried.emplace_back();
    for (const auto& [resource, index] : pod_set.as_object()) {
      tried[resource] = static_cast<std::int32_t>(index.as_int64());
    }
  }
  last->generation = IntAt(object, "clusterQueueGeneration");
  last->cycle = IntAt(object, "schedulingCycle");
  return last;
}

std::string TextIn(const Case& test, std::string_view key) {
  const json::value& text = test.Input(key);
  return text.is_string() ? std::string(std::string_view(text.get_string())) : "";
}

// Kueue's names of them.
constexpr std::array<std::pair<RequeueReason, std::string_view>, 10> kRequeueReasons = {{
    {RequeueReason::kGeneric, ""},
    {RequeueReason::kFailedAfterNomination, "FailedAfterNomination"},
    {RequeueReason::kNoFit, "NoFit"},
    {RequeueReason::kPreemptionNoCandidates, "PreemptionNoCandidates"},
    {RequeueReason::kPreemptionGated, "PreemptionGated"},
    {RequeueReason::kNamespaceMismatch, "NamespaceMismatch"},
    {RequeueReason::kPendingPreemption, "PendingPreemption"},
    {RequeueReason::kPendingMigration, "PendingMigration"},
    {RequeueReason::kPreemptionFailed, "PreemptionFailed"},
    {RequeueReason::kGated, "Gated"},
}};

std::optional<RequeueReason> RequeueReasonOf(std::string_view name) {
  for (const auto& [value, known] : kRequeueReasons) {
    if (known == name) return value;
  }
  return std::nullopt;
}

void QueueRequeue(const Case& test, Report* report) {
  Queues queues(test);
  const auto reason = RequeueReasonOf(TextIn(test, "reason"));
  if (!reason) {
    report->Fail("unknown reason " + TextIn(test, "reason"));
    return;
  }
  const JobPtr job = queues.jobs().front();
  queues.pending().Requeue(job, *reason, LoadLast(test.Input("lastAssignment")),
                           queues.world().now);
  Check(test, "inadmissible", !queues.pending().IsActive(job->id), report);
  // It stays the first even of a queue that gets somebody more important.
  JobRecord rival = *job;
  rival.id = JobId{kRivalId};
  rival.accept_seq = kRivalId;
  rival.uid.lo ^= 1;
  rival.name = "rival";
  rival.priority += 1;
  queues.pending().Add(std::make_shared<const JobRecord>(std::move(rival)), queues.world().now);
  const std::vector<JobPtr> first = queues.pending().Ordered(job->cluster_queue, 1);
  Check(test, "sticky", !first.empty() && first.front()->id == job->id, report);
}

void QueueOperations(const Case& test, Report* report) {
  Queues queues(test);
  PendingQueues& pending = queues.pending();
  const WallTime now = queues.world().now;
  const std::string queue = queues.OnlyQueue();
  const auto each = [&](std::string_view key, const auto& act) {
    const json::value& list = test.Input(key);
    if (!list.is_array()) return;
    for (const auto& item : list.get_array()) {
      const json::value& inner = At(item, "workload");
      JobRecord job = *queues.Load(inner.is_object() ? inner : item);
      job.cluster_queue = queue;
      act(std::make_shared<const JobRecord>(std::move(job)));
    }
  };
  each("workloadsToAdd", [&](const JobPtr& job) { pending.Add(job, now); });
  each("inadmissibleWorkloadsToRequeue",
       [&](const JobPtr& job) { pending.Requeue(job, RequeueReason::kGeneric, nullptr, now); });
  each("admissibleWorkloadsToRequeue", [&](const JobPtr& job) {
    pending.Requeue(job, RequeueReason::kFailedAfterNomination, nullptr, now);
  });
  each("workloadsToUpdate", [&](const JobPtr& job) { pending.Add(job, now); });
  each("workloadsToDelete", [&](const JobPtr& job) { pending.Remove(job->id); });
  std::int64_t moved = 0;
  const json::value& flush = test.Input("queueInadmissibleWorkloads");
  if (flush.is_bool() && flush.get_bool()) {
    moved = static_cast<std::int64_t>(pending.Flush({queue}, now));
  }
  Check(test, "inadmissibleRequeued", moved, report);
  Check(test, "active", queues.Keys(queue, true), AnyOrder(), report);
  const core::QueueCounts counts = pending.Counts(queue);
  Check(test, "pending", static_cast<std::int64_t>(counts.active + counts.inadmissible), report);
}

// Kueue's words.
const char* EntryText(QueueEntry entry) {
  switch (entry) {
    case QueueEntry::kEnters:
      break;
    case QueueEntry::kNotAdmissible:
      return "workload is inadmissible and can't be added to a LocalQueue";
    case QueueEntry::kNoLocalQueue:
      return "localQueue doesn't exist or inactive";
    case QueueEntry::kNoClusterQueue:
      return "clusterQueue doesn't exist";
  }
  return "";
}

json::value ErrorText(QueueEntry entry) {
  if (entry == QueueEntry::kEnters) return nullptr;
  return EntryText(entry);
}

void QueueAddWorkload(const Case& test, Report* report) {
  Queues queues(test);
  const QueueEntry entry = queues.Enter(queues.Load(test.Input("workload")));
  Check(test, "error", ErrorText(entry), report);
  Check(test, "assignedLocalQueue", queues.LocalQueues(), report);
}

void QueueUpdateWorkload(const Case& test, Report* report) {
  Queues queues(test);
  queues.EnterAll();
  const QueueEntry entry = queues.Enter(queues.Load(test.Input("updatedWorkload")));
  Check(test, "error", ErrorText(entry), report);
  Check(test, "assignedLocalQueue", queues.LocalQueues(), report);
  json::object order, members;
  for (const auto& [name, queue] : queues.world().config.cluster_queues) {
    order[name] = queues.Keys(name, true);
  }
  Check(test, "queueOrder", order, report);
  for (const auto& [key, local] : queues.LocalQueues()) {
    const std::string name(std::string_view(local.as_string()));
    if (!members.contains(name)) members[name] = json::array();
    members[name].as_array().emplace_back(key);
  }
  Check(test, "localQueueMembers", members, report);
}

void QueueUpdateWhileInflight(const Case& test, Report* report) {
  Queues queues(test);
  PendingQueues& pending = queues.pending();
  const WallTime now = queues.world().now;
  const JobPtr updated = queues.Load(test.Input("updatedWorkload"));
  for (const auto& step : test.Input("steps").as_array()) {
    const std::string text(std::string_view(step.as_string()));
    if (text == "push") {
      for (const auto& job : queues.jobs()) pending.Add(job, now);
    } else if (text == "pop") {
      pending.Pop(queues.OnlyQueue());
    } else if (text.starts_with("requeue updatedWorkload as inadmissible")) {
      pending.Requeue(updated, RequeueReason::kGeneric, nullptr, now);
    } else if (text.starts_with("push updatedWorkload")) {
      pending.Add(updated, now);
    } else {
      report->Fail("unknown step: " + text);
    }
  }
  const core::QueueCounts counts = pending.Counts(queues.OnlyQueue());
  Check(test, "active", static_cast<std::int64_t>(counts.active), report);
  Check(test, "inadmissible", static_cast<std::int64_t>(counts.inadmissible), report);
}

void QueueRequeueAllowed(const Case& test, Report* report) {
  Queues queues(test);
  const JobPtr job = queues.Load(test.Input("workload"));
  const WallTime now = queues.world().now;
  const json::value& queued = test.Input("alreadyQueued");
  if (queued.is_bool() && queued.get_bool()) queues.Enter(job);
  const json::value& exists = test.Input("existsInAPI");
  const bool allowed =
      exists.is_bool() && exists.get_bool() &&
      core::CheckEntry(queues.world().config, queues.world().settings, *job) == QueueEntry::kEnters;
  const bool requeued =
      allowed && queues.pending().Requeue(job, RequeueReason::kGeneric, nullptr, now);
  Check(test, "requeued", requeued, report);
}

void RequeueInadmissible(const Case& test, Report* report) {
  Queues queues(test);
  PendingQueues& pending = queues.pending();
  const WallTime now = queues.world().now;
  for (const auto& job : queues.jobs()) {
    pending.Requeue(job, RequeueReason::kGeneric, nullptr, now);
  }
  std::vector<std::string> names;
  for (const auto& name : test.Input("clusterQueues").as_array()) {
    names.emplace_back(std::string_view(name.as_string()));
  }
  Check(test, "movedCount", static_cast<std::int64_t>(pending.FlushTrees(names, now)), report);
  json::object left, inadmissible;
  for (const auto& [name, queue] : queues.world().config.cluster_queues) {
    if (auto keys = queues.Keys(name, true); !keys.empty()) left[name] = std::move(keys);
    if (auto keys = queues.Keys(name, false); !keys.empty()) inadmissible[name] = std::move(keys);
  }
  Check(test, "left", left, report);
  Check(test, "inadmissibleLeft", inadmissible, report);
}

void RequeueBackoffExpired(const Case& test, Report* report) {
  Queues queues(test);
  const JobPtr job = queues.Load(test.Input("workload"));
  Check(test, "expired", core::BackoffExpired(*job, queues.world().now), report);
}

void SecondPassQueueOf(const Case& test, Report* report) {
  Queues queues(test);
  core::SecondPassQueue second_pass;
  const WallTime now = queues.world().now;
  for (const auto& workload : test.Input("queuedInOrder").as_array()) {
    second_pass.Offer(queues.Load(workload), now);
  }
  if (test.Input("updateWorkload").is_object()) {
    Check(test, "updateQueued", second_pass.Offer(queues.Load(test.Input("updateWorkload")), now),
          report);
  }
  if (const auto* gone = test.Input("deleteWorkloads").if_array()) {
    for (const auto& workload : *gone) second_pass.Erase(queues.Load(workload)->id);
  }
  json::array ready;
  const WallTime at = {now.us + SecondsOf(TextIn(test, "passTime")) * kMicrosPerSecond};
  for (const auto& job : second_pass.TakeDue(at)) ready.emplace_back(KeyOf(*job));
  Check(test, "ready", ready, AnyOrder(), report);
}

const Registration kQueueOrder("queue-order", QueueOrder);
const Registration kQueueHeads("queue-heads", QueueHeads);
const Registration kQueuePush("queue-push", QueuePush);
const Registration kQueueRequeue("queue-requeue", QueueRequeue);
const Registration kQueueOperations("queue-operations", QueueOperations);
const Registration kQueueAddWorkload("queue-add-workload", QueueAddWorkload);
const Registration kQueueUpdateWorkload("queue-update-workload", QueueUpdateWorkload);
const Registration kQueueUpdateInflight("queue-update-while-inflight", QueueUpdateWhileInflight);
const Registration kQueueRequeueAllowed("queue-requeue-allowed", QueueRequeueAllowed);
const Registration kRequeueInadmissible("requeue-inadmissible", RequeueInadmissible);
const Registration kBackoffExpired("requeue-backoff-expired", RequeueBackoffExpired);
const Registration kSecondPassQueue("second-pass-queue", SecondPassQueueOf);

}  // namespace
}  // namespace muster::conformance
