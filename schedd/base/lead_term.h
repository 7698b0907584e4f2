// LeadTerm: until when this daemon may act as the leader without hearing from its database again;
// Permit: the right to carry out one order, for as long as the lead it was given under goes on.
//
// The database says who leads, but a call to a member is not fenced by it. So the lead is asked for
// right before each call that writes: it holds for a fixed time after the last write that the
// database has confirmed under the lead's epoch, counted from when that write was sent. The time is
// the monotonic clock's, which runs on while a process is stopped: whoever was stopped for longer
// wakes up behind the end of its term. Who takes the lead from somebody waits for as long, so two
// terms never overlap.
//
// Thread-safe. Held by shared pointers, because permits share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "schedd/base/clock.h"
#include "schedd/base/ids.h"

namespace muster {

class LeadTerm;

/// A value. Without a term (the default) it always holds: nobody else can lead, or a test says so.
class Permit {
 public:
  Permit() = default;
  Permit(std::shared_ptr<const LeadTerm> term, Epoch epoch)
      : term_(std::move(term)), epoch_(epoch) {}

  bool given() const { return term_ != nullptr; }
  /// The order may be carried out now.
  bool Holds() const;
  /// The order may never be carried out any more: its epoch is over. Neither this nor Holds: the
  /// database has not confirmed the lead lately, and may do so soon.
  bool IsVoid() const;

 private:
  std::shared_ptr<const LeadTerm> term_;
  Epoch epoch_;
};

class LeadTerm : public std::enable_shared_from_this<LeadTerm> {
 public:
  /// `clock` must outlive it. Nothing holds before the first Begin.
  LeadTerm(const Clock& clock, std::int64_t length_ns) : clock_(clock), length_ns_(length_ns) {}

  /// An epoch was taken; `confirmed` is when it was asked for. Nothing holds before `from`.
  void Begin(Epoch epoch, Monotonic confirmed, Monotonic from);
  /// The database has confirmed the epoch by something that was sent at `confirmed`. No effect for
  /// another epoch, or one that has ended.
  void Renew(Epoch epoch, Monotonic confirmed);
  /// The lead, or the store, is lost: every permit so far is void, whatever comes.
  void End();
  /// `wake` is called, on any thread, when somebody wants the term to go on; it must only post.
  void OnWanted(std::function<void()> wake);
  /// True if somebody wants to act and less than half of the term is left.
  bool Wanted() const;

  std::int64_t length_ns() const { return length_ns_; }
  /// For orders that are given now; void if no epoch goes on.
  Permit Current() const;
  bool Holds(Epoch epoch) const;
  bool IsOver(Epoch epoch) const;

 private:
  bool RunsShort() const;  // under mutex_

  const Clock& clock_;
  const std::int64_t length_ns_;
  mutable std::mutex mutex_;  // guards what follows
  Epoch epoch_;               // 0: none goes on
  Monotonic from_, until_;
  mutable bool wanted_ = false;
  std::function<void()> wake_;
};

}  // namespace muster
