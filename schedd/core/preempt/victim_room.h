// The parts that both searches for victims share: the query, the candidates of one queue in order,
// and the usage while victims are taken and put back (rules A36, A37, A41).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedd/core/preempt/preemption.h"

namespace muster::core {

/// One search: the preemptor, its requests, and the holders that may be evicted.
struct VictimQuery {
  const AdmissionSettings& settings;
  const Holders& holders;
  const LocalQueueUsages* local_usages;  // null: no admission fair sharing
  const Preemptor& preemptor;
  std::span<const Charge> requests;
  std::span<const FlavorResourceIndex> contested;
};

/// The holders of one ClusterQueue that a preemptor may evict, in the order in which they are
/// taken. It reads the queue's holders lazily and stops at the first priority that the policy
/// protects. Points into the query's holders.
class CandidateList {
 public:
  CandidateList(const VictimQuery& query, NodeIndex queue, PreemptionPolicy policy);
  /// A list of given candidates of one queue, in the given order.
  CandidateList(NodeIndex queue, std::vector<const HolderPtr*> candidates);

  NodeIndex queue() const { return queue_; }
  bool empty() const { return head_ == nullptr; }
  /// The next candidate. Not to be called if empty.
  const HolderPtr& head() const { return *head_; }
  /// Removes the head and returns it. Not to be called if empty.
  const HolderPtr* Pop();

 private:
  void Seek();
  void RankByLocalQueue(const VictimQuery& query);

  NodeIndex queue_ = -1;
  const HolderPtr* head_ = nullptr;
  // Either a range of the queue's holders (query_ is not null) ...
  const VictimQuery* query_ = nullptr;
  PreemptionPolicy policy_ = PreemptionPolicy::kNever;
  std::int64_t highest_ = 0;  // the highest priority that the policy may allow
  HolderSet::const_iterator at_, end_;
  // ... or a list.
  std::vector<const HolderPtr*> listed_;
  std::size_t next_ = 0;
};

/// The usage as it is while victims are taken. The caller ends with Settle or Restore.
class VictimRoom {
 public:
  /// All arguments must outlive this object. `probe` may be null.
  VictimRoom(const VictimQuery& query, Usage* usage, TopologyProbe* probe)
      : query_(query), usage_(usage), probe_(probe) {}
  VictimRoom(const VictimRoom&) = delete;
  VictimRoom& operator=(const VictimRoom&) = delete;

  const Usage& usage() const { return *usage_; }
  /// Makes the holder a victim: its usage and its pods are taken away.
  void Take(const HolderPtr& holder, Reason reason);
  /// True if the preemptor's requests fit now; without borrowing unless `may_borrow`, which must
  /// stay the same until Settle or Restore. Between two calls victims may be taken, but none put
  /// back.
  bool Fits(bool may_borrow);
  /// True if Fits is known to be false without looking.
  bool StillLacks() const { return lack_ > 0; }
  /// Puts back, from the last but one to the first, every victim without which the requests still
  /// fit (rule A38); restores the usage; returns the victims that are left, in Kueue's order.
  std::vector<Victim> Settle(bool may_borrow);
  /// Gives up: puts back all victims.
  void Restore();

  /// Counts the preemptor's requests as used, while the shares of fair sharing are compared.
  void AssumePreemptor();
  void RetractPreemptor();
  /// Calls `look(usage)` while `holder` does not count.
  template <class Look>
  auto Without(const Holder& holder, const Look& look) {
    Count(holder, false);
    auto seen = look(static_cast<const Usage&>(*usage_));
    Count(holder, true);
    return seen;
  }

 private:
  bool FitsNow(bool may_borrow);
  bool Lacks(FlavorResourceIndex pair, std::int64_t amount);
  // Adds or removes the holder's charges; PutBack and TakeOut tell the probe as well.
  void Count(const Holder& holder, bool add);
  void PutBack(const Holder& holder);
  void TakeOut(const Holder& holder);

  const VictimQuery& query_;
  Usage* usage_;
  TopologyProbe* probe_;
  struct TakenVictim {
    const HolderPtr* holder;
    Reason reason;
  };
  std::vector<TakenVictim> taken_;
  // The requests cannot fit before victims with at least `lack_` of this pair are gone, because no
  // victim makes more room than it held.
  FlavorResourceIndex lacking_ = -1;
  std::int64_t lack_ = 0;
};

/// The highest priority that `policy` may allow to be evicted; the smallest int64 if it allows
/// none.
std::int64_t HighestEvictable(const Preemptor& preemptor, PreemptionPolicy policy);

/// True if `a` is looked at before `b`: evicted ones first, then the lower rank, then TakenBefore.
bool LookedAtBefore(const Holder& a, int rank_a, const Holder& b, int rank_b);

}  // namespace muster::core
