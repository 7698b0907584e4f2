// Recovery: at start and after every failed write, everything optimistic is dropped and the world
// is read again from the store, recomputed, compared, and its attempts are driven on from the state
// their rows are in.
#include <algorithm>
#include <map>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/engine/leaving_impl.h"
#include "schedd/engine/remote_objects.h"
#include "schedd/engine/stand_ins_impl.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

constexpr std::chrono::milliseconds kLeadWait{
    1000};  // one try; between tries the loop stays responsive
// A member that has not said what it has by then is not waited for.
constexpr std::int64_t kListsWithinNs = 10 * kNanosPerSecond;
constexpr std::int64_t kBackoffMs = 50;
constexpr std::int64_t kBackoffMaxMs = 2000;

std::int64_t Backoff(int failures, Random& random) {
  const std::int64_t base = std::min(kBackoffMaxMs, kBackoffMs << std::min(failures, 10));
  return (base / 2 +
          static_cast<std::int64_t>(random.Next() % static_cast<std::uint64_t>(base / 2 + 1))) *
         kNanosPerMilli;
}

void TakeRows(std::vector<SetAsideObject> set_aside, const std::vector<WorkPtr>& works,
              const std::vector<SnapshotPtr>& snapshots, LiveState* live) {
  for (SetAsideObject& object : set_aside) {
    live->set_aside[{object.cluster, object.remote_uid}] = std::move(object);
  }
  for (const WorkPtr& work : works) live->works.works.insert_or_assign(KeyOf(*work), work);
  for (const SnapshotPtr& one : snapshots) {
    live->works.snapshots.insert_or_assign(KeyOf(*one), one);
  }
}

void TakeDispatches(std::vector<DispatchRow> rows, LiveState* live) {
  for (DispatchRow& row : rows) {
    if (row.state == DispatchState::kGone) continue;
    live->names[NameHash(row)] = row.key;
    live->dispatches[row.key] = std::move(row);
  }
}

// Whoever led in between may have been stopped since: what he may still send in his term comes
// before anything of ours.
void BeginTerm(const EngineOptions& options, Epoch before, const Lease& lease, Monotonic asked,
               Monotonic led) {
  if (options.lead == nullptr) return;
  const bool nobody_between = before.value == 0
                                  ? options.sole_leader || lease.epoch.value == 1
                                  : lease.epoch.value == before.value + 1;
  options.lead->Begin(lease.epoch, asked,
                      nobody_between ? led : led + options.lead->length_ns());
}

}  // namespace

bool Engine::Impl::Recover() {
  const auto fail = [this](const char* step, const Error& error) {
    Log(LogLevel::kWarning, "engine", "recovery_waits",
        {{"reason", step}, {"err", error.detail}, {"attempt", std::int64_t{recovery_failures}}});
    not_ready_reason = std::string(step) + ": " + error.detail;
    next_recovery = clock.Now() + Backoff(recovery_failures++, random);
    dirty = true;
    return false;
  };
  const Epoch before = epoch;
  const Monotonic asked = clock.Now();
  const auto lease = store.Lead(options.holder, kLeadWait);
  if (!lease.ok()) return fail("waiting for leadership", lease.error());
  epoch = lease->epoch;
  BeginTerm(options, before, *lease, asked, clock.Now());
  const WallTime since{SaturatingSub(clock.WallNow().us, MillisToMicros(options.finished_kept_ms))};
  auto loaded = store.Load(epoch, since);
  if (!loaded.ok()) return fail("reading the database", loaded.error());
  pending_news.Clear();
  Rebuild(std::move(loaded).value());
  recovery_failures = 0;
  heard_at = clock.Now();
  store_failed = false;
  ready = true;
  dirty = true;
  Redrive();
  Log(LogLevel::kInfo, "engine", "recovered",
      {{"epoch", epoch.value},
       {"jobs", static_cast<std::int64_t>(live.jobs.size())},
       {"pending", static_cast<std::int64_t>(live.pending.size())}});
  return true;
}

