"""Run by test_kube_clients.py under a python that has Kubernetes' official client: uses Muster as an API server of Kubernetes,
as a program that knows nothing of it would. Prints "ok" at the end; any exception is the failure."""
import json
import sys
import urllib.error
import urllib.request
import warnings

from kubernetes import client
from kubernetes.client.exceptions import ApiException

FLEETS = {"cluster.kubernetes-fleet.io": "v1beta1", "placement.kubernetes-fleet.io": "v1"}
AMOUNTS = ("requests", "limits", "capacity", "podFixed", "overhead", "max", "min", "default", "defaultRequest", "resourceUsage")
SCALARS = ("nominalQuota", "borrowingLimit", "lendingLimit", "sizeLimit", "total", "borrowed")


def check_quantities(value, path=""):
    """Every amount in an answer is a text."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            check_quantities(item, f"{path}[{index}]")
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key in SCALARS:
            assert isinstance(inner, str), f"{path}.{key} is {inner!r}"
        if key in AMOUNTS and isinstance(inner, dict):
            for name, amount in inner.items():
                assert isinstance(amount, (str, dict)), f"{path}.{key}[{name}] is {amount!r}"
        check_quantities(inner, f"{path}.{key}")


def typed(api):
    """Kinds that the client has models of: it refuses what an API server would not have answered."""
    core, batch, node = client.CoreV1Api(api), client.BatchV1Api(api), client.NodeV1Api(api)
    jobs = {one.metadata.name: one for one in batch.list_job_for_all_namespaces().items}
    main = jobs["numbers"].spec.template.spec.containers[0].resources
    assert main.requests == {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"}, main.requests
    assert batch.read_namespaced_job("numbers", "default").metadata.uid == jobs["numbers"].metadata.uid
    assert batch.read_namespaced_job_status("numbers", "default").spec.suspend is True
    for listed, read in ((core.list_namespace, core.read_namespace),
                         (core.list_config_map_for_all_namespaces, core.read_namespaced_config_map),
                         (core.list_secret_for_all_namespaces, core.read_namespaced_secret),
                         (core.list_limit_range_for_all_namespaces, core.read_namespaced_limit_range),
                         (node.list_runtime_class, node.read_runtime_class)):
        items = listed().items
        assert items, listed
        for one in items:
            where = [one.metadata.namespace] if one.metadata.namespace else []
            assert read(one.metadata.name, *where).metadata.uid == one.metadata.uid
    limits = core.read_namespaced_limit_range("bounds", "default").spec.limits[0]
    assert limits.max == {"cpu": "64"} and limits.default_request == {"memory": "64Mi"}, limits
    assert node.read_runtime_class("heavy").overhead.pod_fixed == {"cpu": "250m"}


def untyped(api):
    """All other kinds, by discovery."""
    custom, apis = client.CustomObjectsApi(api), client.ApisApi(api)
    seen = 0
    for group in apis.get_api_versions().groups:
        if group.name in ("batch", "node.k8s.io"):
            continue
        for version in [one.version for one in group.versions]:
            for resource in custom.get_api_resources(group.name, version).resources:
                if "/" in resource.name or "list" not in resource.verbs:  # reviews are only created
                    continue
                items = custom.list_cluster_custom_object(group.name, version, resource.name)["items"]
                seen += len(items)
                check_quantities(items, resource.name)
                for one in items:
                    meta = one["metadata"]
                    read = custom.get_namespaced_custom_object(group.name, version, meta["namespace"], resource.name, meta["name"]) \
                        if resource.namespaced else custom.get_cluster_custom_object(group.name, version, resource.name, meta["name"])
                    assert read["metadata"]["uid"] == meta["uid"], (resource.name, meta)
    assert seen >= 12, seen


def pages(api):
    core, batch = client.CoreV1Api(api), client.BatchV1Api(api)
    for listed, names in ((core.list_namespaced_config_map, [f"page-{i}" for i in range(5)]),
                          (batch.list_namespaced_job, [f"job-{c}" for c in "abc"])):
        found, token = [], None
        while True:
            page = listed("default", limit=2, label_selector="page", **({"_continue": token} if token else {}))
            assert len(page.items) <= 2
            found += [one.metadata.name for one in page.items]
            token = page.metadata._continue
            if not token:
                break
        assert sorted(found) == names, found
    first = core.list_namespaced_config_map("default", limit=1)
    assert first.metadata.remaining_item_count == 4, first.metadata
    for bad in ({"label_selector": "a=b=c"}, {"field_selector": "spec.x=1"}, {"_continue": "nonsense"}):
        try:
            core.list_namespaced_config_map("default", **bad)
            raise AssertionError(f"{bad} is taken")
        except ApiException as refusal:
            assert refusal.status == 400, refusal


def fields(host):
    """A misspelt field: a warning, or refused with fieldValidation=Strict. Sent as plain HTTP, because the client knows the fields itself."""
    def create(name, query=""):
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"suspend": True, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "debian:12", "comand": ["true"]}]}}}}
        request = urllib.request.Request(f"{host}/apis/batch/v1/namespaces/default/jobs{query}", json.dumps(job).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers.get("Warning"), answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.headers.get("Warning"), refusal.read().decode()
    status, warning, _ = create("misspelt")
    assert (status, warning) == (201, '299 - "unknown field \\"spec.template.spec.containers[0].comand\\""'), warning
    status, _, body = create("strict", "?fieldValidation=Strict")
    assert status == 400 and "strict decoding error" in body, body
    status, warning, _ = create("quiet", "?fieldValidation=Ignore")
    assert (status, warning) == (201, None), warning


def main():
    warnings.simplefilter("ignore")
    configuration = client.Configuration(host=sys.argv[1])
    with client.ApiClient(configuration) as api:
        version = client.VersionApi(api).get_code()
        assert (version.major, version.minor) == ("1", "33") and version.git_version.startswith("v1."), version
        typed(api)
        untyped(api)
        pages(api)
    fields(sys.argv[1])
    configuration.api_key = {"authorization": "nonsense"}
    configuration.api_key_prefix = {"authorization": "Bearer"}
    with client.ApiClient(configuration) as api:
        try:
            client.CoreV1Api(api).list_namespace()
            raise AssertionError("a token that nobody can check is taken")
        except ApiException as refusal:
            assert refusal.status == 401 and "does not know this kind of credentials" in refusal.body, refusal
    print("ok")


if __name__ == "__main__":
    main()
