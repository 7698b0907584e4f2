"""Hundreds of jobs of every kind over three real members, musterd killed again and again: none lost, none run twice, none left behind.

MUSTER_KUBE_JOBS (Jobs), MUSTER_KUBE_EACH (of each other kind) and MUSTER_KUBE_KILLS make it as large as wanted. In one step, which
differs only in how an attempt begins, half as many Jobs and one of each other kind."""
import os
import unittest

from fleet import Bed, Fleet
from kube_jobs import job, job_set, leader_worker_set, ray_cluster, ray_job, torch

JOBS = int(os.environ.get("MUSTER_KUBE_JOBS", "80"))
EACH = int(os.environ.get("MUSTER_KUBE_EACH", "3"))
KILLS = int(os.environ.get("MUSTER_KUBE_KILLS", "3"))
ENDS = ("Succeeded", "Failed", "Cancelled")


def load(jobs, each):
    """(manifest, pods it makes, exit code or None for what serves until it is deleted)."""
    many = []
    for i in range(jobs):
        code = 3 if i % 10 == 9 else 0
        life = {"fail": "500ms", "exit_code": "3"} if code else {"run": f"{200 + 100 * (i % 7)}ms"}
        many.append((job(f"job-{i}", **life), 1, code))
    for i in range(each):
        many += [(job_set(f"set-{i}", run="500ms"), 2, 0), (torch(f"torch-{i}", run="500ms"), 2, 0), (ray_job(f"ray-{i}", run="500ms"), 3, 0),
                 (ray_cluster(f"rayc-{i}"), 2, None), (leader_worker_set(f"lws-{i}"), 2, None)]
    return many


class Many(unittest.TestCase):
    def run_all(self, dispatch, jobs, each):
        bed = Bed("--clusters", "3", "--nodes", "10")
        self.addCleanup(bed.close)
        fleet = Fleet(bed, ["member-1", "member-2", "member-3"], dispatch=dispatch)
        self.addCleanup(fleet.close)
        fleet.start()
        self.fleet, self.server = fleet, fleet.server
        many = load(jobs, each)
        status, answer = self.server.call("POST", "/v1/namespaces/default/jobs:batch", [manifest for manifest, _, _ in many])
        self.assertEqual(status, 200, answer)
        self.expected = {each["name"]: (pods, code) for each, (_, pods, code) in zip(answer, many)}
        self.assertEqual(len(self.expected), len(many), "every one was accepted")
        for kill in range(KILLS):
            self.server.wait(lambda: len(self.there()) >= len(many) * (kill + 1) // (KILLS + 1), what=f"enough ends or services for kill {kill + 1}")
            self.server.kill()
            self.server.start()
            fleet.remember()
        self.server.wait(lambda: len(self.there()) == len(many), timeout=600, what="every job is where it should end")
        self.check()

    def there(self):
        """Names of the jobs that have ended, or serve."""
        return {each["name"] for each in self.server.jobs() if each["state"] in ENDS or
                (each["state"] == "Running" and self.expected[each["name"]][1] is None)}

    def suspended_once(self):
        """Names of the Jobs that their controller has seen suspended."""
        return {item["metadata"]["name"] for _, kind, item in self.fleet.objects() if kind == "Job"
                and "Suspended" in [each["type"] for each in item["status"].get("conditions", [])]}

    def check(self):
        wrong = []
        for view in self.server.jobs():
            pods, code = self.expected[view["name"]]
            if code is None:
                self.server.call("DELETE", f"/v1/jobs/{view['id']}")
            elif (view["state"], view["exitCode"]) != (("Failed" if code else "Succeeded"), code):
                wrong.append((view["name"], view["state"], view["reason"], view["message"], view["exitCode"]))
            made = self.fleet.ledger.of_job(view["uid"])
            if len(made) != pods or view["attempt"] != 1:
                wrong.append((view["name"], f"{len(made)} pods, not {pods}", f"attempt {view['attempt']}"))
        self.assertEqual(wrong, [])
        self.server.wait(lambda: {each["state"] for each in self.server.jobs()} <= set(ENDS), what="the services end")
        self.assertEqual(self.fleet.ledger.gaps, [])
        self.fleet.assert_invariants(self)

    def test_all_reach_their_true_end_in_two_steps(self):
        self.run_all("safe", JOBS, EACH)
        self.assertTrue(self.suspended_once(), "objects are made suspended")

    def test_all_reach_their_true_end_in_one_step(self):
        self.run_all("fast", JOBS // 2, 1)
        self.assertEqual(self.suspended_once(), set(), "objects are made to run at once")


if __name__ == "__main__":
    unittest.main()
