"""What keeps a batch script waiting and what changes it: dependencies over a death of the daemon, updates, holds, suspension, partitions, mails."""
import os
import stat
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "tests", "e2e", "daemon"))
from muster_server import Server, queues  # noqa: E402

JOBS = "/v1/namespaces/default/jobs"


def mail_program(directory):
    path = os.path.join(directory, "mail-hook")
    with open(path, "w") as program:
        program.write(f"#!/bin/sh\nprintf '%s|%s\\n' \"$2\" \"$3\" >> {directory}/mails\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


class Gates(unittest.TestCase):
    def setUp(self):
        self.server = Server(["--local-cluster", "east,cpu=8,memory=16Gi"])
        self.addCleanup(self.server.close)
        self.server.flags += ["--mail-program", mail_program(self.server.dir)]
        self.server.start()
        self.server.run("muster", "apply", "-f", "-", stdin=queues())

    def call(self, method, path, body=None):
        return self.server.call(method, path, body)[:2]

    def submit(self, script="true", expect=201, **form):
        status, answer = self.call("POST", JOBS, {"script": f"#!/bin/sh\n{script}\n", **form})
        self.assertEqual(status, expect, answer)
        return answer["id"] if expect == 201 else answer

    def verb(self, job, verb, body=None, expect=200):
        status, answer = self.call("POST", f"/v1/jobs/{job}:{verb}", body if body is not None else {})
        self.assertEqual(status, expect, answer)
        return answer

    def pid_file(self, name):
        return os.path.join(self.server.dir, f"{name}.pid")

    @staticmethod
    def read(path):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def wait_until_gone(self, pid):
        until = time.monotonic() + 60
        while os.path.exists(f"/proc/{pid}"):
            self.assertLess(time.monotonic(), until, f"process {pid} has not ended")
            time.sleep(0.05)

    def reason(self, job):
        return self.server.job(job)["reason"]

    def test_dependents_follow_their_parents_over_a_death_of_the_daemon(self):
        parent, failing = (self.submit(f"echo $$ > {self.pid_file(name)}; {self.server.gate(name)}; exit {status}", name=name)
                           for name, status in (("parent", 0), ("failing", 3)))
        good = self.submit(name="good", dependency=f"afterok:{parent}")
        lost = self.submit(name="lost", dependency=f"afterok:{failing}")
        other = self.submit(name="other", dependency=f"afternotok:{failing}")
        self.assertEqual(self.server.job(good)["batch"]["dependency"], f"afterok:{parent}(unfulfilled)")
        for name in ("parent", "failing"):
            self.server.wait(lambda name=name: self.read(self.pid_file(name)).endswith("\n"), what=f"{name} runs")
        self.server.kill()
        for name in ("parent", "failing"):  # they end while no daemon looks
            self.server.open_gate(name)
            self.wait_until_gone(self.read(self.pid_file(name)).strip())
        self.server.start()
        self.server.wait_state(good, "Succeeded")
        self.server.wait_state(other, "Succeeded")
        self.server.wait(lambda: self.reason(lost) == "DependencyNeverSatisfied", what="it never starts")
        self.assertEqual(self.server.job(lost)["batch"]["dependency"], f"afterok:{failing}(failed)")
        refused = self.submit(expect=400, dependency="afterok:99999")
        self.assertEqual(refused["errors"][0], {"field": "dependency", "message": "Job dependency problem"})

    def test_updates_holds_and_requeues(self):
        job = self.submit(hold=True, name="before")
        view = self.verb(job, "update", {"comment": "new", "name": "after", "timeLimit": 5, "cpusPerTask": 2})
        self.assertEqual((view["displayName"], view["timeLimitSeconds"], view["batch"]["comment"]), ("after", 300, "new"))
        self.assertEqual(view["podSets"][0]["requests"]["cpu"], "2")
        self.server.kill()
        self.server.start()
        self.assertEqual(self.server.job(job)["displayName"], "after")
        self.assertEqual(self.verb(job, "update", {"script": "x"}, expect=400)["errors"][0]["field"], "script")
        self.assertEqual(self.verb(job, "hold", {"byAdmin": True})["reason"], "HeldByAdmin")
        self.verb(job, "release")
        self.server.wait_state(job, "Succeeded")
        again = self.submit("sleep 60")
        self.server.wait_state(again, "Running")
        self.verb(again, "requeue", {"hold": True, "specialExit": True})
        self.server.wait(lambda: self.reason(again) == "HeldAfterRequeue", what="it is held")
        self.assertTrue(self.server.job(again)["batch"]["specialExit"])

    def test_begin_and_deadline(self):
        def after(seconds):
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        later = self.submit(begin=after(3600))
        self.assertEqual(self.reason(later), "BeginTime")
        soon = after(3)
        self.verb(later, "update", {"begin": soon})
        self.server.wait_state(later, "Succeeded")
        self.assertGreaterEqual(self.server.job(later)["startTime"][:19], soon[:19])
        late = after(3600)
        missed = self.submit("sleep 600", deadline=late)
        self.server.wait_state(missed, "Running")
        self.assertEqual(self.server.job(missed)["batch"]["deadline"][:19], late[:19])
        self.verb(missed, "update", {"deadline": after(3)})
        self.server.wait_state(missed, "Cancelled")
        self.assertEqual(self.reason(missed), "DeadlineMissed")

    def test_a_suspended_script_stands_still_also_after_a_death_of_the_daemon(self):
        beats = os.path.join(self.server.dir, "beats")
        job = self.submit(f"while true; do echo . >> {beats}; sleep 0.1; done")
        self.server.wait(lambda: os.path.exists(beats) and os.path.getsize(beats) > 10, what="it beats")
        view = self.verb(job, "suspend")
        self.assertEqual((view["state"], view["reason"]), ("Running", "SuspendedByAdmin"))

        def stands_still():
            size = os.path.getsize(beats)
            time.sleep(1)
            return os.path.getsize(beats) == size
        self.server.wait(stands_still, what="it stands still")
        self.server.kill()
        self.server.start()
        self.assertNotEqual(self.server.job(job)["batch"]["suspendedSince"], "")
        self.assertTrue(stands_still())
        self.assertEqual(self.verb(job, "resume")["reason"], "Running")
        self.server.wait(lambda: not stands_still(), what="it goes on")

    def test_mails_are_told_to_the_program(self):
        job = self.submit(name="told", mailType="END", mailUser="alice@example.org")
        self.server.wait_state(job, "Succeeded")
        path = os.path.join(self.server.dir, "mails")
        self.server.wait(lambda: self.read(path).endswith("\n"), what="a mail")
        self.assertRegex(self.read(path), rf"^Slurm Job_id={job} Name=told Ended, Run time \d\d:\d\d:\d\d, COMPLETED, ExitCode 0\|alice@example.org$")


if __name__ == "__main__":
    unittest.main()
