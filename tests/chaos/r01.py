"""R01: the daemon is killed (SIGKILL) at random instants while 8 clients submit under idempotency keys, and is started again at once. Nothing that was
acknowledged is missing, nothing is there twice, no process has run twice.

    r01.py [--short] [--seed N] [--kills N] [--jobs N] [--slurm DIR]

--slurm: then the same trial by `sbatch`, first against Muster, then against the slurmctld of Debian below DIR (scripts/slurm-golden.sh); the losses of
both stand in the last line. Exit 1 for a loss of Muster; times are told only."""
import os
import random
import sys
import time

from ground import WIDE_QUEUES, Daemon, Database, conclude, middle, options
from load import Submitters
from verdict import accepts, settle

sys.path.insert(1, os.path.join(os.environ["MUSTER_SOURCE"], "tests", "e2e", "daemon"))
from muster_server import shell_job  # noqa: E402

# A member of real processes: with less CPU than the sleeping jobs ask for, and the only one with what the real ones ask for.
HANDS = "hands,cpu=1,memory=8Gi,nvidia.com/gpu=4"
# One kill in so many comes while the daemon starts.
DURING_START = 5


def process_job(place):
    """Jobs that each write a line when they run."""
    return lambda key: shell_job(key, f"echo {key} >> {place}", requests={"cpu": "10m", "nvidia.com/gpu": "1"})


class Trial:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.database = Database()
        self.daemon = Daemon(self.database.url(), "--local-cluster", HANDS).start()
        self.daemon.apply(WIDE_QUEUES)
        self.marks = os.path.join(self.daemon.dir, "ran")

    def close(self):
        self.daemon.discard()
        self.database.close()

    def run(self, kills, jobs):
        clients = Submitters(self.daemon, number=8)
        real = Submitters(self.daemon, number=1, prefix="p", job=process_job(self.marks), pause=0.3)
        for number in range(kills):
            clients.until(len(clients.told_at) + max(1, jobs // kills))
            time.sleep(self.chance.random() * 0.2)
            self.daemon.kill()
            if number % DURING_START == DURING_START - 1:
                self.daemon.launch()
                time.sleep(self.chance.random() * middle(self.daemon.ready_s))
                self.daemon.kill()
            self.daemon.start()
            if number % 20 == 19:
                print(f"{number + 1} kills, {len(clients.told_at)} acknowledged, ready after {self.daemon.ready_s[-1]:.2f} s", flush=True)
        clients.until(jobs)
        clients.close()
        real.close()
        return {**clients.acknowledged, **real.acknowledged}

    def judge(self, acknowledged):
        """(findings of accepts, sentences of what else is wrong)"""
        wrong = settle(self.daemon, self.database.sql)
        with open(self.marks, encoding="utf-8") as file:
            ran = file.read().split()
        if twice := sorted({key for key in ran if ran.count(key) > 1}):
            wrong.append(f"I2: ran twice: {twice[:5]}")
        return accepts(self.database.sql, acknowledged), wrong


def beside_slurm(place, seed, kills):
    """(lost, acknowledged) of Muster and of Slurm, both by sbatch."""
    from beside_slurm import muster_side, slurm_side, trial  # pylint: disable=import-outside-toplevel
    out = []
    for side in (muster_side(), slurm_side(place)):
        with side:
            findings, ready = trial(side, seed, kills)
        print(f"{side.name}: {findings}, ready after {middle(ready):.2f} s (worst {max(ready):.2f} s)", flush=True)
        out.append(findings)
    return out


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], kills=(200, 6), jobs=(20_000, 600), slurm=("", ""), slurm_kills=(20, 0))
    trial = Trial(chosen.seed)
    try:
        acknowledged = trial.run(chosen.kills, chosen.jobs)
        told, wrong = trial.judge(acknowledged)
        ready = trial.daemon.ready_s[1:]
    finally:
        trial.close()
    for sentence in wrong:
        print(sentence)
    figure = f"{told}, {chosen.kills} kills; ready after {middle(ready):.2f} s (worst {max(ready):.2f} s)"
    sound = told.sound() and not wrong
    if chosen.slurm:
        ours, theirs = beside_slurm(chosen.slurm, chosen.seed, chosen.slurm_kills)
        sound = sound and ours.sound()
        figure += f"; by sbatch: musterd {len(ours.lost)} lost, {len(ours.doubled)} doubled of {ours.count}, " \
                  f"slurmctld {len(theirs.lost)} lost, {len(theirs.doubled)} doubled of {theirs.count}"
    return conclude("R01", figure, "0 lost, 0 doubled, ready <= 2 s", sound, middle(ready) <= 2)


if __name__ == "__main__":
    sys.exit(main())
