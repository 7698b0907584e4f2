"""What a member does by itself to a job: webhooks that change or delay what is made there, a namespace that ends, a node that goes."""
import json
import os
import unittest

from fleet import Bed, Fleet
from bed_client import JOBS, MERGE, PODS, condition
from kube_jobs import at, job
from webhook import LABEL, Webhook, on_create

bed = None


def setUpModule():
    global bed
    bed = Bed("--clusters", "2", "--nodes", "2")
    unittest.addModuleCleanup(bed.close)


class Interference(unittest.TestCase):
    """What the classes below share: members, and how a job of theirs ends."""

    @classmethod
    def open_fleet(cls, members, flags=()):
        cls.fleet = Fleet(bed, members, flags=flags)
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server = cls.fleet.server
        cls.member = cls.fleet.members[members[0]]

    def tearDown(self):
        self.fleet.remember()
        self.fleet.assert_invariants(self)

    def says(self, view, *words):
        """One line of the job's message has these words, sooner or later."""
        self.assertNotIn("\n", self.fleet.says(view, *words)["message"])

    def ran(self, view, pods=1, attempt=1):
        ended = self.fleet.ends(view["id"], "Succeeded")
        self.assertEqual((ended["attempt"], ended["exitCode"]), (attempt, 0), ended)
        self.assertEqual(len(self.fleet.ledger.of_job(view["uid"], attempt)), pods)
        return ended

    def nothing_ran(self, view):
        self.assertEqual(self.fleet.ledger.of_job(view["uid"]), [])


class Webhooks(Interference):
    """Case 25."""

    @classmethod
    def setUpClass(cls):
        cls.open_fleet(["member-1"])

    def hook(self, name, answer, **options):
        hook = Webhook(self.member, name, answer, **options)
        self.addCleanup(hook.close)
        return hook

    def submit(self, name, **life):
        """A Job that only the webhook of its name is asked about."""
        return self.fleet.submit(at(job(name, **(life or {"run": "100ms"})), f"label:{LABEL}", name))

    def test_case_25_what_a_webhook_changes_runs_as_changed_and_is_found_again(self):
        hook = self.hook("changed", on_create(
            {"op": "add", "path": "/metadata/annotations/house", "value": "was here"},
            {"op": "add", "path": "/spec/template/metadata/labels/house", "value": "rule"},
            {"op": "add", "path": "/spec/template/spec/tolerations", "value": [{"key": "house", "operator": "Exists"}]}))
        view = self.submit("changed", run="600s")
        self.server.wait_state(view["id"], "Running")
        self.server.kill()
        self.server.start()
        _, item = self.fleet.object_of(view)
        self.assertEqual(item["metadata"]["annotations"]["house"], "was here")
        self.assertEqual(item["spec"]["template"]["spec"]["tolerations"], [{"key": "house", "operator": "Exists"}])
        pods = self.member.call("GET", f"{PODS}?labelSelector=house=rule")["items"]
        self.assertEqual([pod["metadata"]["labels"]["muster.io/job-uid"] for pod in pods], [view["uid"]])
        self.fleet.end_pods(view)
        self.ran(view)
        self.assertEqual([each for each in hook.seen if each[0] == "CREATE"], [("CREATE", "changed")])

    def test_case_25_a_webhook_that_takes_our_finalizer_away_costs_no_result(self):
        self.hook("unheld", on_create({"op": "remove", "path": "/metadata/finalizers"}))
        view = self.submit("unheld")
        self.ran(view)
        _, item = self.fleet.object_of(view)
        self.assertNotIn("finalizers", item["metadata"])

    def test_case_25_a_webhook_that_takes_our_labels_away_is_a_reason_to_refuse(self):
        self.hook("nameless", on_create({"op": "remove", "path": "/metadata/labels/muster.io~1instance"}))
        view = self.submit("nameless")
        self.assertIn("removes Muster's labels", self.fleet.ends(view["id"], "Failed")["message"])
        self.assertEqual(self.member.status_of("GET", JOBS + "/nameless"), 404)
        self.nothing_ran(view)

    def test_case_25_a_webhook_that_lets_a_job_run_at_once_makes_no_second_run(self):
        self.hook("hasty", on_create({"op": "replace", "path": "/spec/suspend", "value": False}))
        self.ran(self.submit("hasty"))

    def test_case_25_a_webhook_that_denies_the_release_leaves_nothing(self):
        def deny(asked):
            released = asked["operation"] == "UPDATE" and asked["oldObject"]["spec"]["suspend"] and not asked["object"]["spec"]["suspend"]
            return "not on this day" if released else []
        self.hook("unreleased", deny)
        view = self.submit("unreleased")
        self.assertIn("not on this day", self.fleet.ends(view["id"], "Failed")["message"])
        self.server.wait(lambda: self.member.status_of("GET", JOBS + "/unreleased") == 404, what="its object goes")
        self.nothing_ran(view)

    def test_case_25_a_slow_webhook_delays_its_own_job_and_no_other(self):
        hook = self.hook("slow", on_create())
        hook.gate.clear()
        slow = self.submit("slow")
        self.server.wait(lambda: hook.seen, what="the webhook is asked")
        self.ran(self.fleet.submit(job("quick", run="100ms")))
        self.assertEqual(self.server.job(slow["id"])["state"], "Admitted")
        hook.gate.set()
        self.ran(slow)

    def test_case_25_a_webhook_that_times_out_is_told_of_and_tried_again(self):
        hook = self.hook("late", on_create(), timeout=1)
        hook.gate.clear()
        late = self.submit("late")
        self.says(late, "member cluster member-1", "late.bed.test")
        self.assertEqual(self.server.job(late["id"])["state"], "Admitted")
        self.server.wait(lambda: len(hook.seen) > 1, what="another try")
        self.assertEqual(self.member.status_of("GET", JOBS + "/late"), 404)
        hook.gate.set()
        self.ran(late)


