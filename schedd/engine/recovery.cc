// A recovery, at start and after each failed write, in this order:
//
// 1. Lead: takes a new epoch, which fences every earlier one (rule D17), and begins the term by
//    which orders are carried out.
// 2. Load: one consistent read of the store.
// 3. Rebuild: each owner is reset to the state that its rows imply. The configuration comes first,
//    because jobs are entered under it; rows of attempts come after the jobs.
// 4. CorrectUsage: amounts are recomputed from the jobs and compared with the stored rows.
// 5. RestoredJobs: after a restore of the database, what has not changed since is kept from running
//    again (rule D25).
// 6. Redrive: every attempt goes on from the state of its row (rule D18). An attempt in Intent is
//    ordered again; one that may run is looked for in the list of its member; one that was being
//    removed is removed. Lists of all members are ordered in any case.
//
// A step that fails ends the try; the next one comes after a back-off and begins at 1. Facts of
// members survive (KnownMembers), because members do not report them again.
//
// If step 1 finds that another daemon leads, there is no back-off: the lease is looked at again
// soon. Meanwhile steps 2 and 3 are done without a lead now and then, for readers of this daemon,
// step 2 on a thread of its own, because it may take longer than a lease.
// Nothing is written or ordered by that. No copy is begun when the leader has not renewed its lease
// for half of its length, so that reading delays no takeover.
#include "schedd/engine/recovery.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedd/base/fault_points.h"
#include "schedd/base/limits_lease.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/live/remote_objects.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

// The wait of one try for the lead; between tries the loop answers clients.
constexpr std::chrono::milliseconds kLeadWait{1000};
constexpr std::int64_t kBackoffMs = 50;
constexpr std::int64_t kBackoffMaxMs = 500;

// Nanoseconds until the next try: 50 ms doubled up to half a second, of which the second half is
// random, so that daemons that wait for one database do not ask it all at once.
std::int64_t Backoff(int failures, Random& random) {
  const std::int64_t base = std::min(kBackoffMaxMs, kBackoffMs << std::min(failures, 10));
  return (base / 2 +
          static_cast<std::int64_t>(random.Next() % static_cast<std::uint64_t>(base / 2 + 1))) *
         kNanosPerMilli;
}

// Of submissions and conditions; other times may be those of members, whose clocks are their own.
WallTime LastStamp(const std::vector<JobPtr>& jobs) {
  WallTime last;
  for (const JobPtr& job : jobs) {
    last = std::max(last, job->submit_time);
    if (job->conditions == nullptr) continue;
    for (const Condition& condition : *job->conditions)
      last = std::max(last, condition.last_transition);
  }
  return last;
}

// Another daemon that led in between may have been stopped since, and its orders hold for one term:
// then ours begin when the lease's board says, or, without a board, a term later. Nobody led in
// between if the epoch is the next one after ours, or the first of a new database.
void BeginTerm(const EngineOptions& options, Epoch before, const Lease& lease, Monotonic asked,
               Monotonic led) {
  if (options.lead == nullptr) return;
  if (options.lease != nullptr)
    return options.lead->Begin(lease.epoch, asked, std::max(led, options.lease->orders_from()));
  const bool nobody_between = lease.epoch.value == before.value + 1;
  options.lead->Begin(lease.epoch, asked, nobody_between ? led : led + options.lead->length_ns());
}

}  // namespace

// A failed recovery, or else the failed write that made one necessary.
const std::string& Recovery::Problem() const {
  return problem_.empty() ? owners_.commits.failure() : problem_;
}

// Schedules the next try. `step` is shown in the view, so that /readyz says what is waited for.
bool Recovery::Fail(const char* step, const Error& error) {
  Log(LogLevel::kWarning, "engine", "recovery_waits",
      {{"reason", step}, {"err", error.detail}, {"attempt", std::int64_t{failures_}}});
  problem_ = std::string(step) + ": " + error.detail;
  next_try_ = owners_.context.clock.Now() + Backoff(failures_++, owners_.context.random);
  owners_.commits.MarkChanged();
  return false;
}

bool Recovery::FailToRead(const Error& error) {
  const EngineContext& context = owners_.context;
  const Monotonic now = context.clock.Now();
  if (!unread_since_) unread_since_ = now;
  LeaseBoard* const board = context.options.lease;
  const bool long_enough = now - *unread_since_ >= MillisToNanos(limits::kRecoveryKeepsLeaseMs);
  if (board != nullptr && !board->self().sole && long_enough) {
    Log(LogLevel::kError, "engine", "lead_left_to_others", {{"err", error.detail}});
    board->Resign();
    unread_since_.reset();
  }
  return Fail("reading the database", error);
}

