"""S31: every route that may change something has rows in the audit trail, and nobody changes the trail.

The list of routes is the OpenAPI document's: a route without a case here fails the test. Each request that is sent here has a row
with principal, verb, object and result, also when it is refused or fails.
"""
import json
import os
import subprocess
import unittest

import yaml

from muster_server import PATIENCE, QUEUES, SOURCE, Server, psql, shell_job, sql

KUEUE = "/apis/kueue.x-k8s.io/v1beta1"
MERGE = {"Content-Type": "application/merge-patch+json"}
# They are sent by POST and change nothing.
CHANGES_NOTHING = {("post", "/v1/simulate")} | {("post", f"/apis/{path}") for path in (
    "authentication.k8s.io/v1/selfsubjectreviews", "authentication.k8s.io/v1/tokenreviews",
    "authorization.k8s.io/v1/selfsubjectaccessreviews", "authorization.k8s.io/v1/selfsubjectrulesreviews",
    "authorization.k8s.io/v1/subjectaccessreviews", "authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews")}


def flavor(name, **labels):
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {"nodeLabels": labels}}


def local_queue(name, queue="main"):
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": name, "namespace": "default"},
            "spec": {"clusterQueue": queue}}


def namespace(name, **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def limit_range(name, cpu):
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name, "namespace": "default"},
            "spec": {"limits": [{"type": "Container", "max": {"cpu": cpu}}]}}


