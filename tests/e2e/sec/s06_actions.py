"""Forty actions, who may do each, and the ways to it beside REST: muster, the Slurm commands, gRPC and kubectl."""
from teams import ADMIN, OWN, PEOPLE, ROOT

QUEUES = "/apis/kueue.x-k8s.io/v1beta1"
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
MEMBERS = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "new"}, "spec": {}}
BINDING = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "mine"},
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
           "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": OWN}]}
# The dry run asks what the change asks, and leaves the next cell as it was.
DRY = "?dryRun=All"

# name, method, path, body, who may; {own} is a job of ann, {mate} one of another data scientist of her team, in team-a; {own_ran} and
# {mate_ran} have ended. A refusal is 403, or 404 where the answer must not tell that the job exists.
ACTIONS = [
    ("submit", "POST", "/v1/namespaces/team-a/jobs", "job", (ROOT, ADMIN, OWN)),
    ("submit on a Kubernetes path", "POST", JOBS, "job", (ROOT, ADMIN, OWN)),
    ("submit as a dry run", "POST", JOBS + DRY, "job", (ROOT, ADMIN, OWN)),
    ("submit a batch", "POST", "/v1/namespaces/team-a/jobs:batch", "jobs", (ROOT, ADMIN, OWN)),
    ("apply a job", "POST", "/v1/apply?namespace=team-a", "jobs", (ROOT, ADMIN, OWN)),
    ("get a job", "GET", "/v1/jobs/{mate}", None, (ROOT, ADMIN, OWN)),
    ("get a job by its name", "GET", "/v1/jobs/team-a%2F{mate_name}", None, (ROOT, ADMIN, OWN)),
    ("get a job on a Kubernetes path", "GET", JOBS + "/{mate_name}", None, (ROOT, ADMIN, OWN)),
    ("explain", "GET", "/v1/jobs/{mate}/explain", None, (ROOT, ADMIN, OWN)),
    ("events of a job", "GET", "/v1/jobs/{mate}/events", None, (ROOT, ADMIN, OWN)),
    ("pods of a job", "GET", "/v1/jobs/{mate}/pods", None, (ROOT, ADMIN, OWN)),
    ("own log", "GET", "/v1/jobs/{own}/logs", None, (ROOT, OWN)),
    ("another's log", "GET", "/v1/jobs/{mate}/logs", None, (ROOT,)),
    ("hold own", "POST", "/v1/jobs/{own}:hold", None, (ROOT, ADMIN, OWN)),
    ("hold another's", "POST", "/v1/jobs/{mate}:hold", None, (ROOT, ADMIN)),
    ("cancel own", "DELETE", "/v1/jobs/{own}", None, (ROOT, ADMIN, OWN)),
    ("cancel another's", "DELETE", "/v1/jobs/{mate}", None, (ROOT, ADMIN)),
    ("delete another's on a Kubernetes path", "DELETE", JOBS + "/{mate_name}", None, (ROOT, ADMIN)),
    ("list the jobs of the namespace", "GET", "/v1/jobs?namespace=team-a", None, (ROOT, ADMIN, OWN)),
    ("list the jobs of the namespace on a Kubernetes path", "GET", JOBS, None, (ROOT, ADMIN, OWN)),
    ("list the jobs of the cluster on a Kubernetes path", "GET", "/apis/batch/v1/jobs", None, (ROOT,)),
    ("list what may be listed", "GET", "/v1/jobs", None, PEOPLE),
    ("watch jobs", "GET", JOBS + "?watch=true", None, ()),
    ("list Secrets", "GET", "/api/v1/namespaces/team-a/secrets", None, (ROOT,)),
    ("get a ClusterQueue", "GET", QUEUES + "/clusterqueues/team-a", None, (ROOT, ADMIN)),
    ("put the own ClusterQueue", "PUT", QUEUES + "/clusterqueues/team-a" + DRY, "team-a", (ROOT, ADMIN)),
    ("put another ClusterQueue", "PUT", QUEUES + "/clusterqueues/team-b" + DRY, "team-b", (ROOT,)),
    ("delete a ClusterQueue", "DELETE", QUEUES + "/clusterqueues/team-a" + DRY, None, (ROOT,)),
    ("make a flavor", "POST", QUEUES + "/resourceflavors" + DRY, FLAVOR, (ROOT,)),
    ("make a cohort", "POST", QUEUES + "/cohorts" + DRY, {**FLAVOR, "kind": "Cohort"}, (ROOT,)),
    ("make a namespace", "POST", "/api/v1/namespaces" + DRY, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}, (ROOT,)),
    ("make oneself an administrator", "POST", RBAC + "/clusterrolebindings" + DRY, BINDING, (ROOT,)),
    ("list roles", "GET", RBAC + "/clusterroles", None, (ROOT,)),
    ("cordon a member", "POST", "/v1/memberclusters/east:cordon", None, (ROOT,)),
    ("uncordon a member", "POST", "/v1/memberclusters/east:uncordon", None, (ROOT,)),
    ("delete a member", "DELETE", MEMBERS + "/east" + DRY, None, ()),
    ("read the audit trail", "GET", "/v1/audit", None, (ROOT,)),
    ("accounting of the namespace", "GET", "/v1/accounting?namespace=team-a", None, (ROOT, ADMIN, OWN)),
    ("quotas of a ClusterQueue", "GET", "/v1/quotas?clusterQueue=team-a", None, (ROOT, ADMIN)),
    ("discovery", "GET", "/apis/batch/v1", None, PEOPLE),
]
REFUSED = (403, 404)
# Without a way to them as the person that asks: 409 and 400 are answers to somebody who may ask.
NOT_REFUSED_TOO = {"delete a member": (ROOT,), "watch jobs": (ROOT, ADMIN, OWN)}


