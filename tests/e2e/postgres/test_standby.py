"""A synchronous pair: an administrator cancels the wait for the standby, and nothing is acknowledged that only the primary has."""
import signal
import threading
import time
import unittest

from muster_server import QUEUES, Server, shell_job
from pg_pair import Postgres, synchronous


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
        answers.append((name, *self.server.call("POST", "/v1/namespaces/default/jobs", shell_job(name, "true", requests={"cpu": "100"}),
                                                headers={"Idempotency-Key": name})))

    def waits_for_standby(self):
        return self.primary.sql("select pid from pg_stat_activity where application_name = 'musterd writer' and wait_event = 'SyncRep'")

    def test_a_cancelled_wait_is_no_acknowledgement(self):
        answers = []
        self.submit("before", answers)
        self.assertEqual(answers[0][1], 201)
        self.standby.signal(signal.SIGSTOP)
        client = threading.Thread(target=self.submit, args=("waits", answers))
        client.start()
        self.primary.wait(self.waits_for_standby, "a commit waits for the standby")
        for _ in range(3):  # the writer's wait, then that of who asks what became of it
            self.primary.sql("select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'musterd writer'")
            time.sleep(0.3)
            self.assertNotIn(201, [status for _, status, _ in answers[1:]], "only the primary has it")
        client.join()
        self.assertEqual(answers[1][1], 503, answers[1])
        # A commit that goes before it (a heartbeat) may be what was cancelled; then it was never sent.
        self.assertRegex(str(answers[1][2]), "not known|nothing was written")
        if self.primary.sql("select 1 from jobs where name = 'waits'"):
            self.assertIn("not known", str(answers[1][2]))
        self.server.wait(lambda: self.server.get("/readyz")[0] == 503, what="not ready without the standby")

        # The primary is lost; the standby is what there is.
        self.primary.process.kill()
        self.primary.process.wait()
        self.standby.signal(signal.SIGCONT)
        self.standby.sql("select pg_promote()", database="postgres")
        self.standby.wait(lambda: self.standby.sql("select pg_is_in_recovery()", database="postgres") == [["f"]], "promoted")
        self.server.wait(lambda: self.server.get("/readyz")[0] == 200, what="ready on the standby")
        # The same request again, under its key: one job, now acknowledged.
        self.submit("waits", answers)
        self.assertIn(answers[2][1], (200, 201), answers[2])
        names = [name for (name,) in self.standby.sql("select name from jobs order by id")]
        self.assertEqual(sorted(names), ["before", "waits"])


if __name__ == "__main__":
    unittest.main()
