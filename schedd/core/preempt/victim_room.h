// What both searches for victims share: the question, the candidates of a queue in their order, and
// the room that taking victims makes (rules A37, A41).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedd/core/preempt/preemption.h"

namespace muster::core {

/// One search: who wants how much of what, and who may be in the way.
struct VictimQuery {
  const AdmissionSettings& settings;
  const Holders& holders;
  const LocalQueueUsages* local_usages;  // null: no admission fair sharing
  const Preemptor& preemptor;
  std::span<const Charge> requests;
  std::span<const FlavorResourceIndex> contested;
};

/// The holders of one ClusterQueue that a preemptor may evict, first to be taken first. Looks only
/// as far as it is asked and stops at the first priority that the policy protects. Points into the
/// query's holders.
class CandidateList {
 public:
  CandidateList(const VictimQuery& query, NodeIndex queue, PreemptionPolicy policy);
  /// `candidates` of one queue in the order given.
  CandidateList(NodeIndex queue, std::vector<const HolderPtr*> candidates);

  NodeIndex queue() const { return queue_; }
  bool empty() const { return head_ == nullptr; }
  const HolderPtr& head() const { return *head_; }  // not if empty
  /// Takes the head off and returns it; not if empty.
  const HolderPtr* Pop();

 private:
  void Seek();
  void RankByLocalQueue(const VictimQuery& query);

  NodeIndex queue_ = -1;
  const HolderPtr* head_ = nullptr;
  // Either what is left of the queue's holders ...
  const VictimQuery* query_ = nullptr;
  PreemptionPolicy policy_ = PreemptionPolicy::kNever;
  std::int64_t highest_ = 0;  // priority that the policy may allow
  HolderSet::const_iterator at_, end_;
  // ... or a list made before.
  std::vector<const HolderPtr*> listed_;
  std::size_t next_ = 0;
};

/// The usage as it is once victims are gone.
class VictimRoom {
 public:
  /// All must outlive it. `probe` may be null.
  VictimRoom(const VictimQuery& query, Usage* usage, TopologyProbe* probe)
      : query_(query), usage_(usage), probe_(probe) {}
  VictimRoom(const VictimRoom&) = delete;
  VictimRoom& operator=(const VictimRoom&) = delete;

  const Usage& usage() const { return *usage_; }
  /// Makes it a victim: its usage and pods go.
  void Take(const HolderPtr& holder, Reason reason);
  /// True if the preemptor's requests fit now; without borrowing unless `may_borrow`, which stays
  /// the same until Settle or Restore. Between calls room may only be made.
  bool Fits(bool may_borrow);
  /// True if Fits is known to say no without being asked.
  bool StillLacks() const { return lack_ > 0; }
  /// Puts back every victim, latest first but for the last, without whom the requests still fit
  /// (rule A38); restores the usage; returns the victims left, in Kueue's order.
  std::vector<Victim> Settle(bool may_borrow);
  /// Gives up: all victims are put back.
  void Restore();

  /// While the shares of fair sharing are compared, the preemptor's requests count as used.
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
  void Count(const Holder& holder, bool add);
  void PutBack(const Holder& holder);
  void TakeOut(const Holder& holder);

  const VictimQuery& query_;
  Usage* usage_;
  TopologyProbe* probe_;
  struct Taken {
    const HolderPtr* holder;
    Reason reason;
  };
  std::vector<Taken> taken_;
  // Until this much more of the pair is given up the requests cannot fit: no victim makes more room
  // than it held.
  FlavorResourceIndex lacking_ = -1;
  std::int64_t lack_ = 0;
};

/// The highest priority that `policy` may allow to be evicted; the lowest number there is: none.
std::int64_t HighestEvictable(const Preemptor& preemptor, PreemptionPolicy policy);

/// True if `a` is looked at before `b`: evicted ones first, then the lower rank, then TakenBefore.
bool LookedAtBefore(const Holder& a, int rank_a, const Holder& b, int rank_b);

}  // namespace muster::core
