// Rebalancing: whether a running job would be better off on another member (rule P17: what is
// placed is never moved; this is the opt-in). Pure; not thread-safe.
//
// The member is chosen anew as if the job ran nowhere, with what it holds given back. A move is
// worth it if the choice is another member, in an earlier cluster group, or in the same group and
// with at least `gain` points more than the present member has in the same comparison. Both scores
// are those of a fleet without the job, so the comparison gives the same result from the new
// member: no job moves to and fro while nothing else changes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "schedd/core/member/member_room.h"

namespace muster::core {

/// The member that a job should move to.
struct BetterMember {
  std::string cluster;
  bool earlier_group = false;
  std::int64_t points = 0;  // the difference of the scores, affinity and spread together
  std::string message;      // both members with their groups or scores
};

/// True if the job runs and may be moved, and its placement can prefer one member over another: it
/// may be requeued, its annotation muster.io/checkpointable is true, nothing names its member, and
/// neither a member's own queue nor topology aware scheduling chose its machines.
bool MayBeMoved(const ConfigView& config, const JobRecord& job);

class Rebalancer {
 public:
  /// `config`, `clusters` and `placed` (null: no counts) must outlive it.
  Rebalancer(const ConfigView& config, const AdmissionSettings& settings,
             std::span<const ClusterView> clusters, const PlacedCounts* placed, WallTime now)
      : config_(config), settings_(settings), room_(clusters), placed_(placed), now_(now) {}

  /// The member to move to, for a job for which MayBeMoved is true; nullopt: no member is better by
  /// at least `gain` points.
  std::optional<BetterMember> Find(const JobRecord& job, std::int64_t gain) const;

 private:
  const ConfigView& config_;
  const AdmissionSettings& settings_;
  const MemberRoom room_;
  const PlacedCounts* placed_;
  const WallTime now_;
};

/// True if moving the job of `a` brings more than that of `b`: an earlier group first, then more
/// points.
bool BringsMore(const BetterMember& a, const BetterMember& b);

}  // namespace muster::core
