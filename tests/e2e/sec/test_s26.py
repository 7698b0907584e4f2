"""S26: the rights that a member gives Muster are a committed list; a member in strange hands changes nothing of other members' jobs.

What every kind of report of such a member would do is tried in tests/unit/engine/dispatch_cases_test.cc (S26_...); here a member that
speaks Kubernetes' API has an object that a copy of another member's is made of, and its owner lets it run, fail, succeed and go.
"""
import copy
import json
import os
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import yaml

from member_role import Member
from muster_server import BIN, PATIENCE, QUEUES, SOURCE, Server, shell_job

FAKE_MEMBER = os.path.join(os.path.dirname(BIN.rstrip("/")), "tests", "muster-fake-member")
JOBS = "apis/batch/v1/namespaces/default/jobs"


class Rights(unittest.TestCase):
    def test_the_printed_role_is_the_committed_list(self):
        server, member = Server(["--local-cluster", "east,cpu=1,memory=1Gi"]).start(), Member()
        self.addCleanup(server.close)
        self.addCleanup(member.close)
        with open(f"{server.dir}/kubeconfig", "w", encoding="utf-8") as file:
            file.write(member.kubeconfig)
        refused = server.run("muster", "cluster", "add", "west", "--kubeconfig", f"{server.dir}/kubeconfig", check=False)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        role = yaml.safe_load(refused.stderr[refused.stderr.index("apiVersion: rbac"):])
        self.assertEqual((role["kind"], role["metadata"]), ("ClusterRole", {"name": "muster"}))
        with open(os.path.join(SOURCE, "tests/e2e/sec/member_rights.yaml"), encoding="utf-8") as file:
            committed = yaml.safe_load(file)
        self.assertEqual(role["rules"], committed)
        rights = [(group, resource, verb) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
                  for verb in rule["verbs"]]
        wrong = [right for right in rights if any("*" in part for part in right) or right[:2] == ("", "secrets") and right[2] in ("list", "watch")
                 or right[0] == "rbac.authorization.k8s.io" or right[1] in ("serviceaccounts/token", "pods/exec", "pods/attach", "nodes/proxy")
                 or right[2] in ("escalate", "bind", "impersonate")]
        print(f"\nS26: {len(role['rules'])} rules, {len(set(rights))} rights, {len(wrong)} too many")
        self.assertEqual(wrong, [])


class Forged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="muster-s26-", dir="/tmp")
        cls.members = subprocess.Popen([FAKE_MEMBER, "--kubeconfig-dir", cls.place, "--members", "2", "--nodes", "2"], stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end_members)
        paths = [cls.members.stdout.readline().strip() for _ in range(2)]
        cls.urls = {}
        for name, path in zip(("honest", "strange"), paths):
            with open(path, encoding="utf-8") as file:
                cls.urls[name] = "http://127.0.0.1:" + file.read().rpartition("127.0.0.1:")[2].split()[0]
        cls.server = Server([word for name, path in zip(("honest", "strange"), paths) for word in ("--member-cluster", f"{name},kubeconfig={path}")])
        cls.server.start()
        cls.addClassCleanup(cls.server.close)
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    @classmethod
    def end_members(cls):
        cls.members.terminate()
        cls.members.communicate()
        subprocess.run(["rm", "-rf", cls.place], check=True)

    def owner(self, member, method, path, body=None, content_type="application/json"):
        """(status, answer) of a request of the member's owner."""
        request = urllib.request.Request(f"{self.urls[member]}/fake/user/{path}", None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": content_type}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace")

    def test_a_forged_object_of_another_members_job_changes_nothing(self):
        server = self.server
        server.run("muster", "cluster", "cordon", "strange")
        job = shell_job("target", "true")
        job["spec"]["template"]["metadata"] = {"annotations": {"bed.test/run": "3600s"}}
        status, submitted = server.call("POST", "/v1/namespaces/default/jobs", job)
        self.assertEqual(status, 201, submitted)
        before = server.wait_state(submitted["id"], "Running")
        self.assertEqual(before["cluster"], "honest")
        real = self.owner("honest", "GET", JOBS)[1]["items"][0]
        forged = copy.deepcopy(real)
        for field in ("resourceVersion", "creationTimestamp", "generation", "managedFields"):
            forged["metadata"].pop(field, None)
        forged["spec"].pop("selector", None)
        self.assertTrue(any("muster" in key for key in forged["metadata"]["labels"]), forged["metadata"])
        times = {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:01Z"}
        complete = {"type": "Complete", "status": "True"}
        ends = [{"active": 1}, {"succeeded": 1, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, complete], **times},
                {"failed": 1, "conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True", "reason": "Error",
                                                                                          "message": "forged"}]},
                {"conditions": [{"type": "Suspended", "status": "True"}]}]
        tried = 0
        place = f"{JOBS}/{forged['metadata']['name']}"
        for status_of in ends:
            made, answer = self.owner("strange", "POST", JOBS, forged)
            self.assertEqual(made, 201, answer)
            patched, answer = self.owner("strange", "PATCH", f"{place}/status", {"status": status_of}, "application/merge-patch+json")
            self.assertEqual(patched, 200, answer)
            for field in ("succeeded", "failed"):
                self.assertEqual(answer["status"].get(field), status_of.get(field))
            tried += 1
            time.sleep(1.5)  # a watch and a round of facts
            self.unchanged(before)
            # Also when the object goes, with whatever holds it.
            self.owner("strange", "PATCH", place, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            self.owner("strange", "DELETE", f"{place}?propagationPolicy=Background")
            server.wait(lambda: self.owner("strange", "GET", place)[0] == 404, what="the forged object goes")
            time.sleep(0.5)
            self.unchanged(before)
        print(f"\nS26: {tried} forged objects of another member's job, 0 changed it")
        now = self.owner("honest", "GET", JOBS)[1]["items"]
        self.assertEqual([each["metadata"]["uid"] for each in now], [real["metadata"]["uid"]])

    def unchanged(self, before):
        now = self.server.job(before["id"])
        for field in ("state", "reason", "message", "cluster", "attempt", "admitTime", "startTime", "endTime", "exitCode"):
            self.assertEqual(now[field], before[field], field)


if __name__ == "__main__":
    unittest.main()