def cases(held):
    """By route: the path that is asked, the body, and further headers. `held`: the numbers of held jobs."""
    job, other = f"/v1/jobs/{held[0]}", f"/v1/jobs/{held[1]}"
    core, inner = "/api/v1/namespaces", "/api/v1/namespaces/default/limitranges"
    flavors, queues = f"{KUEUE}/resourceflavors", f"{KUEUE}/namespaces/default/localqueues"
    return {
        ("post", "/v1/namespaces/{namespace}/jobs"): ("/v1/namespaces/default/jobs", shell_job("audited", "true"), {}),
        ("post", "/v1/namespaces/{namespace}/jobs:batch"): (
            "/v1/namespaces/default/jobs:batch", [shell_job("first", "true"), shell_job("second", "true"), {"kind": "Nothing"}], {}),
        ("post", "/v1/tokens"): ("/v1/tokens", {"user": "ann", "ttl": 60}, {}),
        ("post", "/v1/apply"): ("/v1/apply", flavor("applied"), {}),
        ("post", "/v1/jobs/{id}:hold"): (f"{job}:hold", {}, {}),
        ("post", "/v1/jobs/{id}:release"): (f"{job}:release", {}, {}),
        ("post", "/v1/jobs/{id}:requeue"): (f"{other}:requeue", {}, {}),
        ("post", "/v1/jobs/{id}:nominate"): (f"{other}:nominate", {"clusters": ["east"]}, {}),
        ("post", "/v1/jobs/{id}:suspend"): (f"{other}:suspend", {}, {}),
        ("post", "/v1/jobs/{id}:resume"): (f"{other}:resume", {}, {}),
        ("post", "/v1/jobs/{id}:keep"): (f"{other}:keep", {}, {}),
        ("post", "/v1/jobs/{id}:update"): (f"{other}:update", {"comment": "audited"}, {}),
        ("post", "/v1/jobs/{id}:signal"): (f"{other}:signal", {"signal": "USR1"}, {}),
        ("post", "/v1/jobs/{id}:notify"): (f"{other}:notify", {"message": "hello"}, {}),
        ("delete", "/v1/jobs/{id}"): (other, None, {}),
        ("post", "/v1/quotas"): ("/v1/quotas", {"clusterQueue": "main", "flavor": "standard", "resource": "cpu", "nominal": "2"}, {}),
        ("post", "/v1/memberclusters"): ("/v1/memberclusters", {"name": "away", "kubeconfig": "no kubeconfig"}, {}),
        ("delete", "/v1/memberclusters/{name}"): ("/v1/memberclusters/nobody", None, {}),
        ("post", "/v1/memberclusters/{name}:cordon"): ("/v1/memberclusters/west:cordon", {}, {}),
        ("post", "/v1/memberclusters/{name}:uncordon"): ("/v1/memberclusters/west:uncordon", {}, {}),
        ("post", "/v1/memberclusters/{name}:fence"): ("/v1/memberclusters/west:fence", {}, {}),
        ("post", "/v1/memberclusters/{name}:collect"): ("/v1/memberclusters/west:collect", {}, {}),
        ("post", "/v1/memberclusters/{name}:drain"): ("/v1/memberclusters/west:drain", {}, {}),
        ("post", "/api/v1/{plural}"): (core, namespace("audited"), {}),
        ("put", "/api/v1/{plural}/{name}"): (f"{core}/audited", namespace("audited", team="a"), {}),
        ("patch", "/api/v1/{plural}/{name}"): (f"{core}/audited", {"metadata": {"labels": {"team": "b"}}}, MERGE),
        ("put", "/api/v1/{plural}/{name}/status"): (f"{core}/audited/status", namespace("audited"), {}),
        ("patch", "/api/v1/{plural}/{name}/status"): (f"{core}/audited/status", {"status": {}}, MERGE),
        ("delete", "/api/v1/{plural}/{name}"): (f"{core}/audited", None, {}),
        ("post", "/api/v1/namespaces/{namespace}/{plural}"): (inner, limit_range("audited", "8"), {}),
        ("put", "/api/v1/namespaces/{namespace}/{plural}/{name}"): (f"{inner}/audited", limit_range("audited", "9"), {}),
        ("patch", "/api/v1/namespaces/{namespace}/{plural}/{name}"): (
            f"{inner}/audited", {"metadata": {"labels": {"team": "b"}}}, MERGE),
        ("put", "/api/v1/namespaces/{namespace}/{plural}/{name}/status"): (f"{inner}/audited/status", limit_range("audited", "9"), {}),
        ("patch", "/api/v1/namespaces/{namespace}/{plural}/{name}/status"): (f"{inner}/audited/status", {"status": {}}, MERGE),
        ("delete", "/api/v1/namespaces/{namespace}/{plural}/{name}"): (f"{inner}/audited", None, {}),
        ("post", "/apis/{group}/{version}/{plural}"): (flavors, flavor("audited"), {}),
        ("put", "/apis/{group}/{version}/{plural}/{name}"): (f"{flavors}/audited", flavor("audited", room="a"), {}),
        ("patch", "/apis/{group}/{version}/{plural}/{name}"): (f"{flavors}/audited", {"spec": {"nodeLabels": {"room": "b"}}}, MERGE),
        ("put", "/apis/{group}/{version}/{plural}/{name}/status"): (f"{flavors}/audited/status", flavor("audited"), {}),
        ("patch", "/apis/{group}/{version}/{plural}/{name}/status"): (f"{flavors}/audited/status", {"status": {}}, MERGE),
        ("delete", "/apis/{group}/{version}/{plural}/{name}"): (f"{flavors}/audited", None, {}),
        ("post", "/apis/{group}/{version}/namespaces/{namespace}/{plural}"): (queues, local_queue("audited"), {}),
        ("put", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}"): (
            f"{queues}/audited", {**local_queue("audited"), "metadata": {"name": "audited", "namespace": "default", "labels": {"a": "b"}}}, {}),
        ("patch", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}"): (
            f"{queues}/audited", {"metadata": {"labels": {"a": "c"}}}, MERGE),
        ("put", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}/status"): (f"{queues}/audited/status", local_queue("audited"), {}),
        ("patch", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}/status"): (f"{queues}/audited/status", {"status": {}}, MERGE),
        ("delete", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}"): (f"{queues}/audited", None, {}),
    }


