"""Users of this host, made of nothing but their numbers, who ask a test's daemon: its socket tells their account."""
import json
import os
import subprocess
import urllib.error
import urllib.request

from muster_server import PATIENCE

ENDED = ("Succeeded", "Failed", "Cancelled")


class Person:
    """A user whose number has no entry in passwd."""

    def __init__(self, server, uid):
        self.server, self.uid = server, uid

    def curl(self, *words, body=None):
        """(status, text) of a request that this user's process makes."""
        done = subprocess.run(
            ["curl", "-sS", "--max-time", str(PATIENCE), "-w", "\n%{http_code}", "-H", "Content-Type: application/json",
             *(["--data-binary", "@-"] if body is not None else []), *words],
            input=None if body is None else json.dumps(body), capture_output=True, text=True, check=True, cwd="/",
            user=self.uid, group=self.uid, extra_groups=[], env={"PATH": os.environ["PATH"], "HOME": "/"}, timeout=PATIENCE)
        text, _, status = done.stdout.rpartition("\n")
        return int(status), text

    def offer(self, manifest):
        """The number of the job; None if the manifest is refused."""
        status, text = self.curl("-X", "POST", self.server.url() + "/v1/namespaces/default/jobs", body=manifest)
        assert status in (201, 400, 403, 422), f"user {self.uid}: {status} {text}"
        return json.loads(text)["id"] if status == 201 else None

    def submit(self, manifest):
        """The number of the job."""
        job_id = self.offer(manifest)
        assert job_id is not None, f"user {self.uid} may not submit {json.dumps(manifest)}"
        return job_id

    def end_of(self, job_id):
        """The job when it has ended, and what it wrote (read by the administrator)."""
        job = self.server.wait_state(job_id, *ENDED)
        try:
            with urllib.request.urlopen(f"{self.server.url()}/v1/jobs/{job_id}/logs", timeout=PATIENCE) as answer:
                return job, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as none:
            with none:
                return job, none.read().decode(errors="replace")


def make(path, mode, text=None):
    """A file with the text, or a directory, with this mode whatever the umask."""
    if text is None:
        os.mkdir(path)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod(path, mode)
    return path
