"""The test bed keeps its promises: every job kind lives and ends on it, and every fault does what its name says."""

import datetime
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from bed_client import (HERE, JOBS, LWS, MERGE, PATIENCE, PODS, RAYCLUSTERS, RAYJOBS, SETS, TORCH, Bed, condition, job,
                        template)


class Kubebed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bed = Bed("--clusters", "1", "--nodes", "4", "--watch-cache=false")
        cls.addClassCleanup(bed.close)
        cls.bed, cls.member = bed.call, bed.member()

    def test_a_job_runs_its_pods_to_the_end(self):
        self.member.call("POST", JOBS, job("good", pods=3, run="1s"))
        done = self.member.wait(JOBS + "/good", lambda seen: condition(seen, "Complete"))
        self.assertEqual(done["status"]["succeeded"], 3)

    def test_a_failing_pod_tells_its_exit_code(self):
        self.member.call("POST", JOBS, job("bad", fail="100ms", exit_code="42"))
        self.member.wait(JOBS + "/bad", lambda seen: condition(seen, "Failed"))
        pods = self.member.call("GET", PODS + "?labelSelector=job-name%3Dbad")["items"]
        self.assertEqual([p["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] for p in pods], [42])

    def test_a_jobset_created_suspended_runs_once_it_is_resumed(self):
        self.member.call("POST", SETS, {
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set"},
            "spec": {"suspend": True, "replicatedJobs": [
                {"name": "a", "replicas": 2, "template": {"spec": job("x", run="500ms")["spec"]}}]}})
        self.member.wait(SETS + "/set", lambda seen: condition(seen, "Suspended"))
        self.member.call("PATCH", SETS + "/set", {"spec": {"suspend": False}}, kind=MERGE)
        self.member.wait(SETS + "/set", lambda seen: condition(seen, "Completed"))

    def test_a_pytorchjob_succeeds_and_a_wrong_one_is_refused(self):
        def torch(name, policy):
            return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
                    "spec": {"pytorchReplicaSpecs": {
                        role: {"replicas": 1, "restartPolicy": policy, "template": {
                            **template(run="500ms"), "spec": {"containers": [{"name": "pytorch", "image": "none"}]}}}
                        for role in ("Master", "Worker")}}}
        self.member.call("POST", TORCH, torch("torch", "Never"))
        self.member.wait(TORCH + "/torch", lambda seen: condition(seen, "Succeeded"))
        self.assertIn(self.member.status_of("POST", TORCH, torch("Capital", "Never")), (403, 422))

    def test_a_leaderworkerset_is_available_and_scales(self):
        self.member.call("POST", LWS, {
            "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "serve"},
            "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": template("Always")}}})
        self.member.wait(LWS + "/serve", lambda seen: condition(seen, "Available")
                         and seen["status"]["readyReplicas"] == 2)
        selector = PODS + "?labelSelector=leaderworkerset.sigs.k8s.io%2Fname%3Dserve"
        names = sorted(pod["metadata"]["name"] for pod in self.member.call("GET", selector)["items"])
        self.assertEqual(names, ["serve-0", "serve-0-1", "serve-0-2", "serve-1", "serve-1-1", "serve-1-2"])
        self.member.call("PATCH", LWS + "/serve", {"spec": {"replicas": 1}}, kind=MERGE)
        self.member.wait(selector, lambda seen: len(seen["items"]) == 3)
        self.member.call("DELETE", LWS + "/serve")
        self.member.wait(selector, lambda seen: not seen["items"])

    def ray_job(self, name, **life):
        return {"apiVersion": "ray.io/v1", "kind": "RayJob",
                "metadata": {"name": name, "annotations": {"bed.test/" + k.replace("_", "-"): v for k, v in life.items()}},
                "spec": {"suspend": True, "shutdownAfterJobFinishes": True, "entrypoint": "python x.py",
                         "submitterConfig": {"backoffLimit": 0},
                         "rayClusterSpec": {"headGroupSpec": {"template": template("Always")}, "workerGroupSpecs": [
                             {"groupName": "small", "replicas": 2, "template": template("Always")}]}}}

    def test_a_rayjob_waits_while_suspended_then_succeeds_and_takes_its_cluster_down(self):
        self.member.call("POST", RAYJOBS, self.ray_job("ray", run="1s"))
        self.member.wait(RAYJOBS + "/ray", lambda seen: seen.get("status", {}).get("jobDeploymentStatus") == "Suspended")
        self.member.call("PATCH", RAYJOBS + "/ray", {"spec": {"suspend": False}}, kind=MERGE)
        done = self.member.wait(RAYJOBS + "/ray", lambda seen: seen["status"].get("jobDeploymentStatus") == "Complete")
        self.assertEqual(done["status"]["jobStatus"], "SUCCEEDED")
        self.member.wait(RAYCLUSTERS, lambda seen: not seen["items"])

    def test_a_rayjob_whose_submitter_fails_is_failed(self):
        wrong = self.ray_job("ray-bad", fail="100ms")
        wrong["spec"]["suspend"] = False
        self.member.call("POST", RAYJOBS, wrong)
        done = self.member.wait(RAYJOBS + "/ray-bad",
                                lambda seen: seen.get("status", {}).get("jobDeploymentStatus") == "Failed")
        self.assertEqual(done["status"]["jobStatus"], "FAILED")

    def test_the_garbage_collector_knows_every_kind_from_its_first_look(self):
        started = os.path.getmtime(os.path.join(self.member.folder, "controller-manager.pid"))
        kinds = self.member.call("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
        self.assertEqual(len(kinds), 5)
        for kind in kinds:
            self.assertTrue(condition(kind, "Established"))
            made = datetime.datetime.fromisoformat(kind["metadata"]["creationTimestamp"]).timestamp()
            self.assertLessEqual(made, started, kind["metadata"]["name"])

    def test_a_foreground_deletion_takes_the_pods_first(self):
        self.member.call("POST", SETS, {
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "leaves"},
            "spec": {"replicatedJobs": [{"name": "a", "replicas": 1, "template": {"spec": job("x")["spec"]}}]}})
        pods = PODS + "?labelSelector=jobset.sigs.k8s.io%2Fjobset-name%3Dleaves"
        self.member.wait(pods, lambda seen: len(seen["items"]) == 1)
        self.member.call("DELETE", SETS + "/leaves", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"})
        self.member.wait(SETS, lambda seen: "leaves" not in [each["metadata"]["name"] for each in seen["items"]])
        self.assertEqual(self.member.call("GET", pods)["items"], [])

    def test_the_crds_refuse_a_wrong_field_type(self):
        self.assertEqual(self.member.status_of("POST", LWS, {
            "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "wrong"},
            "spec": {"replicas": "two", "leaderWorkerTemplate": {"workerTemplate": template("Always")}}}), 422)

    def test_logs_are_read_and_followed_to_the_end(self):
        self.member.call("POST", JOBS, job("talks", run="2s", log="one\ntwo"))
        pods = self.member.wait(PODS + "?labelSelector=job-name%3Dtalks", lambda seen: seen["items"]
                                and seen["items"][0]["status"].get("phase") == "Running")["items"]
        with self.member.open("GET", "%s/%s/log?follow=true" % (PODS, pods[0]["metadata"]["name"])) as stream:
            self.assertEqual(stream.read().decode().split(), ["one", "two"])
        self.member.wait(JOBS + "/talks", lambda seen: condition(seen, "Complete"))

    def test_a_token_without_rights_is_forbidden_and_a_wrong_one_unknown(self):
        self.assertEqual(self.member.status_of("GET", JOBS, token=self.member.token("muster")), 403)
        self.assertEqual(self.member.status_of("GET", JOBS, token="wrong"), 401)

    def test_faults_z_a_compaction_ends_the_watches_of_the_past(self):
        old = self.member.call("GET", JOBS)["metadata"]["resourceVersion"]
        self.member.call("POST", JOBS, job("after", run="100ms"))
        self.member.wait(JOBS + "/after", lambda seen: condition(seen, "Complete"))
        self.bed("compact")
        with self.member.open("GET", JOBS + "?watch=true&timeoutSeconds=5&resourceVersion=" + old) as stream:
            first = json.loads(stream.readline())
        self.assertEqual((first["type"], first["object"]["code"]), ("ERROR", 410))

    def test_faults_z_a_paused_apiserver_answers_once_it_is_resumed(self):
        answers = []
        self.bed("pause", "apiserver")
        asks = threading.Thread(target=lambda: answers.append(self.member.status_of("GET", JOBS, timeout=PATIENCE)))
        asks.start()
        asks.join(1)
        self.assertEqual(answers, [])
        self.bed("resume", "apiserver")
        asks.join()
        self.assertEqual(answers, [200])

    def test_faults_z_killed_servers_come_back_with_their_objects(self):
        self.member.call("POST", JOBS, {**job("kept"), "spec": {**job("kept")["spec"], "suspend": True}})
        self.bed("kill", "apiserver", "etcd")
        self.bed("start", "etcd", "apiserver")
        self.assertTrue(self.member.call("GET", JOBS + "/kept")["spec"]["suspend"])

    def test_faults_z_a_rotation_ends_the_old_token(self):
        before = self.member.token("admin")
        self.assertEqual(self.member.status_of("GET", JOBS, token=before), 200)
        self.bed("rotate")
        self.assertEqual(self.member.status_of("GET", JOBS, token=before), 401)
        self.assertEqual(self.member.status_of("GET", JOBS, token=self.member.token("admin")), 200)

    def test_faults_z_a_restore_goes_back_and_a_wipe_loses_all(self):
        self.bed("snapshot")
        self.member.call("POST", JOBS, {**job("late"), "spec": {**job("late")["spec"], "suspend": True}})
        self.bed("restore")
        self.assertEqual(self.member.status_of("GET", JOBS + "/late"), 404)
        self.member.call("POST", JOBS, job("restored", run="100ms"))
        self.member.wait(JOBS + "/restored", lambda seen: condition(seen, "Complete"))
        uid = self.member.call("GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]
        self.bed("wipe")
        self.assertNotEqual(self.member.call("GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"], uid)
        self.member.call("POST", JOBS, job("anew", run="100ms"))
        self.member.wait(JOBS + "/anew", lambda seen: condition(seen, "Complete"))

    def test_a_server_that_does_not_exist_is_named(self):
        with self.assertRaisesRegex(AssertionError, 'no server is named "kubelet"'):
            self.bed("kill", "kubelet")


class Owner(unittest.TestCase):
    def test_the_clusters_end_with_the_process_that_owns_them(self):
        program = subprocess.run([os.path.join(HERE, "build.sh")], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout.strip()
        folder = tempfile.mkdtemp(prefix="kubebed-")
        self.addCleanup(shutil.rmtree, folder, True)
        owner = subprocess.Popen(["sleep", "600"])
        try:
            subprocess.run([program, "up", "--dir", folder, "--nodes", "1", "--operators=false", "--owner-pid",
                            str(owner.pid)], check=True, stdout=subprocess.DEVNULL)
        finally:
            owner.kill()
            owner.wait()
        deadline = time.monotonic() + PATIENCE
        while os.path.exists(os.path.join(folder, "member-1")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()