void Engine::Impl::Rebuild(Loaded loaded) {
  live = LiveState{};
  committed = CommittedState{};
  tx = Transaction{};
  configs_in_flight = 0;
  reports.clear();
  lazy.clear();
  stand_ins->Clear();
  verdicts.clear();
  to_sweep.clear();
  to_recheck.clear();
  waits_for_room.clear();
  released.clear();
  forgotten.clear();
  finished_after.clear();
  if (options.settings->retain_finished_s) {
    finished_after = {
        {JobState::kSucceeded, {}}, {JobState::kFailed, {}}, {JobState::kCancelled, {}}};
  }
  ttls.clear();
  retirements.clear();
  live.last_job_id = loaded.last_job_id;
  live.last_seq = committed.last_seq = loaded.last_seq;
  next_forgetting = clock.Now() + limits::kForgetKeysEveryMs * kNanosPerMilli;
  RebuildObjects(loaded.objects);
  const core::QuotaTreePtr tree = core::QuotaTree::Build(*live.config);
  live.planned = committed.ledger = Ledger(tree, options.settings);
  live.holders = core::Holders(tree);
  alarms.clear();
  alarm_of.clear();
  unready.clear();
  waits_for_pods = false;
  second_passes = {};
  openings.clear();
  placed_jobs.Clear();
  placed_jobs.Configure(live.config, live.jobs);
  forest_known = false;
  fair = FairUseTracker(options.settings);
  fair.Restore(loaded.fair_use);
  next_fair_sample = clock.Now();
  live.pending.Configure(live.config, tree, options.settings);
  for (const JobPtr& job : loaded.jobs) {
    committed.jobs.Put(job);
    if (IsTerminal(job->state)) ScheduleRetirement(*job);
    Enter(job);
  }
  committed.ledger = live.planned;
  TakeDispatches(std::move(loaded.dispatches), &live);
  TakeRows(std::move(loaded.set_aside), loaded.works, loaded.snapshots, &live);
  committed.set_aside = std::make_shared<const SetAside>(live.set_aside);
  committed.works = std::make_shared<const WorkTable>(live.works);
  strays.clear();
  stray_lists.clear();
  held_ends.Clear();
  unlisted.clear();
  lists_due = clock.Now() + kListsWithinNs;
  leaving->Configure();
  CorrectUsage(loaded.usage);
}

void Engine::Impl::RebuildObjects(const std::vector<ObjectPtr>& objects) {
  auto config = std::make_shared<ConfigView>();
  auto table = std::make_shared<ObjectTable>();
  for (const ObjectPtr& object : objects) {
    table->insert_or_assign({object->kind, object->ns, object->name}, object);
    const auto manifest = ParseJson(object->manifest);
    const Status applied = manifest.ok() ? shapes::ApplyTo(config.get(), object->kind, *manifest)
                                         : Status(manifest.error());
    if (!applied.ok()) {
      Log(LogLevel::kError, "engine", "stored_object_unreadable",
          {{"reason", ObjectName(*object)}, {"err", applied.error().detail}});
    }
  }
  config->version = live.last_seq;
  live.config = committed.config = std::move(config);
  live.objects = committed.objects = std::move(table);
}

void Engine::Impl::CorrectUsage(const std::vector<UsageRow>& stored) {
  std::map<UsagePair, std::int64_t> rows;
  for (const UsageRow& row : stored)
    rows[{row.cluster_queue, row.flavor, row.resource}] = row.amount;
  const core::Usage& usage = live.planned.usage();
  const core::QuotaTree& tree = usage.tree();
  Transaction touched;
  for (const JobPtr& job : HoldersOf(committed.jobs)) {
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
    metrics.corrections.Add();
    tx.usage.insert(pair);
  }
}

