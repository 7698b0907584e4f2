"""The documents the product was conceived from: their manifests, as they stand, run."""
import json
import unittest

from muster_server import QUEUES, Server, example, shell_job


class Guide(unittest.TestCase):
    def setUp(self):
        self.server = Server().start()

    def tearDown(self):
        self.server.close()

    def apply(self, name):
        return self.server.run("muster", "apply", "-f", example("mission", name))

    def job_named(self, name):
        jobs = [job for job in self.server.jobs() if job["name"] == name]
        self.assertEqual(len(jobs), 1, name)
        return jobs[0]

    def phases(self, job_id):
        return [pod["phase"] for pod in self.server.get(f"/v1/jobs/{job_id}/pods")[1]["items"]]

    def test_the_guides_two_jobs_run_and_print_what_they_say(self):
        self.apply("guide-queues.yaml")
        self.apply("guide-jobs.yaml")
        for name, last in (("mock-workload", "Processing completed successfully!"), ("model-evaluation", "Evaluation completed successfully!")):
            job = self.job_named(name)
            ended = self.server.wait_state(job["id"], "Succeeded", "Failed")
            self.assertEqual(ended["state"], "Succeeded", ended)
            self.assertIn(last, self.server.run("muster", "logs", str(job["id"])))
        again = self.apply("guide-queues.yaml").splitlines()
        self.assertEqual([line for line in again if not line.endswith(" unchanged")], [])

    def test_the_gang_of_sixteen_waits_whole_at_fifteen_and_starts_whole_at_sixteen(self):
        self.apply("gang-queues.yaml")
        blocker = shell_job("blocker", "sleep 600", requests={"nvidia.com/gpu": "1"})
        blocker["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research"}
        status, job = self.server.call("POST", "/v1/namespaces/team-research/jobs", blocker)
        self.assertEqual(status, 201, job)
        self.server.wait_state(job["id"], "Running")
        # Its image has no command here: a stand-in holds each container's place until it is cancelled.
        self.apply("gang-train-llm.yaml")
        gang = self.job_named("train-llm")
        waiting = self.server.wait(lambda: (j := self.server.job(gang["id"]))["state"] == "Pending" and j["message"] and j, what="a reason")
        self.assertIn("nvidia.com/gpu", waiting["message"])
        self.assertEqual(self.server.get(f"/v1/jobs/{gang['id']}/pods")[1]["items"], [])
        explained = self.server.get(f"/v1/jobs/{gang['id']}/explain")[1]
        self.assertIn("nvidia.com/gpu", json.dumps(explained))
        self.server.call("DELETE", f"/v1/jobs/{job['id']}")
        self.server.wait_state(gang["id"], "Running")
        # It is said to run when its pods have been started, a moment before the last of them says so itself.
        self.server.wait(lambda: self.phases(gang["id"]) == ["Running"] * 16, what="sixteen running pods")

    def test_the_newsletters_job_and_workload(self):
        with open(example("mission", "newsletter-job.yaml"), encoding="utf-8") as file:
            status, problem = self.server.call("POST", "/v1/namespaces/default/jobs", file.read(), "application/yaml")
        self.assertEqual(status, 400, problem)
        self.assertIn("queue", problem["detail"])
        queues = QUEUES.replace("name: main}", "name: gpu-cluster-queue}").replace("name: default, namespace", "name: gpu-workload-queue, namespace")
        self.server.run("muster", "apply", "-f", "-", stdin=queues.replace("clusterQueue: main", "clusterQueue: gpu-cluster-queue"))
        self.apply("newsletter-workload.yaml")
        job = self.job_named("gpu-intensive-job")
        self.assertEqual(job["clusterQueue"], "gpu-cluster-queue")
        # Its program is not on this host: the pods start, fail with 2, and are tried again (OnFailure) until it is cancelled.
        self.server.wait(lambda: self.server.job(job["id"])["state"] in ("Running", "Failed"), what="it starts")


if __name__ == "__main__":
    unittest.main()
