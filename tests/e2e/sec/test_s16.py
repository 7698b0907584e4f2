"""S16, and part 4 of issue 14: a job of another user reads, writes and signals nothing that is not its user's."""
import glob
import json
import os
import signal
import subprocess
import unittest

from muster_server import QUEUES, Server, sql, shell_job
from people import Person, make

ALICE, BOB = 47110, 47111  # Bob's job has what Alice's try to reach
HIDDEN = "hidden-from-alice"


def pod(script="cat; ls /v 2>&1; cat /v/* 2>/dev/null", **spec):
    """A Job whose pod spec has these further fields; those of its container in `container`, its annotations in `files`."""
    container, files = spec.pop("container", {}), spec.pop("files", {})
    job = shell_job("", script, pod=spec, requests={"cpu": "10m"})
    job["spec"]["template"]["spec"]["containers"][0].update(container)
    job["spec"]["template"]["metadata"] = {"annotations": {f"muster.io/{key}": value for key, value in files.items()}}
    return job


def host(path, kind="Directory"):
    return {"volumes": [{"name": "v", "hostPath": {"path": path, "type": kind}}],
            "container": {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}}


def linked(target):
    """An init container puts a link where the main container mounts a part of the volume."""
    return {"volumes": [{"name": "v", "emptyDir": {}}],
            "initContainers": [{"name": "link", "image": "debian:12",
                                "command": ["/bin/sh", "-c", f"rmdir /w/part; ln -s {target} /w/part"],
                                "volumeMounts": [{"name": "v", "mountPath": "/w"}]}],
            "container": {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "part"}]}}


@unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
class S16(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--local-cluster", "east,cpu=32,memory=128Gi"])
        cls.dir = cls.server.dir
        # Left open by an earlier release, a backup or a hand.
        make(f"{cls.dir}/members", 0o755)
        cls.credentials = make(make(f"{cls.dir}/members.d", 0o755) + "/left", 0o644, HIDDEN)
        cls.closed = make(f"{cls.dir}/closed", 0o700)
        cls.secret = make(f"{cls.closed}/secret", 0o600, HIDDEN)
        cls.kept = make(f"{cls.dir}/kept", 0o644, "of root\n")
        cls.open_secret = make(f"{cls.dir}/secret-0600", 0o600, HIDDEN)
        cls.server.start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES + f"""
---
apiVersion: v1
kind: Namespace
metadata: {{name: default, labels: {{pod-security.kubernetes.io/enforce: privileged}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: hush, namespace: default}}
stringData: {{key: {HIDDEN}}}
""")
        cls.alice, cls.bob = Person(cls.server, ALICE), Person(cls.server, BOB)
        lasting = pod("echo hidden-from-alice; echo hidden-from-alice > mine; cat /v/key >/dev/null && touch /e/up; exec sleep 3600",
                      volumes=[{"name": "v", "secret": {"secretName": "hush"}}, {"name": "e", "emptyDir": {}}],
                      container={"volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "e", "mountPath": "/e"}],
                                 "env": [{"name": "TOKEN", "value": HIDDEN}]})
        lasting["metadata"]["name"] = "bobs"
        cls.bobs = cls.bob.submit(lasting)
        cls.server.wait(lambda: glob.glob(f"{cls.dir}/members/east/*/pods/*/volumes/e/up"), what="Bob's job runs")
        cls.bobs_pod = os.path.dirname(os.path.dirname(os.path.dirname(
            glob.glob(f"{cls.dir}/members/east/*/pods/*/volumes/e/up")[0])))
        with open(f"{cls.bobs_pod}/status.json", encoding="utf-8") as file:
            cls.supervisor = json.load(file)["pid"]
        found = cls.server.wait(lambda: subprocess.run(["pgrep", "-u", str(BOB), "-x", "sleep"], capture_output=True, text=True, check=False).stdout,
                                what="Bob's job sleeps")
        cls.bobs_process = int(found.split()[0])

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def manifests(self):
        """Manifests that name what is not Alice's. None of their jobs may print it, write to it or succeed."""
        key = glob.glob(f"{self.bobs_pod}/volumes/v*/key")[0]
        roots = {"securityContext": {"runAsUser": 0}}
        attempts = {
            # The six shown in the issue that are a manifest's.
            "stdin-path of a 0600 file": pod(files={"stdin-path": self.open_secret}),
            "subPath over a link to /root": pod(**linked("/root")),
            "stdin-path of /etc/shadow": pod(files={"stdin-path": "/etc/shadow"}),
            "stdin-path of a Secret of another job": pod(files={"stdin-path": key}),
            "runAsUser 0": pod("id -u", **roots),
            "hostPath of another job's directory": pod(**host(self.bobs_pod + "/work")),
            # And more.
            "stdout-path over root's file": pod("echo x", files={"stdout-path": self.kept}),
            "stderr-path over root's file": pod("echo x >&2", files={"stderr-path": self.kept}),
            "stdout-path in root's directory": pod("echo x", files={"stdout-path": f"{self.dir}/new"}),
            "stdout-path appended to root's file": pod("echo x", files={"stdout-path": self.kept, "open-mode": "append"}),
            "workingDir in a closed directory": pod("cat secret", container={"workingDir": self.closed}),
            "hostPath of /root": pod("ls -A /v/ && false || ls /v/.", **host("/root")),
            "hostPath of a closed directory": pod(**host(self.closed)),
            "hostPath made in root's directory": pod("true", **host(f"{self.dir}/made", "DirectoryOrCreate")),
            "hostPath of the database's socket": pod(**host(f"{self.dir}/postgres/socket")),
            "hostPath of the members' credentials": pod(**host(f"{self.dir}/members.d")),
            "hostPath of a Secret's volume": pod(**host(os.path.dirname(key))),
            "subPath over a link to /": pod(**linked("/")),
            "subPath over a link upwards": pod(**linked("../../../../closed")),
            "subPath upwards": pod(volumes=[{"name": "v", "emptyDir": {}}],
                                   container={"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "../../.."}]}),
            "a Secret's item upwards": pod(volumes=[{"name": "v", "secret": {"secretName": "hush", "items": [
                {"key": "key", "path": "../../x"}]}}]),
            "stdin-path by a link in /proc": pod(files={"stdin-path": f"/proc/{self.server.process.pid}/environ"}),
            "runAsUser of Bob": pod("id -u", securityContext={"runAsUser": BOB}),
            "runAsUser 0 of a container": pod("id -u", container=roots),
            "runAsGroup 0": pod("id -g", securityContext={"runAsGroup": 0}),
            "supplementalGroups of shadow": pod("id -G", securityContext={"supplementalGroups": [42]}),
            "fsGroup 0": pod("id -G", securityContext={"fsGroup": 0}),
        }
        for number, job in enumerate(attempts.values()):
            job["metadata"]["name"] = f"try-{number}"
        return attempts

    def commands(self):
        """Commands of a job of Alice's own. None of them may succeed."""
        data, bobs, daemon = self.dir, self.bobs_pod, self.server.process.pid
        attempt = os.path.dirname(os.path.dirname(bobs))
        with open(f"{data}/postgres/db/postmaster.pid", encoding="utf-8") as file:
            postmaster = int(file.readline())
        connect = "import socket; socket.socket(socket.AF_UNIX).connect('{}')"
        return [
            # Shown in the issue.
            "cat /etc/shadow", f"kill -TERM {daemon}", f"python3 -c \"{connect.format(data + '/postgres/socket/.s.PGSQL.5432')}\"",
            f"cat {self.credentials}",
            f"ls {data}", f"ls {data}/members.d", f"ls {data}/postgres", f"ls {data}/postgres/socket",
            f"cat {data}/postgres/db/PG_VERSION", f"cat {data}/musterd.lock", f"touch {data}/new", f"rm -f {data}/kept",
            f"echo x >> {self.kept}", f"cat {self.secret}", f"cat {self.open_secret}", f"ls {data}/members", f"ls {data}/members/east",
            f"ls {attempt}", f"cat {attempt}/attempt.json", f"cat {attempt}/manifest.json", f"cat {attempt}/dependents.json",
            f"ls {bobs}", f"cat {bobs}/spec.json", f"cat {bobs}/status.json", f"cat {bobs}/log/main/*", f"cat {bobs}/work/mine",
            f"touch {bobs}/work/planted", f"touch {bobs}/volumes/e/planted", f"cat {bobs}/volumes/v*/key", f"touch {bobs}/stop",
            f"kill -0 {daemon}", f"kill -KILL {postmaster}", f"kill -KILL {self.supervisor}", f"kill -KILL {self.bobs_process}",
            f"cat /proc/{self.bobs_process}/environ", f"ls /proc/{self.bobs_process}/cwd/", f"cat /proc/{daemon}/environ",
            f"ls /proc/{daemon}/fd/", f"head -c 1 /proc/{daemon}/mem", "cat ../spec.json", "ls ..", "echo x > ../status.json",
            "mount -t tmpfs none /mnt", "unshare --user --map-root-user true", "chroot / true", "su -c true root",
            "python3 -c 'import os; os.setuid(0)'", f"python3 -c 'import os; os.setgid({BOB})'",
        ]

    def test_nothing_of_others_is_read_written_or_signalled(self):
        reached = []
        manifests, commands = self.manifests(), self.commands()
        ids = {what: self.alice.offer(job) for what, job in manifests.items()}
        accepted = {what: job_id for what, job_id in ids.items() if job_id is not None}
        # The namespace allows what Pod Security would refuse: the member must refuse it by itself.
        self.assertGreaterEqual(len(accepted), 20, ids)
        for what, job_id in accepted.items():
            job, log = self.alice.end_of(job_id)
            if job["state"] != "Failed" or HIDDEN in log or "root:" in log:
                reached.append(f"{what}: {job['state']} {log[:200]}")
        # Each command says on a line of its own that it succeeded; the first one does.
        script = "\n".join(["id -u && echo REACHED control",
                            *(f"( {command} ) </dev/null >>out 2>/dev/null && echo REACHED {number}"
                              for number, command in enumerate(commands)), "cat out", "true"])
        job = pod(script)
        job["metadata"]["name"] = "commands"
        ended, log = self.alice.end_of(self.alice.submit(job))
        self.assertEqual(ended["state"], "Succeeded", log)
        self.assertIn(f"{ALICE}\nREACHED control", log)
        reached += [commands[int(line.split()[1])] for line in log.splitlines()
                    if line.startswith("REACHED ") and line != "REACHED control"]
        if HIDDEN in log:
            reached.append("the commands printed what is hidden")
        # What stands after all attempts.
        self.assertIsNone(self.server.process.poll())
        self.assertEqual(self.server.job(self.bobs)["state"], "Running")
        self.assertEqual(sql(self.server, "select 1"), [["1"]])
        with open(self.kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), "of root\n")
        for path in ("new", "made"):
            self.assertFalse(os.path.exists(f"{self.dir}/{path}"), path)
        self.assertFalse(glob.glob(f"{self.bobs_pod}/*/**/planted", recursive=True))
        print(f"S16: {len(manifests) + len(commands)} attempts as another user, {len(reached)} reached what is not theirs")
        self.assertGreaterEqual(len(manifests) + len(commands), 50)
        self.assertEqual(reached, [])

    def test_who_runs_what(self):
        """Submitter, without an account, impersonated, and root."""
        own = pod("id -u")
        own["metadata"]["name"] = "own"
        self.assertEqual(self.alice.end_of(self.alice.submit(own))[1], f"{ALICE}\n")
        own["metadata"]["name"] = "roots"
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", own)
        self.assertEqual(status, 201, job)
        self.assertEqual(self.alice.end_of(job["id"])[1], "0\n")
        own["metadata"]["name"] = "nobodys"
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", own, headers={"X-Muster-User": "no-such-user-here"})
        self.assertEqual(status, 201, job)
        self.assertEqual(self.alice.end_of(job["id"])[1], "65534\n")

    def test_directories_are_closed_at_a_start(self):
        modes = {name: os.stat(f"{self.dir}/{name}").st_mode & 0o7777 for name in ("", "members", "members.d", "postgres")}
        self.assertEqual(modes, {"": 0o711, "members": 0o711, "members.d": 0o700, "postgres": 0o700})
        repaired = [json.loads(line)["path"] for line in self.server.log().splitlines() if '"rights_repaired"' in line]
        self.assertIn(f"{self.dir}/members.d", repaired)

    def test_a_signal_to_an_own_process_still_works(self):
        job = pod("sleep 3600 & kill -TERM $! && wait $!; test $? -eq $((128 + %d))" % signal.SIGTERM)
        job["metadata"]["name"] = "signals"
        self.assertEqual(self.alice.end_of(self.alice.submit(job))[0]["state"], "Succeeded")


if __name__ == "__main__":
    unittest.main()
