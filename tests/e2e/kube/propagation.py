"""Configuration objects on their way to members: placements made by a test, what they tell, what the members then have."""
import urllib.error

from bed_client import MERGE

KUEUE = "/apis/kueue.x-k8s.io/v1beta1"
NAMESPACES = "/api/v1/namespaces"


class Propagation:
    """A fleet whose placements carry objects."""

    def __init__(self, started):
        self.fleet, self.server, self.members = started, started.server, started.members

    def apply(self, *manifests):
        """Through the hub's own paths, made or changed; the answers."""
        answers = []
        for manifest in manifests:
            path = path_of(manifest)
            status, seen = self.server.get(f"{path}/{manifest['metadata']['name']}")
            if status == 200:
                manifest = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": seen["metadata"]["resourceVersion"]}}
                status, seen = self.server.call("PUT", f"{path}/{manifest['metadata']['name']}", manifest)
            else:
                status, seen = self.server.call("POST", path, manifest)
            assert status in (200, 201), (manifest, seen)
            answers.append(seen)
        return answers

    def delete(self, manifest):
        status, seen = self.server.call("DELETE", f"{path_of(manifest)}/{manifest['metadata']['name']}")
        assert status in (200, 202), seen

    def status(self, manifest):
        answer, seen = self.server.get(f"{path_of(manifest)}/{manifest['metadata']['name']}")
        assert answer == 200, seen
        return seen.get("status", {})

    def conditions(self, manifest, cluster=None):
        """[(type, status, reason)] in order, without the kind before the types; of one member, if named."""
        seen = self.status(manifest) if cluster is None else self.of_cluster(manifest, cluster)
        return [(each["type"].removeprefix(manifest["kind"]), each["status"], each["reason"]) for each in seen.get("conditions", [])]

    def of_cluster(self, manifest, cluster):
        found = [each for each in self.status(manifest).get("placementStatuses", []) if each.get("clusterName") == cluster]
        return found[0] if found else {}

    def wait_condition(self, manifest, kind, status="True", reason=None, cluster=None):
        def holds():
            return [each for each in self.conditions(manifest, cluster) if each[:2] == (kind, status) and reason in (None, each[2])]
        try:
            self.server.wait(holds, what="")
        except AssertionError as error:
            raise AssertionError(f"{kind} {status} {reason or ''} of {cluster or 'all'} does not come: {self.status(manifest)}") from error

    def on(self, member, path):
        """The object on a member; None if it is not there."""
        try:
            return self.members[member].call("GET", path)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None

    def wait_on(self, path, holds=lambda seen: True, members=None):
        """Waits until the object is there, and so, on all of the members; the objects by member."""
        for name in members or self.members:
            self.server.wait(lambda name=name: (seen := self.on(name, path)) and holds(seen),
                             what=f"{path} on {name}, was {self.on(name, path)}")
        return {name: self.on(name, path) for name in members or self.members}

    def wait_off(self, path, members=None):
        for name in members or self.members:
            self.server.wait(lambda name=name: self.on(name, path) is None, what=f"{path} goes on {name}: {self.on(name, path)}")

    def patch(self, member, path, change):
        """By hand, on the member."""
        return self.members[member].call("PATCH", path, change, kind=MERGE)

    def unmarked(self, seen):
        marks = {**seen["metadata"].get("labels", {}), **seen["metadata"].get("annotations", {})}
        return not [key for key in marks if key.startswith("muster.io/")]


def path_of(manifest):
    """The collection of a manifest's kind, at the hub as on a member."""
    version, kind = manifest["apiVersion"], manifest["kind"].lower()
    plural = {"networkpolicy": "networkpolicies", "topology": "topologies"}.get(kind, kind + ("es" if kind.endswith("s") else "s"))
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    return f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"


def selector(group, kind, name, version="v1", **more):
    return {"group": group, "version": version, "kind": kind, "name": name, **more}


def placement(name, selectors, namespace=None, strategy=None, **policy):
    """A ClusterResourcePlacement, or a ResourcePlacement in a namespace; PickAll unless the policy says otherwise. What cannot
    tell whether it is available counts after a second."""
    rolling = {"rollingUpdate": {"unavailablePeriodSeconds": 1}}
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "metadata": meta,
            "kind": "ResourcePlacement" if namespace else "ClusterResourcePlacement",
            "spec": {"resourceSelectors": selectors, "policy": policy or {"placementType": "PickAll"},
                     "strategy": {**rolling, **(strategy or {})}}}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def config_map(name, where, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": where}, "data": data}


__all__ = ["KUEUE", "NAMESPACES", "Propagation", "config_map", "namespace", "path_of", "placement", "selector"]
