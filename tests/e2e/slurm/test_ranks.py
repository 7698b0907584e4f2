"""Ranks over two nodes find one another: by the host name that scontrol gives, and through PMI."""
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

import slurm_site

CLIENTS = f"{slurm_site.HERE}/clients"


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
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
        words = ["sbatch", "-W", "-o", f"{self.work}/out", "-N2", "--ntasks-per-node=2"]
        done = subprocess.run(words, input="#!/bin/bash\nset -e\n" + body, env=self.environment, cwd=self.work, capture_output=True, text=True, timeout=120)
        with open(f"{self.work}/out", encoding="utf-8") as file:
            out = file.read()
        self.assertEqual(done.returncode, 0, out + done.stderr)
        return out

    def test_the_master_is_found_by_its_host_name(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        out = self.run_job(f"""
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT={port}
srun python3 {CLIENTS}/rendezvous.py
""")
        self.assertEqual(out, "sum 6 of 4\n")

    def test_pmi(self):
        out = self.run_job(f"srun --mpi=pmi2 python3 {CLIENTS}/pmi_hello.py\n")
        self.assertEqual(sorted(out.splitlines()), [f"{rank} 4 of-0 of-1 of-4 of-9" for rank in range(4)])


if __name__ == "__main__":
    unittest.main()
