"""Two users and root on one machine, with accounts that the test makes and removes: each one's job runs as him, and none cancels, changes, reads or
names himself another. With a daemon that is root, with one that is not beside a muster-launcher, and with one that is not and is alone."""
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import slurm_site

DAEMON = "games"  # an account that every Debian has, and nobody uses
UIDS = (47311, 47312)


class User:
    """An account of this host with a home of its own."""

    def __init__(self, uid, home):
        self.name, self.uid, self.home = f"muster-e2e-{uid}", uid, home
        subprocess.run(["useradd", "--uid", str(uid), "--user-group", "--no-create-home", "--home-dir", home, "--shell", "/bin/sh", self.name], check=True)
        os.mkdir(home, 0o700)
        os.chown(home, uid, uid)

    def remove(self):
        subprocess.run(["userdel", self.name], check=True)

    def run(self, site, *words, stdin=None, env=None):
        """A command of this user's."""
        variables = {**site.environment(), "HOME": self.home, "USER": self.name, "LOGNAME": self.name, **(env or {})}
        return subprocess.run(words, env=variables, input=stdin, capture_output=True, text=True, timeout=120, cwd=self.home, check=False,
                              user=self.uid, group=self.uid, extra_groups=[])

    def out(self, site, *words, **more):
        done = self.run(site, *words, **more)
        assert done.returncode == 0, f"{self.name}: {words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def curl(self, site, method, path, body=None, *headers):
        """(status, text) of a request of this user's."""
        done = self.run(site, "curl", "-sS", "--max-time", "60", "-w", "\n%{http_code}", "-X", method, "-H", "Content-Type: application/json",
                        *(word for header in headers for word in ("-H", header)), *(["--data-binary", "@-"] if body is not None else []),
                        site.url() + path, stdin=None if body is None else json.dumps(body))
        text, _, status = done.stdout.rpartition("\n")
        return int(status), text


