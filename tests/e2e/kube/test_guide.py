"""The fleet guide from its manifests, to the letter, on three members that run Kueue: queues to every member by a placement, jobs
to one each, what the placements tell, what the members have."""
import os
import time
import unittest

from fleet import Bed, Fleet
from bed_client import MERGE
from muster_server import example
from propagation import KUEUE, NAMESPACES, Propagation, placement

bed = None
HERE = os.path.dirname(os.path.abspath(__file__))
CRP = placement("sample-kueue", [])  # by its name
QUEUE = placement("queue-placement", [], "compute-jobs")
FLAVOR, CLUSTER_QUEUE = KUEUE + "/resourceflavors/default-flavor", KUEUE + "/clusterqueues/cluster-queue"
LOCAL_QUEUE = KUEUE + "/namespaces/compute-jobs/localqueues/local-queue"
COMPUTE = NAMESPACES + "/compute-jobs"
PERIOD_S = 60
WELL = [("Scheduled", "True", "SchedulingPolicyFulfilled"), ("RolloutStarted", "True", "RolloutStarted"),
        ("Overridden", "True", "NoOverrideSpecified"), ("WorkSynchronized", "True", "WorkSynchronized"),
        ("Applied", "True", "ApplySucceeded"), ("Available", "True", "ResourceAvailable")]
WELL_THERE = [("Scheduled", "True", "Scheduled"), ("RolloutStarted", "True", "RolloutStarted"),
              ("Overridden", "True", "NoOverrideSpecified"), ("WorkSynchronized", "True", "AllWorkSynced"),
              ("Applied", "True", "AllWorkHaveBeenApplied"), ("Available", "True", "NotAllWorkAreAvailabilityTrackable")]


def setUpModule():
    global bed
    bed = Bed("--clusters", "3", "--nodes", "4", "--kueue")
    unittest.addModuleCleanup(bed.close)


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def cpu(seen):
    return str(seen["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"])


