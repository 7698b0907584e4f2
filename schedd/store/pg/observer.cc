// The observer's loop. A look that fails tells nothing: the readers' pool has logged why.
#include "schedd/store/pg/observer.h"

#include <optional>
#include <stop_token>
#include <string>

#include "schedd/base/limits_observer.h"
#include "schedd/base/mutex.h"
#include "schedd/store/pg/statements.h"
#include "schedd/store/pg/trial.h"
#include "schedd/telemetry/log.h"

namespace muster::pg {
namespace {

DatabaseFacts FactsOf(const pqxx::row& row) {
  DatabaseFacts facts;
  facts.fsync = row[0].as<bool>();
  facts.full_page_writes = row[1].as<bool>();
  facts.synchronous_standby_names = row[2].as<std::string>();
  if (!row[3].is_null()) facts.standbys = row[3].as<int>();
  return facts;
}

void Tell(const DatabaseFacts& facts) {
  const Durability durability = DurabilityOf(facts);
  Log(durability == Durability::kNone ? LogLevel::kWarning : LogLevel::kInfo, "store",
      "database_promises",
      {{"promise", NameOf(durability)},
       {"reason", DurabilityText(facts)},
       {"synchronous_commit", facts.synchronous_commit},
       {"fsync", facts.fsync},
       {"full_page_writes", facts.full_page_writes},
       {"synchronous_standby_names", facts.synchronous_standby_names},
       {"standbys", std::int64_t{facts.standbys.value_or(-1)}}});
}

}  // namespace

Observer::Observer(const std::string& url, Watchdog& watchdog, StoreHealth& health)
    : url_(url), watchdog_(watchdog), readers_(url, 1, watchdog), health_(health) {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Look();
      SleepFor(stop, std::chrono::milliseconds(limits::kObserveEveryMs));
    }
  });
}

Observer::~Observer() = default;

void Observer::Look() {
  const Clock::time_point now = Clock::now();
  LookForStandbyWait(now);
  LookAtFacts(now);
  TryRefused(now);
}

void Observer::LookForStandbyWait(Clock::time_point now) {
  bool waits = false;
  if (health_.IsPressed(now, std::chrono::milliseconds(limits::kObserveEveryMs))) {
    (void)readers_.Run([&waits](pqxx::transaction_base& snapshot) -> Status {
      waits = snapshot.exec1(sql::kAwaitsStandby)[0].as<bool>();
      return Done{};
    });
  }
  if (waits && !health_.awaits_standby()) Log(LogLevel::kWarning, "store", "standby_awaited", {});
  health_.ObserveStandbyWait(waits);
}

// Before the writer's first session there is nobody whose commits could be promised anything.
void Observer::LookAtFacts(Clock::time_point now) {
  const std::int64_t session = health_.sessions();
  if (session == 0 || (session == session_ && now < next_facts_)) return;
  std::optional<DatabaseFacts> facts;
  const Status asked = readers_.Run([&facts](pqxx::transaction_base& snapshot) -> Status {
    facts = FactsOf(snapshot.exec1(sql::kDatabaseFacts));
    return Done{};
  });
  if (!asked.ok() || !facts) return;
  session_ = session;
  next_facts_ = now + std::chrono::milliseconds(limits::kObserveFactsEveryMs);
  if (health_.Observe(*facts)) Tell(*health_.facts());
}

// Without a connection nothing is known; StoreHealth hears of that from the writer.
void Observer::TryRefused(Clock::time_point now) {
  const StoreHealth::Refusal refusal = health_.refusal();
  if (refusal.job == nullptr || now < next_trial_) return;
  next_trial_ = now + std::chrono::milliseconds(limits::kTrialEveryMs);
  const Failure failure = TryNewJob(*refusal.job, url_, watchdog_);
  if (failure.kind == FailureKind::kConnection) return;
  const bool refused = failure.kind == FailureKind::kEnvironment;
  if (!refused) Log(LogLevel::kInfo, "store", "database_takes_jobs_again", {});
  health_.Tried(refusal, refused ? failure.error.detail : "");
}

}  // namespace muster::pg
