"""kubectl as it is, against a musterd that speaks TLS; each person has a token of their own."""
import json
import os
import subprocess

from muster_server import PATIENCE, SOURCE
from teams import ADMIN, OTHER, OWN, PEOPLE, ROOT

TEAM, ADMINS, ROOTS = (ROOT, ADMIN, OWN), (ROOT, ADMIN), (ROOT,)


class Kubectl:
    def __init__(self, teams, authority):
        """teams: on a TlsServer whose certificate `authority` made."""
        self.teams, self.server = teams, teams.server
        self.program = subprocess.run([f"{SOURCE}/tests/kubebed/kubectl.sh"], capture_output=True, text=True, check=True).stdout.strip()
        for user in PEOPLE:
            config = {"apiVersion": "v1", "kind": "Config", "current-context": "muster",
                      "clusters": [{"name": "muster", "cluster": {"server": self.server.url(), "certificate-authority": authority.pem}}],
                      "users": [{"name": user, "user": {"token": teams.token(user)}}],
                      "contexts": [{"name": "muster", "context": {"cluster": "muster", "user": user, "namespace": "team-a"}}]}
            with open(self.config(user), "w", encoding="utf-8") as file:
                json.dump(config, file)

    def config(self, user):
        return f"{self.server.dir}/kubeconfig-{user}"

    def run(self, user, *words, stdin=None):
        """The finished process. The namespace is team-a unless the words say another."""
        environment = {"PATH": os.environ["PATH"], "HOME": self.server.dir, "KUBECONFIG": self.config(user)}
        return subprocess.run([self.program, *words], env=environment, input=stdin, capture_output=True, text=True, check=False,
                              timeout=PATIENCE, cwd=self.server.dir)

    def done(self, user, *words, stdin=None):
        """What it prints; it must succeed."""
        result = self.run(user, *words, stdin=stdin)
        assert result.returncode == 0, f"{user}: kubectl {' '.join(words)}: {result.stdout}{result.stderr}"
        return result.stdout


# VERB RESOURCE of `kubectl auth can-i`, the namespace, and to whom it says yes.
CAN_I = [
    ("create jobs", "team-a", TEAM),
    ("create jobs", "team-b", (ROOT, OTHER)),
    ("create jobs.batch", "default", ROOTS),
    ("get jobs", "team-a", TEAM),
    ("delete jobs", "team-a", ADMINS),
    ("update jobs", "team-a", ADMINS),
    ("get jobs --subresource=log", "team-a", ROOTS),
    ("delete jobs --subresource=own", "team-a", (ROOT, OWN)),
    ("create rayjobs.ray.io", "team-a", TEAM),
    ("list workloads.kueue.x-k8s.io", "team-a", TEAM),
    ("update localqueues.kueue.x-k8s.io", "team-a", ADMINS),
    ("get localqueues.kueue.x-k8s.io", "team-a", TEAM),
    ("update clusterqueues.kueue.x-k8s.io/team-a", "", ADMINS),
    ("update clusterqueues.kueue.x-k8s.io/team-b", "", ROOTS),
    ("list clusterqueues.kueue.x-k8s.io", "", ADMINS),
    ("create resourceflavors.kueue.x-k8s.io", "", ROOTS),
    ("get secrets", "team-a", ROOTS),
    ("create configmaps", "team-a", TEAM),
    ("create rolebindings.rbac.authorization.k8s.io", "team-a", ROOTS),
    ("create clusterrolebindings.rbac.authorization.k8s.io", "", ROOTS),
    ("list memberclusters.cluster.kubernetes-fleet.io", "", ROOTS),
    ("delete memberclusters.cluster.kubernetes-fleet.io", "", ROOTS),
    ("impersonate users", "", ROOTS),
    ("get /metrics", "", ROOTS),
    ("get /version", "", PEOPLE),
    ("* *", "", ROOTS),
]

# Words, the standard input, and who may. What may be done is done by nobody's change but a dry run's.
DRY = "--dry-run=server"
ROLE = ("create", "role", "lookers", "--verb=get,list", "--resource=configmaps", DRY)
COMMANDS = [
    (("auth", "whoami"), PEOPLE),
    (("auth", "can-i", "--list"), PEOPLE),
    (("version",), PEOPLE),
    (("api-versions",), PEOPLE),
    (("explain", "job"), PEOPLE),
    (("explain", "clusterqueues.kueue.x-k8s.io"), PEOPLE),
    (("get", "localqueues"), TEAM),
    (("get", "workloads"), TEAM),
    (("get", "resourceflavors"), ROOTS),
    (("get", "memberclusters"), ROOTS),
    (("get", "namespaces"), ROOTS),
    (("get", "rolebindings"), ROOTS),
    (("describe", "localqueue", "main"), TEAM),
    (("describe", "rolebinding", "users"), ROOTS),
    (("get", "jobs", "-n", "team-b"), (ROOT, OTHER)),
    (("get", "configmap", "given"), TEAM),
    (("create", "configmap", "new", "--from-literal=a=b", DRY), TEAM),
    (("create", "secret", "generic", "new", "--from-literal=a=b", DRY), ROOTS),
    (("create", "job", "new", "--image=debian:12", DRY, "--", "true"), TEAM),
    (ROLE, ROOTS),
    (("create", "rolebinding", "more", "--clusterrole=kueue-batch-user-role", "--user=zoe", DRY), ROOTS),
    (("create", "rolebinding", "more", "--clusterrole=cluster-admin", f"--user={ADMIN}", DRY), ROOTS),
    (("create", "clusterrole", "all", "--verb=*", "--resource=*.*", DRY), ROOTS),
    (("delete", "rolebinding", "users", DRY), ROOTS),
    (("delete", "localqueue", "main", DRY), ADMINS),
    (("label", "localqueue", "main", "a=b", DRY), ADMINS),
    (("patch", "configmap", "given", "-p", '{"data":{"c":"d"}}', DRY), ROOTS),
    (("get", "--raw", "/metrics"), ROOTS),
    (("get", "--raw", "/livez"), PEOPLE),
]
