"""One request, or a few, for each way into the daemon, and who may send it: every route, and every gRPC method.

Who may follows from the verb and resource that the way's row of the table of access rules names (MAY); a sample adds what the row
cannot know: whose job, or which object. A way without a sample, and a sample without a way, fail the test.
"""
import json

from teams import ADMIN, OTHER, OWN, PEOPLE, ROOT

TEAM, ADMINS, ROOTS = (ROOT, ADMIN, OWN), (ROOT, ADMIN), (ROOT,)
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
QUEUES, RBAC = "/apis/kueue.x-k8s.io/v1beta1", "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
DRY = "?dryRun=All"
MEMBERS, CLUSTER_QUEUES = "cluster.kubernetes-fleet.io/memberclusters", "kueue.x-k8s.io/clusterqueues"

# By verb and resource. {job}s are in team-a: ann's own ("own"), that of another data scientist ("mate"), or any.
MAY = {
    ("create", "{job}"): TEAM, ("list", "{job}"): TEAM, ("get", "{job}"): TEAM,
    ("update", "{job}", "own"): TEAM, ("update", "{job}", "mate"): ADMINS,
    ("delete", "{job}", "own"): TEAM, ("delete", "{job}", "mate"): ADMINS,
    ("get", "{job}/log", "own"): (ROOT, OWN), ("get", "{job}/log", "mate"): ROOTS,
    # Who may see events nowhere could only be somebody without any role.
    ("list", "muster.io/events"): PEOPLE,
    ("list", "muster.io/accounting"): TEAM,
    ("list", "muster.io/audit"): ROOTS,
    ("create", "muster.io/accesstokens"): PEOPLE,
    ("create", "muster.io/simulations"): TEAM,
    ("get", CLUSTER_QUEUES, "team-a"): ADMINS, ("update", CLUSTER_QUEUES, "team-a"): ADMINS,
    ("get", CLUSTER_QUEUES, "team-b"): ADMINS, ("update", CLUSTER_QUEUES, "team-b"): ROOTS,
    # examples/access shows them to a group in which none of these is.
    ("get", MEMBERS): ROOTS, ("list", MEMBERS): ROOTS,
    ("create", MEMBERS): ROOTS, ("update", MEMBERS): ROOTS, ("delete", MEMBERS): ROOTS,
    ("create", "authentication.k8s.io/tokenreviews"): ROOTS,
    ("create", "authorization.k8s.io/subjectaccessreviews"): ROOTS,
    ("create", "authorization.k8s.io/localsubjectaccessreviews"): ROOTS,
}
PATHS = {"/metrics": ROOTS}  # all others are for everybody who is known


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "team-a"}, "data": {"a": "b"}}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def local_queue(name):
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": name, "namespace": "team-a"},
            "spec": {"clusterQueue": "team-a"}}


MERGE, EMPTY = "application/merge-patch+json", {}
PATCH = {"metadata": {"labels": {"a": "b"}}}
REVIEW = {"spec": {"user": "zoe", "resourceAttributes": {"verb": "get", "resource": "jobs", "group": "batch", "namespace": "team-a"}}}


def collection(prefix, path, plural, name, body, see, one, edit):
    """The samples of the nine ways of a collection. see, one, edit: who may list, get, and change."""
    at, way = f"{path}/{plural}", f"{prefix}{{plural}}"
    return {
        f"GET {way}": [(at, None, see)],
        f"POST {way}": [(at + DRY, {**body, "metadata": {**body["metadata"], "name": "new"}}, edit)],
        f"GET {way}/{{name}}": [(f"{at}/{name}", None, one)],
        f"PUT {way}/{{name}}": [(f"{at}/{name}{DRY}", body, edit)],
        f"PATCH {way}/{{name}}": [(f"{at}/{name}{DRY}", PATCH, edit)],
        f"DELETE {way}/{{name}}": [(f"{at}/{name}{DRY}", None, edit)],
        # To read a status, `get` on RESOURCE/status; Muster alone writes those of these kinds, which is 405 for all.
        f"GET {way}/{{name}}/status": [(f"{at}/{name}/status", None, one)],
        f"PUT {way}/{{name}}/status": [(f"{at}/{name}/status", body, PEOPLE)],
        f"PATCH {way}/{{name}}/status": [(f"{at}/{name}/status", PATCH, PEOPLE)],
    }