class Plain(slurm_site.Muster):
    """A daemon that runs as DAEMON."""

    def launch(self):
        account = pwd.getpwnam(DAEMON)
        os.chown(self.dir, account.pw_uid, account.pw_gid)
        with open(os.path.join(self.dir, "musterd.out"), "ab") as log:
            self.process = subprocess.Popen(
                [f"{slurm_site.BIN}/musterd", "--data-dir", self.dir, "--rest", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
                 "--log-file", os.path.join(self.dir, "musterd.log"), *self.flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment(), cwd="/", user=account.pw_uid, group=account.pw_gid, extra_groups=[])


class Users:
    """What holds whoever the daemon is."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="muster-users-", dir="/var/tmp")
        os.chmod(cls.place, 0o711)
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.users = []
        for uid in UIDS:
            cls.users.append(User(uid, f"{cls.place}/{uid}"))
            cls.addClassCleanup(cls.users[-1].remove)
        cls.one, cls.two = cls.users
        cls.site = cls.make_site()
        cls.addClassCleanup(cls.site.close)
        cls.site.start()

    def submit(self, user, script, *options):
        return user.out(self.site, "sbatch", "--parsable", "-o", "%j.out", *options, stdin="#!/bin/sh\n" + script + "\n")

    def state(self, job):
        return self.site.run("squeue", "-h", "-j", job, "-t", "all", "-o", "%T").strip()

    def until(self, job, *states):
        self.site.wait(lambda: self.state(job) in states, what=f"job {job} in {states}, was {self.site.job(job)}")

    def view(self, job):
        """What no other user may change of a job."""
        seen = self.site.job(job)
        return {key: seen[key] for key in ("state", "reason", "user", "attempt", "priority", "timeLimitSeconds", "displayName", "queue", "batch")}

    def refused(self, done, *words):
        """The command failed, with these words."""
        self.assertNotEqual(done.returncode, 0, (done.args, done.stdout))
        for word in words:
            self.assertIn(word, done.stderr, done.args)


class Runs(Users):
    """The daemon starts jobs of anybody."""

    def test_each_ones_job_runs_as_him(self):
        for user in self.users:
            job = self.submit(user, "id -u; id -un; id -G; echo $USER $LOGNAME $SLURM_JOB_USER $SLURM_JOB_UID $HOME; touch made")
            self.until(job, "COMPLETED")
            path = f"{user.home}/{job}.out"
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), f"{user.uid}\n{user.name}\n{user.uid}\n{user.name} {user.name} {user.name} {user.uid} {user.home}\n")
            self.assertEqual({os.stat(one).st_uid for one in (path, f"{user.home}/made")}, {user.uid})
            self.assertEqual(user.out(self.site, "squeue", "-h", "-j", job, "-t", "all", "-o", "%u %U"), f"{user.name} {user.uid}")
            self.assertEqual(user.out(self.site, "sacct", "-nPX", "-j", job, "-o", "User,UID,State"), f"{user.name}|{user.uid}|COMPLETED")
            self.assertEqual(user.out(self.site, "srun", "id", "-u"), str(user.uid))
            self.assertEqual(user.out(self.site, "salloc", "sh", "-c", "id -u; srun id -u"), f"{user.uid}\n{user.uid}")

    def test_the_environment_names_nobody(self):
        """Variables that claim another name change nothing."""
        lies = {"USER": self.one.name, "LOGNAME": self.one.name, "SLURM_JOB_USER": self.one.name, "SLURM_JOB_UID": str(self.one.uid), "SLURM_JOB_ACCOUNT": "root",
                "MUSTER_USER": self.one.name, "HOME": self.one.home}
        done = self.two.run(self.site, "sbatch", "--parsable", "-D", self.two.home, "-o", "lies.out", "--wrap", "id -u; echo $SLURM_JOB_USER $SLURM_JOB_UID", env=lies)
        job = done.stdout.strip()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.until(job, "COMPLETED")
        self.assertEqual(self.site.job(job)["user"], self.two.name)
        with open(f"{self.two.home}/lies.out", encoding="utf-8") as file:
            self.assertEqual(file.read(), f"{self.two.uid}\n{self.two.name} {self.two.uid}\n")

    def test_files_of_the_other(self):
        secret = f"{self.one.home}/secret"
        with open(secret, "w", encoding="utf-8") as file:
            file.write("of one\n")
        os.chmod(secret, 0o600)
        os.chown(secret, self.one.uid, self.one.uid)
        for number, options in enumerate((("-o", f"{self.one.home}/planted"), ("-e", f"{self.one.home}/planted"), ("-o", secret), ("-i", secret), ("-D", self.one.home))):
            job = self.submit(self.two, "cat; id", "-J", f"files-{number}", *options)
            self.until(job, "FAILED", "COMPLETED", "BOOT_FAIL")
            self.assertFalse(os.path.exists(f"{self.one.home}/planted"), options)
            for folder, _, names in os.walk(self.two.home):
                for name in names:
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        self.assertNotIn("of one", file.read(), options)
        with open(secret, encoding="utf-8") as file:
            self.assertEqual(file.read(), "of one\n")
        self.assertEqual(os.listdir(self.one.home).count("planted"), 0)

    def test_the_other_ones_jobs_are_left_alone(self):
        runs = self.submit(self.one, "echo private; srun sleep 600", "-J", "runs")
        held = self.submit(self.one, "true", "-H", "-J", "held")
        array = self.submit(self.one, "true", "-H", "-a", "1-3", "-J", "many")
        ended = self.submit(self.one, "echo private", "-J", "over")
        self.until(runs, "RUNNING")
        self.until(ended, "COMPLETED")
        self.site.wait(lambda: len(self.one.out(self.site, "sacct", "-nP", "-j", runs, "-o", "JobID").split()) == 3, what="its step is there")
        jobs = (runs, held, array, ended)
        before = {job: self.view(job) for job in jobs}
        denied, invalid = "Access/permission denied", "Invalid user id"
        commands = [
            (("scancel", runs), f"Kill job error on job id {runs}: {denied}"), (("scancel", held), denied), (("scancel", f"{array}_2"), denied),
            (("scancel", "-s", "USR1", runs), denied), (("scancel", "-b", "-s", "KILL", runs), denied), (("scancel", "-f", "-s", "KILL", runs), denied),
            (("scancel", f"{runs}.0"), invalid), (("scancel", "-u", self.one.name), denied), (("scancel", "-n", "runs"), denied),
            *(((("scontrol", verb, job), f"{invalid} for job {job}")) for verb in ("hold", "uhold", "release") for job in (runs, held)),
            *(((("scontrol", verb, runs), f"{denied} for job {runs}")) for verb in ("requeue", "requeuehold", "suspend", "resume")),
            (("scontrol", "requeue", ended), denied), (("scontrol", "hold", f"{array}_2"), invalid), (("scontrol", "release", array), invalid),
            (("scontrol", "update", f"jobid={held}", "comment=x"), f"{invalid} for job {held}"), (("scontrol", "update", f"jobid={runs}", "timelimit=1"), invalid),
            (("scontrol", "update", f"jobid={array}", "arraytaskthrottle=1"), invalid), (("scontrol", "update", f"jobid={held}", "priority=5"), invalid),
            (("scontrol", "notify", runs, "hello"), f"job notify failure: {invalid}"),
            (("scontrol", "write", "batch_script", runs, "-"), f"job script retrieval failed: {invalid}"),
            (("srun", "--jobid", runs, "id"), denied), (("srun", "--jobid", runs, "--overlap", "id"), denied), (("sattach", f"{runs}.0"), ""),
            (("sbatch", "--uid", self.one.name, "--wrap", "id"), "--uid only permitted by root user"),
            (("sbatch", "--gid", str(self.one.uid), "--wrap", "id"), "--gid only permitted by root user"),
            (("salloc", "--uid", self.one.name, "true"), "--uid"), (("srun", "--uid", self.one.name, "true"), "--uid"),
            (("scontrol", "token", f"username={self.one.name}"), ""), (("scontrol", "token", "username=root"), ""),
            (("scontrol", "update", "partitionname=main", "state=down"), invalid), (("scontrol", "update", "nodename=n1", "state=drain", "reason=x"), invalid),
            *((("muster", verb, runs), "") for verb in ("logs", "hold", "release", "requeue")), (("muster", "delete", "job", runs), ""), (("muster", "logs", ended), ""),
            (("muster", "--as", self.one.name, "logs", ended), ""), (("muster", "--as", "root", "delete", "job", runs), ""),
        ]
        for words, told in commands:
            done = self.two.run(self.site, *words)
            self.refused(done, told)
            self.assertNotIn("private", done.stdout, words)
        for words in (("sacct", "-B", "-j", runs), ("scontrol", "show", "job", runs), ("sstat", "-j", runs), ("squeue", "-o", "%all", "-j", runs)):
            self.assertNotIn("echo private", self.two.run(self.site, *words).stdout, words)
        self.assertEqual({job: self.view(job) for job in jobs}, before, "they are as they were")
        self.assertEqual(self.one.out(self.site, "muster", "logs", ended), "private")
        self.assertIn("echo private", self.one.out(self.site, "scontrol", "write", "batch_script", runs, "-"))
        # Root may.
        self.site.run("scontrol", "hold", held)
        self.assertEqual(self.site.job(held)["reason"], "HeldByAdmin")
        self.refused(self.one.run(self.site, "scontrol", "release", held), denied)
        for job in (runs, held, array):
            self.site.run("scancel", job)
        self.until(runs, "CANCELLED")

    def test_rest_in_the_other_ones_name(self):
        job = self.submit(self.one, "sleep 600", "-J", "rest")
        self.until(job, "RUNNING")
        before = self.view(job)
        curl = lambda *words: self.two.curl(self.site, *words)  # noqa: E731
        calls = [("DELETE", f"/v1/jobs/{job}", None), ("GET", f"/v1/jobs/{job}/logs", None), ("GET", f"/v1/jobs/{job}/script", None),
                 ("POST", f"/v1/jobs/{job}:signal", {"signal": "KILL", "target": "full"}), ("POST", f"/v1/jobs/{job}:notify", {"message": "x"}),
                 ("POST", f"/v1/jobs/{job}:update", {"comment": "x"}), ("POST", f"/v1/jobs/{job}:keep", None), ("POST", f"/v1/jobs/{job}:hold", {"byAdmin": True}),
                 *(("POST", f"/v1/jobs/{job}:{verb}", None) for verb in ("hold", "release", "requeue", "suspend", "resume"))]
        impersonate = [(), (f"Impersonate-User: {self.one.name}",), (f"Impersonate-User: {self.one.name}", "Impersonate-Group: system:masters"),
                       (f"X-Remote-User: {self.one.name}",), (f"X-SLURM-USER-NAME: {self.one.name}",), (f"Impersonate-Uid: {self.one.uid}",)]
        for headers in impersonate:
            for method, path, body in calls:
                status, text = curl(method, path, body, *headers)
                self.assertIn(status, (400, 401, 403, 404), (method, path, headers, text))
        self.assertEqual(self.view(job), before)
        for path in (f"/v1/jobs/{job}/manifest", f"/v1/jobs/{job}", f"/v1/jobs/{job}/explain"):
            status, text = curl("GET", path)
            self.assertEqual(status, 200, text)
            for hidden in ("sleep 600", "LOGNAME"):
                self.assertNotIn(hidden, text, path)
                if path.endswith("manifest"):
                    self.assertIn(hidden, self.one.curl(self.site, "GET", path)[1])
        script = {"script": "#!/bin/sh\nid -u\n", "name": "mine", "queue": "main", "workDir": self.two.home, "output": f"{self.two.home}/mine.out"}
        for lie in ({"user": self.one.name}, {"uid": self.one.uid}, {"account": {"uid": self.one.uid}}, {"runAsUser": self.one.uid}):
            status, text = curl("POST", "/v1/namespaces/default/jobs", {**script, **lie})
            self.assertEqual(status, 400, (lie, text))
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x", "command": ["id", "-u"], "securityContext": {"runAsUser": self.one.uid}}]}
        for annotations in ({}, {"muster.io/user": self.one.name}):
            status, text = curl("POST", "/v1/namespaces/default/jobs", {
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "as-", "annotations": annotations, "labels": {"kueue.x-k8s.io/queue-name": "main"}},
                "spec": {"backoffLimit": 0, "template": {"spec": pod}}})
            if status == 201:
                made = str(json.loads(text)["id"])
                self.until(made, "FAILED", "BOOT_FAIL")
            else:
                self.assertIn(status, (400, 403), text)
        self.site.run("scancel", job)

    def test_what_the_agent_left_is_nobody_elses(self):
        """Sockets, steps and outputs of a running job on this host."""
        job = self.submit(self.one, "srun sleep 600", "-J", "left")
        self.until(job, "RUNNING")
        self.site.wait(lambda: len(self.one.out(self.site, "sacct", "-nP", "-j", job, "-o", "JobID").split()) == 3, what="its step is there")
        environment = self.environment_of(job)
        steps = environment["MUSTER_STEPS_DIR"]
        for words in (["ls", steps], ["cat", f"{steps}/steps.jsonl"], ["sh", "-c", f"echo 1 >{steps}/manager.wanted"]):
            self.refused(self.two.run(self.site, *words), "Permission denied")
        # With all that its environment tells, the step manager is asked, and does not answer.
        stolen = {key: value for key, value in environment.items() if key.startswith(("SLURM_", "MUSTER_"))}
        self.refused(self.two.run(self.site, "srun", "id", "-u", env={**stolen, "MUSTER_URL": self.site.url()}))
        self.assertEqual(self.state(job), "RUNNING")
        self.site.run("scancel", job)

    def environment_of(self, job):
        """As root reads it of the script's process, which is the first user's: daemons of other tests have jobs of that number too."""
        def search():
            for entry in filter(str.isdigit, os.listdir("/proc")):
                try:
                    if os.stat(f"/proc/{entry}").st_uid != self.one.uid:
                        continue
                    with open(f"/proc/{entry}/environ", encoding="utf-8", errors="replace") as file:
                        found = dict(one.split("=", 1) for one in file.read().split("\0") if "=" in one)
                except OSError:
                    continue
                if found.get("SLURM_JOB_ID") == job and "MUSTER_STEPS_DIR" in found:
                    return found
            return None
        return self.site.wait(search, what=f"a process of job {job}")

    def test_a_signal_of_the_other_user(self):
        job = self.submit(self.one, "trap 'echo struck' USR1; trap 'echo own' USR2; echo ready; while :; do sleep 0.2; done", "-J", "struck")

        def told():
            try:
                with open(f"{self.one.home}/{job}.out", encoding="utf-8") as file:
                    return file.read()
            except FileNotFoundError:
                return ""
        self.site.wait(lambda: told() == "ready\n", what="its traps are set")
        environment = self.environment_of(job)
        self.assertEqual(environment["SLURM_JOB_UID"], str(self.one.uid))
        pids = [entry for entry in filter(str.isdigit, os.listdir("/proc")) if self.belongs(entry, job)]
        self.assertTrue(pids)
        for pid in pids:
            self.refused(self.two.run(self.site, "sh", "-c", f"kill -s USR1 {pid}"), "not permitted")
        # A signal of its own user, which comes behind the other's, is the only one that it has got.
        for pid in pids:
            self.one.run(self.site, "sh", "-c", f"kill -s USR2 {pid}")
        self.site.wait(lambda: "own" in told(), what="its own user's signal")
        self.assertNotIn("struck", told())
        self.site.run("scancel", job)

    def belongs(self, pid, job):
        try:
            with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:
                of_job = f"SLURM_JOB_ID={job}" in file.read().split("\0")
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                return of_job and "slurm_script" in file.read()  # its children come and go
        except OSError:
            return False


@unittest.skipUnless(os.geteuid() == 0, "only root makes users")
class WithRoot(Runs, unittest.TestCase):
    """The daemon is root."""

    @classmethod
    def make_site(cls):
        return slurm_site.Muster()

    def test_roots_job_is_roots(self):
        job = self.site.run("sbatch", "--parsable", "-D", self.site.dir, "-o", "root.out", stdin="#!/bin/sh\nid -u\n").strip()
        self.until(job, "COMPLETED")
        with open(f"{self.site.dir}/root.out", encoding="utf-8") as file:
            self.assertEqual(file.read(), "0\n")
        for words in (("scancel", job), ("scontrol", "requeue", job)):
            self.two.run(self.site, *words)
        self.assertEqual(self.state(job), "COMPLETED")
        self.refused(self.two.run(self.site, "muster", "logs", job))


@unittest.skipUnless(os.geteuid() == 0, "only root makes users")
class WithLauncher(Runs, unittest.TestCase):
    """The daemon is a plain user beside a muster-launcher."""

    @classmethod
    def make_site(cls):
        folder = tempfile.mkdtemp(prefix="muster-launcher-", dir="/tmp")
        os.chmod(folder, 0o711)
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = f"{folder}/launcher.sock"
        with open(f"{folder}/log", "ab") as log:
            cls.launcher = subprocess.Popen([f"{slurm_site.BIN}/muster-launcher", *slurm_site.FLAGS, "--socket", path, "--state-dir", f"{folder}/state",
                                             "--daemon-user", DAEMON], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        cls.addClassCleanup(cls.end_launcher)
        deadline = time.monotonic() + 60
        while not os.path.exists(path):
            assert cls.launcher.poll() is None and time.monotonic() < deadline, folder
            time.sleep(0.05)
        return Plain([*slurm_site.FLAGS, "--launcher", path])

    @classmethod
    def end_launcher(cls):
        cls.launcher.send_signal(signal.SIGTERM)
        cls.launcher.wait(timeout=60)

    def test_no_job_is_roots_or_the_daemons(self):
        job = self.site.run("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", stdin="#!/bin/sh\nid -u\n").strip()
        self.until(job, "FAILED", "BOOT_FAIL")


@unittest.skipUnless(os.geteuid() == 0, "only root makes users")
class Alone(Users, unittest.TestCase):
    """The daemon is a plain user and alone: it runs its own user's jobs, and says so of others'."""

    @classmethod
    def make_site(cls):
        return Plain()

    def test_only_its_own_users_jobs_run(self):
        for user in self.users:
            job = self.submit(user, "touch ran")
            self.until(job, "FAILED", "BOOT_FAIL")
            self.assertIn(f"a job of user {user.uid} needs a musterd that runs as root", str(self.site.job(job)))
            self.assertEqual(os.listdir(user.home), [])
        job = self.site.run("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", stdin="#!/bin/sh\nid -u\n").strip()
        self.until(job, "FAILED", "BOOT_FAIL")
        if os.environ.get("MUSTER_SANITIZE"):
            # A daemon without root limits a job's memory by its address space, and programs with sanitizers reserve terabytes of it.
            self.skipTest("its own user's job")
        account = pwd.getpwnam(DAEMON)
        done = subprocess.run(["sbatch", "--parsable", "-D", self.site.dir, "-o", f"{self.site.dir}/own.out", "--wrap", "id -u"], env=self.site.environment(), check=True,
                              capture_output=True, text=True, user=account.pw_uid, group=account.pw_gid, extra_groups=[], cwd=self.site.dir, timeout=60)
        self.until(done.stdout.strip(), "COMPLETED")
        with open(f"{self.site.dir}/own.out", encoding="utf-8") as file:
            self.assertEqual(file.read(), f"{account.pw_uid}\n")

    def test_a_waiting_job_is_its_users(self):
        job = self.submit(self.one, "true", "-H")
        for words in (("scancel", job), ("scontrol", "release", job), ("scontrol", "update", f"jobid={job}", "comment=x"), ("scontrol", "write", "batch_script", job, "-")):
            self.refused(self.two.run(self.site, *words))
        self.assertEqual(self.state(job), "PENDING")
        self.one.out(self.site, "scancel", job)
        self.until(job, "CANCELLED")


if __name__ == "__main__":
    unittest.main()
