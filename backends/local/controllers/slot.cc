#include "backends/local/controllers/slot.h"

#include <algorithm>

namespace muster::local {
namespace {

constexpr std::int64_t kLongestUs = 300 * kMicrosPerSecond;

}  // namespace

Slot FindSlot(const ControllerInput& input, const std::string& owner, std::int32_t epoch,
              std::int32_t index) {
  Slot slot;
  for (const PodRecord* pod : PodsOf(*input.pods, owner, epoch)) {
    if (pod->identity.index != index) continue;
    slot.last = pod;
    if (pod->live()) slot.live = pod;
    ++slot.pods;
    slot.failures += pod->phase == PodPhase::kFailed && !pod->stopping;
    slot.ends += !pod->live() && !pod->stopping;
    slot.restarts += pod->restarts;
  }
  return slot;
}

bool MayFill(const ControllerInput& input, const Slot& slot, WallTime* wake_at) {
  if (slot.live != nullptr) return false;
  if (slot.ends == 0) return true;
  const WallTime due =
      slot.last->ended.Plus(BackoffUs(input.backoff_us, slot.ends - 1, kLongestUs));
  if (input.now >= due) return true;
  *wake_at = Earlier(*wake_at, due);
  return false;
}

}  // namespace muster::local
