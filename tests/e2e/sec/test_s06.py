"""S06: who may do what: four people by every way in. A table of forty actions, and a matrix that is generated from the table of
access rules, so that a route or a gRPC method without a row fails."""
import json
import os
import re
import subprocess
import unittest

from callers import ask, connection
from muster_server import SOURCE
from s06_actions import ACTIONS, NOT_REFUSED_TOO, REFUSED, WAYS
from s06_kubectl import CAN_I, COMMANDS, Kubectl
from s06_rules import GrpcAsker, access_rules, methods_of_the_descriptors, routes_of_the_document
from s06_ways import METHODS, ROUTES, paths_without_resource, who_may
from s06_world import Cells, World, print_figure, refused_item
from teams import ADMIN, OTHER, OWN, PEOPLE, ROOT
from tls_site import Authority, TlsServer

PERMISSION_DENIED, NOT_FOUND = 7, 5
# gRPC's codes for a caller who is not known, and for faults of the server.
NO_ANSWERS = (2, 13, 14, 16)
# A queue with jobs in it and a member that a flag declares are not deleted, whoever asks.
FAILS = ("delete a ClusterQueue", "delete a member")
PATCH_TYPE = {"Content-Type": "application/merge-patch+json"}


def tearDownModule():
    print_figure()


class Matrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.teams.close)
        cls.teams = cls.world.teams
        cls.grpc = GrpcAsker(cls.teams.server.grpc_port)
        cls.addClassCleanup(cls.grpc.close)

    def ask(self, user, method, path, body, way):
        """By TCP each person shows a token, by the Unix socket root acts as the person."""
        headers = PATCH_TYPE if method == "PATCH" else {}
        if way == "tcp" and user != ROOT:
            return self.teams.ask(ROOT, method, path, body, way, {"Authorization": f"Bearer {self.teams.token(user)}", **headers})
        return self.teams.ask(user, method, path, body, way, headers)

    def call(self, user, method, *messages):
        """(code, answer). Root shows its account, the others their tokens."""
        return self.grpc.call(None if user == ROOT else self.teams.token(user), method, *messages)

    def filled_message(self, message, body=None):
        job = json.dumps(json.dumps(self.teams.manifest("team-a")))[1:-1]
        return self.world.filled(message.replace("{body}", json.dumps(json.dumps(body))[1:-1])).replace("{job}", job)

    def see_call(self, cells, user, method, messages, may):
        code, told = self.call(user, method, *messages)
        # A job of others is as if it were not there; a batch answers for each item.
        hides = method.startswith("muster.v1.JobService/")
        items = json.loads(told).get("items", []) if code == 0 and "SubmitJobs" in method else []
        refused = code == PERMISSION_DENIED or (hides and code == NOT_FOUND) or (
            bool(items) and all(item.get("problem", {}).get("code") == PERMISSION_DENIED for item in items))
        cells.see((method, user), refused != (user in may) and code not in NO_ANSWERS, (messages, code, told))

    def test_the_table_of_forty_actions(self):
        cells = Cells()
        self.assertGreaterEqual(len(ACTIONS), 40)
        self.assertEqual(set(WAYS) - {name for name, *_ in ACTIONS}, set(), "these are no actions")
        for name, method, path, wanted, may in ACTIONS:
            let_in = (*may, *NOT_REFUSED_TOO.get(name, ()))
            for user in PEOPLE:
                for way in ("tcp", "unix"):
                    status, told = self.ask(user, method, self.world.filled(path), self.world.body(wanted), way)
                    refused = status in REFUSED or (name == "submit a batch" and refused_item(told))
                    cells.see((name, user, way), refused != (user in let_in) and status not in (0, 401, 500), (status, told))
                ways = WAYS.get(name, {})
                for program in ("muster", "slurm"):
                    if program in ways:
                        self.see_command(cells, name, user, program, ways[program], wanted, user in may)
                if "grpc" in ways:
                    at, message = ways["grpc"]
                    filled = self.filled_message(json.dumps(message), self.world.body(wanted))
                    self.see_call(cells, user, f"muster.v1.{at}", [filled], let_in)
        cells.end(self, "forty actions by REST, gRPC, muster and the Slurm commands")

    def see_command(self, cells, name, user, program, words, wanted, may):
        values = self.world.values(words)
        line = [word.format(**values) for word in words.split()]
        stdin = json.dumps(self.world.body(wanted)) if line[-1] == "-" else None
        stdin = json.dumps(json.loads(stdin)[0]) if stdin and stdin.startswith("[") else stdin
        environment = {"MUSTER_NAMESPACE": "team-a"} if user == ROOT else {
            "MUSTER_NAMESPACE": "team-a", "MUSTER_TOKEN": self.teams.token(user)}
        result = self.teams.server.run(*(["muster"] if program == "muster" else []), *line, check=False, stdin=stdin, env=environment)
        done = result.returncode == 0
        # To cancel a job that is not there is no error for Slurm, and lists show nothing: the job tells.
        if line[0] == "scancel":
            done = self.teams.server.job(values.get("mate") or values["own"])["state"] == "Cancelled"
        cells.see((name, user, program), done == may, (line, result.returncode, result.stdout[-300:], result.stderr[-300:]))

    def test_every_route_has_its_rows(self):
        rules = access_rules()
        routes = {way for way in rules if not way.startswith("muster.")}
        samples = {**paths_without_resource(rules), **ROUTES}
        self.assertEqual(routes ^ routes_of_the_document(), set(), "table of access rules and OpenAPI document differ")
        self.assertEqual(routes - set(samples), set(), "these routes have no row")
        self.assertEqual(set(samples) - routes, set(), "these rows have no route")
        cells = Cells()
        for way in sorted(routes):
            hides = rules[way][1].startswith("{")
            for path, wanted, told in samples[way]:
                may = who_may(rules[way], told)
                for user in PEOPLE:
                    status, answer = self.route(user, way.split(" ")[0], path, wanted)
                    refused = status == 403 or (hides and status == 404) or refused_item(answer)
                    cells.see((way, path, user), refused != (user in may) and status not in (0, 401, 429, 500, 503), (status, answer))
        cells.end(self, f"{len(routes)} routes")

    def route(self, user, method, path, wanted):
        if path == "/v1/events":  # its answer has no end
            link = connection(self.teams.server, "tcp")
            link.request(method, path, headers={} if user == ROOT else {"Authorization": f"Bearer {self.teams.token(user)}"})
            status = link.getresponse().status
            link.close()
            return status, None
        return self.ask(user, method, self.world.filled(path), self.world.body(wanted), "tcp")

    def test_every_grpc_method_has_its_rows(self):
        rules = access_rules()
        methods = methods_of_the_descriptors()
        self.assertEqual(methods, {way for way in rules if way.startswith("muster.")}, "descriptors and table of access rules differ")
        self.assertEqual(methods ^ set(METHODS), set(), "methods without a row, or rows without a method")
        cells = Cells()
        for method in sorted(methods):
            for messages, told in METHODS[method]:
                for user in PEOPLE:
                    self.see_call(cells, user, method, [self.filled_message(one) for one in messages], who_may(rules[method], told))
        cells.end(self, f"{len(methods)} gRPC methods")

    def test_lists_show_no_job_of_others(self):
        self.teams.job(OWN, "team-a")
        self.teams.job(OTHER, "team-b")
        for path in ("/v1/jobs?limit=1000", "/v1/accounting?limit=1000"):
            for user, team in ((OWN, "team-a"), (OTHER, "team-b")):
                status, page = self.teams.ask(user, "GET", path)
                self.assertEqual(status, 200, page)
                seen = {(item.get("job") or item)["namespace"] for item in page["items"]}
                self.assertEqual(seen, {team}, path)
        for user, team in ((OWN, "team-a"), (OTHER, "team-b")):
            code, told = self.call(user, "muster.v1.JobService/ListJobs", '{"pageSize":1000}')
            self.assertEqual(code, 0, told)
            self.assertEqual({job["namespace"] for job in json.loads(told)["items"]}, {team})


