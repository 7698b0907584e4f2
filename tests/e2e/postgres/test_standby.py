"""A synchronous pair whose standby is away: whatever ends the wait for it, nothing is acknowledged that only the primary has, and the daemon
says what it waits for."""
import http.client
import json
import signal
import subprocess
import threading
import time
import unittest

from muster_server import PATIENCE, QUEUES, Server, shell_job
from pg_pair import Postgres, synchronous

WAITING = "waiting for a synchronous standby"
WRITERS = "select {} from pg_stat_activity where application_name = 'musterd writer'"


class SynchronousPair(unittest.TestCase):
    def setUp(self):
        self.primary = Postgres()
        self.addCleanup(self.primary.close)
        self.standby = Postgres("reserve", self.primary)
        self.addCleanup(self.standby.close)
        synchronous(self.primary, self.standby)
        self.server = Server(["--postgres", self.primary.url(self.standby), "--simulated-cluster", "sim,cpu=64,memory=64Gi"]).start()
        self.addCleanup(self.server.close)
        self.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    def submit(self, name, answers):
        """Appends (name, status, body, headers)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        connection.request("POST", "/v1/namespaces/default/jobs", json.dumps(shell_job(name, "true", requests={"cpu": "100"})),
                           {"Content-Type": "application/json", "Idempotency-Key": name})
        answer = connection.getresponse()
        answers.append((name, answer.status, answer.read().decode(), dict(answer.getheaders())))
        connection.close()

    def submit_in_background(self, name, answers):
        client = threading.Thread(target=self.submit, args=(name, answers))
        client.start()
        self.addCleanup(client.join)
        return client

    def waits_for_standby(self):
        return self.primary.sql(WRITERS.format("pid") + " and wait_event = 'SyncRep'")

    def said_honestly(self, refusal):
        """A commit that goes before the submission (a heartbeat) may be what was ended; then it was never sent."""
        self.assertRegex(refusal, "not known|nothing was written")
        if self.primary.sql("select 1 from jobs where name = 'waits'"):
            self.assertIn("not known", refusal)

    def end_waits(self, how):
        """A submission waits for a stopped standby; an administrator ends that wait again and again."""
        answers = []
        self.submit("before", answers)
        self.assertEqual(answers[0][1], 201)
        self.standby.signal(signal.SIGSTOP)
        client = self.submit_in_background("waits", answers)
        self.primary.wait(self.waits_for_standby, "a commit waits for the standby")
        for _ in range(3):  # the writer's wait, then that of who asks what became of it
            self.primary.sql(WRITERS.format(f"{how}(pid)"))
            time.sleep(0.3)
            self.assertNotIn(201, [answer[1] for answer in answers[1:]], "only the primary has it")
        client.join()
        self.assertEqual(answers[1][1], 503, answers[1])
        self.said_honestly(answers[1][2])
        self.server.wait(lambda: self.server.get("/readyz")[0] == 503, what="not ready without the standby")

        self.primary.kill()
        self.standby.signal(signal.SIGCONT)
        self.go_on_with_the_standby(answers)

    def go_on_with_the_standby(self, answers):
        self.standby.promote()
        self.server.wait(lambda: self.server.get("/readyz")[0] == 200, what="ready on the standby")
        # The same request again, under its key: one job, now acknowledged.
        self.submit("waits", answers)
        self.assertIn(answers[2][1], (200, 201), answers[2])
        names = [name for (name,) in self.standby.sql("select name from jobs order by id")]
        self.assertEqual(sorted(names), ["before", "waits"])

    def test_a_cancelled_wait_is_no_acknowledgement(self):
        self.end_waits("pg_cancel_backend")

    def test_a_terminated_wait_is_no_acknowledgement(self):
        self.end_waits("pg_terminate_backend")

    def test_a_standby_that_is_gone_is_named_and_nothing_that_the_primary_alone_has_is_acknowledged(self):
        answers = []
        self.submit("before", answers)
        self.assertEqual(answers[0][1], 201)
        self.standby.kill()
        client = self.submit_in_background("waits", answers)
        # It is named by the one thing that an administrator looks at, by status and by a metric.
        self.server.wait(lambda: WAITING in str(self.server.get("/readyz")), what="/readyz names what is waited for")
        told = self.server.get("/v1/status")[1]["database"]
        self.assertTrue(told["awaitsStandby"], told)
        self.assertIn("muster_database_awaits_standby 1", self.server.get("/metrics")[1])
        self.server.wait(lambda: WAITING in self.server.run("muster", "status"), what="muster status names it")
        self.server.wait(lambda: "nothing is acknowledged now" in self.server.get("/v1/status")[1]["database"]["message"], what="the standby is missed")
        # The answer comes, with a time to try again.
        client.join()
        self.assertEqual(answers[1][1], 503, answers[1])
        self.assertIn("Retry-After", answers[1][3])
        self.said_honestly(answers[1][2])
        self.submit("later", answers)
        self.assertEqual((answers[2][1], "Retry-After" in answers[2][3]), (503, True), answers[2])
        # While it waits and waits, its sessions do not pile up at the server.
        until = time.monotonic() + 25
        while time.monotonic() < until:
            self.assertLess(len(self.primary.sql(WRITERS.format("pid"))), 5)
            self.assertEqual(self.server.get("/readyz")[0], 503)
            time.sleep(0.5)
        # The standby never got it, so an acknowledgement would have been a loss.
        answers.pop()
        self.primary.kill()
        self.standby.start()
        self.assertEqual(self.standby.sql("select count(*) from jobs where name = 'waits'"), [["0"]])
        self.go_on_with_the_standby(answers)

    def test_the_promise_follows_the_settings_of_the_database(self):
        def told():
            return self.server.get("/v1/status")[1]["database"]
        self.server.wait(lambda: told().get("standbysStreaming") == 1, what="the standby is seen")
        self.assertEqual((told()["promise"], told()["standbysRequired"], told()["synchronousCommit"]), ("server-loss", 1, "on"))
        self.assertIn('muster_database_promise{promise="server-loss"} 1', self.server.get("/metrics")[1])
        self.assertEqual(self.server.logged("database_promises")["promise"], "server-loss")
        for setting, promise, sentence in (("synchronous_standby_names = ''", "crash", "no synchronous standby is configured"),
                                           ("full_page_writes = off", "none", "full_page_writes is off")):
            self.primary.sql(f"alter system set {setting}", database="postgres")
            self.primary.sql("select pg_reload_conf()", database="postgres")
            self.server.wait(lambda: sentence in told()["message"], what=sentence)
            self.assertEqual(told()["promise"], promise)
        self.assertIn('muster_database_setting_on{setting="full_page_writes"} 0', self.server.get("/metrics")[1])
        self.assertIn("full_page_writes is off", self.server.run("muster", "status"))


class AsynchronousPair(unittest.TestCase):
    """Without a synchronous standby the last jobs are lost with the primary: no number of theirs is given out again."""

    def test_what_is_lost_with_the_primary_leaves_its_numbers_behind(self):
        primary = Postgres()
        self.addCleanup(primary.close)
        standby = Postgres("reserve", primary)
        self.addCleanup(standby.close)
        server = Server(["--postgres", primary.url(standby), "--simulated-cluster", "sim,cpu=64,memory=64Gi"]).start()
        self.addCleanup(server.close)
        server.run("muster", "apply", "-f", "-", stdin=QUEUES)

        def submit(name):
            """The job's number and that of its first event."""
            status, job = server.call("POST", "/v1/namespaces/default/jobs", shell_job(name, "true", requests={"cpu": "100"}))
            self.assertEqual(status, 201, job)
            events = server.get(f"/v1/jobs/{job['id']}/events")[1]["items"]
            return int(job["id"]), int(events[0]["seq"])

        submit("kept")
        primary.wait(lambda: standby.sql("select name from jobs") == [["kept"]], "the standby follows")
        standby.sql("alter system set primary_conninfo = ''", database="postgres")
        standby.sql("select pg_reload_conf()", database="postgres")
        primary.wait(lambda: primary.sql("select count(*) from pg_stat_replication", database="postgres") == [["0"]], "the standby is cut off")
        waits = subprocess.Popen(["sbatch", "--wait", "--hold", "--wrap", "true"], env=server.environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(waits.communicate)
        self.addCleanup(waits.kill)
        primary.wait(lambda: len(primary.sql("select name from jobs")) == 2, "sbatch is acknowledged")
        lost = submit("lost")
        status = server.get("/v1/status")[1]
        primary.kill()
        standby.promote()
        server.wait(lambda: server.get("/readyz")[0] == 200, what="ready on the standby")
        self.assertEqual(standby.sql("select name from jobs"), [["kept"]])
        job, event = submit("next")
        self.assertGreater(job, lost[0])
        self.assertGreater(event, max(lost[1], status["lastEvent"]), "a follower that goes on after the last event it saw misses none")
        # Who waits for a job that is lost is told, and does not wait for ever.
        said, _ = waits.communicate(timeout=PATIENCE)
        self.assertNotEqual(waits.returncode, 0, said)
        self.assertIn("does not exist", said)
        # The second lead on the same server leaves nothing out.
        server.kill()
        server.start()
        self.assertLess(submit("last")[0], job + 100)


if __name__ == "__main__":
    unittest.main()
