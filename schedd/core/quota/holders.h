// Holders: the workloads that hold quota, by ClusterQueue. The search for victims, fair sharing and
// explain read them. A plain data structure; not thread-safe to mutate.
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
/// Sorted by pair, each pair once.
using Charges = std::vector<Charge>;

/// Adds to the amount of a pair, saturating; no-op for pair -1.
void AddCharge(FlavorResourceIndex pair, std::int64_t amount, Charges* charges);
/// What an admission takes of each pair of `tree`; pairs that no quota has are left out.
Charges ChargesOf(const QuotaTree& tree, const Admission& admission);

/// One workload with a reservation. Immutable; the holder sets of several cycles share it.
struct Holder {
  JobPtr job;
  Uid uid;  // the job's; copied so that comparing holders does not load the job
  JobId id;
  NodeIndex queue = -1;
  Charges charges;
  std::int64_t priority = 0;  // effective
  WallTime queue_time;        // rule A8
  WallTime reserved_at;       // transition of QuotaReserved
  bool evicted = false;       // Evicted=True and quota still held (rule A50)
};
using HolderPtr = std::shared_ptr<const Holder>;

/// The holder of a job with an admission: `job.admission` must be set.
HolderPtr MakeHolder(const QuotaTree& tree, const AdmissionSettings& settings, JobPtr job);

/// True if a search for victims looks at `a` before `b`: already evicted, lower priority, later
/// reservation, uid (rule A36, without the parts that depend on the preemptor). Job ids make the
/// order total.
bool TakenBefore(const Holder& a, const Holder& b);

/// The order TakenBefore for a set. With a FirstNotEvicted as key, lower_bound finds the first
/// holder that is not evicted.
struct HolderOrder {
  using is_transparent = void;
  struct FirstNotEvicted {};
  bool operator()(const HolderPtr& a, const HolderPtr& b) const { return TakenBefore(*a, *b); }
  bool operator()(const HolderPtr& a, FirstNotEvicted) const { return a->evicted; }
};
using HolderSet = std::set<HolderPtr, HolderOrder>;

class Holders {
 public:
  Holders() = default;
  explicit Holders(QuotaTreePtr tree);
  /// A layer over `base`: it shows what `base` holds and can be changed without changing `base`.
  /// Only the queues that are touched are copied. `base` must outlive the layer and must not change
  /// meanwhile.
  static Holders Over(const Holders& base);

  /// Adds or replaces a holder (by job id). Holders of queues that the tree does not know are
  /// dropped.
  void Put(HolderPtr holder);
  /// No-op if absent.
  void Erase(JobId id);
  /// Null if absent; valid until the next change.
  const HolderPtr* Find(JobId id) const;
  /// The holders of one ClusterQueue. The reference is valid as long as this object and, in a
  /// layer, until the first change of this queue.
  const HolderSet& Of(NodeIndex queue) const;
  std::size_t size() const { return size_; }

 private:
  /// The set of a queue, to be changed; a layer copies it from its base first.
  HolderSet* Own(NodeIndex queue);

  const Holders* base_ = nullptr;  // null: not a layer
  std::size_t size_ = 0;
  std::vector<HolderSet> by_queue_;         // by node index; empty in a layer
  std::map<NodeIndex, HolderSet> touched_;  // only in a layer: the queues that were changed
  // In a layer only its own changes: null for a holder of the base that was erased.
  std::unordered_map<JobId, HolderPtr> by_id_;
};

}  // namespace muster::core
