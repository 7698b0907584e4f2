// Keeps what a process knows from the other processes of its user, and from the disk.
#pragma once

namespace muster {

/// Makes the process one that is not "dumpable" (prctl(2)): no other process without privileges, of
/// the same user neither, may trace it or read its memory, environment or descriptors by /proc, and
/// it leaves no core file. For programs that hold keys and tokens; call it first. Programs that it
/// starts are as usual again. What the system refuses, changes nothing.
void KeepMemoryPrivate();

}  // namespace muster
