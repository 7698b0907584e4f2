"""Concurrent admission on a real daemon: a job tries each flavor for itself, moves to a better one, and no kill doubles it."""
import os
import shutil
import tempfile
import unittest

from muster_server import Server, shell_job

FLAVORED = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: best}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: poor}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: main}
spec:
  namespaceSelector: {}
  concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors}}
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors:
    - name: best
      resources: [{name: cpu, nominalQuota: 8}]
    - name: poor
      resources: [{name: cpu, nominalQuota: 8}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: default, namespace: default}
spec: {clusterQueue: main}
"""


class Variants(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="muster-e2e-config-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.dir, True)
        config = os.path.join(self.dir, "musterd.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("admission:\n  featureGates:\n    ConcurrentAdmission: true\n")
        self.server = Server(["--config", config, "--local-cluster", "east,cpu=32,memory=128Gi"]).start()
        self.addCleanup(self.server.close)
        self.server.run("muster", "apply", "-f", "-", stdin=FLAVORED)

    def submit(self, name):
        marker = os.path.join(self.server.dir, name + "-starts")
        job = shell_job(name, f"echo start >> {marker}; {self.server.gate(name)}", requests={"cpu": "8"},
                        pod={"terminationGracePeriodSeconds": 1})
        status, answer = self.server.call("POST", "/v1/namespaces/default/jobs", job)
        self.assertEqual(status, 201, answer)
        return answer["id"]

    def starts(self, name):
        try:
            with open(os.path.join(self.server.dir, name + "-starts"), encoding="utf-8") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0

    def flavor(self, job):
        pod_set = self.server.job(job)["podSets"][0]
        return (pod_set.get("flavors") or {}).get("cpu")

    def run_both(self):
        """The first has the best flavor, the second what is left."""
        first = self.submit("first")
        self.server.wait_state(first, "Running")
        second = self.submit("second")
        self.server.wait_state(second, "Running")
        self.assertEqual((self.flavor(first), self.flavor(second)), ("best", "poor"))
        self.server.wait(lambda: self.starts("second") == 1, what="its process")
        return first, second

    def finish(self, job):
        self.server.open_gate("second")
        self.assertEqual(self.server.wait_state(job, "Succeeded", "Failed")["state"], "Succeeded")

    def test_a_job_moves_to_the_better_flavor_once_it_is_free(self):
        first, second = self.run_both()
        third = self.submit("third")
        self.server.wait(lambda: self.server.job(third)["reason"] == "WaitingForQuota", what="the third waits")
        message = self.server.job(third)["message"]
        self.assertIn("flavor best", message)
        self.assertIn("flavor poor", message)
        self.server.call("DELETE", f"/v1/jobs/{third}")
        self.server.wait_state(third, "Cancelled")
        self.server.open_gate("first")
        self.server.wait_state(first, "Succeeded")
        self.server.wait(lambda: self.server.job(second)["attempt"] == 2, what="a second attempt")
        self.server.wait_state(second, "Running")
        self.assertEqual(self.flavor(second), "best")
        self.server.wait(lambda: self.starts("second") == 2, what="it ran once on each flavor")
        events = self.server.get(f"/v1/jobs/{second}/events")[1]["items"]
        moved = [event for event in events if event["reason"] == "FlavorMigration"]
        self.assertEqual(len(moved), 1, events)
        self.assertIn("due to migration to more favorable resource flavor", moved[0]["message"])
        used = {quota["flavor"]: quota["used"] for quota in self.server.get("/v1/quotas")[1]["items"]}
        self.assertEqual(used, {"best": "8", "poor": "0"})
        self.finish(second)

    def test_kills_around_a_move_neither_lose_nor_double_it(self):
        first, second = self.run_both()
        self.server.kill()
        self.server.open_gate("first")  # it ends while nobody looks
        self.server.start()
        self.server.wait(lambda: self.server.job(first)["state"] == "Succeeded", what="the first's end is seen")
        self.server.kill()  # somewhere in the move, or before it
        self.server.start()
        self.server.wait(lambda: self.flavor(second) == "best", what="the better flavor")
        self.server.wait_state(second, "Running")
        self.assertEqual(self.server.job(second)["attempt"], 2)
        self.server.wait(lambda: self.starts("second") == 2, what="one process of each attempt")
        self.finish(second)


if __name__ == "__main__":
    unittest.main()
