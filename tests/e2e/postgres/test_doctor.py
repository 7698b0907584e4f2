"""muster doctor: a whole database has nothing off, and each check names the damage that is planted for it, in a copy of that database."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from muster_server import BIN, PATIENCE, QUEUES, shell_job
from pg_pair import Postgres
from two_daemons import Peer, key_file

ASIDE = "insert into set_aside_objects values ('sim', 'u-{reason}', 'batch/v1', 'Job', 'default', 'stray', {job}, 9, 1, {reason}, false, 1)"
LOWER = """update cluster_queues set {also} manifest = replace(manifest::text, '"nominalQuota":"2"', '"nominalQuota":"1"')::json"""

# The check, what it must say, and the SQL that plants the damage. {db} is the copy's name.
DAMAGE = [
    ("schema", "migration 9999 (future) is not known", "insert into schema_migrations values (9999, 'future', 'x')"),
    ("indexes", "index dispatches_one_live of table dispatches is missing", "drop index dispatches_one_live"),
    ("indexes", "trigger audit_no_update of table audit is missing or disabled", "alter table audit disable trigger audit_no_update"),
    ("settings", "synchronous_commit is off", "alter database {db} set synchronous_commit = off"),
    ("standby", "no synchronous standby is named", "select 1"),
    ("lease", "no daemon leads: the lease of", "update leader set released = false, expires = now() - interval '1 hour'"),
    ("epochs", "has ended, and the leader's epoch is", "insert into ended_epochs select epoch, 1 from leader"),
    ("restored", "restored at 1970-01-01T00:00:02Z from a backup of 1970-01-01T00:00:01Z",
     "insert into restores (backup, restored, last_seq, seq_floor, job_floor) values (1000000, 2000000, 1, 2, 1)"),
    ("accepted", "names job 99999, which is not there", "insert into idempotency_keys values ('scope', 'key', 1, 99999)"),
    ("accepted", "was accepted and has no state", "delete from job_state where state = 2"),
    ("live_attempts", "has 2 live attempts", """drop index dispatches_one_live; insert into dispatches (job_uid, attempt, job_id, cluster,
        incarnation, object_kind, namespace, name, remote_uid, state, detail) select job_uid, attempt + 1, job_id, 'other', incarnation,
        object_kind, namespace, name, 'second', state, detail from dispatches where live"""),
    ("attempt_rows", "and no live dispatch of it", "update dispatches set state = 8 where live"),
    ("attempt_rows", "is live on member sim, and the job is not there", "update dispatches set state = 4 where state = 6"),
    ("quota_limits", "ClusterQueue main uses 2 cpu of flavor standard, and may use 1", LOWER.format(also="")),
    ("quota_lowered", "ClusterQueue main uses 2 cpu of flavor standard, and may use 1", LOWER.format(also="generation = 2,")),
    ("usage", "the row of ClusterQueue main says 3 cpu", "update quota_usage set amount = amount + 1000 where resource = 'cpu'"),
    ("events", "is JobSucceeded, and its state is Failed", "update job_state set state = 6 where state = 5"),
    ("versions", "was changed by event", "delete from events where seq in (select resource_version from job_state where state = 5)"),
    ("ends", "has ended at no time", "update job_state set end_time = null where state = 5"),
    ("attempts", "is over, and its record is open", "update attempts set end_time = null where end_time is not null"),
    ("attempts", "ended before it began", "update attempts set end_time = admit_time - 1 where end_time is not null"),
    ("attempts", "and 0 closed records of those that ended", "delete from attempts where end_time is not null"),
    ("objects_ahead", "attempt 9 of job 1, which this database never gave out", ASIDE.format(reason=1, job="(select uid from jobs where id = 1)")),
    ("lost_jobs", "which this database does not have", ASIDE.format(reason=1, job="gen_random_uuid()")),
    ("objects_left_alone", "a copy of an attempt that goes on elsewhere", ASIDE.format(reason=2, job="gen_random_uuid()")),
    ("uids", "and its object has no uid on record", "update dispatches set remote_uid = '' where live"),
    ("stuck_attempts", "it is quarantined", "update dispatches set state = 13 where live"),
    ("members_away", "member sim has not answered since yesterday; 2 attempts there are unknown",
     "update dispatches set state = 10, detail = 'yesterday' where live"),
    ("gangs", "holds quota for 0 of its 1 pod sets", """update job_state set admission = jsonb_set(admission::jsonb, '{{podSets}}', '[]')::json
        where state = 4"""),
    ("reasons", "waits without a reason", "update job_state set reason = '', message = '' where state = 2"),
    ("audit_chain", "row 2 of the audit trail does not follow row 1", """alter table audit disable trigger all;
        update audit set prev = decode(repeat('ab', 32), 'hex') where id = 2; alter table audit enable trigger all"""),
]
NOTES = {"standby", "restored", "quota_lowered", "objects_left_alone", "members_away"}


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.postgres = Postgres()
        cls.addClassCleanup(cls.postgres.close)
        cls.key = key_file()
        cls.addClassCleanup(shutil.rmtree, os.path.dirname(cls.key))
        # Two jobs that end, two that run, two that wait, and a held one; the daemon stops in good order.
        for run_time, jobs in ((50, ("first", "second")), (600_000, ("third", "fourth", "fifth", "sixth"))):
            peer = Peer(cls.postgres.url(), cls.key, "--simulated-cluster", f"sim,cpu=64,memory=64Gi,run-time-ms={run_time}", "--lease-ttl", "2s")
            peer.flags.remove("sim,cpu=64,memory=64Gi,run-time-ms=300")
            peer.flags.remove("--simulated-cluster")
            cls.addClassCleanup(shutil.rmtree, peer.dir, ignore_errors=True)
            peer.serve("ready")
            peer.run("muster", "apply", "-f", "-", stdin=QUEUES.replace("nominalQuota: 32", 'nominalQuota: "2"'))
            states = {"first": "Succeeded", "second": "Succeeded", "third": "Running", "fourth": "Running", "fifth": "Pending", "sixth": "Pending"}
            for job in jobs:
                status, _, body = peer.ask("POST", "/v1/namespaces/default/jobs", shell_job(job, "true", requests={"cpu": "1"}))
                assert status == 201, body
                peer.wait_state(json.loads(body)["id"], states[job])
            cls.live = cls.report(cls.postgres.url())
            if "sixth" in jobs:
                peer.run("muster", "hold", "sixth")
                cls.muster = peer.run("muster", "doctor", "--postgres", cls.postgres.url(), check=False)
            peer.stop()

    def of(self, database):
        return self.postgres.url().rsplit("/", 1)[0] + "/" + database

    @classmethod
    def report(cls, url, status=None):
        done = subprocess.run([f"{BIN}/musterd", "doctor", "-o", "json", "--postgres", url], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode in ((0, 1) if status is None else (status,)), (done.returncode, done.stdout, done.stderr)
        return {check["name"]: check for check in json.loads(done.stdout)["checks"]}

    def test_a_whole_database_has_nothing_off_whether_a_daemon_works_on_it_or_not(self):
        for checks in (self.live, self.report(self.postgres.url(), 0)):
            self.assertEqual({name: check["what"] for name, check in checks.items() if check["state"] != "ok"},
                             {"standby": ["no synchronous standby is named: what was acknowledged is on this server's disk alone"]})
        self.assertEqual(self.muster.returncode, 0, self.muster.stdout + self.muster.stderr)
        self.assertRegex(self.muster.stdout, r"(?m)^daemon +ok +ready$")
        self.assertRegex(self.muster.stdout, r"(?m)^member sim +ok ")
        self.assertRegex(self.muster.stdout, r"(?m)^live_attempts +I2 +ok$")

    def test_each_check_names_the_damage_that_is_planted_for_it(self):
        self.assertEqual({name for name, _, _ in DAMAGE}, set(self.live), "every check has a damage")
        for number, (name, says, statements) in enumerate(DAMAGE):
            with self.subTest(check=name, says=says):
                copy = f"copy_{number}"
                self.postgres.sql(f"create database {copy} template muster", database="postgres")
                self.postgres.sql(statements.format(db=copy), database=copy)
                found = self.report(self.of(copy), 0 if name in NOTES else 1)[name]
                self.assertEqual(found["state"], "note" if name in NOTES else "off")
                self.assertIn(says, " | ".join(found["what"]))
                self.assertGreater(len(found["mend"]), 10)
                self.postgres.sql(f"drop database {copy}", database="postgres")

    def test_what_a_role_may_not_read_is_said_so(self):
        self.postgres.sql("create role nosy login", database="postgres")
        url = self.postgres.url().replace("//muster@", "//nosy@")
        done = subprocess.run([f"{BIN}/musterd", "doctor", "--postgres", url], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("the database's role may not do this", done.stderr)
        self.postgres.sql("grant select on schema_migrations to nosy")
        found = self.report(url, 1)
        self.assertEqual(found["reasons"]["unasked"], "the role may not read it: name the owner of the schema, or the daemon's role")

    def test_what_is_advised_can_be_done(self):
        advised = set(re.findall(r"`(musterd? [a-z]+(?: [a-z-]+)*)", " ".join(check["mend"] for check in self.live.values())))
        self.assertGreater(len(advised), 5, advised)
        for words in sorted(advised):
            with self.subTest(advised=words):
                program, *rest = words.split()
                done = subprocess.run([f"{BIN}/{program}", *rest, "--help"], capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("musterd migrate SCHEMA", subprocess.run([f"{BIN}/musterd", "migrate", "--help"], capture_output=True, text=True).stdout)
        self.assertIn("`musterd migrate N`", self.live["schema"]["mend"])

    def test_the_report_names_what_is_off_and_how_to_mend_it_in_words(self):
        self.postgres.sql("create database words template muster", database="postgres")
        self.postgres.sql("update quota_usage set amount = amount + 1000 where resource = 'cpu'", database="words")
        done = subprocess.run([f"{BIN}/muster", "--server", "http://127.0.0.1:1", "doctor", "--postgres", self.of("words")], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^daemon +off ")
        self.assertRegex(done.stdout, r"usage +I4 +off\n  the row of ClusterQueue main says 3 cpu .*\n  mend: Restart the daemon")
        self.assertIn("1 found something that is off", done.stdout)

    def test_a_database_that_is_not_there_is_another_status(self):
        for url, status, why in (("postgresql://127.0.0.1:1/muster", 3, "Connection refused"), (self.of("absent"), 3, 'database "absent" does not exist'),
                                 ("no url", 2, "neither a URL")):
            done = subprocess.run([f"{BIN}/musterd", "doctor", "--postgres", url], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(why, done.stderr)
        absent = os.path.join(tempfile.gettempdir(), f"muster-absent-{os.getpid()}")
        done = subprocess.run([f"{BIN}/musterd", "doctor", "--data-dir", absent], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"no database is below {absent}", done.stderr)
        self.assertFalse(os.path.exists(absent), "a look makes nothing")


if __name__ == "__main__":
    unittest.main()
