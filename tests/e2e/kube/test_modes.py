"""Dispatch modes: members that run a queue of their own admit the jobs, and each job runs once."""
import unittest

from fleet import Bed, Fleet
from bed_client import MERGE, condition, job
from kube_jobs import at, job_set, leader_worker_set, torch, workload

KUEUE = "/apis/kueue.x-k8s.io/v1beta1"
QUEUE = "kueue.x-k8s.io/queue-name"
QUOTAS = {"member-1": 1, "member-2": 2, "member-3": 4}  # cpu of each member's own queue
MODES = {"all": "AllAtOnce", "named": "External"}
bed = None


def setUpModule():
    global bed
    bed = Bed("--clusters", "3", "--nodes", "2", "--kueue")
    unittest.addModuleCleanup(bed.close)


def named(kind, name, **spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def groups(flavor, cpu):
    return [{"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}]


def declare(member, cpu):
    member.call("POST", KUEUE + "/resourceflavors", named("ResourceFlavor", "red"))
    member.call("POST", KUEUE + "/clusterqueues", named("ClusterQueue", "own", namespaceSelector={}, resourceGroups=groups("red", cpu)))
    for name in MODES:
        member.call("POST", KUEUE + "/namespaces/default/localqueues", named("LocalQueue", name, clusterQueue="own"))
    member.wait(KUEUE + "/clusterqueues/own", lambda seen: condition(seen, "Active"))


class Modes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(bed, list(QUOTAS))
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server = cls.fleet.server
        for name, cpu in QUOTAS.items():
            declare(cls.fleet.members[name], cpu)
        for name, mode in MODES.items():
            queue = named("ClusterQueue", name, namespaceSelector={}, resourceGroups=groups("standard", 100))
            queue["metadata"]["annotations"] = {"muster.io/dispatch-mode": mode}
            status, answer = cls.server.call("POST", KUEUE + "/clusterqueues", queue)
            assert status == 201, answer
            status, answer = cls.server.call("POST", KUEUE + "/namespaces/default/localqueues", named("LocalQueue", name, clusterQueue=name))
            assert status == 201, answer

    @classmethod
    def tearDownClass(cls):
        cls.fleet.assert_invariants(cls("test_the_member_with_the_quota_runs_it_and_the_others_are_withdrawn"))

    def submit(self, name, queue="all", pods=1, **life):
        made = job(name, pods=pods, **life)
        made["metadata"]["labels"] = {QUEUE: queue}
        return self.fleet.submit(made)

    def copies(self, of):
        """The members that have a copy of a job."""
        label = "?labelSelector=muster.io/job-uid=" + of["uid"]
        return {name: member.call("GET", KUEUE + "/workloads" + label)["items"] for name, member in self.fleet.members.items()
                if member.call("GET", KUEUE + "/workloads" + label)["items"]}

    def wait_copies(self, of, *members):
        self.server.wait(lambda: sorted(self.copies(of)) == sorted(members),
                         what=f"copies of {of['name']} on {members}, were on {sorted(self.copies(of))}: {self.explain(of)}")

    def explain(self, of):
        return self.server.run("muster", "explain", str(of["id"]))

    def test_the_member_with_the_quota_runs_it_and_the_others_are_withdrawn(self):
        seen = self.submit("three", pods=3, run="2s")
        self.wait_copies(seen, "member-3")
        running = self.server.wait_state(seen["id"], "Running", "Succeeded")
        self.assertEqual(running["cluster"], "member-3")
        self.assertEqual(self.fleet.ends(seen["id"], "Succeeded")["attempt"], 1)
        self.wait_copies(seen)

    def test_of_many_each_runs_once_though_the_daemon_dies(self):
        jobs = [self.submit(f"many-{number}", run="300ms") for number in range(12)]
        self.server.wait(lambda: any(one["state"] == "Running" for one in self.server.jobs()), what="the first run")
        self.server.kill()
        self.server.start()
        for one in jobs:
            self.assertEqual(self.fleet.ends(one["id"], "Succeeded")["attempt"], 1)
        for one in jobs:
            self.wait_copies(one)
        self.assertEqual(self.fleet.ledger.overlaps(), [])

    def test_each_kind_is_handed_over_with_the_pods_that_the_member_makes_of_it(self):
        for manifest in (job_set("a-set", run="200ms"), torch("a-torch", run="200ms"), workload("a-load", {"main": 2}, run="200ms")):
            with self.subTest(manifest["kind"]):
                manifest["metadata"]["labels"] = {QUEUE: "all"}
                manifest["spec"].pop("queueName", None)
                seen = self.fleet.submit(manifest)
                self.assertEqual(self.fleet.ends(seen["id"], "Succeeded")["attempt"], 1, self.fleet.events(seen["id"]))
                self.wait_copies(seen)
        refused = at(leader_worker_set("a-lws"), "label:" + QUEUE, "all")
        seen = self.fleet.submit(refused)
        self.server.wait(lambda: any("a LeaderWorkerSet cannot be handed to a member's own queue" in message
                                     for _, _, message in self.fleet.events(seen["id"])), timeout=20,
                         what=f"it is rejected with the reason, was {self.fleet.events(seen['id'])}")
        self.server.run("muster", "delete", "jobs", str(seen["id"]))

    def test_what_no_member_admits_says_each_members_word(self):
        seen = self.submit("large", pods=20)
        self.wait_copies(seen, *QUOTAS)
        self.server.wait(lambda: "maximum capacity" in self.explain(seen), what="the members' words")
        page = self.explain(seen)
        for name in QUOTAS:
            self.assertIn(f"{name}: ", page)
        self.server.run("muster", "delete", "jobs", str(seen["id"]))
        self.wait_copies(seen)

    def test_what_a_member_takes_back_runs_again(self):
        seen = self.submit("taken", pods=3, run="1h")
        self.server.wait_state(seen["id"], "Running")
        (copy,) = self.copies(seen)["member-3"]
        path = f"{KUEUE}/namespaces/default/workloads/{copy['metadata']['name']}"
        self.fleet.members["member-3"].call("PATCH", path, {"spec": {"active": False}}, kind=MERGE)
        self.server.wait(lambda: any(reason == "MemberEvicted" for _, reason, _ in self.fleet.events(seen["id"])), what="it is taken back")
        again = self.server.wait(lambda: self.server.job(seen["id"])["attempt"] == 2 and self.server.job(seen["id"]), what="a second attempt")
        self.assertEqual(again["cluster"], "member-3")
        self.server.wait_state(seen["id"], "Running")
        self.fleet.end_pods(seen)
        self.fleet.ends(seen["id"], "Succeeded")
        self.wait_copies(seen)

    def test_a_controller_names_the_members(self):
        seen = self.submit("named", queue="named", run="100ms")
        nominate = f"/v1/jobs/{seen['id']}:nominate"
        self.server.wait(lambda: "waits until member clusters are nominated" in self.explain(seen), what="it waits for nominations")
        status, refused = self.server.call("POST", nominate, {"clusters": ["nowhere"]})
        self.assertEqual((status, refused["errors"][0]["field"]), (400, "clusters[0]"))
        self.assertEqual(self.server.call("POST", nominate, {"clusters": ["member-2"]})[0], 200)
        self.assertEqual(self.fleet.ends(seen["id"], "Succeeded")["cluster"], "member-2")
        self.wait_copies(seen)

    def test_a_member_that_is_away_keeps_nobody_waiting_and_is_told_later(self):
        seen = self.submit("away", pods=20)
        self.wait_copies(seen, *QUOTAS)
        bed.call("pause", "apiserver", "--cluster", "member-1")
        try:
            self.server.run("muster", "delete", "jobs", str(seen["id"]))
            self.server.wait(lambda: not any(self.fleet.members[name].call(
                "GET", KUEUE + "/workloads?labelSelector=muster.io/job-uid=" + seen["uid"])["items"]
                for name in ("member-2", "member-3")), what="the others are withdrawn")
        finally:
            bed.call("resume", "apiserver", "--cluster", "member-1")
        self.wait_copies(seen)


if __name__ == "__main__":
    unittest.main()
