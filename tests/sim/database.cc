#include "tests/sim/database.h"

#include <algorithm>

namespace muster::sim {

// Only the newest epoch may read; one whose outcome was looked for has begun inside the store.
StoredWorld Database::Load() {
  const bool was_away = away;
  if (was_away) memory.SetAway(false);
  Epoch newest = epoch;
  while (true) {
    auto loaded = memory.Load(newest, WallTime{});
    if (loaded.ok()) {
      if (was_away) memory.SetAway(true);
      return std::move(loaded).value();
    }
    ++newest.value;
  }
}

void Database::Write(Epoch writer, std::vector<NewJob> batch, const std::vector<AuditRow>& audit,
                     Callback<std::vector<Result<AcceptedJob>>> done) {
  for (NewJob& job : batch) job.record = columns.Accepted(job.record);
  memory.Accept(writer, std::move(batch), audit, std::move(done));
}

// A change whose answer is lost may have taken effect.
void Database::Write(Epoch writer, PlanCommit commit, Callback<CommitVersion> done) {
  columns.ReadBack(&commit);
  const bool respecifies = !commit.respecified.empty();
  memory.Commit(writer, commit, std::move(done));
  if (respecifies && Has(commit)) columns.Keep(commit);
}

bool Database::Has(const PlanCommit& commit) {
  const bool was_away = away;
  if (was_away) memory.SetAway(false);
  const JobPtr& job = commit.respecified.front();
  const auto stored = memory.ReadJob(job->id);
  if (was_away) memory.SetAway(true);
  return stored.ok() && (*stored)->uid == job->uid &&
         (*stored)->resource_version == job->resource_version;
}

Session::Session(Stage& stage, Database& database) : stage_(stage), database_(database) {}

void Session::Die() {
  if (!std::exchange(wire_->alive, false)) return;
  wire_->arrives = wire_->sent - std::min<std::uint64_t>(wire_->sent, stage_.deaths.Below(4));
  if (database_.leader == this) database_.leader = nullptr;
}

std::int64_t Session::Latency() {
  const bool slow = stage_.Happens(&SwarmOptions::slow_store, 15);
  return static_cast<std::int64_t>(stage_.delays.Below(slow ? 1'500 : 6)) * kMs + 200'000;
}

// Another daemon keeps the lead for as long as its session lives.
Result<Lease> Session::Lead(const std::string& holder, std::chrono::milliseconds wait) {
  stage_.Effect("lead");
  if (database_.away) return Unavailable("the database cannot be reached");
  Session* const leader = database_.leader;
  if (leader != nullptr && leader != this && !leader->frozen_)
    return Unavailable("another daemon leads");
  auto lease = database_.memory.Lead(holder, wait);
  if (!lease.ok()) return lease;
  database_.leader = this;
  database_.epoch = lease->epoch;
  database_.led_at_ns = stage_.clock.Now().ns;
  stage_.Note("epoch " + std::to_string(lease->epoch.value));
  return lease;
}

Result<StoredWorld> Session::Load(Epoch epoch, WallTime finished_since) {
  stage_.Effect("load");
  if (stage_.Happens(&SwarmOptions::store_faults, 5)) return Unavailable("the read failed");
  return database_.memory.Load(epoch, finished_since);
}

// What happens to the next write of the store.
void Session::LayFault() {
  if (stage_.Happens(&SwarmOptions::store_faults, 2)) {
    constexpr StoreFault kFaults[] = {StoreFault::kUnavailable, StoreFault::kUnknownApplied,
                                      StoreFault::kUnknownNotApplied};
    database_.memory.InjectFault(1, kFaults[stage_.faults.Below(3)]);
    stage_.Note("the next write fails");
  } else if (stage_.Happens(&SwarmOptions::lost_answers, 2)) {
    database_.memory.LoseAnswer(1, {stage_.faults.Chance(50), {}});
    stage_.Note("the answer to the next write is lost");
  } else if (stage_.Happens(&SwarmOptions::store_faults, 1)) {
    database_.memory.LoseLead();
    stage_.Note("the session is lost");
  }
}

// Writes take effect in the order in which they were made, and so are their answers. A write of an
// epoch that is over must be refused (I11).
template <class T>
void Session::Write(Epoch epoch, std::function<void(Callback<T>)> write, Callback<T> done) {
  stage_.Effect("write");
  Wire& wire = *wire_;
  const std::uint64_t number = ++wire.sent;
  wire.last_write_ns = std::max(wire.last_write_ns, stage_.clock.Now().ns + Latency());
  stage_.agenda.At({wire.last_write_ns},
                   [this, &stage = stage_, &database = database_, wire_of = wire_, number, epoch,
                    write = std::move(write), done = std::move(done)] {
    if (number > wire_of->arrives) return;
    if (wire_of->alive) LayFault();
    std::optional<Result<T>> outcome;
    const Epoch leads = database.epoch;
    write([&outcome](Result<T> one) { outcome = std::move(one); });
    stage.Note("write " + std::to_string(number) + " of epoch " + std::to_string(epoch.value) +
               (outcome->ok() ? "" : ": " + outcome->error().detail));
    if (outcome->ok() && epoch != leads)
      stage.Break("I11: a write of epoch " + std::to_string(epoch.value) +
                  " took effect under epoch " + std::to_string(leads.value));
    if (database.on_durable) database.on_durable();
    if (!wire_of->alive) return;
    wire_of->last_answer_ns = std::max(wire_of->last_answer_ns, stage.clock.Now().ns + Latency());
    stage.agenda.At({wire_of->last_answer_ns},
                    [wire_of, done, outcome = std::move(*outcome)]() mutable {
      ++wire_of->answered;
      if (wire_of->alive) done(std::move(outcome));
    });
  });
  stage_.Effect("write sent");
}

void Session::Accept(Epoch epoch, std::vector<NewJob> batch, std::vector<AuditRow> audit,
                     Callback<std::vector<Result<AcceptedJob>>> done) {
  using Answers = std::vector<Result<AcceptedJob>>;
  Write<Answers>(
      epoch,
      [&database = database_, epoch, batch = std::move(batch), audit = std::move(audit)](
          Callback<Answers> answer) { database.Write(epoch, batch, audit, std::move(answer)); },
      std::move(done));
}

void Session::Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) {
  Write<CommitVersion>(
      epoch,
      [&database = database_, epoch, commit = std::move(commit)](Callback<CommitVersion> answer) {
    database.Write(epoch, commit, std::move(answer));
      },
      std::move(done));
}

}  // namespace muster::sim