class WithKubectl(unittest.TestCase):
    """kubectl sends no token without TLS, so these have a server of their own."""

    @classmethod
    def setUpClass(cls):
        cls.authority = authority = Authority()
        cls.addClassCleanup(authority.close)
        server = TlsServer(authority, flags=["--tokens", "true"])
        cls.addClassCleanup(server.close)
        server.launch()
        ready = server.wait(lambda: server.logged("ready"), what="musterd is not ready")
        server.port, server.grpc_port = ready["rest_port"], ready["grpc_port"]
        server.wait(lambda: ask(server, "unix", "GET", "/readyz")[0] == 200, what="musterd is not ready")
        cls.world = World(server, "unix")
        cls.teams = cls.world.teams
        cls.kubectl = Kubectl(cls.teams, authority)

    def see(self, cells, user, words, may, stdin=None, fails=False):
        """Who may not is told so, and nobody stumbles over anything else. fails: the server refuses what may be asked, for its state."""
        done = self.kubectl.run(user, *words, stdin=stdin)
        refused = any(said in done.stderr for said in (f'User "{user}" cannot', "(Forbidden)", "(NotFound)"))
        served = "Error from server" in done.stderr and not refused if fails else done.returncode == 0 and "rror" not in done.stderr
        right = served if user in may else done.returncode != 0 and refused
        cells.see((words, user), right, (done.returncode, done.stdout[-300:], done.stderr[-600:]))

    def test_the_actions_of_the_table(self):
        cells = Cells()
        for name, _, _, wanted, may in ACTIONS:
            words = WAYS.get(name, {}).get("kubectl")
            for user in PEOPLE if words else ():
                values = self.world.values(" ".join(words) if isinstance(words, tuple) else words)
                line = words if isinstance(words, tuple) else [word.format(**values) for word in words.split()]
                body = self.world.body(wanted)
                stdin = json.dumps(body[0] if isinstance(body, list) else body) if line[-1] == "-" else None
                self.see(cells, user, line, (*may, *NOT_REFUSED_TOO.get(name, ())), stdin, name in FAILS)
        cells.end(self, "forty actions by kubectl")

    def test_commands(self):
        cells = Cells()
        for words, may in COMMANDS:
            for user in PEOPLE:
                self.see(cells, user, words, may)
        cells.end(self, "other commands of kubectl")

    def test_can_i(self):
        cells = Cells()
        for question, namespace, may in CAN_I:
            where = ("-n", namespace) if namespace else ()
            for user in PEOPLE:
                done = self.kubectl.run(user, "auth", "can-i", *question.split(), *where)
                said = done.stdout.split(" ")[0].strip()
                cells.see((question, namespace, user), said == ("yes" if user in may else "no"), (done.stdout, done.stderr))
        cells.end(self, "kubectl auth can-i")

    def test_roles_are_given_and_taken(self):
        run = self.kubectl.done
        self.assertRegex(run(OTHER, "auth", "whoami"), rf"(?m)^Username +{OTHER}$")
        for words in (("create", "role", "keepers", "--verb=get,list", "--resource=secrets"),
                      ("create", "rolebinding", "keepers", "--role=keepers", f"--user={OTHER}")):
            self.assertIn("created", run(ROOT, *words))
        self.assertIn("kept", run(OTHER, "get", "secrets"))
        listed = run(OTHER, "auth", "can-i", "--list")
        self.assertRegex(listed, r"(?m)^secrets +\[\] +\[\] +\[get list\]")
        self.assertIn("deleted", run(ROOT, "delete", "rolebinding", "keepers"))
        self.assertEqual(self.kubectl.run(OTHER, "get", "secrets").returncode, 1)
        # Nobody gives what he has not, though he may make bindings.
        run(ROOT, "create", "role", "binders", "--verb=create,get", "--resource=rolebindings")
        run(ROOT, "create", "rolebinding", "binders", "--role=binders", f"--user={ADMIN}")
        grab = ("create", "rolebinding", "grab", f"--user={ADMIN}", "--clusterrole=cluster-admin")
        self.assertIn("attempting to grant RBAC permissions not currently held", self.kubectl.run(ADMIN, *grab).stderr)

    def test_apply_again_changes_what_is_changed(self):
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "applied", "namespace": "team-a"},
                "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "applied"},
                  "spec": {"nodeLabels": {"a": "b"}}}
        for made, change in ((role, lambda: role["rules"][0]["verbs"].append("list")), (flavor, lambda: flavor["spec"]["nodeLabels"].update(a="c"))):
            for expected in ("created", "unchanged", "configured"):
                if expected == "configured":
                    change()
                self.assertIn(expected, self.kubectl.done(ROOT, "apply", "-f", "-", stdin=json.dumps(made)))
        self.assertIn('"list"', self.kubectl.done(ROOT, "get", "role", "applied", "-o", "jsonpath={.rules[0].verbs}"))
        self.assertIn("reconciled", self.kubectl.done(ROOT, "auth", "reconcile", "-f", "-", stdin=json.dumps(role)))

    def test_the_guide_is_typed_as_it_stands(self):
        with open(os.path.join(SOURCE, "docs/guide/access.md"), encoding="utf-8") as page:
            block = re.search(r"(?ms)^## With kubectl$.*?^```sh\n(.*?)^```", page.read())[1]
        block = block.replace("https://batch.example.org:8686", self.teams.server.url()).replace("/etc/ssl/site-ca.pem", self.authority.pem)
        environment = {"PATH": f"{os.path.dirname(self.kubectl.program)}:{os.environ['PATH']}", "HOME": self.teams.server.dir,
                       "KUBECONFIG": f"{self.teams.server.dir}/kubeconfig-guide", "MUSTER_TOKEN": self.teams.token(ROOT)}
        typed = subprocess.run(["bash", "-e", "-c", block], env=environment, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(typed.returncode, 0, typed)
        for said in ("Username ", "yes", "localqueue.kueue.x-k8s.io/main", "rolebinding.rbac.authorization.k8s.io/zoe created", "readers created"):
            self.assertIn(said, typed.stdout)

    def test_what_there_is_not_is_said_plainly(self):
        job = self.teams.job(OWN, "team-a")["name"]
        self.assertIn("Muster has no pods of its own", self.kubectl.run(OWN, "logs", f"job/{job}").stderr)
        wrong = self.teams.manifest("team-a")
        wrong["spec"]["template"]["spec"]["containers"][0]["imagine"] = "x"
        self.assertIn("unknown field", self.kubectl.run(OWN, "create", "-f", "-", stdin=json.dumps(wrong)).stderr)


if __name__ == "__main__":
    unittest.main()
