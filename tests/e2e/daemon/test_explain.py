"""`muster explain` on a real daemon: three teams of one cohort, every state that a user asks about."""
import json
import unittest

from muster_server import Server, shell_job

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec: {nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, nvidia.com/gpu]
    flavors:
    - name: spot
      resources: [{name: cpu, nominalQuota: 16}, {name: nvidia.com/gpu, nominalQuota: 8}]
    - name: a100
      resources: [{name: cpu, nominalQuota: 16}, {name: nvidia.com/gpu, nominalQuota: 8}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  cohortName: all
  queueingStrategy: StrictFIFO
  namespaceSelector: {}
  preemption: {reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [cpu, nvidia.com/gpu]
    flavors:
    - name: a100
      resources: [{name: cpu, nominalQuota: 16}, {name: nvidia.com/gpu, nominalQuota: 8}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: default}
spec: {clusterQueue: research}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: vision, namespace: default}
spec: {clusterQueue: vision}
"""

MEMBERS = ["--local-cluster", "east,cpu=32,memory=64Gi,nvidia.com/gpu=16"]


class Explain(unittest.TestCase):
    def setUp(self):
        self.server = Server(MEMBERS).start()
        self.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    def tearDown(self):
        self.server.close()

    def submit(self, queue, name, gpus, limit=None):
        job = shell_job(name, self.server.gate(name), requests={"nvidia.com/gpu": str(gpus)})
        job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
        if limit:
            job["spec"]["activeDeadlineSeconds"] = limit
        status, view = self.server.call("POST", "/v1/namespaces/default/jobs", job)
        self.assertEqual(status, 201, view)
        return view["id"]

    def explained(self, job_id, reason):
        """The answer once its reason is this one."""
        return self.server.wait(lambda: (a := self.server.get(f"/v1/jobs/{job_id}/explain")[1])["reason"] == reason and a,
                                what=f"explain {job_id}: {reason}")

    def page(self, job_id):
        return self.server.run("muster", "explain", str(job_id))

    def test_a_waiting_job_has_its_numbers_its_place_its_victims_and_its_time(self):
        first = self.submit("research", "first", 11, limit=7200)
        self.server.wait_state(first, "Running")
        waiting = self.submit("research", "waiting", 8)
        answer = self.explained(waiting, "WaitingForQuota")
        self.assertEqual(answer["summary"], "needs 8 nvidia.com/gpu; research can use 16, 11 are used, 5 free (flavor a100)")
        page = self.page(waiting)
        for sentence in ("untolerated taint {spot true NoSchedule <nil>} in flavor spot",
                         "3 short: cohort all shares 16, 11 are used",
                         "1 of 1 in ClusterQueue research",
                         "withinClusterQueue: Never protects them",
                         f"job {first} (default/first) ending; it ends by ",
                         "Estimated start: no later than "):
            self.assertIn(sentence, page)
        self.assertEqual(answer["estimatedStart"]["withoutLimit"], [])
        self.assertEqual(json.loads(self.server.run("muster", "explain", str(waiting), "-o", "json"))["position"], 1)

    def test_a_strict_queue_names_the_head_that_blocks_and_a_limitless_job_makes_the_start_unknown(self):
        running = self.submit("vision", "running", 8)
        self.server.wait_state(running, "Running")
        head = self.submit("vision", "head", 12)
        self.explained(head, "WaitingForQuota")
        behind = self.submit("vision", "behind", 1)
        answer = self.explained(behind, "PendingEvaluation")
        self.assertEqual(answer["blockedBy"]["id"], head)
        self.assertIn(f"ClusterQueue vision is StrictFIFO: job {head} (default/head) must start or leave first", answer["summary"])
        start = answer["estimatedStart"]
        self.assertIsNone(start["latest"])
        self.assertEqual([one["id"] for one in start["withoutLimit"]], [running])
        self.assertIn(f"job {running} (default/running) declares no time limit", self.page(behind))

    def test_running_held_and_ended_jobs_say_what_is_so(self):
        job = self.submit("research", "job", 10)
        self.server.wait_state(job, "Running")
        page = self.page(job)
        for sentence in ("runs on member cluster east", "it borrows 2 from cohort all", "it declares no time limit",
                         "untolerated taint", "chosen"):
            self.assertIn(sentence, page)
        self.server.open_gate("job")
        self.server.wait_state(job, "Succeeded")
        self.assertIn("exit code 0", self.page(job))
        held = self.submit("research", "held", 20)
        self.server.call("POST", f"/v1/jobs/{held}:hold")
        self.assertIn(f"releasing it: muster release {held}", self.page(held))

    def test_a_dry_run_lists_admissions_and_preemptions(self):
        borrower = self.submit("research", "borrower", 16)
        self.server.wait_state(borrower, "Running")
        owner = self.submit("vision", "owner", 10)
        answer = self.explained(owner, "WaitingForQuota")
        self.assertIn("ClusterQueue vision", answer["preemption"]["outcome"])
        out = self.server.run("muster", "quota", "set", "vision", "a100", "nvidia.com/gpu", "--nominal", "10", "--dry-run")
        for words in ("dry run: nothing was changed", "would be admitted: 1", "would be preempted: 1",
                      "default/borrower", "default/owner"):
            self.assertIn(words, out)
        self.assertEqual(self.server.job(borrower)["state"], "Running")


if __name__ == "__main__":
    unittest.main()