class Guide(unittest.TestCase):
    """One daemon through all steps, in the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(bed, ["member-1", "member-2", "member-3"])
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server = cls.fleet.server
        cls.all = Propagation(cls.fleet)
        nodes = "/api/v1/nodes"
        for at, member in enumerate(cls.fleet.members.values()):  # two, three and four nodes take pods
            for name in sorted(each["metadata"]["name"] for each in member.call("GET", nodes)["items"])[at + 2:]:
                member.call("PATCH", f"{nodes}/{name}", {"spec": {"unschedulable": True}}, kind=MERGE)
        for at, name in enumerate(cls.fleet.members):
            facts = f"/v1/memberclusters/{name}/facts"
            cls.server.wait(lambda facts=facts, at=at: cls.server.get(facts)[1].get("free", {}).get("cpu") == str((at + 2) * 64),
                            what=f"the room of {name}, was {cls.server.get(facts)}")

    def run_muster(self, *words, stdin=None):
        return self.server.run("muster", *words, stdin=stdin)

    def test_1_the_queues_come_to_every_member(self):
        self.run_muster("apply", "-f", example("mission", "guide-queues.yaml"))
        for path in (FLAVOR, CLUSTER_QUEUE, COMPUTE):
            self.assertEqual([self.all.on(name, path) for name in self.fleet.members], [None] * 3, "nothing asked for them yet")
        self.assertIn("sample-kueue created", self.run_muster("apply", "-f", os.path.join(HERE, "guide", "sample-kueue.yaml")))
        self.all.wait_condition(CRP, "Available")
        self.assertEqual(self.all.conditions(CRP), WELL)
        for name in self.fleet.members:
            self.assertEqual(self.all.conditions(CRP, name), WELL_THERE)
        queues = self.all.wait_on(CLUSTER_QUEUE)
        for seen in queues.values():
            self.assertEqual((cpu(seen), seen["spec"]["cohort"]), ("32", "compute-workload"))
        self.assertEqual({seen["metadata"]["labels"]["app"] for seen in self.all.wait_on(COMPUTE).values()}, {"compute-workload"})
        self.all.wait_on(FLAVOR)
        type(self).placed_at = time.monotonic()
        self.assertIsNone(self.all.on("member-1", LOCAL_QUEUE), "the namespace alone")

    def test_2_the_listing_reads_as_the_guides(self):
        page = self.run_muster("describe", "crp", "sample-kueue")
        for line in ("found all cluster needed as specified by the scheduling policy, found 3 cluster(s)",
                     "All 3 cluster(s) start rolling out the latest resource",
                     "No override rules are configured for the selected resources",
                     "The selected resources are successfully applied to 3 cluster(s)",
                     "The selected resources in 3 cluster(s) are available now",
                     'Successfully scheduled resources for placement in "member-1" (affinity score: 0, topology spread score: 0): '
                     "picked by scheduling policy",
                     "The availability of work object sample-kueue-work is not trackable", "ClusterResourcePlacementAvailable",
                     "PlacementRolloutStarted", "PlacementRolloutCompleted"):
            self.assertIn(line, page)
        for words in (r"Observed Resource Index: +0", r"Kind: +ClusterQueue", r"Cluster Name: +member-3", r"Name: +default-flavor"):
            self.assertRegex(page, words)
        selected = [(each["kind"], each["name"], each["version"]) for each in self.all.status(CRP)["selectedResources"]]
        self.assertEqual(sorted(selected), [("ClusterQueue", "cluster-queue", "v1beta1"), ("Namespace", "compute-jobs", "v1"),
                                            ("ResourceFlavor", "default-flavor", "v1beta1")])

    def test_3_the_local_queue_comes_to_every_member(self):
        self.run_muster("apply", "-f", os.path.join(HERE, "guide", "queue-placement.yaml"))
        self.all.wait_condition(QUEUE, "Available")
        self.assertEqual(self.all.conditions(QUEUE), WELL)
        for name in self.all.wait_on(LOCAL_QUEUE):
            # The member's Kueue takes it, and writes its own fields: that is no drift.
            self.fleet.members[name].wait(LOCAL_QUEUE, lambda seen: seen.get("status", {}).get("conditions"))
            self.assertEqual(self.all.of_cluster(QUEUE, name).get("driftedPlacements", []), [])

    def running(self, name):
        found = [one for one in self.server.jobs("&namespace=compute-jobs") if one["name"] == name]
        self.assertEqual(len(found), 1)
        return self.server.wait_state(found[0]["id"], "Running")

    def test_4_a_job_that_comes_before_its_placement_has_not_drifted(self):
        _, second = read(example("mission", "guide-jobs.yaml")).split("---")
        self.run_muster("apply", "-f", "-", stdin=second)
        self.running("model-evaluation")
        self.run_muster("apply", "-f", example("mission", "guide-placements.yaml"))
        self.all.wait_condition(placement("job2-placement", [], "compute-jobs"), "Applied", reason="ApplySucceeded")
        page = self.run_muster("describe", "rp", "job2-placement", "-n", "compute-jobs")
        self.assertRegex(page, r"Reason: +ApplySucceeded")
        self.assertNotIn("Drifted Placements", page)

    def test_5_a_job_goes_where_most_is_free_and_runs_to_its_end(self):
        said = self.run_muster("apply", "-f", example("mission", "guide-jobs.yaml"))
        self.assertIn("job/mock-workload created", said)
        jobs = [self.running(name) for name in ("mock-workload", "model-evaluation")]
        self.assertEqual(jobs[0]["cluster"], "member-3")
        page = self.run_muster("describe", "rp", "job1-placement", "-n", "compute-jobs")
        self.assertIn('"member-3" (affinity score: 70, topology spread score: 0): picked by scheduling policy', page)
        for one in jobs:
            self.fleet.end_pods(one)
        for one in jobs:
            self.fleet.ends(one["id"], "Succeeded")
        for name in ("job1-placement", "job2-placement"):
            self.assertEqual(self.all.conditions(placement(name, [], "compute-jobs")), WELL)

    def test_6_an_edited_queue_comes_to_one_member_after_the_other(self):
        # Kueue's objects cannot tell that they are available: each member counts as it after the guide's minute.
        time.sleep(max(0, self.placed_at + PERIOD_S + 1 - time.monotonic()))
        text = read(os.environ["MUSTER_SOURCE"], "examples", "mission", "guide-queues.yaml").replace('"32"', '"40"')
        self.run_muster("apply", "-f", "-", stdin=text)
        self.server.wait(lambda: "40" in self.quotas(), what="it reaches the first member")
        self.all.wait_condition(CRP, "RolloutStarted", "False", "RolloutNotStartedYet")
        self.assertEqual(sorted(self.quotas()), ["32", "32", "40"], "25 % of three members are one")
        sooner = read(HERE, "guide", "sample-kueue.yaml").replace(f"unavailablePeriodSeconds: {PERIOD_S}", "unavailablePeriodSeconds: 1")
        self.run_muster("apply", "-f", "-", stdin=sooner)
        self.all.wait_on(CLUSTER_QUEUE, lambda seen: cpu(seen) == "40")
        self.all.wait_condition(CRP, "Available")
        self.assertEqual(self.all.conditions(CRP), WELL)
        self.assertEqual(self.all.status(CRP)["observedResourceIndex"], "1")

    def quotas(self):
        return [cpu(self.all.on(name, CLUSTER_QUEUE)) for name in self.fleet.members]

    def test_7_what_is_changed_on_a_member_by_hand_is_put_right(self):
        group = self.all.on("member-2", CLUSTER_QUEUE)["spec"]["resourceGroups"]
        group[0]["flavors"][0]["resources"][0]["nominalQuota"] = "1"
        self.all.patch("member-2", CLUSTER_QUEUE, {"spec": {"resourceGroups": group}})
        self.all.wait_on(CLUSTER_QUEUE, lambda seen: cpu(seen) == "40", ["member-2"])
        self.fleet.members["member-3"].call("DELETE", LOCAL_QUEUE)
        self.all.wait_on(LOCAL_QUEUE, members=["member-3"])

    def test_8_with_its_placement_everything_goes(self):
        for made, paths in ((QUEUE, [LOCAL_QUEUE]), (CRP, [CLUSTER_QUEUE, FLAVOR, COMPUTE])):
            for path in paths:
                self.all.wait_on(path)
            self.all.delete(made)
            for path in paths:
                self.all.wait_off(path)
        self.assertEqual(self.server.get(CLUSTER_QUEUE)[0], 200, "the hub keeps its own")


if __name__ == "__main__":
    unittest.main()
