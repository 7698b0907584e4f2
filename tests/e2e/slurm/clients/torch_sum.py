"""One worker of torchrun: a sum over all, and on which node it is."""
import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
sys.stdout.write(f"{dist.get_rank()} of {dist.get_world_size()} sum {total.item():.0f} from {os.environ['SLURM_NODEID']}\n")
dist.destroy_process_group()
