"""PostgreSQLs of a test's own: a primary, with a synchronous standby if wanted. Standard library only."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from ports import free_port

PROGRAMS = (sorted(glob.glob("/usr/lib/postgresql/*/bin")) or ["/usr/bin"])[-1]
PATIENCE = 120


class Postgres:
    """One server on a TCP port of loopback. `primary`: copy that one and be its standby, named `name`. `space`: it runs in that network
    namespace (network_space.py of tests/e2e/replica) and listens there."""

    def __init__(self, name="primary", primary=None, port=None, space=None):
        self.name, self.port, self.space = name, port or free_port(), space
        self.host = space.server if space else "127.0.0.1"
        self.user = "postgres" if os.geteuid() == 0 else None
        self.dir = tempfile.mkdtemp(prefix="muster-pg-", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.data = os.path.join(self.dir, "data")
        os.mkdir(self.data, 0o700)
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(self.dir, account.pw_uid, account.pw_gid)
            os.chown(self.data, account.pw_uid, account.pw_gid)
        self.process = None
        if primary is None:
            self.tool("initdb", "-D", self.data, "-U", "muster", "-A", "trust", "-N", "--locale=C", "-E", "UTF8")
            if space:
                with open(os.path.join(self.data, "pg_hba.conf"), "a", encoding="utf-8") as file:
                    file.write(f"host all all {space.client}/32 trust\n")
        else:
            self.tool("pg_basebackup", "-D", self.data, "-d", primary.conninfo("postgres"), "-R", "-c", "fast", "-X", "stream")
            with open(os.path.join(self.data, "postgresql.auto.conf"), "a", encoding="utf-8") as file:
                file.write(f"primary_conninfo = '{primary.conninfo('postgres')} application_name={name}'\n")
                file.write("synchronous_standby_names = ''\n")  # once promoted, it has no standby
        self.start()
        if primary is None:
            self.sql("create database muster", database="postgres")

    def _as_user(self):
        return {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []} if self.user else {}

    def tool(self, program, *words):
        subprocess.run([os.path.join(PROGRAMS, program), *words], check=True, capture_output=True, cwd="/", timeout=PATIENCE, **self._as_user())

    def start(self):
        with open(os.path.join(self.dir, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*(self.space.enter() if self.space else []), os.path.join(PROGRAMS, "postgres"), "-D", self.data, "-p", str(self.port),
                 "-c", f"listen_addresses={self.host}",
                 "-c", f"unix_socket_directories={self.dir}", "-c", "shared_buffers=32MB", "-c", "hot_standby=on", "-c", "fsync=on", "-c", "wal_retrieve_retry_interval=500ms"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", **({} if self.space else self._as_user()))
        self.wait(lambda: self.sql("select 1", database="postgres", check=False) == [["1"]], "PostgreSQL answers")

    def wait(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if value := condition():
                return value
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as file:
            raise AssertionError(f"{self.name}: {what}: never; {file.read()[-1500:]}")

    def conninfo(self, database="muster"):
        # A unix socket is reached from every network namespace.
        return f"host={self.dir if self.space else self.host} port={self.port} user=muster dbname={database}"

    def url(self, *others):
        hosts = ",".join(f"{server.host}:{server.port}" for server in (self, *others))
        return f"postgresql://muster@{hosts}/muster"

    def sql(self, statement, database="muster", check=True):
        """The fields of each line of the answer; None for a failure that is not checked."""
        done = subprocess.run([os.path.join(PROGRAMS, "psql"), "-qAt", "-X", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo(database), "-c", statement],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            assert not check, f"{statement}: {done.stderr}"
            return None
        return [line.split("|") for line in done.stdout.splitlines()]

    def processes(self):
        """The postmaster and its children."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [pid, *map(int, file.read().split())]

    def signal(self, number):
        for pid in self.processes():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill(self):
        """As when its host is lost: at once, and with everything that it has not written."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def promote(self):
        """Makes the standby a primary without a standby; returns when it takes writes."""
        self.sql("select pg_promote(true, 60)", database="postgres")
        self.wait(lambda: self.sql("select pg_is_in_recovery()", database="postgres") == [["f"]], "promoted")

    def end_sessions(self, database="muster"):
        """Ends all sessions of daemons; tells how many writers there were."""
        return len(self.sql("select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name = 'musterd writer' "
                            f"and datname = '{database}'", database="postgres"))

    def close(self):
        if self.process and self.process.poll() is None:
            children = self.processes()
            self.process.send_signal(signal.SIGQUIT)
            for pid in children:
                try:
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def synchronous(primary, standby):
    """Commits of the primary wait for the standby from here on."""
    primary.sql(f"alter system set synchronous_standby_names = 'FIRST 1 ({standby.name})'", database="postgres")
    primary.sql("select pg_reload_conf()", database="postgres")
    primary.wait(lambda: primary.sql("select sync_state from pg_stat_replication", database="postgres") == [["sync"]], "the standby is synchronous")
