"""R06: PostgreSQL's disk is full (tables, then the write-ahead log), it only reads, it has no connection left. Submissions are answered 503 with
Retry-After, nothing is admitted, and when there is room again everything goes on without anybody's help.

    r06.py [--short] [--seed N] [--seconds N]

The disks are small tmpfs, in a mount namespace of their own. A PostgreSQL that ends by itself because of its full log is started again as
a service manager would. Exit 1 for a wrong outcome; times are told only."""
import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import time

from ground import PATIENCE, PROGRAMS, Daemon, Database, conclude, options
from load import Reader, Submitters, script
from verdict import accepts, settle

# So that tables need new pages soon.
COMMENT = "x" * 1000
# As many as fit on the disk of the write-ahead log.
SEGMENTS = 5
# Of PostgreSQL's startup message: version 3.0.
PROTOCOL = 196608


def with_own_mounts():
    """Runs this program again in a mount namespace of its own, where what it mounts ends with it, also if it is killed."""
    if "MUSTER_OWN_MOUNTS" not in os.environ:
        rights = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        os.execvpe("unshare", ["unshare", "--mount", *rights, sys.executable, *sys.argv], dict(os.environ, MUSTER_OWN_MOUNTS="1"))


def mount_tmpfs(place, words):
    """mount(8) does this for root only, whatever the namespace allows."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", place.encode(), b"tmpfs", 0, words.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {place}: {os.strerror(ctypes.get_errno())}")


class SmallDisk:
    """A directory of a database on a tmpfs of its own; `fill` leaves no byte, `free` gives them back."""

    def __init__(self, database, below, size_mib):
        self.path = os.path.join(database.data, below)
        self.away = self.path + ".away"
        database.process.send_signal(signal.SIGINT)
        database.process.wait()
        owner = os.stat(self.path)
        os.rename(self.path, self.away)
        os.mkdir(self.path)
        mount_tmpfs(self.path, f"size={size_mib}m,mode=0700,uid={owner.st_uid},gid={owner.st_gid}")
        subprocess.run(["cp", "-a", self.away + "/.", self.path], check=True)
        database.start()

    def fill(self):
        with open(os.path.join(self.path, "ballast"), "wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 65536):
                    pass
            except OSError:
                pass

    def free(self):
        os.remove(os.path.join(self.path, "ballast"))

    def close(self):
        ctypes.CDLL(None).umount2(self.path.encode(), 2)  # MNT_DETACH


class Crowd:
    """Sessions that take all connections of a PostgreSQL, those for its superusers too."""

    def __init__(self, port):
        self.sessions = []
        start = struct.pack(">I", PROTOCOL) + b"user\0muster\0database\0postgres\0application_name\0crowd\0\0"
        refused, deadline = 0, time.monotonic() + 30
        while refused < 5 and time.monotonic() < deadline:
            session = socket.create_connection(("127.0.0.1", port), timeout=10)
            session.sendall(struct.pack(">I", 4 + len(start)) + start)
            if session.recv(1) == b"R":
                self.sessions.append(session)
                refused = 0
            else:
                session.close()
                refused += 1
                time.sleep(0.05)

    def close(self):
        for session in self.sessions:
            session.close()


class Trial:
    def __init__(self, seconds):
        self.seconds, self.wrong, self.again = seconds, [], []
        self.database = Database()
        self.disks = [SmallDisk(self.database, "base", 256), SmallDisk(self.database, "pg_wal", SEGMENTS * 16)]
        for name, value in (("max_wal_size", "48MB"), ("min_wal_size", "32MB"), ("max_connections", "20"), ("wal_recycle", "off")):
            self.database.sql(f"alter system set {name} = '{value}'", database="postgres")
        self.restart()
        self.daemon = Daemon(self.database.url()).start().apply()
        self.clients = Submitters(self.daemon, leaves=11, job=lambda key: script(key, comment=COMMENT), pause=0.005, number=4)

    def restart(self):
        self.database.process.send_signal(signal.SIGINT)
        self.database.process.wait()
        self.database.start()

    def close(self):
        self.daemon.discard()
        self.database.close()
        for disk in self.disks:
            disk.close()

    def fault(self, name, begin, end, ends_server=False):
        """Brings a fault about until submissions are refused, holds it, ends it, and waits until jobs are acknowledged again."""
        self.clients.until(len(self.clients.told_at) + 50)
        refused = len(self.clients.refusals)
        reader = Reader(self.daemon, "/v1/jobs?limit=5")
        begin()
        deadline = time.monotonic() + PATIENCE
        while len(self.clients.refusals) < refused + 20:
            assert time.monotonic() < deadline, f"{name}: submissions are not refused"
            time.sleep(0.01)
        time.sleep(self.seconds)
        reader.close()
        end()
        healed = time.monotonic()
        self.again.append(self.clients.next_after(healed, meanwhile=lambda: ends_server and self.keep_server(name)) - healed)
        seen = self.clients.refusals[refused:]
        odd = [(one.status, one.text) for one in seen if one.status != 503 or not one.retry_after]
        self.wrong += [f"{name}: a submission was answered {one}" for one in odd[:3]]
        reads = [one for one in reader.seen if one[2] not in (200, 503)]
        self.wrong += [f"{name}: a read was answered {one}" for one in reads[:3]]
        texts = sorted({one.text.split('"detail":')[-1][:110] for one in seen})
        print(f"{name}: {len(seen)} submissions refused, such as {texts[:2]}; {sum(one[2] == 200 for one in reader.seen)} of {len(reader.seen)} reads "
              f"answered 200; acknowledged again after {self.again[-1]:.2f} s", flush=True)

    def keep_server(self, name):
        """As a service manager: a PostgreSQL may need seconds to end after a write to its log has failed, so this is asked again and again."""
        if self.database.process.poll() is not None:
            print(f"{name}: PostgreSQL has ended by itself and is started again")
            self.database.start()

    def run(self):
        base, wal = self.disks
        self.fault("disk of tables full", base.fill, base.free, ends_server=True)
        self.fault("read-only", lambda: self.database.set("default_transaction_read_only", "on"), self.write_again)
        crowd = []

        def crowded():
            self.database.end_sessions()
            crowd.append(Crowd(self.database.port))
            self.end_daemons_sessions(crowd[0])
        self.fault("no connection left", crowded, lambda: crowd[0].close())

        def filled():
            wal.fill()
            # Segments that were made before take several seconds of writes; none is left after as many switches.
            for _ in range(SEGMENTS):
                self.database.sql("select pg_switch_wal()", database="postgres", check=False)
        self.fault("disk of the log full", filled, wal.free, ends_server=True)
        self.clients.close()
        self.wrong += settle(self.daemon, self.database.sql)
        return accepts(self.database.sql, self.clients.acknowledged, self.clients.left)

    def write_again(self):
        subprocess.run([os.path.join(PROGRAMS, "psql"), "-qX", "-d", self.database.conninfo("postgres"), "-c", "set default_transaction_read_only = off",
                        "-c", "alter system reset default_transaction_read_only", "-c", "select pg_reload_conf()"], check=True, capture_output=True)

    def end_daemons_sessions(self, crowd):
        """Through one session of the crowd, for there is no other: the daemon's sessions end, and the crowd takes their places."""
        statement = b"select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'musterd%'\0"
        crowd.sessions[0].sendall(b"Q" + struct.pack(">I", 4 + len(statement)) + statement)
        more = Crowd(self.database.port)
        crowd.sessions += more.sessions


def main():
    with_own_mounts()
    chosen = options(__doc__.split("\n", maxsplit=1)[0], seconds=(20.0, 1.0))
    trial = Trial(chosen.seconds)
    try:
        told = trial.run()
        if len(trial.daemon.ready_s) != 1 or trial.daemon.process.poll() is not None:
            trial.wrong.append("the daemon has ended")
    finally:
        trial.close()
    for sentence in trial.wrong:
        print(sentence)
    return conclude("R06", f"{told}, {len(trial.again)} faults; acknowledged again after at most {max(trial.again):.2f} s",
                    "503 with Retry-After, 0 lost, heals by itself", told.sound() and not trial.wrong)


if __name__ == "__main__":
    sys.exit(main())
