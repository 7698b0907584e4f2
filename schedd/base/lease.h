// The lease: the right of one daemon to lead the database until a time that the database's clock
// judges. Here are its row, the rules about it, and LeaseBoard, on which the parts of a daemon tell
// each other who leads. docs/rules/leadership.md has the reasons.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "schedd/base/clock.h"
#include "schedd/base/ids.h"
#include "schedd/base/lead_term.h"
#include "schedd/base/mutex.h"

namespace muster {

/// The leader row, as one read of the database gave it.
struct LeaseRow {
  Epoch epoch;                  // 0: nobody has led this database yet
  std::string holder;           // the leader's host, for people
  std::string id;               // of the leader's data directory
  std::string address;          // of the leader's REST API: "https://a.example:8686"; may be ""
  WallTime since;               // when it took the lead, by the database's clock
  std::int64_t left_ms = 0;     // until it ends, by the database's clock; 0 or less: it is over
  std::int64_t seen_ms = 0;     // for how long the reader has seen this renewal, by its own clock
  std::int64_t ttl_ms = 0;      // how long a renewal makes it last
  std::int64_t renewal = 0;     // another number after each renewal
  bool released = false;        // the holder has given it up in good order
  bool awaits_standby = false;  // a commit of another daemon waits for a standby of the database
};

/// What a daemon may do about a lease.
enum class LeaseState {
  kFree,  // nobody leads, or the leader was silent for too long: it may be taken
  kOwn,   // an earlier session or process of the same data directory holds it: it may be taken
  kHeld,  // another daemon leads
};

/// Pure. `own_id`: of the daemon that asks. A lease with more time left than it was given is of a
/// database whose clock was set back: it is over when no renewal was seen for its whole length.
LeaseState StateOf(const LeaseRow& row, const std::string& own_id);
/// How long orders and reads of a leader hold after a renewal was sent: four fifths of the lease.
/// The rest is for clocks of the two hosts that do not run equally fast.
std::int64_t TermMs(std::int64_t ttl_ms);
/// How often a leader with nothing to write renews: three times in a lease, at least.
std::int64_t RenewEveryMs(std::int64_t ttl_ms);
/// How often a daemon that waits looks at the lease.
std::int64_t LookEveryMs(std::int64_t ttl_ms);
/// When the orders of a daemon that leads since `now` may begin. `before` is the row that it has
/// replaced, `unchanged` since when it has seen no renewal of that row. It does not trust the clock
/// of the database alone, which may have been set forward: the term of another leader must be over
/// by its own clock, too.
Monotonic OrdersFrom(const LeaseRow& before, const std::string& own_id, Monotonic unchanged,
                     Monotonic now);

/// Thread-safe. Owned by the daemon; outlives the store, the engine and the servers.
class LeaseBoard {
 public:
  /// This daemon, as it asks for the lease.
  struct Self {
    std::string id, holder, address;
    std::int64_t ttl_ms = 0;
    /// No other daemon can use the database: the lease is never judged.
    bool sole = false;
    /// Before this time a free lease is left to others (--standby).
    Monotonic patient_until{};
    /// Before this time any lease is left to others, its own one too: it could not read what it
    /// led.
    Monotonic resigned_until{};
  };
  /// What is known about the lead.
  struct Standing {
    Self self;
    bool leads = false;
    LeaseRow row;                     // as it was read last, or as this daemon has written it
    Monotonic seen{};                 // when; 0: never
    std::optional<Monotonic> copied;  // the age of the copy that reads are served from
  };

  /// `clock` must outlive the board. `term`: of this daemon's lead; may be null in tests.
  LeaseBoard(const Clock& clock, std::shared_ptr<const LeadTerm> term)
      : clock_(clock), term_(std::move(term)) {}

  void SetSelf(Self self);
  Self self() const;
  Standing standing() const;

  // --- the writer of the store

  /// The row was read while this daemon did not lead. Returns it with its seen_ms.
  LeaseRow Saw(LeaseRow row);
  /// This daemon has taken the lease of `row`, under the epoch `now.epoch`.
  void Took(const LeaseRow& before, const LeaseRow& now);
  /// The session that leads is gone, or the epoch.
  void Lost();

  // --- the engine

  /// From when on the orders of the lead that was taken last may be carried out.
  Monotonic orders_from() const;
  /// True if the last look found another daemon that leads.
  bool OtherLeads() const;
  /// Before this time this daemon does not take the lead unless it has seen another one lose it.
  Monotonic waits_until() const;
  /// Leaves the lead to others for two leases; the writer gives it up with its next try.
  void Resign();
  /// How long the lease of the other daemon lasts as far as is known, in milliseconds.
  std::int64_t OtherLeftMs() const;
  std::int64_t look_every_ms() const { return LookEveryMs(self().ttl_ms); }
  /// The published view is a copy of the database as it was at `at`, or later.
  void Copied(Monotonic at);
  /// The published view is that of the leader, which this daemon is.
  void Leads();
  /// The published view is that of a leader whose store has failed.
  void Behind();

  // --- readers

  /// True if the published view is current: this daemon's term goes on, or nobody else can lead.
  bool Current() const;
  /// As of when the published view is, if it is not current: when the copy was taken, or when the
  /// database has confirmed this daemon's lead last. Unset if it is current, and if there was never
  /// one. Ask before taking the view.
  std::optional<Monotonic> copied() const;
  std::int64_t AgeMs(Monotonic copied) const;

 private:
  const Clock& clock_;
  const std::shared_ptr<const LeadTerm> term_;
  mutable Mutex mutex_;
  Standing standing_ MUSTER_GUARDED_BY(mutex_);
  // Since when standing_.row shows the same renewal.
  Monotonic unchanged_ MUSTER_GUARDED_BY(mutex_){};
  Monotonic orders_from_ MUSTER_GUARDED_BY(mutex_){};
  // The leader's view was published; it is that of a leader whose store has failed.
  bool led_ MUSTER_GUARDED_BY(mutex_) = false, behind_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster
