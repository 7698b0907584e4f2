"""R24: a soak. Jobs live and end by the hundred thousand; the memory, the descriptors and the dead rows of the database must not grow with them.

    r24.py [--short] [--seed N] [--lives N]

The slope of the memory is taken over the second half, when all caches of ended jobs are full (they hold 50,000). The short form is too short for a
slope and tells it only. Exit 1 for a loss, descriptors that grow, or, in the full form, a slope above the bar."""
import json
import sys
import threading
import time

from ground import Daemon, Database, conclude, options, queues
from load import Caller
from verdict import settle

BATCH = 200
AHEAD = 4000  # jobs that wait or run at most, so that their records do not hide what leaks
MEMBER = "sim,cpu=2000,memory=64000Gi,run-time-ms=1"
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "soak-"},
       "spec": {"backoffLimit": 0, "ttlSecondsAfterFinished": 0, "template": {"spec": {
           "restartPolicy": "Never", "containers": [{"name": "m", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}}}


class Feeder:
    def __init__(self, daemon, lives):
        self.daemon, self.lives, self.accepted, self.ended, self.refused = daemon, lives, 0, 0, 0
        self.body = json.dumps([JOB] * BATCH)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        caller = Caller(self.daemon)
        while self.accepted < self.lives:
            if self.accepted - self.ended > AHEAD:
                time.sleep(0.02)
                continue
            status, _, text = caller.ask("POST", "/v1/namespaces/default/jobs:batch", self.body)
            if status >= 300 or status == 0:
                self.refused += 1
                time.sleep(0.1)
                continue
            made = sum("id" in one for one in json.loads(text))
            self.accepted += made
            if made < BATCH:
                time.sleep(0.1)


def slope(points):
    """Of memory over lives, by least squares, in MiB a 100,000 lives."""
    count = len(points)
    if count < 2:
        return 0.0
    mean_x, mean_y = (sum(point[i] for point in points) / count for i in (0, 1))
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return 100_000 * above / below if below else 0.0


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], lives=(1_000_000, 6_000))
    database = Database()
    database.set("autovacuum_naptime", "5s")
    daemon = Daemon(database.url(), members=(MEMBER,))
    points, descriptors, wrong = [], [], []
    try:
        daemon.start().apply(queues(cpu="2000", memory="64000Gi"))
        began, feeder = time.monotonic(), Feeder(daemon, chosen.lives)
        told, last, still = 0.0, -1, time.monotonic()
        while True:
            time.sleep(0.5)
            accepted = feeder.accepted  # read first: what is accepted meanwhile must not count as ended
            ended = feeder.ended = accepted - int(database.sql("select count(*) from job_state where not terminal")[0][0])
            points.append((ended, daemon.resident_mib()))
            descriptors.append(daemon.descriptors())
            if ended != last:
                last, still = ended, time.monotonic()
            assert time.monotonic() - still < 120, f"nothing happens any more: {ended} ended, {feeder.accepted} accepted"
            if time.monotonic() - told > 20:
                told = time.monotonic()
                print(f"{told - began:.0f} s: {feeder.accepted} accepted, {points[-1][1]:.0f} MiB, {descriptors[-1]} descriptors", flush=True)
            if feeder.accepted >= chosen.lives and not feeder.thread.is_alive():
                break
        wrong += settle(daemon, database.sql, timeout=600)
        took = time.monotonic() - began
        ended = int(database.sql("select count(*) from job_state where terminal")[0][0])
        rows = {name: (int(live), int(dead)) for name, live, dead in database.sql(
            "select relname, n_live_tup, n_dead_tup from pg_stat_user_tables where relname in ('jobs', 'job_state', 'attempts', 'dispatches', 'events')")}
        daemon.kill()
        ready = daemon.start().ready_s[-1]
    finally:
        daemon.discard()
        database.close()
    half = points[len(points) // 2:]
    grew, dead = slope(half), max(dead / max(1, live + dead) for live, dead in rows.values())
    print(f"{ended} lives in {took:.0f} s ({ended / took:.0f}/s); memory {points[0][1]:.0f} -> {points[-1][1]:.0f} MiB; descriptors {descriptors[0]} -> "
          f"{descriptors[-1]} (most {max(descriptors)}); rows live and dead: {rows}; killed and started again "
          f"among them: ready after {ready:.2f} s")
    if ended < chosen.lives:
        wrong.append(f"{chosen.lives - ended} lives are missing")
    if max(descriptors[len(descriptors) // 2:]) > max(descriptors[:len(descriptors) // 2 + 1]) + 20:
        wrong.append("descriptors grow")
    if not chosen.short and grew > 1:
        wrong.append(f"memory grows by {grew:.2f} MiB a 100,000 lives")
    for sentence in wrong:
        print(sentence)
    return conclude("R24", f"{ended} lives, memory {grew:+.2f} MiB a 100,000{' (too short for a slope)' if chosen.short else ''}, descriptors "
                    f"{descriptors[0]} -> {descriptors[-1]}, dead rows {100 * dead:.0f} %, ready again after {ready:.2f} s",
                    "memory <= +1 MiB a 100,000, descriptors flat, dead rows <= 20 %, ready <= 10 s", not wrong, chosen.short or (dead <= 0.2 and ready <= 10))


if __name__ == "__main__":
    sys.exit(main())
