"""Muster's Slurm commands beside a real Slurm, in one run: python3 slurm_side_by_side.py DIR [--jobs N] [--only muster|slurm] [--measure WORD]

DIR: of scripts/slurm-golden.sh, which is started if it does not run; a new one is made for as many jobs as are asked for. Each line has both
figures, their ratio (above 1: Muster is better) and the bar; figures without a counterpart in Slurm have a bar of their own.
Both sides are asked through the same command lines; processes start on both, so a ratio is what a user sees and not what a daemon could do.
Quick measures take the median of --runs, both sides in turn."""
import argparse
import concurrent.futures
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e", "slurm"))

import slurm_site  # noqa: E402

SCRIPT = "#!/bin/sh\ntrue\n"
STEPS = """#!/bin/bash
begin=$(date +%s.%N)
for _ in $(seq {count}); do srun true || exit 1; done
end=$(date +%s.%N)
echo "$begin $end"
"""
NAME = "bench"


class Side:
    def __init__(self, environment, work):
        self.environment, self.work, self.programs = environment, work, {}
        os.makedirs(work)
        os.chmod(work, 0o755)
        with open(f"{work}/job.sh", "w", encoding="utf-8") as file:
            file.write(SCRIPT)

    def call(self, *words, stdin=None):
        return subprocess.run(words, cwd=self.work, env=self.environment, input=stdin, capture_output=True, text=True, check=True, timeout=1800).stdout

    def quiet(self, *words):
        """Runs a command whose output nobody reads, as cheaply as this program can: its own cost is in both figures."""
        if words[0] not in self.programs:
            self.programs[words[0]] = shutil.which(words[0], path=self.environment["PATH"])
        with open(os.devnull, "r+b") as null:
            pid = os.posix_spawn(self.programs[words[0]], words, self.environment,
                                 file_actions=[(os.POSIX_SPAWN_DUP2, null.fileno(), 0), (os.POSIX_SPAWN_DUP2, null.fileno(), 1)])
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code != 0:
            raise subprocess.CalledProcessError(code, words)

    def seconds(self, *words):
        begin = time.monotonic()
        self.call(*words)
        return time.monotonic() - begin

    def submit(self, *options):
        self.quiet("sbatch", "-Q", "-o", "/dev/null", "-t", "1", "-J", NAME, *options, f"{self.work}/job.sh")

    def submits(self, count, clients, *options):
        """Submissions a second of so many sbatch processes."""
        begin = time.monotonic()
        if clients == 1:
            for _ in range(count):
                self.submit(*options)
        else:
            with concurrent.futures.ThreadPoolExecutor(clients) as pool:
                list(pool.map(lambda _: self.submit(*options), range(count)))
        return count / (time.monotonic() - begin)

    def shown(self, letter="%i", *options):
        return self.call("squeue", "-h", "-n", NAME, "-o", letter, *options).split()

    def empty(self):
        self.call("scancel", "-n", NAME, "-u", slurm_site.USER)
        self.ended(0.5)

    def ended(self, pause):
        while self.shown():
            time.sleep(pause)

    def released(self, count):
        """(seconds until the release is answered, jobs a second from the release to the end of the last)"""
        self.submits(count, 8, "-H")
        jobs = self.shown()
        begin = time.monotonic()
        # One argument may have 128 KiB.
        for first in range(0, len(jobs), 10000):
            self.call("scontrol", "release", ",".join(jobs[first:first + 10000]))
        answered = time.monotonic() - begin
        self.ended(0.1)
        return answered, count / (time.monotonic() - begin)

    def chain(self, count):
        """Seconds from the end of a job until none of so many that wait for it waits for it any more. They may not start before tomorrow."""
        parent = self.call("sbatch", "--parsable", "-H", "-o", "/dev/null", "-J", NAME, "job.sh").strip().split(";")[0]
        self.submits(count, 8, "-d", f"afterany:{parent}", "-b", "now+1day")
        begin = time.monotonic()
        self.call("scancel", parent)
        while "Dependency" in self.shown("%r"):
            time.sleep(0.02)
        taken = time.monotonic() - begin
        self.empty()
        return taken

    def steps(self, count, nodes):
        """`srun true` a second in a job of so many nodes."""
        self.call("sbatch", "-W", "-Q", f"-N{nodes}", "--ntasks-per-node=1", "-o", "steps.out", stdin=STEPS.format(count=count))
        with open(f"{self.work}/steps.out", encoding="utf-8") as file:
            begin, end = file.read().split()[-2:]
        return count / (float(end) - float(begin))


