"""R26: a backup is restored while members have moved on. Every attempt is adopted or listed for the operator, and nothing runs again
by itself. The members are real processes, and each run of a job leaves a line in a file, so a second run cannot hide.
"""
import collections
import os
import re
import shutil
import subprocess
import unittest

from muster_server import BIN, PATIENCE, QUEUES, Server, shell_job, sql
from pg_pair import PROGRAMS, Postgres

FLAGS = ["--local-cluster", "east,cpu=32,memory=64Gi", "--local-cluster", "west,cpu=32,memory=64Gi"]
# What becomes of a job between the backup and the restore: was it started before the backup, is it let go on after it, is it deleted then.
FATES = {  # name: (running at the backup, ends after it, deleted after it)
    "goes-on": (True, False, False), "ended": (True, True, False), "deleted": (True, True, True),
    "began": (False, False, False), "began-ended": (False, True, False), "began-deleted": (False, True, True)}
EACH = int(os.environ.get("MUSTER_EACH", "2"))  # jobs of each fate


class Restore(unittest.TestCase):
    def setUp(self):
        self.server = Server(FLAGS)
        self.addCleanup(self.server.close)
        self.server.start()
        self.runs = os.path.join(self.server.dir, "runs")
        self.addCleanup(self.end_pods)

    def end_pods(self):
        """Also those that the restored daemon lists and leaves alone."""
        for name in self.starts() if os.path.exists(self.runs) else ():
            self.server.open_gate(name)
        supervisors = f"muster-pod-supervisor {self.server.dir}/"
        self.server.wait(lambda: subprocess.run(["pgrep", "-f", supervisors], stdout=subprocess.DEVNULL, check=False).returncode != 0, what="pods end")

    def script(self, name):
        return f"echo {name} >> {self.runs}; {self.server.gate(name)}"

    def submit(self, name):
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job(name, self.script(name), requests={"cpu": "1"}))
        self.assertEqual(status, 201, job)
        return job["id"]

    def starts(self):
        """How often each job has run."""
        with open(self.runs, encoding="utf-8") as file:
            return collections.Counter(file.read().split())

    def end(self, name, number):
        self.server.open_gate(name)
        self.server.wait_state(number, "Succeeded")

    def restore(self, file):
        """The database as it was, beside members as they are."""
        self.server.stop()
        shutil.move(f"{self.server.dir}/postgres", f"{self.server.dir}/postgres.lost")
        told = self.server.run("muster", "restore", file, "--data-dir", self.server.dir)
        self.assertRegex(told, r"restored installation [0-9a-f-]{36} as of \d{4}-")
        self.server.start()

    def lose(self):
        """A history with every fate; the numbers of the jobs by name, those of the backup and those that came after it."""
        server, number = self.server, {}
        server.run("muster", "apply", "-f", "-", stdin=QUEUES.replace("nominalQuota: 32", f"nominalQuota: {3 * EACH + 1}"))
        before = [f"{fate}-{i}" for fate, (runs, _, _) in FATES.items() if runs for i in range(EACH)] + ["requeued"]
        for name in before:
            number[name] = self.submit(name)
            server.wait_state(number[name], "Running")
        waiting = [f"{fate}-{i}" for fate, (runs, _, _) in FATES.items() if not runs for i in range(EACH)] + ["waits-on"]
        for name in waiting:
            number[name] = self.submit(name)
            server.wait_state(number[name], "Pending")
        server.run("muster", "hold", str(number["waits-on"]))
        server.wait(lambda: sum(self.starts().values()) == len(before), what="all have begun")
        file = f"{server.dir}/backup"
        told = server.run("muster", "backup", file, "--data-dir", server.dir)
        self.assertRegex(told, r"backup: schema \d+ of installation ")
        server.run("muster", "release", str(number["waits-on"]))  # it waits for quota again; nothing else may let it run
        server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "32")
        late = {name: self.submit(name) for name in ("late-runs", "late-ended")}
        for name in [*waiting, *late]:
            server.wait_state({**number, **late}[name], "Running")
        server.run("muster", "requeue", str(number["requeued"]))
        for fate, (_, ends, deleted) in FATES.items():
            for i in range(EACH):
                name = f"{fate}-{i}"
                if ends:
                    self.end(name, number[name])
                if deleted:
                    self.assertEqual(server.call("DELETE", f"/apis/batch/v1/namespaces/default/jobs/{name}")[0], 200)
        self.end("late-ended", late["late-ended"])
        server.wait(lambda: not sql(server, "select 1 from dispatches d join job_state s using (job_id) where s.deletion_requested and "
                                    "d.state <> 8"), what="what is deleted is gone from its member")
        return file, number, late

    def test_R26_all_is_adopted_or_listed_and_nothing_runs_again_by_itself(self):
        server = self.server
        file, number, late = self.lose()
        begun = self.starts()
        held_uids = {job["uid"]: job["name"] for job in server.jobs()}
        self.restore(file)
        # A job that is submitted now is scheduled, so the restored ones have been looked at; it gets a number that nobody had.
        fresh = self.submit("fresh")
        self.assertGreater(fresh, max(late.values()) + 1000)
        self.end("fresh", fresh)
        server.wait(lambda: len(sql(server, "select 1 from set_aside_objects where reason = 1")) >= 2 * EACH + 2, what="objects are listed")
        state = {name: server.job(job) for name, job in number.items()}
        aside = {held_uids.get(uid, uid) for uid, in sql(server, "select job_uid from set_aside_objects where reason = 1 and not released")}
        fates = collections.Counter()
        for name, job in state.items():
            adopted = name.startswith("goes-on") and job["state"] == "Running"
            ended = name.startswith("ended") and job["state"] == "Succeeded"  # its end was still to be read on its member
            listed = name in aside or job["state"] == "Held" or (job["state"], job["reason"]) == ("Failed", "Lost")
            fates["adopted" if adopted or ended else "listed" if listed else f"neither: {name} is {job['state']}"] += 1
        for name in late:
            fates["listed" if name in aside else f"neither: {name}"] += 1
        doctor = server.run("muster", "doctor", "--data-dir", server.dir, check=False)
        self.assertEqual(doctor.returncode, 1, doctor.stderr)
        self.assertEqual(len(re.findall(r"of a job with the uid [0-9a-f-]{36}, which this database does not have", doctor.stdout)), len(late))
        self.assertRegex(doctor.stdout, r"(?m)^restored +note$")
        self.assertIn("which this database never gave out", doctor.stdout)
        again = self.starts() - begun
        silent = sum(again.values()) - again["fresh"]
        # What was held says why, and runs when it is released; the collection goes on when an administrator says so.
        job = server.job(number["began-deleted-0"])
        self.assertIn("the database was restored from a backup of ", job["message"])
        server.run("muster", "release", str(job["id"]))
        self.assertEqual(server.wait_state(job["id"], "Succeeded")["state"], "Succeeded")
        self.assertEqual(self.starts()["began-deleted-0"], 2)
        for i in range(EACH):
            self.end(f"goes-on-{i}", number[f"goes-on-{i}"])
            self.assertEqual(self.starts()[f"goes-on-{i}"], 1)
        for member in ("east", "west"):
            server.run("muster", "cluster", "collect", member)
        server.wait(lambda: not sql(server, "select 1 from set_aside_objects"), what="what was listed is collected")
        neither = {what: count for what, count in fates.items() if what.startswith("neither")}
        total = sum(fates.values())
        found = total - sum(neither.values())
        print(f"{fates['adopted']} adopted, {fates['listed']} listed of {total}; {neither}", flush=True)
        print(f"R26 figure={100 * found // total}% adopted or listed, {silent} silent re-runs bar=100% adopted or listed, 0 silent re-runs",
              flush=True)
        self.assertEqual((neither, silent), ({}, 0))

    def test_a_restart_after_the_restore_changes_no_decision(self):
        file, number, _ = self.lose()
        self.restore(file)
        self.server.wait_state(number["began-0"], "Held")
        self.server.run("muster", "release", str(number["began-0"]))
        self.server.wait(lambda: self.server.job(number["began-0"])["state"] != "Held", what="it is released")
        begun = self.starts()
        self.server.stop()
        self.server.start()
        self.assertNotEqual(self.server.job(number["began-0"])["state"], "Held", "a release is for good")
        self.assertEqual(self.server.job(number["began-1"])["state"], "Held")
        self.assertEqual(self.starts()["began-1"], begun["began-1"])

    def test_what_is_no_empty_database_or_no_backup_is_refused_and_stays_as_it_is(self):
        server = self.server
        server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        file, data = f"{server.dir}/backup", ["--data-dir", server.dir]
        server.run("muster", "backup", file, *data)
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        self.assertIn("it is not overwritten", self.refused("backup", file, *data))
        self.assertIn("another musterd", self.refused("restore", file, *data))
        sql(server, "insert into schema_migrations select 9999, 'of a newer version', checksum from schema_migrations limit 1")
        self.assertIn("9999", self.refused("backup", f"{server.dir}/newer", *data))
        self.assertEqual([one for one in os.listdir(server.dir) if one.startswith("newer")], [])
        sql(server, "delete from schema_migrations where number = 9999")
        before = sql(server, "select count(*) from events")
        server.stop()
        down = subprocess.run(["musterd", "doctor", *data], env=server.environment(), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(down.returncode, 0, down.stdout + down.stderr)
        self.assertRegex(down.stdout, r"(?m)^lease +I11 +ok$")
        self.assertIn("the database is not empty", self.refused("restore", file, *data))
        shutil.move(f"{server.dir}/postgres", f"{server.dir}/postgres.kept")
        with open(f"{server.dir}/no-backup", "w", encoding="utf-8") as other:
            other.write("text\n")
        self.assertIn("archive", self.refused("restore", f"{server.dir}/no-backup", *data))
        with open(file, "rb") as whole, open(f"{server.dir}/half", "wb") as half:
            half.write(whole.read()[:os.path.getsize(file) * 9 // 10])
        self.refused("restore", f"{server.dir}/half", *data)
        server.run("muster", "restore", file, *data)
        self.assertIn("the database is not empty", self.refused("restore", file, *data))
        server.start()
        self.assertGreaterEqual(int(sql(server, "select count(*) from events")[0][0]), int(before[0][0]))
        self.assertEqual(sql(server, "select count(*) from restores"), [["1"]])

    def refused(self, *words):
        done = subprocess.run(["muster", *words], env=self.server.environment(), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, (words, done.stdout, done.stderr))
        return done.stderr


class Beside(unittest.TestCase):
    def test_a_restore_that_somebody_else_overtakes_says_so_and_leaves_nothing(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        of = lambda database: ["--postgres", postgres.url().rsplit("/", 1)[0] + "/" + database]
        newest = re.search(r"knows schema (\d+)", subprocess.run([f"{BIN}/musterd", "migrate", "99999", *of("muster")], capture_output=True, text=True,
                                                                 timeout=PATIENCE).stderr).group(1)
        file = os.path.join(postgres.dir, "backup")
        for words in (["migrate", newest], ["backup", file]):
            done = subprocess.run([f"{BIN}/musterd", *words, *of("muster")], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
        postgres.sql("create database other", database="postgres")
        # It has made a table of the same name, and has not committed yet: the restore finds an empty database.
        other = subprocess.Popen([f"{PROGRAMS}/psql", "-qX", "-d", postgres.conninfo("other")], stdin=subprocess.PIPE, text=True)
        other.stdin.write("begin; create table jobs (id int);\n")
        other.stdin.flush()
        postgres.wait(lambda: postgres.sql("select 1 from pg_stat_activity where datname = 'other' and state = 'idle in transaction'", database="postgres"),
                      "the other session has made its table")
        restore = subprocess.Popen([f"{BIN}/musterd", "restore", file, *of("other")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        postgres.wait(lambda: postgres.sql("select 1 from pg_stat_activity where datname = 'other' and wait_event_type = 'Lock'", database="postgres"),
                      "the restore waits for it")
        other.communicate("commit;\n", timeout=PATIENCE)
        said = restore.communicate(timeout=PATIENCE)
        self.assertEqual((restore.returncode, said[0]), (1, ""), said)
        self.assertIn("somebody else has filled the database meanwhile, and nothing was restored: the database is not empty", said[1])
        self.assertEqual(postgres.sql("select count(*) from pg_class where relname = 'job_state'", database="other"), [["0"]])


if __name__ == "__main__":
    unittest.main()
