// LeadTerm: until when this daemon may act as the leader without hearing from its database again.
// Permit: the right to carry out one order as long as the lead under which it was given goes on.
//
// The database decides which daemon leads, but it cannot fence a call to a member. So each call
// that writes on a member first asks for the lead. The lead holds for a fixed time after the last
// write that the database has confirmed under the lead's epoch, counted from when that write was
// sent. The time is that of the monotonic clock, which runs on while a process is stopped: a
// process that was stopped for longer than its term wakes up after the term's end. A daemon that
// takes the lead from another one waits for as long before it acts, so two terms never overlap.
//
// Thread-safe. Held by shared pointers, because permits share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "schedd/base/clock.h"
#include "schedd/base/ids.h"
#include "schedd/base/mutex.h"

namespace muster {

class LeadTerm;

/// A value. A permit without a term (the default) always holds: no other daemon can lead, or a test
/// says so.
class Permit {
 public:
  Permit() = default;
  Permit(std::shared_ptr<const LeadTerm> term, Epoch epoch)
      : term_(std::move(term)), epoch_(epoch) {}

  bool given() const { return term_ != nullptr; }
  /// True if the order may be carried out now.
  bool Holds() const;
  /// True if the order may never be carried out any more, because its epoch is over. If neither
  /// this nor Holds is true, the database has not confirmed the lead lately and may do so soon.
  bool IsVoid() const;
  /// Until when it holds if the database does not confirm the lead again; a time that is past if it
  /// holds no more. Unset: it always holds.
  std::optional<Monotonic> Ends() const;
  /// The permit of another process of this host, whose end is known here as a time: it holds until
  /// `end` and is never renewed. `clock` must outlive it.
  static Permit Until(const Clock& clock, Monotonic end);

 private:
  std::shared_ptr<const LeadTerm> term_;
  Epoch epoch_;
};

class LeadTerm : public std::enable_shared_from_this<LeadTerm> {
 public:
  /// `clock` must outlive the term. No permit holds before the first Begin.
  LeadTerm(const Clock& clock, std::int64_t length_ns) : clock_(clock), length_ns_(length_ns) {}

  /// This daemon has taken an epoch; `confirmed` is when it asked for it. No permit holds before
  /// `from`.
  void Begin(Epoch epoch, Monotonic confirmed, Monotonic from);
  /// The database has confirmed the epoch by a write that was sent at `confirmed`. No effect for
  /// another epoch, or for one that has ended.
  void Renew(Epoch epoch, Monotonic confirmed);
  /// The lead, or the store, is lost: all permits that were given until now are void for good.
  void End();
  /// `wake` is called, on any thread, when a caller needs the term to go on; it must only post.
  void OnWanted(std::function<void()> wake);
  /// True if a caller wants to act and less than half of the term is left.
  bool Wanted() const;

  std::int64_t length_ns() const { return length_ns_; }
  /// The permit for orders that are given now; void if there is no epoch.
  Permit Current() const;
  bool Holds(Epoch epoch) const;
  /// True if the database has confirmed the present lead within the term: no other daemon leads.
  /// Orders may have to wait nevertheless (Begin).
  bool Confirmed() const;
  /// When the write was sent that the database has confirmed last, under whichever epoch; unset: it
  /// has confirmed none.
  std::optional<Monotonic> confirmed() const;
  bool IsOver(Epoch epoch) const;
  /// Until when the epoch holds as far as is known now; a time that is past if it is over.
  Monotonic EndOf(Epoch epoch) const;

 private:
  // True if less than half of the term is left.
  bool RunsShort() const MUSTER_REQUIRES(mutex_);

  const Clock& clock_;
  const std::int64_t length_ns_;
  mutable Mutex mutex_;
  // 0: this daemon does not lead.
  Epoch epoch_ MUSTER_GUARDED_BY(mutex_);
  Monotonic from_ MUSTER_GUARDED_BY(mutex_);
  Monotonic until_ MUSTER_GUARDED_BY(mutex_);
  std::optional<Monotonic> confirmed_ MUSTER_GUARDED_BY(mutex_);
  mutable bool wanted_ MUSTER_GUARDED_BY(mutex_) = false;
  std::function<void()> wake_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
