"""R21: clients submit, hold, release, update, cancel, read and list the same jobs while the daemon is killed, and its connections to the database and to
the clients are cut.
Every job's history must be linearizable (job_model.py), and every list a picture of one moment (snapshots.py). Outcomes that are not known stay open.

    r21.py [--short] [--seed N] [--histories N] [--seconds N] [--keep DIR]

Exit 1 for a history that is not legal; it is printed."""
import json
import math
import os
import random
import sys
import threading
import time

from gate import Gate
from ground import WIDE_QUEUES, Daemon, Database, conclude, options
from job_model import CONFLICT, DONE, REFUSED, JobModel
from linear import OPEN, Operation, TooMuch, linearizable
from load import Caller, script
from snapshots import torn
from verdict import accepts, settle

CLIENTS = 8
ROW = 4  # jobs that one writer numbers in turn
# Jobs that are worked on at a time: few, so that clients meet.
AT_ONCE = 5
# A ClusterQueue that is stopped: jobs of its LocalQueue wait for ever.
INERT = "inert"
INERT_QUEUE = f"""
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: {INERT}}}
spec:
  namespaceSelector: {{}}
  stopPolicy: Hold
  resourceGroups:
  - {{coveredResources: [cpu], flavors: [{{name: standard, resources: [{{name: cpu, nominalQuota: 64}}]}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: {INERT}, namespace: default}}
spec: {{clusterQueue: {INERT}}}
"""


class History:
    """What all clients did and were told, job by job."""

    def __init__(self, prefix):
        self.prefix, self.lock = prefix, threading.Lock()
        self.operations, self.ids, self.inert, self.begun = {}, {}, {}, {}
        self.lists, self.keys, self.strange = [], [], []

    def add(self, key, operation):
        with self.lock:
            self.operations.setdefault(key, []).append(operation)

    def new_key(self, number, inert):
        with self.lock:
            key = f"{self.prefix}-{number}-{len(self.keys)}"
            self.keys.append(key)
            self.inert[key], self.begun[key] = inert, time.monotonic()
            return key


