// Preemption under fair sharing (KEP-1714, rule A41): victims from the queues that borrow the
// largest share, as long as that brings the shares closer together.
#pragma once

#include <vector>

#include "schedd/core/preempt/victim_room.h"

namespace muster::core {

/// The victims; empty if no victims make enough room. Restores `room` before it returns.
std::vector<Victim> FairVictims(const VictimQuery& query, VictimRoom* room);

}  // namespace muster::core
