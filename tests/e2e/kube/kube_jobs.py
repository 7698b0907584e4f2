"""Manifests of every kind for simulated pods: bed.test annotations say how long they live and how they end."""
from bed_client import job, template


def job_set(name, replicas=2, **life):
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
            "spec": {"replicatedJobs": [{"name": "work", "replicas": replicas, "template": {"spec": job("", **life)["spec"]}}]}}


def torch(name, workers=1, **life):
    def role(replicas):
        pod = template(**life)
        pod["spec"]["containers"][0]["name"] = "pytorch"
        del pod["spec"]["restartPolicy"]
        return {"replicas": replicas, "restartPolicy": "Never", "template": pod}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
            "spec": {"runPolicy": {"backoffLimit": 0}, "pytorchReplicaSpecs": {"Master": role(1), "Worker": role(workers)}}}


def ray_spec(workers=1):
    return {"headGroupSpec": {"rayStartParams": {}, "template": template("Always")}, "workerGroupSpecs": [
        {"groupName": "small", "replicas": workers, "minReplicas": workers, "maxReplicas": workers, "rayStartParams": {},
         "template": template("Always")}]}


def ray_job(name, **life):
    return {"apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"name": name, "annotations": template(**life)["metadata"]["annotations"]},
            "spec": {"shutdownAfterJobFinishes": True, "entrypoint": "python train.py", "submitterConfig": {"backoffLimit": 0},
                     "rayClusterSpec": ray_spec()}}


def ray_cluster(name):
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}, "spec": ray_spec()}


def leader_worker_set(name, groups=1, size=2):
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": name},
            "spec": {"replicas": groups, "leaderWorkerTemplate": {"size": size, "workerTemplate": template("Always")}}}


def workload(name, pod_sets, **life):
    """A bare Workload; pod_sets: counts by name."""
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": name},
            "spec": {"queueName": "default", "podSets": [
                {"name": each, "count": count, "template": template(**life)} for each, count in pod_sets.items()]}}


def at(manifest, key, value):
    """The same with a label or annotation: keys of the form label:KEY and annotation:KEY."""
    where, _, name = key.partition(":")
    manifest["metadata"].setdefault(where + "s", {})[name] = value
    return manifest


ENDLESS = {}  # the life of pods that run until they are deleted

__all__ = ["ENDLESS", "at", "job", "job_set", "leader_worker_set", "ray_cluster", "ray_job", "template", "torch", "workload"]