class Client:
    """Does random things to random jobs of the few that are worked on."""

    VERBS = ("get",) * 8 + ("list",) * 4 + ("hold",) * 4 + ("release",) * 4 + ("update",) * 6 + ("again",) * 2 + ("cancel", "new")

    def __init__(self, number, daemon, history, chance):
        self.number, self.history, self.chance = number, history, chance
        self.caller = Caller(daemon, timeout=30)
        self.requests = {}  # key to its submission, to be sent again

    def run(self, ends):
        while not ends.is_set():
            with self.history.lock:
                known = [key for key in self.history.keys[-AT_ONCE:] if key in self.history.ids]
            verb = self.chance.choice(self.VERBS)
            if verb == "new" or len(known) < 2:
                self.submit(self.history.new_key(self.number, self.chance.random() < 0.6), ends)
            elif verb == "again":
                if mine := [key for key in self.requests if key in known]:
                    self.submit(self.chance.choice(mine), ends)
            elif verb == "list":
                self.list()
            else:
                key = self.chance.choice(known)
                getattr(self, verb)(key, self.history.ids[key])
        self.caller.close()

    def ask(self, key, name, method, path, body=None, headers=None, judge=None, **detail):
        """One operation; `judge`: from status and text to its outcome, or None if it is not known."""
        called = time.monotonic()
        status, answered, text = self.caller.ask(method, path, body, headers)
        returned = time.monotonic()
        if name == "get" and answered.get("Muster-Copy-Age"):
            return status, None  # marked as of an earlier time
        definite = status not in (0, 503) or (status == 503 and answered.get("Retry-After") and b"nothing was written" in text)
        if not definite:
            self.history.add(key, Operation(name, None, called, OPEN, detail))
            time.sleep(0.02)
            return status, None
        if status == 503:
            return status, None  # nothing has happened, and it says so
        try:
            outcome = judge(status, json.loads(text))
        except (ValueError, KeyError) as wrong:
            self.history.strange.append((name, status, text[:300], wrong))
            return status, None
        if outcome == REFUSED:
            detail = {**detail, "said": json.loads(text)["detail"]}
        self.history.add(key, Operation(name, outcome, called, returned, detail))
        return status, outcome

    def submit(self, key, ends):
        body = self.requests.setdefault(key, script(key, comment="new", queue=INERT if self.history.inert[key] else "default",
                                                    hold=self.chance.random() < 0.3))

        def judge(status, told):
            if status != 201:
                raise ValueError("refused")
            return told["id"]
        for _ in range(1000):
            _, job = self.ask(key, "submit", "POST", "/v1/namespaces/default/jobs", body, {"Idempotency-Key": key}, judge, comment="new", hold=body["hold"])
            if job is not None:
                if self.history.ids.setdefault(key, job) != job:
                    self.history.strange.append(("submit", key, self.history.ids[key], job))
                return
            if ends.is_set():
                return
            time.sleep(0.02)

    def get(self, key, job):
        self.ask(key, "get", "GET", f"/v1/jobs/{job}", judge=lambda status, told: None if status == 404 else (told["state"], told["batch"]["comment"]))

    def change(self, key, job, verb, **detail):
        def judge(status, told):
            if status in (200, 202):
                return DONE
            if status == 409:
                return CONFLICT if verb == "update" and told["type"].endswith(":aborted") else REFUSED
            raise ValueError("neither done nor refused")
        path = f"/v1/jobs/{job}" if verb == "cancel" else f"/v1/jobs/{job}:{verb}"
        self.ask(key, verb, "DELETE" if verb == "cancel" else "POST", path, detail or None, None, judge, **detail)

    def hold(self, key, job):
        self.change(key, job, "hold")

    def release(self, key, job):
        self.change(key, job, "release")

    def cancel(self, key, job):
        self.change(key, job, "cancel")

    def update(self, key, job):
        self.change(key, job, "update", comment=f"c{self.chance.getrandbits(30)}")

    def list(self):
        called = time.monotonic()
        status, answered, text = self.caller.ask("GET", "/v1/jobs?limit=200000&fields=id,displayName,state,batch.comment")
        returned = time.monotonic()
        if status != 200:
            time.sleep(0.02)
            return
        if answered.get("Muster-Copy-Age"):
            return  # marked as of an earlier time
        listed = {one["displayName"]: (one["state"], one["batch"]["comment"]) for one in json.loads(text)["items"]}
        with self.history.lock:
            keys = [key for key in self.history.keys[-4 * AT_ONCE:] if self.history.begun[key] < returned]
        for key in keys:
            self.history.add(key, Operation("list", listed.get(key), called, returned))
        row = [listed.get(f"{self.history.prefix}-row-{i}") for i in range(ROW)]
        if all(row) and all(comment.isdigit() for _, comment in row):
            self.history.lists.append([int(comment) for _, comment in row])


class RowWriter:
    """Numbers the jobs of a row in turn, each until it is acknowledged."""

    def __init__(self, daemon, history):
        self.caller, self.history = Caller(daemon, timeout=30), history

    def run(self, ends):
        ids = []
        for i in range(ROW):
            name = f"{self.history.prefix}-row-{i}"
            ids.append(json.loads(self.until("POST", "/v1/namespaces/default/jobs", script(name, queue=INERT, comment="0"), 201, name, threading.Event()))["id"])
        for number in range(1, 1_000_000):
            for job in ids:
                if self.until("POST", f"/v1/jobs/{job}:update", {"comment": str(number)}, 200, "", ends) is None:
                    return

    def until(self, method, path, body, status, key, ends):
        while not ends.is_set():
            answered, _, text = self.caller.ask(method, path, body, {"Idempotency-Key": key} if key else None)
            if answered == status:
                return text
            time.sleep(0.02)
        return None


