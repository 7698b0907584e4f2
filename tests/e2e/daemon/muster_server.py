"""A musterd of a test's own: fresh data directory, ports of its own choice, real commands. Ended with the test."""
import glob
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

BIN = os.environ["MUSTER_BIN"]
SOURCE = os.environ["MUSTER_SOURCE"]


PATIENCE = 120  # seconds for what must come, on a loaded machine too


class Server:
    """flags: further musterd flags; two local clusters unless given."""

    def __init__(self, flags=None):
        self.dir = tempfile.mkdtemp(prefix="muster-e2e-", dir=os.environ.get("MUSTER_TEST_DIR", "/tmp"))
        os.chmod(self.dir, 0o755)
        self.program = f"{BIN}/musterd"
        self.port = self.grpc_port = 0  # known once it is ready, others after each start
        self.flags = flags or ["--local-cluster", "east,cpu=32,memory=128Gi,nvidia.com/gpu=16",
                               "--local-cluster", "west,cpu=32,memory=128Gi,nvidia.com/gpu=4"]
        self.process = None

    def environment(self):
        return dict(os.environ, MUSTER_URL=self.url(), HOME=self.dir, MUSTER_GRPC=f"127.0.0.1:{self.grpc_port}",
                    PATH=f"{BIN}:{BIN}/slurm:{os.environ['PATH']}", PYTHONDONTWRITEBYTECODE="1")

    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def launch(self):
        """Starts the program and waits for nothing."""
        with open(os.path.join(self.dir, "musterd.out"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--data-dir", self.dir, "--rest", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
                 "--log-file", os.path.join(self.dir, "musterd.log"), *self.flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment())

    def start(self):
        told = len(self.log())
        self.launch()
        ready = self.wait(lambda: self.logged("ready", told), what="musterd is not ready")
        self.port, self.grpc_port = ready["rest_port"], ready["grpc_port"]
        self.wait(lambda: self.get("/readyz")[0] == 200, what="musterd is not ready")
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=PATIENCE):
        """SIGTERM; the exit status, None if it was not running."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            return self.process.wait(timeout=timeout)
        return None

    def close(self):
        """Ends every job, then the daemon, then its directory."""
        try:
            if self.process and self.process.poll() is None:
                for job in self.jobs():
                    if job["state"] in ("Pending", "Held", "Admitted", "Running"):
                        self.call("DELETE", f"/v1/jobs/{job['id']}")
                self.wait(lambda: not [j for j in self.jobs() if j["state"] in ("Admitted", "Running")], what="jobs end")
            self.stop()
        finally:
            if self.process and self.process.poll() is None:
                self.kill()
            shutil.rmtree(self.dir, ignore_errors=True)

    def log(self):
        try:
            with open(os.path.join(self.dir, "musterd.log"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def logged(self, event, after=0):
        """The first whole line of this event beyond so many characters of the log; None if there is none."""
        for line in self.log()[after:].split("\n")[:-1]:
            if (entry := json.loads(line))["event"] == event:
                return entry
        return None

    def call(self, method, path, body=None, content_type="application/json", headers=None):
        """(status, parsed body or text); status 0 when nobody answers."""
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else \
            None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url() + path, data=data, method=method, headers={
            "Content-Type": content_type, **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, parse(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, parse(error.read())
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError):
            return 0, None

    def get(self, path):
        return self.call("GET", path)

    def get_when_ready(self, path):
        """The answer's body; a daemon that recovers is asked again, as its commands do."""
        return self.wait(lambda: (lambda status, body: None if status == 503 else (body,))(*self.get(path)), what=f"{path} is answered")[0]

    def jobs(self, query=""):
        return self.get_when_ready("/v1/jobs?limit=1000" + query)["items"]

    def job(self, job_id):
        return self.get_when_ready(f"/v1/jobs/{job_id}")

    def run(self, *words, stdin=None, check=True, env=None):
        """Runs a command of ours; its standard output (or the whole result with check=False)."""
        result = subprocess.run(words, env=dict(self.environment(), **(env or {})), input=stdin, capture_output=True, text=True,
                                timeout=PATIENCE, cwd=self.dir)
        if not check:
            return result
        assert result.returncode == 0, f"{words}: exit {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result.stdout

    def wait(self, condition, timeout=PATIENCE, what="condition"):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        with open(os.path.join(self.dir, "musterd.out"), encoding="utf-8", errors="replace") as file:
            out = file.read()[-2000:]
        raise AssertionError(f"{what}: not within {timeout} s; daemon exit {self.process.poll()}; {out}")

    def wait_state(self, job_id, *states):
        self.wait(lambda: self.job(job_id)["state"] in states, what=f"job {job_id} in {states}, was {self.job(job_id)}")
        return self.job(job_id)

    def gate(self, name):
        """Shell words that wait until open_gate(name): a pod goes on when its test says so."""
        return f"while [ ! -e {self.dir}/{name}.gate ]; do sleep 0.05; done"

    def open_gate(self, name):
        with open(f"{self.dir}/{name}.gate", "w", encoding="utf-8"):
            pass


