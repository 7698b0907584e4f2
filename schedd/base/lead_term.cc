// The term of a lead and the permits that depend on it. The state is one epoch and the time span in
// which it holds; a permit holds a shared pointer to its term and compares epochs, so ending an
// epoch makes all its permits void at once.
//
// When a caller checks a permit and less than half of the term is left, the term is wanted: the
// engine is woken once and has a heartbeat committed, whose confirmation renews the term before it
// runs out.
#include "schedd/base/lead_term.h"

#include <algorithm>
#include <utility>

namespace muster {

bool Permit::Holds() const { return term_ == nullptr || term_->Holds(epoch_); }

bool Permit::IsVoid() const { return term_ != nullptr && term_->IsOver(epoch_); }

std::optional<Monotonic> Permit::Ends() const {
  if (term_ == nullptr) return std::nullopt;
  return term_->EndOf(epoch_);
}

// A term without a length ends when it was confirmed last, and nobody renews it.
Permit Permit::Until(const Clock& clock, Monotonic end) {
  const auto term = std::make_shared<LeadTerm>(clock, 0);
  term->Begin(Epoch{1}, end, Monotonic{});
  return term->Current();
}

// `from` lies in the future if another daemon led before: its term must have run out by then.
void LeadTerm::Begin(Epoch epoch, Monotonic confirmed, Monotonic from) {
  MutexLock lock(mutex_);
  epoch_ = epoch;
  from_ = from;
  until_ = confirmed + length_ns_;
  confirmed_ = confirmed;
}

// A late answer may confirm an earlier time than is known already, so the end never moves back.
void LeadTerm::Renew(Epoch epoch, Monotonic confirmed) {
  MutexLock lock(mutex_);
  if (epoch_.value == 0 || epoch != epoch_) return;
  until_ = std::max(until_, confirmed + length_ns_);
  if (!confirmed_ || *confirmed_ < confirmed) confirmed_ = confirmed;
  if (!RunsShort()) wanted_ = false;
}

std::optional<Monotonic> LeadTerm::confirmed() const {
  MutexLock lock(mutex_);
  return confirmed_;
}

void LeadTerm::End() {
  MutexLock lock(mutex_);
  epoch_ = Epoch{};
  wanted_ = false;
}

void LeadTerm::OnWanted(std::function<void()> wake) {
  MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

bool LeadTerm::RunsShort() const { return until_ - clock_.Now() < length_ns_ / 2; }

// Read by the engine when it decides whether a heartbeat is due.
bool LeadTerm::Wanted() const {
  MutexLock lock(mutex_);
  return wanted_ && epoch_.value != 0 && RunsShort();
}

Permit LeadTerm::Current() const {
  MutexLock lock(mutex_);
  return {shared_from_this(), epoch_};
}

// The wake function is called after the lock is released: it may call back into this object.
bool LeadTerm::Holds(Epoch epoch) const {
  std::function<void()> wake;
  bool holds = false;
  {
    MutexLock lock(mutex_);
    if (epoch_.value == 0 || epoch != epoch_) return false;
    if (RunsShort() && !wanted_) {
      wanted_ = true;
      wake = wake_;
    }
    const Monotonic now = clock_.Now();
    holds = from_ <= now && now < until_;
  }
  if (wake) wake();
  return holds;
}

bool LeadTerm::Confirmed() const {
  MutexLock lock(mutex_);
  return epoch_.value != 0 && clock_.Now() < until_;
}

Monotonic LeadTerm::EndOf(Epoch epoch) const {
  MutexLock lock(mutex_);
  return epoch_.value == 0 || epoch != epoch_ ? Monotonic{} : until_;
}

bool LeadTerm::IsOver(Epoch epoch) const {
  MutexLock lock(mutex_);
  return epoch_.value == 0 || epoch != epoch_;
}

}  // namespace muster
