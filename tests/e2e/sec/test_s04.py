"""S04: a credential or a right that is taken away while streams are open: all of them end, and it is refused from then on.

A revoked token and a binding that is gone are asked about every two seconds: within 5 s. Lists of revoked certificates are read every
three seconds, and what the name service says is believed for half a minute.
"""
import http.client
import os
import subprocess
import threading
import time
import unittest

from callers import ask, ask_as, connection
from muster_server import BIN, QUEUES, Server, shell_job
from people import make
from teams import OWN, ROOT, Teams
from tls_site import Authority, TlsServer, replace

ENDS_WITHIN = 5.0


class Followed:
    """An answer that is read by a thread until it ends."""

    def __init__(self, link, path, token=None):
        self.link = link
        self.link.timeout = 120
        self.link.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        self.answer = self.link.getresponse()
        self.ended, self.read_bytes, self.last = None, 0, 0.0
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        try:
            while part := self.answer.read1(4096):
                self.read_bytes += len(part)
                self.last = time.monotonic()
        except OSError:
            pass
        self.ended = time.monotonic()


def streams_of(server, token, job_id):
    """An open stream of each kind, each of which has told something."""
    streams = {"events": Followed(connection(server, "tcp"), "/v1/events?since=0", token),
               "log": Followed(connection(server, "tcp"), f"/v1/jobs/{job_id}/logs?follow=true", token)}
    for what, stream in streams.items():
        assert stream.answer.status == 200, (what, stream.answer.status)
    watch = subprocess.Popen([f"{BIN}/muster-grpc-caller", f"127.0.0.1:{server.grpc_port}", "--follow", "/muster.v1.JobService/WatchEvents"],
                             env=dict(os.environ, MUSTER_TOKEN=token), stdout=subprocess.PIPE, text=True)
    assert watch.stdout.readline() == "message\n"
    server.wait(lambda: all(stream.read_bytes for stream in streams.values()), what="both streams have bytes")
    return streams, watch


def ends_of(streams, watch, since):
    """Seconds until each stream has ended, and the last line of gRPC's."""
    for stream in streams.values():
        stream.thread.join(timeout=30)
    lines = watch.communicate(timeout=30)[0].split("\n")
    took = {what: (stream.ended or float("inf")) - since for what, stream in streams.items()}
    took["gRPC watch"] = time.monotonic() - since if watch.returncode == 0 else float("inf")
    return took, lines[-2]


class RevokedTokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def test_streams_end_with_their_token(self):
        server = self.server
        status, made = ask(server, "unix", "POST", "/v1/tokens", {"user": "watcher", "groups": ["system:masters"], "ttl": 600})
        self.assertEqual(status, 201, made)
        token, name = made["token"], made["name"]
        bearer = {"Authorization": f"Bearer {token}"}
        self.assertEqual(ask(server, "tcp", "GET", "/v1/whoami", headers=bearer)[1]["user"], "watcher")
        job = server.call("POST", "/v1/namespaces/default/jobs", shell_job("talks", f"while [ ! -e {server.dir}/s04.gate ]; do echo x; sleep 0.1; done"))[1]
        server.wait_state(job["id"], "Running")
        streams, watch = streams_of(server, token, job["id"])
        self.assertEqual(server.run("muster", "token", "revoke", name), f"token {name} revoked\n")
        revoked = time.monotonic()
        self.assertEqual(ask(server, "tcp", "GET", "/v1/whoami", headers=bearer)[0], 401)
        took, last = ends_of(streams, watch, revoked)
        print("\nS04: " + ", ".join(f"{what} ended after {seconds:.1f} s" for what, seconds in took.items()))
        for what, seconds in took.items():
            self.assertLessEqual(seconds, ENDS_WITHIN, what)
        self.assertEqual(last, "/muster.v1.JobService/WatchEvents 16")
        self.assertEqual(ask(server, "tcp", "GET", "/v1/jobs", headers=bearer)[0], 401)
        with open(f"{server.dir}/s04.gate", "w", encoding="utf-8"):
            pass


