"""srun and salloc outside a job, and what happens to jobs that run: clients that die, signals, limits, suspension, requeues, components."""
import os
import pty
import select
import signal
import subprocess
import time
import unittest

import slurm_site

LEASE = 40  # seconds within which a client that is gone gives back what it waits for: 30 of its lease, and some to do it


class Allocations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = slurm_site.Muster(requeue_wait="2s")
        cls.addClassCleanup(cls.site.close)
        cls.site.start()
        # Its lease runs out while the other tests run; the last one looks.
        gone = cls.client("salloc", "--begin=now+1hour", "true")
        cls.gone_job = cls.told_job(gone)
        gone.kill()
        gone.communicate()
        cls.gone_at = time.monotonic()
        # The shortest limit is a minute, which passes meanwhile too.
        cls.limited_job = cls.site.run("sbatch", "--parsable", "-t1", "-D", cls.site.dir, "-o", "%j.out", stdin="#!/bin/sh\nsleep 300\n").strip()

    @classmethod
    def client(cls, *words):
        return subprocess.Popen(words, env=cls.site.environment(), cwd=cls.site.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    @classmethod
    def told_job(cls, process):
        """The number in the first line that srun or salloc tells."""
        return next(word for word in process.stderr.readline().split() if word.isdigit())

    def run_(self, *words, exit=0):
        """(standard output, standard error)"""
        ran = self.site.run(*words, check=False)
        self.assertEqual(ran.returncode, exit, (words, ran.stdout, ran.stderr))
        return ran.stdout, ran.stderr

    def submit(self, script, *options):
        """A batch script whose output is in the file JOB.out."""
        ran = self.site.run("sbatch", "--parsable", "-D", self.site.dir, "-o", "%j.out", *options, stdin="#!/bin/bash\n" + script + "\n")
        return ran.strip()

    def output(self, job):
        try:
            with open(f"{self.site.dir}/{job}.out", encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def until_told(self, job, text):
        self.site.wait(lambda: text in self.output(job), what=f"{text!r} in the output of job {job}")

    def cell(self, job, form="%T"):
        return self.run_("squeue", "-h", "-j", job, "-t", "all", "-o", form)[0].strip()

    def until(self, job, state, timeout=60):
        ends = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
        self.site.wait(lambda: self.cell(job) in (state, *ends), timeout, f"job {job} in state {state}")
        self.assertEqual(self.cell(job), state, self.output(job))

    def rows(self, job, fields, *options):
        return [line.split("|") for line in self.run_("sacct", "-nP", "-j", job, "-o", fields, *options)[0].splitlines()]

    def end(self, job):
        self.run_("scancel", job)
        self.site.wait(lambda: self.cell(job) not in ("PENDING", "RUNNING", "COMPLETING"), what=f"job {job} ends")

    def test_exit_statuses(self):
        out, _ = self.run_("srun", "-n2", "sh", "-c", "echo $SLURM_PROCID of $SLURM_NTASKS; exit $SLURM_PROCID", exit=1)
        self.assertEqual(sorted(out.splitlines()), ["0 of 2", "1 of 2"])
        out, told = self.run_("srun", "sh", "-c", "kill -9 $$", exit=137)
        self.assertIn("Killed", out + told)
        _, told = self.run_("salloc", "-n2", "sh", "-c", "srun hostname; exit 7", exit=7)
        job = told.split("Granted job allocation ")[1].split()[0]
        self.assertIn(f"salloc: Relinquishing job allocation {job}\n", told)
        self.site.wait(lambda: self.rows(job, "JobID,State,ExitCode")[0][1] == "FAILED", what="the command's status is the job's")
        self.assertEqual(self.rows(job, "JobID,State,ExitCode"), [[job, "FAILED", "7:0"], [f"{job}.0", "COMPLETED", "0:0"]])

    def test_two_nodes(self):
        out, _ = self.run_("salloc", "-N2", "-n4", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_JOB_NUM_NODES; srun -N2 -n2 sh -c 'echo $SLURM_NODEID $(hostname)'")
        lines = out.splitlines()
        job, nodes = lines[0].split()
        self.assertEqual(nodes, "2")
        self.assertEqual(sorted(lines[1:]), [f"0 job-{job}-0", f"1 job-{job}-1"])
        self.assertEqual(sorted(self.run_("srun", "-N2", "sh", "-c", "echo $SLURM_NODEID")[0].split()), ["0", "1"])

    def test_only_the_first_node_writes_the_output(self):
        job = self.submit("echo first; sleep 2; srun -l sh -c 'echo $SLURM_NODEID' | sort; echo last", "-N2")
        self.until(job, "COMPLETED")
        self.assertEqual(self.output(job), "first\n0: 0\n1: 1\nlast\n")

    def test_a_full_queue(self):
        full = [self.submit("sleep 300", "-n1", f"-c{cpus}") for cpus in (8, 7)]
        for job in full:
            self.until(job, "RUNNING")
        waiting = self.client("srun", "-c8", "echo", "at last")
        first = waiting.stderr.readline()
        job = next(word for word in first.split() if word.isdigit())
        self.assertEqual(first, f"srun: job {job} queued and waiting for resources\n")
        self.run_("srun", "-c8", "--immediate=1", "true", exit=1)
        allocation = self.client("salloc", "-c8", "true")
        self.assertIn("salloc: Pending job allocation", allocation.stderr.readline())
        allocation.send_signal(signal.SIGTERM)
        told = allocation.communicate(timeout=60)[1]
        self.assertEqual(allocation.returncode, 1)
        self.assertIn("has been revoked", told)
        for one in full:
            self.end(one)
        out, told = waiting.communicate(timeout=60)
        self.assertEqual((waiting.returncode, out, told), (0, "at last\n", f"srun: job {job} has been allocated resources\n"))

    def test_a_client_that_is_killed_ends_what_runs(self):
        for words in (("srun", "-J", "killed-srun", "sleep", "300"), ("salloc", "-J", "killed-salloc", "sleep", "300")):
            process = self.client(*words)
            found = self.site.wait(lambda: [job for job in self.site.jobs(f"&name={words[2]}") if job["state"] == "Running"], what="it runs")  # pylint: disable=cell-var-from-loop
            job = str(found[0]["id"])
            if words[0] == "salloc":
                self.assertEqual(process.stderr.readline(), f"salloc: Granted job allocation {job}\n")
            else:
                self.site.wait(lambda: len(self.rows(job, "JobID")) > 1, what="its step is there")  # pylint: disable=cell-var-from-loop
            process.kill()
            process.wait()
            since = time.monotonic()
            self.site.wait(lambda: self.cell(job) != "RUNNING", 60, f"{words[0]} is gone")  # pylint: disable=cell-var-from-loop
            print(f"{words[0]} was killed: its job ended {time.monotonic() - since:.1f} s later as {self.cell(job)}")
            for stream in (process.stdout, process.stderr):
                stream.close()

    def test_scancel_of_an_allocation(self):
        process = self.client("salloc", "sleep", "300")
        job = self.told_job(process)
        self.until(job, "RUNNING")
        self.run_("scancel", job)
        told = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGHUP)
        self.assertIn(f"salloc: Job allocation {job} has been revoked.\n", told)
        self.until(job, "CANCELLED")
        process = self.client("srun", "-J", "ended-srun", "sleep", "300")
        job = str(self.site.wait(lambda: [one for one in self.site.jobs("&name=ended-srun") if one["state"] == "Running"], what="srun runs")[0]["id"])
        self.site.wait(lambda: len(self.rows(job, "JobID")) > 1, what="its step is there")
        self.run_("scancel", job)
        self.assertNotEqual(process.communicate(timeout=60) and process.returncode, 0)
        self.until(job, "CANCELLED")

    def test_what_a_time_limit_ends_is_told_of(self):
        job = self.submit("srun sleep 300")
        self.site.wait(lambda: len(self.rows(job, "JobID")) == 3, what="its step is there")
        self.run_("scancel", job)
        self.until_told(job, "CANCELLED AT")
        job = self.limited_job
        self.site.wait(lambda: self.cell(job) == "TIMEOUT", 100, f"job {job} is over its limit, {self.cell(job, '%T %l')}")
        self.assertRegex(self.output(job), rf"slurmstepd: error: \*\*\* JOB {job} ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*")

    def test_components(self):
        job = self.submit("""#SBATCH -n1
#SBATCH hetjob
#SBATCH -n2
echo $SLURM_HET_SIZE
srun --het-group=1 sh -c 'echo one $SLURM_PROCID' | sort
srun --het-group=0,1 -l sh -c 'echo all' | sort""")
        self.site.wait(lambda: self.rows(job, "State", "-X")[0][0] in ("COMPLETED", "FAILED"), what="it ends")
        self.assertEqual(self.output(job), "2\none 0\none 1\n0: all\n1: all\n2: all\n")

    def test_signals_and_steps(self):
        job = self.submit("""srun bash -c 'trap "echo step got it; exit 3" USR1; echo ready; while :; do sleep 0.1; done'
echo first $?
srun sleep 300
echo second $?""")
        self.until_told(job, "ready")
        self.run_("scancel", "-s", "USR1", job)
        self.until_told(job, "first 3")
        self.assertIn("step got it", self.output(job))
        self.site.wait(lambda: [row for row in self.rows(job, "JobID,State") if row == [f"{job}.1", "RUNNING"]], what="the second step runs")
        self.run_("scancel", f"{job}.1")
        self.until_told(job, "second")
        self.until(job, "COMPLETED")
        rows = dict(self.rows(job, "JobID,State"))
        self.assertEqual(rows[f"{job}.0"], "FAILED")
        self.assertTrue(rows[f"{job}.1"].startswith("CANCELLED"), rows)

    def test_suspended_and_resumed(self):
        job = self.submit("while :; do echo tick; sleep 0.1; done")
        self.until_told(job, "tick")
        self.run_("scontrol", "suspend", job)
        self.until(job, "SUSPENDED")

        def stands_still():
            before = self.output(job)
            time.sleep(1)
            return self.output(job) == before
        self.site.wait(stands_still, what="it stands still")
        self.assertTrue(stands_still())
        stands = self.output(job)
        self.run_("scontrol", "resume", job)
        self.until(job, "RUNNING")
        self.site.wait(lambda: len(self.output(job)) > len(stands), what="it goes on")
        self.end(job)

    def test_requeued(self):
        job = self.submit("echo try ${SLURM_RESTART_COUNT:-none}; [ -n \"$SLURM_RESTART_COUNT\" ] || sleep 300", "--requeue", "--open-mode=append")
        self.until_told(job, "try none")
        self.run_("scontrol", "requeue", job)
        self.until_told(job, "try 1")
        self.until(job, "COMPLETED")
        self.assertEqual(self.cell(job, "%T"), "COMPLETED")
        self.assertIn("DUE TO JOB REQUEUE", self.output(job))

    def test_a_job_is_entered_from_outside(self):
        """Nothing of the job has called srun before; the agent of its node is started when somebody asks."""
        job = self.submit("sleep 300", "-n2", "-J", "entered")
        self.until(job, "RUNNING")
        for words in (["--jobid", job], ["--jobid=" + job, "--overlap"]):
            out, _ = self.run_("srun", *words, "-n2", "sh", "-c", "echo $SLURM_JOB_NAME $SLURM_PROCID $SLURM_JOB_ID; env | grep ^MUSTER_JOIN; true")
            self.assertEqual(sorted(out.splitlines()), [f"entered 0 {job}", f"entered 1 {job}"])
        ran = self.site.run("srun", "true", env={"SLURM_JOB_ID": job}, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        steps = [job, f"{job}.batch", f"{job}.0", f"{job}.1", f"{job}.2"]
        self.site.wait(lambda: [row[0] for row in self.rows(job, "JobID")] == steps, what="its steps are there")
        # Its processes are the job's: in its control group, and gone with it.
        process = self.client("srun", "--jobid", job, "sh", "-c", "cat /proc/self/cgroup; echo $$; sleep 300")
        told = []
        while not told or not told[-1].isdigit():
            told.append(process.stdout.readline().strip())
        groups = [line for line in told if "/muster/" in line]
        self.assertTrue(all(line.endswith("/script") for line in groups), told)
        self.end(job)
        self.assertNotEqual(process.wait(timeout=30), 0)
        for stream in (process.stdout, process.stderr):
            stream.close()

    def test_a_terminal_in_a_job(self):
        job = self.submit("sleep 300")
        self.until(job, "RUNNING")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with subprocess.Popen(["srun", "--jobid", job, "--overlap", "--pty", "sh", "-c", "tty && read line && echo got $line"],
                              env=self.site.environment(), cwd=self.site.dir, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as process:
            os.close(slave)
            seen = b""
            while b"/dev/pts" not in seen:
                seen += os.read(master, 1000)
            os.write(master, b"words\n")
            while b"got words" not in seen:
                seen += os.read(master, 1000)
            self.assertEqual(process.wait(timeout=30), 0, seen)
        self.end(job)

    def test_jobs_that_cannot_be_entered(self):
        check = "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {0}\n"
        ended, held = self.submit("true"), self.submit("true", "-H")
        self.until(ended, "COMPLETED")
        cases = {"999999": "Unable to confirm allocation for job {0}: Invalid job id specified", ended: "Slurm job {0} has expired",
                 held: "Unable to confirm allocation for job {0}: Job is pending execution"}
        for job, why in cases.items():
            for words, variables in ((["--jobid", job], {}), ([], {"SLURM_JOB_ID": job})):
                ran = self.site.run("srun", *words, "true", env=variables, check=False)
                self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (1, "", f"srun: error: {why}\n{check}".format(job)))
        self.end(held)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_nobody_enters_a_job_of_somebody_else(self):
        job = self.submit("sleep 300")
        self.until(job, "RUNNING")
        clean = dict(self.site.environment(), HOME="/", USER="nobody", LOGNAME="nobody")
        done = subprocess.run(["srun", "--jobid", job, "true"], env=clean, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              user=65534, group=65534, extra_groups=[])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stderr, rf"^srun: error: Unable to confirm allocation for job {job}: (Access/permission denied|Invalid job id specified)\n")
        self.end(job)

    def test_a_stopped_reader_of_the_errors_holds_up_the_job_alone(self):
        path = f"{self.site.dir}/errors"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        job = self.submit("echo begins; seq 100000 >&2; echo goes on; sleep 300", "-e", path)
        self.until_told(job, "begins")
        # As much as a pipe holds is there, nobody reads, and the job's supervisor still does what it is asked.
        self.assertEqual(self.run_("srun", "--jobid", job, "echo", "entered")[0], "entered\n")
        seen = b""
        while not seen.endswith(b"100000\n"):
            if select.select([reader], [], [], 30)[0]:
                seen += os.read(reader, 1 << 16)
            self.assertTrue(seen)
        self.assertEqual(len(seen.splitlines()), 100000)
        self.until_told(job, "goes on")
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(reader, b"x" * 4096)
        since = time.monotonic()
        self.end(job)
        self.assertLess(time.monotonic() - since, 15)

    def test_a_step_without_memory(self):
        """Where control groups limit memory; elsewhere the allocation fails, and the step with it."""
        eats = "python3 -c 'a = bytearray(900 << 20)'"
        job = self.submit(f"srun {eats}; echo first $?; srun sh -c \"{eats}; true; exit 3\"; srun sh -c 'kill -9 \\$\\$'; srun true; echo last $?", "--mem=200")
        self.site.wait(lambda: "last 0" in self.output(job), what="the script goes on")
        self.site.wait(lambda: len(self.rows(job, "JobID")) == 6, what="its steps are there")
        states = {row[0].split(".")[-1]: row[1] for row in self.rows(job, "JobID,State")}
        killed = "first 137" in self.output(job)
        self.assertEqual([states[step] for step in "0123"], ["OUT_OF_MEMORY" if killed else "FAILED", "FAILED", "FAILED", "COMPLETED"], self.output(job))
        print("memory is limited by", "a control group" if killed else "RLIMIT_AS")
        if killed:
            self.assertIn(f"Detected 1 oom_kill event in StepId={job}.0. Some of the step tasks have been OOM Killed.", self.output(job))

    def test_jobs_of_one_number_of_two_daemons(self):
        other = slurm_site.Muster()
        self.addCleanup(other.close)
        other.start()
        sites = {"one": self.site, "other": other}
        jobs = {}
        job = self.submit("sleep 300")
        other.burn(int(job) - 1)
        jobs["one"] = job
        jobs["other"] = other.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 300").strip()
        self.assertEqual(jobs["one"], jobs["other"])
        for name, site in sites.items():
            site.wait_state(int(job), "Running")
            # Which job it is shows in the directory that its first step is recorded in.
            ran = site.run("srun", "--jobid", job, "sh", "-c", "echo $MUSTER_STEPS_DIR")
            self.assertIn(f"/{site.job(int(job))['uid']}-1/steps", ran, name)
        self.end(job)

    def test_nothing_of_the_submitters_step_is_in_the_job(self):
        job = self.submit(f"srun sh -c 'sbatch -W -D {self.site.dir} -o inner.out --wrap \"env | grep ^SLURM_STEP; echo end\"'")
        self.until(job, "COMPLETED")
        with open(f"{self.site.dir}/inner.out", encoding="utf-8") as file:
            self.assertEqual(file.read(), "end\n")

    def test_what_waits_for_a_client_that_is_gone_is_cancelled(self):
        self.site.wait(lambda: self.cell(self.gone_job) == "CANCELLED", max(LEASE - (time.monotonic() - self.gone_at), 1), "its lease runs out")
        self.assertEqual(self.site.job(self.gone_job)["reason"], "ClientGone")


if __name__ == "__main__":
    unittest.main()
