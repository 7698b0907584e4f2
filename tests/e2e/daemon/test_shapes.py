"""One job of each shape runs real processes to its real end, with logs, exit codes and accounting."""
import re
import time
import unittest

from muster_server import QUEUES, Server, example, queues, shell_job


def beside_quickstart(manifest):
    return manifest.replace("name: default, namespace: default", "name: main, namespace: default")


class Shapes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.server.run("muster", "apply", "-f", example("quickstart", "queues.yaml"))
        cls.server.run("muster", "apply", "-f", "-", stdin=beside_quickstart(QUEUES))

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def submit(self, shape):
        out = self.server.run("muster", "submit", example("quickstart", "jobs", shape + ".yaml"))
        match = re.fullmatch(r"job (\d+) submitted\n", out)
        self.assertTrue(match, out)
        return int(match.group(1))

    def ends_well(self, shape):
        job_id = self.submit(shape)
        job = self.server.wait_state(job_id, "Succeeded", "Failed", "Cancelled")
        self.assertEqual(job["state"], "Succeeded", job)
        self.assertEqual(job["exitCode"], 0)
        self.assertIn(job["cluster"], ("east", "west"))
        self.assertTrue(job["startTime"] and job["endTime"])
        return job_id

    def test_an_indexed_job_prints_from_each_of_its_pods(self):
        job_id = self.ends_well("job")
        self.assertIn("images", self.server.run("muster", "logs", str(job_id)))

    def test_a_job_set_starts_its_reducer_after_its_mappers(self):
        self.ends_well("jobset")

    def test_a_job_set_without_modes_has_indexed_jobs_whose_containers_restart_in_place(self):
        script = "[ -e failed ] && { echo index $JOB_COMPLETION_INDEX; exit 0; }; touch failed; exit 1"
        pod = shell_job("", script)["spec"]["template"]
        del pod["spec"]["restartPolicy"]
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", {
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "modes"},
            "spec": {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": pod}}}]}})
        self.assertEqual(status, 201, job)
        ended = self.server.wait_state(job["id"], "Succeeded", "Failed")
        self.assertEqual((ended["state"], ended["exitCode"]), ("Succeeded", 0), ended)
        self.assertIn("index 0", self.server.run("muster", "logs", str(job["id"])))

    def test_the_ranks_of_a_pytorch_job_meet_over_tcp(self):
        job_id = self.ends_well("pytorchjob")
        logs = self.server.run("muster", "logs", str(job_id))
        self.assertIn("all ranks met: [0, 1, 2]", logs)

    def test_a_ray_job_ends_with_its_entrypoint(self):
        self.ends_well("rayjob")

    def test_a_leader_worker_set_serves_until_it_is_deleted(self):
        job_id = self.submit("leaderworkerset")
        self.server.wait_state(job_id, "Running")
        self.server.run("muster", "delete", "jobs", str(job_id))
        self.server.wait_state(job_id, "Cancelled")

    def test_a_batch_script_runs_in_its_directory_and_writes_its_output_file(self):
        out = self.server.run("sbatch", "--parsable", "-p", "default", "-J", "free text: ok", "--wrap",
                              "echo id=$SLURM_JOB_ID name=$SLURM_JOB_NAME; exit 3")
        job_id = int(out)
        job = self.server.wait_state(job_id, "Failed")
        self.assertEqual(job["exitCode"], 3)
        with open(f"{self.server.dir}/slurm-{job_id}.out", encoding="utf-8") as file:
            self.assertEqual(file.read(), f"id={job_id} name=free text: ok\n")
        self.assertIn("3:0", self.server.run("sacct", "-X", "-n", "-j", str(job_id)))

    def test_sbatch_wait_returns_the_exit_code_of_the_job(self):
        self.assertEqual(self.server.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", "exit 7", check=False).returncode, 7)

    def test_an_array_gives_each_task_its_index(self):
        out = self.server.run("sbatch", "--parsable", "--array=1-3", "-o", "task-%a.txt", "--wrap", "echo $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT")
        array = int(out)
        self.server.wait(lambda: [job["state"] for job in self.server.jobs(f"&array={array}")] == ["Succeeded"] * 3, what="all tasks succeed")
        for index in (1, 2, 3):
            with open(f"{self.server.dir}/task-{index}.txt", encoding="utf-8") as file:
                self.assertEqual(file.read(), f"{index} of 3\n")

    def test_a_script_that_requeues_itself_starts_again_after_its_wait_and_not_in_a_loop(self):
        script = "echo start ${SLURM_RESTART_COUNT:-0} >> %s; [ -n \"$SLURM_RESTART_COUNT\" ] || { scontrol requeue $SLURM_JOB_ID; sleep 100; }"
        job_id = int(self.server.run("sbatch", "--parsable", "-p", "main", "-o", "/dev/null", "--wrap", script % "starts.txt"))
        self.server.wait(lambda: self.job_waits(job_id), what="the requeued job back in its queue")
        job = self.server.job(job_id)
        self.assertIn("Requeued by", job["message"])
        reason, start = self.server.run("squeue", "-h", "-j", str(job_id), "-o", "%r %S").split()
        self.assertEqual(reason, "BeginTime")
        self.assertEqual(start[-5:], self.server.run("squeue", "-h", "-j", str(job_id), "-O", "EligibleTime:19").strip()[-5:])
        self.assertIn("is not tried again before", self.server.run("muster", "explain", str(job_id)))
        refused = self.server.run("scontrol", "requeue", str(job_id), check=False)
        self.assertEqual(refused.returncode, 1, refused)
        time.sleep(4)
        self.assertEqual(self.lines("starts.txt"), ["start 0"], "the default wait is two minutes")
        self.server.run("scancel", str(job_id))
        self.server.wait_state(job_id, "Cancelled")
        self.server.run("muster", "apply", "-f", "-", stdin=beside_quickstart(queues(requeue_wait="2s")))
        self.addCleanup(lambda: self.server.run("muster", "apply", "-f", "-", stdin=beside_quickstart(QUEUES)))
        second = int(self.server.run("sbatch", "--parsable", "-p", "main", "-o", "/dev/null", "--wrap", script % "again.txt"))
        self.server.wait_state(second, "Succeeded")
        self.assertEqual(self.lines("again.txt"), ["start 0", "start 1"])

    def job_waits(self, job_id):
        job = self.server.job(job_id)
        return job["state"] == "Pending" and job["reason"] == "BeginTime" and job["requeueAt"]

    def lines(self, name):
        with open(f"{self.server.dir}/{name}", encoding="utf-8") as file:
            return file.read().splitlines()

    def test_a_failing_job_tells_its_exit_code_and_its_attempt_is_accounted(self):
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("fails", "echo no >&2; exit 9"))
        self.assertEqual(status, 201, job)
        ended = self.server.wait_state(job["id"], "Failed", "Succeeded")
        self.assertEqual((ended["state"], ended["exitCode"]), ("Failed", 9))
        self.assertIn("9:0", self.server.run("sacct", "-X", "-n", "-j", str(job["id"])))

    def test_a_cancelled_job_ends_its_whole_process_group(self):
        _, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("long", "sleep 1000 & sleep 1000"))
        self.server.wait_state(job["id"], "Running")
        self.server.run("scancel", str(job["id"]))
        self.server.wait_state(job["id"], "Cancelled")


if __name__ == "__main__":
    unittest.main()