class ChangedBindings(unittest.TestCase):
    def test_streams_end_with_the_binding_that_allowed_them(self):
        teams = Teams()
        self.addCleanup(teams.close)
        server = teams.server
        status, made = teams.ask(ROOT, "POST", "/v1/tokens", {"user": OWN, "ttl": 600})
        self.assertEqual(status, 201, made)
        token = made["token"]
        bearer = {"Authorization": f"Bearer {token}"}
        status, job = ask(server, "tcp", "POST", "/v1/namespaces/team-a/jobs",
                          teams.manifest("team-a", "while true; do echo x; sleep 0.1; done", requests={"cpu": "1"}), headers=bearer)
        self.assertEqual(status, 201, job)
        server.wait_state(job["id"], "Running")
        streams, watch = streams_of(server, token, job["id"])
        status, told = teams.ask(ROOT, "DELETE", f"/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings/by-name-{OWN}")
        self.assertEqual(status, 200, told)
        took, last = ends_of(streams, watch, time.monotonic())
        print("\nS04: without its binding " + ", ".join(f"{what} ended after {seconds:.1f} s" for what, seconds in took.items()))
        for what, seconds in took.items():
            self.assertLessEqual(seconds, ENDS_WITHIN, what)
        self.assertEqual(last, "/muster.v1.JobService/WatchEvents 7")
        self.assertEqual(ask(server, "tcp", "GET", "/v1/whoami", headers=bearer)[0], 200, "the token itself is good")
        self.assertEqual(ask(server, "tcp", "GET", "/v1/events", headers=bearer)[0], 403)
        self.assertEqual(ask(server, "tcp", "GET", f"/v1/jobs/{job['id']}/logs", headers=bearer)[0], 404)


class RevokedCertificates(unittest.TestCase):
    def test_streams_and_connections_end_with_their_certificate(self):
        people, site = Authority("people"), Authority("site")
        self.addCleanup(people.close)
        self.addCleanup(site.close)
        listed = f"{people.dir}/served-crl.pem"
        replace(listed, people.revocations())
        watcher, other = people.issue("/CN=watcher/O=system:masters"), people.issue("/CN=other/O=system:masters")
        server = TlsServer(site, flags=["--client-ca", people.pem, "--client-crl", listed], shown=other)
        self.addCleanup(server.close)
        server.start()

        def link(identity):
            return http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=server.context(identity))

        def status_over(kept):
            kept.request("GET", "/v1/whoami")
            answer = kept.getresponse()
            answer.read()
            return answer.status

        kept = link(watcher)
        self.assertEqual(status_over(kept), 200)
        stream, others = Followed(link(watcher), "/v1/events?since=0"), Followed(link(other), "/v1/events?since=0")
        self.assertEqual((stream.answer.status, others.answer.status), (200, 200))
        people.revoke(watcher)
        replace(listed, people.revocations())
        revoked = time.monotonic()
        stream.thread.join(timeout=60)
        self.assertIsNotNone(stream.ended, "the stream of the revoked certificate goes on")
        print(f"\nS04: events ended {stream.ended - revoked:.1f} s after the list had their certificate")
        self.assertEqual(status_over(kept), 401, "a connection from before")
        self.assertTrue(others.thread.is_alive(), "the stream of another certificate has ended")


class OwnPasswd(Server):
    """musterd with a passwd of its own, in a mount namespace of its own."""

    def __init__(self, lines):
        super().__init__(["--local-cluster", "east,cpu=4"])
        with open("/etc/passwd", encoding="utf-8") as file:
            self.others = file.read()
        self.passwd = make(f"{self.dir}/passwd", 0o644, self.others + lines)

    def launch(self):
        words = [f"{BIN}/musterd", "--data-dir", self.dir, "--rest", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
                 "--log-file", os.path.join(self.dir, "musterd.log"), *self.flags]
        with open(os.path.join(self.dir, "musterd.out"), "ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', self.passwd, *words],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment())

    def forget(self):
        """Writes the same file, which is what is mounted."""
        with open(self.passwd, "w", encoding="utf-8") as file:
            file.write(self.others)


@unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else, and mount")
class VanishedAccounts(unittest.TestCase):
    def test_streams_end_with_their_account(self):
        uid = 47222
        server = OwnPasswd(f"vic:x:{uid}:{uid}::/:/bin/sh\n").start()
        self.addCleanup(server.close)
        self.assertEqual(ask_as(uid, server, "unix", "GET", "/v1/whoami")[1]["user"], "vic")
        follower = subprocess.Popen(["curl", "-sN", "--max-time", "120", "--unix-socket", f"{server.dir}/run/muster.sock",
                                     "http://localhost/v1/events?since=0"], stdout=subprocess.PIPE, text=True, user=uid, group=uid,
                                    extra_groups=[], cwd="/", env={"PATH": os.environ["PATH"]})
        self.assertTrue(follower.stdout.readline())
        server.forget()
        told = follower.communicate()[0]
        self.assertEqual(follower.returncode, 0, "the stream did not end by itself")
        self.assertIn('the account "vic" does not exist any more', told)
        self.assertEqual(ask_as(uid, server, "unix", "GET", "/v1/whoami")[1]["user"], str(uid))


if __name__ == "__main__":
    unittest.main()
