"""Starting, stopping, metrics, quota edits, quotas that bind."""
import os
import subprocess
import unittest

from muster_server import BIN, QUEUES, Server, shell_job


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
                                capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(result.returncode, 2)
        for word in ("loopback", "log-level", "--nonsense"):
            self.assertIn(word, result.stderr)

    def test_a_second_daemon_on_the_same_directory_is_refused(self):
        result = subprocess.run([f"{BIN}/musterd", "--data-dir", self.server.dir, "--rest", "127.0.0.1:0"],
                                capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("another musterd", result.stderr)

    def test_metrics_carry_kueues_names(self):
        text = self.server.get("/metrics")[1]
        for name in ("kueue_pending_workloads", "kueue_admitted_active_workloads", "kueue_cluster_queue_nominal_quota",
                     "muster_store_commit_seconds", "muster_inbox_depth"):
            self.assertIn(name, text)

    def test_a_quota_edit_over_grpc_takes_effect_in_the_next_cycle(self):
        _, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("wide", "true", requests={"cpu": "33"}))
        self.server.wait(lambda: self.server.job(job["id"])["reason"] == "ExceedsMaxQuota", 10, "its reason")
        dry = self.server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "40", "--dry-run")
        self.assertIn("wide", dry)
        self.assertEqual(self.server.job(job["id"])["state"], "Pending")
        self.server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "40")
        self.assertEqual(self.server.wait_state(job["id"], "Succeeded", "Failed")["state"], "Succeeded")

    def test_sigterm_ends_it_within_ten_seconds_and_leaves_no_postgresql(self):
        own = Server().start()
        try:
            self.assertEqual(own.stop(), 0)
            left = subprocess.run(["pgrep", "-f", own.dir], capture_output=True, text=True, check=False).stdout.split()
            self.assertEqual([pid for pid in left if int(pid) != os.getpid()], [])
        finally:
            own.close()


if __name__ == "__main__":
    unittest.main()
