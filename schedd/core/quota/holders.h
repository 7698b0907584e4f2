// Holders: the workloads that hold quota, by ClusterQueue. What a search for victims, fair sharing
// and explain look at. A plain data structure; not thread-safe to mutate.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/job.h"

namespace muster::core {

/// An amount of one (flavor, resource) pair.
struct Charge {
  FlavorResourceIndex pair = -1;
  std::int64_t amount = 0;
  bool operator==(const Charge&) const = default;
};
using Charges = std::vector<Charge>;  // sorted by pair, each pair once

/// Adds to the amount of a pair, saturating; no-op for pair -1.
void AddCharge(FlavorResourceIndex pair, std::int64_t amount, Charges* charges);
/// What an admission charges, by pair of `tree`; pairs that no quota knows are left out.
Charges ChargesOf(const QuotaTree& tree, const Admission& admission);

/// One workload with a reservation. Immutable; shared between the holder sets of several cycles.
struct Holder {
  JobPtr job;
  Uid uid;  // the job's; here so that ordering holders looks at nothing else
  JobId id;
  NodeIndex queue = -1;
  Charges charges;
  std::int64_t priority = 0;  // effective
  WallTime queue_time;        // rule A8
  WallTime reserved_at;       // transition of QuotaReserved
  bool evicted = false;       // Evicted=True and quota still held (rule A50)
};
using HolderPtr = std::shared_ptr<const Holder>;

/// The holder that a job with an admission is. `job.admission` must be set.
HolderPtr MakeHolder(const QuotaTree& tree, const AdmissionSettings& settings, JobPtr job);

/// Which of two holders a search for victims looks at first (rule A36, what
/// of it does not depend on who preempts): already evicted, lower priority, reserved later, uid.
/// Job ids make it total.
bool TakenBefore(const Holder& a, const Holder& b);

struct HolderOrder {
  using is_transparent = void;
  struct Standing {};  // sorts before all that are not yet evicted
  bool operator()(const HolderPtr& a, const HolderPtr& b) const { return TakenBefore(*a, *b); }
  bool operator()(const HolderPtr& a, Standing) const { return a->evicted; }
};
using HolderSet = std::set<HolderPtr, HolderOrder>;

class Holders {
 public:
  Holders() = default;
  explicit Holders(QuotaTreePtr tree);
  /// What `base` holds, to be changed without changing it: only the queues that are touched are
  /// copied. `base` must outlive it and stay as it is meanwhile.
  static Holders Over(const Holders& base);

  /// Adds or replaces (by job id). Holders of queues that the tree does not know are dropped.
  void Put(HolderPtr holder);
  /// No-op if absent.
  void Erase(JobId id);
  /// Null if absent; good until the next change.
  const HolderPtr* Find(JobId id) const;
  /// The reference is good as long as this object, and until this queue's first change in a layer.
  const HolderSet& Of(NodeIndex queue) const;
  std::size_t size() const { return size_; }

 private:
  HolderSet* Own(NodeIndex queue);

  const Holders* base_ = nullptr;  // null: not a layer
  std::size_t size_ = 0;
  std::vector<HolderSet> by_queue_;             // ClusterQueues only; empty in a layer
  std::map<NodeIndex, HolderSet> touched_;      // of a layer: the queues that differ from its base
  std::unordered_map<JobId, HolderPtr> by_id_;  // of a layer: null for the base's that it lost
};

}  // namespace muster::core
