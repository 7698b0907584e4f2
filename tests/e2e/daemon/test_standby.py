"""A daemon that does not lead knows no jobs: it says so, and never answers with an empty list."""
import os
import shutil
import socket
import subprocess
import unittest

from muster_server import BIN, PATIENCE, QUEUES, Server, shell_job


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Standby(Server):
    """A second daemon on the leader's database: it waits for the lead."""

    def __init__(self, leader):
        super().__init__(["--local-cluster", "east,cpu=1,memory=1Gi"])
        self.url_of_database = f"postgresql://muster_owner@/muster?host={leader.dir}/postgres/socket"
        self.port, self.grpc_port = free_port(), free_port()

    def launch(self):
        with open(os.path.join(self.dir, "musterd.out"), "ab") as log:
            self.process = subprocess.Popen(
                [f"{BIN}/musterd", "--data-dir", self.dir, "--rest", f"127.0.0.1:{self.port}", "--grpc", f"127.0.0.1:{self.grpc_port}",
                 "--postgres", self.url_of_database, "--log-file", os.path.join(self.dir, "musterd.log"), *self.flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment())
        self.wait(lambda: self.get("/livez")[0] == 200, what="it answers")

    def close(self):
        try:
            self.stop()
        finally:
            if self.process.poll() is None:
                self.kill()
            shutil.rmtree(self.dir, ignore_errors=True)


class OneThatDoesNotLead(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.leader = Server().start()
        cls.leader.run("muster", "apply", "-f", "-", stdin=QUEUES)
        cls.leader.call("POST", "/v1/namespaces/default/jobs", shell_job("there", "true"))
        cls.standby = Standby(cls.leader)
        cls.standby.launch()

    @classmethod
    def tearDownClass(cls):
        cls.standby.close()
        cls.leader.close()

    def test_every_read_of_the_world_is_503_and_tells_who_leads(self):
        self.assertEqual(self.leader.get("/v1/jobs")[0], 200)
        for path in ("/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/explain", "/v1/jobs/1/logs", "/v1/jobs/1/events", "/v1/events", "/v1/quotas",
                     "/v1/accounting", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", "/apis/batch/v1/namespaces/default/jobs",
                     "/apis/kueue.x-k8s.io/v1beta1/workloads", "/api/v1/namespaces/default"):
            status, answer = self.standby.get(path)
            self.assertEqual(status, 503, (path, answer))
            self.assertIn("another daemon leads", str(answer), path)
        for path, status in (("/livez", 200), ("/readyz", 503), ("/metrics", 200), ("/version", 200), ("/openapi.yaml", 200), ("/apis", 200)):
            self.assertEqual(self.standby.get(path)[0], status, path)

    def test_every_command_asks_for_some_seconds_and_then_says_so(self):
        commands = [["squeue"], ["sinfo"], ["sacct"], ["scancel", "1"], ["scontrol", "show", "job", "1"], ["sbatch", "--wrap", "true"],
                    ["muster", "get", "jobs"], ["muster", "get", "clusterqueues"], ["muster", "explain", "1"], ["muster", "logs", "1"],
                    ["muster", "delete", "jobs", "there"], ["muster", "top", "--once"], ["muster", "quota", "get"],
                    ["muster", "cluster", "list"]]
        asked = [subprocess.Popen(words, env=self.standby.environment(), cwd=self.standby.dir, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for words in commands]
        for words, process in zip(commands, asked):
            out, err = process.communicate(timeout=PATIENCE)
            self.assertNotEqual(process.returncode, 0, (words, out, err))
            self.assertIn("another daemon leads", err, words)
            self.assertEqual(out, "", words)
            if not words[0].startswith("muster"):
                self.assertIn("Unable to contact slurm controller (connect failure)", err, words)


if __name__ == "__main__":
    unittest.main()
