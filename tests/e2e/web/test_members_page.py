"""The web page with real Kubernetes members (tests/kubebed): what drifted and failed there, machines, taints, a drain with its budget, logs of all pods.
The stories are stories_members.mjs."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kube"))
from fleet import Bed, Fleet  # noqa: E402  pylint: disable=wrong-import-position
from kube_jobs import at, job  # noqa: E402  pylint: disable=wrong-import-position
from propagation import NAMESPACES, Propagation, config_map, namespace, placement, selector  # noqa: E402  pylint: disable=wrong-import-position

SOURCE = os.environ["MUSTER_SOURCE"]
MAPS = NAMESPACES + "/team/configmaps"
PODS = 5


def maps(name, **strategy):
    """A placement in the team's namespace of the ConfigMap of its name."""
    return placement(name, [selector("", "ConfigMap", name)], "team", {"applyStrategy": strategy})


class MembersPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.web = subprocess.run([f"{SOURCE}/scripts/web_tools.sh"], check=True, capture_output=True, text=True).stdout.strip()
        bed = Bed("--clusters", "2", "--nodes", "4")
        cls.addClassCleanup(bed.close)
        cls.fleet = Fleet(bed, ["member-1", "member-2"])
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.all = Propagation(cls.fleet)
        cls.make_trouble()
        cls.make_jobs()

    @classmethod
    def make_trouble(cls):
        """A ConfigMap that somebody changed by hand on member-2, and one that was on member-1 before and is not taken over."""
        cls.all.apply(namespace("team"), placement("team", [selector("", "Namespace", "team", selectionScope="NamespaceOnly")]))
        cls.all.wait_on(NAMESPACES + "/team")
        cls.all.members["member-1"].call("POST", MAPS, config_map("not-ours", "team", a="before"))
        drifts, fails = maps("settings", whenToApply="IfNotDrifted"), maps("not-ours", whenToTakeOver="Never")
        cls.all.apply(config_map("settings", "team", a="1"), config_map("not-ours", "team", a="1"), drifts, fails)
        cls.all.wait_on(f"{MAPS}/settings")
        cls.all.patch("member-2", f"{MAPS}/settings", {"data": {"a": "by hand"}})
        for one in (drifts, fails):
            cls.all.wait_condition(one, "Applied", "False", "ApplyFailed")

    @classmethod
    def make_jobs(cls):
        """Two jobs that a budget keeps on their member, and one with more pods than the page follows at once."""
        server = cls.fleet.server
        cls.all.apply(placement("kept", [selector("batch", "Job", f"kept-{i}") for i in range(2)], "default", placementType="PickN", numberOfClusters=1))
        server.run("muster", "cluster", "taint", "member-2", "bed=out:NoSchedule")
        for name in ("kept-0", "kept-1"):
            cls.fleet.submit(at(job(name), "label:kueue.x-k8s.io/queue-name", "default"))
        many = cls.fleet.submit(at(job("talkative", pods=PODS), "label:kueue.x-k8s.io/queue-name", "default"))
        for one in server.jobs():
            server.wait_state(one["id"], "Running")
        server.wait(lambda: len(server.get(f"/v1/jobs/{many['id']}/pods")[1]["items"]) == PODS, what="all pods are there")
        server.run("muster", "apply", "-f", "-", stdin="apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ResourcePlacementDisruptionBudget\n"
                   "metadata: {name: kept, namespace: default}\nspec: {minAvailable: 2}\n")

    def test_stories(self):
        run = subprocess.run(["node", f"{SOURCE}/tests/e2e/web/stories_members.mjs", self.fleet.server.url()], capture_output=True, text=True,
                             timeout=300, check=False, env={**os.environ, "MUSTER_WEB": self.web})
        print(run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
