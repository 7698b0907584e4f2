"""R13: the daemon's wall clock is stepped by an hour, forth and back, while jobs run. No job ends early, no record ends before it began, the lead stays,
keys are remembered, and jobs are accepted all the time. libfaketime of Debian moves the clock of the one process; its monotonic clock runs on, as a
real one does when an administrator or NTP steps the time.

    r13.py [--short] [--seed N] [--steps N]

Exit 1 for a wrong outcome."""
import glob
import os
import random
import sys
import time

from ground import Daemon, Database, conclude, options
from load import Submitters, script
from verdict import accepts, unsettled

# Long jobs have a time limit that no step may eat up, and last over several steps.
LONG_MS, LIMIT_MIN = 4000, 30
MEMBER = f"sim,cpu=64,memory=640Gi,run-time-ms={LONG_MS}"
QUICK = "quick,cpu=64,memory=640Gi,run-time-ms=20"


class SteppedDaemon(Daemon):
    """Reads its time from a file that holds an offset."""

    def environment(self):
        library = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))[-1]
        return dict(super().environment(), LD_PRELOAD=library, FAKETIME_TIMESTAMP_FILE=self.clock_file(), FAKETIME_NO_CACHE="1",
                    FAKETIME_DONT_FAKE_MONOTONIC="1", DONT_FAKE_MONOTONIC="1")

    def clock_file(self):
        return os.path.join(self.dir, "offset")

    def step(self, seconds):
        """Wall time is real time and so many seconds from here on."""
        with open(self.clock_file() + ".new", "w", encoding="ascii") as file:
            file.write(f"{seconds:+d}\n")
        os.replace(self.clock_file() + ".new", self.clock_file())

    def run(self, *words, **more):
        # Commands live in real time.
        return super().run(*words, **{**more, "env": {**(more.get("env") or {}), "LD_PRELOAD": ""}})


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], steps=(60, 6))
    chance = random.Random(chosen.seed)
    database = Database()
    daemon = SteppedDaemon(database.url(), members=(MEMBER,))
    daemon.step(0)
    wrong, offsets = [], []
    try:
        daemon.start().apply()
        clients = Submitters(daemon, number=2, pause=0.1, job=lambda key: script(key, cpus=1, timeLimit=LIMIT_MIN))
        for number in range(chosen.steps):
            offset = (3600, 0, -3600, 0)[number % 4] if number < 4 else chance.randint(-3600, 3600)
            offsets.append(offset)
            daemon.step(offset)
            before = len(clients.told_at)
            time.sleep(1 + chance.random())
            seen = daemon.get("/v1/status")[1]
            if seen["leader"]["epoch"] != 1:
                wrong.append(f"the lead was lost after a step to {offset} s")
            if len(clients.told_at) == before:
                wrong.append(f"nothing was acknowledged after a step to {offset} s")
        # A key from before all steps still finds its job.
        first = min(clients.acknowledged, key=lambda key: clients.acknowledged[key][0])
        status, again = daemon.call("POST", "/v1/namespaces/default/jobs", script(first, cpus=1, timeLimit=LIMIT_MIN), headers={"Idempotency-Key": first})
        if status != 201 or again["id"] != clients.acknowledged[first][0]:
            wrong.append(f"the key {first} no longer finds its job: {status} {again}")
        clients.close()
        daemon.wait(lambda: database.sql("select count(*) from job_state where not terminal") == [["0"]], what="all jobs have ended")
        states = dict(database.sql("select state, count(*) from job_state group by state"))
        if set(states) != {"5"}:
            wrong.append(f"not all jobs have succeeded: {states} {database.sql('select reason, message, count(*) from job_state group by 1, 2')}")
        wrong += unsettled(database.sql)
        told = accepts(database.sql, clients.acknowledged)
        if clients.refusals:
            wrong.append(f"{len(clients.refusals)} submissions were refused, such as {clients.refusals[0].text}")
    finally:
        daemon.discard()
        database.close()
    for sentence in wrong:
        print(sentence)
    return conclude("R13", f"{told}, {len(offsets)} steps between {min(offsets)} s and {max(offsets):+d} s, {sum(map(int, states.values()))} jobs succeeded",
                    "0 early or negative, 0 lost", told.sound() and not wrong)


if __name__ == "__main__":
    sys.exit(main())
