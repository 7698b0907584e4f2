"""R23: ten times as many submissions as the members can run. The queue of the one user fills up to its limit, the rest is answered 429, memory stays
bounded, who is accepted is answered soon, decisions stay quick, and ten seconds later all is as before.

    r23.py [--short] [--seed N] [--seconds N]

Exit 1 for a wrong outcome (an answer that is neither 201 nor 429 with Retry-After, a loss, memory beyond the bound); times are told only."""
import json
import os
import socket
import sys
import tempfile
import threading
import time

from ground import PATIENCE, Daemon, Database, conclude, options, share
from verdict import accepts, settle

# 32 jobs of two CPUs at once, each for 400 ms: what the member can run in a second.
MEMBER = "sim,cpu=64,memory=640Gi,run-time-ms=400"
SUSTAINABLE = 80
QUEUE = 600  # jobs that the user may have waiting
# Ended jobs stay in memory as long as Slurm keeps them (limits::kFinishedJobsKeptMs). As many as that are must be there before the overload begins, or
# its memory would be compared with that of a daemon that has only just started.
KEPT_S = 300.0
CLIENTS = 4
WINDOW = 200  # requests of one connection that are under way


class Pipeline:
    """One connection with several submissions under way, at a fixed rate: a client that does not wait for answers."""

    def __init__(self, daemon, number, rate):
        self.port, self.number, self.rate = daemon.port, number, rate
        self.acknowledged, self.refused, self.odd, self.waits, self.offered = {}, 0, [], [], 0
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _request(self, key):
        body = json.dumps({"script": "#!/bin/sh\n#SBATCH -c 2\ntrue\n", "name": key, "workDir": "/tmp"})
        return (f"POST /v1/namespaces/default/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nIdempotency-Key: {key}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}").encode()

    def _run(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as wire:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answers = wire.makefile("rb")
            began, i = time.monotonic(), 0
            while not self.ends.is_set():
                # What should have been offered by now, but never more than a window.
                due = int((time.monotonic() - began) * self.rate) - self.offered
                if due <= 0:
                    time.sleep(0.002)
                    continue
                keys = [f"r{self.number}-{i + n}" for n in range(min(due, WINDOW))]
                i += len(keys)
                self.offered += len(keys)
                sent = time.monotonic()
                wire.sendall(b"".join(map(self._request, keys)))
                for key in keys:
                    self._answer(answers, key, sent)

    def _answer(self, answers, key, sent):
        status = int(answers.readline().split()[1])
        headers = {}
        while (line := answers.readline().strip()):
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        text = answers.read(int(headers["content-length"]))
        if status == 201:
            self.acknowledged[key] = [json.loads(text)["id"]]
            self.waits.append(time.monotonic() - sent)
        elif status == 429 and "retry-after" in headers:
            self.refused += 1
        else:
            self.odd.append((status, text[:200]))

    def close(self):
        self.ends.set()
        self.thread.join(timeout=120)
        return self


class Watch:
    """Memory and cycles of the daemon, four times a second."""

    def __init__(self, daemon):
        self.daemon, self.memory, self.waiting = daemon, [], []
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ends.wait(0.25):
            self.memory.append(self.daemon.resident_mib())

    def close(self):
        self.ends.set()
        self.thread.join()
        return self


def cycle_p99(daemon, before):
    """(the upper bound in ms of the bucket that has the 99th percentile of the cycles since `before`, the counts of the buckets now)"""
    buckets = {}
    for line in daemon.get("/metrics")[1].splitlines():
        if line.startswith("muster_cycle_seconds_bucket"):
            bound = line.split('le="')[1].split('"')[0]
            buckets[float(bound.replace("+Inf", "inf"))] = float(line.rsplit(" ", 1)[1])
    counts = {bound: count - before.get(bound, 0) for bound, count in buckets.items()}
    total = max(counts.values(), default=0)
    return next((1000 * bound for bound, count in sorted(counts.items()) if total and count >= 0.99 * total), 0.0), buckets


def phase(daemon, number, rate, seconds, buckets, overload=False):
    """Offers `rate` jobs a second; (the clients, memory, p99 of cycles, buckets, seconds)"""
    watch, began = Watch(daemon), time.monotonic()
    clients = [Pipeline(daemon, f"{number}-{each}", rate / CLIENTS) for each in range(CLIENTS)]
    time.sleep(seconds)
    # A machine that has much else to do needs longer until there is an overload.
    until = time.monotonic() + (PATIENCE if overload else 0)
    while sum(client.refused for client in clients) < 100 and time.monotonic() < until:
        time.sleep(0.1)
    for client in clients:
        client.close()
    took = time.monotonic() - began
    slowest, buckets = cycle_p99(daemon, buckets)
    return clients, watch.close().memory, slowest, buckets, took


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], seconds=(300.0, 8.0))
    database = Database()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as config:
        config.write(f"limits: {{pending-jobs-per-user: {QUEUE}}}\n")
    daemon = Daemon(database.url(), "--config", config.name, members=(MEMBER,))
    try:
        daemon.start().apply()
        # As much as the member can run, with the queue filled once, so that all memory that a full queue needs is in use.
        steady = phase(daemon, "fill", 10 * SUSTAINABLE, 1.0, {}, overload=True)
        calm = phase(daemon, "calm", SUSTAINABLE, chosen.seconds / 2 if chosen.short else KEPT_S + 20, steady[3])
        flood = phase(daemon, "flood", 10 * SUSTAINABLE, chosen.seconds, calm[3], overload=True)
        began = time.monotonic()
        daemon.soon(lambda: daemon.call("POST", "/v1/namespaces/default/jobs", {"script": "#!/bin/sh\ntrue\n", "workDir": "/tmp"})[0] == 201,
                    "a job is accepted again")
        normal = time.monotonic() - began
        everyone = [client for one in (steady, calm, flood) for client in one[0]]
        acknowledged = {key: ids for client in everyone for key, ids in client.acknowledged.items()}
        wrong = [f"answered {one}" for client in everyone for one in client.odd[:2]] + settle(daemon, database.sql)
        told = accepts(database.sql, acknowledged)
        if wrong:
            wrong += [line for line in daemon.log().splitlines() if '"level":"warning"' in line or '"level":"error"' in line][-20:]
    finally:
        daemon.discard()
        database.close()
        os.remove(config.name)
    waits = [wait for client in flood[0] for wait in client.waits]
    offered, refused = sum(client.offered for client in flood[0]), sum(client.refused for client in flood[0])
    growth = max(flood[1]) / max(steady[1] + calm[1])
    if refused == 0:
        wrong.append("nothing was refused: there was no overload")
    # Beside the bar there is room for what an allocator keeps: the short form begins at 50 MiB.
    if max(flood[1]) > 1.5 * max(steady[1] + calm[1]) + 32:
        wrong.append(f"memory grew to {max(flood[1]):.0f} MiB")
    print(f"offered {offered} in {flood[4]:.0f} s ({offered / flood[4] / SUSTAINABLE:.1f} times what runs), {len(waits)} accepted, {refused} answered 429; "
          f"cycle p99 <= {calm[2]:.1f} ms before, <= {flood[2]:.1f} ms under overload; memory {max(steady[1] + calm[1]):.0f} MiB before, {max(flood[1]):.0f} MiB")
    for sentence in wrong:
        print(sentence)
    return conclude("R23", f"{told}; accepted p99 {share(waits, 0.99):.2f} s, memory x{growth:.2f}, cycle p99 {calm[2]:.1f} -> {flood[2]:.1f} ms, "
                    f"accepted again after {normal:.2f} s", "rest 429, memory <= x1.5, p99 <= 1 s, cycle p99 <= x2, normal <= 10 s", told.sound() and not wrong,
                    share(waits, 0.99) <= 1 and normal <= 10 and flood[2] <= 2 * calm[2])


if __name__ == "__main__":
    sys.exit(main())