WallTime Recovery::FinishedSince() const {
  const EngineContext& context = owners_.context;
  return {
      SaturatingSub(context.clock.WallNow().us, MillisToMicros(context.options.finished_kept_ms))};
}

// Told once, not with every look at the lease.
void Recovery::StandBy(const Error& error) {
  const std::string problem = "waiting for leadership: " + error.detail;
  const EngineContext& context = owners_.context;
  if (problem != problem_) {
    Log(LogLevel::kInfo, "engine", "stands_by", {{"reason", error.detail}});
    problem_ = problem;
    owners_.commits.MarkChanged();
  }
  failures_ = 0;
  unread_since_.reset();
  Copy();
  next_try_ =
      context.clock.Now() + MillisToNanos(LookEveryMs(context.options.lease->self().ttl_ms));
}

// The read takes as long as it takes; meanwhile the lease is looked at. One that was begun before
// this daemon led itself is too old.
void Recovery::Copy() {
  const EngineContext& context = owners_.context;
  if (!copy_.valid()) {
    const LeaseBoard& lease = *context.options.lease;
    const Monotonic now = context.clock.Now();
    if (now < next_copy_ || lease.OtherLeftMs() < lease.standing().row.ttl_ms / 2) return;
    copy_begun_ = now;
    copy_since_ = FinishedSince();
    copy_ = std::async(context.options.copy_launch, [&store = context.store, since = copy_since_] {
      return store.Load(Epoch{}, since);
    });
  }
  if (copy_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
  auto loaded = copy_.get();
  if (copy_begun_ >= led_) UseCopy(std::move(loaded), copy_begun_);
}

// What CorrectUsage has found is for the leader to write.
void Recovery::UseCopy(Result<StoredWorld> loaded, Monotonic begun) {
  if (!loaded.ok()) {
    Log(LogLevel::kWarning, "engine", "copy_failed", {{"err", loaded.error().detail}});
  } else {
    Rebuild(std::move(loaded).value(), copy_since_);
    owners_.commits.FailWaiting(Unavailable("another daemon leads"));
    owners_.commits.MarkChanged();
    copied_ = begun;
  }
  const Monotonic now = owners_.context.clock.Now();
  next_copy_ = now + std::max(MillisToNanos(limits::kCopyRestMs),
                              SaturatingMul(now - begun, limits::kCopyRestTimes));
}

void Recovery::Published(bool ready) {
  LeaseBoard* const lease = owners_.context.options.lease;
  if (lease == nullptr) return;
  ready ? lease->Leads() : lease->Behind();
  if (copied_) lease->Copied(*copied_);
  copied_.reset();
}

// The caller makes sure that the store owes no answer: a late one would be taken for an answer of
// the new epoch.
bool Recovery::Try() {
  EngineContext& context = owners_.context;
  const Epoch before = owners_.commits.epoch();
  const Monotonic asked = context.clock.Now();
  const auto lease = context.store.Lead(context.options.holder, kLeadWait);
  if (!lease.ok()) {
    const LeaseBoard* const board = context.options.lease;
    const bool waits =
        board != nullptr && (board->OtherLeads() || context.clock.Now() < board->waits_until());
    if (!waits) return Fail("waiting for leadership", lease.error());
    StandBy(lease.error());
    return false;
  }
  const Monotonic led = led_ = context.clock.Now();
  MUSTER_FAULT_POINT(lead_taken);
  owners_.commits.BeginEpoch(lease->epoch);
  BeginTerm(context.options, before, *lease, asked, led);
  const WallTime since = FinishedSince();
  auto loaded = context.store.Load(lease->epoch, since);
  if (!loaded.ok()) return FailToRead(loaded.error());
  unread_since_.reset();
  if (context.options.on_last_stamp) context.options.on_last_stamp(LastStamp(loaded->jobs));
  Rebuild(std::move(loaded).value(), since);
  MUSTER_FAULT_POINT(world_rebuilt);
  failures_ = 0;
  problem_.clear();
  owners_.commits.Resume();
  owners_.restored.Begin();
  Redrive();
  Log(LogLevel::kInfo, "engine", "recovered",
      {{"epoch", lease->epoch.value},
       {"ms", (context.clock.Now() - asked) / kNanosPerMilli},
       {"jobs", static_cast<std::int64_t>(owners_.jobs.all().size())},
       {"pending", static_cast<std::int64_t>(owners_.waiting.queues().size())}});
  return true;
}

// See step 3 at the top. The committed world is equal to the live one afterwards.
void Recovery::Rebuild(StoredWorld loaded, WallTime since) {
  auto [config, objects] = Configuration::Read(loaded.objects, loaded.last_seq);
  owners_.config.Set(std::move(config), std::move(objects));
  std::set<std::string> members;
  for (const auto& [name, member] : owners_.config.view()->member_clusters) members.insert(name);
  owners_.members.Follow(members);
  const core::QuotaTreePtr tree = core::QuotaTree::Build(*owners_.config.view());
  owners_.waiting.Reset(tree);
  owners_.jobs.Reset(tree, loaded.fair_use);
  owners_.alarms.Reset();
  owners_.stand_ins.Reset();
  owners_.checks.Clear();
  owners_.dependencies.Reset();
  owners_.partitions.Reset();
  owners_.tenants.Reset();
  owners_.job_ids.Reset(loaded.last_job_id);
  owners_.arrays.Reset(loaded.array_ends, since);
  owners_.array_tasks.Reset();
  owners_.audit.Reset();
  owners_.retention.Reset();
  owners_.machines.Reset();
  owners_.decider.Reset();
  CommittedState committed = ReadJobs(loaded);
  owners_.rows.Reset(std::move(loaded.dispatches));
  owners_.orphans.Reset(std::move(loaded.set_aside), std::move(loaded.lost_numbers));
  owners_.restored.Reset(loaded.restore);
  owners_.works.Reset(loaded.works, loaded.snapshots);
  committed.set_aside = std::make_shared<const SetAsideObjects>(owners_.orphans.set_aside());
  committed.works = std::make_shared<const WorkTable>(owners_.works.table());
  owners_.commits.Reset(std::move(committed), loaded.last_seq);
  owners_.leaving.Configure();
  CorrectUsage(loaded.usage);
}

// Enters each job into the live world, whose ledger the committed world then takes over.
CommittedState Recovery::ReadJobs(const StoredWorld& loaded) {
  CommittedState committed;
  committed.config = owners_.config.view();
  committed.objects = owners_.config.objects();
  for (const JobPtr& job : loaded.jobs) {
    committed.jobs.Put(job);
    if (IsTerminal(job->state)) owners_.retention.Schedule(*job);
    owners_.jobs.Enter(job);
  }
  committed.ledger = owners_.jobs.planned();
  return committed;
}

// Rows of amounts are written for other readers of the database; decisions go by amounts computed
// from the jobs. A row that differs shows a fault: it is logged and written anew.
void Recovery::CorrectUsage(const std::vector<UsageRow>& stored) {
  std::map<UsagePair, std::int64_t> rows;
  for (const UsageRow& row : stored)
    rows[{row.cluster_queue, row.flavor, row.resource}] = row.amount;
  const core::Usage& usage = owners_.jobs.planned().usage();
  const core::QuotaTree& tree = usage.tree();
  Transaction touched;
  for (const JobPtr& job : HoldersOf(owners_.commits.committed().jobs)) {
    if (job->admission != nullptr) touched.Touch(*job->admission);
  }
  for (const auto& [pair, amount] : rows) touched.usage.insert(pair);
  for (const UsagePair& pair : touched.usage) {
    const auto& [queue, flavor, resource] = pair;
    const core::NodeIndex node = tree.ClusterQueueIndex(queue);
    const core::FlavorResourceIndex index = tree.PairIndex(flavor, resource);
    const std::int64_t actual = node < 0 || index < 0 ? 0 : usage.At(node, index);
    const auto row = rows.find(pair);
    const std::int64_t was = row == rows.end() ? 0 : row->second;
    if (was == actual) continue;
    Log(LogLevel::kError, "engine", "usage_corrected", {{"queue", queue}, {"reason", resource}});
    owners_.context.metrics.corrections.Add();
    owners_.commits.tx().usage.insert(pair);
  }
}

// Nothing is decided before the Kubernetes members have listed their objects
// (MemberReports::AwaitsLists).
void Recovery::Redrive() {
  std::set<std::string> to_list, unlisted;
  for (const auto& [name, member] : owners_.config.view()->member_clusters) {
    to_list.insert(name);
    if (member.backend == "kubernetes") unlisted.insert(name);
  }
  owners_.reports.Reset(std::move(unlisted));
  std::vector<DispatchKey> keys;
  for (const auto& [key, row] : owners_.rows.all()) keys.push_back(key);
  for (const DispatchKey& key : keys) RedriveRow(key, &to_list);
  for (const std::string& cluster : to_list) owners_.commits.OrderList(cluster);
  for (const JobPtr& job : HoldersOf(owners_.commits.committed().jobs)) {
    if (IsDispatched(job->state)) RedriveHolder(job);
  }
  owners_.lost_members.Restore();
  CleanUpDeleted();
  owners_.configuration.DrainStopped();
  owners_.node_failures.Check();
  owners_.checks.RecheckAfterRecovery();
  owners_.batch_commands.RepeatAfterRecovery();
}

// One row. Its job was not loaded: it ended long ago, and Retention reads it later. The row is
// live, but its job has another attempt or none: a fault, and the attempt is stopped. Else the
// state machine says what to do; lists are ordered once for each member, by the caller.
void Recovery::RedriveRow(const DispatchKey& key, std::set<std::string>* to_list) {
  const DispatchRow row = *owners_.rows.Find(key);
  const JobPtr job = owners_.jobs.Find(row.job);
  if (job == nullptr) {
    owners_.retention.AddForgotten(row.job);
  } else if (IsLive(row.state) && (!IsDispatched(job->state) || CurrentKey(*job) != key)) {
    owners_.attempts.Step(key, dispatch::RevokeRequested{true}, nullptr);
    owners_.context.metrics.corrections.Add();
    return;
  }
  const dispatch::StepResult result = dispatch::Step(row, dispatch::Recovered{});
  if (result.action == dispatch::Action::kList) {
    to_list->insert(key.cluster);
  } else if (result.action != dispatch::Action::kNone) {
    owners_.commits.tx().orders.push_back({result.action, key, job, row.remote_uid, ObjectOf(row)});
  }
}

// A dispatched job must have a live row. An elastic job's member is told its size again, because
// the last order may be lost.
void Recovery::RedriveHolder(const JobPtr& job) {
  const DispatchRow* row = owners_.rows.Find(CurrentKey(*job));
  if (row == nullptr || !IsLive(row->state)) return FollowAgain(job, row);
  if (job->admission_state != nullptr && job->admission_state->scale)
    owners_.stand_ins.ResizeWhenDurable(*job);
}

// Somebody has changed the database: the attempt may run, and nothing follows it. It gets a row as
// of an object that was created, so its member is asked: it is adopted, or proven gone and Lost. To
// let the job run again at once could run it twice. `row`: what is left of its row, or null.
void Recovery::FollowAgain(const JobPtr& job, const DispatchRow* row) {
  Log(LogLevel::kError, "engine", "attempt_without_row", {{"job", job->id.value}});
  owners_.context.metrics.corrections.Add();
  DispatchRow followed = IntentOf(*job);
  if (row != nullptr) {
    followed.remote_uid = row->remote_uid;
    followed.incarnation = row->incarnation;
  }
  followed.state = DispatchState::kCreated;
  const DispatchRow* const holder = owners_.rows.HolderOfName(followed);
  if (holder != nullptr && holder->key != followed.key) {
    owners_.attempts.End(job, JobEvent::kFail, Reason::kLost,
                         "Its attempt had no record, and " + job->cluster +
                             " has an object of its name, of job " +
                             std::to_string(holder->job.value),
                         nullptr);
    return;
  }
  owners_.rows.Put(followed);
  if (changes::IsRequeuing(*job) || changes::IsCancelling(*job)) {
    owners_.attempts.Step(followed.key, dispatch::RevokeRequested{changes::IsCancelling(*job)},
                          nullptr);
    return;
  }
  owners_.commits.OrderList(followed.key.cluster);
}

// Deletions of ended jobs that were under way go on; those of other jobs go on with their rows.
void Recovery::CleanUpDeleted() {
  std::vector<JobPtr> doomed;
  owners_.commits.committed().jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (job->deletion_requested && IsTerminal(job->state)) doomed.push_back(job);
    return true;
  });
  for (const JobPtr& job : doomed) owners_.attempts.CleanUp(job);
}

}  // namespace muster
