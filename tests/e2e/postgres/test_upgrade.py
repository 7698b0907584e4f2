"""R25: leader and standby are upgraded one after the other under load, and go back again. With MUSTER_BED the jobs are in flight on two
real Kubernetes members; without it on simulated ones, which end with their daemon, and what runs on them then is Lost. `musterd-next` is the product with one more
migration (next_schema.*.sql), so `musterd` is the version before it: the step of the schema is real, the code around it is the same.
"""
import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest

sys.path[1:1] = [os.path.join(os.environ["MUSTER_SOURCE"], "tests", "kubebed")]

from bed_client import Bed, job as bed_job  # noqa: E402
from muster_server import BIN, PATIENCE, QUEUES, shell_job
from pg_pair import Postgres
from two_daemons import Peer, key_file

BED = bool(os.environ.get("MUSTER_BED"))
NEXT = os.environ["MUSTER_NEXT"]  # the program musterd-next
TTL = "2s"
SCHEMA = """select t from (select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '')
    from information_schema.columns where table_schema = 'public'
  union all select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
  union all select indexdef from pg_indexes where schemaname = 'public'
  union all select tgrelid::regclass || ' ' || pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
  union all select oid::regprocedure || ' ' || prosrc from pg_proc where pronamespace = 'public'::regnamespace
  union all select viewname || ' ' || definition from pg_views where schemaname = 'public') s (t) order by t"""


class Load:
    """Clients that submit jobs that run for a second, each under a key of its own, and ask again until they know what became of it."""

    def __init__(self, clients=3):
        self.ports, self.accepted, self.ends = [], {}, threading.Event()
        self.threads = [threading.Thread(target=self._client, args=(number,)) for number in range(clients)]
        for thread in self.threads:
            thread.start()

    def _client(self, number):
        i = 0
        while not self.ends.is_set():
            name = f"load-{number}-{i}"
            if (job := self._submit(name)) is not None:
                self.accepted[name] = job
                i += 1
            time.sleep(0.2)  # what real members can follow

    def _submit(self, name):
        for port in list(self.ports):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                connection.request("POST", "/v1/namespaces/default/jobs", json.dumps(bed_job(name, run="1s")),
                                   {"Content-Type": "application/json", "Idempotency-Key": name})
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                if answer.status in (200, 201):
                    return json.loads(body)["id"]
            except (OSError, http.client.HTTPException, ValueError):
                pass
        return None

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()


