"""S01: without credentials every route and every gRPC method is refused, but for health."""
import glob
import os
import re
import subprocess
import unittest

from callers import ask
from muster_server import BIN, SOURCE, Server

OPEN = {"/livez", "/healthz", "/readyz"}
# The files of the web page hold nothing of the daemon.
PAGE = "/ui"


def routes():
    """(method, path) of every operation in the OpenAPI document, with names for the parameters."""
    out, path = [], None
    with open(f"{SOURCE}/api/openapi/muster.v1.yaml", encoding="utf-8") as document:
        for line in document:
            if found := re.match(r"^  (/\S*):$", line):
                path = found[1]
            elif found := re.match(r"^    (get|post|put|patch|delete):$", line):
                if path:
                    out.append((found[1].upper(), re.sub(r"\{(\w+)\}", lambda m: {
                        "group": "kueue.x-k8s.io", "version": "v1beta1", "plural": "workloads", "id": "1"}.get(m[1], "default"), path)))
            elif re.match(r"^\S", line):
                path = None
    return out


def methods():
    """Every method of muster.v1, as /PACKAGE.SERVICE/METHOD."""
    out = []
    for name in sorted(glob.glob(f"{SOURCE}/api/proto/muster/v1/*.proto")):
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for service, body in re.findall(r"^service (\w+) \{(.*?)^\}", text, re.S | re.M):
            out += [f"/muster.v1.{service}/{method}" for method in re.findall(r"rpc (\w+)", body)]
    return out


class Unknown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(flags=["--loopback-peers", "false", "--local-cluster", "east,cpu=1,memory=1Gi"])
        cls.server.launch()
        ready = cls.server.wait(lambda: cls.server.logged("ready"), what="musterd is not ready")
        cls.server.port, cls.server.grpc_port = ready["rest_port"], ready["grpc_port"]

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.server.close()

    def test_every_route_but_health_and_the_page_is_401(self):
        asked = let_in = 0
        for method, path in routes():
            status, answer = ask(self.server, "tcp", method, path, body=None if method == "GET" else {})
            asked += 1
            if path in OPEN:
                self.assertEqual(status, 200, path)
                continue
            if path == PAGE or path.startswith(PAGE + "/"):
                self.assertIn(status, (200, 404), path)
                continue
            let_in += status != 401
            self.assertEqual(status, 401, (method, path, answer))
            if path.startswith("/api"):
                self.assertEqual((answer["kind"], answer["reason"]), ("Status", "Unauthorized"), path)
        self.assertGreaterEqual(asked, 60)
        # The same server knows its own account on the socket.
        self.assertEqual(ask(self.server, "unix", "GET", "/v1/whoami")[0], 200)
        print(f"\nS01: {asked} routes without credentials, {let_in} let in")

    def test_every_grpc_method_is_unauthenticated(self):
        caller = os.path.join(BIN, "muster-grpc-caller")
        self.assertTrue(os.path.exists(caller), "built by this directory")
        done = subprocess.run([caller, f"127.0.0.1:{self.server.grpc_port}", *methods()], capture_output=True, text=True, check=False, timeout=120)
        lines = done.stdout.split("\n")[:-1]
        self.assertEqual(len(lines), len(methods()), done)
        self.assertGreaterEqual(len(lines), 20)
        let_in = [line for line in lines if not line.endswith(" 16")]
        print(f"\nS01: {len(lines)} gRPC methods without credentials, {len(let_in)} let in")
        self.assertEqual(let_in, [])


if __name__ == "__main__":
    unittest.main()
