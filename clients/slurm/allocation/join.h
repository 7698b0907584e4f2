// `srun --jobid=N` and `sattach N.STEP` from outside of job N (rule B46).
#pragma once

#include <string>

namespace muster::slurm {

/// `wish`: "srun 7" or "sattach 7". Asks the server for the job and becomes muster-srun with what
/// tells it from other daemons' jobs of that number; else prints Slurm's sentence and gives the
/// exit status. A job that is suspended or on its way to its nodes is waited for.
int JoinJob(const std::string& wish, char** argv);

}  // namespace muster::slurm
