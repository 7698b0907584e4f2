"""A leader is frozen under load, its sessions end, another daemon leads, the first goes on: whatever any client was told
is so. MUSTER_ROUNDS: how many times (20 is the trial; a few show the rule)."""
import os
import signal
import threading
import time
import unittest

from muster_server import QUEUES, Server, shell_job
from pg_pair import Postgres

ROUNDS = int(os.environ.get("MUSTER_ROUNDS", "2"))
CLIENTS = 6


class StaleLeader(unittest.TestCase):
    def setUp(self):
        self.postgres = Postgres()
        self.addCleanup(self.postgres.close)
        self.servers = []

    def tearDown(self):
        for server in self.servers:
            if server.process and server.process.poll() is None:
                server.kill()  # a frozen one too; its jobs only sleep
            server.close()

    def launch(self):
        """A daemon that stands by until it can lead; its REST port is known."""
        server = Server(["--postgres", self.postgres.url(), "--simulated-cluster", "sim,cpu=64,memory=64Gi"])
        self.servers.append(server)
        server.launch()
        return server

    def lead(self, server):
        ready = server.wait(lambda: server.logged("ready"), what="musterd is not ready")
        server.port, server.grpc_port = ready["rest_port"], ready["grpc_port"]
        server.wait(lambda: server.get("/readyz")[0] == 200, what="musterd leads")

    def load(self, server, prefix, told, stop):
        """Several clients submit until `stop`; (uid, id, name) of each 201 into `told`."""
        def client(number):
            for i in range(1_000_000):
                if stop.is_set():
                    return
                name = f"{prefix}-{number}-{i}"
                status, job = server.call("POST", "/v1/namespaces/default/jobs", shell_job(name, "true", requests={"cpu": "1"}))
                if status == 201:
                    told.append((job["uid"], str(job["id"]), name))
        threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        return threads

    def one_round(self, number, leader):
        """The leader is frozen and comes back stale; who leads afterwards."""
        standby = self.launch()
        told, stop_a, stop_b = [], threading.Event(), threading.Event()
        clients = self.load(leader, f"a{number}", told, stop_a)
        leader.wait(lambda: len(told) >= 30, what="acknowledged jobs")
        time.sleep(0.013 * (number % 7))  # at another point of a commit each time
        os.kill(leader.process.pid, signal.SIGSTOP)
        self.assertGreaterEqual(self.postgres.end_sessions(), 1)
        self.lead(standby)
        before = len(told)
        others = self.load(standby, f"b{number}", told, stop_b)
        standby.wait(lambda: len(told) >= before + 30, what="jobs of the new leader")
        os.kill(leader.process.pid, signal.SIGCONT)
        time.sleep(0.5)
        stop_a.set()
        stop_b.set()
        for thread in clients + others:
            thread.join()
        standby.wait(lambda: leader.get("/readyz")[0] == 503, what="the stale leader is not ready")
        there = {uid: (number_of, name) for uid, number_of, name in self.postgres.sql("select uid, id, name from jobs")}
        invented = [job for job in told if there.get(job[0]) != (job[1], job[2])]
        self.assertEqual(invented, [], f"round {number}: answered, and not there")
        self.assertGreaterEqual(len(told), 60)
        leader.stop()
        return standby

    def test_what_clients_were_told_is_there(self):
        leader = self.launch()
        self.lead(leader)
        leader.run("muster", "apply", "-f", "-", stdin=QUEUES)
        for number in range(ROUNDS):
            leader = self.one_round(number, leader)
        self.assertIn(["0"], self.postgres.sql("select count(*) from (select name from jobs group by name having count(*) > 1) t"))


if __name__ == "__main__":
    unittest.main()