class Daemon:
    """What is asked of musterd itself."""

    def __init__(self, server):
        self.server = server

    def memory(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def beside_measures(options):
    """(what, unit, whether more is better, least ratio, how often, function of a side)"""
    def squeue(side):
        side.submits(options.jobs, 8, "-H")
        taken = statistics.median(side.seconds("squeue") for _ in range(5))
        side.empty()
        return taken

    def array(side):
        taken = statistics.median(side.seconds("sbatch", "-Q", "-H", "-J", NAME, "-o", "/dev/null", "-a", "0-1000", "job.sh") for _ in range(5))
        side.empty()
        return taken

    def submission(count, clients, *words):
        def rate(side):
            found = side.submits(count, clients, *words)
            side.empty()
            return found
        return rate

    runs, release = options.runs, {}

    def released(side):
        release[side] = side.released(options.release)
        return release[side][1]

    return [("sbatch, one client, held", "/s", True, 1.5, runs, submission(100, 1, "-H")),
            ("sbatch, 8 clients, held", "/s", True, 1.0, runs, submission(400, 8, "-H")),
            ("sbatch, 8 clients, runnable", "/s", True, 5.0, runs, submission(200, 8)),
            ("array of 1,001 accepted", "s", False, None, 1, array),
            (f"squeue of {options.jobs}", "s", False, 2.0, 1, squeue),
            (f"{options.release} released, to their end", "/s", True, 5.0, 1, released),
            ("  the same, release answered", "s", False, None, 1, lambda side: release[side][0]),
            ("1,000 dependents freed", "s", False, None, 1, lambda side: side.chain(1000)),
            ("srun true in a job", "/s", True, 2.0, runs, lambda side: side.steps(20, 1)),
            ("srun true over two nodes", "/s", True, 2.0, runs, lambda side: side.steps(20, 2))]


def own_measures(options, side, daemon):
    """(what, unit, the bar as a text, function that gives the figure and whether it passes)"""
    def accepted():
        taken = statistics.median(side.seconds("sbatch", "-Q", "-H", "-J", NAME, "-o", "/dev/null", "-a", "0-99999", "job.sh") for _ in range(5))
        side.empty()
        return taken, taken <= 0.05

    def memory():
        count, before = 20, daemon.memory()
        for _ in range(count):
            side.submit("-H", "-a", "0-99999")
        grown = (daemon.memory() - before) / count
        side.empty()
        return grown, grown <= 1.0

    def tasks():
        single = side.released(200)[1]
        begin = time.monotonic()
        side.submit("-a", "0-199")
        side.ended(0.1)
        ratio = 200 / (time.monotonic() - begin) / single
        return ratio, ratio >= 0.9

    def chain():
        taken = side.chain(1000)
        return taken, taken <= 1.0

    return [("array of 100,000 accepted", "s", "<= 0.05", accepted), ("array of 100,000 in memory", "MB", "<= 1", memory),
            ("rate of tasks / of single jobs", "x", ">= 0.9", tasks), ("1,000 dependents freed", "s", "<= 1", chain)]


def show(what, figures, ratio, bar, good):
    verdict = "" if good is None else "yes" if good else "NO"
    print(f"{what:34} {figures:44} {ratio:>9} {bar:>8}  {verdict}", flush=True)


def compare(sides, measure):
    what, unit, more, bar, runs, function = measure
    found = {name: [] for name in sides}
    for _ in range(runs):
        for name, side in sides.items():
            try:
                found[name].append(function(side))
            except (subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
                print(f"{name}: {what}: {error} {getattr(error, 'stderr', '')}", file=sys.stderr)
    medians = {name: statistics.median(values) for name, values in found.items() if values}
    ratio = None
    if len(medians) == 2:
        ratio = medians["muster"] / medians["slurm"] if more else medians["slurm"] / medians["muster"]
    show(what, "  ".join(f"{name} {value:.3f} {unit}" for name, value in medians.items()), "-" if ratio is None else f"{ratio:.2f} x",
         "" if bar is None else f">= {bar} x", None if bar is None or ratio is None else ratio >= bar)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--jobs", type=int, default=2000, help="jobs that squeue shows; the bar is for 100000")
    parser.add_argument("--release", type=int, default=200, help="jobs that are released; the bar is for 10000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=("muster", "slurm"))
    parser.add_argument("--measure", default="", help="only what has this word in its name")
    options = parser.parse_args()
    os.environ.setdefault("SLURM_GOLDEN_LINES", f"MaxJobCount={max(10000, 2 * max(options.jobs, options.release))}")
    work = tempfile.mkdtemp(prefix="muster-beside-", dir="/tmp")
    os.chmod(work, 0o755)
    sides, muster = {}, None
    try:
        if options.only != "muster":
            sides["slurm"] = Side(slurm_site.Golden(options.dir).start().environment(), f"{work}/slurm")
        if options.only != "slurm":
            muster = slurm_site.Muster()
            sides["muster"] = Side(muster.start().environment(), f"{work}/muster")
        for measure in beside_measures(options):
            if options.measure in measure[0]:
                compare(sides, measure)
        for what, unit, bar, function in own_measures(options, sides["muster"], Daemon(muster)) if muster else []:
            if options.measure in what:
                figure, good = function()
                show(what, f"muster {figure:.3f} {unit}", "", bar, good)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    finally:
        if muster:
            muster.close()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
