"""Placements on a real daemon: three unequal members, the guide's own manifests, and what users see of them."""
import json
import unittest

from muster_server import QUEUES, Server, example, shell_job

MEMBER = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/"
PLACEMENTS = "/apis/placement.kubernetes-fleet.io/v1beta1/namespaces/default/resourceplacements"
MOST_CPU = [{"weight": 100, "preference": {"propertySorter": {
    "name": "resources.kubernetes-fleet.io/available-cpu", "sortOrder": "Descending"}}}]


GROUP = "placement.kubernetes-fleet.io"
REPLACE = {"op": "replace", "path": "/data/where", "value": "${MEMBER-CLUSTER-NAME}"}


def placed(kind, ns, **body):
    """An object of the placement group, named `sent`."""
    metadata = {"name": "sent", "namespace": ns} if ns else {"name": "sent"}
    return {"apiVersion": GROUP + "/v1beta1", "kind": kind, "metadata": metadata, **body}


def override(selectors, resource, patch):
    return {"placement": {"name": "sample"}, selectors: [resource],
            "policy": {"overrideRules": [{"clusterSelector": {}, "jsonPatchOverrides": [patch]}]}}


def prefer(terms):
    return {"clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def placement(name, job, **policy):
    """A ResourcePlacement of one Job in the namespace default."""
    return {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ResourcePlacement",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"resourceSelectors": [{"group": "batch", "version": "v1", "kind": "Job", "name": job}], "policy": policy}}


class Placements(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--local-cluster", "east,cpu=8,memory=16Gi,nvidia.com/gpu=2,label:zone=a",
                             "--local-cluster", "west,cpu=16,memory=64Gi,label:zone=b",
                             "--local-cluster", "north,cpu=4,memory=32Gi,label:zone=b"]).start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def submit(self, name, annotations=None, gate="placements", **spec):
        job = shell_job(name, self.server.gate(gate), **spec)
        job["metadata"]["annotations"] = annotations or {}
        status, made = self.server.call("POST", "/v1/namespaces/default/jobs", job)
        self.assertEqual(status, 201, made)
        return made["id"]

    def apply(self, document, expect=0):
        done = self.server.run("muster", "apply", "-f", "-", stdin=json.dumps(document), check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr

    def runs_on(self, job, cluster):
        self.assertEqual(self.server.wait_state(job, "Running", "Failed")["cluster"], cluster)

    def waits(self, job, *words):
        self.server.wait(lambda: all(word in self.server.job(job)["message"] for word in words),
                         what=f"{words} in the message of {self.server.job(job)}")
        self.assertEqual(self.server.job(job)["state"], "Pending")

    def status(self, name):
        return self.server.get(f"{PLACEMENTS}/{name}")[1]["status"]

    def test_the_guides_placements_come_before_its_jobs(self):
        for name in ("guide-queues.yaml", "guide-placements.yaml"):
            self.server.run("muster", "apply", "-f", example("mission", name))
        listing = self.server.run("muster", "get", "rp", "-n", "compute-jobs")
        self.assertRegex(listing, r"job1-placement +PickN +0 +- +Unknown")
        self.server.run("muster", "apply", "-f", example("mission", "guide-jobs.yaml"))
        jobs = {job["name"]: job for job in self.server.jobs("&namespace=compute-jobs")}
        self.runs_on(jobs["mock-workload"]["id"], "west")  # the most free CPU, 40 points, and memory, 30
        page = self.server.run("muster", "describe", "rp", "job1-placement", "-n", "compute-jobs")
        for line in ("Name:         job1-placement", "API Version:  placement.kubernetes-fleet.io/v1beta1",
                     'Successfully scheduled resources for placement in "west" (affinity score: 70, topology spread score: 0): '
                     'picked by scheduling policy', "    Type:                   ResourcePlacementAvailable",
                     "    Cluster Name:  west", "  Selected Resources:\n    Group:      batch", "PlacementRolloutCompleted"):
            self.assertIn(line, page)
        self.assertNotIn("False", page)  # KubeFleet itself ends at Applied False here
        listing = self.server.run("muster", "get", "rp", "-A")
        self.assertRegex(listing, r"compute-jobs +job1-placement +PickN +1 +west +True +True +True")
        for job in jobs.values():
            self.server.run("muster", "delete", "job", str(job["id"]))

    def test_a_placement_may_come_after_its_job(self):
        job = self.submit("late", {"muster.io/placement": "for-late"})
        self.waits(job, "for-late")
        self.apply(placement("for-late", "late", placementType="PickFixed", clusterNames=["north"]))
        self.runs_on(job, "north")
        self.assertEqual([one["clusterName"] for one in self.status("for-late")["placementStatuses"]], ["north"])
        self.assertEqual(self.server.run("muster", "delete", "rp", "for-late"), "resourceplacement/for-late deleted\n")
        self.assertEqual(self.server.job(job)["state"], "Running")  # it stays where it is

    def test_a_pinned_job_runs_there_or_nowhere(self):
        self.runs_on(self.submit("pinned", {"muster.io/cluster": "east"}), "east")
        self.waits(self.submit("lost", {"muster.io/cluster": "south"}), "south")

    def test_required_properties_and_labels_say_what_is_missing(self):
        term = {"labelSelector": {"matchLabels": {"zone": "b"}}, "propertySelector": {"matchExpressions": [
            {"name": "resources.kubernetes-fleet.io/total-nvidia.com/gpu", "operator": "Ge", "values": ["1"]}]}}
        required = {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [term]}}}
        self.apply(placement("strict", "strict", placementType="PickN", numberOfClusters=1, affinity=required))
        job = self.submit("strict")
        self.server.wait(lambda: self.status("strict")["conditions"][0]["reason"] == "SchedulingPolicyUnfulfilled",
                         what=f"unfulfilled, is {self.status('strict')}")
        slots = self.status("strict")["placementStatuses"]
        self.assertNotIn("clusterName", slots[0])
        verdicts = self.server.get(f"/v1/jobs/{job}/explain")[1]["clusters"]
        self.assertEqual({one["cluster"]: one["filter"] for one in verdicts},
                         {"east": "ClusterAffinity", "north": "ClusterAffinity", "west": "ClusterAffinity"})
        # East has the GPUs; told to be of the zone it would do, but labels are the flags'.
        status, answer = self.server.call("PATCH", MEMBER + "east", {"metadata": {"labels": {"zone": "b"}}},
                                          "application/merge-patch+json")
        self.assertEqual(status, 400, answer)

    def test_a_taint_turns_jobs_away_and_stays_over_a_restart(self):
        annotations = {"muster.io/properties": '{"muster.io/cost.cpu":"0.04"}', "muster.io/datasets": "imagenet"}
        status, answer = self.server.call("PATCH", MEMBER + "west", {"metadata": {"annotations": annotations}},
                                          "application/merge-patch+json")
        self.assertEqual(status, 200, answer)
        self.assertEqual(self.server.run("muster", "cluster", "taint", "west", "maintenance=yes:NoSchedule"),
                         "membercluster/west tainted\n")
        self.server.stop()
        self.server.start()
        page = self.server.run("muster", "cluster", "describe", "west")
        for words in ("maintenance=yes:NoSchedule", "muster.io/cost.cpu", "imagenet"):
            self.assertIn(words, page)
        for name, more in (("wary", {}), ("bold", {"tolerations": [{"key": "maintenance", "operator": "Exists"}]})):
            self.apply(placement(name, name, placementType="PickN", numberOfClusters=1, affinity=prefer(MOST_CPU), **more))
        wary, bold = self.submit("wary"), self.submit("bold")
        self.runs_on(bold, "west")
        self.assertNotEqual(self.server.wait_state(wary, "Running")["cluster"], "west")
        large = {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [
            {"propertySelector": {"matchExpressions": [
                {"name": "resources.kubernetes-fleet.io/total-memory", "operator": "Ge", "values": ["64Gi"]}]}}]}}}
        self.apply(placement("large", "large", placementType="PickN", numberOfClusters=1, affinity=large))
        waiting = self.submit("large")
        self.waits(waiting, "maintenance")
        self.assertRegex(self.server.run("muster", "explain", str(waiting)), r"west +no +no +TaintToleration")
        self.assertEqual(self.server.run("muster", "cluster", "taint", "west", "maintenance-"), "membercluster/west untainted\n")
        self.runs_on(waiting, "west")
        self.assertNotIn("maintenance", self.server.run("muster", "get", "memberclusters", "-o", "wide"))

    def test_overrides_and_envelopes_are_kept_listed_and_checked(self):
        settings = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}
        queue = {"group": "kueue.x-k8s.io", "version": "v1beta1", "kind": "ClusterQueue", "name": "cpu"}
        manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}}
        objects = [placed("ResourceOverride", "default", spec=override("resourceSelectors", settings, REPLACE)),
                   placed("ClusterResourceOverride", "",
                          spec=override("clusterResourceSelectors", queue, dict(REPLACE, path="/spec/cohort"))),
                   placed("ResourceEnvelope", "default", data={"web": manifest}),
                   placed("ClusterResourceEnvelope", "", data={"role": role})]
        for one in objects:
            self.apply(one)
        self.server.stop()
        self.server.start()
        for name, columns in (("ro", "sent +sample +1 +1"), ("cro", "sent +sample +1 +1"), ("resourceenvelopes", "sent +1"),
                              ("clusterresourceenvelope", "sent +1")):
            self.assertRegex(self.server.run("muster", "get", name), columns)
        self.assertIn("${MEMBER-CLUSTER-NAME}", self.server.run("muster", "describe", "ro", "sent"))
        self.assertIn("Deployment", self.server.run("muster", "get", "resourceenvelope", "sent", "-o", "yaml"))
        served = {one["name"]: one.get("shortNames") for one in self.server.get(f"/apis/{GROUP}/v1")[1]["resources"]}
        self.assertEqual((served["resourceoverrides"], served["clusterresourceoverrides"]), (["ro"], ["cro"]))
        self.assertIn("resourceenvelopes", served)
        bad = placed("ResourceOverride", "default", spec=override("resourceSelectors", settings, dict(REPLACE, path="/kind")))
        self.assertIn("spec.policy.overrideRules[0].jsonPatchOverrides[0].path: may not change kind", self.apply(bad, expect=1))
        moved = placed("ResourceOverride", "default", spec=override("resourceSelectors", settings, REPLACE))
        moved["spec"]["placement"]["name"] = "another"
        self.assertIn("spec.placement: field is immutable", self.apply(moved, expect=1))
        job = placed("ResourceEnvelope", "default", data={"job": shell_job("uncounted", "true")})
        self.assertIn("data[job].kind: Job is a kind of job", self.apply(job, expect=1))
        for name in ("ro", "cro", "resourceenvelope", "clusterresourceenvelope"):
            self.assertIn("deleted", self.server.run("muster", "delete", name, "sent"))
        self.assertEqual(self.server.get(f"/apis/{GROUP}/v1/resourceoverrides")[1]["items"], [])

    def test_an_invalid_placement_is_refused_with_its_path(self):
        preferred = "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
        heavy = [dict(MOST_CPU[0], weight=101)]
        for document, path in (
                (placement("bad", "a", placementType="PickN"), "spec.policy.numberOfClusters"),
                (placement("bad", "a", placementType="PickFixed"), "spec.policy.clusterNames"),
                (placement("bad", "a", placementType="PickAll", affinity=prefer(MOST_CPU)), "spec.policy.affinity"),
                (placement("bad", "a", placementType="PickN", numberOfClusters=1, affinity=prefer(heavy)), preferred + ".weight"),
                (placement("bad", "a", placementType="PickSome"), "spec.policy.placementType")):
            self.assertIn(path, self.apply(document, expect=1))
        self.assertEqual(self.server.get(PLACEMENTS + "/bad")[0], 404)


if __name__ == "__main__":
    unittest.main()
