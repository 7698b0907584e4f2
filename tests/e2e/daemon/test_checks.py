"""Two-phase admission: an external controller sees jobs that hold quota, and answers over REST."""
import unittest

from muster_server import QUEUES, Server, owner, shell_job, workload_name

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
MERGE = "application/merge-patch+json"

CHECKED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: spot-room}
spec: {controllerName: example.com/spot}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: checked}
spec:
  namespaceSelector: {}
  admissionChecksStrategy:
    admissionChecks:
    - {name: budget}
    - {name: spot-room, onFlavors: [spot]}
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors:
    - name: standard
      resources: [{name: cpu, nominalQuota: 4}]
    - name: spot
      resources: [{name: cpu, nominalQuota: 8}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: checked, namespace: default}
spec: {clusterQueue: checked}
"""


class Controller:
    """What a controller of admission checks does: says that it is there, lists workloads, answers."""

    def __init__(self, server):
        self.server = server

    def activate(self, check, active=True):
        status, answer = self.server.call("PATCH", f"{KUEUE}/admissionchecks/{check}/status", {"status": {"conditions": [{
            "type": "Active", "status": "True" if active else "False", "reason": "Active" if active else "Down",
            "message": "the controller listens" if active else "the controller is away"}]}}, MERGE)
        assert status == 200, answer

    def path(self, name):
        """Where the Workload of a Job is: its name is generated."""
        return f"{KUEUE}/namespaces/default/workloads/{workload_name(self.server, name)}"

    def workload(self, name):
        return self.server.get(self.path(name))[1]

    def condition(self, name, kind):
        found = [one for one in self.workload(name)["status"]["conditions"] if one["type"] == kind]
        return found[0] if found else None

    def check(self, name, check):
        """The state of one check of a workload, or None if it is not listed."""
        found = [one for one in self.workload(name)["status"].get("admissionChecks", []) if one["name"] == check]
        return found[0] if found else None

    def reserved(self, name):
        """Waits until the workload holds quota; the object then."""
        def holds():
            listed = self.server.get(f"{KUEUE}/namespaces/default/workloads")[1]["items"]
            mine = [one for one in listed if owner(one) == name and "admission" in one["status"]]
            return mine[0] if mine else None
        return self.server.wait(holds, what=f"{name} holds quota")

    def answer(self, name, check, state, message, **more):
        return self.server.call("PATCH", f"{self.path(name)}/status", {"status": {"admissionChecks": [
            {"name": check, "state": state, "message": message, **more}]}}, MERGE)


class Checks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--local-cluster", "east,cpu=64,memory=64Gi,nvidia.com/gpu=16"]).start()
        cls.controller = Controller(cls.server)
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        cls.server.run("muster", "apply", "-f", "-", stdin=CHECKED)
        for check in ("budget", "spot-room"):
            cls.controller.activate(check)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def submit(self, name, script="true", **spec):
        manifest = shell_job(name, script, **spec)
        manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "checked"}
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", manifest)
        self.assertEqual(status, 201, job)
        return job["id"]

    def ends_well(self, job):
        ended = self.server.wait_state(job, "Succeeded", "Failed")
        self.assertEqual(ended["state"], "Succeeded", ended)
        return ended

    def test_a_job_holds_quota_and_runs_when_its_controller_says_so(self):
        job = self.submit("waits", requests={"cpu": "2"})
        workload = self.controller.reserved("waits")
        conditions = {one["type"]: one for one in workload["status"]["conditions"]}
        self.assertEqual(conditions["QuotaReserved"]["status"], "True")
        self.assertEqual((conditions["Admitted"]["status"], conditions["Admitted"]["reason"]),
                         ("False", "UnsatisfiedAdmissionChecks"), conditions["Admitted"])
        self.assertEqual([(one["name"], one["state"]) for one in workload["status"]["admissionChecks"]], [("budget", "Pending")])
        self.assertEqual(workload["status"]["admission"]["podSetAssignments"][0]["flavors"], {"cpu": "standard"})
        self.assertEqual(self.server.job(job)["state"], "Pending")
        self.assertEqual(self.server.get(f"/v1/jobs/{job}/pods")[1]["items"], [])
        queue = self.server.get(f"{KUEUE}/clusterqueues/checked")[1]["status"]
        totals = {key: {flavor["name"]: flavor["resources"][0]["total"] for flavor in queue[key]}
                  for key in ("flavorsReservation", "flavorsUsage")}
        self.assertEqual((totals["flavorsReservation"]["standard"], totals["flavorsUsage"]["standard"]), ("2", "0"))
        self.assertIn("budget=Pending", self.server.run("muster", "get", "workloads", "-o", "wide"))
        status, answer = self.controller.answer("waits", "budget", "Ready", "granted")
        self.assertEqual(status, 200, answer)
        self.assertEqual(self.ends_well(job)["attempt"], 1)

    def test_retry_gives_the_quota_back_and_the_job_returns(self):
        job = self.submit("retried", requests={"cpu": "1"})
        self.controller.reserved("retried")
        status, answer = self.controller.answer("retried", "budget", "Retry", "try later", requeueAfterSeconds=1)
        self.assertEqual(status, 200, answer)
        evicted = [one for one in answer["status"]["conditions"] if one["type"] == "Evicted"][0]
        self.assertEqual((evicted["status"], evicted["reason"], evicted["message"]),
                         ("True", "AdmissionCheck", 'Evicted due to AdmissionCheck in Retry state: "budget" (try later)'))
        self.assertIn("requeueAt", answer["status"]["requeueState"])
        self.assertNotIn("admission", answer["status"])
        self.controller.reserved("retried")
        check = self.controller.check("retried", "budget")
        self.assertEqual((check["state"], check["retryCount"], check["message"]),
                         ("Pending", 1, "Reset to Pending after eviction. Previously: Retry"))
        again = self.controller.condition("retried", "Evicted")
        self.assertEqual((again["status"], again["message"][:11]), ("False", "Previously:"))
        self.controller.answer("retried", "budget", "Ready", "granted")
        self.ends_well(job)

    def test_rejection_deactivates_until_somebody_activates_it(self):
        job = self.submit("rejected", requests={"cpu": "1"})
        self.controller.reserved("rejected")
        status, answer = self.controller.answer("rejected", "budget", "Rejected", "no money left")
        self.assertEqual(status, 200, answer)
        self.assertIs(answer["spec"]["active"], False)
        evicted = self.controller.condition("rejected", "Evicted")
        self.assertEqual((evicted["reason"], evicted["message"]), (
            "DeactivatedDueToAdmissionCheck", 'Deactivated due to AdmissionCheck in Rejected state: "budget" (no money left)'))
        self.assertEqual((self.server.job(job)["state"], self.server.job(job)["reason"]), ("Pending", "Deactivated"))
        status, answer = self.server.call("PATCH", self.controller.path("rejected"),
                                          {"spec": {"active": True}}, MERGE)
        self.assertEqual((status, answer["spec"]["active"]), (200, True), answer)
        self.assertEqual(self.controller.condition("rejected", "Requeued")["reason"], "Reactivated")
        self.controller.reserved("rejected")
        self.controller.answer("rejected", "budget", "Ready", "granted after all")
        self.ends_well(job)

    def test_a_check_of_one_flavor_is_waited_for_on_that_flavor_only(self):
        job = self.submit("on-spot", requests={"cpu": "6"})  # more than standard has
        workload = self.controller.reserved("on-spot")
        self.assertEqual(workload["status"]["admission"]["podSetAssignments"][0]["flavors"], {"cpu": "spot"})
        self.assertEqual(sorted(one["name"] for one in workload["status"]["admissionChecks"]), ["budget", "spot-room"])
        self.controller.answer("on-spot", "budget", "Ready", "granted")
        self.assertEqual(self.controller.condition("on-spot", "Admitted")["status"], "False")
        self.controller.answer("on-spot", "spot-room", "Ready", "there is room")
        self.ends_well(job)

    def test_what_a_check_adds_to_the_pods_may_not_contradict_them(self):
        manifest = shell_job("contradicted", "true")
        manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "checked"}
        manifest["spec"]["template"]["metadata"] = {"labels": {"zone": "a"}}
        job = self.server.call("POST", "/v1/namespaces/default/jobs", manifest)[1]["id"]
        self.controller.reserved("contradicted")
        status, answer = self.controller.answer("contradicted", "budget", "Ready", "granted",
                                                podSetUpdates=[{"name": "main", "labels": {"zone": "b"}}])
        self.assertEqual(status, 200, answer)
        failed = self.server.wait_state(job, "Failed", "Succeeded")
        self.assertEqual((failed["state"], failed["reason"]), ("Failed", "FailedToStart"), failed)
        self.assertIn("zone", failed["message"])

    def test_what_a_check_adds_comes_to_pods_that_have_no_metadata(self):
        job = self.submit("booked", "while [ ! -e go ]; do sleep 0.1; done")
        self.controller.reserved("booked")
        status, answer = self.controller.answer("booked", "budget", "Ready", "granted",
                                                podSetUpdates=[{"name": "main", "labels": {"zone": "b"}, "annotations": {"note": "booked"}}])
        self.assertEqual(status, 200, answer)
        self.server.wait_state(job, "Running")
        sent = self.server.get(f"/v1/jobs/{job}/manifest")[1]["sent"][0]
        self.server.run("scancel", str(job))
        metadata = sent["spec"]["template"]["metadata"]
        self.assertEqual((metadata["labels"].get("zone"), metadata["annotations"].get("note")), ("b", "booked"))

    def test_a_queue_whose_check_has_no_controller_admits_nothing_until_it_has(self):
        self.controller.activate("spot-room", False)
        try:
            queue = self.server.get(f"{KUEUE}/clusterqueues/checked")[1]["status"]["conditions"][0]
            self.assertEqual((queue["status"], queue["reason"], queue["message"]), (
                "False", "AdmissionCheckInactive",
                "Can't admit new workloads: references inactive AdmissionCheck(s): spot-room."))
            self.assertIn("Down", self.server.run("muster", "get", "admissionchecks", "-o", "wide"))
            job = self.submit("orphan", requests={"cpu": "1"})
            waiting = self.server.wait(lambda: (j := self.server.job(job))["reason"] == "Suspended" and j, what="its reason")
            self.assertEqual(waiting["message"],
                             "ClusterQueue checked is inactive: references inactive AdmissionCheck(s): spot-room")
        finally:
            self.controller.activate("spot-room")
        self.controller.reserved("orphan")
        self.controller.answer("orphan", "budget", "Ready", "granted")
        self.ends_well(job)

    def test_answers_that_cannot_be_are_refused(self):
        job = self.submit("refused", requests={"cpu": "1"})
        read = self.controller.reserved("refused")
        path = self.controller.path("refused") + "/status"
        self.assertEqual(self.controller.answer("refused", "budget", "Perhaps", "")[0], 400)
        self.assertEqual(self.controller.answer("refused", "unknown", "Ready", "")[0], 409)
        self.assertEqual(self.server.call("PATCH", path, {"status": {"clusterName": "west"}}, MERGE)[0], 409)
        stale = dict(read, metadata=dict(read["metadata"], resourceVersion="1"))
        stale["status"]["admissionChecks"][0]["state"] = "Ready"
        status, answer = self.server.call("PUT", path, stale)
        self.assertEqual((status, answer["reason"]), (409, "Conflict"), answer)
        self.assertEqual(self.controller.check("refused", "budget")["state"], "Pending")
        fresh = self.controller.workload("refused")
        fresh["status"]["admissionChecks"][0].update(state="Ready", message="granted")
        self.assertEqual(self.server.call("PUT", path, fresh)[0], 200)
        self.ends_well(job)

    def test_a_crash_between_reservation_and_answer_loses_nothing(self):
        job = self.submit("survives", requests={"cpu": "1"})
        before = self.controller.reserved("survives")
        self.server.kill()
        self.server.start()
        after = self.controller.workload("survives")
        for part in ("admission", "admissionChecks", "conditions"):
            self.assertEqual(after["status"][part], before["status"][part])
        self.assertEqual(self.server.job(job)["state"], "Pending")
        self.assertEqual(self.controller.answer("survives", "budget", "Ready", "granted")[0], 200)
        self.server.kill()  # it was answered: it is durable
        self.server.start()
        self.assertEqual(self.controller.check("survives", "budget")["state"], "Ready")
        self.assertEqual(self.ends_well(job)["attempt"], 1)


if __name__ == "__main__":
    unittest.main()
