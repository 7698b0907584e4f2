"""Ranks over two nodes find one another: by the host name that scontrol gives, through PMI, and by what MPI's own launchers and torchrun make of both."""
import os
import shutil
import subprocess
import tempfile
import unittest

import slurm_site
from ports import free_port

CLIENTS = f"{slurm_site.HERE}/clients"
# Nothing listens beyond this machine.
LOOPBACK = "FI_TCP_IFACE=lo OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo"
SUMS = [f"{rank} of 4 sum 6 from 0,0,1,1" for rank in range(4)]


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = subprocess.run([f"{slurm_site.SOURCE}/scripts/python_clients.sh", "mpi"], check=True, capture_output=True, text=True).stdout.strip()
        cls.work = tempfile.mkdtemp(prefix="muster-ranks-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        os.chmod(cls.work, 0o755)
        if os.environ.get("MUSTER_SLURM_LIVE") == "1":
            cls.environment = slurm_site.Golden(os.environ["MUSTER_SLURM_DIR"]).start().environment()
        else:
            muster = slurm_site.Muster()
            cls.addClassCleanup(muster.close)
            cls.environment = muster.start().environment()

    def run_job(self, body):
        """The output of a job of four ranks on two nodes, which ended well."""
        words = ["sbatch", "-W", "-o", f"{self.work}/out", "-N2", "--ntasks-per-node=2", "--mem=2G"]
        done = subprocess.run(words, input="#!/bin/bash\nset -e\n" + body, env=self.environment, cwd=self.work, capture_output=True, text=True, timeout=120)
        with open(f"{self.work}/out", encoding="utf-8") as file:
            out = file.read()
        self.assertEqual(done.returncode, 0, out + done.stderr)
        return out

    def test_the_master_is_found_by_its_host_name(self):
        out = self.run_job(f"""
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT={free_port()}
srun python3 {CLIENTS}/rendezvous.py
""")
        self.assertEqual(out, "sum 6 of 4\n")

    def test_pmi(self):
        out = self.run_job(f"srun --mpi=pmi2 python3 {CLIENTS}/pmi_hello.py\n")
        self.assertEqual(sorted(out.splitlines()), [f"{rank} 4 of-0 of-1 of-4 of-9" for rank in range(4)])

    # mpi4py on MPICH: the library finds its peers through srun's PMI, and the ranks talk over their hosts' addresses.
    def test_mpi4py_started_by_srun(self):
        library = os.path.join(os.path.dirname(os.path.dirname(self.python)), "lib")
        out = self.run_job(f"export LD_LIBRARY_PATH={library} {LOOPBACK}\nsrun --mpi=pmi2 {self.python} {CLIENTS}/mpi_sum.py\n")
        self.assertEqual(sorted(out.splitlines()), SUMS)

    # MPICH's mpiexec starts its proxies by srun, one a node.
    def test_mpi4py_started_by_mpiexec(self):
        place = os.path.dirname(os.path.dirname(self.python))
        out = self.run_job(f"export LD_LIBRARY_PATH={place}/lib {LOOPBACK}\n{place}/bin/mpiexec.hydra -prepend-rank {self.python} {CLIENTS}/mpi_sum.py\n")
        self.assertEqual(sorted(line.partition("] ")[2] for line in out.splitlines()), SUMS)

    # Open MPI's mpirun starts its daemons by srun, one a node. Both nodes are this machine, so shared memory is left out.
    def test_mpi4py_started_by_mpirun(self):
        out = self.run_job(f"export {LOOPBACK}\nmpirun.openmpi --allow-run-as-root --mca btl tcp,self /usr/bin/python3 {CLIENTS}/mpi_sum.py\n")
        # mpirun gives every rank the variables of its own node.
        self.assertEqual(sorted(line.partition(" from ")[0] for line in out.splitlines()), [line.partition(" from ")[0] for line in SUMS])

    # The line of every recipe for PyTorch on Slurm. Debian's torchrun and Python 3.11 agree on no default of --redirects and --tee.
    def test_torchrun(self):
        out = self.run_job(f"""
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes="$SLURM_NNODES" --nproc_per_node=2 --rdzv_id="$SLURM_JOB_ID" --rdzv_backend=c10d \\
  --rdzv_endpoint="$MASTER_ADDR:{free_port()}" --redirects=1 --tee=1 --log_dir={self.work}/torch {CLIENTS}/torch_sum.py
""")
        ranks = sorted(line.partition("]:")[2] for line in out.splitlines() if line.startswith("[default"))
        self.assertEqual([line.partition(" from ")[0] for line in ranks], [f"{rank} of 4 sum 6" for rank in range(4)], out)
        self.assertEqual(sorted(line.partition(" from ")[2] for line in ranks), ["0", "0", "1", "1"], out)


if __name__ == "__main__":
    unittest.main()
