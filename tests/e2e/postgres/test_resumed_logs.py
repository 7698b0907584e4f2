"""Followed logs when their server ends, once by SIGKILL and once by SIGTERM: they go on at the other listed server, without loss or repetition, from the beginning and with
--tail, with and without times. The two daemons share a database and the launcher of their local members."""
import os
import pwd
import shutil
import subprocess
import unittest

import test_launcher
from muster_server import QUEUES, shell_job
from pg_pair import Postgres
from ports import free_port
from two_daemons import Peer, key_file

WAYS = {"whole": [], "tail": ["--tail", "2"], "times": ["--timestamps"], "tail-times": ["--tail", "2", "--timestamps"]}


class Daemon(Peer):
    """One of two daemons that share a database and a launcher. It keeps its port when it starts again."""

    def __init__(self, url, key, launcher):
        super().__init__(url, key)
        self.port = free_port()
        self.flags = ["--postgres", url, "--secrets-key", key, "--lease-ttl", "2s", *test_launcher.MEMBERS, "--launcher", launcher.socket]

    def launch(self):
        account = pwd.getpwnam(test_launcher.DAEMON)
        os.chown(self.dir, account.pw_uid, account.pw_gid)
        with open(os.path.join(self.dir, "musterd.out"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--data-dir", self.dir, "--rest", f"127.0.0.1:{self.port}", "--grpc", "127.0.0.1:0",
                 "--log-file", os.path.join(self.dir, "musterd.log"), *self.flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment(), cwd="/",
                user=account.pw_uid, group=account.pw_gid, extra_groups=[])


class Follower:
    """`muster logs -f` with its output in a file."""

    def __init__(self, server, job, options, env):
        self.path = os.path.join(server.dir, "followed" + "".join(options))
        with open(self.path, "wb") as out:
            # Its standard error has nothing unless something is wrong.
            self.process = subprocess.Popen(["muster", "logs", "-f", str(job), *options], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                            env=dict(server.environment(), **env), cwd=server.dir)

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()


@unittest.skipUnless(os.geteuid() == 0, "the launcher is root")
class ResumedLogs(unittest.TestCase):
    def setUp(self):
        self.postgres = Postgres()
        self.addCleanup(self.postgres.close)
        self.launcher = test_launcher.Launcher()
        self.addCleanup(self.launcher.close)
        self.launcher.start()
        key = key_file()
        self.addCleanup(shutil.rmtree, os.path.dirname(key))
        shutil.chown(os.path.dirname(key), test_launcher.DAEMON)
        self.daemons = [Daemon(self.postgres.url(), key, self.launcher) for _ in range(2)]
        for daemon in self.daemons:
            self.addCleanup(daemon.end)

    def replace(self, end, standby, gate):
        """Ends the leader; the job writes on before anybody leads."""
        end()
        self.daemons[0].open_gate(gate)
        standby.wait(lambda: standby.ask("GET", "/readyz")[0] == 200, what="the standby leads")

    def test_logs_that_are_followed_go_on_at_the_next_server_without_loss_or_repetition(self):
        first, second = self.daemons
        first.serve("ready")
        first.run("muster", "apply", "-f", "-", stdin=QUEUES)
        second.serve("standby")
        gate = first.gate
        job = test_launcher.Person(first, test_launcher.ALICE).submit(shell_job("long", "echo one; echo two; echo three; " + gate("a") + "; echo four; "
                                   + gate("b") + "; echo five; printf half; " + gate("c") + "; echo ' line'; " + gate("d") + "; echo last"))
        first.wait(lambda: first.call("GET", f"/v1/jobs/{job}/logs")[1] == "one\ntwo\nthree\n", what="the job has begun")
        env = {"MUSTER_URL": f"{first.url()},{second.url()}"}
        followers = {way: Follower(first, job, options, env) for way, options in WAYS.items()}
        for one in followers.values():
            self.addCleanup(one.process.kill)

        def followed(server, line):
            for way, one in followers.items():
                server.wait(lambda one=one: line in one.text(), what=f"{way} has {line}")
        followed(first, "three")
        first.open_gate("a")
        followed(first, "four")
        self.replace(first.kill, second, "b")
        followed(second, "half")
        first.serve("standby")
        self.replace(second.stop, first, "c")
        followed(first, " line")
        first.open_gate("d")
        for way, one in followers.items():
            self.assertEqual(one.process.wait(timeout=120), 0, (way, one.text()))
        lines = ["one", "two", "three", "four", "five", "half line", "last"]
        for way, one in followers.items():
            got = one.text().splitlines()
            if "times" in way:
                got = [line.partition(" ")[2] for line in got]
            self.assertEqual(got, lines[1:] if way.startswith("tail") else lines, way)


if __name__ == "__main__":
    unittest.main()
