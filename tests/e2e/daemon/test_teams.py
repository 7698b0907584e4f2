"""Three teams of one cohort share 48 GPUs: gangs of 16, borrowing, and a reclaim that evicts a borrower."""
import unittest

from muster_server import Server, example, shell_job

MEMBERS = ["--local-cluster", "east,cpu=64,memory=64Gi,nvidia.com/gpu=32",
           "--local-cluster", "west,cpu=64,memory=64Gi,nvidia.com/gpu=16"]


class Teams(unittest.TestCase):
    def setUp(self):
        self.server = Server(MEMBERS).start()
        self.server.run("muster", "apply", "-f", example("teams", "queues.yaml"))

    def tearDown(self):
        self.server.close()

    def submit(self, team, name, gate):
        gang = shell_job(name, self.server.gate(gate), parallelism=16, completions=16, completionMode="Indexed",
                         requests={"nvidia.com/gpu": "1"})
        gang["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gangs"}
        status, job = self.server.call("POST", f"/v1/namespaces/team-{team}/jobs", gang)
        self.assertEqual(status, 201, job)
        return job["id"]

    def condition(self, job_id, kind):
        found = [one for one in self.server.job(job_id)["conditions"] if one["type"] == kind]
        return found[0] if found else None

    def fill(self):
        """research runs its own gang and a borrowed one, vision its own: 48 of 48."""
        own = self.submit("research", "own", "own")
        self.server.wait_state(own, "Running")
        borrowed = self.submit("research", "borrowed", "borrowed")
        self.server.wait_state(borrowed, "Running")
        vision = self.submit("vision", "vision", "vision")
        self.server.wait_state(vision, "Running")
        return own, borrowed, vision

    def test_a_lender_takes_its_gpus_back_and_the_borrower_returns_and_finishes(self):
        own, borrowed, vision = self.fill()
        speech = self.submit("speech", "speech", "speech")
        self.server.wait_state(speech, "Running")
        evicted = self.server.wait_state(borrowed, "Pending")
        self.assertEqual([self.server.job(one)["state"] for one in (own, vision)], ["Running", "Running"])
        preempted = self.condition(borrowed, "Preempted")
        self.assertEqual((preempted["status"], preempted["reason"]), ("True", "InCohortReclamation"), evicted)
        self.assertIn("reclamation within the cohort; preemptor path: /gpu-teams/gangs-speech; "
                      "preemptee path: /gpu-teams/gangs-research", preempted["message"])
        self.assertEqual(self.condition(borrowed, "Evicted")["reason"], "Preempted")
        waiting = self.server.wait(lambda: (j := self.server.job(borrowed))["reason"] == "WaitingForQuota" and j, what="its reason")
        self.assertIn("nvidia.com/gpu", waiting["message"])
        self.assertEqual(self.server.get(f"/v1/jobs/{borrowed}/pods")[1]["items"], [])
        # 16 GPUs come free: it starts again, whole, and ends well.
        self.server.open_gate("speech")
        self.server.wait_state(speech, "Succeeded")
        again = self.server.wait_state(borrowed, "Running")
        self.assertEqual(again["attempt"], 2)
        self.server.open_gate("borrowed")
        self.assertEqual(self.server.wait_state(borrowed, "Succeeded", "Failed")["state"], "Succeeded")
        for gate in ("own", "vision"):
            self.server.open_gate(gate)
        for job in (own, vision):
            self.server.wait_state(job, "Succeeded")

    def test_nobody_is_evicted_for_a_gang_that_would_have_to_borrow(self):
        own, borrowed, vision = self.fill()
        second = self.submit("vision", "second", "second")
        waiting = self.server.wait(lambda: (j := self.server.job(second))["reason"] == "WaitingForQuota" and j, what="its reason")
        self.assertEqual(waiting["state"], "Pending")
        self.assertEqual([self.server.job(one)["state"] for one in (own, borrowed, vision)], ["Running"] * 3)

    def test_an_eviction_goes_on_after_a_crash(self):
        own, borrowed, vision = self.fill()
        speech = self.submit("speech", "speech", "speech")
        self.server.wait(lambda: self.condition(borrowed, "Evicted"), what="the eviction")
        self.server.kill()
        self.server.start()
        self.server.wait_state(speech, "Running")
        self.server.wait_state(borrowed, "Pending")
        self.assertEqual([self.server.job(one)["state"] for one in (own, vision)], ["Running", "Running"])


if __name__ == "__main__":
    unittest.main()
