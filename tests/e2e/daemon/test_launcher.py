"""muster-launcher: jobs run as their submitters although musterd is not root, and either program may be killed (rule U65)."""
import glob
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from muster_server import BIN, PATIENCE, QUEUES, SOURCE, Server, shell_job

sys.path.append(os.path.join(SOURCE, "tests/e2e/sec"))
from people import Person, make  # pylint: disable=wrong-import-position

ALICE, BOB, STRANGER = 47210, 47211, 47212
DAEMON = "games"  # an account that every Debian has, and nobody uses
MEMBERS = ["--local-cluster", "east,cpu=8,memory=16Gi", "--local-cluster", "west,cpu=1,root-jobs=never"]


class Launcher:
    """A muster-launcher with places of its own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="muster-launcher-", dir="/tmp")
        os.chmod(self.dir, 0o711)
        self.socket, self.state, self.log = (f"{self.dir}/{name}" for name in ("launcher.sock", "state", "launcher.log"))
        self.process = None

    def words(self, **other):
        given = {"socket": self.socket, "state-dir": self.state, "daemon-user": DAEMON, **other}
        return [f"{BIN}/muster-launcher", *MEMBERS, *(word for key, value in given.items() for word in (f"--{key}", value))]

    def text(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def start(self):
        with open(self.log, "ab") as log:
            told = log.tell()
            self.process = subprocess.Popen(self.words(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while '"ready"' not in self.text()[told:]:
            assert self.process.poll() is None and time.monotonic() < deadline, self.text()
            time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=PATIENCE)
        shutil.rmtree(self.dir, ignore_errors=True)


class Unprivileged(Server):
    """A musterd that runs as DAEMON."""

    def launch(self):
        account = pwd.getpwnam(DAEMON)
        os.chown(self.dir, account.pw_uid, account.pw_gid)
        with open(os.path.join(self.dir, "musterd.out"), "ab") as log:
            self.process = subprocess.Popen(
                [f"{BIN}/musterd", "--data-dir", self.dir, "--rest", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
                 "--log-file", os.path.join(self.dir, "musterd.log"), *self.flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment(), cwd="/",
                user=account.pw_uid, group=account.pw_gid, extra_groups=[])


def status_of(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


@unittest.skipUnless(os.geteuid() == 0, "the launcher is root")
class WithALauncher(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.launcher = Launcher()
        cls.launcher.start()
        cls.server = Unprivileged([*MEMBERS, "--launcher", cls.launcher.socket]).start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        cls.alice, cls.bob = Person(cls.server, ALICE), Person(cls.server, BOB)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.launcher.close()

    def log_of(self, job_id):
        return self.server.call("GET", f"/v1/jobs/{job_id}/logs")[1]

    def begun(self, name):
        """A job of Alice's that prints a line, waits for its gate and prints another one; it waits."""
        job = self.alice.submit(shell_job(name, f"echo begin; {self.server.gate(name)}; echo end"))
        self.server.wait(lambda: self.log_of(job) == "begin\n", what=f"{name} has begun")
        return job

    def attempts(self, name):
        """The directories of all attempts of the job of this name."""
        found = []
        for path in glob.glob(f"{self.launcher.state}/*/*/attempt.json"):
            with open(path, encoding="utf-8") as file:
                if json.load(file)["name"] == name:
                    found.append(os.path.dirname(path))
        return found

    def ended_once(self, job_id, name):
        job, log = self.alice.end_of(job_id)
        self.assertEqual((job["state"], log), ("Succeeded", "begin\nend\n"))
        self.assertEqual(len(self.attempts(name)), 1)

    def script_ended(self, name):
        """Asks the member's files whether the script has ended: nobody need be there to see it."""
        def ended():
            for path in glob.glob(self.attempts(name)[0] + "/pods/*/status.json"):
                with open(path, encoding="utf-8") as file:
                    if json.load(file)["phase"] == "Succeeded":
                        return True
            return False
        return ended

    def test_the_daemon_has_no_right_and_jobs_are_their_submitters(self):
        status = status_of(self.server.process)
        self.assertEqual(set(status["Uid"].split()), {str(pwd.getpwnam(DAEMON).pw_uid)})
        self.assertEqual({int(status[key], 16) for key in ("CapPrm", "CapEff", "CapInh")}, {0})
        self.assertEqual(status_of(self.launcher.process)["Uid"].split()[0], "0")
        for number, person in enumerate((self.alice, self.bob)):
            job, log = person.end_of(person.submit(shell_job(f"who-{number}", "id -u")))
            self.assertEqual((job["state"], log), ("Succeeded", f"{person.uid}\n"))
        warned = [one["type"] for one in self.server.get("/v1/status")[1]["warnings"]]
        self.assertEqual(warned, [])

    def test_no_job_is_roots_or_the_daemons(self):
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("roots", "id -u"))
        self.assertEqual(status, 201, job)
        ended = self.server.wait_state(job["id"], "Failed", "Succeeded")
        self.assertEqual(ended["state"], "Failed")
        self.assertIn("root-jobs=submitter", str(ended))
        daemon = Person(self.server, pwd.getpwnam(DAEMON).pw_uid)
        ended, _ = daemon.end_of(daemon.submit(shell_job("daemons", "id -u")))
        self.assertEqual(ended["state"], "Failed")
        self.assertIn("no job runs as it", str(ended))
        self.assertEqual((self.attempts("roots"), self.attempts("daemons")), ([], []), "nothing of them was made")

    def test_the_launcher_is_killed_while_a_script_runs(self):
        job = self.begun("launcher-dies")
        self.launcher.kill()
        self.server.open_gate("launcher-dies")
        self.server.wait(self.script_ended("launcher-dies"), what="the script goes on")
        self.assertEqual(self.server.job(job)["state"], "Running", "nobody can tell")
        self.launcher.start()
        self.ended_once(job, "launcher-dies")
        later = self.alice.submit(shell_job("after-the-launcher", "true"))
        self.assertEqual(self.server.wait_state(later, "Succeeded", "Failed")["state"], "Succeeded")

    def test_the_launcher_is_away_when_a_job_comes(self):
        self.launcher.kill()
        job = self.alice.submit(shell_job("comes-early", "echo begin; echo end"))
        self.launcher.start()
        self.ended_once(job, "comes-early")

    def test_the_daemon_is_killed_while_a_script_runs(self):
        job = self.begun("daemon-dies")
        ended = self.script_ended("daemon-dies")
        self.server.kill()
        self.server.open_gate("daemon-dies")
        deadline = time.monotonic() + PATIENCE
        while not ended():
            self.assertLess(time.monotonic(), deadline, "the script goes on")
            time.sleep(0.05)
        self.server.start()
        self.ended_once(job, "daemon-dies")

    def test_the_daemon_is_stopped_for_a_while(self):
        job = self.begun("daemon-sleeps")
        ended = self.script_ended("daemon-sleeps")
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            self.server.open_gate("daemon-sleeps")
            self.server.wait(ended, what="the script goes on")
            time.sleep(3)  # longer than the term of a lead
        finally:
            self.server.process.send_signal(signal.SIGCONT)
        self.ended_once(job, "daemon-sleeps")

    def test_readers_of_a_stopped_launcher_keep_nobody_else_waiting(self):
        job = self.begun("launcher-sleeps")
        os.kill(self.launcher.process.pid, signal.SIGSTOP)
        told = []

        def read():
            told.append(self.server.call("GET", f"/v1/jobs/{job}/logs"))

        readers = [threading.Thread(target=read) for _ in range(40)]
        try:
            for one in readers:
                one.start()
            for _ in range(20):
                self.assertEqual(self.server.call("GET", "/v1/jobs?limit=1")[0], 200)
            self.assertEqual(told, [], "the logs wait while the list is answered")
            for one in readers:
                one.join()
        finally:
            os.kill(self.launcher.process.pid, signal.SIGCONT)
        self.assertEqual({status for status, _ in told}, {503})
        refused = [answer for _, answer in told if "member cluster east does not answer" in str(answer)]
        self.assertGreater(len(refused), 0, "most of them are refused at once when the first ones have waited in vain")
        self.server.wait(lambda: self.log_of(job) == "begin\n", what="its log can be read again")
        self.server.open_gate("launcher-sleeps")
        self.ended_once(job, "launcher-sleeps")

    def test_nobody_else_speaks_to_the_launcher(self):
        """Another user is refused by the socket's mode; root, who passes it, because a daemon is connected."""
        def knock():
            return subprocess.run(["curl", "-sS", "--http0.9", "--max-time", str(PATIENCE), "--unix-socket", self.launcher.socket, "http://x/"],
                                  capture_output=True, text=True, errors="replace", check=False, cwd="/",
                                  user=STRANGER, group=STRANGER, extra_groups=[])
        self.assertEqual((knock().returncode, knock().stdout), (7, ""), "curl could not connect")
        # The mode alone does not decide: where it is open, the launcher looks at who comes.
        os.chmod(self.launcher.socket, 0o666)
        try:
            # If it is refused before curl has sent anything, curl does not read why.
            self.server.wait(lambda: f"user {STRANGER} may not speak to this launcher" in knock().stdout, what="the refusal")
        finally:
            os.chmod(self.launcher.socket, 0o600)
        with socket.socket(socket.AF_UNIX) as second:
            second.settimeout(PATIENCE)
            second.connect(self.launcher.socket)
            answer, refusal = b"", b"another daemon is connected to this launcher"
            while refusal not in answer and (more := second.recv(1000)):  # the answer may come in pieces
                answer += more
            self.assertIn(refusal, answer)
        self.assertEqual(self.server.get("/readyz")[0], 200)

    def test_it_works_in_no_place_that_others_can_change(self):
        nobodys = make(f"{self.launcher.dir}/nobodys", 0o755)
        os.chown(nobodys, STRANGER, STRANGER)
        opened = make(f"{self.launcher.dir}/opened", 0o777)
        config = make(f"{self.launcher.dir}/config.yaml", 0o666, "local-cluster: [east]\n")
        for other, said in (({"state-dir": f"{nobodys}/state"}, "must belong to root"),
                            ({"socket": f"{opened}/launcher.sock"}, "others than root may write to it"),
                            ({"config": config}, "others than root may write to it"),
                            ({"daemon-user": "root"}, "no account of this host other than root"),
                            ({"daemon-user": "no-such-user-here"}, "no account of this host other than root")):
            with self.subTest(other=other):
                places = {"socket": f"{self.launcher.dir}/other.sock", "state-dir": f"{self.launcher.dir}/other"}
                tried = subprocess.run(self.launcher.words(**{**places, **other}), capture_output=True, text=True, check=False, timeout=PATIENCE)
                self.assertEqual(tried.returncode, 1, tried.stderr)
                self.assertIn(said, tried.stderr)
        tried = subprocess.run(self.launcher.words(), capture_output=True, text=True, check=False, cwd="/",
                               user=STRANGER, group=STRANGER, extra_groups=[], timeout=PATIENCE)
        self.assertEqual(tried.returncode, 1)
        self.assertIn("must run as root", tried.stderr)


if __name__ == "__main__":
    unittest.main()
