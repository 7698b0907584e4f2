// Candidates of one queue in order, and the room that victims make (rules A36 to A38).
//
// CandidateList walks the queue's holders, which are sorted by (evicted first, lower priority
// first). At a priority that the policy protects it jumps to the end of the evicted half or of the
// list, so a head with nobody below it is answered after one look per queue.
//
// VictimRoom takes victims away one by one and checks after each whether the requests fit. The
// check walks the cohort tree, so it is left out while it cannot succeed: after a failed check it
// remembers the pair and the amount that were missing, and looks again only when the victims since
// then held that much of the pair.
#include "schedd/core/preempt/victim_room.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "schedd/base/quantity.h"

namespace muster::core {
namespace {

// True if the holder has quota of a contested pair (rule A35).
bool UsesAny(const Holder& holder, std::span<const FlavorResourceIndex> contested) {
  return std::any_of(holder.charges.begin(), holder.charges.end(), [&](const Charge& charge) {
    return std::find(contested.begin(), contested.end(), charge.pair) != contested.end();
  });
}

}  // namespace

std::int64_t HighestEvictable(const Preemptor& preemptor, PreemptionPolicy policy) {
  switch (policy) {
    case PreemptionPolicy::kNever:
      break;
    case PreemptionPolicy::kLowerPriority:
      return SaturatingSub(preemptor.priority, 1);
    case PreemptionPolicy::kLowerOrNewerEqualPriority:
      return preemptor.priority;
    case PreemptionPolicy::kAny:
      return std::numeric_limits<std::int64_t>::max();
  }
  return std::numeric_limits<std::int64_t>::min();
}

// A policy of Never makes an empty list without a look at the holders.
CandidateList::CandidateList(const VictimQuery& query, NodeIndex queue, PreemptionPolicy policy)
    : queue_(queue),
      query_(&query),
      policy_(policy),
      highest_(HighestEvictable(query.preemptor, policy)) {
  if (policy == PreemptionPolicy::kNever) {
    query_ = nullptr;
    return;
  }
  const HolderSet& holders = query.holders.Of(queue);
  at_ = holders.begin();
  end_ = holders.end();
  Seek();
  if (query.local_usages != nullptr && !empty()) RankByLocalQueue(query);
}

CandidateList::CandidateList(NodeIndex queue, std::vector<const HolderPtr*> candidates)
    : queue_(queue), listed_(std::move(candidates)) {
  Seek();
}

const HolderPtr* CandidateList::Pop() {
  const HolderPtr* head = head_;
  if (query_ != nullptr) {
    ++at_;
  } else {
    ++next_;
  }
  Seek();
  return head;
}

// Moves to the next holder that the policy allows and that uses a contested pair.
void CandidateList::Seek() {
  head_ = nullptr;
  if (query_ == nullptr) {
    if (next_ < listed_.size()) head_ = listed_[next_];
    return;
  }
  while (at_ != end_) {
    const Holder& holder = **at_;
    if (holder.priority > highest_) {
      // No later holder of this half has a lower priority. After the evicted half comes the other.
      at_ = holder.evicted ? query_->holders.Of(queue_).lower_bound(HolderOrder::FirstNotEvicted{})
                           : end_;
    } else if (SatisfiesPolicy(query_->preemptor, holder, policy_) &&
               UsesAny(holder, query_->contested)) {
      head_ = &*at_;
      return;
    } else {
      ++at_;
    }
  }
}

// With admission fair sharing, candidates of one queue go by the usage of their LocalQueue, the
// highest first (rule A36). If the usage of any LocalQueue is not known the plain order stays, as
// in Kueue.
void CandidateList::RankByLocalQueue(const VictimQuery& query) {
  struct RankedHolder {
    double usage;
    const HolderPtr* holder;
  };
  std::vector<RankedHolder> ranked;
  const HolderSet::const_iterator first = at_;
  while (!empty()) {
    const JobRecord& job = *head()->job;
    const auto usage = query.local_usages->find({job.ns, job.local_queue});
    if (usage == query.local_usages->end()) {
      at_ = first;
      Seek();
      return;
    }
    ranked.push_back({usage->second, Pop()});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const RankedHolder& a, const RankedHolder& b) {
    const bool evicted = (*a.holder)->evicted;
    return evicted != (*b.holder)->evicted ? evicted : a.usage > b.usage;
  });
  query_ = nullptr;
  for (const RankedHolder& entry : ranked) listed_.push_back(entry.holder);
  Seek();
}

