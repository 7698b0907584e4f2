"""The query and control commands with a real daemon: what one changes, the others show."""
import json
import os
import unittest

import slurm_site


# A partition of another account than those of the site.
ELSEWHERE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: elsewhere, namespace: default}
spec: {clusterQueue: other}
"""


class Queries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = slurm_site.Muster(requeue_wait="2s")
        cls.addClassCleanup(cls.site.close)
        cls.site.start()
        cls.site.run("muster", "apply", "-f", "-", stdin=ELSEWHERE)

    def run_(self, *words, exit=0):
        ran = self.site.run(*words, check=False)
        self.assertEqual(ran.returncode, exit, (words, ran.stdout, ran.stderr))
        return ran.stdout + (ran.stderr if exit else "")

    def submit(self, script, *options):
        out = self.run_("sbatch", "--parsable", "-D", self.site.dir, "-o", "/dev/null", *options, "--wrap", script)
        return out.strip().split(";")[0]

    def cell(self, job, form, *more):
        return self.run_("squeue", "-h", "-j", job, "-t", "all", "-o", form, *more).strip()

    def rows(self, job, fields, *options):
        return [line.split("|") for line in self.run_("sacct", "-nP", "-j", job, "-o", fields, *options).splitlines()]

    def until(self, job, state):
        self.site.wait(lambda: self.cell(job, "%T") == state, what=f"job {job} in state {state}, not {self.cell(job, '%T %r')}")

    def test_an_update_is_shown_everywhere(self):
        job = self.submit("true", "-H", "-t", "20")
        self.run_("scontrol", "update", f"JobId={job}", "TimeLimit=10", "Name=renamed", "Comment=two words", "Nice=3", "QOS=high",
                  "Dependency=singleton")
        self.assertEqual(self.cell(job, "%j|%l|%k|%y|%q"), "renamed|10:00|two words|3|high")
        shown = self.run_("scontrol", "-o", "show", "job", job)
        for part in ("JobName=renamed", "TimeLimit=00:10:00", "Nice=3", "QOS=high", "Comment=two words"):
            self.assertIn(part, shown)
        document = json.loads(self.run_("squeue", "--json", "-j", job))
        self.assertEqual((document["jobs"][0]["name"], document["jobs"][0]["job_state"]), ("renamed", ["PENDING"]))
        self.run_("scancel", job)
        self.assertEqual(self.rows(job, "State,ExitCode", "-X"), [[f"CANCELLED by {os.getuid()}", "0:0"]])

    def test_a_job_of_several_partitions_is_in_all_of_them_until_it_starts_in_one(self):
        held = self.submit("true", "-H", "-p", "main,elsewhere")
        for partition in ("main", "elsewhere"):
            self.assertEqual(self.run_("squeue", "-h", "-p", partition, "-j", held, "-o", "%P").strip(), "main,elsewhere")
        self.assertEqual(self.run_("squeue", "-h", "-p", "short", "-j", held, "-o", "%P").strip(), "")
        self.run_("scontrol", "release", held)
        self.until(held, "COMPLETED")
        self.assertEqual(self.rows(held, "Partition,Account", "-X"), [["main", "proj"]])

    def test_a_full_partition_is_passed_over_for_one_that_can_start_the_job(self):
        fills = self.submit("sleep 100", "-p", "main", "-L", "matlab:4")
        job = self.submit("sleep 100", "-p", "main,elsewhere", "-L", "matlab:1")
        self.until(job, "RUNNING")
        self.assertEqual(self.cell(job, "%P %a"), "elsewhere other")
        self.run_("scancel", job, fills)
        unknown = self.run_("sbatch", "-p", "main,nowhere", "--wrap", "true", exit=1)
        self.assertIn("invalid partition specified: nowhere", unknown)

    def test_waiting_tasks_are_one_line_and_are_cancelled_by_number(self):
        job = self.submit("true", "-H", "-a", "0-9%2")
        self.assertEqual(self.cell(job, "%i"), f"{job}_[0-9%2]")
        self.run_("scancel", f"{job}_[3-4]")
        self.assertEqual(self.run_("squeue", "-h", "-j", job, "-o", "%K").strip(), "0-2,5-9%2")
        self.assertEqual(len(self.run_("squeue", "-hr", "-j", job, "-o", "%i").split()), 8)
        self.run_("scontrol", "update", f"JobId={job}", "ArrayTaskThrottle=0")
        self.assertEqual(self.run_("squeue", "-h", "-j", job, "-o", "%K").strip(), "0-2,5-9")
        self.run_("scancel", job)

    def test_each_attempt_of_a_requeued_job_is_told_when_asked_for(self):
        job = self.submit("[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 100")
        self.until(job, "RUNNING")
        self.run_("scontrol", "requeue", job)
        self.until(job, "COMPLETED")
        self.assertEqual([row[0] for row in self.rows(job, "State", "-X")], ["COMPLETED"])
        self.assertEqual([row[0] for row in self.rows(job, "State", "-XD")], ["REQUEUED", "COMPLETED"])
        self.assertIn("Restarts=1", self.run_("scontrol", "show", "job", job))

    def test_a_script_gets_the_signal_that_is_sent_to_it(self):
        job = self.submit("trap 'exit 7' USR1; touch ready; while :; do sleep 0.1; done")
        self.site.wait(lambda: os.path.exists(f"{self.site.dir}/ready"), what="the script's trap")
        self.run_("scancel", "-b", "-s", "USR1", job)
        self.until(job, "FAILED")
        self.assertEqual(self.rows(job, "JobID,ExitCode"), [[job, "7:0"], [f"{job}.batch", "7:0"]])

    def test_steps_have_rows_of_their_own(self):
        job = self.submit("srun sh -c 'exit 3'; srun -J second true; exit 0")
        self.until(job, "COMPLETED")
        self.assertEqual(self.rows(job, "JobID,JobName,State,ExitCode,DerivedExitCode"),
                         [[job, "wrap", "COMPLETED", "0:0", "3:0"], [f"{job}.batch", "batch", "COMPLETED", "0:0", ""],
                          [f"{job}.0", "sh", "FAILED", "3:0", ""], [f"{job}.1", "second", "COMPLETED", "0:0", ""]])
        self.assertEqual(self.rows(f"{job}.1", "JobID"), [[f"{job}.1"]])
        self.assertIn(f"Job ID: {job}\n", self.run_("seff", job))

    def test_the_script_is_given_back(self):
        job = self.submit("echo hello", "-H")
        self.assertIn("echo hello", self.run_("scontrol", "write", "batch_script", job, "-"))
        self.run_("scancel", job)

    def test_accounts_and_clusters(self):
        self.assertEqual(sorted(self.run_("sacctmgr", "-nP", "show", "account", "format=account").split()), ["other", "proj", "root"])
        self.assertEqual(self.run_("sacctmgr", "-nP", "show", "cluster", "format=cluster"), "n1\nn2\n")
        self.assertIn("'nosuch' can't be reached now", self.run_("squeue", "-M", "nosuch", exit=1))
        self.assertIn("CLUSTER: n1\n", self.run_("squeue", "-M", "n1"))
        self.run_("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
        self.assertEqual(self.run_("sinfo", "-h", "-n", "n2", "-p", "main", "-o", "%t"), "drain\n")
        self.run_("scontrol", "update", "NodeName=n2", "State=RESUME")
        self.run_("scontrol", "update", "PartitionName=short", "MaxTime=7")
        self.assertEqual(self.run_("sinfo", "-h", "-p", "short", "-o", "%l"), "7:00\n")
        self.run_("scontrol", "update", "PartitionName=short", "MaxTime=10")


if __name__ == "__main__":
    unittest.main()
