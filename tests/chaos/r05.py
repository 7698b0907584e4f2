"""R05: a gate between the daemon and PostgreSQL goes through its modes under load: refuses, resets, stops reading, loses, delays, cuts into slices,
throttles, closes, garbles. The daemon lives on, nothing acknowledged is missing or there twice, every question has an answer in time, and jobs are
acknowledged again within 2 s after the gate is open.

    r05.py [--short] [--seed N] [--seconds N] [--modes N]

A leader that the database confirms no longer goes on to answer reads from what it had confirmed last, and marks them with their age
(docs/rules/leadership.md, rule L5); reads of the database itself are 503 with a retry time.
Exit 1 for a wrong outcome or a reader that hangs; times are told only."""
import random
import sys
import time

import gate as gates
from gate import Gate
from ground import Daemon, Database, conclude, middle, options, share
from load import Reader, Submitters
from verdict import accepts, settle

# (name, mode, whether jobs can be acknowledged during it)
MODES = [
    ("refuse", gates.Refuse, False),
    ("lose answers", lambda: gates.Lose(down=True), False),
    ("close on an answer", lambda: gates.CloseOnData(down=True), False),
    ("delay 50 ms", lambda: gates.Delay(0.05), True),
    ("stop reading", gates.StopReading, False),
    ("garble types", gates.Garble, False),
    ("slices of 7 bytes", lambda: gates.Slice(7), True),
    ("reset", gates.Reset, False),
    ("garble lengths", lambda: gates.Garble(length=True), False),
    ("lose questions", lambda: gates.Lose(up=True), False),
    ("close on a question", lambda: gates.CloseOnData(down=False), False),
    ("close behind a question", lambda: gates.CloseOnData(down=False, after=True), False),
    ("half-close", gates.HalfClose, False),
    ("throttle to 40 KB/s", lambda: gates.Throttle(40_000), True),
    ("stop reading answers", lambda: gates.StopReading(up=False), False),
    ("lose everything", lambda: gates.Lose(up=True, down=True), False),
]
# No reader waits longer for any answer: a read of the database may take 5 s (limits_engine.h), this machine may be busy.
HANGS_AFTER = 20
STORED = ("/v1/jobs/1/events",)
PATHS = ("/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main", "/v1/jobs?state=Pending,Running&limit=5", "/v1/jobs/1/events")


class Told:
    """What readers were told during one mode."""

    def __init__(self, readers, begin, end):
        seen = [one for reader in readers for one in reader.seen if begin <= one[0] <= end]
        self.good = sum(one[2] == 200 for one in seen)
        self.marked = sum(one[4] is not None for one in seen)
        self.all = len(seen)
        self.slowest = max((one[1] for one in seen), default=0.0)
        self.wrong = [one[2:] for one in seen if one[2] != 200 and not (one[2] == 503 and one[3] and readers_path_is_stored(readers, one))]


def readers_path_is_stored(readers, one):
    """Whether the answer was to a question that only the database can answer."""
    return any(one in reader.seen and reader.path in STORED for reader in readers)


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], seconds=(60.0, 1.0), modes=(len(MODES), 8))
    database = Database()
    gate = Gate(database.port)
    daemon = Daemon(f"postgresql://muster@127.0.0.1:{gate.port}/muster")
    # The short form takes other modes each time.
    modes = MODES if chosen.modes >= len(MODES) else random.Random(chosen.seed).sample(MODES, chosen.modes)
    again, wrong, slowest = [], [], 0.0
    try:
        daemon.start().apply()
        readers = [Reader(daemon, path, timeout=3 * HANGS_AFTER) for path in PATHS]
        clients = Submitters(daemon, leaves=11, pause=0.01)
        for name, mode, passes in modes:
            clients.until(len(clients.told_at) + 50)
            begun, told = time.monotonic(), len(clients.told_at)
            gate.set(mode())
            time.sleep(chosen.seconds)
            during = len(clients.told_at) - told
            gate.set()
            healed = time.monotonic()
            again.append(clients.next_after(healed) - healed)
            seen = Told(readers, begun, healed)
            slowest = max(slowest, seen.slowest)
            wrong += [f"{name}: a read was answered {one}" for one in seen.wrong[:3]]
            print(f"{name}: {during} acknowledged meanwhile, {seen.good} of {seen.all} reads answered 200 ({seen.marked} marked with their age) and the rest 503, the slowest after "
                  f"{seen.slowest:.2f} s; acknowledged again after {again[-1]:.2f} s", flush=True)
            if passes and chosen.seconds >= 10 and during == 0:
                wrong.append(f"{name}: nothing was acknowledged, though everything passes")
        clients.close()
        for reader in readers:
            slowest = max(slowest, max(one[1] for one in reader.close().seen))
        if daemon.process.poll() is not None or len(daemon.ready_s) != 1:
            wrong.append("the daemon has ended")
        if slowest > HANGS_AFTER:
            wrong.append(f"a reader waited {slowest:.1f} s")
        wrong += settle(daemon, database.sql)
        told = accepts(database.sql, clients.acknowledged, clients.left)
    finally:
        gate.close()
        daemon.discard()
        database.close()
    for sentence in wrong:
        print(sentence)
    return conclude("R05", f"{told}, {len(modes)} modes; acknowledged again after {middle(again):.2f} s (worst {share(again, 1):.2f} s), "
                    f"slowest read {slowest:.2f} s", "0 crashes, 0 wrong, acknowledged again <= 2 s", told.sound() and not wrong, max(again) <= 2)


if __name__ == "__main__":
    sys.exit(main())
