// The commit pipeline: one transaction at a time leaves for the store, at most commit_depth are on
// their way, and what a transaction promised happens when it is durable.
#include <algorithm>

#include "schedd/engine/impl.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

constexpr std::size_t kLazyRows = 512;  // reasons and counts written along with one commit

}  // namespace

void Engine::Impl::AddLazyRows() {
  const std::size_t rows = std::min(kLazyRows, CommitRoom());
  for (std::size_t i = 0; i < rows && !lazy.empty();) {
    const JobId id = *lazy.begin();
    lazy.erase(lazy.begin());
    const auto found = live.jobs.find(id);
    if (found == live.jobs.end()) continue;
    const JobPtr job = found->second;
    const bool waits = job->state == JobState::kPending;
    if (waits && !pending_news.Tell(id, job->reason, clock.Now())) continue;
    Put(job, std::make_shared<JobRecord>(*job), waits ? kPendingEvent : "JobUpdated");
    ++i;
  }
}

void Engine::Impl::SendCommit() {
  if (commits.size() >= CommitDepth() || Resting()) return;
  for (const JobId id : pending_news.TakeDue(clock.Now())) lazy.insert(id);
  // Reasons wait for company, or for a moment in which nothing else is being written.
  if (!lazy.empty() && (!tx.Empty() || commits.empty())) AddLazyRows();
  // Every answer of the database confirms the lead; if there has been none lately and somebody
  // waits to act, nothing is written to ask for one.
  LeadTerm* const lead = options.lead.get();
  const bool confirms = lead != nullptr && commits.empty() &&
                        (lead->Wanted() || (!tx.orders.empty() && !lead->Holds(epoch)));
  if (tx.Empty() && !confirms) {
    if (tx.orders.empty() && tx.waiters.empty()) return;
    // Nothing to write: it is durable as soon as what it was based on is.
    if (!commits.empty()) {
      Transaction& last = commits.back().transaction;
      std::move(tx.orders.begin(), tx.orders.end(), std::back_inserter(last.orders));
      std::move(tx.waiters.begin(), tx.waiters.end(), std::back_inserter(last.waiters));
    } else {
      Absorb(tx, committed.last_seq);
    }
    tx = Transaction{};
    return;
  }
  if (tx.config != nullptr) ++configs_in_flight;
  PlanCommit commit = tx.MakeCommit(live.planned.usage());
  commits.push_back({std::move(tx), clock.Now()});
  tx = Transaction{};
  store.Commit(epoch, std::move(commit), [box = inbox](Result<CommitVersion> outcome) {
    box->PushAlways(CommitDone{std::move(outcome)});
  });
}

bool Engine::Impl::SendHeartbeat() {
  if (options.heartbeat_ms <= 0 || Outstanding() || !tx.Empty() || clock.Now() < HeartbeatDue())
    return false;
  commits.push_back({Transaction{}, clock.Now(), true});
  store.Commit(epoch, PlanCommit{}, [box = inbox](Result<CommitVersion> outcome) {
    box->PushAlways(CommitDone{std::move(outcome)});
  });
  return true;
}

void Engine::Impl::Complete(CommitDone done) {
  MUSTER_CHECK(!commits.empty());
  SentCommit sent = std::move(commits.front());
  commits.pop_front();
  if (done.outcome.ok()) {
    heard_at = clock.Now();
    if (options.lead != nullptr && !store_failed) options.lead->Renew(epoch, sent.sent);
  }
  const bool promises = !sent.transaction.orders.empty() || !sent.transaction.waiters.empty();
  if (sent.heartbeat && done.outcome.ok() && !promises) return NoteWriterIdle();
  if (sent.transaction.config != nullptr) --configs_in_flight;
  RestAfter(sent.sent);
  NoteWriterIdle();
  metrics.commit_seconds.Observe(static_cast<double>(clock.Now() - sent.sent) /
                                 static_cast<double>(kNanosPerSecond));
  if (!done.outcome.ok()) {
    if (!store_failed && RefusedForGood(done.outcome.error())) StopOnRefusal(done.outcome.error());
    StoreFailed(done.outcome.error());
    const Error error = WriteError(done.outcome.error());
    for (Waiter& waiter : sent.transaction.waiters) {
      answers.push_back([waiter = std::move(waiter), error] { waiter(&error); });
    }
    return;
  }
  Absorb(sent.transaction, done.outcome->last_seq);
}

