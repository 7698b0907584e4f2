// Slot: a place that one pod at a time fills: the head of a Ray cluster, worker 3 of a PyTorchJob,
// member 1 of a group. Pure.
#pragma once

#include <string>
#include <vector>

#include "backends/local/controllers/controller.h"

namespace muster::local {

struct Slot {
  const PodRecord* live = nullptr;  // the pod that fills it now
  const PodRecord* last = nullptr;  // the newest pod that it had
  std::int32_t pods = 0;            // all pods that it had
  std::int32_t failures = 0;        // those that failed by themselves
  std::int32_t ends = 0;            // those that ended by themselves, whichever way
  std::int32_t restarts = 0;        // restarts of their containers in place

  bool running() const { return live != nullptr && live->phase == PodPhase::kRunning; }
  bool succeeded() const {
    return live == nullptr && last != nullptr && last->phase == PodPhase::kSucceeded;
  }
};

Slot FindSlot(const ControllerInput& input, const std::string& owner, std::int32_t epoch,
              std::int32_t index);

/// True if the slot is empty and a pod may be started in it now. If it waits only for its back-off
/// (doubled per end of a pod, also a success, at most 5 minutes, as the kubelet's), `wake_at` is
/// set to the end of that.
bool MayFill(const ControllerInput& input, const Slot& slot, WallTime* wake_at);

}  // namespace muster::local
