"""The views of queues, members and their kin: stories (stories_fleet.mjs) in a real browser against a fleet with a borrowing queue."""
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from muster_server import SOURCE, Server  # noqa: E402  pylint: disable=wrong-import-position

SPARE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: Cohort
metadata: {name: university}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: Cohort
metadata: {name: campus}
spec: {parent: university}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: spare}
spec:
  cohort: university
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu", "nvidia.com/gpu"]
    flavors:
    - name: standard
      resources:
      - {name: cpu, nominalQuota: 4}
      - {name: nvidia.com/gpu, nominalQuota: 4, lendingLimit: 2}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: closed}
spec:
  stopPolicy: Hold
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu", "memory", "nvidia.com/gpu"]
    flavors:
    - name: standard
      resources:
      - {name: cpu, nominalQuota: 4}
      - {name: memory, nominalQuota: 4Gi}
      - {name: nvidia.com/gpu, nominalQuota: 0}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: closed, namespace: speech}
spec: {clusterQueue: closed}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata: {name: to-west, namespace: vision}
spec:
  resourceSelectors: [{group: batch, version: v1, kind: Job, name: placed}]
  policy: {placementType: PickFixed, clusterNames: [west]}
"""

# Each in every text of a batch script that its owner writes.
FORMS = ["<script>__hit={0}</script>", "<img src=x onerror=__hit={0}>", "\"><svg onload=__hit={0}>", "'><iframe srcdoc='<script>parent.__hit={0}</script>'>",
         "javascript:__hit={0}//", "</title><script>__hit={0}</script>", "${{__hit={0}}}", "{{{{constructor.constructor('__hit={0}')()}}}}",
         "<a href=javascript:__hit={0}>", "<math><style></math><img src onerror=__hit={0}>"]
CLIENTS = 8  # that submit them
TEXTS = ("name", "comment", "wckey", "script", "output")


# Every text of a manifest that its owner writes: where a manifest has it. Each is refused, or shown as text.
def container(manifest):
    return manifest["spec"]["template"]["spec"]["containers"][0]


def pod(manifest):
    return manifest["spec"]["template"]["spec"]


FIELDS = {
    "name": lambda one, text: one["metadata"].update(name=text),
    "generateName": lambda one, text: (one["metadata"].pop("name"), one["metadata"].update(generateName=text)),
    "label": lambda one, text: one["metadata"]["labels"].update(note=text),
    "label's key": lambda one, text: one["metadata"]["labels"].update({text: "note"}),
    "annotation": lambda one, text: one["metadata"].update(annotations={"note": text}),
    "annotation's key": lambda one, text: one["metadata"].update(annotations={text: "note"}),
    "queue": lambda one, text: one["metadata"]["labels"].update({"kueue.x-k8s.io/queue-name": text}),
    "priority class of Kueue": lambda one, text: one["metadata"]["labels"].update({"kueue.x-k8s.io/priority-class": text}),
    "pod's annotation": lambda one, text: one["spec"]["template"].update(metadata={"annotations": {"note": text}}),
    "pod's label": lambda one, text: one["spec"]["template"].update(metadata={"labels": {"note": text}}),
    "container's name": lambda one, text: container(one).update(name=text),
    "image": lambda one, text: container(one).update(image=text),
    "command": lambda one, text: container(one).update(command=[text]),
    "argument": lambda one, text: container(one).update(args=[text]),
    "variable": lambda one, text: container(one).update(env=[{"name": "NOTE", "value": text}]),
    "variable's name": lambda one, text: container(one).update(env=[{"name": text, "value": "note"}]),
    "working directory": lambda one, text: container(one).update(workingDir=text),
    "termination message": lambda one, text: container(one).update(terminationMessagePath=text),
    "resource": lambda one, text: container(one)["resources"]["requests"].update({text: "1"}),
    "amount": lambda one, text: container(one)["resources"]["requests"].update(cpu=text),
    "node selector": lambda one, text: pod(one).update(nodeSelector={"note": text}),
    "toleration": lambda one, text: pod(one).update(tolerations=[{"key": "note", "operator": "Equal", "value": text, "effect": "NoSchedule"}]),
    "service account": lambda one, text: pod(one).update(serviceAccountName=text),
    "pod's priority class": lambda one, text: pod(one).update(priorityClassName=text),
    "host name": lambda one, text: pod(one).update(hostname=text),
    "scheduler": lambda one, text: pod(one).update(schedulerName=text),
    "volume": lambda one, text: pod(one).update(volumes=[{"name": text, "emptyDir": {}}]),
    "config map": lambda one, text: pod(one).update(volumes=[{"name": "v", "configMap": {"name": text}}]),
    "unknown field": lambda one, text: one["spec"].update({text: text}),
}


def job(name, namespace, gpus, command):
    limits = {"nvidia.com/gpu": "1"} if gpus else {}
    pods = max(1, gpus)
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "gpu"}},
            "spec": {"suspend": True, "backoffLimit": 0, "parallelism": pods, "completions": pods,
                     "template": {"spec": {"restartPolicy": "Never", "containers": [
                         {"name": "main", "image": "debian:12", "command": ["/bin/sh", "-c", command],
                          "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": limits}}]}}}}


class FleetPage(unittest.TestCase):
    accepted = []  # jobs with a hostile text in a field of their manifests

    @classmethod
    def setUpClass(cls):
        cls.web = subprocess.run([f"{SOURCE}/scripts/web_tools.sh"], check=True, capture_output=True, text=True).stdout.strip()
        cls.server = Server(["--local-cluster", "east,cpu=16,memory=64Gi,nvidia.com/gpu=32", "--local-cluster", "west,cpu=16,memory=64Gi,nvidia.com/gpu=16",
                             "--simulated-cluster", "sim,cpu=64,memory=256Gi,run-time-ms=1000"]).start()
        cls.addClassCleanup(cls.server.close)
        with open(f"{SOURCE}/examples/quickstart/queues.yaml", encoding="utf-8") as file:
            cls.apply(file.read())
        cls.apply(SPARE)
        cls.submit("vision", job("big-gang", "vision", 12, "sleep 3000"))
        cls.server.wait(lambda: cls.states().get("big-gang") == "Running", what="the gang that borrows runs")
        for one in (job("second-gang", "vision", 12, "sleep 3000"), job("third", "vision", 6, "sleep 3000"), job("placed", "vision", 0, "sleep 3000"),
                    job("short", "speech", 1, "sleep 1"), job("failing", "speech", 1, "exit 3")):
            cls.submit(one["metadata"]["namespace"], one)
        wanted = {"short": "Succeeded", "failing": "Failed", "placed": "Running"}
        cls.server.wait(lambda: all(cls.states().get(name) == state for name, state in wanted.items()), what="the jobs come to where the stories expect them")

    @classmethod
    def apply(cls, text):
        status, answer = cls.server.call("POST", "/v1/apply", text, "application/yaml")
        assert status == 200, answer

    @classmethod
    def submit(cls, namespace, body):
        status, answer = cls.server.call("POST", f"/v1/namespaces/{namespace}/jobs", body)
        assert status == 201, answer
        return answer

    @classmethod
    def states(cls):
        return {one["name"]: one["state"] for one in cls.server.jobs()}

    def story(self, only="", screens=""):
        status, token = self.server.call("POST", "/v1/tokens", {"user": "bob", "groups": [], "ttl": 900})
        self.assertEqual(status, 201, token)
        run = subprocess.run(["node", f"{SOURCE}/tests/e2e/web/stories_fleet.mjs", self.server.url()], capture_output=True, text=True, timeout=550, check=False,
                             env={**os.environ, "MUSTER_WEB": self.web, "BOBS_TOKEN": token["token"], "STORY": only or os.environ.get("STORY", ""), "ACCEPTED": json.dumps(self.accepted), "SCREENS": screens})
        print(run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_1_models(self):
        run = subprocess.run(["node", "scripts/test.mjs"], cwd=self.web, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_2_an_edit_of_a_quota(self):
        edit = {"clusterQueue": "team-vision", "flavor": "standard", "resource": "nvidia.com/gpu", "nominal": "16"}
        status, answer = self.server.call("POST", "/v1/quotas?dryRun=true", edit)
        self.assertEqual((status, [one["name"] for one in answer["wouldAdmit"]], answer["quota"]["nominal"]), (200, ["second-gang"], "16"), answer)
        status, answer = self.server.call("POST", "/v1/quotas", {**edit, "etag": "1"})
        self.assertEqual(status, 409, answer)

    def test_3_stories(self):
        hostile = [form.format(index) for index, form in zip(range(400), itertools.cycle(FORMS))]
        self.assertEqual(len(hostile) * len(TEXTS), 2000)
        # The pictures show a fleet without them.
        if screens := os.environ.get("SCREENS"):
            self.story("every view fits its window", screens)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(self.hostile_script, hostile))
        self.hostile_manifests()
        self.story()

    def hostile_script(self, text):
        # A comment and its kin end at the line; a script may hold anything.
        quoted = text.replace("'", "")
        self.submit("speech", {"name": text[:64], "queue": "gpu", "script":
                               f"#!/bin/sh\n#SBATCH --hold --comment='{quoted}' --wckey='{quoted}' --output='/tmp/{quoted.replace('/', '_')}'\necho '{quoted}'\n"})

    def hostile_manifest(self, number, field, form):
        manifest = job(f"field-{number}", "speech", 0, "true")
        manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "closed"
        FIELDS[field](manifest, form.format(number))
        return field, *self.server.call("POST", "/v1/namespaces/speech/jobs", manifest)

    def hostile_manifests(self):
        """Each form in each text of a manifest. What is refused says so; what is accepted is looked at by a story."""
        outcomes = {}
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            answers = list(clients.map(lambda one: self.hostile_manifest(one[0], *one[1]), enumerate(itertools.product(FIELDS, FORMS))))
        for field, status, answer in answers:
            self.assertIn(status, (201, 400, 403, 404, 422), f"{field}: {answer}")
            outcomes.setdefault(field, []).append(status == 201)
            if status == 201:
                self.accepted.append(answer["id"])
        for field, taken in outcomes.items():
            print(f"     {field}: {sum(taken)} of {len(taken)} accepted")


if __name__ == "__main__":
    unittest.main()