# way → [(path, body, who may or whose)]; "job", "jobs" and "team-a" are bodies that the test makes.
ROUTES = {
    "POST /v1/namespaces/{namespace}/jobs": [("/v1/namespaces/team-a/jobs", "job", None)],
    "POST /v1/namespaces/{namespace}/jobs:batch": [("/v1/namespaces/team-a/jobs:batch", "jobs", None)],
    "POST /v1/apply": [("/v1/apply?namespace=team-a", "jobs", TEAM), ("/v1/apply" + DRY, [local_queue("main")], ADMINS)],
    "GET /v1/jobs": [("/v1/jobs?namespace=team-a", None, None), ("/v1/jobs", None, PEOPLE)],
    "GET /v1/jobcounts": [("/v1/jobcounts?namespace=team-a", None, None), ("/v1/jobcounts", None, PEOPLE)],
    "GET /v1/jobs/{id}": [("/v1/jobs/{own}", None, None), ("/v1/jobs/{mate}", None, None)],
    "DELETE /v1/jobs/{id}": [("/v1/jobs/{own}", None, "own"), ("/v1/jobs/{mate}", None, "mate")],
    **{f"POST /v1/jobs/{{id}}:{verb}": [(f"/v1/jobs/{{{whose}}}:{verb}", body, whose) for whose in ("own", "mate")]
       for verb, body in (("hold", EMPTY), ("release", EMPTY), ("requeue", EMPTY), ("nominate", {"clusters": ["east"]}), ("keep", EMPTY),
                          ("update", {"comment": "x"}), ("signal", {"signal": "CONT"}), ("notify", {"message": "hello"}))},
    # Only who may update the ClusterQueue may suspend.
    **{f"POST /v1/jobs/{{id}}:{verb}": [(f"/v1/jobs/{{{whose}}}:{verb}", EMPTY, ADMINS) for whose in ("own", "mate")]
       for verb in ("suspend", "resume")},
    **{f"GET /v1/jobs/{{id}}/{part}": [(f"/v1/jobs/{{mate}}/{part}", None, None)] for part in (
        "explain", "events", "pods", "steps", "member-events", "manifest")},
    "GET /v1/jobs/{id}/script": [("/v1/jobs/{own_script}/script", None, "own"), ("/v1/jobs/{mate_script}/script", None, "mate")],
    # Jobs that the caller may not see are left out.
    "GET /v1/steps": [("/v1/steps?job=1,2", None, PEOPLE)],
    "GET /v1/jobs/{id}/logs": [("/v1/jobs/{own}/logs", None, "own"), ("/v1/jobs/{mate}/logs", None, "mate")],
    "GET /v1/events": [("/v1/events", None, None)],
    "GET /v1/accounting": [("/v1/accounting?namespace=team-a", None, None)],
    "POST /v1/tokens": [("/v1/tokens" + DRY, {"ttl": 60}, None), ("/v1/tokens" + DRY, {"user": "zoe", "ttl": 60}, ROOTS)],
    "GET /v1/audit": [("/v1/audit", None, None)],
    "POST /v1/quotas": [("/v1/quotas" + DRY, {"clusterQueue": queue, "flavor": "default", "resource": "cpu", "nominal": "2"}, queue)
                        for queue in ("team-a", "team-b")],
    "GET /v1/quotas": [("/v1/quotas?clusterQueue=team-a", None, "team-a"), ("/v1/quotas?clusterQueue=team-b", None, "team-b")],
    "GET /v1/clusterqueues/{name}/order": [("/v1/clusterqueues/team-a/order", None, "team-a"), ("/v1/clusterqueues/team-b/order", None, "team-b")],
    "POST /v1/memberclusters": [("/v1/memberclusters", {"name": "away", "kubeconfig": "none"}, None)],
    "DELETE /v1/memberclusters/{name}": [("/v1/memberclusters/east", None, None)],
    "GET /v1/memberclusters/{name}/facts": [("/v1/memberclusters/east/facts", None, None)],
    **{f"POST /v1/memberclusters/{{name}}:{verb}": [(f"/v1/memberclusters/{name}:{verb}", EMPTY, None)] for verb, name in (
        ("cordon", "east"), ("uncordon", "east"), ("collect", "east"), ("fence", "spare"), ("drain", "spare"))},
    "POST /v1/simulate": [("/v1/simulate", "simulation", None)],
    "POST /apis/authentication.k8s.io/v1/selfsubjectreviews": [("/apis/authentication.k8s.io/v1/selfsubjectreviews", EMPTY, None)],
    "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": [
        (REVIEWS + "/selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/"}}}, None)],
    "POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews": [
        (REVIEWS + "/selfsubjectrulesreviews", {"spec": {"namespace": "team-a"}}, None)],
    "POST /apis/authentication.k8s.io/v1/tokenreviews": [("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}, None)],
    "POST /apis/authorization.k8s.io/v1/subjectaccessreviews": [(REVIEWS + "/subjectaccessreviews", REVIEW, None)],
    "POST /apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews": [
        (REVIEWS + "/namespaces/team-a/localsubjectaccessreviews", REVIEW, None)],
    **collection("/api/v1/", "/api/v1", "namespaces", "team-a", namespace("team-a"), ROOTS, ROOTS, ROOTS),
    **collection("/api/v1/namespaces/{namespace}/", "/api/v1/namespaces/team-a", "configmaps", "given", config_map("given"),
                 ROOTS, TEAM, ROOTS),
    **collection("/apis/{group}/{version}/", QUEUES, "clusterqueues", "team-a", {"metadata": {"name": "team-a"}}, ADMINS, ADMINS, ADMINS),
    **collection("/apis/{group}/{version}/namespaces/{namespace}/", QUEUES + "/namespaces/team-a", "localqueues", "main",
                 local_queue("main"), TEAM, TEAM, ADMINS),
}
# Where the roles differ from the scheme of a collection.
ROUTES["POST /api/v1/namespaces/{namespace}/{plural}"] = [("/api/v1/namespaces/team-a/configmaps" + DRY, config_map("new"), TEAM)]
ROUTES["GET /api/v1/namespaces/{namespace}/{plural}/{name}/status"] = [
    ("/api/v1/namespaces/team-a/configmaps/given/status", None, ROOTS)]
ROUTES["POST /apis/{group}/{version}/{plural}"] = [
    (f"{QUEUES}/clusterqueues{DRY}", "new-queue", ROOTS), (f"{RBAC}/clusterrolebindings{DRY}", "administrator", ROOTS)]
ROUTES["PUT /apis/{group}/{version}/{plural}/{name}"] = [
    (f"{QUEUES}/clusterqueues/team-a{DRY}", "team-a", ADMINS), (f"{QUEUES}/clusterqueues/team-b{DRY}", "team-b", ROOTS)]
ROUTES["DELETE /apis/{group}/{version}/{plural}/{name}"] = [(f"{QUEUES}/clusterqueues/team-a{DRY}", None, ROOTS)]
ROUTES["PUT /apis/{group}/{version}/{plural}/{name}/status"] = [(f"{QUEUES}/clusterqueues/team-a/status", "team-a", PEOPLE)]
ROUTES["GET /apis/{group}/{version}/namespaces/{namespace}/{plural}"].append((JOBS, None, TEAM))
ROUTES["POST /apis/{group}/{version}/namespaces/{namespace}/{plural}"].append((JOBS, "job", TEAM))
ROUTES["GET /apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}"].append((JOBS + "/{mate_name}", None, TEAM))
ROUTES["DELETE /apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}"] += [
    (JOBS + "/{own_name}", None, TEAM), (JOBS + "/{mate_name}", None, ADMINS)]
ROUTES["PATCH /apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}"] += [
    (JOBS + "/{own_name}", {"metadata": {}}, TEAM), (JOBS + "/{mate_name}", {"metadata": {}}, ADMINS)]


def texts(*parts):
    return [json.dumps(part) for part in parts]


# method → [(messages, who may or whose)]; "{job}" and "{quota}" in a message are texts that the test makes.
METHODS = {
    "JobService/SubmitJob": [(texts({"namespace": "team-a", "manifest": "{job}"}), None)],
    "JobService/BatchSubmitJobs": [(texts({"namespace": "team-a", "manifests": ["{job}"]}), None)],
    "JobService/StreamSubmitJobs": [(texts(*[{"namespace": "team-a", "manifest": "{job}"}] * 2), None)],
    "JobService/GetJob": [(texts({"id": "{own}"}), None), (texts({"id": "{mate}"}), None)],
    "JobService/ListJobs": [(texts({"namespace": "team-a"}), None), (texts({}), PEOPLE)],
    **{f"JobService/{verb}Job": [(texts({"id": f"{{{whose}}}"}), whose) for whose in ("own", "mate")]
       for verb in ("Cancel", "Hold", "Release", "Requeue")},
    "JobService/NominateClusters": [(texts({"id": f"{{{whose}}}", "clusters": ["east"]}), whose) for whose in ("own", "mate")],
    "JobService/ExplainJob": [(texts({"id": "{mate}"}), None)],
    "JobService/ReadLog": [(texts({"id": f"{{{whose}}}"}), whose) for whose in ("own", "mate")],
    "JobService/WatchEvents": [(texts({"since": 0}), None)],
    "QueueService/GetObject": [
        (texts({"kind": "ClusterQueue", "name": "team-a"}), ADMINS),
        (texts({"kind": "LocalQueue", "namespace": "team-a", "name": "main"}), TEAM),
        (texts({"kind": "Secret", "namespace": "team-a", "name": "kept"}), ROOTS)],
    "QueueService/ListObjects": [
        (texts({"kind": "ClusterQueue"}), ADMINS), (texts({"kind": "LocalQueue", "namespace": "team-a"}), TEAM),
        (texts({"kind": "Secret", "namespace": "team-a"}), ROOTS), (texts({"kind": "ClusterRole"}), ROOTS)],
    "QueueService/Apply": [
        (texts({"documents": json.dumps(local_queue("main")), "dryRun": True}), ADMINS),
        (texts({"documents": json.dumps(namespace("new")), "dryRun": True}), ROOTS),
        (texts({"documents": "{job}", "namespace": "team-a"}), TEAM)],
    "QueueService/DeleteObject": [
        (texts({"kind": "LocalQueue", "namespace": "team-a", "name": "nothing"}), ADMINS),
        (texts({"kind": "ClusterQueue", "name": "nothing"}), ROOTS)],
    "ClusterService/ListClusters": [(texts({}), None)],
    "ClusterService/GetCluster": [(texts({"name": "east"}), None)],
    "ClusterService/CordonCluster": [(texts({"name": "east", "cordon": cordon}), None) for cordon in (True, False)],
    "ClusterService/DrainCluster": [(texts({"name": "spare"}), None)],
    "ClusterService/AddCluster": [(texts({"name": "away", "kubeconfig": "none"}), None)],
    "ClusterService/RemoveCluster": [(texts({"name": "east"}), None)],
    "QuotaAdminService/GetQuota": [
        (texts({"clusterQueue": queue, "flavor": "default", "resource": "cpu"}), queue) for queue in ("team-a", "team-b")],
    "QuotaAdminService/ListQuotas": [(texts({"clusterQueue": queue}), queue) for queue in ("team-a", "team-b")],
    "QuotaAdminService/SetQuota": [
        (texts({"quota": {"clusterQueue": queue, "flavor": "default", "resource": "cpu", "nominalQuota": "2"},
                "updateMask": "nominalQuota", "dryRun": True}), queue) for queue in ("team-a", "team-b")],
}
METHODS = {f"muster.v1.{method}": samples for method, samples in METHODS.items()}


def who_may(rule, told):
    """Who may come by a way with this row; told: the sample's people, or whose job or queue it names."""
    verb, resource, scope = rule
    if isinstance(told, tuple):
        return told
    if scope != "kService":
        return PEOPLE
    return MAY[(verb, resource)] if told is None or (verb, resource) in MAY else MAY[(verb, resource, told)]


def paths_without_resource(rules):
    """Samples for the ways that are open, or asked by their path: they need no parameter but a group."""
    out = {}
    for way, (_, _, scope) in rules.items():
        if scope in ("kPublic", "kPath"):
            path = way.split(" ", 1)[1].replace("{group}", "kueue.x-k8s.io").replace("{version}", "v1beta1")
            out[way] = [(path, None, PATHS.get(path, PEOPLE))]
    known = rules["GET /v1/whoami"]
    assert known[2] == "kKnown"
    return {**out, "GET /v1/whoami": [("/v1/whoami", None, PEOPLE)]}
