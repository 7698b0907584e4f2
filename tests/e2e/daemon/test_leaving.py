"""Leaving a member on a real daemon: a drain with a budget, one over a kill, a NoExecute taint, an eviction object."""
import json
import unittest

from muster_server import QUEUES, Server, shell_job

BASE = "/apis/placement.kubernetes-fleet.io/v1beta1/namespaces/default/"


def document(kind, name, **spec):
    return {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": kind,
            "metadata": {"name": name, "namespace": "default"}, "spec": spec}


class Leaving(unittest.TestCase):
    def setUp(self):
        self.server = Server(["--local-cluster", "east,cpu=8,memory=16Gi",
                              "--local-cluster", "west,cpu=8,memory=16Gi"]).start()
        self.addCleanup(self.server.close)
        self.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        self.server.run("muster", "cluster", "cordon", "west")

    def apply(self, *documents):
        for one in documents:
            self.server.run("muster", "apply", "-f", "-", stdin=json.dumps(one))

    def place(self):
        self.apply(document("ResourcePlacement", "train",
                            resourceSelectors=[{"group": "batch", "version": "v1", "kind": "Job"}],
                            policy={"placementType": "PickN", "numberOfClusters": 1}))

    def jobs_on_east(self, count):
        ids = []
        for i in range(count):
            status, made = self.server.call("POST", "/v1/namespaces/default/jobs",
                                            shell_job(f"leaving-{i}", self.server.gate("leaving")))
            self.assertEqual(status, 201, made)
            ids.append(made["id"])
        for job in ids:
            self.assertEqual(self.server.wait_state(job, "Running", "Failed")["cluster"], "east")
        self.server.run("muster", "cluster", "uncordon", "west")
        return ids

    def moved(self, ids):
        on_west = lambda job: job["state"] == "Running" and job["cluster"] == "west"
        self.server.wait(lambda: all(on_west(self.server.job(job)) for job in ids),
                         what=f"on west: {[self.server.job(job) for job in ids]}")

    def test_a_drain_waits_for_the_budget_and_ends(self):
        self.place()
        self.apply(document("ResourcePlacementDisruptionBudget", "train", minAvailable=1))
        ids = self.jobs_on_east(2)
        out = self.server.run("muster", "cluster", "drain", "east", "--wait")
        self.assertIn("membercluster/east drained", out)
        self.assertIn("ResourcePlacementDisruptionBudget default/train keeps it", out)
        self.moved(ids)
        self.assertIn("Draining", self.server.run("muster", "cluster", "list"))
        self.server.run("muster", "cluster", "uncordon", "east")
        self.assertNotIn("Draining", self.server.run("muster", "cluster", "list"))

    def test_a_drain_goes_on_after_a_kill(self):
        ids = self.jobs_on_east(2)
        self.server.run("muster", "cluster", "drain", "east")
        self.server.kill()
        self.server.start()
        self.moved(ids)
        self.assertIn("Draining", self.server.run("muster", "cluster", "list"))

    def test_a_taint_drives_jobs_away(self):
        ids = self.jobs_on_east(1)
        self.server.run("muster", "cluster", "taint", "east", "work=soon:NoExecute")
        self.moved(ids)

    def test_an_eviction_object_is_carried_out_once(self):
        self.place()
        ids = self.jobs_on_east(1)
        self.server.run("muster", "cluster", "cordon", "east")
        self.apply(document("ResourcePlacementEviction", "now", placementName="train", clusterName="east"))
        self.moved(ids)
        listed = self.server.run("muster", "get", "resourceplacementevictions")
        self.assertRegex(listed, r"now +train +east +True +True")
        conditions = self.server.get(BASE + "resourceplacementevictions/now")[1]["status"]["conditions"]
        self.assertEqual([c["reason"] for c in conditions],
                         ["ResourcePlacementEvictionValid", "ResourcePlacementEvictionExecuted"])


if __name__ == "__main__":
    unittest.main()
