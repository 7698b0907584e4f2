"""srun inside a job of one node: tasks, output, exit codes, signals, resources, records."""
import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from fake_job import FakeJob, lives, wait_until_gone


class OneNode(unittest.TestCase):
    def setUp(self):
        self.job = FakeJob(tasks=4)
        self.addCleanup(self.job.close)

    def until_told(self, name):
        """The words of a task that runs until tell(name)."""
        return "sh", "-c", f"until [ -e {self.job.directory}/{name}.told ]; do sleep 0.05; done"

    def tell(self, name):
        with open(f"{self.job.directory}/{name}.told", "w", encoding="utf-8"):
            pass

    def test_tasks_know_who_they_are(self):
        status, out, err = self.job.run("-l", "sh", "-c", "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $SLURM_GTIDS $SLURM_STEP_ID")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), [f"{i}: {i} {i} 0 4 0,1,2,3 0" for i in range(4)])
        status, out, _ = self.job.run("-n1", "sh", "-c", "test $SLURM_TASK_PID = $$ && echo $SLURM_STEP_NODELIST $SLURM_STEP_TASKS_PER_NODE $SLURMD_NODENAME $PWD")
        self.assertEqual((status, out), (0, f"c1 1 c1 {self.job.directory}\n"))

    def test_exit_codes_and_words(self):
        self.assertEqual(self.job.run("sh", "-c", "exit 2"), (2, "", "srun: error: c1: tasks 0-3: Exited with exit code 2\n"))
        self.assertEqual(self.job.run("-n1", "false"), (1, "", "srun: error: c1: task 0: Exited with exit code 1\n"))
        self.assertEqual(self.job.run("-n1", "sh", "-c", "kill -9 $$"), (137, "", "srun: error: c1: task 0: Killed\n"))
        status, _, err = self.job.run("-n1", "sh", "-c", "kill -SEGV $$")
        self.assertEqual(status, 139)
        self.assertRegex(err, r"^srun: error: c1: task 0: Segmentation fault( \(core dumped\))?\n$")
        status, _, err = self.job.run("-n4", "sh", "-c", "exit $SLURM_PROCID")
        self.assertEqual(status, 3)
        self.assertEqual(len(err.splitlines()), 3)
        status, _, err = self.job.run("-n1", "no-such-program")
        self.assertEqual(status, 2)
        # ThreadSanitizer makes a fork of the agent's vfork, so that it does not learn why.
        if os.environ.get("MUSTER_SANITIZE") != "thread":
            self.assertIn("slurmstepd: error: execve(): no-such-program: No such file or directory\n", err)
        self.assertIn("srun: error: c1: task 0: Exited with exit code 2\n", err)
        states = [record["state"] for record in self.job.records().values()]
        self.assertEqual(set(states), {"FAILED"})
        self.assertEqual((self.job.records()[2]["exitCode"], self.job.records()[2]["exitSignal"]), (0, 9))

    def test_records_measure(self):
        self.job.run("-n2", "python3", "-c", "x = bytearray(50 << 20)\nfor i in range(3000000): pass")
        record = self.job.records()[0]
        self.assertEqual((record["state"], record["tasks"], record["nodes"], record["name"]), ("COMPLETED", 2, "c1", "python3"))
        self.assertGreater(record["maxRssBytes"], 50 << 20)
        self.assertGreater(record["userCpuUs"], 50_000)
        self.assertGreaterEqual(record["endUs"], record["startUs"])

    def test_stdin_goes_to_all_or_one(self):
        self.assertEqual(self.job.run("-l", "cat", input="a\nb\n")[1].count(": a"), 4)
        status, out, _ = self.job.run("-i", "2", "-l", "cat", input="only\n")
        self.assertEqual((status, out), (0, "2: only\n"))
        self.assertEqual(self.job.run("-i", "none", "cat", input="x\n")[1], "")
        self.assertEqual(self.job.run("-n1", "wc", "-c", input="x" * 1_000_000)[1].strip(), "1000000")

    def test_files(self):
        self.assertEqual(self.job.run("-o", "out.%j.%s.%t.%N.%%", "sh", "-c", "echo $SLURM_PROCID; echo e >&2")[0], 0)
        for task in range(4):
            with open(os.path.join(self.job.directory, f"out.7.0.{task}.c1.%"), encoding="utf-8") as file:
                self.assertEqual(sorted(file.read().split()), sorted([str(task), "e"]))
        self.assertEqual(self.job.run("-o", "all.%J", "-e", "err", "-l", "sh", "-c", "echo x; echo y >&2")[0], 0)
        with open(os.path.join(self.job.directory, "all.7.1"), encoding="utf-8") as file:
            self.assertEqual(sorted(file.read().splitlines()), [f"{i}: x" for i in range(4)])
        self.assertEqual(self.job.run("-o", "none", "echo", "x"), (0, "", ""))
        self.assertEqual(self.job.run("-o", "/no/such/directory/x", "true")[0], 1)

    def test_much_output(self):
        process = self.job.start("-n1", "head", "-c", "100000000", "/dev/zero")
        size = 0
        while chunk := process.stdout.buffer.read(1 << 20):
            size += len(chunk)
        self.assertEqual((process.wait(), size), (0, 100_000_000))
        process.stdout.close()
        process.stderr.close()

    def test_lines_of_tasks_are_not_mixed(self):
        job = FakeJob(tasks=64, cpus=64)
        self.addCleanup(job.close)
        status, out, err = job.run("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do printf '%s-' $SLURM_PROCID $i; printf 'end\\n'; done")
        self.assertEqual((status, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(len(lines), 512)
        for line in lines:
            self.assertRegex(line, r"^\d+-[1-8]-end$")

    def test_a_thousand_steps(self):
        begun = time.monotonic()
        script = "i=0; while [ $i -lt 1000 ]; do srun -n1 true || exit 1; i=$((i+1)); done"
        subprocess.run(["sh", "-c", script], env=self.job.environment, stdin=subprocess.DEVNULL, check=True)
        print(f"\n1000 steps in {time.monotonic() - begun:.2f} s", flush=True)
        self.assertEqual(len(self.job.records()), 1000)

    def test_steps_wait_for_one_another(self):
        first = self.job.start("-n1", *self.until_told("first"))
        self.job.wait_for_record(0, "RUNNING")
        second = self.job.start("-n1", "true")
        self.assertEqual(second.stderr.readline(), "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)\n")
        self.tell("first")
        self.assertEqual(second.communicate(timeout=60)[1], "srun: Step created for StepId=7.1\n")
        self.assertEqual(second.returncode, 0)
        first.communicate(timeout=60)
        self.assertGreaterEqual(self.job.records()[1]["startUs"], self.job.records()[0]["endUs"])
        # With --exact they share, with --overlap they do not count.
        exact = [self.job.start("--exact", "-n1", "-c2", *self.until_told("exact")) for _ in range(2)]
        self.job.wait_for_record(2, "RUNNING")
        self.job.wait_for_record(3, "RUNNING")
        self.assertEqual(self.job.run("--overlap", "-n1", "true"), (0, "", ""))
        self.tell("exact")
        for one in exact:
            self.assertEqual(one.communicate(timeout=60)[1], "")
        self.assertEqual(self.job.run("-n5", "true"), (1, "", "srun: error: Unable to create step for job 7: More processors requested than permitted\n"))
        self.assertEqual(self.job.run("-n5", "-O", "true"), (0, "", ""))

    def test_a_killed_srun_takes_its_tasks_along(self):
        process = self.job.start("-n2", "sh", "-c", "echo $$; exec sleep 600")
        pids = [int(process.stdout.readline()), int(process.stdout.readline())]
        process.kill()
        process.communicate()
        record = self.job.wait_for_record(0, "CANCELLED")
        self.assertEqual(record["exitSignal"], signal.SIGTERM)
        for pid in pids:
            self.assertFalse(lives(pid))
        self.assertEqual(self.job.run("true")[0], 0)

    def test_a_killed_agent_ends_the_steps(self):
        process = self.job.start("-n2", "sh", "-c", "echo $$; exec sleep 600")
        pids = [int(process.stdout.readline()), int(process.stdout.readline())]
        os.kill(self.job.manager(), signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("the step manager on c1 is gone", err)
        wait_until_gone(pids)
        # The next one starts a new agent, which knows what was before.
        self.assertEqual(self.job.run("-n1", "sh", "-c", "echo $SLURM_STEP_ID"), (0, "1\n", ""))
        self.assertEqual(self.job.records()[0]["state"], "FAILED")

    def test_left_processes_end_with_the_step(self):
        """Also those that are about to run their program when the step ends and have no environment for that moment, alone and beside another step."""
        left = "setsid sleep 60 >/dev/null 2>&1 & echo $!; sleep 60 >/dev/null 2>&1 & echo $!"
        beside = None
        for times in range(80):
            if times == 40:
                beside = self.job.start("--overlap", "-n1", "sh", "-c", "echo up; exec sleep 60")
                beside.stdout.readline()
            status, out, _ = self.job.run("--overlap", "-n1", "sh", "-c", left, timeout=30)
            self.assertEqual(status, 0)
            end = time.monotonic() + 20
            while any(lives(int(pid)) for pid in out.split()):
                self.assertLess(time.monotonic(), end, f"a process of step {times} is left")
                time.sleep(0.02)
        self.assertIsNone(beside.poll(), "the step beside them goes on")
        beside.kill()
        beside.communicate()

    def test_signals(self):
        process = self.job.start("-n2", "sh", "-c", "trap 'echo usr1; exit 5' USR1; echo up; while :; do sleep 0.05; done")
        self.assertEqual([process.stdout.readline() for _ in range(2)], ["up\n", "up\n"])
        process.send_signal(signal.SIGUSR1)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (5, "usr1\nusr1\n"))
        # Tasks that Ctrl-C ends may be over before they can be terminated.
        process = self.job.start("-n2", "sh", "-c", "trap '' INT; echo up; exec sleep 600")
        self.assertEqual([process.stdout.readline() for _ in range(2)], ["up\n", "up\n"])
        # A second one that comes more than a second later counts as a first one: it is sent until it was in time.
        line, seen = "", False
        for _ in range(60):
            process.send_signal(signal.SIGINT)
            line = process.stderr.readline()
            if line != "srun: interrupt (one more within 1 sec to abort)\n":
                break
            self.assertEqual(process.stderr.readline(), "srun: StepId=7.1 tasks 0-1: running\n")
            seen = True
        self.assertTrue(seen, "one is not enough")
        self.assertEqual(line, "srun: sending Ctrl-C to StepId=7.1\n")
        err = process.stderr.read()
        process.communicate(timeout=60)
        self.assertTrue(err.startswith("srun: forcing job termination\n"), err)
        self.assertNotIn("Interrupt\n", err)
        self.assertIn("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n", err)
        self.assertEqual(self.job.records()[1]["state"], "CANCELLED")
        process = self.job.start("-n1", "sh", "-c", "echo up; exec sleep 600")
        process.stdout.readline()
        process.terminate()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertIn("srun: forcing job termination\n", err)
        self.assertRegex(err, r"slurmstepd: error: \*\*\* STEP 7.2 ON c1 CANCELLED AT \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d \*\*\*\n")

    def test_bad_exit_wait_and_time_limit(self):
        status, _, err = self.job.run("-K", "sh", "-c", "[ $SLURM_PROCID = 1 ] && exit 3; exec sleep 600", timeout=60)
        self.assertEqual(status, 143)
        self.assertIn("srun: error: c1: task 1: Exited with exit code 3\nsrun: Terminating StepId=7.0\n", err)
        status, _, err = self.job.run("-W1", "sh", "-c", "[ $SLURM_PROCID = 1 ] && exit 0; exec sleep 600", timeout=60)
        self.assertEqual(status, 137)
        self.assertIn("srun: First task exited 1s ago\nsrun: StepId=7.1 tasks 0,2-3: running\nsrun: StepId=7.1 task 1: exited\n", err)
        status, _, err = self.job.run("-t", "0:01", "-n1", "sleep", "600", timeout=60)
        self.assertEqual(status, 143)
        self.assertRegex(err, r"\*\*\* STEP 7.2 ON c1 CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*\nsrun: error: c1: task 0: Terminated\nsrun: Force Terminated StepId=7.2\n$")
        self.assertEqual(self.job.records()[2]["state"], "TIMEOUT")

    def test_a_cancelled_step(self):
        process = self.job.start("-n1", "sh", "-c", "echo up; exec sleep 600")
        process.stdout.readline()
        with open(os.path.join(self.job.steps, "cancelled.0"), "w", encoding="utf-8"):
            pass
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertIn("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nslurmstepd: error: *** STEP 7.0 ON c1 CANCELLED AT ", err)
        self.assertIn("srun: error: c1: task 0: Terminated\n", err)
        self.assertEqual(self.job.records()[0]["state"], "CANCELLED")

    def test_a_stopped_attempt(self):
        """The member says that it ends the job, and ends the tasks itself."""
        process = self.job.start("-n1", "sh", "-c", "echo $$; exec sleep 600")
        task = int(process.stdout.readline())
        written = os.path.join(self.job.steps, "written")
        with open(written, "w", encoding="utf-8") as file:
            file.write(" DUE TO TIME LIMIT")
        os.rename(written, os.path.join(self.job.steps, "stopped"))
        with contextlib.suppress(ProcessLookupError):  # the agent, which reads it too, was faster
            os.kill(task, signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertRegex(err, r"slurmstepd: error: \*\*\* STEP 7.0 ON c1 CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*\n")
        self.assertEqual(self.job.records()[0]["state"], "CANCELLED")

    def test_environment_and_directory(self):
        self.assertEqual(self.job.run("-n1", "--export=NONE", "sh", "-c", "echo ${MINE:-none}$SLURM_JOB_ID", env={"MINE": "x"})[1], "none7\n")
        self.assertEqual(self.job.run("-n1", "--export=ALL,MINE=y", "/bin/sh", "-c", "echo $MINE", env={"MINE": "x"})[1], "y\n")
        self.assertEqual(self.job.run("-n1", "-D", "/usr", "pwd")[1], "/usr\n")
        self.assertEqual(self.job.run("-n1", "sh", "-c", "umask", umask=0o027)[1].strip()[-3:], "027")
        self.assertEqual(self.job.run("-n1", "sh", "-c", "echo $SLURM_CPUS_PER_TASK", env={"SRUN_CPUS_PER_TASK": "2"})[1], "2\n")
        self.assertEqual(self.job.run("-n1", "true", env={"SLURM_BCAST": "/tmp/x"})[0], 1)

    def test_multi_prog(self):
        with open(os.path.join(self.job.directory, "silly.conf"), "w", encoding="utf-8") as file:
            file.write("# a comment\n1,3 echo task:%t\n0 echo 'two words' offset:%o\n* echo offset:%o\n")
        status, out, _ = self.job.run("-l", "--multi-prog", "silly.conf", "more")
        self.assertEqual(status, 0)
        self.assertEqual(sorted(out.splitlines()), ["0: two words offset:0 more", "1: task:1 more", "2: offset:0 more", "3: task:3 more"])

    def test_binding(self):
        cpus = sorted(os.sched_getaffinity(0))
        job = FakeJob(cpus=len(cpus), tasks=len(cpus))
        self.addCleanup(job.close)
        status, out, err = job.run("--cpu-bind=cores", "-l", "python3", "-c", "import os; print(*sorted(os.sched_getaffinity(0)))")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), sorted(f"{i}: {cpu}" for i, cpu in enumerate(cpus)))
        status, out, err = job.run("-n1", f"--cpu-bind=verbose,map_cpu:{cpus[-1]}", "python3", "-c", "import os; print(*sorted(os.sched_getaffinity(0)))")
        self.assertEqual((status, out), (0, f"{cpus[-1]}\n"))
        self.assertRegex(err, r"^cpu-bind=MASK - c1, task  0  0 \[\d+\]: mask 0x[0-9A-F]+ set\n$")

    def test_gpus(self):
        job = FakeJob(tasks=2, CUDA_VISIBLE_DEVICES="4,5")
        self.addCleanup(job.close)
        show = ("sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
        self.assertEqual(job.run(*show)[1], "4,5\n4,5\n")
        self.assertEqual(sorted(job.run("--gpus-per-task=1", *show)[1].split()), ["4", "5"])
        self.assertEqual(job.run("-n1", "--gres=gpu:1", *show)[1], "4\n")
        self.assertEqual(job.run("-n1", "--gres=none", *show)[1], "\n")
        self.assertEqual(job.run("-n1", "--gres=gpu:3", *show)[2], "srun: error: Unable to create step for job 7: Invalid generic resource (gres) specification\n")

    def test_pmi(self):
        hello = os.environ["MUSTER_PMI_HELLO"]
        for version in "12":
            status, out, err = self.job.run("--mpi=pmi2", hello, version)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), [f"rank {i} of 4 sees {(i + 1) % 4}" for i in range(4)])
        self.assertIn("pmi2", self.job.run("--mpi=list", "true")[1])
        status, _, err = self.job.run("--mpi=pmix", "true")
        self.assertEqual(status, 1)
        self.assertIn("--mpi=pmix: PMIx is not supported", err)

    def test_terminal(self):
        master, slave = pty.openpty()
        process = subprocess.Popen(["srun", "--pty", "sh", "-c", "tty >/dev/null && stty size; read x; echo got $x"], env=self.job.environment,
                                   stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        os.write(master, b"word\n")
        seen = b""
        while select.select([master], [], [], 60)[0]:
            try:
                chunk = os.read(master, 4096)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
        self.assertEqual(process.wait(), 0)
        os.close(master)
        self.assertRegex(seen.decode(), r"(?s)\d+ \d+\r*\n.*got word\r*\n")

    def test_a_full_pipe_holds_the_agent_up_for_nobody(self):
        """What the agent itself says to a task's stderr is lost if nobody reads there."""
        path = os.path.join(self.job.directory, "full")
        os.mkfifo(path)
        reader = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(reader, b"x" * 4096)
        self.assertEqual(self.job.run("-n1", "-e", path, "--cpu-bind=verbose,none", "echo", "done", timeout=60)[:2], (0, "done\n"))

    def test_what_a_task_leaves_behind_ends_with_its_step(self):
        """Found by its session or its environment, whoever its parent is by then."""
        one = f"sleep 431.{os.getpid()}"  # no other test's
        for left in (f"env -i {one} &", f"setsid {one} &", f"(env -i sh -c '{one} & {one}' &)", f"setsid sh -c 'sh -c \"{one} & {one}\"' &"):
            self.assertEqual(self.job.run("-n1", "sh", "-c", left)[0], 0, left)
            found = subprocess.run(["pgrep", "-fx", one], capture_output=True, text=True, check=False).stdout.split()
            wait_until_gone([int(pid) for pid in found])

    def test_sattach_and_overtaking(self):
        script = "until [ -e attached.told ]; do echo tick; sleep 0.05; done; read x; echo $x; read y"
        process = self.job.start("-n1", "sh", "-c", script, stdin=subprocess.PIPE)
        self.job.wait_for_record(0, "RUNNING")
        attached = subprocess.Popen(["sattach", "7.0"], env=self.job.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(attached.stdout.readline(), "tick\n")
        self.tell("attached")
        process.stdin.write("hello\n")
        process.stdin.flush()
        self.assertEqual(next(line for line in attached.stdout if line != "tick\n"), "hello\n")
        process.communicate("end\n", timeout=60)
        self.assertEqual(attached.communicate(timeout=60), ("", ""))
        self.assertEqual(attached.returncode, 0)

    def test_refusals(self):
        for words, text in ((("--bcast", "true"), "--bcast: programs are not copied"), (("--container-image=x", "true"), "--container-image: containers are not"),
                            (("-n", "x", "true"), 'Invalid numeric value "x" for --ntasks.'), (("-N5", "true"), "Only allocated 1 nodes asked for 4"),
                            (("-w", "zork", "true"), "Requested node configuration is not available"), (("--prolog=x", "true"), "--prolog: ")):
            status, out, err = self.job.run(*words)
            self.assertNotEqual(status, 0)
            self.assertEqual(out, "")
            self.assertIn(text, err)
        self.assertEqual(self.job.run("--nonsense", "true")[2], "srun: unrecognized option '--nonsense'\nTry \"srun --help\" for more information\n")
        self.assertTrue(re.match(r"slurm \d+\.\d+", self.job.run("--version")[1]))

    def test_without_a_steps_directory(self):
        environment = dict(self.job.environment, TMPDIR=self.job.directory)
        del environment["MUSTER_STEPS_DIR"]
        self.job.steps = os.path.join(self.job.directory, f"muster-steps-7-{os.geteuid()}")
        done = subprocess.run(["srun", "-n1", "echo", "x"], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "x\n", ""))
        two = dict(environment, SLURM_JOB_NODELIST="a[1-2]", SLURM_JOB_NUM_NODES="2", SLURM_NNODES="2")
        done = subprocess.run(["srun", "true"], env=two, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1)
        self.assertIn("share no steps directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
