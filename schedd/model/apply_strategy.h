// How a placement's configuration objects reach its members: rollout and apply strategy
// (rules P21, P25). Plain values.
#pragma once

#include <cstdint>

namespace muster {

/// A number of members, or a percentage of them, rounded up.
struct CountOrPercent {
  std::int32_t value = 0;
  bool percent = false;
  bool operator==(const CountOrPercent&) const = default;
};
/// The number that `part` is of `all` members.
inline std::int64_t CountOf(CountOrPercent part, std::int64_t all) {
  return part.percent ? (all * part.value + 99) / 100 : part.value;
}

struct RollingUpdate {
  CountOrPercent max_unavailable{25, true}, max_surge{25, true};
  /// An object whose kind cannot tell whether it is available counts as available after this long.
  std::int64_t unavailable_period_s = 60;
  bool operator==(const RollingUpdate&) const = default;
};

enum class ApplyType : std::uint8_t { kClientSide, kServerSide, kReportDiff };
/// Whether an object that existed before is taken over.
enum class TakeOver : std::uint8_t { kAlways, kIfNoDiff, kNever };

struct ApplyStrategy {
  ApplyType type = ApplyType::kClientSide;
  bool if_not_drifted = false;      // whenToApply; false: Always
  bool full_comparison = false;     // comparisonOption; false: only fields that the manifest has
  bool allow_co_ownership = false;  // others may own it too
  bool force_conflicts = false;     // serverSideApplyConfig.force
  TakeOver take_over = TakeOver::kAlways;
  bool operator==(const ApplyStrategy&) const = default;
};

}  // namespace muster
