"""A daemon that does not lead answers reads from a copy that it marks as one, and never with an empty list; what changes anything it
sends to the leader, where its clients go only if they know that server."""
import http.client
import os
import shutil
import subprocess
import unittest

from muster_server import BIN, PATIENCE, QUEUES, Server, shell_job
from ports import free_port


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

    def ask(self, method, path):
        """(status, headers) of the standby itself: no redirect is followed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.standby.port, timeout=PATIENCE)
        connection.request(method, path, "{}" if method != "GET" else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders())

    def test_reads_come_from_a_marked_copy_and_the_rest_is_sent_to_the_leader(self):
        self.standby.wait(lambda: self.ask("GET", "/v1/jobs/1")[0] == 200, what="the copy has the job")
        for path in ("/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/explain", "/v1/jobs/1/events", "/v1/quotas", "/v1/accounting", "/v1/steps?job=1",
                     "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", "/apis/batch/v1/namespaces/default/jobs",
                     "/apis/kueue.x-k8s.io/v1beta1/workloads", "/api/v1/namespaces/default"):
            status, headers = self.ask("GET", path)
            self.assertEqual((status, headers.get("Muster-Leader")), (200, self.leader.url()), path)
            self.assertLess(float(headers["Muster-Copy-Age"]), PATIENCE, path)
        for method, path in (("GET", "/v1/jobs/1/logs"), ("GET", "/v1/jobs/1/pods"), ("GET", "/v1/jobs/1/member-events"), ("GET", "/v1/events?since=1"),
                             ("POST", "/v1/namespaces/default/jobs"), ("POST", "/v1/apply"), ("DELETE", "/v1/jobs/1"), ("POST", "/v1/jobs/1:hold"),
                             ("POST", "/v1/quotas"), ("POST", "/v1/memberclusters/east:drain"),
                             ("PUT", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main")):
            status, headers = self.ask(method, path)
            self.assertEqual((status, headers.get("Location")), (307, self.leader.url() + path), (method, path))
        for path, status in (("/livez", 200), ("/readyz", 503), ("/metrics", 200), ("/version", 200), ("/openapi.yaml", 200), ("/apis", 200)):
            self.assertEqual(self.standby.get(path)[0], status, path)

    def test_commands_that_know_only_the_standby_read_there_and_say_why_they_change_nothing(self):
        self.standby.wait(lambda: self.ask("GET", "/v1/jobs/1")[0] == 200, what="the copy has the job")
        for words in (["sacct"], ["scontrol", "show", "job", "1"], ["muster", "get", "jobs"], ["muster", "explain", "1"]):
            self.assertIn("there", self.standby.run(*words), words)
        for words in (["muster", "requeue", "1"], ["sbatch", "--wrap", "true"], ["muster", "delete", "jobs", "there"], ["muster", "logs", "1"]):
            done = self.standby.run(*words, check=False)
            self.assertNotEqual(done.returncode, 0, (words, done))
            self.assertIn("is not on the list of servers", done.stderr, words)
            self.assertIn(self.leader.url(), done.stderr, words)
        both = {"MUSTER_URL": f"{self.standby.url()},{self.leader.url()}"}
        self.assertIn("Submitted batch job", self.standby.run("sbatch", "--hold", "--wrap", "true", env=both))


if __name__ == "__main__":
    unittest.main()
