"""Clients and validators that nobody here wrote: Kubernetes' official Python client against the daemon, an OpenAPI validator
against the document that it serves, and the commands where they say the same."""
import json
import os
import subprocess
import tempfile
import unittest

from muster_server import PATIENCE, QUEUES, SOURCE, Server, shell_job

OBJECTS = """
apiVersion: v1
kind: LimitRange
metadata: {name: bounds, namespace: default}
spec: {limits: [{type: Container, max: {cpu: 64}, defaultRequest: {memory: 65536Ki}}]}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: heavy}
handler: runc
overhead: {podFixed: {cpu: 0.25}}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: default}
stringData: {a: b}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: research}
spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: standard, resources: [{name: cpu, nominalQuota: 4}]}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: closed}
spec:
  cohort: research
  stopPolicy: Hold
  fairSharing: {weight: 0.5}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors: [{name: standard, resources: [{name: cpu, nominalQuota: 8, borrowingLimit: 1.5},
      {name: memory, nominalQuota: 8589934592}, {name: nvidia.com/gpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: closed, namespace: default}
spec: {clusterQueue: closed}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: high}
value: 10
"""
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "debian:12", "command": ["true"], "resources": {
    "requests": {"cpu": 1, "memory": "1024Mi", "nvidia.com/gpu": 2}, "limits": {"nvidia.com/gpu": 2}}}]}
CLOSED = {"kueue.x-k8s.io/queue-name": "closed"}
JOBS = [
    {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "numbers", "labels": CLOSED},
     "spec": {"suspend": True, "template": {"spec": POD}}},
    {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "numbers", "labels": CLOSED},
     "spec": {"suspend": True, "replicatedJobs": [{"name": "a", "replicas": 1, "template": {"spec": {"template": {"spec": POD}}}}]}},
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "bare", "namespace": "default"},
     "spec": {"queueName": "closed", "podSets": [{"name": "main", "count": 1, "template": {"spec": POD}}]}},
]


class KubeClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = subprocess.run([f"{SOURCE}/scripts/python_clients.sh"], check=True, capture_output=True, text=True).stdout.strip()
        cls.server = Server(["--local-cluster", "east,cpu=32,memory=128Gi,nvidia.com/gpu=16"]).start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        cls.server.run("muster", "apply", "-f", "-", stdin=OBJECTS)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def foreign(self, *words):
        return subprocess.run([self.python, *words], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=os.path.dirname(os.path.abspath(__file__)))

    def test_the_document_that_is_served_is_openapi(self):
        status, text = self.server.get("/openapi.yaml")
        self.assertEqual(status, 200)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            judged = self.foreign("-m", "openapi_spec_validator", file.name)
        self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)

    def test_the_official_client_lists_and_reads_every_kind(self):
        for job in JOBS:
            status, answer = self.server.call("POST", "/v1/namespaces/default/jobs", job)
            self.assertEqual(status, 201, answer)
        for i in range(5):
            self.server.call("POST", "/api/v1/namespaces/default/configmaps", {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"page-{i}", "labels": {"page": "yes"}}, "data": {"a": "b"}})
        for letter in "abc":
            job = shell_job(f"job-{letter}", "true")
            job["metadata"]["labels"] = {**CLOSED, "page": letter}
            self.assertEqual(self.server.call("POST", "/apis/batch/v1/namespaces/default/jobs", job)[0], 201)
        used = self.foreign("kube_client.py", self.server.url())
        self.assertEqual((used.returncode, used.stdout), (0, "ok\n"), used.stdout + used.stderr)

    def test_commands_print_the_warnings(self):
        job = shell_job("misspelt-too", "true")
        job["spec"]["template"]["spec"]["containers"][0]["comand"] = ["x"]
        for words in (["apply", "-f", "-"], ["submit", "-"]):
            done = self.server.run("muster", *words, stdin=json.dumps(job), check=False)
            self.assertEqual((done.returncode, done.stderr), (
                0, 'Warning: unknown field "spec.template.spec.containers[0].comand"\n'), done)
            job["metadata"]["name"] = "misspelt-three"
        cycle = "---\n".join(f"apiVersion: kueue.x-k8s.io/v1beta1\nkind: Cohort\nmetadata: {{name: {name}}}\nspec: {{parent: {parent}}}\n"
                             for name, parent in (("loop-a", "loop-b"), ("loop-b", "loop-a")))
        done = self.server.run("muster", "apply", "-f", "-", stdin=cycle, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn('Warning: Cohort "loop-a": its cohorts form a cycle (loop-a -> loop-b -> loop-a)', done.stderr)

    def test_credentials_that_nobody_can_check_are_refused(self):
        done = self.server.run("muster", "get", "jobs", check=False, env={"MUSTER_TOKEN": "nonsense"})
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("does not know this kind of credentials", done.stderr)
        squeue = self.server.run("squeue", check=False, env={"MUSTER_TOKEN": "nonsense"})
        self.assertEqual((squeue.returncode, squeue.stdout), (1, ""), squeue)

    def test_what_no_member_can_hold_is_refused_of_scripts_and_said_of_manifests(self):
        for words in (["--mem=999G"], ["-c", "33"], ["--gres=gpu:17"]):
            # Slurm's words, and with -v those of the server.
            done = self.server.run("sbatch", "-v", *words, "--wrap", "true", check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertIn("Requested node configuration is not available", done.stderr)
            self.assertIn("the nearest is east", done.stderr)
        large = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("large", "true", requests={"cpu": "33"}))[1]
        self.assertIn("no member cluster can ever hold it as they are: the nearest is east, which has 32 of the 33 cpu that it needs",
                      self.server.run("muster", "explain", str(large["id"])))
        self.server.call("DELETE", f"/v1/jobs/{large['id']}")


if __name__ == "__main__":
    unittest.main()
