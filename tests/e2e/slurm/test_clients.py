"""Published tools, unmodified, over our commands and a live daemon. A run passes only if every job of it ended in sacct as it should.

MUSTER_SLURM_LIVE=1 runs them over the real Slurm in MUSTER_SLURM_DIR instead."""
import collections
import os
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import slurm_site

CLIENTS = f"{slurm_site.HERE}/clients"
LIMIT = 420  # seconds for one tool
CANCELLED = "CANCELLED"
# What a published tool's jobs become: {program: {job name: [states]}}.
ENDS = {
    "use_submitit.py": {"si-add": ["COMPLETED"], "si-array": ["COMPLETED"] * 5, "si-fail": ["FAILED"], "si-cancel": [CANCELLED],
                        "si-limit": ["FAILED"], "si-checkpoint": ["COMPLETED"]},
    "use_hydra.py": {"use_hydra": ["COMPLETED"] * 3},
    "use_dask.py": {"dask": [CANCELLED, CANCELLED]},
    "use_simple_slurm.py": {"ss-limit": ["TIMEOUT"], "ss-first": ["COMPLETED"], "ss-second": ["COMPLETED"], "ss-fail": ["FAILED"],
                            "ss-after": ["COMPLETED"], "ss-array": ["COMPLETED"] * 3, "ss-cancel": [CANCELLED]},
    "use_clusterfutures.py": {"cf": ["COMPLETED"] * 4},
}


class Clients(unittest.TestCase):
    """The tools run side by side; each test waits for its own."""

    @classmethod
    def setUpClass(cls):
        cls.python = subprocess.run([f"{slurm_site.SOURCE}/scripts/python_clients.sh", "slurm"], check=True, capture_output=True, text=True).stdout.strip()
        cls.work = tempfile.mkdtemp(prefix="muster-clients-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        os.chmod(cls.work, 0o755)
        if os.environ.get("MUSTER_SLURM_LIVE") == "1":
            environment = slurm_site.Golden(os.environ["MUSTER_SLURM_DIR"]).start().environment()
        else:
            # Slurm keeps a requeued job back for two minutes.
            muster = slurm_site.Muster(requeue_wait="2s")
            cls.addClassCleanup(muster.close)
            environment = muster.start().environment()
        cls.environment = dict(environment, PATH=f"{os.path.dirname(cls.python)}:{environment['PATH']}", HYDRA_FULL_ERROR="1")
        cls.done = {}
        cls.threads = {}
        cls.since = time.strftime("%Y-%m-%dT%H:%M:%S")
        for program in ENDS:
            cls.threads[program] = threading.Thread(target=cls.run_program, args=(program,), daemon=True)
            cls.threads[program].start()

    @classmethod
    def run_program(cls, program):
        place = f"{cls.work}/{program}"
        os.makedirs(place)
        words = [cls.python, f"{CLIENTS}/{program}"]
        if program == "use_hydra.py":
            # submitit has USR2 sent 90 s before the limit; on a busy machine the tasks need more than 30 s to be ready for it.
            words += ["-m", "+x=1,2,3", f"+out={place}", "hydra/launcher=submitit_slurm", "hydra.launcher.partition=main", "hydra.launcher.timeout_min=10",
                      "hydra.launcher.mem_gb=1"]
        process = subprocess.Popen(words, cwd=place, env=cls.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True)
        try:
            out, _ = process.communicate(timeout=LIMIT)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, code = process.communicate()[0], "no end in time"
        cls.done[program] = (code, out)

    def sacct(self, names):
        out = subprocess.run(["sacct", "-n", "-X", "-P", "-S", self.since, "--name", ",".join(names), "-o", "JobName,State,JobID"], env=self.environment,
                             check=True, capture_output=True, text=True).stdout
        found = collections.defaultdict(list)
        for line in out.splitlines():
            name, state, _ = line.split("|")
            found[name].append(state.split()[0])
        return {name: sorted(states) for name, states in found.items()}

    def check(self, program, good=(0,)):
        self.threads[program].join(LIMIT + 20)
        code, out = self.done[program]
        self.assertIn(code, good, out[-4000:])
        want = {name: sorted(states) for name, states in ENDS[program].items()}
        deadline = time.monotonic() + 40  # sacct's records come late, and a cancelled job may take its time to die
        while self.sacct(want) != want and time.monotonic() < deadline:
            time.sleep(1)
        self.assertEqual(self.sacct(want), want, out[-4000:])

    def test_submitit(self):
        self.check("use_submitit.py")

    def test_hydra_with_the_submitit_launcher(self):
        # The sweep tells of its failed run by its exit status; the error travels in the result, and its job ends well.
        self.check("use_hydra.py", good=(1,))
        self.assertTrue(os.path.exists(f"{self.work}/use_hydra.py/x1") and os.path.exists(f"{self.work}/use_hydra.py/x2"))

    def test_dask_jobqueue(self):
        self.check("use_dask.py")

    def test_simple_slurm(self):
        self.check("use_simple_slurm.py")

    def test_clusterfutures(self):
        self.check("use_clusterfutures.py")


if __name__ == "__main__":
    unittest.main()
