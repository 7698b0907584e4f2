"""What the commands show of a fleet with one running job: sinfo, scontrol show, muster top and describe."""
import unittest

from muster_server import QUEUES, Server, shell_job


class Views(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--local-cluster", "big,cpu=64,memory=128Gi,nvidia.com/gpu=8",
                             "--local-cluster", "small,cpu=4,memory=8Gi"]).start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        busy = shell_job("busy", cls.server.gate("end"), requests={"cpu": "6", "memory": "2Gi", "nvidia.com/gpu": "2"})
        _, job = cls.server.call("POST", "/v1/namespaces/default/jobs", busy)
        cls.job_id = job["id"]
        cls.server.wait_state(cls.job_id, "Running")  # on big: only it has GPUs

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def words(self, *command):
        """The words of each line that is not empty."""
        return [line.split() for line in self.server.run(*command).splitlines() if line.strip()]

    def refused(self, status, *command):
        result = self.server.run(*command, check=False)
        self.assertEqual(result.returncode, status, result)
        return result.stdout + result.stderr

    def test_sinfo_shows_partitions_and_the_state_of_their_nodes(self):
        self.assertEqual(self.words("sinfo"), [
            ["PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE", "NODELIST"],
            ["default*", "up", "infinite", "1", "mix", "big"],
            ["default*", "up", "infinite", "1", "idle", "small"]])
        self.assertEqual(self.words("sinfo", "-h", "-s"), [["default*", "up", "infinite", "1/1/0/2", "big,small"]])
        self.assertEqual(self.server.run("sinfo", "-h", "-o", "%P|%D|%t|%N|%C|%G"),
                         "default*|1|mix|big|6/58/0/64|gpu:8\ndefault*|1|idle|small|0/4/0/4|(null)\n")
        self.assertEqual([line[:6] for line in self.words("sinfo", "-h", "-N", "-l")],
                         [["big", "1", "default*", "mixed", "64", "1:64:1"], ["small", "1", "default*", "idle", "4", "1:4:1"]])

    def test_scontrol_shows_nodes(self):
        for name, lines in (("big", ("CPUAlloc=6 CPUEfctv=64 CPUTot=64 CPULoad=N/A", "Gres=gpu:8",
                                     "RealMemory=131072 AllocMem=2048 FreeMem=129024 Sockets=1 Boards=1",
                                     "State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A", "Partitions=default")),
                            ("small", ("CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=N/A", "Gres=(null)",
                                       "RealMemory=8192 AllocMem=0 FreeMem=8192 Sockets=1 Boards=1",
                                       "State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A", "Partitions=default"))):
            shown = self.server.run("scontrol", "show", "node", name)
            self.assertTrue(shown.startswith(f"NodeName={name} Arch="), shown)
            for line in lines:
                self.assertIn(f"\n   {line}\n", shown)
        both = self.server.run("scontrol", "show", "node")
        self.assertEqual([line.split()[0] for line in both.splitlines() if line.startswith("NodeName=")], ["NodeName=big", "NodeName=small"])
        self.assertEqual(self.refused(1, "scontrol", "show", "node", "nope"), "Node nope not found\n")

    def test_scontrol_shows_a_partition_and_the_configuration(self):
        shown = self.server.run("scontrol", "show", "partition", "default")
        self.assertTrue(shown.startswith("PartitionName=default\n"), shown)
        for line in ("AllowGroups=ALL AllowAccounts=main AllowQos=ALL", "AllocNodes=ALL Default=YES QoS=N/A", "Nodes=big,small",
                     "State=UP TotalCPUs=68 TotalNodes=2 SelectTypeParameters=NONE"):
            self.assertIn(f"\n   {line}\n", shown)
        self.assertEqual(self.refused(1, "scontrol", "show", "partition", "nope"), "Partition nope not found\n")
        config = self.words("scontrol", "show", "config")
        self.assertEqual(config[0][:4], ["Configuration", "data", "as", "of"])
        self.assertIn(["ClusterName", "=", "muster"], config)
        self.assertIn(["MaxArraySize", "=", "1001"], config)
        self.assertIn(["MinJobAge", "=", "300", "sec"], config)

    def test_top_shows_what_is_used_of_members_and_queues(self):
        screen = self.words("muster", "top")
        for line in (["big", "cpu", "6/64", "(9%)"], ["big", "memory", "2Gi/128Gi", "(1%)"],
                     ["big", "nvidia.com/gpu", "2/8", "(25%)"], ["small", "cpu", "0/4", "(0%)"],
                     ["main", "0", "1", "standard:cpu=6/32", "standard:memory=2Gi/128Gi", "standard:nvidia.com/gpu=2/16"]):
            self.assertIn(line, screen)

    def test_describe_tells_a_jobs_values_conditions_and_events(self):
        shown = self.words("muster", "describe", "jobs", str(self.job_id))
        for line in (["name:", "busy"], ["kind:", "Job"], ["clusterQueue:", "main"], ["state:", "Running"], ["cluster:", "big"],
                     ["attempt:", "1"], ["memory:", "2Gi"], ["nvidia.com/gpu:", '"2"']):
            self.assertIn(line, shown)
        self.assertEqual([line[:2] for line in shown if line[0] in ("QuotaReserved", "Admitted", "PodsReady")],
                         [["QuotaReserved", "True"], ["Admitted", "True"], ["PodsReady", "True"]])
        events = [line[1] for line in shown if len(line) > 1 and line[1].startswith("Job") and line[0].endswith("Z")]
        self.assertEqual(events[:3], ["JobAccepted", "JobAdmitted", "JobStarted"])

    def test_describe_prints_an_object_and_refuses_what_is_not_there(self):
        shown = self.server.run("muster", "describe", "cq", "main")
        for line in ("kind: ClusterQueue\n", "\n  name: main\n", "nominalQuota: 128Gi\n", "\n  admittedWorkloads: 1\n",
                     "message: Can admit new workloads\n"):
            self.assertIn(line, shown)
        self.assertIn('ClusterQueue "nope" not found', self.refused(1, "muster", "describe", "cq", "nope"))
        self.assertIn('unknown kind "widgets"', self.refused(2, "muster", "describe", "widgets", "x"))

    def test_a_cordoned_member_is_drained(self):
        self.server.run("muster", "cluster", "cordon", "small")
        self.addCleanup(self.server.run, "muster", "cluster", "uncordon", "small")
        self.assertIn(["default*", "up", "infinite", "1", "drain", "small"], self.words("sinfo"))
        self.assertIn("State=DRAINED", self.server.run("scontrol", "show", "node", "small"))
        self.server.run("muster", "cluster", "uncordon", "small")
        self.assertIn(["default*", "up", "infinite", "1", "idle", "small"], self.words("sinfo"))


if __name__ == "__main__":
    unittest.main()
