// Fault points and planted bugs, for the deterministic simulation (tests/sim) alone.
//
// In every build but the simulation's own both macros are nothing: no call, no text and no branch
// is left in the binary, which tests/sim checks. The simulation compiles the rooms under test a
// second time with MUSTER_SIM_FAULTS and brings the two functions.
#pragma once

#ifdef MUSTER_SIM_FAULTS

namespace muster::sim {

/// The simulation may end the daemon here, by an exception that only it catches.
void ReachFaultPoint(const char* name);
/// True if this run has the bug planted.
bool IsPlanted(const char* bug);

}  // namespace muster::sim

/// A place where the daemon may die: between two effects that others can see.
#define MUSTER_FAULT_POINT(name) ::muster::sim::ReachFaultPoint(#name)
/// True if the run has this bug: the code then breaks the one rule that the name says.
#define MUSTER_PLANTED(bug) ::muster::sim::IsPlanted(#bug)

#else

#define MUSTER_FAULT_POINT(name) static_cast<void>(0)
#define MUSTER_PLANTED(bug) false

#endif
