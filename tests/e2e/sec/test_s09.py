"""S09: what no tenant may write into a manifest, in every pod template of every kind: none is accepted."""
import copy
import json
import unittest

from muster_server import QUEUES, Server

MERGE = "application/merge-patch+json"
NAMESPACE = "/api/v1/namespaces/default"
QUEUE = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main"


def template(name="main", restart="Never"):
    spec = {"containers": [{"name": name, "image": "debian:12", "command": ["/bin/true"], "resources": {"requests": {"cpu": "100m"}}}]}
    return {"spec": {**({"restartPolicy": restart} if restart else {}), **spec}}


def ray_cluster():
    group = {"groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "rayStartParams": {}, "template": template(restart=None)}
    return {"rayVersion": "2.40.0", "headGroupSpec": {"rayStartParams": {}, "template": template(restart=None)}, "workerGroupSpecs": [group]}


# By kind: group and version, plural, spec, and the paths of its templates.
KINDS = {
    "Job": ("batch/v1", "jobs", {"template": template()}, [("template",)]),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", "jobsets",
               {"replicatedJobs": [{"name": name, "template": {"spec": {"template": template()}}} for name in ("a", "b")]},
               [("replicatedJobs", at, "template", "spec", "template") for at in (0, 1)]),
    "PyTorchJob": ("kubeflow.org/v1", "pytorchjobs",
                   {"pytorchReplicaSpecs": {role: {"replicas": 1, "restartPolicy": "OnFailure", "template": template("pytorch", None)}
                                            for role in ("Master", "Worker")}},
                   [("pytorchReplicaSpecs", role, "template") for role in ("Master", "Worker")]),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", "leaderworkersets",
                        {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "leaderTemplate": template(restart=None),
                                                                 "workerTemplate": template(restart=None)}},
                        [("leaderWorkerTemplate", one) for one in ("leaderTemplate", "workerTemplate")]),
    "RayCluster": ("ray.io/v1", "rayclusters", ray_cluster(),
                   [("headGroupSpec", "template"), ("workerGroupSpecs", 0, "template")]),
    "RayJob": ("ray.io/v1", "rayjobs",
               {"entrypoint": "true", "shutdownAfterJobFinishes": True, "rayClusterSpec": ray_cluster(), "submitterPodTemplate": template()},
               [("rayClusterSpec", "headGroupSpec", "template"), ("rayClusterSpec", "workerGroupSpecs", 0, "template"),
                ("submitterPodTemplate",)]),
    "Workload": ("kueue.x-k8s.io/v1beta1", "workloads",
                 {"queueName": "default", "podSets": [{"name": name, "count": 1, "template": template()} for name in ("a", "b")]},
                 [("podSets", at, "template") for at in (0, 1)]),
}

