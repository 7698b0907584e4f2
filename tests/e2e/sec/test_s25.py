"""S25: canary secrets stay where they belong: not in logs, metrics, answers, the database, files or other processes' sight.

Planted are the token of a member's kubeconfig, what a Secret holds, an access token, a token that nobody knows, the password of the
database and a variable of the daemon's environment. Then the daemon is used, and everything that it leaves is searched.
"""
import glob
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from callers import ask
from canaries import Canaries, tree_of
from muster_server import BIN, PATIENCE, QUEUES, SOURCE, Server, psql, shell_job

sys.path.insert(0, os.path.join(SOURCE, "tests/e2e/postgres"))
from pg_pair import Postgres  # pylint: disable=wrong-import-position

FAKE_MEMBER = os.path.join(os.path.dirname(BIN.rstrip("/")), "tests", "muster-fake-member")
LOCAL = ["--local-cluster", "east,cpu=32,memory=128Gi"]


def secret(name, key, value):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, "stringData": {key: value}}


class Planted(unittest.TestCase):
    def start(self, canaries, flags):
        """A daemon with a canary in its environment, which logs everything."""
        server = Server([*flags, "--log-level", "debug"])
        variable = canaries.new("variable of the environment")
        whole = Server.environment
        server.environment = lambda: dict(whole(server), MUSTER_TEST_CANARY=variable, AWS_SECRET_ACCESS_KEY=variable)
        server.start()
        del server.environment  # commands of the test do not have it
        self.addCleanup(server.close)
        server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        return server

    def asked(self, canaries, server, method, path, body=None, headers=None, shows=()):
        """An answer, searched for all canaries but those that the answer is there to show."""
        status, told = ask(server, "tcp", method, path, body, headers)
        before = len(canaries.hits)
        canaries.search(f"{method} {path}: {status}", json.dumps(told))
        canaries.hits[before:] = [hit for hit in canaries.hits[before:] if hit[0] not in shows]
        self.answers += 1
        return status, told

    def use(self, canaries, server, bearer):
        """Every kind of request: allowed, refused, wrong; of jobs, objects, the audit trail, metrics and streams."""
        def get(path, **others):
            return self.asked(canaries, server, "GET", path, **others)
        value = canaries.texts["what a Secret holds"]
        shown = ("what a Secret holds",)
        secrets = "/api/v1/namespaces/default/secrets"
        status, told = self.asked(canaries, server, "POST", secrets, secret("canary", "key", value), shows=shown)
        self.assertEqual(status, 201, told)
        # Wrong Secrets: the refusal names the field, not what it holds.
        for wrong in (secret("wrong", "no/key", value), secret("Wrong_", "key", value), {**secret("wrong", "key", value), "data": {"key": value + "!"}},
                      {**secret("wrong", "key", value), "stringData": {"key": [value]}}, {**secret("wrong", "key", value), "data": value}):
            status, told = self.asked(canaries, server, "POST", secrets, wrong)
            self.assertEqual(status, 400, told)
        self.asked(canaries, server, "PUT", f"{secrets}/canary", secret("canary", "key", value), shows=shown)
        self.asked(canaries, server, "PATCH", f"{secrets}/canary", {"metadata": {"labels": {"a": "b"}}},
                   headers={"Content-Type": "application/merge-patch+json"}, shows=shown)
        get(f"{secrets}/canary", shows=shown)
        get(secrets, shows=shown)
        # A job that has the Secret in its environment and in a file, and looks at its own environment.
        job = shell_job("uses", f"env | grep -v ^KEY=; test -n \"$KEY\" && test -s /v/key && echo looked; {server.gate('end')}")
        pod = job["spec"]["template"]["spec"]
        pod["volumes"] = [{"name": "v", "secret": {"secretName": "canary"}}]
        pod["containers"][0].update(env=[{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "canary", "key": "key"}}}],
                                    volumeMounts=[{"name": "v", "mountPath": "/v"}])
        status, submitted = self.asked(canaries, server, "POST", "/v1/namespaces/default/jobs", job)
        self.assertEqual(status, 201, submitted)
        missing = json.loads(json.dumps(job))
        missing["metadata"]["name"] = "lacks"
        missing["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"] = "none"
        lacking = self.asked(canaries, server, "POST", "/v1/namespaces/default/jobs", missing)[1]
        server.wait_state(submitted["id"], "Running")
        # Then env and grep, which have what the job has, are gone.
        server.wait(lambda: "looked" in get(f"/v1/jobs/{submitted['id']}/logs")[1], what="the job has looked at its environment")
        self.search_processes(canaries, server)
        for number in (submitted["id"], lacking["id"]):
            for tail in ("", "/explain", "/events", "/pods", "/member-events", "/logs"):
                get(f"/v1/jobs/{number}{tail}")
        server.open_gate("end")
        ended = server.wait_state(submitted["id"], "Succeeded", "Failed")
        self.assertEqual(ended["state"], "Succeeded", get(f"/v1/jobs/{submitted['id']}/logs")[1])
        get(f"/v1/jobs/{submitted['id']}/logs")
        self.asked(canaries, server, "DELETE", f"/v1/jobs/{lacking['id']}")
        # What the job was given stays with it on its member as long as its record does.
        attempts = glob.glob(f"{server.dir}/members/*/*-1")
        self.assertEqual({stat.S_IMODE(os.stat(f"{each}/{name}").st_mode) for each in attempts for name in ("manifest.json", "dependents.json")}, {0o600})
        self.asked(canaries, server, "DELETE", f"/apis/batch/v1/namespaces/default/jobs/{submitted['name']}")
        server.wait(lambda: not glob.glob(f"{server.dir}/members/*/*-1"), what="the attempt's directory goes with its job")
        # Tokens: one that is known, one that is not, one in wrong places.
        unknown = canaries.texts["token that nobody knows"]
        self.assertEqual(get("/v1/whoami", headers=bearer)[0], 200)
        for headers in ({"Authorization": f"Bearer {unknown}"}, {"Authorization": f"Basic {unknown}"}, {"Authorization": unknown},
                        {"Authorization": f"Bearer {unknown} {unknown}"}, {"Authorization": f"Bearer mst1.{unknown}"}):
            self.assertEqual(get("/v1/whoami", headers=headers)[0], 401)
        get("/v1/jobs", headers={"Cookie": f"token={unknown}", "Proxy-Authorization": unknown})
        self.asked(canaries, server, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": unknown}}, shows=("token that nobody knows",))
        for path in ("/v1/jobs", "/v1/accounting", "/v1/quotas", "/v1/audit", "/v1/audit?format=jsonl", "/v1/memberclusters/east/facts", "/v1/status",
                     "/metrics", "/version", "/openapi.yaml", "/readyz", "/livez", "/v1/nothing", "/v1/jobs?limit=x", "/v1/jobs/999999",
                     "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters", "/apis/muster.io/v1/accesstokens",
                     "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", "/apis/rbac.authorization.k8s.io/v1/clusterroles"):
            get(path)
        for words in (("get", "jobs"), ("get", "secrets"), ("describe", "secret", "canary"), ("audit",), ("audit", "--verify"), ("whoami",),
                      ("doctor", "auth"), ("status",), ("cluster", "list"), ("token", "list"), ("explain", str(submitted["id"]))):
            done = server.run("muster", *words, check=False)
            if words[0] != "describe":  # shows the object as it is
                canaries.search("muster " + " ".join(words), done.stdout + done.stderr)
            self.answers += 1

    def search_processes(self, canaries, server):
        """Command lines, which everybody sees, of all processes; environments of all but the daemon and whose job has it."""
        daemon = server.process.pid
        processes = tree_of(daemon, server.dir)
        for pid in processes:
            try:
                for name in ("cmdline", "comm"):
                    with open(f"/proc/{pid}/{name}", "rb") as file:
                        canaries.search(f"{name} of a process", file.read())
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    program = file.read().split(b"\0")[0].decode(errors="replace")
                if pid != daemon and not program.endswith(("sh", "sleep")):
                    with open(f"/proc/{pid}/environ", "rb") as file:
                        canaries.search(f"environment of {program}", file.read())
            except (FileNotFoundError, ProcessLookupError):
                pass
        self.assertEqual(stat.S_IMODE(os.stat(f"/proc/{daemon}/environ").st_mode) & 0o077, 0)
        self.processes = max(self.processes, len(processes))

    def search_what_is_left(self, canaries, server):
        canaries.search("the daemon's log", server.log())
        with open(f"{server.dir}/musterd.out", "rb") as file:
            canaries.search("the daemon's output", file.read())
        # Keys are secrets themselves; what a job wrote is its user's.
        keys, jobs = f"{server.dir}/keys", [os.path.realpath(path) for path in glob.glob(f"{server.dir}/members/*/*/pods/*/work")]
        self.files += canaries.search_tree(server.dir, lambda path: path == keys or os.path.realpath(path) in jobs)

    def figure(self, what, canaries, more=""):
        print(f"\nS25: {what}: {len(canaries.texts)} canaries, {self.answers} answers, {self.files} files, {self.processes} processes, "
              f"{canaries.bytes_searched >> 20} MiB searched{more}: {len(canaries.hits)} hits")

    def setUp(self):
        self.answers = self.files = self.processes = 0

    def canaries(self, server=None):
        canaries = Canaries()
        for name in ("what a Secret holds", "token that nobody knows"):
            canaries.new(name)
        return canaries

    def test_private_database_and_a_member(self):
        canaries = self.canaries()
        server = self.start(canaries, LOCAL)
        made = ask(server, "unix", "POST", "/v1/tokens", {"user": "ann", "groups": ["system:masters"], "ttl": 3600})[1]
        canaries.know("access token", made["token"])
        self.add_member(canaries, server)
        self.use(canaries, server, {"Authorization": f"Bearer {made['token']}"})
        words = psql(server)
        tool = next(i for i, word in enumerate(words) if word.endswith("psql"))
        dump = subprocess.run([*words[:tool], words[tool][:-len("psql")] + "pg_dump", "-h", f"{server.dir}/postgres/socket", "-U", "muster", "muster"],
                              capture_output=True, check=True, timeout=PATIENCE).stdout
        self.assertIn(b"CREATE TABLE public.secrets", dump)
        canaries.search("the database's dump", dump)
        server.run("muster", "delete", "accesstoken", made["name"])
        self.search_what_is_left(canaries, server)
        self.figure("private database", canaries, f", {len(dump) >> 10} KiB of them a dump")
        self.assertEqual(canaries.hits, [])

    def add_member(self, canaries, server):
        """A member whose kubeconfig has a token, and tries to add wrong ones."""
        token = canaries.new("token of a kubeconfig")
        place = tempfile.mkdtemp(prefix="muster-s25-", dir="/tmp")
        member = subprocess.Popen([FAKE_MEMBER, "--kubeconfig-dir", place, "--members", "1", "--token", token], stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (member.terminate(), member.communicate()))
        with open(member.stdout.readline().strip(), encoding="utf-8") as file:
            kubeconfig = file.read()
        self.assertIn(token, kubeconfig)
        os.remove(f"{place}/member-1.kubeconfig")
        os.rmdir(place)
        port = kubeconfig.rpartition("127.0.0.1:")[2].split()[0]
        for wrong in (kubeconfig.replace("token:", "tokken:"), kubeconfig.replace(f"127.0.0.1:{port}", "127.0.0.1:1"),
                      kubeconfig.replace(f"token: {token}", token), kubeconfig.replace("token:", "token: x: "),
                      kubeconfig.replace("token:", "password:"), kubeconfig.replace(token, token + "x")):
            status, told = self.asked(canaries, server, "POST", "/v1/memberclusters", {"name": "away", "kubeconfig": wrong})
            self.assertEqual(status, 400, told)
        status, told = self.asked(canaries, server, "POST", "/v1/memberclusters", {"name": "west", "kubeconfig": kubeconfig, "force": True})
        self.assertEqual(status, 201, told)
        server.wait(lambda: server.get("/v1/memberclusters/west/facts")[1].get("kinds"), what="the member takes part")
        for path in ("/v1/memberclusters/west/facts", "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/west"):
            self.asked(canaries, server, "GET", path)
        server.run("muster", "cluster", "cordon", "west")
        status, told = ask(server, "tcp", "GET", "/api/v1/namespaces/muster-system/secrets/muster-member-west")
        self.assertEqual(status, 200, "an administrator finds it as a Secret")

    def test_a_database_with_a_password(self):
        canaries = self.canaries()
        database = Postgres()
        self.addCleanup(database.close)
        password = canaries.new("password of the database")
        flags = tempfile.NamedTemporaryFile("w", prefix="muster-s25-", suffix=".yaml", dir="/tmp")  # only its owner can read it
        self.addCleanup(flags.close)
        flags.write(f"postgres: {database.url().replace('muster@', f'muster:{password}@', 1)}\n")
        flags.flush()
        server = self.start(canaries, ["--config", flags.name, *LOCAL])
        made = ask(server, "unix", "POST", "/v1/tokens", {"user": "ann", "groups": ["system:masters"], "ttl": 3600})[1]
        canaries.know("access token", made["token"])
        self.use(canaries, server, {"Authorization": f"Bearer {made['token']}"})
        # The database goes and comes: the daemon complains.
        database.process.send_signal(signal.SIGINT)  # a fast shutdown
        database.process.wait(timeout=PATIENCE)
        self.asked(canaries, server, "POST", "/v1/namespaces/default/jobs", shell_job("waits", "true"))
        time.sleep(2)
        self.asked(canaries, server, "GET", "/v1/status")
        self.asked(canaries, server, "GET", "/metrics")
        database.start()
        server.wait(lambda: server.get("/readyz")[0] == 200, what="the database is back")
        self.search_what_is_left(canaries, server)
        self.figure("database with a password", canaries)
        self.assertEqual(canaries.hits, [])

    def test_a_password_behind_a_flag_is_overwritten(self):
        canaries = self.canaries()
        database = Postgres()
        self.addCleanup(database.close)
        password = canaries.new("password of the database")
        server = self.start(canaries, ["--postgres", database.url().replace("muster@", f"muster:{password}@", 1), *LOCAL])
        with open(f"/proc/{server.process.pid}/cmdline", "rb") as file:
            shown = file.read()
        self.assertIn(b"--postgres\0hidden\0", shown)
        canaries.search("the command line", shown)
        warned = [one["type"] for one in self.asked(canaries, server, "GET", "/v1/status")[1]["warnings"]]
        self.assertIn("PasswordOnCommandLine", warned)
        self.search_what_is_left(canaries, server)
        self.figure("password behind a flag", canaries)
        self.assertEqual(canaries.hits, [])

    def test_a_daemon_with_another_key_file_is_refused_at_once(self):
        canaries = self.canaries()
        database = Postgres()
        self.addCleanup(database.close)
        server = self.start(canaries, ["--postgres", database.url(), *LOCAL])
        held = canaries.new("what a Secret holds")
        status, told = ask(server, "tcp", "POST", "/api/v1/namespaces/default/secrets", secret("db", "key", held))
        self.assertEqual(status, 201, told)
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            done = subprocess.run([f"{BIN}/musterd", "--postgres", database.url(), "--data-dir", place, "--rest", "127.0.0.1:0", "--grpc",
                                   "127.0.0.1:0", *LOCAL], capture_output=True, text=True, check=False, timeout=PATIENCE)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"musterd: the key file {place}/keys/secrets is not the one that sealed this database's secrets", done.stderr)
        canaries.search("the refusal", (done.stdout + done.stderr).encode())
        self.assertEqual(canaries.hits, [])

    def test_a_database_that_is_not_there(self):
        """The refusal at the start says where it looked, and not with which password."""
        canaries = Canaries()
        password = canaries.new("password of the database")
        for url in (f"postgresql://muster:{password}@127.0.0.1:1/muster", f"postgresql://muster:{password}@/muster?host=/nowhere",
                    f"host=127.0.0.1 port=1 password={password}", f"postgresql://muster:{password}@127.0.0.1:x/muster",
                    f"postgres//muster:{password}@127.0.0.1/muster"):
            with tempfile.TemporaryDirectory(dir="/tmp") as place, open(f"{place}/musterd.yaml", "w+", encoding="utf-8") as flags:
                json.dump({"postgres": url}, flags)
                flags.flush()
                done = subprocess.run(["timeout", "-s", "TERM", "8", f"{BIN}/musterd", "--config", flags.name, "--data-dir", f"{place}/data", "--rest",
                                       "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-level", "debug", *LOCAL], capture_output=True, check=False,
                                      timeout=PATIENCE)
                self.assertNotEqual(done.returncode, 0)
                canaries.search(url.replace(password, "PASSWORD"), done.stdout + done.stderr)
                self.answers += 1
        self.figure("no database", canaries)
        self.assertEqual(canaries.hits, [])

    def test_a_key_file_that_others_may_use_is_refused(self):
        server = Server(LOCAL).start()
        self.addCleanup(server.close)
        path = f"{server.dir}/keys/secrets"
        self.assertEqual([stat.S_IMODE(os.stat(each).st_mode) for each in (os.path.dirname(path), path)], [0o700, 0o600])
        server.stop()
        refused = 0
        modes = (0o640, 0o620, 0o604, 0o660, 0o644, 0o601)
        for mode in modes:
            os.chmod(path, mode)
            before = len(server.log())
            server.launch()
            self.assertNotEqual(server.process.wait(timeout=PATIENCE), 0, oct(mode))
            with open(f"{server.dir}/musterd.out", encoding="utf-8", errors="replace") as file:
                said = server.log()[before:] + file.read()
            self.assertIn(f"the key file {path} may be used by others; run chmod 600 on it", said)
            refused += 1
        os.chmod(path, 0o600)
        server.start()
        print(f"\nS25: {len(modes)} modes of a key file that others may use, {refused} refused")


if __name__ == "__main__":
    unittest.main()
