"""Muster's Slurm commands beside a real Slurm, in one run: python3 slurm_side_by_side.py DIR [--jobs N] [--only muster|slurm]

DIR: of scripts/slurm-golden.sh, which is started if it does not run. Each line gives both figures and their ratio (above 1: Muster is faster).
Both sides are asked through the same command lines; processes start on both, so a ratio is what a user sees and not what a daemon could do."""
import argparse
import concurrent.futures
import os
import shutil
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
for _ in $(seq {count}); do srun {words} true || exit 1; done
end=$(date +%s.%N)
echo "$begin $end"
"""


class Side:
    def __init__(self, environment, work):
        self.environment, self.work = environment, work
        os.makedirs(work)
        os.chmod(work, 0o755)
        with open(f"{work}/job.sh", "w", encoding="utf-8") as file:
            file.write(SCRIPT)

    def call(self, *words, stdin=None):
        return subprocess.run(words, cwd=self.work, env=self.environment, input=stdin, capture_output=True, text=True, check=True, timeout=600).stdout

    def seconds(self, *words):
        begin = time.monotonic()
        self.call(*words)
        return time.monotonic() - begin

    def submits(self, count, clients, *options):
        """Submissions a second of so many sbatch processes."""
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            list(pool.map(lambda _: self.call("sbatch", "-Q", "-o", "/dev/null", "-t", "1", "-J", "bench", *options, "job.sh"), range(count)))
        return count / (time.monotonic() - begin)

    def empty(self):
        self.call("scancel", "-n", "bench", "-u", slurm_site.USER)
        while self.call("squeue", "-h", "-n", "bench", "-o", "%i"):
            time.sleep(0.5)

    def released(self, count):
        """Jobs a second from their release to the end of the last."""
        name = "bench"
        self.submits(count, 8, "-H")
        jobs = self.call("squeue", "-h", "-n", name, "-o", "%i").split()
        begin = time.monotonic()
        self.call("scontrol", "release", ",".join(jobs))
        while self.call("squeue", "-h", "-n", name, "-o", "%i"):
            time.sleep(0.1)
        return count / (time.monotonic() - begin)

    def steps(self, count, nodes):
        """`srun true` a second in a job of so many nodes."""
        self.call("sbatch", "-W", "-Q", f"-N{nodes}", "--ntasks-per-node=1", "-o", "steps.out", stdin=STEPS.format(count=count, words=""))
        with open(f"{self.work}/steps.out", encoding="utf-8") as file:
            begin, end = file.read().split()[-2:]
        return count / (float(end) - float(begin))


def measures(jobs):
    """(what, unit, whether more is better, function of a side)"""
    def squeue(side):
        side.submits(jobs, 8, "-H")
        taken = min(side.seconds("squeue") for _ in range(3))
        side.empty()
        return taken

    def array(side):
        taken = min(side.seconds("sbatch", "-Q", "-H", "-J", "bench", "-o", "/dev/null", "-a", "0-1000", "job.sh") for _ in range(5))
        side.empty()
        return taken

    def held(clients):
        def rate(side):
            found = side.submits(100 * clients, clients, "-H")
            side.empty()
            return found
        return rate

    def runnable(side):
        found = side.submits(400, 8)
        side.empty()
        return found

    return [("sbatch, one client, held", "/s", True, held(1)), ("sbatch, 8 clients, held", "/s", True, held(8)), ("sbatch, 8 clients, runnable", "/s", True, runnable),
            ("array of 1,001 accepted", "s", False, array), (f"squeue of {jobs}", "s", False, squeue), ("released to ended, 200 jobs", "/s", True, lambda side: side.released(200)),
            ("srun true in a job", "/s", True, lambda side: side.steps(20, 1)), ("srun true over two nodes", "/s", True, lambda side: side.steps(20, 2))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--only", choices=("muster", "slurm"))
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="muster-beside-", dir="/tmp")
    os.chmod(work, 0o755)
    sides, muster = {}, None
    try:
        if options.only != "muster":
            sides["slurm"] = Side(slurm_site.Golden(options.dir).start().environment(), f"{work}/slurm")
        if options.only != "slurm":
            muster = slurm_site.Muster()
            sides["muster"] = Side(muster.start().environment(), f"{work}/muster")
        for what, unit, more, measure in measures(options.jobs):
            found = {}
            for name, side in sides.items():
                try:
                    found[name] = measure(side)
                except (subprocess.SubprocessError, OSError, ValueError) as error:
                    print(f"{name}: {what}: {error} {getattr(error, 'stderr', '')}", file=sys.stderr)
                    found[name] = None
            values = [found.get("muster"), found.get("slurm")]
            ratio = "-" if None in values else f"{values[0] / values[1] if more else values[1] / values[0]:.2f} x"
            print(f"{what:32} " + "  ".join(f"{name} {value:.3f} {unit}" for name, value in found.items() if value is not None) + f"  {ratio}", flush=True)
    finally:
        if muster:
            muster.close()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
