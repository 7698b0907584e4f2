"""R27: SIGTERM under load. The daemon ends within 10 s with status 0, whoever was answered finds the job, and no order is half sent: every job that was
handed to a member of real processes runs there once.

    r27.py [--short] [--seed N] [--rounds N]

Exit 1 for a loss, a job that ran twice, or another status; times are told only."""
import os
import random
import sys
import time

from ground import Daemon, Database, conclude, middle, options
from load import Reader, Submitters
from r01 import HANDS, process_job
from verdict import accepts, settle


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], rounds=(20, 3))
    chance = random.Random(chosen.seed)
    database = Database()
    daemon = Daemon(database.url(), "--local-cluster", HANDS)
    exits, wrong, released = [], [], 0
    try:
        daemon.start().apply()
        marks = os.path.join(daemon.dir, "ran")
        clients = Submitters(daemon, leaves=7)
        real = Submitters(daemon, number=2, prefix="p", job=process_job(marks), pause=0.1)
        readers = [Reader(daemon, "/v1/jobs?limit=1000", pause=0.005) for _ in range(2)]
        for number in range(chosen.rounds):
            clients.until(len(clients.told_at) + 150)
            time.sleep(chance.random() / 2)
            began = time.monotonic()
            status = daemon.stop()
            exits.append(time.monotonic() - began)
            print(f"round {number + 1}: exit {status} after {exits[-1]:.2f} s", flush=True)
            if status != 0:
                wrong.append(f"exit {status}")
            released += bool(daemon.logged("lease_released"))
            daemon.start()
        for one in (clients, real, *readers):
            one.close()
        wrong += settle(daemon, database.sql)
        with open(marks, encoding="utf-8") as file:
            ran = file.read().split()
        if len(ran) != len(set(ran)) or not set(ran) >= set(real.acknowledged):
            wrong.append(f"{len(real.acknowledged)} real jobs, but {len(ran)} runs, {len(set(ran))} different")
        told = accepts(database.sql, {**clients.acknowledged, **real.acknowledged}, clients.left)
    finally:
        daemon.discard()
        database.close()
    # On a busy disk giving it up may take longer than a stop waits for; the next daemon then waits for its end.
    print(f"the lease was given up in {released} of {chosen.rounds} rounds")
    for sentence in wrong:
        print(sentence)
    return conclude("R27", f"{told}, {chosen.rounds} SIGTERMs, {len(real.acknowledged)} real jobs ran once; exit after {middle(exits):.2f} s "
                    f"(worst {max(exits):.2f} s)", "exit <= 10 s, 0 lost, 0 half sent", told.sound() and not wrong, max(exits) <= 10)


if __name__ == "__main__":
    sys.exit(main())
