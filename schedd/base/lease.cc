// The rules of the lease, and the board that shows it. Times of the row are the database's, times
// of the board are of this host's monotonic clock; the two are never compared.
#include "schedd/base/lease.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits_lease.h"

namespace muster {

LeaseState StateOf(const LeaseRow& row, const std::string& own_id) {
  const bool clock_went_back = row.left_ms > row.ttl_ms && row.seen_ms >= row.ttl_ms;
  if (row.epoch.value == 0 || row.released || row.left_ms <= 0 || clock_went_back)
    return LeaseState::kFree;
  return !own_id.empty() && row.id == own_id ? LeaseState::kOwn : LeaseState::kHeld;
}

std::int64_t TermMs(std::int64_t ttl_ms) { return ttl_ms * 4 / 5; }

std::int64_t RenewEveryMs(std::int64_t ttl_ms) {
  return std::min<std::int64_t>(ttl_ms * 3 / 10, 2'000);
}

std::int64_t LookEveryMs(std::int64_t ttl_ms) {
  return std::clamp(ttl_ms / 20, limits::kLeaseLookMinMs, limits::kLeaseLookMaxMs);
}

// A daemon that was here before has ended with its data directory's lock, or is this one; one that
// has given the lease up has stopped its orders first.
Monotonic OrdersFrom(const LeaseRow& before, const std::string& own_id, Monotonic unchanged,
                     Monotonic now) {
  const bool own = !own_id.empty() && before.id == own_id;
  if (before.epoch.value == 0 || before.released || own) return now;
  return std::max(now, unchanged + TermMs(before.ttl_ms) * kNanosPerMilli);
}

void LeaseBoard::SetSelf(Self self) {
  MutexLock lock(mutex_);
  standing_.self = std::move(self);
}

LeaseBoard::Self LeaseBoard::self() const {
  MutexLock lock(mutex_);
  return standing_.self;
}

LeaseBoard::Standing LeaseBoard::standing() const {
  MutexLock lock(mutex_);
  return standing_;
}

// The time is taken after the read, so that a renewal is never thought to be older than it is.
LeaseRow LeaseBoard::Saw(LeaseRow row) {
  MutexLock lock(mutex_);
  const LeaseRow& last = standing_.row;
  const Monotonic now = clock_.Now();
  const bool same = standing_.seen.ns != 0 && last.epoch == row.epoch &&
                    last.renewal == row.renewal && last.id == row.id;
  if (!same) unchanged_ = now;
  row.seen_ms = (now - unchanged_) / kNanosPerMilli;
  standing_.row = row;
  standing_.seen = now;
  standing_.leads = false;
  return row;
}

void LeaseBoard::Took(const LeaseRow& before, const LeaseRow& now) {
  MutexLock lock(mutex_);
  const Monotonic at = clock_.Now();
  // Taking the own lease again does not shorten the wait for the term of the leader before.
  const Monotonic from = OrdersFrom(before, standing_.self.id, unchanged_, at);
  orders_from_ = standing_.self.sole ? at : std::max(orders_from_, from);
  standing_.row = now;
  standing_.seen = unchanged_ = at;
  standing_.leads = true;
}

void LeaseBoard::Lost() {
  MutexLock lock(mutex_);
  standing_.leads = false;
}

Monotonic LeaseBoard::orders_from() const {
  MutexLock lock(mutex_);
  return orders_from_;
}

bool LeaseBoard::OtherLeads() const {
  MutexLock lock(mutex_);
  return standing_.seen.ns != 0 && !standing_.leads && !standing_.self.sole &&
         StateOf(standing_.row, standing_.self.id) == LeaseState::kHeld;
}

Monotonic LeaseBoard::waits_until() const {
  MutexLock lock(mutex_);
  return std::max(standing_.self.patient_until, standing_.self.resigned_until);
}

void LeaseBoard::Resign() {
  MutexLock lock(mutex_);
  standing_.self.resigned_until = clock_.Now() + 2 * standing_.self.ttl_ms * kNanosPerMilli;
}

std::int64_t LeaseBoard::OtherLeftMs() const {
  MutexLock lock(mutex_);
  const LeaseRow& row = standing_.row;
  const std::int64_t left_ms = std::min(row.left_ms, row.ttl_ms - row.seen_ms);
  return left_ms - (clock_.Now() - standing_.seen) / kNanosPerMilli;
}

void LeaseBoard::Copied(Monotonic at) {
  MutexLock lock(mutex_);
  standing_.copied = at;
}

void LeaseBoard::Leads() {
  MutexLock lock(mutex_);
  standing_.copied.reset();
  led_ = true;
  behind_ = false;
}

void LeaseBoard::Behind() {
  MutexLock lock(mutex_);
  behind_ = true;
}

bool LeaseBoard::Current() const {
  {
    MutexLock lock(mutex_);
    if (standing_.self.sole) return true;
  }
  return term_ == nullptr || term_->Confirmed();
}

// Until the database confirmed the lead last nobody else led, so the leader's view was whole then.
std::optional<Monotonic> LeaseBoard::copied() const {
  const bool current = Current();
  const auto confirmed = term_ == nullptr ? std::nullopt : term_->confirmed();
  MutexLock lock(mutex_);
  if (standing_.copied) return standing_.copied;
  return led_ && (!current || behind_) ? confirmed : std::nullopt;
}

std::int64_t LeaseBoard::AgeMs(Monotonic copied) const {
  return (clock_.Now() - copied) / kNanosPerMilli;
}

}  // namespace muster