POD = [{"hostNetwork": True}, {"hostPID": True}, {"hostIPC": True}, {"volumes": [{"name": "v", "hostPath": {"path": "/etc"}}]},
       {"securityContext": {"windowsOptions": {"hostProcess": True}}}, {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
       {"securityContext": {"sysctls": [{"name": "kernel.shmmax", "value": "1"}]}}, {"securityContext": {"seLinuxOptions": {"role": "r"}}},
       {"serviceAccountName": "admin"}, {"serviceAccount": "admin"}, {"nodeName": "node-1"}, {"schedulerName": "mine"}]
CONTAINER = [{"securityContext": {"privileged": True}}, {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}},
             {"securityContext": {"procMount": "Unmasked"}}, {"ports": [{"containerPort": 80, "hostPort": 80}]},
             {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
             {"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 80}}}]
METADATA = [{"namespace": "kube-system"}, {"labels": {"muster.io/job-uid": "x"}}, {"labels": {"muster.io/instance": "x"}},
            {"annotations": {"muster.io/released": "true"}}, {"labels": {"kueue.x-k8s.io/multikueue-origin": "x"}}]


def manifest(kind, name="j"):
    version, _, spec, _ = KINDS[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": copy.deepcopy(spec)}


def at_template(body, path):
    value = body["spec"]
    for key in path:
        value = value[key]
    return value


def variants():
    """(kind, what is wrong, the manifest)."""
    for kind, (_, _, _, places) in KINDS.items():
        for place in places:
            for pod in POD:
                body = manifest(kind)
                at_template(body, place)["spec"].update(pod)
                yield kind, f"{place} {pod}", body
            for bad in CONTAINER:
                body = manifest(kind)
                at_template(body, place)["spec"]["containers"][0].update(bad)
                yield kind, f"{place} {bad}", body
                body = manifest(kind)
                at_template(body, place)["spec"]["initContainers"] = [{"name": "first", "image": "debian:12", **bad}]
                yield kind, f"{place} init {bad}", body
            for metadata in METADATA:
                body = manifest(kind)
                at_template(body, place)["metadata"] = metadata
                yield kind, f"{place} {metadata}", body
        for reserved in ({"labels": {"muster.io/attempt": "1"}}, {"annotations": {"muster.io/dispatch-sequence": "1"}}):
            body = manifest(kind)
            body["metadata"].update(reserved)
            yield kind, f"{reserved}", body


class S09(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def kube_path(self, kind, dry_run=True):
        version, plural, _, _ = KINDS[kind]
        return f"/apis/{version}/namespaces/default/{plural}" + ("?dryRun=All" if dry_run else "")

    def set(self, path, metadata):
        status, answer = self.server.call("PATCH", path, {"metadata": metadata}, MERGE)
        self.assertEqual(status, 200, answer)
        return answer

    def test_every_kind_is_accepted_as_it_should_be(self):
        for kind in KINDS:
            status, answer = self.server.call("POST", self.kube_path(kind), manifest(kind))
            self.assertEqual(status, 201, f"{kind}: {answer}")

    def test_no_variant_is_accepted(self):
        before = len(self.server.jobs())
        tried, accepted = 0, []
        for kind, what, body in variants():
            for path in ("/v1/namespaces/default/jobs", self.kube_path(kind, dry_run=tried % 2 == 0)):
                tried += 1
                status, answer = self.server.call("POST", path, body)
                if status in (200, 201):
                    accepted.append((kind, what, path))
                else:
                    self.assertIn(status, (400, 403), f"{kind} {what}: {answer}")
        # Together, as documents of one file: none takes effect.
        status, answer = self.server.call("POST", "/v1/apply", [body for _, _, body in variants()][:100])
        self.assertNotIn(status, (200, 201), answer)
        self.assertEqual(len(self.server.jobs()), before)
        print(f"S09: {tried} variants of manifests, {len(accepted)} accepted")
        self.assertGreaterEqual(tried, 200)
        self.assertEqual(accepted, [])

    def test_another_namespace_is_refused(self):
        for kind in KINDS:
            body = manifest(kind)
            body["metadata"]["namespace"] = "kube-system"
            for path in ("/v1/namespaces/default/jobs", self.kube_path(kind)):
                status, answer = self.server.call("POST", path, body)
                self.assertIn(status, (400, 403, 404), f"{kind}: {answer}")

    def test_the_namespace_and_the_queue_say_the_level_and_the_stricter_counts(self):
        host = manifest("Job")
        host["spec"]["template"]["spec"]["hostNetwork"] = True
        plain = manifest("Job")
        label, annotation = "pod-security.kubernetes.io/enforce", "muster.io/pod-security"

        def statuses():
            return [self.server.call("POST", self.kube_path("Job"), one)[0] for one in (plain, host)]
        try:
            self.assertEqual(statuses(), [201, 403])
            self.set(NAMESPACE, {"labels": {label: "privileged"}})
            self.assertEqual(statuses(), [201, 201])
            self.set(QUEUE, {"annotations": {annotation: "restricted"}})
            self.assertEqual(statuses(), [403, 403])
            self.set(QUEUE, {"annotations": {annotation: "baseline"}})
            self.assertEqual(statuses(), [201, 403])
            self.set(NAMESPACE, {"labels": {label: None}})
            self.set(QUEUE, {"annotations": {annotation: "privileged"}})
            self.assertEqual(statuses(), [201, 201])
            status, answer = self.server.call("PATCH", NAMESPACE, {"metadata": {"labels": {label: "strict"}}}, MERGE)
            self.assertEqual(status // 100, 4, answer)
        finally:
            self.set(NAMESPACE, {"labels": {label: None}})
            self.set(QUEUE, {"annotations": {annotation: None}})

    def test_service_accounts_are_those_that_the_namespace_lists(self):
        body = manifest("Job")
        body["spec"]["template"]["spec"]["serviceAccountName"] = "ml"
        self.assertEqual(self.server.call("POST", self.kube_path("Job"), body)[0], 403)
        self.set(NAMESPACE, {"annotations": {"muster.io/service-accounts": "ml,train"}})
        try:
            status, answer = self.server.call("POST", self.kube_path("Job"), body)
            self.assertEqual(status, 201, json.dumps(answer))
        finally:
            self.set(NAMESPACE, {"annotations": {"muster.io/service-accounts": None}})

    def test_a_script_passes_the_strictest_level_for_its_own_parts(self):
        self.set(NAMESPACE, {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}})
        try:
            status, answer = self.server.call("POST", "/v1/namespaces/default/jobs", {"script": "#!/bin/sh\ntrue\n"})
            self.assertEqual(status, 201, answer)
        finally:
            self.set(NAMESPACE, {"labels": {"pod-security.kubernetes.io/enforce": None}})


if __name__ == "__main__":
    unittest.main()