class Upgrade(unittest.TestCase):
    def setUp(self):
        self.postgres = Postgres()
        self.addCleanup(self.postgres.close)
        self.key = key_file()
        self.addCleanup(shutil.rmtree, os.path.dirname(self.key))

    def peer(self, event, *flags, program=f"{BIN}/musterd", like=None):
        """`like`: the peer in whose place it comes, with its directory."""
        peer = Peer(self.postgres.url(), self.key, "--lease-ttl", TTL, *flags)
        peer.program = program
        if like is not None:
            shutil.rmtree(peer.dir)
            peer.dir = like.dir
        self.addCleanup(peer.end)
        return peer.serve(event)

    def checksum(self):
        return hashlib.sha256(repr(self.postgres.sql(SCHEMA)).encode()).hexdigest()

    def schema(self):
        return int(self.postgres.sql("select max(number) from schema_migrations")[0][0])

    def migrate(self, to, status, program=f"{BIN}/musterd"):
        done = subprocess.run([program, "migrate", str(to), "--postgres", self.postgres.url()], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        return done.stdout + done.stderr

    def refuses(self):
        """The program of the schema before says which it knows and which it found, and touches nothing."""
        events = self.postgres.sql("select count(*) from schema_migrations")
        directory = f"{self.postgres.dir}/older"
        done = subprocess.run([f"{BIN}/musterd", "--data-dir", directory, "--postgres", self.postgres.url(), "--secrets-key", self.key,
                               "--rest", "127.0.0.1:0", "--grpc", "127.0.0.1:0"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        known = self.schema() - 1
        self.assertIn(f"the database's schema is newer ({known + 1}) than this program knows ({known}); upgrade the program", done.stderr)
        self.assertEqual(self.postgres.sql("select count(*) from schema_migrations"), events)

    def members(self):
        """The flags of two members of a test bed; none for a simulated one."""
        if not BED:
            return []
        bed = Bed("--clusters", "2", "--nodes", "4")
        self.addCleanup(bed.close)
        return [word for name in ("member-1", "member-2")
                for word in ("--member-cluster", f"{name},kubeconfig={bed.dir}/{name}/kubeconfig-tokenfile")]

    def test_R25_a_rolling_upgrade_under_load_and_back_loses_no_job(self):
        members = self.members()
        first = self.peer("ready", *members)
        first.run("muster", "apply", "-f", "-", stdin=QUEUES)
        second = self.peer("standby", "--standby", *members)
        before, known = self.checksum(), self.schema()
        load = Load()
        self.addCleanup(load.stop)
        load.ports = [first.port, second.port]

        def goes_on(peer):
            told = len(load.accepted)
            peer.wait(lambda: len(load.accepted) > told + 15, what="jobs are accepted")

        goes_on(first)
        second.stop()
        # The standby of the next version migrates beside the leader of this one, which goes on.
        newer = self.peer("standby", "--standby", *members, program=NEXT, like=second)
        self.assertEqual(self.schema(), known + 1)
        load.ports = [first.port, newer.port]
        goes_on(first)
        self.assertEqual(first.stop(), 0)
        newer.wait(lambda: newer.ask("GET", "/readyz")[0] == 200, what="the next version leads")
        goes_on(newer)
        self.refuses()
        third = self.peer("standby", "--standby", *members, program=NEXT, like=first)
        load.ports = [newer.port, third.port]
        newer.stop()
        third.wait(lambda: third.ask("GET", "/readyz")[0] == 200, what="the other one leads")
        goes_on(third)
        load.stop()
        self.assertIn("leads this database: stop it", self.migrate(known, 1, NEXT))
        third.wait(lambda: self.postgres.sql("select count(*) from job_state where not terminal") == [["0"]], what="all have ended")
        third.stop()
        self.assertIn(f"the schema is {known}", self.migrate(known, 0, NEXT))
        self.assertEqual(self.checksum(), before)
        last = self.peer("ready", *members, like=third)
        jobs = {name: last.job(job) for name, job in load.accepted.items()}
        lost = [name for name, job in load.accepted.items() if self.postgres.sql(f"select id from jobs where name = '{name}'") != [[str(job)]]
                or jobs[name]["attempt"] != 1 or jobs[name]["state"] not in ("Succeeded", "Failed")]
        gone = [name for name, job in jobs.items() if job["state"] == "Failed"]
        self.assertEqual({jobs[name]["reason"] for name in gone}, {"Lost"} if gone else set())
        print(f"{len(jobs)} jobs accepted while both daemons were replaced; each is there once and had one attempt; "
              f"{len(gone)} were running on a simulated member that ended with its daemon", flush=True)
        print(f"R25 figure={len(lost) + (len(gone) if BED else 0)} lost, schema equal after up and down bar=0 lost, schema equal", flush=True)
        self.assertEqual((lost, gone if BED else []), ([], []))
        self.assertLess(len(gone), len(jobs) // 2)

    def test_the_schema_goes_down_and_up_on_data_and_is_the_same_and_no_data_goes(self):
        peer = self.peer("ready")
        peer.run("muster", "apply", "-f", "-", stdin=QUEUES)
        for number in range(3):
            peer.wait_state(json.loads(peer.ask("POST", "/v1/namespaces/default/jobs", shell_job(f"job-{number}", "true"))[2])["id"], "Succeeded")
        peer.run("sbatch", "--array=1-3", "--wrap", "true", env={"MUSTER_NAMESPACE": "default"})
        peer.wait(lambda: self.postgres.sql("select count(*) from job_state where not terminal") == [["0"]], what="the array has ended")
        before, known = self.checksum(), self.schema()
        jobs = self.postgres.sql("select id, uid, name, state, array_job_id, array_task_id from jobs join job_state on job_id = id order by id")
        self.assertIn("leads this database", self.migrate(known - 1, 1))
        peer.stop()
        lowest = 20
        self.assertIn("migration 20 (steps) is not taken back", self.migrate(lowest - 1, 1))
        self.assertEqual((self.schema(), self.checksum()), (known, before))
        self.migrate(lowest, 0)
        self.assertEqual(self.schema(), lowest)
        self.assertNotEqual(self.checksum(), before)
        self.migrate(known, 0)
        self.assertEqual(self.checksum(), before)
        again = self.peer("ready", like=peer)
        self.assertEqual(self.postgres.sql(
            "select id, uid, name, state, array_job_id, array_task_id from jobs join job_state on job_id = id order by id"), jobs)
        self.assertEqual(again.job(jobs[0][0])["state"], "Succeeded")
        self.assertIn("the schema is a number", self.migrate("next", 2))
        self.assertIn(f"this program knows schema {known} and none above it", self.migrate(known + 1, 1))


if __name__ == "__main__":
    unittest.main()
