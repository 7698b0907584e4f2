"""A leader is stopped while its jobs are on their way to members; another one leads and cancels them all, or drains a member; the first
goes on. It must not start anything any more, and nothing that it had begun may be left.

MUSTER_STALE_TRIALS (of each mode and variant) and MUSTER_STALE_JOBS make it as large as wanted."""
import json
import os
import random
import signal
import threading
import time
import unittest
import urllib.error

from fleet import QUEUES, Bed, released
from bed_client import Member
from kube_jobs import job
from muster_server import Server, psql, sql
from pod_ledger import ATTEMPT, JOB, PodLedger

TRIALS = int(os.environ.get("MUSTER_STALE_TRIALS", "1"))
JOBS = int(os.environ.get("MUSTER_STALE_JOBS", "40"))
MEMBERS = ("member-1", "member-2")
LEFT_WITHIN = 90  # seconds after the first goes on
ENDS = ("Succeeded", "Failed", "Cancelled")

bed = host = None


def setUpModule():
    global bed, host
    bed = Bed("--clusters", "2", "--nodes", "3")
    unittest.addModuleCleanup(bed.close)
    host = Server(["--local-cluster", "none,cpu=1"]).start()  # its PostgreSQL is everybody's
    unittest.addModuleCleanup(host.close)


class ObjectLedger:
    """When each Job of ours was there first, when it was first seen to run, and when it went; by the uid of the object."""

    def __init__(self, members):
        self.members, self.seen, self.closing = members, {}, False
        self.threads = [threading.Thread(target=self.follow, args=(name,), daemon=True) for name in members]
        for thread in self.threads:
            thread.start()

    def close(self):
        self.closing = True
        for thread in self.threads:
            thread.join(15)

    def follow(self, name):
        version = None
        while not self.closing:
            try:
                if version is None:
                    page = self.members[name].call("GET", "/apis/batch/v1/jobs")
                    for item in page["items"]:
                        self.saw(name, "ADDED", item)
                    version = page["metadata"]["resourceVersion"]
                path = f"/apis/batch/v1/jobs?watch=true&timeoutSeconds=5&resourceVersion={version}"
                with self.members[name].open("GET", path, timeout=10) as stream:
                    for line in stream:
                        event = json.loads(line)
                        version = None if event["type"] == "ERROR" else event["object"]["metadata"]["resourceVersion"]
                        if version is not None:
                            self.saw(name, event["type"], event["object"])
            except (urllib.error.URLError, OSError, ValueError):
                time.sleep(0.2)

    def saw(self, member, event, item):
        labels, now = item["metadata"].get("labels", {}), time.monotonic()
        if JOB not in labels:
            return
        entry = self.seen.setdefault(item["metadata"]["uid"], {
            "member": member, "job": labels[JOB], "attempt": int(labels[ATTEMPT]), "made": now, "ran": None, "gone": None})
        if released("Job", item) and entry["ran"] is None:
            entry["ran"] = now
        if event == "DELETED":
            entry["gone"] = now

    def there(self):
        return [each for each in list(self.seen.values()) if each["gone"] is None]


