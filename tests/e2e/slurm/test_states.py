"""The rarer states of Slurm, each with a cause of docs/rules/slurm-model.md: squeue and sacct tell them alike."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import slurm_site

PREEMPTING = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: narrow}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: ["cpu", "memory"]
    flavors:
    - {name: standard, resources: [{name: cpu, nominalQuota: 1}, {name: memory, nominalQuota: 8000Mi}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: narrow, namespace: default}
spec: {clusterQueue: narrow}
"""


def supervisor_of(muster, job):
    """The pid of the process that keeps this job's pod, and the directory of its attempt."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as comm, open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as line:
                words = line.read()
                if comm.read().startswith("muster-pod-supe") and muster.dir in words and f"/job-{job}-" in words:
                    return int(pid), os.path.dirname(os.path.dirname(words.split("\0")[1]))
        except OSError:
            pass
    return None


class States(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.muster = slurm_site.Muster()
        cls.addClassCleanup(cls.muster.close)
        cls.muster.start()
        cls.muster.run(f"{slurm_site.BIN}/muster", "apply", "-f", "-", stdin=PREEMPTING)

    def command(self, *words, text=None):
        done = subprocess.run(words, input=text, env=self.muster.environment(), cwd="/tmp", capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def submit(self, *options, body="sleep 300"):
        return self.command("sbatch", "--parsable", "-o", "/dev/null", *options, text=f"#!/bin/bash\n{body}\n")

    def becomes(self, job, state):
        self.muster.wait(lambda: self.command("squeue", "-h", "-t", "all", "-j", job, "-o", "%T") == state, what=f"{job} is {state}")

    def ends(self, job, state):
        self.becomes(job, state)
        self.assertEqual(self.accounted(job), state)

    def accounted(self, job):
        return self.command("sacct", "-n", "-X", "-P", "-j", job, "-o", "state")

    def test_preempted(self):
        low = self.submit("-p", "narrow", "--no-requeue")
        self.becomes(low, "RUNNING")
        high = self.submit("-p", "narrow", "-q", "high", body="true")
        self.ends(low, "PREEMPTED")
        self.ends(high, "COMPLETED")

    def test_deadline(self):
        waits = self.submit("-H", "--deadline=now+3seconds", "--time-min=1", "-t", "1")
        self.ends(waits, "DEADLINE")

    def test_completing_and_suspended(self):
        job = self.submit(body="trap '' TERM\nsleep 60 & wait; wait")
        self.becomes(job, "RUNNING")
        self.command("scontrol", "suspend", job)
        self.becomes(job, "SUSPENDED")
        self.command("scontrol", "resume", job)
        self.becomes(job, "RUNNING")
        self.command("scancel", job)
        self.becomes(job, "COMPLETING")
        # Accounting has no such state, and submitit takes one that it does not know for an end.
        self.assertEqual(self.accounted(job), "RUNNING")

    def test_the_steps_of_a_stopped_job_are_cancelled(self):
        """Also those over two nodes, whichever of them ends first; the job does not wait for its grace period."""
        with tempfile.TemporaryDirectory(prefix="muster-states-", dir="/tmp") as place:
            jobs = [self.submit(f"-N{nodes}", f"-n{nodes}", "-t5", "-o", f"{place}/%j", body="srun sleep 300") for nodes in (1, 2, 2)]
            again = jobs[0]
            for job in jobs:
                self.muster.wait(lambda job=job: "RUNNING" in self.command("sacct", "-nP", "-j", f"{job}.0", "-o", "State"), what=f"step {job}.0 runs")
            self.command("scontrol", "requeue", again)
            self.command("scancel", *jobs[1:])
            for job in jobs:
                self.becomes(job, "PENDING" if job == again else "CANCELLED")
                self.assertIn(f"{job}.0|CANCELLED|0:15", self.command("sacct", "-D", "-nP", "-j", job, "-o", "JobID,State,ExitCode"))
                with open(f"{place}/{job}", encoding="utf-8") as file:
                    said = file.read()
                self.assertRegex(said, rf"\*\*\* STEP {job}.0 ON \S+ CANCELLED AT \S+{' DUE TO JOB REQUEUE' if job == again else ''} \*\*\*")
                self.assertNotIn("Node failure", said)
            self.command("scancel", again)
        # One that the end of its script leaves behind has no agent any more that tells of it.
        left = self.submit("-t5", body="srun sleep 300 & sleep 3; exit 0")
        self.becomes(left, "COMPLETED")
        self.assertEqual(self.command("sacct", "-nP", "-j", f"{left}.0", "-o", "State,ExitCode"), "CANCELLED|0:15")

    def test_node_fail(self):
        """What the member kept of the job is gone: the job's pods are lost."""
        job = self.submit("--no-requeue")
        self.becomes(job, "RUNNING")
        pid, place = self.muster.wait(lambda: supervisor_of(self.muster, job), what="the supervisor of the job")
        self.muster.kill()
        # The pod's own process is a child of the supervisor.
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
            processes = [pid] + [int(child) for child in children.read().split()]
        for one in processes:
            os.kill(one, signal.SIGKILL)
        shutil.rmtree(place)
        self.muster.start()
        self.ends(job, "NODE_FAIL")


if __name__ == "__main__":
    unittest.main()