void Engine::Impl::Absorb(const Transaction& done, std::int64_t last_seq) {
  dirty = true;
  for (const Waiter& waiter : done.waiters) {
    answers.push_back([waiter] { waiter(nullptr); });
  }
  news.insert(news.end(), done.events.begin(), done.events.end());
  if (store_failed) return;  // a former commit is lost: recovery reads what is there
  committed.last_seq = std::max(committed.last_seq, last_seq);
  for (const auto& [id, job] : done.jobs) {
    const JobPtr before = committed.jobs.Find(id);
    committed.Put(job);
    if (IsTerminal(job->state) && (before == nullptr || !IsTerminal(before->state)))
      ScheduleRetirement(*job);
  }
  for (const JobId id : done.deleted_jobs) committed.Erase(id);
  if (done.config != nullptr) {
    committed.config = done.config;
  }
  if (done.other_quotas) {
    Ledger ledger(core::QuotaTree::Build(*committed.config), options.settings);
    committed.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      ledger.Move(nullptr, job.get());
      return true;
    });
    committed.ledger = std::move(ledger);
  }
  if (done.object_table != nullptr) committed.objects = done.object_table;
  if (done.work_table != nullptr) committed.works = done.work_table;
  if (!done.set_aside.empty()) {
    auto known = std::make_shared<SetAside>(*committed.set_aside);
    for (const auto& [key, write] : done.set_aside) {
      if (write.remove) {
        known->erase(key);
      } else {
        (*known)[key] = write.object;
      }
    }
    committed.set_aside = std::move(known);
  }
  WakeQueues(done.wakes);
  for (const JobId id : done.to_queue) {
    const auto found = live.jobs.find(id);
    if (found != live.jobs.end() && changes::MayQueue(*found->second))
      live.pending.Add(found->second, clock.WallNow());
  }
  due_orders.insert(due_orders.end(), done.orders.begin(), done.orders.end());
}

bool Engine::Impl::IsOnItsWay(const DispatchKey& key) const {
  return tx.dispatches.contains(key) ||
         std::any_of(commits.begin(), commits.end(), [&](const SentCommit& sent) {
           return sent.transaction.dispatches.contains(key);
         });
}

void Engine::Impl::SendOrder(const Order& order) {
  using dispatch::Action;
  const auto row = live.dispatches.find(order.key);
  switch (order.action) {
    case Action::kNone:
      break;
    case Action::kEnsure:
    case Action::kEnsureLater:
    case Action::kRelease: {
      // Revoked since it was decided: only Intent permits to make anything, only Releasing to let
      // it run.
      const bool release = order.action == Action::kRelease;
      const DispatchState from = release ? DispatchState::kReleasing : DispatchState::kIntent;
      if (row != live.dispatches.end() && order.job != nullptr && row->second.state == from &&
          !dispatch::IsDeletedThere(row->second))
        orders.Ensure(order.key, order.job, release ? row->second.remote_uid : "");
      break;
    }
    case Action::kRemove:
    case Action::kRemoveLater:
    case Action::kRemoveKeepLogs: {
      RemovePolicy policy;
      policy.expected_uid = order.remote_uid;
      policy.object = order.object;
      policy.keep_logs = order.action == Action::kRemoveKeepLogs ||
                         (order.action == Action::kRemoveLater && row != live.dispatches.end() &&
                          dispatch::KeepsLogs(row->second));
      orders.Remove(order.key, std::move(policy));
      break;
    }
    case Action::kConfirm:
      // Whoever revoked it since proves by its removal that it is gone.
      if (row != live.dispatches.end() && dispatch::IsMissed(row->second.state))
        orders.Confirm(order.key, order.object, order.remote_uid);
      break;
    case Action::kAcknowledge:
      orders.Acknowledge(order.key, order.object, order.remote_uid);
      break;
    case Action::kList:
      orders.List(order.key.cluster);
      break;
  }
}

// What was decided contradicts what is stored: the same decision would be refused for ever. After a
// lost write it means nothing: what the refused one was based on is not there.
void Engine::Impl::StopOnRefusal(const Error& error) {
  Log(LogLevel::kError, "engine", "commit_refused",
      {{"reason", CodeName(error.code)}, {"err", error.detail}});
  FlushLog();
  CheckFailed(__FILE__, __LINE__, ("the store refused a commit: " + error.detail).c_str());
}

void Engine::Impl::StoreFailed(const Error& error) {
  if (error.code == Code::kAborted) metrics.stale_epochs.Add();
  if (store_failed) return;
  Log(LogLevel::kError, "engine", "store_write_failed",
      {{"reason", CodeName(error.code)}, {"err", error.detail}});
  store_failed = true;
  ready = false;
  // What was ordered under this lead is not carried out any more, wherever it waits.
  if (options.lead != nullptr) options.lead->End();
  due_orders.clear();
  orders.Forget();
  not_ready_reason = "the database refused a write: " + error.detail;
  next_recovery = clock.Now();
  dirty = true;
}

}  // namespace muster
