"""Real members that stand still, vanish from the network, forget, change their keys or lose everything; and musterd finds its way."""
import os
import time
import unittest

from fleet import Bed, Fleet
from bed_client import JOBS, condition
from kube_jobs import job
from wire import Wire

bed = None


def setUpModule():
    global bed
    bed = Bed("--clusters", "3", "--nodes", "3", "--watch-cache=false")
    unittest.addModuleCleanup(bed.close)


class Faults(unittest.TestCase):
    members = ("member-1", "member-2")

    def setUp(self):
        self.open_fleet(self.members)

    def open_fleet(self, members, flags=(), start=True):
        self.fleet = Fleet(bed, members, flags=flags)
        self.addCleanup(self.fleet.close)
        self.server = self.fleet.server
        if start:
            self.fleet.start()

    def only_on(self, name):
        """New jobs go to this member alone."""
        for other in self.fleet.members:
            self.server.run("muster", "cluster", "uncordon" if other == name else "cordon", other)

    def start_on(self, name, manifest, *states):
        self.only_on(name)
        view = self.fleet.submit(manifest)
        view = self.server.wait_state(view["id"], *(states or ("Running",)))
        self.assertEqual(view["cluster"], name)
        return view

    def ran_once(self, view):
        pods = self.fleet.ledger.of_job(view["uid"])
        self.assertEqual([pod.attempt for pod in pods], [1], "one pod, one attempt")

    def at_rest(self):
        self.fleet.remember()
        self.fleet.assert_invariants(self)
        self.assertEqual(self.fleet.ledger.gaps, [])


class StandsStill(Faults):
    seconds = float(os.environ.get("MUSTER_KUBE_PAUSE", "20"))

    def test_a_paused_member_delays_no_other_and_goes_on_where_it_was(self):
        stays = self.start_on("member-1", job("stays"))
        doomed = self.start_on("member-1", job("doomed"))
        bed.call("pause", "apiserver", "--cluster", "member-1")
        over = time.monotonic() + self.seconds
        self.addCleanup(bed.call, "resume", "apiserver", "--cluster", "member-1")
        elsewhere = [self.start_on("member-2", job(f"elsewhere-{i}", run="100ms"), "Running", "Succeeded") for i in range(5)]
        for view in elsewhere:
            self.fleet.ends(view["id"], "Succeeded")
        self.assertIn("member-1", self.server.run("muster", "get", "memberclusters"))
        self.fleet.wait_healthy("member-1", False)
        self.fleet.says(stays, "member-1")
        self.assertEqual(self.server.job(stays["id"])["state"], "Running")
        self.server.run("muster", "delete", "jobs", str(doomed["id"]))
        waits = self.fleet.says(doomed, "member-1")
        self.assertIn(waits["state"], ("Admitted", "Running"), "a cancel is done when the member has done it")
        self.server.wait(lambda: time.monotonic() > over, timeout=self.seconds + 1, what="the length of the pause")
        bed.call("resume", "apiserver", "--cluster", "member-1")
        self.fleet.wait_healthy("member-1")
        self.fleet.ends(doomed["id"], "Cancelled")
        self.fleet.wait_gone(doomed)
        self.server.wait(lambda: "answered" not in self.server.job(stays["id"])["message"], what="the message goes")
        self.assertEqual(self.server.job(stays["id"])["state"], "Running")
        self.ran_once(stays)
        self.server.run("muster", "delete", "jobs", str(stays["id"]))
        self.fleet.ends(stays["id"], "Cancelled")
        self.at_rest()


