"""Elastic jobs on a real daemon: processes come and go, none that stays is restarted, kill -9 loses and doubles nothing."""
import json
import os
import time
import unittest

from muster_server import QUEUES, Server, shell_job

JOBS = "/apis/batch/v1/namespaces/default/jobs"


class Elastic(unittest.TestCase):
    def setUp(self):
        self.server = Server(["--local-cluster", "east,cpu=32,memory=128Gi,nvidia.com/gpu=16"]).start()
        self.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        self.marker = os.path.join(self.server.dir, "starts")

    def tearDown(self):
        self.server.close()

    def manifest(self, parallelism, name="elastic", elastic="true"):
        job = shell_job(name, f"echo start >> {self.marker}; {self.server.gate('end')}", parallelism=parallelism,
                        requests={"cpu": "8"}, pod={"terminationGracePeriodSeconds": 1})
        job["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": elastic}
        return job

    def submit(self, manifest):
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", manifest)
        self.assertEqual(status, 201, job)
        return job["id"]

    def starts(self):
        try:
            with open(self.marker, encoding="utf-8") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0

    def pods(self, job_id):
        answer = self.server.get(f"/v1/jobs/{job_id}/pods")[1]
        return [pod["name"] for pod in answer.get("items", []) if pod["phase"] == "Running"]

    def wait_pods(self, job_id, count):
        self.server.wait(lambda: len(self.pods(job_id)) == count, what=f"{count} pods, were {self.pods(job_id)}")
        return set(self.pods(job_id))

    def used(self):
        return [quota["used"] for quota in self.server.get("/v1/quotas")[1]["items"] if quota["resource"] == "cpu"]

    def test_a_job_grows_by_apply_and_shrinks_by_put(self):
        job = self.submit(self.manifest(2))
        first = self.wait_pods(job, 2)
        said = self.server.run("muster", "apply", "-f", "-", stdin=json.dumps(self.manifest(4)))
        self.assertIn("configured", said)
        self.assertTrue(first < self.wait_pods(job, 4))
        self.server.wait(lambda: self.starts() == 4, what="four starts")
        self.assertEqual(self.server.job(job)["attempt"], 1)
        waiting = self.submit(self.manifest(2, name="waiting", elastic="false"))
        self.assertEqual(self.server.job(waiting)["state"], "Pending")
        def put_one_pod():
            """As clients do: read, change, write, and again if something else was written in between."""
            status, object = self.server.get(f"{JOBS}/elastic")
            self.assertEqual((status, object["spec"]["parallelism"], object["metadata"]["generation"]), (200, 4, 2))
            object["spec"]["parallelism"] = 1
            status, put = self.server.call("PUT", f"{JOBS}/elastic", object)
            return None if status == 409 else (status, put, object)
        status, put, object = self.server.wait(put_one_pod, what="the smaller size is taken")
        self.assertEqual((status, put["spec"]["parallelism"]), (200, 1), put)
        self.assertTrue(self.wait_pods(job, 1) < first, "the newest go first")
        self.server.wait_state(waiting, "Running")
        self.assertEqual(self.server.call("PUT", f"{JOBS}/elastic", object)[0], 409, "an old resourceVersion")
        self.server.open_gate("end")
        self.assertEqual(self.server.wait_state(job, "Succeeded", "Failed")["state"], "Succeeded")
        events = self.server.get(f"/v1/jobs/{job}/events")[1]["items"]
        replaced = [event for event in events if event["reason"] == "WorkloadSliceReplaced"]
        self.assertEqual(len(replaced), 1, events)
        self.assertIn("due to workload slice aggregation", replaced[0]["message"])

    def test_what_is_not_elastic_keeps_its_size(self):
        job = self.submit(self.manifest(1, elastic="false"))
        self.server.wait_state(job, "Running")
        refused = self.server.run("muster", "apply", "-f", "-", stdin=json.dumps(self.manifest(2, elastic="false")), check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("kueue.x-k8s.io/elastic-job", refused.stderr + refused.stdout)
        status, problem = self.server.call("PUT", f"{JOBS}/elastic", self.manifest(2, elastic="false"))
        self.assertIn(status, (400, 422), problem)
        self.assertIn("spec.parallelism", json.dumps(problem))
        self.assertEqual(len(self.wait_pods(job, 1)), 1)

    def test_a_slice_that_waits_survives_kills_and_grows_once(self):
        other = self.submit(self.manifest(1, name="other", elastic="false"))
        self.server.wait_state(other, "Running")
        job = self.submit(self.manifest(2))
        first = self.wait_pods(job, 2)
        self.server.call("PUT", f"{JOBS}/elastic", self.manifest(4))
        self.server.wait(lambda: "Waits to grow to 4 pods" in self.server.job(job)["message"], what="its reason")
        self.server.kill()
        self.server.start()
        self.assertEqual(len(self.pods(job)), 2)
        self.assertEqual(self.server.call("DELETE", f"/v1/jobs/{other}")[0], 202)
        self.server.kill()  # somewhere between the other's end and the growth
        self.server.start()
        self.assertTrue(first < self.wait_pods(job, 4))
        self.server.wait(lambda: self.starts() == 5, what="one start of the other, four of this one")
        self.assertEqual(self.server.job(job)["attempt"], 1)

    def test_kills_in_the_midst_of_resizing(self):
        job = self.submit(self.manifest(1))
        self.wait_pods(job, 1)
        self.server.wait(lambda: self.starts() == 1, what="its process")
        for turn, pods in enumerate((3, 1, 4, 2, 4)):
            before = self.server.get(f"{JOBS}/elastic")[1]["spec"]["parallelism"]
            started, kept = self.starts(), self.wait_pods(job, before)
            status, _ = self.server.call("PUT", f"{JOBS}/elastic", self.manifest(pods))
            self.assertEqual(status, 200)
            time.sleep(0.02 * turn)  # at another point each time; each is a point
            self.server.kill()
            self.server.start()
            now = self.wait_pods(job, pods)
            self.assertTrue(now <= kept or kept <= now, "what stays is not restarted")
            self.server.wait(lambda: self.starts() == started + max(0, pods - before), what="as many starts as pods that came")
            self.server.wait(lambda: self.used() == [str(8 * pods)], what=f"quota for {pods} pods, was {self.used()}")
        self.assertEqual(self.server.job(job)["attempt"], 1)
        self.server.open_gate("end")
        self.assertEqual(self.server.wait_state(job, "Succeeded", "Failed")["state"], "Succeeded")
        self.server.wait(lambda: self.used() == ["0"], what="nothing is held")

    def test_a_gated_job_starts_when_its_gate_is_taken_away(self):
        job = self.manifest(1, name="gated", elastic="false")
        job["metadata"]["annotations"]["kueue.x-k8s.io/admission-gated-by"] = "example.com/data"
        gated = self.submit(job)
        self.server.wait(lambda: self.server.job(gated)["reason"] == "AdmissionGated", what="its reason")
        self.assertEqual(self.server.job(gated)["message"], "Admission is gated by: example.com/data")
        del job["metadata"]["annotations"]["kueue.x-k8s.io/admission-gated-by"]
        self.assertIn("configured", self.server.run("muster", "apply", "-f", "-", stdin=json.dumps(job)))
        self.server.wait_state(gated, "Running")


if __name__ == "__main__":
    unittest.main()
