"""What the pods of batch scripts do on a Kubernetes member: the manifests that would be sent there (GET /v1/jobs/ID/manifest) are run here by pod_process, with
the host names that their Services give. test_kube has the same with a real API server."""
import copy
import os
import shutil
import sys
import tempfile
import unittest

import slurm_site
from pod_process import PodProcess, terminate

sys.path.insert(0, os.path.join(slurm_site.HERE, "..", "daemon"))
from muster_server import Server, queues  # noqa: E402

REFUSED = "srun: error: the nodes of job {0} share no steps directory: a step can use this one alone (-N1)\n"
HOSTS = 'for host in $(scontrol show hostnames {0}); do getent hosts $host >/dev/null && echo "$host resolves" || echo "$host is unknown"; done\n'
TOOLS = "PATH=/opt/muster/slurm:$PATH\n"  # as muster.io/tools-image adds it


@unittest.skipUnless(os.geteuid() == 0, "only root makes namespaces")
class Pods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--simulated-cluster", "east,cpu=64,memory=64Gi,run-time-ms=600000"])
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.server.run("muster", "apply", "-f", "-", stdin=queues(image="debian:12"))
        cls.place = tempfile.mkdtemp(prefix="muster-pods-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.folders = {name: f"{cls.place}/{name}" for name in ("home", "tools", "image")}
        for folder in cls.folders.values():
            os.makedirs(folder)
        shutil.copytree(f"{slurm_site.BIN}/slurm", f"{cls.folders['tools']}/slurm", symlinks=True)
        shutil.copy2(f"{slurm_site.BIN}/muster-step-agent", cls.folders["tools"])

    def submit(self, script, *options):
        """(the job's view, what is sent to its member)"""
        job = self.server.run("sbatch", "--parsable", "--export=NIL", "-D", "/home/shared", *options, stdin="#!/bin/sh\n" + script).strip()
        self.server.wait_state(job, "Running")
        return self.server.job(job), self.server.get(f"/v1/jobs/{job}/manifest")[1]["sent"]

    def pods(self, sent):
        """As the Job controller makes them, with the tools and a common directory."""
        top = sent[0]["spec"]
        name = sent[0]["metadata"]["name"]
        jobs = [(name, top)] if "template" in top else [(f"{name}-{one['name']}-0", one["template"]["spec"]) for one in top["replicatedJobs"]]
        pods = []
        for job, spec in jobs:
            for index in range(spec["parallelism"]):
                pod = copy.deepcopy(spec["template"])
                pod["metadata"]["name"] = f"{job}-{index}"
                container = pod["spec"]["containers"][0]
                if spec.get("completionMode") == "Indexed":
                    pod["spec"]["hostname"] = f"{job}-{index}"
                    container["env"].append({"name": "JOB_COMPLETION_INDEX", "value": str(index)})
                for volume, path in (("home", "/home/shared"), ("tools", "/opt/muster")):
                    pod["spec"]["volumes"].append({"name": volume, "persistentVolumeClaim": {"claimName": volume}})
                    container["volumeMounts"].append({"name": volume, "mountPath": path})
                pods.append(pod)
        return pods

    def processes(self, sent):
        pods = self.pods(sent)
        maps = {one["metadata"]["name"]: one["data"] for one in sent if one["kind"] == "ConfigMap"}
        # A headless Service answers with the pods whose subdomain it is, by their host names.
        domain = pods[0]["spec"].get("subdomain")
        hosts = {f"{pod['spec']['hostname']}.{domain}.default.svc.cluster.local": f"127.0.1.{number}" for number, pod in enumerate(pods, 1)} if domain else {}
        return [PodProcess(pod, f"{self.place}/{pod['metadata']['name']}", self.folders["image"], self.folders, maps, hosts) for pod in pods]

    def test_two_nodes(self):
        job, sent = self.submit(TOOLS + "hostname\n" + HOSTS.format("") + "srun -N1 -n2 sh -c 'echo rank $SLURM_PROCID on $(hostname)' | sort\n"
                                "srun -n2 hostname; echo all $?\nsrun -N1 -n1 -w $(scontrol show hostnames | tail -1) hostname; echo another $?\necho left >left\n", "-N2", "-n4")
        name, refused = job["name"], REFUSED.format(job["id"])
        self.assertEqual([one["kind"] for one in sent], ["Job", "ConfigMap", "Service"])
        self.assertEqual((sent[2]["metadata"]["name"], sent[2]["spec"]["clusterIP"]), (name, "None"))
        first, second = self.processes(sent)
        with second.main() as other, first.main() as script:
            out = script.communicate(timeout=120)[0]
            self.assertIsNone(other.poll(), "the other node is kept while the script runs")
            self.assertEqual(terminate(other), 0)
        self.assertEqual(out, f"{name}-0\n{name}-0 resolves\n{name}-1 resolves\nrank 0 on {name}-0\nrank 1 on {name}-0\n{refused}all 1\n{refused}another 1\n")
        with open(f"{self.folders['home']}/left", encoding="utf-8") as file:
            self.assertEqual(file.read(), "left\n")

    def test_one_node(self):
        _, sent = self.submit(TOOLS + "hostname\nsrun sh -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS' | sort\necho \\$0 '$(X)'\n", "-n2")
        self.assertEqual([one["kind"] for one in sent], ["Job", "ConfigMap"])
        with self.processes(sent)[0].main() as script:
            self.assertEqual(script.communicate(timeout=60)[0], "east\nrank 0 of 2\nrank 1 of 2\n$0 $(X)\n")

    def test_components(self):
        job, sent = self.submit("#SBATCH -N2\n#SBATCH hetjob\n#SBATCH -n1\n" + TOOLS + HOSTS.format("$SLURM_JOB_NODELIST_HET_GROUP_0")
                                + HOSTS.format("$SLURM_JOB_NODELIST_HET_GROUP_1") + "srun --het-group=1 hostname; echo another $?\n")
        name, pods = job["name"], self.processes(sent)
        with pods[2].main() as component, pods[0].main() as script:
            out = script.communicate(timeout=60)[0]
            self.assertIsNone(component.poll())
            self.assertEqual(terminate(component), 0)
        self.assertEqual(out, f"{name}-main-0-0 resolves\n{name}-main-0-1 resolves\n{name}-component-1-0-0 resolves\n{REFUSED.format(job['id'])}another 1\n")


if __name__ == "__main__":
    unittest.main()
