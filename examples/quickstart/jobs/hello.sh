#!/bin/sh
#SBATCH --job-name=hello
#SBATCH --cpus-per-task=1
#SBATCH --mem=128M
#SBATCH --time=5
#SBATCH --output=/dev/null
echo "hello from job $SLURM_JOB_ID in partition $SLURM_JOB_PARTITION"
sleep 1
echo "bye"
