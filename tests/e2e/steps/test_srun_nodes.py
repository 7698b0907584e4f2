"""srun over two nodes, each with an agent of its own."""
import os
import signal
import subprocess
import time
import unittest

from fake_job import FakeJob, wait_until_gone


class TwoNodes(unittest.TestCase):
    def setUp(self):
        self.job = FakeJob(nodes=2, cpus=2, tasks=4)
        self.addCleanup(self.job.close)

    def where(self, *words):
        status, out, err = self.job.run("-l", *words, "sh", "-c", "echo $SLURMD_NODENAME")
        self.assertEqual((status, err), (0, ""))
        return [line.split(": ")[1] for line in sorted(out.splitlines())]

    def test_distributions(self):
        first, second = "job-7-0", "job-7-1"
        self.assertEqual(self.where(), [first, first, second, second])
        self.assertEqual(self.where("-m", "cyclic"), [first, second, first, second])
        self.assertEqual(self.where("-m", "plane=2"), [first, first, second, second])
        self.assertEqual(self.where("-N2", "--ntasks-per-node=1"), [first, second])
        self.assertEqual(self.where("-N1", "-n2", "-r1"), [second, second])
        self.assertEqual(self.where("-N1", "-n1", "-w", second), [second])
        self.assertEqual(self.where("-N1", "-n1", "-x", first), [second])
        hosts = os.path.join(self.job.directory, "hosts")
        with open(hosts, "w", encoding="utf-8") as file:
            file.write(f"{second}\n{first}\n{second}\n{second}\n")
        self.job.environment["SLURM_HOSTFILE"] = hosts
        self.assertEqual(self.where("-m", "arbitrary"), [second, first, second, second])

    def test_variables_and_record(self):
        status, out, _ = self.job.run("-l", "sh", "-c", "echo $SLURM_NODEID $SLURM_LOCALID $SLURM_GTIDS $SLURM_STEP_NODELIST $SLURM_STEP_TASKS_PER_NODE $JOB_COMPLETION_INDEX")
        self.assertEqual(status, 0)
        self.assertEqual(sorted(out.splitlines()), [f"{i}: {i // 2} {i % 2} {'0,1' if i < 2 else '2,3'} job-7-[0-1] 2(x2) {i // 2}" for i in range(4)])
        record = self.job.records()[0]
        self.assertEqual((record["nodes"], record["nodeCount"], record["tasks"], record["cpus"]), ("job-7-[0-1]", 2, 4, 4))

    def test_fewer_tasks_than_nodes(self):
        self.assertEqual(self.job.run("-n1", "echo", "x"), (0, "x\n", "srun: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n"))

    def test_stdin_and_failures(self):
        status, out, _ = self.job.run("-l", "cat", input="data\n")
        self.assertEqual((status, sorted(out.splitlines())), (0, [f"{i}: data" for i in range(4)]))
        status, _, err = self.job.run("sh", "-c", "exit 4")
        self.assertEqual(status, 4)
        self.assertEqual(sorted(err.splitlines()), ["srun: error: job-7-0: tasks 0-1: Exited with exit code 4", "srun: error: job-7-1: tasks 2-3: Exited with exit code 4"])

    def test_nodes_are_shared(self):
        """Two steps of one node each run side by side."""
        told = f"{self.job.directory}/told"
        steps = [self.job.start("-N1", "-n2", "sh", "-c", f"until [ -e {told} ]; do sleep 0.05; done") for _ in range(2)]
        first = self.job.wait_for_record(0, "RUNNING")
        second = self.job.wait_for_record(1, "RUNNING")
        self.assertEqual({first["nodes"], second["nodes"]}, {"job-7-0", "job-7-1"})
        with open(told, "w", encoding="utf-8"):
            pass
        for one in steps:
            self.assertEqual(one.communicate(timeout=60)[1], "")

    def test_pmi_over_nodes(self):
        for version in "12":
            status, out, err = self.job.run("--mpi=pmi2", os.environ["MUSTER_PMI_HELLO"], version)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), [f"rank {i} of 4 sees {(i + 1) % 4}" for i in range(4)])

    def test_a_lost_agent(self):
        process = self.job.start("sh", "-c", "echo $$; exec sleep 600")
        pids = [int(process.stdout.readline()) for _ in range(4)]
        self.job.agents[0].kill()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertIn("srun: error: Node failure on job-7-1\n", err)
        self.assertIn("srun: error: job-7-1: tasks 2-3: Killed\n", err)
        self.assertIn("srun: error: job-7-0: tasks 0-1: Terminated\n", err)
        wait_until_gone(pids)
        # The node that is left goes on.
        self.assertEqual(self.job.run("-N1", "-n2", "-w", "job-7-0", "true")[0], 0)

    def test_a_lost_manager(self):
        process = self.job.start("sh", "-c", "echo $$; exec sleep 600")
        pids = [int(process.stdout.readline()) for _ in range(4)]
        os.kill(self.job.manager(), signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("the step manager on job-7-0 is gone", err)
        wait_until_gone(pids)
        self.assertEqual(self.job.run("true")[0], 0)

    def test_the_manager_ends_after_the_last_node(self):
        """As a member ends a job: the manager's SIGTERM comes before the last task ends, on another node."""
        process = self.job.start("-N2", "-n2", "-l", "sh", "-c", "echo $$; exec sleep 600")
        pids = [int(pid) for _, pid in sorted(process.stdout.readline().split(": ") for _ in range(2))]
        manager = self.job.manager()
        os.kill(manager, signal.SIGTERM)
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
            time.sleep(0.3)
        process.communicate(timeout=60)
        wait_until_gone([manager])

    def test_an_agent_without_tasks_may_leave(self):
        """A node whose tasks have ended has not failed when its agent ends, as it does when the job is stopped."""
        process = self.job.start("-N2", "-n2", "-l", "sh", "-c", "echo $$; exec sleep 600")
        first, second = [int(pid) for _, pid in sorted(process.stdout.readline().split(": ") for _ in range(2))]
        os.kill(second, signal.SIGTERM)
        self.job.agents[0].terminate()
        self.assertEqual(self.job.agents[0].wait(60), 0)
        time.sleep(0.2)
        os.kill(first, signal.SIGTERM)
        self.assertNotIn("Node failure", process.communicate(timeout=60)[1])

    def test_variables_that_a_tool_has_unset(self):
        """Snakemake starts srun with SLURM_JOB_ID alone."""
        unset = "unset SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_NNODES SLURM_JOB_CPUS_PER_NODE SLURM_NTASKS; "
        for words, lines in (("-n 4", 4), ("", 2)):
            done = subprocess.run(["bash", "-c", unset + f"srun {words} sh -c 'echo $SLURMD_NODENAME'; exit $?"], env=self.job.environment, timeout=60,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(sorted(done.stdout.splitlines()), ["job-7-0"] * (lines // 2) + ["job-7-1"] * (lines // 2))

    def test_an_agent_ends_by_sigterm(self):
        self.assertEqual(self.job.run("true")[0], 0)
        self.job.agents[0].terminate()
        self.assertEqual(self.job.agents[0].wait(60), 0)

    def test_rate(self):
        begun = time.monotonic()
        for _ in range(200):
            self.assertEqual(self.job.run("-N2", "-n2", "true")[0], 0)
        print(f"\n200 steps over two nodes in {time.monotonic() - begun:.2f} s", flush=True)


class Components(unittest.TestCase):
    def test_heterogeneous(self):
        job = FakeJob(nodes=2, cpus=2, SLURM_HET_SIZE="2", SLURM_JOB_NODELIST_HET_GROUP_0="job-7-0", SLURM_JOB_NODELIST_HET_GROUP_1="job-7-1",
                      SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0="2", SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1="2")
        self.addCleanup(job.close)
        job.agents[0].kill()
        job.agents[0].wait()
        job.environment["SLURMD_NODENAME"] = "job-7-1"
        import subprocess
        job.agents.append(subprocess.Popen([job.environment["MUSTER_STEP_AGENT"], "serve"], env=job.environment, stdin=subprocess.DEVNULL, start_new_session=True))
        job.environment["SLURMD_NODENAME"] = "job-7-0"
        status, out, err = job.run("-l", "-n1", "sh", "-c", "echo a $SLURMD_NODENAME", ":", "-n2", "sh", "-c", "echo b $SLURMD_NODENAME $SLURM_NTASKS")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), ["0: a job-7-0", "1: b job-7-1 3", "2: b job-7-1 3"])
        status, out, err = job.run("--het-group=1", "-n1", "sh", "-c", "echo $SLURMD_NODENAME")
        self.assertEqual((status, out, err), (0, "job-7-1\n", ""))
        status, out, err = job.run("--het-group=0-1", "-n1", "-l", "sh", "-c", "echo $SLURMD_NODENAME")
        self.assertEqual((status, sorted(out.splitlines()), err), (0, ["0: job-7-0", "1: job-7-1"], ""))
        self.assertEqual(job.run("--het-group=2", "true")[0], 1)
        # Each component has its own files; one that names none uses the first one's.
        self.assertEqual(job.run("-n1", "-o", "first", "echo", "a", ":", "-n2", "-o", "second-%t", "echo", "b"), (0, "", ""))
        self.assertEqual(job.run("-n1", "-o", "both", "echo", "a", ":", "echo", "b"), (0, "", ""))
        told = {}
        for name in ("first", "second-1", "second-2", "both"):
            with open(os.path.join(job.directory, name), encoding="utf-8") as file:
                told[name] = sorted(file.read().split())
        self.assertEqual(told, {"first": ["a"], "second-1": ["b"], "second-2": ["b"], "both": ["a", "b"]})


if __name__ == "__main__":
    unittest.main()
