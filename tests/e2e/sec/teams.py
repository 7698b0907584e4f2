"""Three people and an administrator, two teams, two namespaces: examples/access with the team's users bound by name."""
import json
import os

from callers import ask
from muster_server import SOURCE, Server, shell_job

ROOT, ADMIN, OWN, OTHER = "root", "alice", "ann", "bob"  # cluster admin; batch admin of team-a; data scientists of team-a and team-b
PEOPLE = (ROOT, ADMIN, OWN, OTHER)
SECOND = "amy"  # another data scientist of team-a, whose jobs ann sees

BINDINGS = "".join(f"""
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: by-name-{user}, namespace: {team}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kueue-batch-user-role}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]
""" for user, team in ((OWN, "team-a"), (SECOND, "team-a"), (OTHER, "team-b")))


class Teams:
    def __init__(self, server=None, way="tcp"):
        """server: a started one, whose process root asks by this way."""
        self.server, self.way, self.tokens = server or Server().start(), way, {}
        with open(os.path.join(SOURCE, "examples/access/two-teams.yaml"), encoding="utf-8") as file:
            self.server.run("muster", "apply", "-f", "-", stdin=file.read() + BINDINGS,
                            env={"MUSTER_URL": f"unix:{self.server.dir}/run/muster.sock"})
        # What lets every account of the host do what a data scientist may; the teams have their own bindings.
        status, told = self.ask(ROOT, "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/muster-local-users")
        assert status in (200, 404), told
        self.count = 0

    def close(self):
        self.server.close()

    def ask(self, user, method, path, body=None, way=None, headers=None):
        """(status, body) of a request of `user`; root asks for the others by impersonation."""
        named = {} if user == ROOT else {"X-Muster-User": user}
        return ask(self.server, way or self.way, method, path, body, {**named, **(headers or {})})

    def token(self, user):
        """An access token of this user, who shows nothing else. Root's stands for its account and its groups."""
        if user not in self.tokens:
            asked = {"ttl": 3600} if user == ROOT else {"user": user, "ttl": 3600}
            status, made = self.ask(ROOT, "POST", "/v1/tokens", asked)
            assert status == 201, made
            self.tokens[user] = made["token"]
        return self.tokens[user]

    def ran(self, user, namespace):
        """A job that has written a line and ended."""
        status, job = self.ask(user, "POST", f"/v1/namespaces/{namespace}/jobs", self.manifest(namespace, "echo done"))
        assert status == 201, (status, job)
        self.server.wait(lambda: self.ask(ROOT, "GET", f"/v1/jobs/{job['id']}")[1]["state"] == "Succeeded", what="the job has ended")
        return job

    def manifest(self, namespace, script="sleep 600", **spec):
        self.count += 1
        manifest = shell_job(f"job-of-test-{self.count}", script, **spec)
        manifest["metadata"].update(namespace=namespace, labels={"kueue.x-k8s.io/queue-name": "main"})
        return manifest

    def job(self, user, namespace):
        """A new job that waits, because it asks for more than there is."""
        status, job = self.ask(user, "POST", f"/v1/namespaces/{namespace}/jobs", self.manifest(namespace, requests={"cpu": "100"}))
        assert status == 201, (status, job)
        return job

    def quota(self, queue, edit):
        """The ClusterQueue with `edit` applied to its spec."""
        path = f"/apis/kueue.x-k8s.io/v1beta1/clusterqueues/{queue}"
        status, now = self.ask(ROOT, "GET", path)
        assert status == 200, now
        now.pop("status", None)
        now["metadata"].pop("resourceVersion", None)
        wanted = json.loads(json.dumps(now))
        edit(wanted["spec"])
        return path, wanted