# The same actions by other ways, where there is one. Commands are words; what ends in "-f -" reads the action's body. A gRPC call is a
# method of muster.v1 and its message.
JOB = {"namespace": "team-a", "manifest": "{job}"}
PATCH = ("--type=merge", "-p", '{"metadata":{"labels":{"a":"b"}}}', "--dry-run=server")
WAYS = {
    "submit": {"muster": "submit -", "slurm": "sbatch -p main --wrap true", "kubectl": "create -f -", "grpc": ("JobService/SubmitJob", JOB)},
    "submit on a Kubernetes path": {"kubectl": "create --validate=strict -f -"},
    "submit as a dry run": {"kubectl": "create --dry-run=server -f -"},
    "submit a batch": {"grpc": ("JobService/BatchSubmitJobs", {"namespace": "team-a", "manifests": ["{job}"]})},
    "apply a job": {"muster": "apply -f -", "kubectl": "apply -f -", "grpc": (
        "QueueService/Apply", {"namespace": "team-a", "documents": "{job}"})},
    "get a job": {"muster": "get job {mate} -o yaml", "slurm": "scontrol show job {mate}", "kubectl": "get job {mate_name} -o yaml",
                  "grpc": ("JobService/GetJob", {"id": "{mate}"})},
    "get a job by its name": {"muster": "get job {mate_name}", "kubectl": "get job/{mate_name}"},
    "get a job on a Kubernetes path": {"kubectl": "describe job {mate_name}"},
    "explain": {"muster": "explain {mate}", "grpc": ("JobService/ExplainJob", {"id": "{mate}"})},
    "events of a job": {"muster": "describe job {mate}"},
    "own log": {"muster": "logs {own_ran}", "grpc": ("JobService/ReadLog", {"id": "{own_ran}"})},
    "another's log": {"muster": "logs {mate_ran}", "grpc": ("JobService/ReadLog", {"id": "{mate_ran}"})},
    "hold own": {"muster": "hold {own}", "slurm": "scontrol hold {own}", "grpc": ("JobService/HoldJob", {"id": "{own}"})},
    "hold another's": {"muster": "hold {mate}", "slurm": "scontrol hold {mate}", "grpc": ("JobService/HoldJob", {"id": "{mate}"})},
    "cancel own": {"muster": "delete job {own}", "slurm": "scancel {own}", "kubectl": "delete job {own_name} --wait=false",
                   "grpc": ("JobService/CancelJob", {"id": "{own}"})},
    "cancel another's": {"muster": "delete job {mate}", "slurm": "scancel {mate}", "kubectl": "delete job {mate_name} --wait=false",
                         "grpc": ("JobService/CancelJob", {"id": "{mate}"})},
    "list the jobs of the namespace": {"muster": "get jobs", "grpc": ("JobService/ListJobs", {"namespace": "team-a"})},
    "list the jobs of the namespace on a Kubernetes path": {"kubectl": "get jobs"},
    "list the jobs of the cluster on a Kubernetes path": {"kubectl": "get jobs -A"},
    "list what may be listed": {"muster": "get jobs -A", "slurm": "squeue", "grpc": ("JobService/ListJobs", {})},
    "list Secrets": {"muster": "get secrets", "kubectl": "get secrets", "grpc": (
        "QueueService/ListObjects", {"kind": "Secret", "namespace": "team-a"})},
    "get a ClusterQueue": {"muster": "get clusterqueue team-a", "kubectl": "get clusterqueue team-a -o yaml", "grpc": (
        "QueueService/GetObject", {"kind": "ClusterQueue", "name": "team-a"})},
    "put the own ClusterQueue": {"muster": "apply --dry-run -f -", "kubectl": ("patch", "clusterqueue", "team-a", *PATCH), "grpc": (
        "QueueService/Apply", {"documents": "{body}", "dryRun": True})},
    "put another ClusterQueue": {"muster": "apply --dry-run -f -", "kubectl": ("patch", "clusterqueue", "team-b", *PATCH), "grpc": (
        "QueueService/Apply", {"documents": "{body}", "dryRun": True})},
    "delete a ClusterQueue": {"kubectl": "delete clusterqueue team-a --dry-run=server"},
    "make a flavor": {"muster": "apply --dry-run -f -", "kubectl": "create --dry-run=server -f -", "grpc": (
        "QueueService/Apply", {"documents": "{body}", "dryRun": True})},
    "make a cohort": {"muster": "apply --dry-run -f -", "kubectl": "create --dry-run=server -f -", "grpc": (
        "QueueService/Apply", {"documents": "{body}", "dryRun": True})},
    "make a namespace": {"muster": "apply --dry-run -f -", "kubectl": "create namespace new --dry-run=server", "grpc": (
        "QueueService/Apply", {"documents": "{body}", "dryRun": True})},
    "make oneself an administrator": {
        "muster": "apply --dry-run -f -", "kubectl": f"create clusterrolebinding mine --clusterrole=cluster-admin --user={OWN} --dry-run=server",
        "grpc": ("QueueService/Apply", {"documents": "{body}", "dryRun": True})},
    "list roles": {"muster": "get clusterroles", "kubectl": "get clusterroles", "grpc": ("QueueService/ListObjects", {"kind": "ClusterRole"})},
    "cordon a member": {"muster": "cluster cordon east", "grpc": ("ClusterService/CordonCluster", {"name": "east", "cordon": True})},
    "uncordon a member": {"muster": "cluster uncordon east", "grpc": ("ClusterService/CordonCluster", {"name": "east", "cordon": False})},
    "delete a member": {"kubectl": "delete membercluster east --dry-run=server", "grpc": ("ClusterService/RemoveCluster", {"name": "east"})},
    "read the audit trail": {"muster": "audit"},
    "quotas of a ClusterQueue": {"muster": "quota get team-a", "grpc": ("QuotaAdminService/ListQuotas", {"clusterQueue": "team-a"})},
    "discovery": {"kubectl": "api-resources"},
}