def owner(workload):
    """The name of the object that a Workload belongs to; its own if to none."""
    return workload["metadata"].get("ownerReferences", [workload["metadata"]])[0]["name"]


def workload_name(server, job):
    """Kueue's generated name of the Workload of the job `job` in namespace default."""
    listed = server.get("/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads")[1]["items"]
    return next(one["metadata"]["name"] for one in listed if owner(one) == job)


def psql(server, database="muster"):
    """Words of a command that talks to the private PostgreSQL as its superuser, whom only its own account may be."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))
    account = os.stat(f"{server.dir}/postgres/db")
    become = ["setpriv", f"--reuid={account.st_uid}", f"--regid={account.st_gid}", "--clear-groups"] if os.getuid() == 0 else []
    return [*become, programs[-1] if programs else "psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-h", f"{server.dir}/postgres/socket",
            "-U", "muster", database]


def sql(server, statements):
    """The fields of each line of the answer."""
    done = subprocess.run([*psql(server), "-c", statements], check=True, capture_output=True, text=True, timeout=PATIENCE)
    return [line.split("|") for line in done.stdout.splitlines()]


def parse(raw):
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")


def example(*parts):
    return os.path.join(SOURCE, "examples", *parts)


def queues(cpu="32", memory="128Gi", gpu="16", image="", requeue_wait=""):
    """One flavor, the ClusterQueue main with this quota, its LocalQueue default; image: of batch scripts; requeue_wait: of requeued jobs."""
    waits = f', annotations: {{muster.io/requeue-wait: "{requeue_wait}"}}' if requeue_wait else ""
    annotations = f', annotations: {{muster.io/default-image: "{image}"}}' if image else ""
    return f"""
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {{name: standard}}
spec: {{}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: main{waits}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: ["cpu", "memory", "nvidia.com/gpu"]
    flavors:
    - name: standard
      resources:
      - {{name: cpu, nominalQuota: {cpu}}}
      - {{name: memory, nominalQuota: {memory}}}
      - {{name: nvidia.com/gpu, nominalQuota: {gpu}}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: default, namespace: default{annotations}}}
spec: {{clusterQueue: main}}
"""


QUEUES = queues()


def shell_job(name, script, **spec):
    """A Job of one shell container; spec overrides, `requests` for resources."""
    requests = spec.pop("requests", {"cpu": "100m"})
    pod = spec.pop("pod", {})
    # An extended resource is never overcommitted: Kubernetes wants its limit equal to its request.
    limits = {name: amount for name, amount in requests.items() if "/" in name}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, **spec, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{
                    "name": "main", "image": "debian:12", "command": ["/bin/sh", "-c", script],
                    "resources": {"requests": requests, "limits": limits}}], **pod}}}}