class Namespaces(Interference):
    """Case 13."""

    @classmethod
    def setUpClass(cls):
        cls.open_fleet(["member-1"])

    def declare(self, name):
        self.server.run("muster", "apply", "-f", "-", stdin=f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {name}}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: default, namespace: {name}}}
spec: {{clusterQueue: main}}
""")
        return f"/api/v1/namespaces/{name}"

    def uid_of(self, path):
        return self.member.call("GET", path)["metadata"]["uid"]

    def test_case_13_a_namespace_that_is_ending_is_waited_for_and_made_anew(self):
        path = self.declare("ending")
        self.member.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}})
        keeper = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "keeper", "finalizers": ["bed.test/keep"]}}
        self.member.call("POST", path + "/configmaps", keeper)
        before = self.uid_of(path)
        self.member.call("DELETE", path)
        self.member.wait(path, lambda seen: seen["status"]["phase"] == "Terminating")
        view = self.fleet.submit(job("patient", run="100ms"), namespace="ending")
        self.says(view, "member cluster member-1", "ending", "being terminated")
        self.assertEqual(self.server.job(view["id"])["state"], "Admitted")
        self.nothing_ran(view)
        self.member.call("PATCH", path + "/configmaps/keeper", {"metadata": {"finalizers": None}}, kind=MERGE)
        self.ran(view)
        self.assertNotEqual(self.uid_of(path), before)

    def test_case_13_a_namespace_that_ends_under_a_job_is_not_held_and_the_next_job_makes_it_anew(self):
        path = self.declare("passing")
        lasting = job("first")
        lasting["spec"]["backoffLimit"] = 6  # else the loss of its pod, which goes with the others there, is its own end
        first = self.fleet.submit(lasting, namespace="passing")
        self.server.wait_state(first["id"], "Running")
        before = self.uid_of(path)
        self.member.call("DELETE", path)
        ended = self.fleet.ends(first["id"], "Failed")
        self.assertIn("deleted on member cluster member-1", ended["message"])
        second = self.fleet.submit(job("second", run="100ms"), namespace="passing")
        self.ran(second)
        self.assertNotEqual(self.uid_of(path), before)
        self.assertEqual(self.fleet.ledger.attempts(first["uid"]), [1], "absence is never a reason to create")


TOPOLOGY = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata: {name: zones}
spec: {levels: [{nodeLabel: topology.kubernetes.io/zone}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: zoned}
spec: {nodeLabels: {kubernetes.io/os: linux}, topologyName: zones}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: zoned}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors: [{name: zoned, resources: [{name: cpu, nominalQuota: 1000}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: zoned, namespace: default}
spec: {clusterQueue: zoned}
"""
MEMBERS = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters"


