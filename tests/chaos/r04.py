"""R04: the connection to PostgreSQL is cut while a commit of new jobs is under way: before the request arrives, right behind it, or when the answer
has come, which the daemon then never sees. Nothing is applied twice, nothing that is said to be unwritten is there, and whoever asks again under the
same key has the one job within 5 s.

    r04.py [--short] [--seed N] [--cuts N]

Exit 1 for a wrong outcome; times are told only."""
import sys
import time

from gate import CutAnswer, Gate
from ground import Daemon, Database, conclude, middle, options, share
from load import Submitters
from verdict import accepts, settle


# How a Bind message names the statement that inserts new jobs (schedd/store/pg/statements_accept.h).
MARKER = b"\0accept_keyed_jobs\0"


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], cuts=(1000, 24))
    database = Database()
    gate = Gate(database.port)
    daemon = Daemon(f"postgresql://muster@127.0.0.1:{gate.port}/muster")
    cuts, again = {}, []
    try:
        daemon.start().apply()
        clients = Submitters(daemon, leaves=7)
        clients.until(50)
        assert not clients.refusals, "refused without a fault"
        while sum(cuts.values()) < chosen.cuts:
            where = ("answer", "behind", "before")[sum(cuts.values()) % 3]
            gate.set(CutAnswer(MARKER, where))
            deadline = time.monotonic() + 60
            while gate.mode.cuts == 0:
                assert time.monotonic() < deadline, f"no commit to cut {where}; {clients.refusals[-1].text if clients.refusals else ''}"
                time.sleep(0.001)
            cut, done = time.monotonic(), gate.mode.cuts
            gate.set()
            cuts[where] = cuts.get(where, 0) + done
            again.append(clients.next_after(cut) - cut)
        clients.close()
        wrong = settle(daemon, database.sql)
        told = accepts(database.sql, clients.acknowledged, clients.left)
        said = daemon.everything_said()
    finally:
        gate.close()
        daemon.discard()
        database.close()
    resolved, unknown = said.count('"commit_answer_lost"'), said.count('"commit_outcome_unknown"')
    print(f"cuts {cuts}; {resolved} groups whose answer was lost were asked for, {unknown} stayed unknown; {len(clients.refusals)} refusals, "
          f"{len(clients.left)} of them for certain and not sent again; the longest wait of a client {share(clients.waits, 1):.2f} s")
    for sentence in wrong:
        print(sentence)
    if resolved == 0:
        wrong.append("no answer was lost: the trial has tried nothing")
    return conclude("R04", f"{told}, {sum(cuts.values())} cuts; known again after {middle(again):.2f} s (worst {max(again):.2f} s)",
                    "0 doubled, 0 falsely failed, known <= 5 s", told.sound() and not wrong, max(again) <= 5)


if __name__ == "__main__":
    sys.exit(main())
