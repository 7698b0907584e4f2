"""The web page: how it is served, and its stories in Debian's Chromium (stories.mjs) against real jobs."""
import gzip
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sec"))
from muster_server import SOURCE, Server  # noqa: E402  pylint: disable=wrong-import-position
from ports import free_port  # noqa: E402  pylint: disable=wrong-import-position
import providers  # noqa: E402  pylint: disable=wrong-import-position

QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: vision}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: standard}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
spec:
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: standard
      resources: [{name: cpu, nominalQuota: 4}, {name: memory, nominalQuota: 8Gi}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: main, namespace: vision}
spec: {clusterQueue: team}
"""


def job(name, command, cpu="1", pods=1):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
            "spec": {"suspend": True, "backoffLimit": 0, "parallelism": pods, "completions": pods, "completionMode": "Indexed",
                     "template": {"spec": {"restartPolicy": "Never", "containers": [
                         {"name": "main", "image": "debian:12", "command": ["/bin/sh", "-c", command],
                          "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]}}}}


HOSTILE = "<img src=x onerror=alert(1)>\"'`${7*7}</script><script>alert(2)</script>"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.web = subprocess.run([f"{SOURCE}/scripts/web_tools.sh"], check=True, capture_output=True, text=True).stdout.strip()
        cls.server = Server(["--local-cluster", "east,cpu=32,memory=64Gi"]).start()
        cls.addClassCleanup(cls.server.close)
        status, answer = cls.server.call("POST", "/v1/apply", QUEUES, "application/yaml")
        assert status == 200, answer
        wanted = [job("printing", "i=0; while true; do echo step $i of pod $JOB_COMPLETION_INDEX; i=$((i+1)); sleep 1; done", "1", 2),
                  job("too-large", "true", "3"), job("ended", "echo all done"), job("failing", "echo broken >&2; exit 3")]
        for one in wanted:
            status, answer = cls.server.call("POST", "/v1/namespaces/vision/jobs", one)
            assert status == 201, answer
        for index in range(6):
            status, answer = cls.server.call("POST", "/v1/namespaces/vision/jobs", job(f"waiting-{index}", "true", "4"))
            assert status == 201, answer
        script = {"script": f"#!/bin/sh\nprintf '%s\\n' '{HOSTILE.replace(chr(39), '')}'\n", "name": HOSTILE[:60], "queue": "main"}
        status, answer = cls.server.call("POST", "/v1/namespaces/vision/jobs", script)
        assert status == 201, answer
        ended = {"ended": "Succeeded", "failing": "Failed", "printing": "Running"}
        cls.server.wait(lambda: all(one["state"] == ended.get(one["name"], one["state"]) for one in cls.server.jobs()),
                        what="the jobs come to where the stories expect them")

    def ask(self, path, headers=None, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def test_1_how_it_is_served(self):
        answer, page = self.ask("/ui/")
        self.assertEqual(answer.status, 200)
        self.assertIn(b'<div id="app">', page)
        for address in ("/ui", "/ui/jobs", "/ui/jobs/7", "/ui/queues/team/edit"):
            self.assertEqual(self.ask(address)[1], page)
        self.assertEqual(answer.headers["Cache-Control"], "no-cache")
        policy = answer.headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
        packed, body = self.ask("/ui/", {"Accept-Encoding": "gzip;q=0.5, br;q=0"})
        self.assertEqual((packed.headers["Content-Encoding"], gzip.decompress(body)), ("gzip", page))
        self.assertEqual(packed.headers["Vary"], "Accept-Encoding")
        self.assertNotEqual(packed.headers["ETag"], answer.headers["ETag"])
        same, body = self.ask("/ui/", {"If-None-Match": answer.headers["ETag"]})
        self.assertEqual((same.status, body), (304, b""))
        script = page.decode().split('src="')[1].split('"')[0]
        kept, body = self.ask(script, {"Accept-Encoding": "br"})
        self.assertEqual((kept.status, kept.headers["Content-Encoding"]), (200, "br"))
        self.assertIn("immutable", kept.headers["Cache-Control"])
        self.assertLess(len(body), 120 << 10)
        self.assertEqual(self.ask("/ui/assets/none.js")[0].status, 404)
        self.assertEqual(self.ask("/ui/", {"Host": "evil.example"})[0].status, 403)
        self.assertEqual(self.ask("/ui/", {"Origin": "http://evil.example"})[0].status, 403)
        self.assertEqual(self.ask("/ui/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"})[0].status, 403)
        self.assertEqual(self.ask("/ui/", method="POST")[0].status, 405)

    def test_2_tables_of_jobs(self):
        def rows(query):
            status, answer = self.server.get(f"/v1/jobs?fields=name,id&{query}")
            self.assertEqual(status, 200, answer)
            return [one["name"] for one in answer["items"]], answer.get("total")
        names, total = rows("sort=name&search=waiting&limit=2&offset=1")
        self.assertEqual((names, total), (["waiting-1", "waiting-2"], 6))
        self.assertEqual(rows("sort=-name&search=WAITING&limit=1")[0], ["waiting-5"])
        self.assertEqual(rows("search=waiting-3-pod0")[0], ["waiting-3"])
        uid = next(one["uid"] for one in self.server.jobs() if one["name"] == "ended")
        self.assertEqual(rows(f"search={uid[:13]}")[0], ["ended"])
        self.assertEqual(self.server.get("/v1/jobs?sort=colour")[0], 400)
        self.assertEqual(self.server.get("/v1/jobs?sort=name&page_token=after-1")[0], 400)
        counts = self.server.get("/v1/jobcounts?by=state&search=ed")[1]
        self.assertEqual([one["value"] for one in counts["groups"]], ["Succeeded"])
        self.assertEqual(self.server.get("/v1/jobcounts?by=submitTime")[0], 400)
        number = next(one["id"] for one in self.server.jobs() if one["name"] == "printing")
        both = self.server.get(f"/v1/jobs/{number}/manifest")[1]
        self.assertTrue(both["submitted"]["spec"]["suspend"])
        self.assertFalse(both["sent"][0]["spec"]["suspend"])
        waits = next(one["id"] for one in self.server.jobs() if one["name"] == "waiting-0")
        self.assertIsNone(self.server.get(f"/v1/jobs/{waits}/manifest")[1]["sent"])

    def test_4_sign_in_at_a_provider(self):
        provider = providers.Provider()
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as config:
            config.write(f"oidc:\n- name: corp\n  issuer: {provider.issuer}\n  audience: muster-web\n  web-client: muster-web\n")
            config.flush()
            server = Server(["--config", config.name, "--local-cluster", "east,cpu=4,memory=8Gi"]).start()
            # With a provider nobody is known by the loopback address alone, so nothing but the process has to be ended.
            self.addCleanup(shutil.rmtree, server.dir, ignore_errors=True)
            self.addCleanup(server.stop)
            # Tokens that end soon, so that the page has to renew them.
            provider.start("web", server.url() + "/ui/signed-in", id_token_seconds=8)
            self.addCleanup(provider.stop)
            run = subprocess.run(["node", f"{SOURCE}/tests/e2e/web/sign_in.mjs", server.url(), provider.issuer], capture_output=True, text=True,
                                 timeout=120, check=False, env={**os.environ, "MUSTER_WEB": self.web})
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def stories(self, **more):
        status, token = self.server.call("POST", "/v1/tokens", {"user": "bob", "groups": [], "ttl": 600})
        self.assertEqual(status, 201, token)
        run = subprocess.run(["node", f"{SOURCE}/tests/e2e/web/stories.mjs", self.server.url()], capture_output=True, text=True, timeout=500, check=False,
                             env={**os.environ, "MUSTER_WEB": self.web, "BOBS_TOKEN": token["token"], "HOSTILE": HOSTILE[:60], "LINE_PORT": str(free_port()), "SCREENS": "", **more})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        print(run.stdout)

    def test_3_stories(self):
        # The pictures show the jobs as they were before the stories.
        if screens := os.environ.get("SCREENS"):
            self.stories(STORY="every view fits its window", SCREENS=screens)
        self.stories()


if __name__ == "__main__":
    unittest.main()
