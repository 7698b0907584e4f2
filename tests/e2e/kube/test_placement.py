"""Placements over real members: the guide's jobs go where the room is, as pods of others and machines leave it."""
import unittest

from fleet import Bed, Fleet
from muster_server import example
from bed_client import MERGE, job

bed = None
NODES = "/api/v1/nodes"


def setUpModule():
    global bed
    bed = Bed("--clusters", "3", "--nodes", "4")
    unittest.addModuleCleanup(bed.close)


def cordon(member, keep):
    """Leaves `keep` nodes of a member that take pods."""
    names = sorted(node["metadata"]["name"] for node in member.call("GET", NODES)["items"])
    for at, name in enumerate(names):
        member.call("PATCH", f"{NODES}/{name}", {"spec": {"unschedulable": at >= keep}}, kind=MERGE)


def stranger(name, cpu):
    """A pod that nobody submitted to Muster."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [
        {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": str(cpu)}}}]}}


class Placement(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(bed, ["member-1", "member-2", "member-3"])
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server = cls.fleet.server
        node = cls.fleet.members["member-1"].call("GET", NODES)["items"][0]
        cls.node_cpu = int(node["status"]["allocatable"]["cpu"])

    def setUp(self):
        for number, member in enumerate(self.fleet.members.values()):
            cordon(member, number + 2)
        for number, name in enumerate(self.fleet.members):
            self.free(name, (number + 2) * self.node_cpu)

    @classmethod
    def tearDownClass(cls):
        cls.fleet.assert_invariants(cls("test_the_guides_jobs_go_where_most_is_free"))

    def facts(self, name):
        return self.server.get(f"/v1/memberclusters/{name}/facts")[1]

    def free(self, name, cpu):
        """Waits until the member tells that so many cores are free."""
        self.server.wait(lambda: self.facts(name)["free"]["cpu"] == str(cpu), what=f"{cpu} cpu free on {name}, was {self.facts(name)}")

    def test_the_guides_jobs_go_where_most_is_free(self):
        for name in ("guide-queues.yaml", "guide-placements.yaml", "guide-jobs.yaml"):
            self.server.run("muster", "apply", "-f", example("mission", name))
        jobs = {one["name"]: one for one in self.server.jobs("&namespace=compute-jobs")}
        first = self.server.wait_state(jobs["mock-workload"]["id"], "Running", "Succeeded")
        self.assertEqual(first["cluster"], "member-3")
        page = self.server.run("muster", "describe", "rp", "job1-placement", "-n", "compute-jobs")
        self.assertIn('"member-3" (affinity score: 70, topology spread score: 0): picked by scheduling policy', page)
        for one in jobs.values():
            self.server.run("muster", "delete", "jobs", str(one["id"]))
            self.fleet.ends(one["id"], "Cancelled", "Succeeded")

    def test_pods_of_others_take_room(self):
        pods = "/api/v1/namespaces/default/pods"
        member = self.fleet.members["member-3"]
        member.call("POST", pods, stranger("other", self.node_cpu - 1))
        self.free("member-3", 3 * self.node_cpu + 1)
        self.assertEqual(self.facts("member-3")["usedByOthers"]["cpu"], str(self.node_cpu - 1))
        member.call("DELETE", f"{pods}/other")
        self.free("member-3", 4 * self.node_cpu)

    def test_a_gang_is_not_sent_where_its_pods_do_not_fit_the_machines(self):
        large = job("large", pods=5, run="100ms")
        cpu = self.node_cpu * 2 // 3  # in sum five fit, on four machines only four
        large["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(cpu)}}
        submitted = self.fleet.submit(large)
        seen = self.fleet.says(submitted, "do not fit", "machines have room for 4")
        self.assertEqual(seen["state"], "Pending")
        self.server.run("muster", "delete", "jobs", str(submitted["id"]))
        self.fleet.ends(submitted["id"], "Cancelled")


if __name__ == "__main__":
    unittest.main()
