"""Two sites with the same nodes, partitions, accounts and QOS: a musterd of a test's own, and the real Slurm of scripts/slurm-golden.sh."""
import os
import pwd
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.setdefault("MUSTER_SOURCE", os.path.abspath(f"{HERE}/../../.."))
BIN = os.environ.setdefault("MUSTER_BIN", f"{SOURCE}/build/bin")
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))

from muster_server import Server  # noqa: E402

USER = pwd.getpwuid(os.getuid()).pw_name
# Variables of a caller's own Slurm or Muster must not reach the commands.
FOREIGN = ("SLURM_", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SCONTROL_", "MUSTER_T")
# As scripts/slurm-golden.sh: two nodes of 8 CPUs, 16000 MB and 4 GPUs. Each is a member, and so a cluster of its own.
NODES = ("n1", "n2")
LABELS = {"n1": ",label:fast=true", "n2": ""}
FLAGS = [word for node in NODES for word in ("--local-cluster", f"{node},cpu=8,memory=16000Mi,nvidia.com/gpu=4,label:x86=true,label:muster.io/gpu-type=a100"
                                            + LABELS[node])]


def cluster_queue(name, requeue_wait=""):
    """requeue_wait: of a requeued job; Slurm's two minutes unless given."""
    waits = f', annotations: {{muster.io/requeue-wait: "{requeue_wait}"}}' if requeue_wait else ""
    return f"""
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: {name}{waits}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: ["cpu", "memory", "nvidia.com/gpu", "license/matlab"]
    flavors:
    - name: standard
      resources:
      - {{name: cpu, nominalQuota: 16}}
      - {{name: memory, nominalQuota: 32000Mi}}
      - {{name: nvidia.com/gpu, nominalQuota: 8}}
      - {{name: license/matlab, nominalQuota: 4}}
"""


def priority_class(name, value):
    return f"""
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {{name: {name}}}
value: {value}
description: {name}
"""


def queues(requeue_wait=""):
    return "---".join([
    "\napiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: standard}\nspec: {}\n",
    cluster_queue("proj", requeue_wait), cluster_queue("other"), priority_class("normal", 0), priority_class("high", 100), priority_class("tight", 0),
    """
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  name: main
  namespace: default
  annotations: {muster.io/partition-default: "true", muster.io/partition-default-time: "60", muster.io/partition-default-memory-per-cpu: "500"}
spec: {clusterQueue: proj}
""", """
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  name: short
  namespace: default
  annotations: {muster.io/partition-max-time: "10", muster.io/partition-default-time: "5", muster.io/partition-max-nodes: "1", muster.io/partition-default-memory-per-cpu: "500"}
spec: {clusterQueue: proj}
"""])


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


class Muster(Server):
    """A musterd with the members n1 and n2, the partitions main (default) and short, the accounts proj and other, the QOS normal, high, tight."""

    def __init__(self, flags=None, requeue_wait=""):
        super().__init__(flags or FLAGS)
        self.queues = queues(requeue_wait)

    def environment(self):
        clean = clean_environment()
        return dict(clean, MUSTER_URL=self.url(), HOME=self.dir, MUSTER_GRPC=f"127.0.0.1:{self.grpc_port}", USER=USER, LOGNAME=USER,
                    CLUSTER=NODES[0], PATH=f"{BIN}/slurm:{BIN}:{clean['PATH']}", PYTHONDONTWRITEBYTECODE="1")

    def start(self):
        super().start()
        self.run(f"{BIN}/muster", "apply", "-f", "-", stdin=self.queues)
        return self

    def burn(self, count):
        """Uses up so many ids, so that an id is not taken for a count."""
        for _ in range(count):
            status, job = self.call("POST", "/v1/namespaces/default/jobs",
                                    {"script": "#!/bin/sh\ntrue\n", "name": "burnt", "queue": "main", "hold": True, "workDir": "/tmp"})
            assert status < 300, job
        for job in self.jobs("&name=burnt"):
            if job["state"] == "Held":
                self.call("DELETE", f"/v1/jobs/{job['id']}")


class Golden:
    """The Slurm of scripts/slurm-golden.sh in the folder `place`."""

    def __init__(self, place):
        self.place = place
        self.script = f"{SOURCE}/scripts/slurm-golden.sh"

    def start(self):
        subprocess.run([self.script, "start", self.place], check=True, stdin=subprocess.DEVNULL)
        return self

    def stop(self):
        subprocess.run([self.script, "stop", self.place], check=True)

    def environment(self):
        told = subprocess.run([self.script, "env", self.place], check=True, capture_output=True, text=True).stdout
        environment = dict(clean_environment(), USER=USER, LOGNAME=USER, CLUSTER="golden", PYTHONDONTWRITEBYTECODE="1")
        environment["PATH"] = ":".join(part for part in environment["PATH"].split(":") if not part.startswith(BIN))
        for line in told.splitlines():
            words = shlex.split(line)
            if words[0] == "export":
                name, value = words[1].split("=", 1)
                environment[name] = value
        return environment
