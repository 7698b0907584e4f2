#include "tests/sim/faults.h"

#include <string>

namespace muster::sim {
namespace {

Stage* current_stage = nullptr;
std::string planted_bug;
bool points_dropped = false;

}  // namespace

void SetStage(Stage* stage) { current_stage = stage; }
void SetPlanted(const char* bug) { planted_bug = bug; }
void DropFaultPoints() { points_dropped = true; }

// Called by the product where it is compiled for the simulation (schedd/base/fault_points.h).
void ReachFaultPoint(const char* name);
bool IsPlanted(const char* bug);

void ReachFaultPoint(const char* name) {
  if (current_stage != nullptr && !points_dropped) current_stage->Effect(name);
}

bool IsPlanted(const char* bug) { return planted_bug == bug; }

}  // namespace muster::sim
