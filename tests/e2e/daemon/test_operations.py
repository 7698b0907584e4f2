"""Starting, stopping, metrics, quota edits, quotas that bind."""
import os
import subprocess
import unittest

from muster_server import BIN, PATIENCE, QUEUES, Server, psql, sql, shell_job


STOP_WITHIN = 30  # the contract's ten seconds, and room for a loaded machine


MIGRATION_LOCK = 7205759403792793601  # the advisory lock under which a daemon migrates


class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--local-cluster", "big,cpu=64,memory=128Gi,nvidia.com/gpu=8"]).start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def test_it_refuses_to_listen_beyond_loopback_and_lists_every_problem(self):
        result = subprocess.run([f"{BIN}/musterd", "--rest", "0.0.0.0:8686", "--log-level", "loud", "--nonsense"],
                                capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(result.returncode, 2)
        for word in ("loopback", "log-level", "--nonsense"):
            self.assertIn(word, result.stderr)

    def test_a_second_daemon_on_the_same_directory_is_refused(self):
        result = subprocess.run([f"{BIN}/musterd", "--data-dir", self.server.dir, "--rest", "127.0.0.1:0"],
                                capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("another musterd", result.stderr)

    def test_metrics_carry_kueues_names(self):
        text = self.server.get("/metrics")[1]
        for name in ("kueue_pending_workloads", "kueue_admitted_active_workloads", "kueue_cluster_queue_nominal_quota",
                     "muster_store_commit_seconds", "muster_inbox_depth"):
            self.assertIn(name, text)

    def test_a_quota_edit_over_grpc_takes_effect_in_the_next_cycle(self):
        _, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("wide", "true", requests={"cpu": "33"}))
        self.server.wait(lambda: self.server.job(job["id"])["reason"] == "ExceedsMaxQuota", what="its reason")
        dry = self.server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "40", "--dry-run")
        self.assertIn("wide", dry)
        self.assertEqual(self.server.job(job["id"])["state"], "Pending")
        self.server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "40")
        self.assertEqual(self.server.wait_state(job["id"], "Succeeded", "Failed")["state"], "Succeeded")

    def test_sigterm_ends_it_within_ten_seconds_and_leaves_no_postgresql(self):
        own = Server().start()
        try:
            self.ends_in_time(own)
        finally:
            own.close()

    def ends_in_time(self, server):
        self.assertEqual(server.stop(timeout=STOP_WITHIN), 0)
        left = subprocess.run(["pgrep", "-f", server.dir], capture_output=True, text=True, check=False).stdout.split()
        self.assertEqual([pid for pid in left if int(pid) != os.getpid()], [])

    def test_sigterm_during_a_start_ends_it_in_time_and_leaves_no_postgresql(self):
        own = Server().start()
        try:
            # A prepared transaction keeps the lock of migrations over a restart: the next start waits for it.
            sql(own, "alter system set max_prepared_transactions = 1")
            own.stop()
            own.start()
            sql(own, f"begin; select pg_advisory_xact_lock({MIGRATION_LOCK}); prepare transaction 'other'")
            own.stop()
            told = len(own.log())
            own.launch()
            own.wait(lambda: own.logged("migration_waits", told), what="the start waits")
            self.ends_in_time(own)
            self.assertTrue(own.logged("start_given_up", told))
        finally:
            own.close()

    def test_sigterm_during_a_start_on_a_given_postgresql_ends_it_in_time(self):
        sql(self.server, "create database second")
        url = f"postgresql://muster@/second?host={self.server.dir}/postgres/socket"
        own = Server(["--postgres", url, "--local-cluster", "one,cpu=1"])
        with subprocess.Popen(psql(self.server, "second"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            try:
                other.stdin.write(f"begin; select 'locked', pg_advisory_xact_lock({MIGRATION_LOCK});\n")
                other.stdin.flush()
                while "locked" not in other.stdout.readline():
                    self.assertIsNone(other.poll())
                own.launch()
                own.wait(lambda: own.logged("migration_waits"), what="the start waits")
                self.ends_in_time(own)
                other.stdin.close()
                own.start()
            finally:
                other.kill()
                own.close()


if __name__ == "__main__":
    unittest.main()