void VictimRoom::Count(const Holder& holder, bool add) {
  for (const Charge& charge : holder.charges) {
    if (add) {
      usage_->Add(holder.queue, charge.pair, charge.amount);
    } else {
      usage_->Remove(holder.queue, charge.pair, charge.amount);
    }
  }
}

void VictimRoom::TakeOut(const Holder& holder) {
  Count(holder, false);
  if (probe_ != nullptr) probe_->Remove(holder);
}

void VictimRoom::PutBack(const Holder& holder) {
  Count(holder, true);
  if (probe_ != nullptr) probe_->Restore(holder);
}

// What the victim held of the lacking pair counts towards the next check.
void VictimRoom::Take(const HolderPtr& holder, Reason reason) {
  TakeOut(*holder);
  taken_.push_back({&holder, reason});
  for (const Charge& charge : holder->charges) {
    if (charge.pair == lacking_) lack_ = SaturatingSub(lack_, charge.amount);
  }
}

bool VictimRoom::Fits(bool may_borrow) { return !StillLacks() && FitsNow(may_borrow); }

// Remembers what is missing, for StillLacks; always false.
bool VictimRoom::Lacks(FlavorResourceIndex pair, std::int64_t amount) {
  lacking_ = pair;
  lack_ = amount;
  return false;
}

// Without borrowing, the queue itself must stay within its quota with the requests.
bool VictimRoom::FitsNow(bool may_borrow) {
  const NodeIndex queue = query_.preemptor.queue;
  for (const auto& [pair, amount] : query_.requests) {
    const std::int64_t used = SaturatingAdd(usage_->At(queue, pair), amount);
    const std::int64_t quota = usage_->tree().cell(queue, pair).subtree;
    if (!may_borrow && used > quota) return Lacks(pair, SaturatingSub(used, quota));
    if (usage_->Fits(queue, pair, amount)) continue;
    return Lacks(pair, SaturatingSub(amount, usage_->Available(queue, pair)));
  }
  lack_ = 0;
  return probe_ == nullptr || probe_->Fits();
}

// Kueue's order of the result: the place of a victim that is put back is taken by the last victim.
std::vector<Victim> VictimRoom::Settle(bool may_borrow) {
  for (std::size_t i = taken_.size() - 1; i-- > 0;) {
    PutBack(**taken_[i].holder);
    if (FitsNow(may_borrow)) {
      taken_[i] = taken_.back();
      taken_.pop_back();
    } else {
      TakeOut(**taken_[i].holder);
    }
  }
  std::vector<Victim> victims;
  victims.reserve(taken_.size());
  for (const TakenVictim& taken : taken_) victims.push_back({*taken.holder, taken.reason});
  Restore();
  return victims;
}

void VictimRoom::Restore() {
  for (const TakenVictim& taken : taken_) PutBack(**taken.holder);
  taken_.clear();
  lack_ = 0;
}

void VictimRoom::AssumePreemptor() {
  for (const Charge& charge : query_.requests) {
    usage_->Add(query_.preemptor.queue, charge.pair, charge.amount);
  }
}

void VictimRoom::RetractPreemptor() {
  for (const Charge& charge : query_.requests) {
    usage_->Remove(query_.preemptor.queue, charge.pair, charge.amount);
  }
}

bool LookedAtBefore(const Holder& a, int rank_a, const Holder& b, int rank_b) {
  if (a.evicted != b.evicted) return a.evicted;
  if (rank_a != rank_b) return rank_a < rank_b;
  return TakenBefore(a, b);
}

}  // namespace muster::core
