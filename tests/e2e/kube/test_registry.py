"""Members that come and go while musterd runs: added with their permissions checked, killed and found again, removed."""
import base64
import json
import os
import re
import stat
import unittest
import urllib.request

from fleet import QUEUES, Bed, Fleet
from kube_jobs import job

bed = None


def setUpModule():
    global bed
    bed = Bed("--clusters", "2", "--nodes", "2")
    unittest.addModuleCleanup(bed.close)


def read(*parts, binary=False):
    with open(os.path.join(bed.dir, *parts), "rb" if binary else "r", encoding=None if binary else "utf-8") as file:
        return file.read()


def inline(name, user="admin"):
    return bed.inline_kubeconfig(name, user)


class Registry(unittest.TestCase):
    """One daemon through all steps, in the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(bed, [], flags=["--local-cluster", "here,cpu=1m,memory=1Mi"], watched=["member-1", "member-2"])
        cls.addClassCleanup(cls.fleet.close)
        cls.server = cls.fleet.server
        cls.server.start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    def file(self, text, name="kubeconfig"):
        path = os.path.join(self.server.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def add(self, name, text, *words):
        return self.server.run("muster", "cluster", "add", name, "--kubeconfig", self.file(text), *words, check=False)

    def post(self, name, text, **more):
        return self.server.call("POST", "/v1/memberclusters", {"name": name, "kubeconfig": text, **more})

    def members(self):
        return [each["metadata"]["name"] for each in
                self.server.get("/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters")[1]["items"]]

    def joined(self, name):
        """Waits until it has told what it is: before that nothing speaks against it."""
        self.server.wait(lambda: self.server.get(f"/v1/memberclusters/{name}/facts")[1].get("kinds"), what=f"{name} takes part")
        self.fleet.wait_healthy(name)

    def secret(self, name):
        return self.server.call("GET", f"/api/v1/namespaces/muster-system/secrets/muster-member-{name}")

    def test_1_what_is_wrong_is_refused_at_once_and_nothing_is_stored(self):
        cases = {
            "names a file": (read("member-1", "kubeconfig"), "certificate-authority"),
            "has an exec plugin": (re.sub(r"token:.*", "exec: {apiVersion: client.authentication.k8s.io/v1, command: id}",
                                          inline("member-1")), "exec"),
            "another authority": (inline("member-1").replace(
                base64.b64encode(read("member-1", "pki", "ca.crt", binary=True)).decode(),
                base64.b64encode(read("member-2", "pki", "ca.crt", binary=True)).decode()), "certificate"),
            "nobody there": (re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", inline("member-1")), "connect"),
            "a token that is none": (re.sub(r"token:.*", "token: nonsense", inline("member-1")), "nauthorized"),
        }
        for what, (text, word) in cases.items():
            with self.subTest(what):
                status, answer = self.post("w1", text)
                self.assertEqual(status, 400, answer)
                self.assertIn(word, json.dumps(answer))
                self.assertNotIn(read("member-1", "admin.token").strip(), json.dumps(answer))
        status, answer = self.post("W_1", inline("member-1"))
        self.assertEqual((status, answer["errors"][0]["field"]), (400, "name"), answer)
        self.assertEqual(self.members(), ["here"])
        self.assertEqual(self.secret("w1")[0], 404)

    def test_2_a_user_without_rights_is_told_its_role_and_added_with_it(self):
        status, answer = self.post("w2", inline("member-2", "muster"))
        self.assertEqual(status, 400, answer)
        told = {each["field"]: each["message"] for each in answer["errors"]}
        self.assertIn("create, get, list, watch, patch and delete of jobs.batch", told["kubeconfig"])
        self.assertIn("get of pods/log", told["kubeconfig"])
        member = bed.member("member-2")
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        role = urllib.request.Request(f"{member.url}{rbac}/clusterroles", told["clusterRole"].encode(),
                                      {"Content-Type": "application/yaml"})
        with urllib.request.urlopen(role, context=member.admin) as made:  # as it is printed
            self.assertEqual(made.status, 201)
        member.call("POST", f"{rbac}/clusterrolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "muster"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "muster"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "muster"}]})
        self.server.wait(lambda: self.post("w2", inline("member-2", "muster"), labels={"zone": "b"})[0] in (201, 409),
                         what="the role is enough")
        self.joined("w2")
        ended = self.fleet.ends(self.fleet.submit(job("first", run="100ms"))["id"], "Succeeded")
        self.assertEqual(ended["cluster"], "w2")

    def test_3_the_command_says_what_the_cluster_is(self):
        said = self.add("w1", inline("member-1"), "--label", "zone=a").stdout
        self.assertRegex(said, r"membercluster/w1 added: Kubernetes v1\.\d+\S*, 2 nodes, serves Job, ")
        status, answer = self.post("again", inline("member-1"))
        self.assertEqual(status, 400, answer)
        self.assertIn("it is member cluster w1 already", json.dumps(answer))
        self.joined("w1")
        status, answer = self.post("again", inline("member-1"))
        self.assertIn("it is member cluster w1 already", json.dumps(answer))
        self.assertEqual(self.post("w1", inline("member-1"))[0], 409)
        path = os.path.join(self.server.dir, "members.d", "w1")
        modes = [stat.S_IMODE(os.stat(each).st_mode) for each in (path, os.path.join(path, "kubeconfig"))]
        self.assertEqual(modes, [0o700, 0o600])

    def test_4_killed_it_finds_its_members_and_what_runs_there(self):
        running = self.fleet.submit(job("long"))
        self.server.wait_state(running["id"], "Running")
        self.server.kill()
        self.server.start()
        for name in ("w1", "w2"):
            self.fleet.wait_healthy(name)
        self.assertEqual(self.server.job(running["id"])["attempt"], 1)
        on = self.server.job(running["id"])["cluster"]
        status, answer = self.server.call("DELETE", f"/v1/memberclusters/{on}")
        self.assertIn(f"runs jobs, such as job {running['id']}", json.dumps(answer))
        self.assertNotEqual(status, 200)
        self.fleet.end_pods(running)
        self.fleet.ends(running["id"], "Succeeded")

    def test_5_a_secret_that_goes_is_said_and_comes_back(self):
        status, kept = self.secret("w1")
        self.assertEqual(status, 200)
        self.server.call("DELETE", "/api/v1/namespaces/muster-system/secrets/muster-member-w1")
        self.assertIn("Secret", self.fleet.wait_healthy("w1", healthy=False))
        for key in ("resourceVersion", "uid", "creationTimestamp", "generation"):
            kept["metadata"].pop(key, None)
        self.assertEqual(self.server.call("POST", "/api/v1/namespaces/muster-system/secrets", kept)[0], 201)
        self.fleet.wait_healthy("w1")

    def test_6_one_is_removed_and_comes_again_under_another_name(self):
        self.server.run("muster", "cluster", "cordon", "w2")
        # Their ends and the removal come together.
        last = [self.fleet.submit(job(f"last-{number}", run="2s"))["id"] for number in range(8)]
        for each in last:
            self.server.wait(lambda: self.server.job(each)["state"] in ("Running", "Succeeded"), what=f"{each} runs")
        def goes():
            status, answer = self.server.call("DELETE", "/v1/memberclusters/w1")
            if status != 200:
                self.assertRegex(json.dumps(answer), "runs jobs|holds? objects of")
            return status == 200
        self.server.wait(goes, what="w1 goes")
        self.server.run("muster", "cluster", "uncordon", "w2")
        left = bed.member("member-1").call("GET", "/apis/batch/v1/jobs")["items"]
        self.assertGreaterEqual(len(left), 8)
        self.assertEqual([each["metadata"]["name"] for each in left if each["metadata"].get("finalizers")], [])
        self.assertEqual(self.members(), ["here", "w2"])
        self.assertEqual(self.secret("w1")[0], 404)
        folder = os.path.join(self.server.dir, "members.d", "w1")
        self.server.wait(lambda: not os.path.exists(folder), what="its kubeconfig goes")
        self.assertIn("w9 added", self.add("w9", inline("member-1")).stdout)
        self.joined("w9")
        status, answer = self.server.call("DELETE", "/v1/memberclusters/here")
        self.assertIn("is declared by a flag", json.dumps(answer))
        self.assertNotEqual(status, 200)

    def test_7_a_manifest_that_names_a_secret_is_a_member(self):
        self.server.run("muster", "cluster", "remove", "w9")
        encoded = base64.b64encode(inline("member-1").encode()).decode()
        self.server.run("muster", "apply", "-f", "-", stdin=f"""
