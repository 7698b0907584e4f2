"""Starting, stopping, metrics, quota edits, quotas that bind."""
import json
import os
import subprocess
import unittest

from muster_server import BIN, PATIENCE, QUEUES, Server, psql, sql, shell_job


STOP_WITHIN = 30  # the ten seconds of rule C5, and room for a loaded machine


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

    def test_a_log_file_that_cannot_be_written_is_named_and_nothing_starts(self):
        for path in (self.server.dir, "/proc/none/musterd.log"):  # a directory; where nobody can make one
            result = subprocess.run([f"{BIN}/musterd", "--data-dir", self.server.dir + "/other", "--rest", "127.0.0.1:0",
                                     "--log-file", path], capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(f"musterd: --log-file {path} cannot be written: ", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertFalse(os.path.exists(self.server.dir + "/other"))

    def test_that_jobs_run_as_root_is_said_at_start_and_by_status(self):
        status = json.loads(self.server.run("muster", "status", "-o", "json"))
        self.assertTrue(status["ready"])
        types = [warning["type"] for warning in status["warnings"]]
        root = os.geteuid() == 0
        self.assertEqual(types, ["JobsRunAsRoot", "DaemonRunsAsRoot"] if root else [])
        logged = [line for line in self.server.log().splitlines() if '"start_warning"' in line]
        self.assertEqual({json.loads(line)["level"] for line in logged}, {"warning"} if root else set())
        text = self.server.run("muster", "status")
        self.assertIn("ready:    yes", text)
        self.assertEqual("warning:  JobsRunAsRoot: " in text, root)

    def limits_memory(self):
        members = json.loads(self.server.run("muster", "get", "mc", "-o", "json"))["items"]
        return "memory (cgroup" in json.dumps(members)

    def test_ends_are_told_by_fields_also_after_a_restart_of_the_daemon(self):
        greedy = "#!/bin/sh\nhead -c 200000000 /dev/zero | tail > /dev/null\nexit 0\n"
        oom = self.server.run("sbatch", "--parsable", "--mem=32M", "-o", "/dev/null", stdin=greedy).strip()
        again = shell_job("again", "exit 7")
        again["spec"]["backoffLimit"] = 1
        again["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
        _, failed = self.server.call("POST", "/v1/namespaces/default/jobs", again)
        late = shell_job("late", "true")
        late["spec"]["activeDeadlineSeconds"] = 10 ** 13
        _, late = self.server.call("POST", "/v1/namespaces/default/jobs", late)
        self.assertEqual(self.server.wait_state(late["id"], "Succeeded", "Failed")["state"], "Succeeded")
        self.assertEqual(self.server.wait_state(failed["id"], "Succeeded", "Failed")["exitCode"], 7)
        self.server.wait_state(int(oom), "Succeeded", "Failed")
        for _ in range(2):
            told = self.server.run("sacct", "-X", "-n", "-P", "-j", str(failed["id"]), "-o", "State,ExitCode")
            self.assertEqual(told, "FAILED|7:0\n")
            if self.limits_memory():
                told = self.server.run("sacct", "-X", "-n", "-P", "-j", oom, "-o", "State,ExitCode")
                self.assertEqual(told, "OUT_OF_MEMORY|0:125\n")
                self.assertEqual(self.server.run("squeue", "-h", "-t", "OOM", "-j", oom, "-o", "%T"), "OUT_OF_MEMORY\n")
                self.assertIn("JobState=OUT_OF_MEMORY Reason=OutOfMemory", self.server.run("scontrol", "show", "job", oom))
                self.assertEqual(self.server.job(int(oom))["reason"], "OutOfMemory")
            self.server.stop()
            self.server.start()

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
        sql(self.server, "create database second owner muster_owner")
        url = f"postgresql://muster_owner@/second?host={self.server.dir}/postgres/socket"
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
