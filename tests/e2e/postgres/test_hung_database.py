"""PostgreSQL stops answering and closes nothing: /readyz says so, everybody has an answer, the daemon can be ended."""
import http.client
import json
import os
import signal
import threading
import time
import unittest

from muster_server import QUEUES, Server, shell_job
from pg_pair import Postgres

# What is promised of a machine that is not busy; here with as much again.
READY_WITHIN, ANSWER_WITHIN, STOP_WITHIN = 10, 15, 10
SLACK = float(os.environ.get("MUSTER_SLACK", "2"))


class HungDatabase(unittest.TestCase):
    def start(self, *flags):
        self.server = Server([*flags, "--simulated-cluster", "sim,cpu=64,memory=64Gi"]).start()
        self.addCleanup(self.clean_up)
        self.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    def clean_up(self):
        if self.server.process.poll() is None:
            self.server.kill()
        self.server.close()

    def ask(self, method, path, body=None, headers=None):
        """(seconds, status, retry-after, body)."""
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            return time.monotonic() - begun, answer.status, answer.getheader("Retry-After"), text
        finally:
            connection.close()

    def marked(self, path):
        """(status, age of what is told or None, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Muster-Copy-Age"), answer.read()
        finally:
            connection.close()

    def in_threads(self, calls):
        """Makes them at the same time; the answers in order."""
        answers = [None] * len(calls)
        def run(i):
            answers[i] = self.ask(*calls[i])
        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
        for thread in threads:
            thread.start()
        return threads, answers

    def readyz_within(self, status, seconds):
        begun = time.monotonic()
        self.server.wait(lambda: self.ask("GET", "/readyz")[1] == status, timeout=seconds, what=f"/readyz {status}")
        return time.monotonic() - begun

    def check_bars(self, hang, go_on):
        job = '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},"spec":{"template":{"spec":{"restartPolicy":"Never",' \
              '"containers":[{"name":"m","image":"i","resources":{"requests":{"cpu":"1"}}}]}}}}'
        status, first = self.server.call("POST", "/v1/namespaces/default/jobs", job % "first")
        self.assertEqual(status, 201)
        hang()
        calls = [("POST", "/v1/namespaces/default/jobs", job % f"hung-{i}", {"Idempotency-Key": f"k{i}"}) for i in range(4)]
        calls += [("GET", f"/v1/jobs/{first['id']}/events") for _ in range(20)]
        calls += [("DELETE", "/v1/jobs/999999")]
        threads, answers = self.in_threads(calls)
        time.sleep(1)
        for path in ("/metrics", "/livez", "/version", f"/v1/jobs/{first['id']}"):
            took, status, _, _ = self.ask("GET", path)
            self.assertEqual(status, 200, path)
            self.assertLess(took, 2 * SLACK, f"{path} needs no database")
        self.readyz_within(503, READY_WITHIN * SLACK)
        for thread in threads:
            thread.join()
        for call, (took, status, retry, text) in zip(calls, answers):
            self.assertLess(took, ANSWER_WITHIN * SLACK, call)
            self.assertEqual(status, 503, (call, text))
            self.assertIsNotNone(retry, (call, text))
        for _, _, _, text in answers[:4]:
            self.assertRegex(text, "not known|nothing was written")
        reasons = self.ask("GET", "/readyz")[3]
        self.assertIn("database", reasons)
        # What is known goes on to be told, and is marked with its age.
        status, age, answer = self.marked(f"/v1/jobs/{first['id']}")
        self.assertEqual((status, json.loads(answer)["name"]), (200, "first"))
        self.assertGreater(float(age), 0.5)
        go_on()
        self.server.wait(lambda: self.ask("GET", "/readyz")[1] == 200, what="ready again")
        # A write that failed late may make the daemon recover once more.
        self.server.wait(lambda: self.marked(f"/v1/jobs/{first['id']}")[1] is None, what="answers without an age")
        # What is said to be unwritten is not there; what was not known is found out by repeating it: one job each.
        names = {job["name"] for job in self.server.jobs()}
        for i, (_, _, _, text) in enumerate(answers[:4]):
            if "nothing was written" in text:
                self.assertNotIn(f"hung-{i}", names)
        for i in range(4):
            _, status, _, text = self.ask("POST", "/v1/namespaces/default/jobs", job % f"hung-{i}", {"Idempotency-Key": f"k{i}"})
            self.assertIn(status, (200, 201), text)
        self.assertEqual(len([j for j in self.server.jobs() if j["name"].startswith("hung-")]), 4)

        hang()
        self.readyz_within(503, READY_WITHIN * SLACK)  # idle: nobody submits anything
        self.stop_in_time()

    def stop_in_time(self):
        begun = time.monotonic()
        self.assertEqual(self.server.stop(timeout=STOP_WITHIN * SLACK), 0)
        self.assertLess(time.monotonic() - begun, STOP_WITHIN * SLACK)

    def test_one_of_its_own_url(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        self.start("--postgres", postgres.url())
        self.check_bars(lambda: postgres.signal(signal.SIGSTOP), lambda: postgres.signal(signal.SIGCONT))

    def test_the_private_one_and_a_stop_at_once(self):
        self.start()
        with open(os.path.join(self.server.dir, "postgres", "db", "postmaster.pid"), encoding="utf-8") as file:
            postmaster = int(file.readline())
        with open(f"/proc/{postmaster}/task/{postmaster}/children", encoding="utf-8") as file:
            processes = [postmaster, *map(int, file.read().split())]
        def end_all():
            for pid in processes:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.addCleanup(end_all)
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        threads, _ = self.in_threads([("POST", "/v1/namespaces/default/jobs", str(shell_job("late", "true")).replace("'", '"'))] * 3)
        time.sleep(0.5)
        self.stop_in_time()
        for thread in threads:
            thread.join()


class KilledDatabase(unittest.TestCase):
    def test_not_ready_while_nothing_can_be_acknowledged(self):
        server = Server(["--simulated-cluster", "sim,cpu=64,memory=64Gi"]).start()
        self.addCleanup(server.close)
        path = os.path.join(server.dir, "postgres", "db", "postmaster.pid")
        for _ in range(2):
            with open(path, encoding="utf-8") as file:
                postmaster = int(file.readline())
            told = len(server.log())
            seen = []
            os.kill(postmaster, signal.SIGKILL)
            server.wait(lambda: (seen.append(server.get("/readyz")[0]), 503 in seen)[1], what="/readyz 503")
            server.wait(lambda: server.logged("server_restarted", told), what="PostgreSQL is started again")
            server.wait(lambda: server.get("/readyz")[0] == 200, what="ready again")


if __name__ == "__main__":
    unittest.main()
