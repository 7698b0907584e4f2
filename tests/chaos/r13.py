"""R13: the daemon's wall clock is stepped by an hour, forth and back, while jobs run. No job ends early, no record ends before it began, the lead stays,
keys are remembered, and jobs are accepted all the time. stepped_clock.cc moves the wall clock that the one process reads; its monotonic clock runs on, as
a real one does when an administrator or NTP steps the time.

    r13.py [--short] [--seed N] [--steps N]

A step is twice as long as the time for pods to be ready and as the time limit of the jobs. Times of jobs go on evenly (rule T2), rows of the audit trail
have the host's time (rule T4). Exit 1 for a wrong outcome."""
import datetime
import os
import random
import struct
import sys
import time

from ground import PATIENCE, Daemon, Database, conclude, options
from load import Submitters, script
from verdict import accepts, unsettled

# Jobs last over several steps, each of which is longer than their time limit.
LONG_MS, LIMIT_MIN = 4000, 30
MEMBER = f"sim,cpu=64,memory=640Gi,run-time-ms={LONG_MS}"


class SteppedDaemon(Daemon):
    """Its wall time is real time and the seconds in a file (stepped_clock.cc)."""

    LIBRARY = os.path.join(os.environ["MUSTER_BIN"], "..", "tests", "libmuster_stepped_clock.so")

    def environment(self):
        assert os.path.exists(self.LIBRARY), "build the target muster_stepped_clock first"
        # AddressSanitizer's runtime wants to be the first library, for nothing that this one does.
        return dict(super().environment(), LD_PRELOAD=self.LIBRARY, MUSTER_CLOCK_OFFSET=self.clock_file(), ASAN_OPTIONS="verify_asan_link_order=0")

    def clock_file(self):
        return os.path.join(self.dir, "offset")

    def step(self, seconds):
        """Wall time is real time and so many seconds from here on."""
        file = os.open(self.clock_file(), os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(file, struct.pack("=q", seconds), 0)
        os.close(file)

    def run(self, *words, **more):
        # Commands live in real time.
        return super().run(*words, **{**more, "env": {**(more.get("env") or {}), "LD_PRELOAD": ""}})


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], steps=(60, 6))
    chance = random.Random(chosen.seed)
    database = Database()
    daemon = SteppedDaemon(database.url(), "--lease-ttl", "30s", members=(MEMBER,))
    daemon.step(0)
    wrong, offsets = [], []
    try:
        daemon.start().apply()
        began = time.monotonic()
        clients = Submitters(daemon, number=2, pause=0.1, job=lambda key: script(key, cpus=1, timeLimit=LIMIT_MIN))
        for number in range(chosen.steps):
            offset = (3600, 0, -3600, 0)[number % 4] if number < 4 else chance.randint(-3600, 3600)
            offsets.append(offset)
            daemon.step(offset)
            before = len(clients.told_at)
            time.sleep(1 + chance.random())
            clients.until(before + 1)
            seen = daemon.get("/v1/status")[1]
            newest = max(ids[0] for ids in list(clients.acknowledged.values()))
            submitted = datetime.datetime.fromisoformat(daemon.job(newest)["submitTime"].replace("Z", "+00:00")).timestamp()
            audited = int(database.sql("select time from audit where verb = 'create' order by id desc limit 1")[0][0]) / 1e6
            if abs(audited - time.time() - offset) > 30:
                wrong.append(f"the clock of the daemon was not stepped to {offset} s")
            # Steps are made up for by a twelfth of the time that passes.
            if abs(submitted - time.time()) > 30 + (time.monotonic() - began) / 12:
                wrong.append(f"the times of jobs have followed a step to {offset} s")
            if seen["leader"]["epoch"] != 1:
                wrong.append(f"the lead was lost after a step to {offset} s")
        # A key from before all steps still finds its job.
        first = min(clients.acknowledged, key=lambda key: clients.acknowledged[key][0])
        status, again = daemon.call("POST", "/v1/namespaces/default/jobs", script(first, cpus=1, timeLimit=LIMIT_MIN), headers={"Idempotency-Key": first})
        if status != 201 or again["id"] != clients.acknowledged[first][0]:
            wrong.append(f"the key {first} no longer finds its job: {status} {again}")
        clients.close()
        live = "select job_id, state, reason, message from job_state where not terminal limit 5"
        end = time.monotonic() + PATIENCE
        while (left := database.sql(live)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not left, f"jobs that do not end: {left}, such as {daemon.job(left[0][0])}"
        early = int(database.sql("select count(*) from attempts where outcome <> 5")[0][0])
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
    if early:
        wrong.append(f"{early} attempts ended early; their jobs ran again")
    for sentence in wrong:
        print(sentence)
    return conclude("R13", f"{early} early, {told}, {len(offsets)} steps between {min(offsets)} s and {max(offsets):+d} s, {sum(map(int, states.values()))} jobs succeeded",
                    "0 early or negative, 0 lost", told.sound() and not wrong)


if __name__ == "__main__":
    sys.exit(main())
