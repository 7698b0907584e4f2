"""R03: the postmaster is killed (SIGKILL) under load and started again, as a service manager does. Nothing acknowledged is missing or there twice,
and jobs are acknowledged again within 3 s after PostgreSQL accepts connections.

    r03.py [--short] [--seed N] [--kills N]

Exit 1 for a loss; times are told only."""
import random
import sys
import time

from ground import Daemon, Database, conclude, middle, options, share
from load import Submitters
from verdict import accepts, settle


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], kills=(50, 4))
    chance = random.Random(chosen.seed)
    database = Database()
    daemon = Daemon(database.url())
    again = []
    try:
        daemon.start().apply()
        clients = Submitters(daemon, leaves=7)
        for number in range(chosen.kills):
            clients.until(len(clients.told_at) + 100)
            time.sleep(chance.random() / 2)
            database.kill()
            time.sleep(chance.random())
            database.start()
            accepting = time.monotonic()
            again.append(clients.next_after(accepting) - accepting)
            print(f"kill {number + 1}: acknowledged again after {again[-1]:.2f} s", flush=True)
        clients.close()
        wrong = settle(daemon, database.sql)
        told = accepts(database.sql, clients.acknowledged, clients.left)
    finally:
        daemon.discard()
        database.close()
    print(f"{len(clients.left)} keys were refused for certain and not sent again")
    for sentence in wrong:
        print(sentence)
    return conclude("R03", f"{told}, {chosen.kills} kills of the postmaster; acknowledged again after {middle(again):.2f} s (worst {share(again, 1):.2f} s)",
                    "0 lost, acknowledged again <= 3 s", told.sound() and not wrong, max(again) <= 3)


if __name__ == "__main__":
    sys.exit(main())
