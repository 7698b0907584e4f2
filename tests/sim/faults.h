// Which stage the fault points of the product belong to, and which bug is planted in this run. One
// process runs one world at a time.
#pragma once

#include "tests/sim/stage.h"

namespace muster::sim {

/// Fault points end daemons of this stage; null: they do nothing.
void SetStage(Stage* stage);
/// The bug of this run; "": none.
void SetPlanted(const char* bug);
/// From now on fault points in the product's code do nothing, as in a build without them.
void DropFaultPoints();

}  // namespace muster::sim