class Gangs(Interference):
    """Case 38: of two nodes with 64 cpu each one goes after the decision, before the member's scheduler has bound a pod."""

    @classmethod
    def setUpClass(cls):
        config = os.path.join(bed.dir, "gangs.yaml")
        with open(config, "w", encoding="utf-8") as file:
            # Time for a scheduler that starts: on a bad day that took more than 15 s.
            file.write("admission:\n  waitForPodsReady:\n    timeout: 60s\n    requeuingStrategy: {backoffBaseSeconds: 1}\n")
        cls.open_fleet(["member-1", "member-2"], flags=["--config", config])
        cls.server.run("muster", "apply", "-f", "-", stdin=TOPOLOGY)

    def setUp(self):
        # Ended, not stopped: a scheduler that starts knows which nodes there are before it looks at pods. One that goes on
        # may bind a pod to the node that was lost meanwhile, where the bed runs it.
        self.without_scheduler = set(self.fleet.members)
        for name in self.fleet.members:
            self.addCleanup(self.schedule, name)
            bed.call("kill", "scheduler", "--cluster", name)

    def schedule(self, name):
        if name in self.without_scheduler:
            self.without_scheduler.remove(name)
            bed.call("start", "scheduler", "--cluster", name)

    def gang(self, name, cpu):
        manifest = job(name, pods=2, run="600s")
        manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        return manifest

    def made(self, view):
        """The member that has its two pods, bound to nothing."""
        self.server.wait(lambda: len(self.fleet.ledger.of_job(view["uid"])) == 2, what="its pods")
        name, item = self.fleet.object_of(view)
        pods = self.fleet.members[name].call("GET", f"{PODS}?labelSelector=muster.io/job-uid={view['uid']}")["items"]
        self.assertEqual([pod["spec"].get("nodeName") for pod in pods], [None, None])
        return name, item

    def lose(self, name, node):
        """Takes a node off a member until the test is over."""
        member = self.fleet.members[name]
        saved = member.call("GET", f"/api/v1/nodes/{node}")
        member.call("DELETE", f"/api/v1/nodes/{node}")
        for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
            saved["metadata"].pop(key, None)
        saved["spec"] = {}
        saved["status"].pop("conditions")
        saved["status"].pop("phase")

        def bring_back():
            member.call("POST", "/api/v1/nodes", saved)
            member.wait(f"/api/v1/nodes/{node}", lambda seen: condition(seen, "Ready") and not seen["spec"].get("taints"))
        self.addCleanup(bring_back)

    def finish(self, view):
        self.server.wait(lambda: [pod["phase"] for pod in self.fleet.pods(view["id"])] == ["Running"] * 2, what="its pods run together")
        self.fleet.end_pods(view)
        return self.ran(view, pods=2, attempt=2)

    def told(self, view):
        return json.dumps(self.fleet.events(view["id"]))

    def test_case_38_a_gang_that_has_no_room_any_more_leaves_whole_and_runs_on_another_member(self):
        view = self.fleet.submit(self.gang("gang", "40"))  # a node each
        name, _ = self.made(view)
        other, = set(self.fleet.members) - {name}
        self.lose(name, "node-2")
        for each in self.fleet.members:
            self.schedule(each)
        self.server.wait(lambda: "Unschedulable" in self.server.job(view["id"])["message"], what="Unschedulable in the message")
        self.server.wait(lambda: self.fleet.ledger.attempts(view["uid"]) == [1, 2], what="a second attempt", timeout=150)
        self.assertEqual(self.finish(view)["cluster"], other)
        self.assertIn("PodsReadyTimeout", self.told(view))
        self.assertEqual({pod.member for pod in self.fleet.ledger.of_job(view["uid"], attempt=2)}, {other})

    def test_case_38_a_gang_that_was_promised_the_node_is_placed_anew_at_once(self):
        self.server.run("muster", "cluster", "cordon", "member-2")
        self.addCleanup(self.server.run, "muster", "cluster", "uncordon", "member-2")
        self.declare("node-1", "node-2")
        manifest = at(self.gang("promised", "20"), "label:kueue.x-k8s.io/queue-name", "zoned")
        manifest["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] = "topology.kubernetes.io/zone"
        view = self.fleet.submit(manifest)
        _, item = self.made(view)
        lost = item["spec"]["template"]["spec"]["nodeSelector"]["kubernetes.io/hostname"]
        other, = {"node-1", "node-2"} - {lost}
        self.lose("member-1", lost)
        self.declare(other)  # whoever watches the machines says so
        self.server.wait(lambda: self.fleet.ledger.attempts(view["uid"]) == [1, 2], what="a second attempt")
        self.schedule("member-1")
        self.finish(view)
        self.assertIn(f"cannot leave unhealthy node(s): {lost}", self.told(view))
        pods = self.member.call("GET", f"{PODS}?labelSelector=muster.io/job-uid={view['uid']}")["items"]
        self.assertEqual([pod["spec"]["nodeName"] for pod in pods], [other, other])

    def declare(self, *names):
        """The machines of member-1, as an administrator or a controller of his tells them."""
        nodes = [self.member.call("GET", f"/api/v1/nodes/{name}") for name in names]
        told = json.dumps([{"name": each["metadata"]["name"], "labels": each["metadata"]["labels"],
                            "allocatable": {key: each["status"]["allocatable"][key] for key in ("cpu", "memory", "pods")}} for each in nodes])
        status, answer = self.server.call("PATCH", MEMBERS + "/member-1", {"metadata": {"annotations": {"muster.io/nodes": told}}}, MERGE)
        self.assertEqual(status, 200, answer)


if __name__ == "__main__":
    unittest.main()
