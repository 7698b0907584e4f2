"""The trial of R01 by `sbatch` on two sites: a musterd, and the slurmctld of Debian. Both are killed at random instants and started again."""
import os
import random
import subprocess
import threading
import time

from ground import Daemon, Database
from verdict import Accepts

from slurm_site import Golden  # noqa: I100 (ground extends the path)

CLIENTS = 8
# Slurm of Debian answers no sbatch while its controller is away: the command waits, and is ended after this.
PATIENCE_S = 20


class Muster:
    name = "musterd"

    def __enter__(self):
        self.database = Database()
        self.daemon = Daemon(self.database.url()).start()
        self.daemon.apply()
        return self

    def __exit__(self, *_):
        self.daemon.discard()
        self.database.close()

    def environment(self):
        return self.daemon.environment()

    def kill(self):
        self.daemon.kill()

    def start(self):
        """How long it took until the controller was ready."""
        self.daemon.start()
        return self.daemon.ready_s[-1]

    def rows(self):
        return self.database.sql("select id, coalesce(display_name, name) from jobs")


class Slurm:
    name = "slurmctld"

    def __init__(self, place):
        # All jobs of the trial stay, held.
        os.environ.setdefault("SLURM_GOLDEN_LINES", "MaxJobCount=200000")
        self.golden = Golden(place)

    def __enter__(self):
        self.golden.start()
        return self

    def __exit__(self, *_):
        subprocess.run(["scancel", "--state=PENDING"], env=self.environment(), check=False, timeout=600)
        self.golden.stop()

    def environment(self):
        return self.golden.environment()

    def kill(self):
        with open(os.path.join(self.golden.place, "run", "slurmctld.pid"), encoding="ascii") as file:
            pid = int(file.read())
        os.kill(pid, 9)
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.01)

    def start(self):
        began = time.monotonic()
        self.golden.start()
        return time.monotonic() - began

    def rows(self):
        listed = subprocess.run(["squeue", "-h", "-a", "-o", "%A %j"], env=self.environment(), check=True, capture_output=True, text=True)
        return [line.split(maxsplit=1) for line in listed.stdout.splitlines()]


def muster_side():
    return Muster()


def slurm_side(place):
    return Slurm(place)


def trial(side, seed, kills):
    """(findings, seconds until ready of each start). A job is acknowledged when sbatch says its number and exits with 0."""
    chance, ends, told = random.Random(seed), threading.Event(), {}
    environment = side.environment()
    prefix = f"t{seed % 100_000}"

    def submit(number):
        for i in range(1_000_000):
            if ends.is_set():
                return
            name = f"{prefix}-{number}-{i}"
            try:
                done = subprocess.run(["sbatch", "--parsable", "--hold", "-J", name, "-o", "/dev/null", "--wrap", "true"], capture_output=True, text=True,
                                      env=side.environment() if side.name == "musterd" else environment, timeout=PATIENCE_S, cwd="/tmp", check=False)
            except subprocess.TimeoutExpired:
                continue
            if done.returncode == 0 and done.stdout.strip().isdigit():
                told[name] = [int(done.stdout)]
    clients = [threading.Thread(target=submit, args=(number,)) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    ready = []
    for _ in range(kills):
        before, deadline = len(told), time.monotonic() + 60
        while len(told) < before + 10 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.random() * 3)
        side.kill()
        ready.append(side.start())
    ends.set()
    for client in clients:
        client.join()
    return Accepts(told, [row for row in side.rows() if row[1].startswith(prefix)]), ready
