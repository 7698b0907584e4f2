"""Clients of several daemons: each submits jobs one after another, each job under a key, and repeats a submission until it is acknowledged."""
import http.client
import json
import threading
import time

PATH = "/v1/namespaces/default/jobs"


class Clients:
    """`peers`: the daemons. `acknowledged`: name -> (job number, time of the answer, time of the request that it answers); `refused`: status ->
    answers other than that."""

    def __init__(self, peers, count, prefix, pause=0.05):
        self.peers, self.prefix, self.pause = peers, prefix, pause
        self.acknowledged, self.refused, self.renumbered = {}, {}, []
        self.lock, self.ends = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self._submit_all, args=(number,)) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def _ask(self, peer, name):
        # A script, because its name need not be unique: a second job under the same key would be seen.
        body = json.dumps({"script": "#!/bin/sh\ntrue\n", "name": name, "workDir": "/tmp", "output": "/dev/null"})
        try:
            connection = http.client.HTTPConnection("127.0.0.1", peer.port, timeout=30)
            connection.request("POST", PATH, body, {"Content-Type": "application/json", "Idempotency-Key": name})
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            return answer.status, text
        except (OSError, http.client.HTTPException):
            return 0, b""

    def _submit_all(self, number):
        at = 0
        for i in range(1_000_000):
            name = f"{self.prefix}-{number}-{i}"
            while not self.ends.is_set():
                asked = time.monotonic()
                status, text = self._ask(self.peers[at % len(self.peers)], name)
                if status in (200, 201):
                    with self.lock:
                        self.acknowledged[name] = (json.loads(text)["id"], time.monotonic(), asked)
                    break
                with self.lock:
                    self.refused[status] = self.refused.get(status, 0) + 1
                at += 1  # as clients do that know several servers
                time.sleep(0.02)
            if self.ends.is_set():
                return
            time.sleep(self.pause)

    def await_more(self, count, within=120):
        """Waits until so many more submissions are acknowledged."""
        before, until = len(self.acknowledged), time.monotonic() + within
        while len(self.acknowledged) < before + count:
            assert time.monotonic() < until, f"no {count} acknowledgements within {within} s; refused: {self.refused}"
            time.sleep(0.005)

    def first_after(self, moment):
        """When the first submission after that moment was acknowledged; None if none was."""
        with self.lock:
            return min((at for _, at, _ in self.acknowledged.values() if at > moment), default=None)

    def silence_after(self, moment):
        """The longest time without an acknowledgement since that moment."""
        with self.lock:
            times = sorted(at for _, at, _ in self.acknowledged.values() if at > moment)
        return max(later - earlier for earlier, later in zip([moment, *times], times))

    def close(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()

    def verdict(self, server):
        """(acknowledged jobs that the database does not have, jobs that it has twice)"""
        with self.lock:
            told = {name: number for name, (number, _, _) in self.acknowledged.items()}
        there = {}
        for name, number in server.sql(f"select display_name, id from jobs where display_name like '{self.prefix}-%'"):
            there.setdefault(name, []).append(int(number))
        lost = [name for name, number in told.items() if number not in there.get(name, [])]
        return lost, [name for name, numbers in there.items() if len(numbers) > 1]
