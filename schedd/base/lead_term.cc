#include "schedd/base/lead_term.h"

#include <algorithm>
#include <utility>

namespace muster {

bool Permit::Holds() const { return term_ == nullptr || term_->Holds(epoch_); }

bool Permit::IsVoid() const { return term_ != nullptr && term_->IsOver(epoch_); }

void LeadTerm::Begin(Epoch epoch, Monotonic confirmed, Monotonic from) {
  std::lock_guard lock(mutex_);
  epoch_ = epoch;
  from_ = from;
  until_ = confirmed + length_ns_;
}

void LeadTerm::Renew(Epoch epoch, Monotonic confirmed) {
  std::lock_guard lock(mutex_);
  if (epoch_.value == 0 || epoch != epoch_) return;
  until_ = std::max(until_, confirmed + length_ns_);
  if (!RunsShort()) wanted_ = false;
}

void LeadTerm::End() {
  std::lock_guard lock(mutex_);
  epoch_ = Epoch{};
  wanted_ = false;
}

void LeadTerm::OnWanted(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

bool LeadTerm::RunsShort() const { return until_ - clock_.Now() < length_ns_ / 2; }

bool LeadTerm::Wanted() const {
  std::lock_guard lock(mutex_);
  return wanted_ && epoch_.value != 0 && RunsShort();
}

Permit LeadTerm::Current() const {
  std::lock_guard lock(mutex_);
  return {shared_from_this(), epoch_};
}

bool LeadTerm::Holds(Epoch epoch) const {
  std::function<void()> wake;
  bool holds = false;
  {
    std::lock_guard lock(mutex_);
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

bool LeadTerm::IsOver(Epoch epoch) const {
  std::lock_guard lock(mutex_);
  return epoch_.value == 0 || epoch != epoch_;
}

}  // namespace muster
