"""Cancel, requeue, hold, preemption and time limits, in the states that an attempt has on a real member; and hands of others on it."""
import json
import unittest

from fleet import Bed, Fleet
from bed_client import JOBS, MERGE, PODS
from kube_jobs import at, job, job_set, leader_worker_set, ray_job, torch

bed = None


def setUpModule():
    global bed
    bed = Bed("--clusters", "2", "--nodes", "4")
    unittest.addModuleCleanup(bed.close)


SMALL = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: small}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors: [{name: standard, resources: [{name: cpu, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: small, namespace: default}
spec: {clusterQueue: small}
"""
QUEUE = "label:kueue.x-k8s.io/queue-name"


class Control(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(bed, ["member-1", "member-2"])
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server = cls.fleet.server
        cls.server.run("muster", "apply", "-f", "-", stdin=SMALL)

    def tearDown(self):
        self.fleet.remember()

    @classmethod
    def tearDownClass(cls):
        cls.fleet.assert_invariants(cls("test_a_time_limit_ends_a_job"))

    def running(self, manifest):
        submitted = self.fleet.submit(manifest)
        return self.server.wait_state(submitted["id"], "Running")

    def member_of(self, view):
        self.server.wait(lambda: self.fleet.object_of(view)[0], what=f"an object of {view['name']}")
        return self.fleet.members[self.fleet.object_of(view)[0]]

    def cancelled(self, view):
        self.server.run("muster", "delete", "jobs", str(view["id"]))
        ended = self.fleet.ends(view["id"], "Cancelled")
        self.fleet.wait_gone(ended)
        self.assertEqual([pod for pod in self.fleet.ledger.of_job(view["uid"]) if pod.ended is None], [])
        return ended

    def test_a_running_job_of_each_kind_is_cancelled_and_leaves_nothing(self):
        started = [self.running(manifest) for manifest in (job("run"), job_set("runset"), torch("runtorch"), leader_worker_set("runlws"),
                                                           ray_job("runray"))]
        for view in started:
            self.cancelled(view)

    def test_a_job_whose_pods_are_pending_on_the_member_is_cancelled(self):
        submitted = self.fleet.submit(job("starting", start="600s"))
        self.server.wait(lambda: self.fleet.ledger.of_job(submitted["uid"]), what="its pod")
        self.assertEqual(self.server.job(submitted["id"])["state"], "Admitted")
        self.cancelled(submitted)

    def test_a_job_that_waits_for_quota_is_held_released_and_cancelled_without_a_member(self):
        wide = at(job("waits", pods=3), QUEUE, "small")
        submitted = self.fleet.submit(wide)
        self.server.run("muster", "hold", str(submitted["id"]))
        self.assertEqual(self.server.job(submitted["id"])["state"], "Held")
        self.server.run("muster", "release", str(submitted["id"]))
        self.server.wait_state(submitted["id"], "Pending")
        self.server.run("muster", "delete", "jobs", str(submitted["id"]))
        self.fleet.ends(submitted["id"], "Cancelled")
        self.assertEqual(self.fleet.ledger.of_job(submitted["uid"]), [])

    def test_a_requeued_job_runs_again_after_its_first_attempt_is_gone(self):
        view = self.running(job("again", run="15s"))
        self.server.run("muster", "requeue", str(view["id"]))
        self.server.wait(lambda: self.fleet.ledger.attempts(view["uid"]) == [1, 2], what="a second attempt")
        self.assertTrue(all(pod.ended is not None for pod in self.fleet.ledger.of_job(view["uid"], attempt=1)))
        second = self.server.wait_state(view["id"], "Running")
        self.assertEqual(second["attempt"], 2)
        self.cancelled(second)

    def test_a_requeued_job_that_is_held_waits_until_it_is_released(self):
        view = self.running(job("parked"))
        for _ in range(5):  # on a slow machine it may run again before the hold comes
            self.server.run("muster", "requeue", str(view["id"]))
            if self.server.run("muster", "hold", str(view["id"]), check=False).returncode == 0:
                break
        held = self.server.wait_state(view["id"], "Held")
        self.fleet.wait_gone(held)
        self.server.run("muster", "release", str(view["id"]))
        self.cancelled(self.server.wait_state(view["id"], "Running"))

    def test_a_preempted_job_leaves_its_member_before_the_urgent_one_starts_and_runs_again_after_it(self):
        low = self.running(at(job("low", pods=2), QUEUE, "small"))
        high = self.fleet.submit(at(at(job("high", pods=2, run="1s"), QUEUE, "small"), "label:kueue.x-k8s.io/priority-class", "urgent"))
        self.fleet.ends(high["id"], "Succeeded")
        first = self.fleet.ledger.of_job(low["uid"], attempt=1)
        self.assertTrue(all(pod.ended_at is not None for pod in first))
        self.assertLessEqual(max(pod.ended_at for pod in first), min(pod.born_at for pod in self.fleet.ledger.of_job(high["uid"])) + 1)
        self.server.wait(lambda: self.server.job(low["id"])["attempt"] == 2, what="the victim's second attempt")
        self.cancelled(self.server.wait_state(low["id"], "Running"))

    def test_a_time_limit_ends_a_job(self):
        late = job("late")
        late["spec"]["activeDeadlineSeconds"] = 1
        ended = self.fleet.ends(self.fleet.submit(late)["id"], "Failed")
        self.assertEqual(ended["reason"], "DeadlineExceeded", ended)
        self.server.wait(lambda: all(pod.ended for pod in self.fleet.ledger.of_job(ended["uid"])), what="its pods end")

    def test_a_maximum_execution_time_takes_a_job_off_its_member_and_deactivates_it(self):
        # The member does not know of it: its own controller would fail the job for good, now and then sooner.
        for manifest in (job("latest"), torch("latest-torch"), job_set("latest-set"), ray_job("latest-ray")):
            view = self.fleet.submit(at(manifest, "label:kueue.x-k8s.io/max-exec-time-seconds", "1"))
            self.server.wait(lambda: self.server.job(view["id"])["reason"] == "Deactivated", what="it is deactivated")
            self.fleet.wait_gone(view)
            self.assertTrue(all(pod.ended for pod in self.fleet.ledger.of_job(view["uid"])))
            self.server.run("muster", "delete", "jobs", str(view["id"]))

    def test_a_job_deleted_on_its_member_while_it_runs_is_lost_and_not_made_again(self):
        view = self.running(job("removed"))
        member = self.member_of(view)
        member.call("DELETE", JOBS + "/removed", {"propagationPolicy": "Background"})
        ended = self.server.wait(lambda: (seen := self.server.job(view["id"]))["state"] not in ("Admitted", "Running") and seen,
                                 what="the absence is noticed")
        self.assertIn("member-", ended["message"])
        self.assertIn("deleted", ended["message"])
        self.assertEqual(self.fleet.ledger.attempts(view["uid"]), [1], "absence is never a reason to create")

    def test_labels_that_somebody_takes_off_a_job_are_put_back_and_it_runs_on(self):
        view = self.running(job("bare"))
        member = self.member_of(view)
        for label in ("muster.io/instance", "muster.io/job-uid", "muster.io/attempt"):
            before = member.call("GET", JOBS + "/bare")["metadata"]["labels"]
            member.call("PATCH", JOBS + "/bare", {"metadata": {"labels": {label: None}}}, kind=MERGE)
            self.server.wait(lambda: member.call("GET", JOBS + "/bare")["metadata"]["labels"].get(label) == before[label],
                             what=f"{label} is put back")
        self.assertEqual(self.server.job(view["id"])["state"], "Running")
        self.assertIn("MemberObjectMended", [event[0] for event in self.fleet.events(view["id"])])
        self.fleet.end_pods(view)
        self.fleet.ends(view["id"], "Succeeded")
        self.assertEqual(self.fleet.ledger.attempts(view["uid"]), [1])

    def test_what_a_deletion_without_children_leaves_is_removed_before_the_job_is_lost(self):
        for manifest, path in ((job_set("orphans"), "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/orphans"),
                               (job("orphan"), JOBS + "/orphan")):
            view = self.running(manifest)
            self.member_of(view).call("DELETE", path, {"propagationPolicy": "Orphan"})
            ended = self.fleet.ends(view["id"], "Failed")
            self.assertEqual([pod for pod in self.fleet.ledger.of_job(view["uid"]) if pod.ended is None], [], "its quota is free")
            self.assertIn("deleted on member cluster", ended["message"])
            self.assertIn("it had left", ended["message"])
            self.assertEqual(self.fleet.ledger.attempts(view["uid"]), [1])

    def test_an_ended_job_deleted_on_its_member_keeps_its_result(self):
        view = self.fleet.ends(self.fleet.submit(job("tidied", run="100ms"))["id"], "Succeeded")
        member = self.member_of(view)
        member.call("DELETE", JOBS + "/tidied", {"propagationPolicy": "Background"})
        self.fleet.wait_gone(view)
        after = self.fleet.submit(job("tidied-later", run="100ms"))  # whatever the news did, it has been done by then
        self.fleet.ends(after["id"], "Succeeded")
        self.assertEqual(self.server.job(view["id"])["state"], "Succeeded")
        self.assertEqual(self.fleet.ledger.attempts(view["uid"]), [1])

    def test_a_job_suspended_on_its_member_by_somebody_is_shown_so_and_not_fought(self):
        view = self.running(job("stopped"))
        member = self.member_of(view)
        member.call("PATCH", JOBS + "/stopped", {"spec": {"suspend": True}}, kind=MERGE)
        self.server.wait(lambda: "SuspendedExternally" in self.server.job(view["id"])["message"], what="it is told")
        self.assertTrue(member.call("GET", JOBS + "/stopped")["spec"]["suspend"])
        member.call("PATCH", JOBS + "/stopped", {"spec": {"suspend": False}}, kind=MERGE)
        self.server.wait(lambda: len([pod for pod in self.fleet.ledger.of_job(view["uid"]) if pod.ended is None]) == 1, what="it runs again")
        self.cancelled(view)

    def test_a_name_is_used_again_while_the_old_job_is_being_removed(self):
        first = self.running(job("reused"))
        self.assertEqual(self.server.call("DELETE", JOBS + "/reused")[0], 200)
        # The name is taken until the first has ended; its object may be there for longer.
        again = job("reused", run="100ms")
        second = self.server.wait(lambda: (answer := self.server.call("POST", "/v1/namespaces/default/jobs", again))[0] == 201 and answer[1],
                                  what="the name is free")
        self.fleet.ends(second["id"], "Succeeded")
        self.assertEqual(self.server.job(first["id"])["state"], "Cancelled")

    def test_somebody_elses_job_with_our_labels_is_neither_deleted_nor_believed(self):
        view = self.running(job("genuine"))
        member = self.member_of(view)
        mine = member.call("GET", JOBS + "/genuine")["metadata"]["labels"]
        spoof = job("spoof", run="100ms")
        spoof["metadata"]["labels"] = {key: value for key, value in mine.items() if key.startswith("muster.io/")}
        made = member.call("POST", JOBS, spoof)
        member.wait(JOBS + "/spoof", lambda seen: seen["status"].get("succeeded") == 1)
        marker = self.fleet.submit(job("marker", run="100ms"))
        self.fleet.ends(marker["id"], "Succeeded")
        self.assertEqual(self.server.job(view["id"])["state"], "Running")
        self.assertEqual(member.call("GET", JOBS + "/spoof")["metadata"]["uid"], made["metadata"]["uid"])
        member.call("DELETE", JOBS + "/spoof", {"propagationPolicy": "Background"})
        self.cancelled(view)

    def test_a_pod_evicted_with_its_node_is_told_from_the_jobs_own_failure(self):
        view = self.running(job("evicted"))
        member = self.member_of(view)
        pod = member.call("GET", f"{PODS}?labelSelector=muster.io/job-uid={view['uid']}")["items"][0]["metadata"]["name"]
        member.call("POST", f"{PODS}/{pod}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}})
        ended = self.server.wait(lambda: (seen := self.server.job(view["id"])) and (seen["state"] in ("Failed", "Pending") or seen["attempt"] > 1
                                 or len(self.fleet.ledger.of_job(view["uid"])) > 1) and seen, what="the eviction shows")
        self.assertNotIn(ended["reason"], ("BackoffLimitExceeded", "Failed"), json.dumps(ended))
        self.server.run("muster", "delete", "jobs", str(view["id"]), check=False)


if __name__ == "__main__":
    unittest.main()
