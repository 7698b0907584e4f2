"""The bed's stand-in for Kueue keeps its promises: quota, suspension, workloads that somebody else made."""
import time
import unittest

from bed_client import JOBS, MERGE, Bed, condition, job, template

KUEUE = "/apis/kueue.x-k8s.io/v1beta1"
WORKLOADS = KUEUE + "/namespaces/default/workloads"
QUEUE = "kueue.x-k8s.io/queue-name"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"


def named(kind, name, **spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def workload(name, pods=1, queue="lq"):
    return named("Workload", name, queueName=queue, podSets=[{"name": "main", "count": pods, "template": template()}])


def labelled(manifest, **labels):
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/" + key.replace("_", "-"): value for key, value in labels.items()}
    return manifest


class Kueue(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = Bed("--nodes", "2", "--kueue")
        cls.addClassCleanup(cls.bed.close)
        cls.member = cls.bed.member()
        make = cls.member.call
        make("POST", KUEUE + "/resourceflavors", named("ResourceFlavor", "red", nodeLabels={"topology.kubernetes.io/zone": "zone-1"}))
        make("POST", KUEUE + "/clusterqueues", named("ClusterQueue", "cq", cohort="all", namespaceSelector={}, resourceGroups=[
            {"coveredResources": ["cpu"], "flavors": [{"name": "red", "resources": [{"name": "cpu", "nominalQuota": 3}]}]}]))
        make("POST", KUEUE + "/namespaces/default/localqueues", named("LocalQueue", "lq", clusterQueue="cq"))
        cls.member.wait(KUEUE + "/clusterqueues/cq", lambda seen: condition(seen, "Active"))

    def tearDown(self):
        for job_seen in self.member.call("GET", JOBS)["items"]:
            self.member.call("DELETE", f"{JOBS}/{job_seen['metadata']['name']}?propagationPolicy=Background")
        for one in self.member.call("GET", WORKLOADS)["items"]:
            self.member.status_of("DELETE", f"{WORKLOADS}/{one['metadata']['name']}")
        self.member.wait(WORKLOADS, lambda seen: not seen["items"])

    def submit(self, name, pods=1, life=None, **labels):
        made = job(name, pods=pods, **(life or {}))
        made["spec"]["suspend"] = True  # Kueue's webhook sees to it
        self.member.call("POST", JOBS, labelled(made, queue_name="lq", **labels))

    def suspended(self, name, value):
        return self.member.wait(f"{JOBS}/{name}", lambda seen: seen["spec"]["suspend"] == value)

    def reason(self, name, kind="QuotaReserved"):
        seen = self.member.call("GET", f"{WORKLOADS}/{name}")
        return [each for each in seen.get("status", {}).get("conditions", []) if each["type"] == kind]

    def test_jobs_run_as_quota_lasts_with_the_flavors_node_labels(self):
        self.submit("first", pods=2, life={"run": "2s"})
        self.suspended("first", False)
        self.submit("second", pods=2, life={"run": "100ms"})
        self.suspended("second", True)
        done = self.member.wait(JOBS + "/second", lambda seen: condition(seen, "Complete"))
        self.assertEqual(done["spec"]["template"]["spec"]["nodeSelector"], {"topology.kubernetes.io/zone": "zone-1"})
        self.member.wait(KUEUE + "/clusterqueues/cq", lambda seen: seen["status"]["admittedWorkloads"] == 0)

    def test_a_prebuilt_workload_is_admitted_and_its_job_follows_it(self):
        made = job("mine", pods=2)
        made["spec"]["suspend"] = True
        dry = self.member.call("POST", JOBS + "?dryRun=All", made)
        copy = workload("copy", pods=2)
        copy["spec"]["podSets"][0]["template"] = dry["spec"]["template"]
        self.member.call("POST", WORKLOADS, copy)
        seen = self.member.wait(WORKLOADS + "/copy", lambda seen: condition(seen, "Admitted"))
        self.assertEqual(seen["status"]["admission"]["podSetAssignments"],
                         [{"name": "main", "count": 2, "flavors": {"cpu": "red"}, "resourceUsage": {"cpu": "2"}}])
        self.member.call("POST", JOBS, labelled(made, queue_name="lq", prebuilt_workload_name="copy"))
        running = self.suspended("mine", False)
        self.member.call("PATCH", WORKLOADS + "/copy", {"spec": {"active": False}}, kind=MERGE)
        self.suspended("mine", True)
        owned = self.member.wait(WORKLOADS + "/copy", lambda seen: condition(seen, "Evicted") and not condition(seen, "QuotaReserved"))
        self.assertEqual(owned["metadata"]["ownerReferences"][0]["uid"], running["metadata"]["uid"])
        self.assertNotIn("admission", owned["status"])
        self.member.call("PATCH", WORKLOADS + "/copy", {"spec": {"active": True}}, kind=MERGE)
        self.suspended("mine", False)
        self.member.call("DELETE", WORKLOADS + "/copy")
        self.suspended("mine", True)
        self.member.wait(WORKLOADS, lambda seen: not seen["items"])

    def test_a_prebuilt_workload_of_other_pods_is_out_of_sync(self):
        # Not "copy": the last test's job, which names that, may still be there, would take this one for its own, and take it along when it goes.
        self.member.call("POST", WORKLOADS, workload("unlike", pods=2))
        self.submit("other", pods=1, prebuilt_workload_name="unlike")
        self.member.wait(WORKLOADS + "/unlike", lambda seen: condition(seen, "Finished"))
        self.assertEqual(self.reason("unlike", "Finished")[0]["reason"], "OutOfSync")
        self.suspended("other", True)

    def test_what_cannot_be_admitted_says_why(self):
        for name, pods, queue, words in (
                ("large", 4, "lq", "> maximum capacity (3)"), ("lost", 1, "nowhere", "LocalQueue nowhere doesn't exist")):
            with self.subTest(name):
                self.member.call("POST", WORKLOADS, workload(name, pods, queue))
                self.member.wait(f"{WORKLOADS}/{name}", lambda seen: seen.get("status", {}).get("conditions"))
                self.assertEqual(self.reason(name)[0]["status"], "False")
                self.assertIn(words, self.reason(name)[0]["message"])

    def test_a_flavor_that_a_queue_names_stays_until_the_queue_is_gone(self):
        self.member.call("POST", KUEUE + "/resourceflavors", named("ResourceFlavor", "blue"))
        self.member.call("POST", KUEUE + "/clusterqueues", named("ClusterQueue", "other", resourceGroups=[
            {"coveredResources": ["cpu"], "flavors": [{"name": "blue", "resources": [{"name": "cpu", "nominalQuota": 1}]}]}]))
        self.member.wait(KUEUE + "/resourceflavors/blue", lambda seen: seen["metadata"].get("finalizers"))
        self.member.wait(KUEUE + "/clusterqueues/other", lambda seen: seen["metadata"].get("finalizers"))
        self.member.call("DELETE", KUEUE + "/resourceflavors/blue")
        time.sleep(1)  # long enough for it to go, were it let
        self.assertIn("deletionTimestamp", self.member.call("GET", KUEUE + "/resourceflavors/blue")["metadata"])
        self.member.call("DELETE", KUEUE + "/clusterqueues/other")
        self.member.wait(KUEUE + "/resourceflavors", lambda seen: len(seen["items"]) == 1)

    def test_both_versions_are_served_with_their_own_names(self):
        new = named("ClusterQueue", "new", cohortName="all", cohort="pruned", resourceGroups=[])
        new["apiVersion"] = "kueue.x-k8s.io/v1beta2"
        made = self.member.call("POST", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", new)
        self.assertEqual((made["spec"]["cohortName"], made["spec"].get("cohort")), ("all", None))
        self.assertEqual(made["spec"]["queueingStrategy"], "BestEffortFIFO")
        self.member.call("DELETE", KUEUE + "/clusterqueues/new")


class KindsAlone(unittest.TestCase):
    def test_the_kinds_are_served_without_anybody_who_acts_on_them(self):
        bed = Bed("--nodes", "0", "--operators=false", "--kueue-crds")
        self.addCleanup(bed.close)
        member = bed.member()
        member.call("POST", KUEUE + "/resourceflavors", named("ResourceFlavor", "red"))
        self.assertNotIn("finalizers", member.call("GET", KUEUE + "/resourceflavors/red")["metadata"])
        self.assertNotIn("kueue=", bed.call("list"))


if __name__ == "__main__":
    unittest.main()