class AuditTrail(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.addClassCleanup(cls.server.close)
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        cls.user = cls.rows()[-1]["user"]

    @classmethod
    def rows(cls, after=0):
        return cls.server.get(f"/v1/audit?page_token={after}&limit=10000")[1]["items"]

    @classmethod
    def rows_of_request(cls, after):
        """The rows after this number; those of refusals come with the next transaction."""
        def mine():
            return [row for row in cls.rows(after) if row["object"] != "audit.muster.io"]
        return cls.server.wait(mine, what=f"a row after {after}")

    def check(self, what, rows):
        row = rows[-1]
        self.assertEqual(row["user"], self.user, what)
        self.assertTrue(row["method"] and row["verb"] and row["object"], (what, row))
        self.assertIn(row["result"], ("allowed", "refused", "failed"), what)
        self.assertEqual(row["code"] == "OK", row["result"] == "allowed", (what, row))

    def test_every_route_that_changes_something_has_its_row(self):
        with open(os.path.join(SOURCE, "api/openapi/muster.v1.yaml"), encoding="utf-8") as file:
            paths = yaml.safe_load(file)["paths"]
        routes = {(method, path) for path, methods in paths.items() for method in methods if method in ("post", "put", "patch", "delete")}
        held = []
        for name in ("held-1", "held-2"):
            status, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job(name, "true", suspend=True))
            self.assertIn(status, (200, 201), job)
            held.append(job["id"])
        known = cases(held)
        self.assertEqual(routes - CHANGES_NOTHING - set(known), set(), "these routes have no case")
        self.assertEqual(set(known) - routes, set(), "these cases have no route")
        total = 0
        for (method, path), (target, body, headers) in known.items():
            after = self.rows()[-1]["id"]
            status, answer = self.server.call(method.upper(), target, body, headers=headers)
            self.assertNotIn(status, (0, 429, 500, 503), (method, target, answer))
            rows = self.rows_of_request(after)
            self.check((method, path, status, answer), rows)
            if status < 300:
                self.assertTrue([row for row in rows if row["result"] == "allowed"], (method, path, rows))
            else:
                self.assertNotEqual(rows[-1]["result"], "allowed", (method, path, status, rows))
            total += len(rows)
        after = self.rows()[-1]["id"]
        self.server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "31")
        self.check("SetQuota", self.rows_of_request(after))
        self.assertIn("whole", self.server.run("muster", "audit", "--verify"))
        print(f"\nS31: {len(known) + 1} routes, {total + 1} rows")

    def test_the_daemons_own_connection_may_not_change_the_trail(self):
        before = len(self.rows())
        for statement in ("update audit set user_name = 'eve'", "delete from audit", "truncate audit", "delete from audit_anchor"):
            done = subprocess.run([*psql(self.server), "-c", statement], capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertNotEqual(done.returncode, 0, statement)
        self.assertGreaterEqual(len(self.rows()), before)

    def test_z_a_changed_row_is_found(self):
        """Whoever may take the triggers away still cannot do it unseen. Runs last: the trail is broken after it."""
        sql(self.server, "begin; alter table audit disable trigger all; update audit set verb = 'nothing' where id = "
                         "(select min(id) + 1 from audit where octet_length(hash) > 0); alter table audit enable trigger all; commit")
        checked = self.server.run("muster", "audit", "--verify", check=False)
        self.assertEqual(checked.returncode, 1, checked.stdout)
        self.assertIn("was changed", checked.stderr)

    def test_the_trail_leaves_as_json_lines(self):
        status, text = self.server.get("/v1/audit?format=jsonl&verb=create")
        self.assertEqual(status, 200)
        lines = [json.loads(line) for line in text.splitlines()] if isinstance(text, str) else [text]
        self.assertTrue(lines and all(line["verb"] == "create" for line in lines))


if __name__ == "__main__":
    unittest.main()
