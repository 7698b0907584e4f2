"""What every trial of this directory stands on: a real musterd, a PostgreSQL of the trial's own, and the line that ends a trial."""
import argparse
import os
import shutil
import signal
import sys
import time

SOURCE = os.environ["MUSTER_SOURCE"]
for room in ("daemon", "postgres", "slurm"):
    sys.path.insert(1, os.path.join(SOURCE, "tests", "e2e", room))

from muster_server import PATIENCE, Server, queues  # noqa: E402
from pg_pair import PROGRAMS, Postgres  # noqa: E402

# On the simulated member jobs only sleep: 32 of two CPUs at once.
SIMULATED = "sim,cpu=64,memory=640Gi,run-time-ms=50"
WIDE_QUEUES = queues(cpu="64", memory="640Gi", gpu="64")


class Daemon(Server):
    """A musterd that is killed and started again. `url`: of its database; without one it has a private PostgreSQL."""

    def __init__(self, url=None, *flags, members=(SIMULATED,)):
        clusters = [word for one in members for word in ("--simulated-cluster", one)]
        super().__init__([*(["--postgres", url] if url else []), *clusters, *flags])
        self.ready_s = []  # of each start, from the program's start to /readyz 200

    def launch(self):
        path = os.path.join(self.dir, "musterd.log")
        if os.path.exists(path):  # kept apart, so that looking for a line stays quick after many starts
            with open(path, "rb") as said, open(path + ".before", "ab") as kept:
                shutil.copyfileobj(said, kept)
            os.remove(path)
        super().launch()

    def start(self):
        began = time.monotonic()
        self.launch()
        ready = self.soon(lambda: self.logged("ready"), "musterd is ready")
        self.port, self.grpc_port = ready["rest_port"], ready["grpc_port"]
        self.soon(lambda: self.get("/readyz")[0] == 200, "/readyz is 200")
        self.ready_s.append(time.monotonic() - began)
        return self

    def soon(self, condition, what, timeout=PATIENCE):
        """As wait, but looks every few milliseconds, because the time is measured."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self.process.poll() is None:
            if value := condition():
                return value
            time.sleep(0.004)
        with open(os.path.join(self.dir, "musterd.out"), encoding="utf-8", errors="replace") as file:
            raise AssertionError(f"{what}: not within {timeout} s; exit {self.process.poll()}; {file.read()[-1500:]}; {self.log()[-3000:]}")

    def apply(self, text=WIDE_QUEUES):
        self.run("muster", "apply", "-f", "-", stdin=text)
        return self

    def figure_of(self, name):
        """The sum of one metric over its labels."""
        status, text = self.get("/metrics")
        assert status == 200, text
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name)

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def everything_said(self):
        kept = os.path.join(self.dir, "musterd.log.before")
        if not os.path.exists(kept):
            return self.log()
        with open(kept, encoding="utf-8", errors="replace") as file:
            return file.read() + self.log()

    def discard(self):
        """Ends it without waiting for its jobs."""
        if self.process and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(timeout=30)
            except Exception:  # pylint: disable=broad-except
                self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


class Database(Postgres):
    """A PostgreSQL that is killed and started again."""

    def kill(self):
        """SIGKILL of the postmaster alone; waits until its children have noticed and are gone."""
        children = self.processes()[1:]
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + PATIENCE
        while any(os.path.exists(f"/proc/{child}") for child in children):
            assert time.monotonic() < deadline, "children of the killed postmaster stay"
            time.sleep(0.01)

    def set(self, name, value):
        """A setting of all sessions, also of those that are open."""
        self.sql(f"alter system set {name} = '{value}'", database="postgres")
        self.sql("select pg_reload_conf()", database="postgres")


def options(description, **full):
    """The command line of a trial: --short, --seed, and each number of `full` with its default, a pair (full, short)."""
    words = argparse.ArgumentParser(description=description)
    words.add_argument("--short", action="store_true", help="the form of ctest")
    words.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    for name, (whole, _) in full.items():
        words.add_argument("--" + name.replace("_", "-"), type=type(whole))
    chosen = words.parse_args()
    for name, (whole, short) in full.items():
        if getattr(chosen, name) is None:
            setattr(chosen, name, short if chosen.short else whole)
    print(f"seed {chosen.seed}", flush=True)
    return chosen


def conclude(name, figure, bar, sound, fast=True):
    """Prints the last line of a trial; its exit status. `sound`: what must hold; `fast`: times, which are told and fail nothing."""
    verdict = "met" if sound and fast else "TIME MISSED" if sound else "MISSED"
    print(f"{name} figure={figure} bar={bar} {verdict}", flush=True)
    return 0 if sound else 1


def middle(values):
    return sorted(values)[len(values) // 2] if values else 0.0


def share(values, part):
    """The value below which this part of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else 0.0


__all__ = ["Daemon", "Database", "PATIENCE", "PROGRAMS", "SIMULATED", "SOURCE", "WIDE_QUEUES", "conclude", "middle", "options", "queues", "share"]
