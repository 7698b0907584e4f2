"""Every kind runs on real clusters to its real end, and its truth comes back: states, exit codes, pods, logs, events."""
import json
import unittest

from fleet import Bed, Fleet, FINALIZER
from bed_client import PODS
from kube_jobs import at, job, job_set, leader_worker_set, ray_cluster, ray_job, template, torch, workload

bed = None


def setUpModule():
    global bed
    bed = Bed("--clusters", "3", "--nodes", "4")
    unittest.addModuleCleanup(bed.close)


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(bed, ["member-1", "member-2"])
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server = cls.fleet.server

    def tearDown(self):
        self.fleet.remember()

    @classmethod
    def tearDownClass(cls):
        cls.fleet.assert_invariants(cls("test_a_job_tells_its_pods_times_and_exit_code"))

    def ran(self, manifest, pods):
        """Submits, waits for success; the view, and the object as it stays on its member."""
        submitted = self.fleet.submit(manifest)
        ended = self.fleet.ends(submitted["id"], "Succeeded")
        self.assertEqual((ended["exitCode"], ended["attempt"]), (0, 1))
        self.assertTrue(ended["startTime"] and ended["endTime"])
        self.assertEqual(len(self.fleet.ledger.of_job(ended["uid"])), pods)
        return ended, self.left(ended)

    def left(self, ended):
        """The object of an ended job, once it has been let go."""
        def held():
            member, item = self.fleet.object_of(ended)
            self.assertIsNotNone(item, f"the object of {ended['name']} stays for its logs")
            self.assertEqual(member, ended["cluster"])
            return None if FINALIZER in item["metadata"].get("finalizers", []) else item
        return self.server.wait(held, what=f"the finalizer of {ended['name']} goes once its result is recorded")

    def test_a_job_tells_its_pods_times_and_exit_code(self):
        ended, item = self.ran(job("good", pods=3, run="200ms"), pods=3)
        self.assertEqual(item["status"]["succeeded"], 3)
        self.assertEqual(item["metadata"]["labels"]["muster.io/attempt"], "1")
        pods = self.fleet.pods(ended["id"])
        self.assertEqual([(pod["phase"], pod["exitCode"]) for pod in pods], [("Succeeded", 0)] * 3)
        often = ("JobUpdated", "JobQuotaReturned")  # as many as the pods' ends were told one by one
        self.assertEqual([event[0] for event in self.fleet.events(ended["id"]) if event[0] not in often],
                         ["JobAccepted", "JobAdmitted", "JobStarted", "JobSucceeded"])

    def test_a_failing_job_tells_the_exit_code_of_its_first_failing_container(self):
        submitted = self.fleet.submit(job("bad", fail="100ms", exit_code="42"))
        ended = self.fleet.ends(submitted["id"], "Failed")
        self.assertEqual((ended["exitCode"], ended["reason"]), (42, "BackoffLimitExceeded"), ended)
        self.left(ended)

    def test_a_job_set_runs_its_jobs(self):
        self.ran(job_set("set", run="200ms"), pods=2)

    def test_a_failing_job_set_tells_its_exit_code(self):
        ended = self.fleet.ends(self.fleet.submit(job_set("badset", replicas=1, fail="100ms", exit_code="7"))["id"], "Failed")
        self.assertEqual(ended["exitCode"], 7, ended)

    def test_a_pytorch_job_runs_its_master_and_worker(self):
        self.ran(torch("torch", run="200ms"), pods=2)

    def test_a_failing_pytorch_job_tells_its_exit_code(self):
        ended = self.fleet.ends(self.fleet.submit(torch("badtorch", fail="100ms", exit_code="9"))["id"], "Failed")
        self.assertEqual(ended["exitCode"], 9, ended)

    def test_a_ray_job_ends_with_its_submitter_and_takes_its_cluster_down(self):
        ended, item = self.ran(ray_job("ray", run="500ms"), pods=3)
        self.assertEqual((item["status"]["jobStatus"], item["status"]["jobDeploymentStatus"]), ("SUCCEEDED", "Complete"))
        member = self.fleet.members[ended["cluster"]]
        member.wait("/apis/ray.io/v1/namespaces/default/rayclusters",
                    lambda seen: not [each for each in seen["items"] if each["metadata"]["name"].startswith("ray-")])

    def test_a_failing_ray_job_is_failed(self):
        ended = self.fleet.ends(self.fleet.submit(ray_job("badray", fail="100ms"))["id"], "Failed")
        self.assertNotEqual(ended["exitCode"], 0)

    def serves_until_it_is_deleted(self, manifest, pods):
        submitted = self.fleet.submit(manifest)
        self.server.wait_state(submitted["id"], "Running")
        self.server.wait(lambda: [pod["phase"] for pod in self.fleet.pods(submitted["id"])] == ["Running"] * pods, what=f"{pods} running pods")
        self.server.run("muster", "delete", "jobs", str(submitted["id"]))
        ended = self.fleet.ends(submitted["id"], "Cancelled")
        self.fleet.wait_gone(ended)
        self.assertEqual([pod for pod in self.fleet.ledger.of_job(ended["uid"]) if pod.ended is None], [], "its pods went first")

    def test_a_leader_worker_set_serves_until_it_is_deleted(self):
        self.serves_until_it_is_deleted(leader_worker_set("serve", groups=2, size=2), pods=4)

    def test_a_ray_cluster_serves_until_it_is_deleted(self):
        self.serves_until_it_is_deleted(ray_cluster("rayc"), pods=2)

    def test_a_bare_workload_runs_each_pod_set(self):
        self.ran(workload("one", {"main": 2}, run="200ms"), pods=2)
        self.ran(workload("two", {"driver": 1, "workers": 2}, run="200ms"), pods=3)

    def test_a_batch_script_becomes_a_job_with_its_script_beside_it(self):
        out = self.server.run("sbatch", "--parsable", "-J", "training", "--wrap", "echo hello")
        submitted = self.server.job(int(out))
        self.server.wait_state(submitted["id"], "Running")
        name, item = self.fleet.object_of(submitted)
        member = self.fleet.members[name]
        container = item["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["image"], "debian:12")
        owned = [each for each in member.call("GET", "/api/v1/namespaces/default/configmaps")["items"]
                 if item["metadata"]["uid"] in [owner["uid"] for owner in each["metadata"].get("ownerReferences", [])]]
        self.assertEqual(len(owned), 1)
        self.assertIn("echo hello", json.dumps(owned[0]["data"]))
        self.fleet.end_pods(submitted)  # a simulated pod has no end of its own
        self.fleet.ends(submitted["id"], "Succeeded")

    def test_logs_are_read_and_followed_from_the_member(self):
        submitted = self.fleet.submit(job("talks", run="2s", log="one\ntwo"))
        self.server.wait_state(submitted["id"], "Running")
        self.assertEqual(self.server.run("muster", "logs", "-f", str(submitted["id"])).split(), ["one", "two"])
        self.fleet.ends(submitted["id"], "Succeeded")
        self.assertEqual(self.server.run("muster", "logs", str(submitted["id"])).split(), ["one", "two"])
        self.assertEqual(self.server.run("muster", "logs", "--tail", "1", str(submitted["id"])), "two\n")
        status, text = self.server.get(f"/v1/jobs/{submitted['id']}/logs")
        self.assertEqual((status, text.split()), (200, ["one", "two"]))

    def test_describe_shows_what_the_member_says_about_the_pods(self):
        ended, _ = self.ran(job("told", run="100ms"), pods=1)
        shown = self.server.run("muster", "describe", "jobs", str(ended["id"]))
        self.assertIn("SuccessfulCreate", shown)  # the job controller's own event
        self.assertIn(ended["cluster"], shown)

    def test_config_maps_and_secrets_that_a_job_refers_to_are_there_before_its_pods(self):
        for kind, data in (("ConfigMap", {"settings": "learning_rate=0.1"}), ("Secret", {"token": "c2VjcmV0"})):
            self.server.run("muster", "apply", "-f", "-", stdin=json.dumps(
                {"apiVersion": "v1", "kind": kind, "metadata": {"name": "needed", "namespace": "default"}, "data": data}))
        needy = job("needy", run="500ms")
        needy["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "needed"}},
                                                                        {"secretRef": {"name": "needed"}}]
        ended, item = self.ran(needy, pods=1)
        member = self.fleet.members[ended["cluster"]]
        pod = member.call("GET", f"{PODS}?labelSelector=muster.io/job-uid={ended['uid']}")["items"][0]
        for plural in ("configmaps", "secrets"):
            there = member.call("GET", f"/api/v1/namespaces/default/{plural}/needed")
            self.assertIn(item["metadata"]["uid"], [owner["uid"] for owner in there["metadata"]["ownerReferences"]])
            self.assertLessEqual(there["metadata"]["creationTimestamp"], pod["metadata"]["creationTimestamp"])

    def test_a_flavors_node_labels_and_tolerations_arrive(self):
        self.server.run("muster", "apply", "-f", "-", stdin="""
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: zone-2}
spec:
  nodeLabels: {topology.kubernetes.io/zone: zone-2}
  tolerations: [{key: bed.test/reserved, operator: Exists, effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: zoned}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors: [{name: zone-2, resources: [{name: cpu, nominalQuota: 100}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: zoned, namespace: default}
spec: {clusterQueue: zoned}
""")
        ended, item = self.ran(at(job("zoned", run="100ms"), "label:kueue.x-k8s.io/queue-name", "zoned"), pods=1)
        spec = item["spec"]["template"]["spec"]
        self.assertEqual(spec["nodeSelector"], {"topology.kubernetes.io/zone": "zone-2"})
        self.assertIn({"key": "bed.test/reserved", "operator": "Exists", "effect": "NoSchedule"}, spec["tolerations"])
        pod = self.fleet.members[ended["cluster"]].call("GET", f"{PODS}?labelSelector=muster.io/job-uid={ended['uid']}")["items"][0]
        self.assertIn(pod["spec"]["nodeName"], ("node-2", "node-4"))

    def test_partial_admission_changes_the_number_of_pods_and_nothing_else(self):
        self.server.run("muster", "apply", "-f", "-", stdin="""
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: small}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors: [{name: standard, resources: [{name: cpu, nominalQuota: 3}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: small, namespace: default}
spec: {clusterQueue: small}
""")
        wide = at(at(job("wide", pods=5, run="100ms"), "label:kueue.x-k8s.io/queue-name", "small"),
                  "annotation:kueue.x-k8s.io/job-min-parallelism", "2")
        _, item = self.ran(wide, pods=5)
        self.assertEqual((item["spec"]["parallelism"], item["spec"]["completions"]), (3, 5))

    def test_a_time_to_live_is_kept_from_the_member(self):
        short = job("short", run="100ms")
        short["spec"]["ttlSecondsAfterFinished"] = 600
        _, item = self.ran(short, pods=1)
        self.assertNotIn("ttlSecondsAfterFinished", item["spec"])

    def test_a_job_that_is_to_go_at_once_when_it_ends_is_told_and_runs_once(self):
        gone = job("gone", run="100ms")
        gone["spec"]["ttlSecondsAfterFinished"] = 0
        submitted = self.fleet.submit(gone)
        self.fleet.ends(submitted["id"], "Succeeded")
        self.fleet.wait_gone(submitted)
        self.assertEqual(len(self.fleet.ledger.of_job(submitted["uid"])), 1)

    def test_a_job_of_a_namespace_that_the_member_does_not_have(self):
        self.server.run("muster", "apply", "-f", "-", stdin="""
apiVersion: v1
kind: Namespace
metadata: {name: fresh}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: default, namespace: fresh}
spec: {clusterQueue: main}
""")
        submitted = self.fleet.submit(job("there", run="100ms"), namespace="fresh")
        self.fleet.ends(submitted["id"], "Succeeded")

    def test_a_pod_that_cannot_be_scheduled_says_why(self):
        stuck = job("stuck", run="100ms")
        beside = {"labelSelector": {"matchLabels": {"bed.test/nobody": "true"}}, "topologyKey": "kubernetes.io/hostname"}
        stuck["spec"]["template"]["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [beside]}}
        submitted = self.fleet.submit(stuck)
        self.server.wait(lambda: "node" in self.server.job(submitted["id"])["message"], what="the scheduler's words on the job")
        self.server.run("muster", "delete", "jobs", str(submitted["id"]))
        self.fleet.ends(submitted["id"], "Cancelled")

    def test_a_pod_that_no_machine_takes_is_not_sent_anywhere(self):
        nowhere = job("nowhere", run="100ms")
        nowhere["spec"]["template"]["spec"]["nodeSelector"] = {"bed.test/nowhere": "true"}
        submitted = self.fleet.submit(nowhere)
        reason = "no machine has the labels and taints that"
        self.server.wait(lambda: reason in self.server.job(submitted["id"])["message"], what=reason)
        self.assertEqual(self.server.job(submitted["id"])["state"], "Pending")
        self.server.run("muster", "delete", "jobs", str(submitted["id"]))
        self.fleet.ends(submitted["id"], "Cancelled")

    def test_a_foreign_object_of_the_name_survives_and_the_job_says_so(self):
        for member in self.fleet.members.values():
            theirs = job("taken", run="100ms")
            theirs["spec"]["suspend"] = True
            member.call("POST", "/apis/batch/v1/namespaces/default/jobs", theirs)
        before = {name: member.call("GET", "/apis/batch/v1/namespaces/default/jobs/taken") for name, member in self.fleet.members.items()}
        submitted = self.fleet.submit(job("taken", run="100ms"))
        self.assertIn("taken", self.fleet.ends(submitted["id"], "Failed")["message"])
        for name, member in self.fleet.members.items():
            after = member.call("GET", "/apis/batch/v1/namespaces/default/jobs/taken")
            self.assertEqual((after["metadata"]["uid"], after["spec"]), (before[name]["metadata"]["uid"], before[name]["spec"]))
            self.assertNotIn("muster.io", json.dumps(after), "I6: a foreign object is never written")


if __name__ == "__main__":
    unittest.main()
