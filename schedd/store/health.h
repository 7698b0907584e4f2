// StoreHealth: whether a write can be made durable now, as the writer thread of the store sees it.
// The writer records here that it waits for an answer, that its session is gone, and that the
// database refuses new jobs; /readyz asks from any thread. The lock is held for a moment only,
// never during a wait for the database, so the question is answered at once even when the database
// hangs. An observer, which asks the database over another connection, adds what the writer waits
// for and what the database promises.
//
// Thread-safe. Owned by the caller that opens the store; outlives the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "schedd/base/mutex.h"
#include "schedd/store/durability.h"
#include "schedd/store/store.h"

namespace muster {

class StoreHealth {
 public:
  using Clock = std::chrono::steady_clock;
  /// The last time that the database refused new jobs.
  struct Refusal {
    std::int64_t number = 0;  // counts them
    std::shared_ptr<const NewJob> job;
  };

  /// The writer waits for the answer to a group that was sent at `since`.
  void Waits(Clock::time_point since) {
    const MutexLock lock(mutex_);
    waits_since_ = since;
  }
  /// The writer waits for no answer.
  void Rests() {
    const MutexLock lock(mutex_);
    waits_since_.reset();
  }
  /// The session that writes is gone; `why` is a sentence for the administrator.
  void Lost(std::string why) {
    const MutexLock lock(mutex_);
    lost_ = std::move(why);
  }
  /// The database refused to write new jobs, whatever they were: its disk is full, say. `job` is
  /// one of them; the first one since it accepted any is kept for the observer.
  void Refuses(std::string why, const NewJob& job) {
    const MutexLock lock(mutex_);
    if (refused_ == nullptr) refused_ = std::make_shared<const NewJob>(job);
    refusal_ = std::move(why);
    ++refusals_;
  }
  /// The database has made new jobs durable.
  void Accepts() {
    const MutexLock lock(mutex_);
    refusal_.clear();
    refused_.reset();
  }
  /// The writer's session leads: its new epoch is durable.
  void Leads() {
    const MutexLock lock(mutex_);
    lost_.clear();
  }

  /// The writer's session is open; another daemon leads.
  void Answers() { Leads(); }
  /// The writer has opened a session, whose setting synchronous_commit is this.
  void Opened(std::string synchronous_commit) {
    const MutexLock lock(mutex_);
    synchronous_commit_ = std::move(synchronous_commit);
    ++sessions_;
  }

  // --- the observer

  /// How many sessions the writer has opened: another number means another server, perhaps.
  std::int64_t sessions() const {
    const MutexLock lock(mutex_);
    return sessions_;
  }
  /// True if the writer has no session, or has waited for an answer for `within` or longer.
  bool IsPressed(Clock::time_point now, std::chrono::milliseconds within) const {
    const MutexLock lock(mutex_);
    return !lost_.empty() || (waits_since_ && now - *waits_since_ >= within);
  }
  /// Whether a commit waits for a synchronous standby of the database now.
  void ObserveStandbyWait(bool waits) {
    const MutexLock lock(mutex_);
    awaits_standby_ = waits;
  }
  /// What the database says about itself; the session's setting is added. True: it is news.
  bool Observe(DatabaseFacts facts) {
    const MutexLock lock(mutex_);
    facts.synchronous_commit = synchronous_commit_;
    if (facts_ == facts) return false;
    facts_ = std::move(facts);
    return true;
  }

  /// The refused job to try again; null if the database refuses none.
  Refusal refusal() const {
    const MutexLock lock(mutex_);
    return {refusals_, refused_};
  }
  /// What a trial of the refused job has shown: why the database still refuses it, or "" if it
  /// would take it. Says nothing if the database has refused other jobs since then.
  void Tried(const Refusal& refusal, std::string why) {
    const MutexLock lock(mutex_);
    if (refused_ == nullptr || refusals_ != refusal.number) return;
    if (why.empty()) refused_.reset();
    refusal_ = std::move(why);
  }

  // --- readers

  bool awaits_standby() const {
    const MutexLock lock(mutex_);
    return awaits_standby_;
  }
  /// Unset: the database was not asked yet.
  std::optional<DatabaseFacts> facts() const {
    const MutexLock lock(mutex_);
    return facts_;
  }
  /// Why the database cannot make a write durable at `now`; "" if no reason is known. A wait counts
  /// as a problem when it has lasted for `within`, a refusal until new jobs are written, or would
  /// be.
  std::string Problem(Clock::time_point now, std::chrono::milliseconds within) const {
    const MutexLock lock(mutex_);
    const std::string standby =
        awaits_standby_ ? "waiting for a synchronous standby of the database: " : "";
    if (!lost_.empty()) return standby + lost_;
    if (!waits_since_ || now - *waits_since_ < within) return refusal_;
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - *waits_since_);
    return standby + "the database has not made the oldest change durable for " +
           std::to_string(waited.count()) + " s";
  }

 private:
  mutable Mutex mutex_;
  std::optional<Clock::time_point> waits_since_ MUSTER_GUARDED_BY(mutex_);
  std::string lost_ MUSTER_GUARDED_BY(mutex_);
  std::string refusal_ MUSTER_GUARDED_BY(mutex_);
  std::shared_ptr<const NewJob> refused_ MUSTER_GUARDED_BY(mutex_);  // null: none is refused
  std::int64_t refusals_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool awaits_standby_ MUSTER_GUARDED_BY(mutex_) = false;
  std::string synchronous_commit_ MUSTER_GUARDED_BY(mutex_);
  std::int64_t sessions_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::optional<DatabaseFacts> facts_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