class StaleLeader(unittest.TestCase):
    def setUp(self):
        self.members = {name: Member(os.path.join(bed.dir, name)) for name in MEMBERS}

    def daemon(self, database, role, dispatch):
        """The sessions of the two daemons are told apart by their roles."""
        words = [f"--{key}=postgresql://{name}@/{database}?host={host.dir}/postgres/socket"
                 for key, name in (("postgres", role), ("postgres-owner", "muster_owner"))]
        for name in MEMBERS:
            words += ["--member-cluster", f"{name},kubeconfig={bed.dir}/{name}/kubeconfig-tokenfile,dispatch={dispatch}"]
        return Server(words)

    def until(self, holds, what, within=120):
        deadline = time.monotonic() + within
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def ready(self, server):
        entry = server.wait(lambda: server.logged("ready"), what="the second does not lead")
        server.port, server.grpc_port = entry["rest_port"], entry["grpc_port"]
        server.wait(lambda: server.get("/readyz")[0] == 200, what="the second is not ready")

    def cancel_all(self, server):
        for each in server.jobs():
            if each["state"] not in ENDS:
                server.call("DELETE", f"/v1/jobs/{each['id']}")
        server.wait(lambda: all(each["state"] in ENDS for each in server.jobs()), what="all jobs have ended")

    def drain_one(self, server):
        status, answer = server.call("POST", "/v1/memberclusters/member-1:drain")
        self.assertEqual(status, 200, answer)
        server.wait(lambda: all((each["cluster"], each["state"]) == ("member-2", "Running") for each in server.jobs()),
                    what="all jobs run on the other member")

    def run_trials(self, dispatch, variant):
        for trial in range(TRIALS):
            with self.subTest(dispatch=dispatch, variant=variant, trial=trial):
                database = f"{dispatch}_{variant}_{trial}"
                sql(host, f"create database {database} owner muster_owner")
                objects, pods = ObjectLedger(self.members), PodLedger(self.members)
                first, second = self.daemon(database, "muster_owner", dispatch), self.daemon(database, "muster_daemon", dispatch)
                try:
                    self.one_trial(first, second, objects, pods, dispatch, variant, database)
                finally:
                    for server in (first, second):
                        if server.process is not None:
                            server.kill()  # its jobs have been cancelled
                        server.close()
                    objects.close()
                    pods.close()
                    self.sweep()
                    sql(host, f"drop database {database} with (force)")

    def sweep(self):
        """Whatever a failed trial has left: the next one begins with nothing."""
        for member in self.members.values():
            for item in member.call("GET", "/apis/batch/v1/jobs?labelSelector=muster.io/instance")["items"]:
                path = f"/apis/batch/v1/namespaces/{item['metadata']['namespace']}/jobs/{item['metadata']['name']}"
                member.status_of("PATCH", path, {"metadata": {"finalizers": None}}, kind="application/merge-patch+json")
                member.status_of("DELETE", path + "?propagationPolicy=Background")

    def one_trial(self, first, second, objects, pods, dispatch, variant, database):
        first.start()
        first.run("muster", "apply", "-f", "-", stdin=QUEUES)
        second.launch()
        # Its opening sessions have the role whose sessions are ended below.
        waits = f"select 1 from pg_stat_activity where usename = 'muster_daemon' and datname = '{database}' and application_name = 'musterd writer'"
        self.until(lambda: sql(host, waits), "the second waits for the lead")
        for name in MEMBERS:
            first.wait(lambda name=name: "True" in str([each for each in first.get(
                f"/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/{name}")[1]["status"]["conditions"]
                if each["type"] == "Healthy"]), what=f"{name} is healthy")
        status, answer = first.call("POST", "/v1/namespaces/default/jobs:batch", [job(f"job-{i}") for i in range(JOBS)])
        self.assertEqual(status, 200, answer)
        enough = random.randint(1, max(1, JOBS // 2))
        self.until(lambda: len(objects.seen) >= enough, "jobs are on their way")
        first.process.send_signal(signal.SIGSTOP)
        stopped, made = time.monotonic(), len(objects.seen)
        sql(host, f"select pg_terminate_backend(pid) from pg_stat_activity where usename = 'muster_owner' and datname = '{database}'")
        self.ready(second)
        (self.cancel_all if variant == "cancel" else self.drain_one)(second)
        self.until(lambda: variant == "drain" or not objects.there(), "what was cancelled goes")

        first.process.send_signal(signal.SIGCONT)
        resumed = time.monotonic()
        wanted = 0 if variant == "cancel" else JOBS
        time.sleep(5)  # it does at once what it does
        while len(objects.there()) != wanted and time.monotonic() < resumed + LEFT_WITHIN:
            time.sleep(0.2)
        left, clean = objects.there(), time.monotonic() - resumed
        late = [each for each in objects.seen.values() if each["made"] > resumed]
        ran = [each for each in objects.seen.values() if each["ran"] and each["ran"] > resumed]
        print(f"\n{database}: {made} of {JOBS} made, stopped for {resumed - stopped:.1f} s; after it went on {len(late)} made, {len(ran)} "
              f"started; {len(left)} left after {clean:.0f} s", flush=True)
        self.assertEqual(ran, [], "started by who leads no more")
        # Of the two gaps that ARCHITECTURE.md names a loaded machine may meet one; in two steps it is harmless, and it is cleaned up.
        self.assertLessEqual(len(late), 1 if dispatch == "safe" else 0, f"made by who leads no more: {late}")
        self.assertEqual(pods.overlaps(), [], "two attempts of one job")
        self.assertEqual(len(left), wanted, f"left on members: {left}")
        self.assertEqual(len({each["job"] for each in left}), wanted)
        self.assertEqual(first.get("/readyz")[0], 503, "it has found out")
        if variant == "drain":
            self.assertEqual({each["member"] for each in left}, {"member-2"})
            self.cancel_all(second)
            self.until(lambda: not objects.there(), "what was cancelled goes")

    def test_cancelled_in_two_steps(self):
        self.run_trials("safe", "cancel")

    def test_cancelled_in_one_step(self):
        self.run_trials("fast", "cancel")

    def test_drained_in_two_steps(self):
        self.run_trials("safe", "drain")

    def test_drained_in_one_step(self):
        self.run_trials("fast", "drain")


if __name__ == "__main__":
    unittest.main()
