// Rebalancing: whether a running job would be better off on another member (rule P17: what
// is placed is never moved by itself; this is the opt-in). Pure; not thread-safe.
//
// The rule: the member is chosen anew as if the job ran nowhere, with what it holds given back
// where it is. A move is worth it if that choice is another member, which is in an earlier cluster
// group, or in the same one and scores at least so many points more than the present member does in
// the same comparison. Both scores are of a fleet without the job, so from the new member the
// comparison is the same one the other way round: no job goes to and fro while nothing else
// changes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "schedd/core/member/member_room.h"

namespace muster::core {

struct BetterMember {
  std::string cluster;
  bool earlier_group = false;
  std::int64_t points = 0;  // that it scores more: affinity and spread together
  std::string message;      // both members and what their placement says of them
};

/// True if a job runs that says that it may be moved and whose placement may prefer a member over
/// another one: it may be requeued, its annotation muster.io/checkpointable is true, nothing names
/// its member, and neither a member's own queue nor topology aware scheduling chose its machines.
bool MayBeMoved(const ConfigView& config, const JobRecord& job);

class Rebalancer {
 public:
  /// `config`, `clusters` and `placed` (null: no spread constraint counts) must outlive it.
  Rebalancer(const ConfigView& config, const AdmissionSettings& settings,
             std::span<const ClusterView> clusters, const PlacedCounts* placed, WallTime now)
      : config_(config), settings_(settings), room_(clusters), placed_(placed), now_(now) {}

  /// Where a job for which MayBeMoved is true should run instead; nullopt: it is well where it is,
  /// or a move would bring less than `gain` points.
  std::optional<BetterMember> Find(const JobRecord& job, std::int64_t gain) const;

 private:
  const ConfigView& config_;
  const AdmissionSettings& settings_;
  const MemberRoom room_;
  const PlacedCounts* placed_;
  const WallTime now_;
};

/// True if moving the job of `a` brings more: an earlier group first, then more points.
bool BringsMore(const BetterMember& a, const BetterMember& b);

}  // namespace muster::core
