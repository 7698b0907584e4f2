"""Three nodes of Patroni on PostgreSQL and one etcd, all on loopback, as the account postgres. Patroni and etcd lie in the folder
MUSTER_PATRONI (scripts/patroni.sh). Standard library only."""
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from pg_pair import PATIENCE, PROGRAMS
from ports import free_port

FOLDER = os.environ.get("MUSTER_PATRONI", "")
# Patroni takes no shorter time to live: what a lost host costs.
TTL = 20
CONFIG = """
scope: muster
name: {name}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
etcd3: {{host: "127.0.0.1:{etcd}"}}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: 1
    retry_timeout: 3
    primary_start_timeout: 0
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {{use_pg_rewind: true, use_slots: true, parameters: {{wal_log_hints: "on", wal_retrieve_retry_interval: 500ms, max_connections: 100, shared_buffers: 32MB}}}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}]
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {dir}/data
  bin_dir: {programs}
  pgpass: {dir}/pgpass
  remove_data_directory_on_diverged_timelines: true
  authentication: {{superuser: {{username: postgres}}, replication: {{username: postgres}}, rewind: {{username: postgres}}}}
  parameters: {{unix_socket_directories: {dir}}}
"""


def _account():
    account = pwd.getpwnam("postgres")
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}


def _start(words, log, **environment):
    with open(log, "ab") as out:
        return subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd="/", env=dict(os.environ, **environment),
                                start_new_session=True, **_account())


def _ends(process, number=signal.SIGKILL):
    if process and process.poll() is None:
        process.send_signal(number)
        process.wait(timeout=PATIENCE)


def _python():
    return os.path.join(FOLDER, "usr", "lib", "python3", "dist-packages")


class Node:
    def __init__(self, folder, name, etcd):
        self.name, self.port, self.rest = name, free_port(), free_port()
        self.dir = os.path.join(folder, name)
        os.mkdir(self.dir, 0o700)
        if os.geteuid() == 0:
            shutil.chown(self.dir, "postgres", "postgres")
        self.config = os.path.join(folder, f"{name}.yml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(name=name, rest=self.rest, etcd=etcd, ttl=TTL, port=self.port, dir=self.dir, programs=PROGRAMS))
        self.log = os.path.join(folder, f"{name}.log")
        self.patroni = None

    def start(self):
        self.patroni = _start(["/usr/bin/python3", os.path.join(FOLDER, "usr", "bin", "patroni"), self.config], self.log, PYTHONPATH=_python())

    def kill(self):
        """As when its host is lost: Patroni and PostgreSQL at once."""
        _ends(self.patroni)
        try:
            with open(os.path.join(self.dir, "data", "postmaster.pid"), encoding="ascii") as file:
                postmaster = int(file.readline())
            with open(f"/proc/{postmaster}/task/{postmaster}/children", encoding="ascii") as file:
                pids = [postmaster, *map(int, file.read().split())]
        except (OSError, ValueError):
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def sql(self, statement, database="muster"):
        """The fields of each line of the answer; None if there is none."""
        done = subprocess.run([os.path.join(PROGRAMS, "psql"), "-qAt", "-X", "-v", "ON_ERROR_STOP=1", "-d",
                               f"host=127.0.0.1 port={self.port} user=postgres dbname={database} connect_timeout=5", "-c", statement],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        return None if done.returncode else [line.split("|") for line in done.stdout.splitlines()]

    def leads(self):
        return self.sql("select pg_is_in_recovery()", "postgres") == [["f"]]

    def told(self):
        """What its Patroni says; {} if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest}/patroni", timeout=5) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)
        except (OSError, ValueError):
            return {}


class Cluster:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="muster-patroni-", dir="/tmp")
        os.chmod(self.dir, 0o755)
        etcd, peers = free_port(), free_port()
        data = os.path.join(self.dir, "etcd")
        os.mkdir(data, 0o700)
        if os.geteuid() == 0:
            shutil.chown(data, "postgres", "postgres")
        self.nodes = []
        self.etcd = _start([os.path.join(FOLDER, "usr", "bin", "etcd"), "--name", "one", "--data-dir", data,
                            "--listen-client-urls", f"http://127.0.0.1:{etcd}", "--advertise-client-urls", f"http://127.0.0.1:{etcd}",
                            "--listen-peer-urls", f"http://127.0.0.1:{peers}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peers}",
                            "--initial-cluster", f"one=http://127.0.0.1:{peers}"], os.path.join(self.dir, "etcd.log"))
        for number in range(3):
            self.nodes.append(Node(self.dir, f"node-{number + 1}", etcd))
            self.nodes[-1].start()
            self.wait(self.leader, "there is a primary")
        self.await_standbys(2)
        self.leader().sql("create database muster", "postgres")

    def wait(self, condition, what, within=2 * PATIENCE):
        until = time.monotonic() + within
        while time.monotonic() < until:
            if found := condition():
                return found
            time.sleep(0.05)
        for node in self.nodes:
            with open(node.log, encoding="utf-8", errors="replace") as file:
                print(f"{node.name}: {file.read()[-1500:]}", file=sys.stderr)
        raise AssertionError(f"{what}: never")

    def leader(self):
        return next((node for node in self.nodes if node.leads()), None)

    def await_standbys(self, count):
        """Waits until so many standbys stream, one of them synchronously."""
        def there():
            leader = self.leader()
            rows = leader and leader.sql("select state, sync_state from pg_stat_replication", "postgres")
            return rows and len([row for row in rows if row[0] == "streaming"]) >= count and any(row[1] in ("sync", "quorum") for row in rows)
        self.wait(there, f"{count} standbys")

    def url(self):
        return f"postgresql://postgres@{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}/muster"

    def control(self, *words):
        """patronictl, as an administrator types it."""
        done = subprocess.run(["/usr/bin/python3", os.path.join(FOLDER, "usr", "bin", "patronictl"), "-c", self.nodes[0].config, *words],
                              env=dict(os.environ, PYTHONPATH=_python(), LC_ALL="C.UTF-8"), capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, f"patronictl {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def close(self):
        for node in self.nodes:
            node.kill()
        _ends(self.etcd)
        shutil.rmtree(self.dir, ignore_errors=True)
