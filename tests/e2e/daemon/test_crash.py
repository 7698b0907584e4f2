"""kill -9 of the daemon and of its PostgreSQL: nothing acknowledged is lost, nothing runs twice, pods are adopted."""
import glob
import json
import os
import signal
import threading
import time
import unittest

from muster_server import PATIENCE, QUEUES, Server, shell_job


def postmaster_pid(server):
    for root, _, files in os.walk(server.dir):
        if "postmaster.pid" in files:
            with open(os.path.join(root, "postmaster.pid"), encoding="utf-8") as file:
                return int(file.readline())
    raise AssertionError("no postmaster.pid")


def phases_on_disk(server):
    """What the supervisors have written of their pods."""
    phases = []
    for path in glob.glob(os.path.join(server.dir, "members", "*", "*", "pods", "*", "status.json")):
        with open(path, encoding="utf-8") as file:
            phases.append(json.load(file)["phase"])
    return phases


class Crash(unittest.TestCase):
    def setUp(self):
        self.server = Server().start()
        self.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    def tearDown(self):
        self.server.close()

    def submit_until_killed(self, prefix, acknowledged):
        for i in range(10_000):
            name = f"{prefix}-{i}"
            status, _ = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job(name, "true", requests={"cpu": "1000"}))
            if status == 201:
                acknowledged.append(name)
            if status == 0:
                return

    def test_acknowledged_jobs_survive_kills_of_daemon_and_database(self):
        acknowledged = []
        for round_number in range(4):
            clients = [threading.Thread(target=self.submit_until_killed, args=(f"r{round_number}c{c}", acknowledged)) for c in range(4)]
            for client in clients:
                client.start()
            # In the midst of the load, at another point of it each time.
            enough = len(acknowledged) + 20
            self.server.wait(lambda: len(acknowledged) >= enough, what="acknowledged jobs")
            time.sleep(0.1 * round_number)
            if round_number % 2:
                os.kill(postmaster_pid(self.server), signal.SIGKILL)
            self.server.kill()
            for client in clients:
                client.join()
            self.server.start()
        names, token = [], ""
        while True:
            page = self.server.get(f"/v1/jobs?limit=1000&page_token={token}")[1]
            names += [job["name"] for job in page["items"]]
            token = page.get("next_page_token")
            if not token:
                break
        self.assertGreaterEqual(len(acknowledged), 80)
        self.assertEqual([name for name in acknowledged if name not in set(names)], [])
        self.assertEqual(len(names), len(set(names)))

    def test_a_running_pod_is_adopted_and_runs_once(self):
        marker = os.path.join(self.server.dir, "starts")
        _, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("survivor", f"echo start >> {marker}; {self.server.gate('end')}; echo survived; exit 4"))
        self.server.wait_state(job["id"], "Running")
        self.server.kill()
        self.server.start()
        self.assertEqual(self.server.job(job["id"])["state"], "Running")
        self.server.open_gate("end")
        ended = self.server.wait_state(job["id"], "Failed", "Succeeded")
        self.assertEqual((ended["state"], ended["exitCode"]), ("Failed", 4))
        self.assertIn("survived", self.server.run("muster", "logs", str(job["id"])))
        with open(marker, encoding="utf-8") as file:
            self.assertEqual(file.read(), "start\n")

    def test_a_pod_that_ends_while_the_daemon_is_away_is_accounted(self):
        _, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("unseen", self.server.gate("end") + "; exit 5"))
        self.server.wait_state(job["id"], "Running")
        self.server.kill()
        self.server.open_gate("end")
        deadline = time.monotonic() + PATIENCE
        while phases_on_disk(self.server) != ["Failed"] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.server.start()
        self.assertEqual(self.server.wait_state(job["id"], "Failed")["exitCode"], 5)

    def test_the_daemon_lives_through_the_death_of_its_postgresql(self):
        _, before = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("before", self.server.gate("end")))
        self.server.wait_state(before["id"], "Running")
        os.kill(postmaster_pid(self.server), signal.SIGKILL)
        self.server.wait(lambda: self.server.call("POST", "/v1/namespaces/default/jobs", shell_job(f"after-{time.time_ns()}", "true"))[0] == 201,
                         what="submission works again")
        self.server.open_gate("end")
        self.assertEqual(self.server.wait_state(before["id"], "Succeeded", "Failed")["state"], "Succeeded")

    def test_a_repeated_idempotency_key_gives_the_first_job_even_after_a_crash(self):
        body = shell_job("once", "true")
        _, first = self.server.call("POST", "/v1/namespaces/default/jobs", body, headers={"Idempotency-Key": "k1"})
        self.server.kill()
        self.server.start()
        _, again = self.server.call("POST", "/v1/namespaces/default/jobs", body, headers={"Idempotency-Key": "k1"})
        self.assertEqual(first["id"], again["id"])
        status, problem = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("other", "true"), headers={"Idempotency-Key": "k1"})
        self.assertIn(status, (400, 409, 422), problem)


if __name__ == "__main__":
    unittest.main()
