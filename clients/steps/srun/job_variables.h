// Variables of the own job that a caller has taken out of the environment.
#pragma once

namespace muster::steps {

/// If this process knows the number of its job but not the job's nodes, their variables are set
/// anew, by those of the nearest process above this one that has them: a tool may start srun with
/// SLURM_JOB_ID alone (Snakemake does), and Slurm's srun asks its controller for the rest.
void RestoreJobVariables();

}  // namespace muster::steps