def one_history(daemon, gate, front, prefix, seconds, chance):
    """gate: before the database; front: before the daemon."""
    history, ends = History(prefix), threading.Event()
    workers = [Client(number, front, history, random.Random(chance.getrandbits(64))) for number in range(CLIENTS)] + [RowWriter(front, history)]
    threads = [threading.Thread(target=worker.run, args=(ends,)) for worker in workers]
    for thread in threads:
        thread.start()
    until = time.monotonic() + seconds
    faults = 0
    while time.monotonic() < until:
        time.sleep(min(seconds / 5, 2.0) * (0.5 + chance.random()))
        fault = (gate, daemon, front)[faults % 3]
        if fault is daemon:
            daemon.kill()
            daemon.start()
        else:
            fault.cut(hard=chance.random() < 0.5)
        faults += 1
    ends.set()
    for thread in threads:
        thread.join()
    return history, faults


def judge(history, keep):
    """Sentences of what is not legal."""
    wrong = [f"strange: {one}" for one in history.strange[:5]]
    for key, operations in history.operations.items():
        try:
            legal = linearizable(operations, JobModel(history.inert[key]))
        except TooMuch as much:
            wrong.append(f"{key}: no verdict: {much}")
            continue
        if legal:
            continue
        wrong.append(f"{key} ({'inert' if history.inert[key] else 'lively'}) is not linearizable")
        place = os.path.join(keep, f"{key}.txt")
        with open(place, "w", encoding="utf-8") as file:
            for one in sorted(operations, key=lambda one: one.called):
                file.write(f"{one.called:.4f} {one.returned if one.returned != math.inf else math.inf:.4f} {one.name} {one.detail} -> {one.outcome}\n")
        with open(place, encoding="utf-8") as file:
            print(file.read(), flush=True)
    torn_lists = [sentence for one in history.lists if (sentence := torn(one))]
    return wrong + [f"list: {one}" for one in torn_lists[:3]]


def main():
    chosen = options(__doc__.split("\n", maxsplit=1)[0], histories=(10, 1), seconds=(60.0, 8.0), keep=("/tmp", "/tmp"))
    chance = random.Random(chosen.seed)
    database = Database()
    gate = Gate(database.port)
    daemon = Daemon(f"postgresql://muster@127.0.0.1:{gate.port}/muster")
    front = Gate(lambda: daemon.port)
    wrong, bad, count, unknown, lists, jobs, faults = [], 0, 0, 0, 0, 0, 0
    try:
        daemon.start().apply(WIDE_QUEUES + INERT_QUEUE)
        for number in range(chosen.histories):
            history, done = one_history(daemon, gate, front, f"h{number}", chosen.seconds, chance)
            faults += done
            found = judge(history, chosen.keep)
            told = accepts(database.sql, {key: [job] for key, job in history.ids.items()})
            if not told.sound():
                found.append(str(told))
            bad += bool(found)
            wrong += found
            operations = [one for each in history.operations.values() for one in each]
            count += len(operations)
            unknown += sum(not one.known() for one in operations)
            lists += len(history.lists)
            jobs += len(history.operations)
            print(f"history {number + 1}: {len(history.operations)} jobs, {len(operations)} operations, {len(history.lists)} lists with the row, {done} faults: "
                  f"{'ILLEGAL' if found else 'legal'}", flush=True)
            daemon.wait(lambda: daemon.get("/readyz")[0] == 200, what="it is ready after the faults")
            for job in database.sql("select job_id from job_state where not terminal"):
                status, answer = daemon.call("DELETE", f"/v1/jobs/{job[0]}")
                assert status in (200, 202, 404, 409), (status, answer)  # 409: it has ended meanwhile
        wrong += settle(daemon, database.sql)
    finally:
        gate.close()
        front.close()
        daemon.discard()
        database.close()
    for sentence in wrong:
        print(sentence)
    if not lists:
        wrong.append("no list had the row: lists were not tried")
    return conclude("R21", f"{bad} illegal of {chosen.histories} histories, {count} operations on {jobs} jobs ({unknown} open), {lists} lists, {faults} faults",
                    "0 illegal", not wrong)


if __name__ == "__main__":
    sys.exit(main())
