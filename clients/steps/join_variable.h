// How srun and sattach ask the daemon which job is meant by the number of another job than their
// own: by muster-slurm, which becomes them again.
#pragma once

namespace muster::steps {

/// "srun 7" in this variable on the way there, and "srun 7 UID-ATTEMPT" on the way back.
inline constexpr char kJoinVariable[] = "MUSTER_JOIN";

}  // namespace muster::steps