class Network(Faults):
    """member-1 behind a wire of ours."""

    def setUp(self):
        with open(os.path.join(bed.dir, "member-1", "kubeconfig"), encoding="utf-8") as file:
            good = file.read()
        port = good.split("https://127.0.0.1:")[1].split()[0]
        self.wire = Wire(int(port))
        self.addCleanup(self.wire.close)
        path = os.path.join(bed.dir, "member-1", "kubeconfig-wire")
        with open(path, "w", encoding="utf-8") as file:
            file.write(good.replace(f":{port}", f":{self.wire.port}"))
        self.fleet = Fleet(bed, ["member-2"], flags=["--member-cluster", f"member-1,kubeconfig={path}"], watched=["member-1"])
        self.addCleanup(self.fleet.close)
        self.addCleanup(self.wire.heal)
        self.server = self.fleet.server
        self.fleet.start()

    def test_a_job_that_ends_behind_a_partition_is_told_when_it_heals(self):
        view = self.start_on("member-1", job("unseen", run="3s"))
        self.wire.cut()
        self.fleet.members["member-1"].wait(JOBS + "/unseen", lambda seen: condition(seen, "Complete"))
        self.assertEqual(self.server.job(view["id"])["state"], "Running")
        self.wire.heal()
        ended = self.fleet.ends(view["id"], "Succeeded")
        self.assertEqual(ended["attempt"], 1)
        self.ran_once(view)
        self.at_rest()

    def test_a_create_whose_answer_is_lost_is_found_again_and_runs_once(self):
        self.only_on("member-1")
        self.wire.mute()
        view = self.fleet.submit(job("deaf", run="200ms"))
        self.fleet.members["member-1"].wait(JOBS, lambda seen: "deaf" in [each["metadata"]["name"] for each in seen["items"]])
        self.wire.heal()
        self.assertEqual(self.fleet.ends(view["id"], "Succeeded")["attempt"], 1)
        self.ran_once(view)
        self.at_rest()

    def test_a_release_whose_answer_is_lost_is_not_made_twice(self):
        self.only_on("member-1")
        views = [self.fleet.submit(job(f"half-{i}", run="300ms")) for i in range(8)]
        self.server.wait(lambda: self.fleet.ledger.of_job(views[0]["uid"]), what="the first release")
        self.wire.mute()
        self.fleet.wait_healthy("member-1", False)
        self.wire.heal()
        for view in views:
            self.assertEqual(self.fleet.ends(view["id"], "Succeeded")["attempt"], 1)
            self.ran_once(view)
        self.at_rest()

    def test_a_watch_that_comes_back_to_a_compacted_history_lists_again(self):
        view = self.start_on("member-1", job("compacted", run="2s"))
        self.wire.cut()
        self.fleet.members["member-1"].wait(JOBS + "/compacted", lambda seen: condition(seen, "Complete"))
        bed.call("compact", "--cluster", "member-1")
        self.wire.heal()
        self.fleet.ends(view["id"], "Succeeded")
        later = self.start_on("member-1", job("later", run="100ms"), "Running", "Succeeded")
        self.fleet.ends(later["id"], "Succeeded")
        self.fleet.assert_invariants(self)

    def test_a_job_of_a_member_that_is_away_for_long_fails_where_its_queue_says_so(self):
        self.server.run("muster", "apply", "-f", "-", stdin="""
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: impatient, annotations: {muster.io/on-cluster-lost: fail}}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors: [{name: standard, resources: [{name: cpu, nominalQuota: 100}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: impatient, namespace: default}
spec: {clusterQueue: impatient}
""")
        manifest = job("impatient")
        manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "impatient"}
        view = self.start_on("member-1", manifest)
        self.wire.cut()
        ended = self.fleet.ends(view["id"], "Failed")
        self.assertIn("member-1", ended["message"])
        self.wire.heal()
        self.fleet.wait_gone(view)
        self.ran_once(view)
        self.at_rest()


class Keys(Faults):
    def test_rotated_credentials_are_read_again_in_the_midst_of_jobs(self):
        before = self.start_on("member-1", job("before", run="8s"))
        bed.call("rotate", "--cluster", "member-1")
        after = self.start_on("member-1", job("after", run="100ms"), "Running", "Succeeded")
        self.fleet.ends(after["id"], "Succeeded")
        self.fleet.ends(before["id"], "Succeeded")
        self.ran_once(before)
        self.at_rest()


class Start(Faults):
    def setUp(self):
        bed.call("kill", "apiserver", "--cluster", "member-1")
        self.open_fleet(["member-1", "member-2"], start=False)

    def test_a_member_that_is_down_at_the_start_is_told_and_joins_later(self):
        self.addCleanup(bed.call, "start", "apiserver", "--cluster", "member-1", check=False)
        self.server.start()
        self.fleet.apply_queues()
        self.assertTrue(self.fleet.wait_healthy("member-1", False))
        first = self.fleet.submit(job("first", run="100ms"))
        self.assertEqual(self.fleet.ends(first["id"], "Succeeded")["cluster"], "member-2")
        bed.call("start", "apiserver", "--cluster", "member-1")
        self.fleet.wait_healthy("member-1")
        second = self.start_on("member-1", job("second", run="100ms"), "Running", "Succeeded")
        self.fleet.ends(second["id"], "Succeeded")


class Forgets(Faults):
    """member-3 alone is hurt so that it cannot be used for anything else afterwards."""
    members = ("member-2", "member-3")

    def test_a_wiped_member_loses_its_attempts_and_takes_new_jobs(self):
        view = self.start_on("member-3", job("wiped"))
        bed.call("wipe", "--cluster", "member-3")
        self.fleet.wait_healthy("member-3")
        self.server.wait(lambda: (seen := self.server.job(view["id"]))["state"] != "Running" or seen["attempt"] > 1,
                         what="the attempt is lost")
        told = [message for _, _, message in self.fleet.events(view["id"]) if "member-3" in message]
        self.assertTrue(told, self.fleet.events(view["id"]))
        later = self.start_on("member-3", job("later", run="100ms"), "Running", "Succeeded")
        self.fleet.ends(later["id"], "Succeeded")

    def test_a_member_set_back_to_an_older_state_runs_nothing_again(self):
        view = self.start_on("member-3", job("twice"))
        bed.call("snapshot", "--cluster", "member-3")
        self.fleet.end_pods(view)
        ended = self.fleet.ends(view["id"], "Succeeded")
        late = self.start_on("member-3", job("late"))
        bed.call("restore", "--cluster", "member-3")
        self.fleet.wait_healthy("member-3")
        self.server.wait(lambda: self.server.job(late["id"])["state"] != "Running" or self.server.job(late["id"])["attempt"] > 1,
                         what="what the member forgot is lost")
        self.assertEqual(self.server.job(view["id"])["state"], "Succeeded")
        self.assertEqual(self.server.job(view["id"])["attempt"], 1)
        after = self.start_on("member-3", job("after", run="100ms"), "Running", "Succeeded")
        self.fleet.ends(after["id"], "Succeeded")
        self.fleet.wait_gone(view)  # it had come to life again
        self.assertEqual(self.server.job(view["id"])["endTime"], ended["endTime"])


if __name__ == "__main__":
    unittest.main()
