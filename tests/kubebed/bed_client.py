"""A test bed from Python: the command that makes clusters and faults, and a plain client of one cluster."""

import base64
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 120  # seconds; a loaded machine is slow, a broken bed is forever


class Bed:
    """Clusters of a test's own, in a fresh folder; they end with close(), or with this process."""

    def __init__(self, *flags):
        self.program = subprocess.run([os.path.join(HERE, "build.sh")], check=True, stdout=subprocess.PIPE,
                                      text=True).stdout.strip()
        self.dir = tempfile.mkdtemp(prefix="kubebed-", dir="/tmp")
        try:
            self.call("up", "--owner-pid", str(os.getpid()), *flags)
        except BaseException:
            self.close()
            raise

    def call(self, *args, check=True):
        """A command of kubebed; what it says."""
        done = subprocess.run([self.program, *args, "--dir", self.dir], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if check and done.returncode:
            raise AssertionError("kubebed %s: %s" % (" ".join(args), done.stdout))
        return done.stdout

    def member(self, name="member-1"):
        return Member(os.path.join(self.dir, name))

    def inline_kubeconfig(self, name, user="admin"):
        """A kubeconfig of a cluster that names no files."""
        def read(*parts):
            with open(os.path.join(self.dir, name, *parts), encoding="utf-8") as file:
                return file.read()
        ca = base64.b64encode(read("pki", "ca.crt").encode()).decode()
        text = re.sub(r"certificate-authority:.*", f"certificate-authority-data: {ca}", read("kubeconfig"))
        return re.sub(r"token:.*", f"token: {read(user + '.token').strip()}", text)

    def close(self):
        self.call("down", check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


class Member:
    """A plain client of one cluster, by its client certificate."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "cluster.json")) as file:
            self.url = "https://127.0.0.1:%d" % json.load(file)["ports"]["apiserver"]
        self.tls = ssl.create_default_context(cafile=os.path.join(folder, "pki", "ca.crt"))
        self.admin = ssl.create_default_context(cafile=os.path.join(folder, "pki", "ca.crt"))
        self.admin.load_cert_chain(os.path.join(folder, "pki", "admin.crt"), os.path.join(folder, "pki", "admin.key"))

    def open(self, method, path, body=None, token=None, kind="application/json", timeout=30):
        request = urllib.request.Request(self.url + path, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", kind)
        if token:
            request.add_header("Authorization", "Bearer " + token)
        return urllib.request.urlopen(request, context=self.tls if token else self.admin, timeout=timeout)

    def call(self, method, path, body=None, **options):
        with self.open(method, path, body, **options) as answer:
            return json.load(answer)

    def status_of(self, method, path, body=None, **options):
        try:
            with self.open(method, path, body, **options) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def token(self, user):
        with open(os.path.join(self.folder, user + ".token")) as file:
            return file.read()

    def wait(self, path, holds):
        deadline = time.monotonic() + PATIENCE
        while True:
            seen = self.call("GET", path)
            if holds(seen):
                return seen
            if time.monotonic() > deadline:
                raise AssertionError("%s stays %s" % (path, json.dumps(seen.get("status"))))
            time.sleep(0.1)


def condition(seen, kind):
    for each in seen.get("status", {}).get("conditions", []):
        if each["type"] == kind:
            return each["status"] == "True"
    return False


def template(policy="Never", **life):
    return {"metadata": {"annotations": {"bed.test/" + key.replace("_", "-"): value for key, value in life.items()}},
            "spec": {"restartPolicy": policy, "containers": [
                {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}


def job(name, pods=1, **life):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template(**life)}}


JOBS = "/apis/batch/v1/namespaces/default/jobs"
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
TORCH = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
LWS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"
RAYJOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
RAYCLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