apiVersion: v1
kind: Secret
metadata: {{name: way-to-m, namespace: default}}
data: {{kubeconfig: {encoded}}}
---
apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata: {{name: m, annotations: {{muster.io/kubeconfig-secret: default/way-to-m}}}}
""")
        self.joined("m")
        self.server.run("muster", "apply", "-f", "-", stdin="""
apiVersion: v1
kind: Namespace
metadata: {name: brought}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: brings}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: brought}]
  policy: {placementType: PickFixed, clusterNames: [m]}
""")
        path = "/apis/placement.kubernetes-fleet.io/v1beta1/clusterresourceplacements/brings"
        self.server.wait(lambda: any(each["type"] == "ClusterResourcePlacementApplied" and each["status"] == "True"
                                     for each in self.server.get(path)[1].get("status", {}).get("conditions", [])),
                         what="the namespace is on m")
        self.assertIn("m removed; 1 configuration object of 1 placement stays there",
                      self.server.run("muster", "cluster", "remove", "m"))
        self.assertEqual(bed.member("member-1").status_of("GET", "/api/v1/namespaces/brought"), 200)
        self.assertEqual(self.server.get("/api/v1/namespaces/default/secrets/way-to-m")[0], 200)

    def test_8_one_that_is_lost_goes_by_force_with_what_it_runs(self):
        running = self.fleet.submit(job("lost"))
        self.server.wait_state(running["id"], "Running")
        self.assertEqual(self.server.job(running["id"])["cluster"], "w2")
        refused = self.server.run("muster", "cluster", "remove", "w2", "--force", check=False)
        self.assertIn("runs jobs", refused.stderr, "it answers: what it runs would go on")
        bed.call("kill", "apiserver", "--cluster", "member-2")
        try:
            self.fleet.wait_healthy("w2", healthy=False)
            self.assertNotEqual(self.server.run("muster", "cluster", "remove", "w2", check=False).returncode, 0)
            self.server.run("muster", "cluster", "remove", "w2", "--force")
            self.assertEqual(self.members(), ["here"])
            self.server.wait(lambda: self.server.job(running["id"])["state"] in ("Failed", "Pending"),
                             what=f"the job is given up, was {self.server.job(running['id'])}")
        finally:
            bed.call("start", "apiserver", "--cluster", "member-2")

    def test_9_no_secret_is_in_the_log(self):
        for secret in (read("member-1", "admin.token").strip(), read("member-2", "muster.token").strip()):
            self.assertNotIn(secret, self.server.log())


if __name__ == "__main__":
    unittest.main()