// Every attempt goes on from its row: what was decided is asked for again, what may run is looked
// for, what was being removed is removed.
void Engine::Impl::Redrive() {
  std::vector<DispatchKey> keys;
  std::set<std::string> clusters;
  for (const auto& [name, member] : live.config->member_clusters) {
    clusters.insert(name);
    if (member.backend == "kubernetes") unlisted.insert(name);
  }
  for (const auto& [key, row] : live.dispatches) keys.push_back(key);
  for (const DispatchKey& key : keys) {
    const DispatchRow row = live.dispatches.at(key);
    const auto job = live.jobs.find(row.job);
    if (job == live.jobs.end()) {
      forgotten.push_back(row.job);
    } else if (IsLive(row.state) &&
               (!IsDispatched(job->second->state) || CurrentKey(*job->second) != key)) {
      StepRow(key, dispatch::RevokeRequested{true}, nullptr);
      metrics.corrections.Add();
      continue;
    }
    const dispatch::StepResult result = dispatch::Step(row, dispatch::Recovered{});
    if (result.action == dispatch::Action::kList) {
      clusters.insert(key.cluster);
    } else if (result.action != dispatch::Action::kNone) {
      tx.orders.push_back({result.action, key, job == live.jobs.end() ? nullptr : job->second,
                           row.remote_uid, ObjectOf(row)});
    }
  }
  for (const std::string& cluster : clusters) {
    tx.orders.push_back({dispatch::Action::kList, DispatchKey{{}, 0, cluster}});
  }
  for (const JobPtr& job : HoldersOf(committed.jobs)) {
    if (!IsDispatched(job->state)) continue;
    const auto row = live.dispatches.find(CurrentKey(*job));
    if (row != live.dispatches.end() && IsLive(row->second.state)) {
      if (job->admission_state != nullptr && job->admission_state->scale)
        stand_ins->ResizeWhenDurable(*job);
      continue;
    }
    Log(LogLevel::kError, "engine", "attempt_without_row", {{"job", job->id.value}});
    metrics.corrections.Add();
    if (!MayRequeue(*job)) {
      EndJob(job, JobEvent::kFail, Reason::kLost, "Its attempt had no record", nullptr);
      continue;
    }
    if (changes::IsRequeuing(*job)) {
      RequeueStopped(job);
      continue;
    }
    EvictFor(job, Reason::kRequeued,
             {std::string(ReasonName(Reason::kRequeued)), "", "Its attempt had no record"});
  }
  RestoreLost();
  std::vector<std::string> told;
  for (const auto& [cluster, one] : facts) told.push_back(cluster);
  for (const std::string& cluster : told) LoseRecreated(cluster);
  std::vector<JobPtr> doomed;
  committed.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (job->deletion_requested && IsTerminal(job->state)) doomed.push_back(job);
    return true;
  });
  for (const JobPtr& job : doomed) CleanUp(job);
  DrainStopped();
  CheckMachines();
  RecheckAfterRecovery();
}

void Engine::Impl::RefuseWhileNotReady(Command& command) {
  if (auto* seen = std::get_if<FactsCommand>(&command)) {
    TakeFacts(std::move(seen->facts));  // recovery lists every member
    dirty = true;
    return;
  }
  // Reports on attempts have nobody to answer and are dropped: recovery lists every member.
  std::visit(
      [this](auto& one) {
        if constexpr (requires { one.done; }) {
          answers.push_back(
              [done = std::move(one.done), error = Unavailable("not ready: " + not_ready_reason)] {
                done(error);
              });
        }
      },
      command);
}

// Answers what was decided but never sent.
void Engine::Impl::FailWaiting(const Error& error) {
  for (auto& group : gathering.groups) {
    answers.push_back([done = std::move(group.done), error] { done(error); });
    inflight_submissions -= group.count;
  }
  gathering = AcceptBatch{};
  for (Waiter& waiter : tx.waiters) {
    answers.push_back([waiter = std::move(waiter), error] { waiter(&error); });
  }
  tx = Transaction{};
}

}  // namespace muster
