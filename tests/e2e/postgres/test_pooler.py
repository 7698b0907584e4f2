"""A pooler between a daemon and its database (PgBouncer): whole sessions are enough for Muster, shared ones are refused by name."""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from muster_server import PATIENCE, QUEUES, Server, shell_job
from pg_pair import Postgres
from ports import free_port


class Pooler:
    """One PgBouncer before `database`; what a connection's session is, says `mode` (its pool_mode)."""

    def __init__(self, database, mode):
        self.database, self.port = database, free_port()
        self.dir = tempfile.mkdtemp(prefix="muster-pooler-", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.process = None
        self.begin(mode)

    def begin(self, mode):
        """Ends its connections and starts anew in this mode."""
        self.end()
        settings = os.path.join(self.dir, "pgbouncer.ini")
        with open(settings, "w", encoding="utf-8") as file:
            # After a failed connection to the server it waits for server_login_retry, 15 s unless it is said.
            file.write(f"[databases]\nmuster = host=127.0.0.1 port={self.database.port} dbname=muster user=muster\n"
                       f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\n"
                       f"pool_mode = {mode}\nserver_login_retry = 1\n")
        # It refuses to run as root.
        account = pwd.getpwnam(self.database.user) if self.database.user else None
        identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        with open(os.path.join(self.dir, "log"), "ab") as log:
            self.process = subprocess.Popen(["/usr/sbin/pgbouncer", settings], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", **identity)
        deadline = time.monotonic() + PATIENCE
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < deadline, "the pooler has not started"
            time.sleep(0.02)

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def url(self):
        return f"postgresql://muster@127.0.0.1:{self.port}/muster"

    def close(self):
        self.end()
        shutil.rmtree(self.dir, ignore_errors=True)


class PoolerBeforeTheDatabase(unittest.TestCase):
    def setUp(self):
        self.database = Postgres()
        self.addCleanup(self.database.close)

    def pooler(self, mode):
        pooler = Pooler(self.database, mode)
        self.addCleanup(pooler.close)
        return pooler

    def server(self, pooler):
        server = Server(["--postgres", pooler.url(), "--simulated-cluster", "sim,cpu=64,memory=64Gi"])
        self.addCleanup(server.close)
        return server

    def submit(self, server, name):
        return server.call("POST", "/v1/namespaces/default/jobs", shell_job(name, "true"), headers={"Idempotency-Key": name})

    def test_whole_sessions_serve_a_daemon_over_its_own_end_and_the_databases(self):
        server = self.server(self.pooler("session")).start()
        server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        status, first = self.submit(server, "first")
        self.assertEqual(status, 201, first)
        server.wait_state(first["id"], "Succeeded")
        # The pooler gives the sessions of the ended daemon to the next one.
        server.kill()
        server.start()
        self.assertEqual(self.submit(server, "second")[0], 201)
        # An immediate shutdown: recovery after it as after a crash, and no process of it is left.
        self.database.process.send_signal(signal.SIGQUIT)
        self.database.process.wait(timeout=PATIENCE)
        self.database.start()
        server.wait(lambda: self.submit(server, "third")[0] in (200, 201), what="a submission is acknowledged again")
        self.assertEqual(sorted(job["name"] for job in server.jobs()), ["first", "second", "third"])

    def test_sessions_that_connections_share_are_refused_by_name(self):
        server = self.server(self.pooler("transaction"))
        server.launch()
        self.assertEqual(server.process.wait(timeout=PATIENCE), 1)
        self.assertIn("pool_mode = session", server.logged("start_failed")["err"])
        asked = server.run("musterd", "doctor", "--data-dir", server.dir, "--postgres", server.flags[1], check=False)
        self.assertNotEqual(asked.returncode, 0)
        self.assertIn("pool_mode = session", asked.stderr)

    def test_a_pooler_that_begins_to_share_sessions_stops_the_writes(self):
        pooler = self.pooler("session")
        server = self.server(pooler).start()
        server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        self.assertEqual(self.submit(server, "before")[0], 201)
        pooler.begin("transaction")
        server.wait(lambda: "pool_mode = session" in str(server.get("/readyz")[1]), what="the reason is named")
        self.assertEqual(self.submit(server, "meanwhile")[0], 503)
        pooler.begin("session")
        server.wait(lambda: self.submit(server, "after")[0] in (200, 201), what="a submission is acknowledged again")


if __name__ == "__main__":
    unittest.main()
