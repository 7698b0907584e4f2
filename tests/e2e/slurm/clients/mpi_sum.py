"""One rank of an MPI program: a sum over all, and on which node each of them is."""
import os
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
nodes = sorted(world.allgather(os.environ["SLURM_NODEID"]))
sys.stdout.write(f"{world.Get_rank()} of {world.Get_size()} sum {world.allreduce(world.Get_rank())} from {','.join(nodes)}\n")
