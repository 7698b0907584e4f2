"""Clients that submit with idempotency keys, go on through every fault, and remember what they were told."""
import http.client
import json
import socket
import threading
import time

HEADERS = {"Content-Type": "application/json"}


def script(name, cpus=2, comment="", **fields):
    """A batch script: its display name may repeat, so a job that was made twice shows as two rows."""
    return {"script": f"#!/bin/sh\n#SBATCH -c {cpus}\ntrue\n", "name": name, "workDir": "/tmp",
            **({"comment": comment} if comment else {}), **fields}


class Caller:
    """One connection to whichever port the daemon has now; a broken one is opened again."""

    def __init__(self, server, timeout=60):
        self.server, self.timeout = server, timeout
        self.connection, self.port = None, 0

    def ask(self, method, path, body=None, headers=None):
        """(status, headers, text); status 0 when there is no answer: what became of the request is then open."""
        try:
            if self.connection is None or self.port != self.server.port:
                self.close()
                self.port = self.server.port
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
                self.connection.connect()
                self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connection.request(method, path, body if body is None or isinstance(body, (bytes, str)) else json.dumps(body),
                                    {**HEADERS, **(headers or {})})
            answer = self.connection.getresponse()
            text = answer.read()
            if answer.getheader("Connection", "").lower() == "close":
                self.close()
            return answer.status, answer.headers, text
        except (OSError, http.client.HTTPException):
            self.close()
            return 0, {}, b""

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Refusal:
    """One answer that was no success. `definite`: it says that nothing was written."""

    def __init__(self, key, at, status, headers, text):
        self.key, self.at, self.status = key, at, status
        self.retry_after = headers.get("Retry-After") if status else None
        self.text = text.decode(errors="replace")

    def definite(self):
        return self.status != 0 and "not known" not in self.text and "before you retry" not in self.text


class Submitters:
    """`number` threads; each submits job after job, each job under its key until it is acknowledged.

    acknowledged: key to the ids that answers gave it, all of them; told_at: when each first one came.
    left: keys that were refused for certain and not tried again, with their refusals (`leaves`: one in so many refusals)."""

    def __init__(self, server, number=8, prefix="k", job=script, pause=0.0, leaves=0, timeout=60):
        self.server, self.prefix, self.job, self.pause, self.leaves, self.timeout = server, prefix, job, pause, leaves, timeout
        self.acknowledged, self.told_at, self.refusals, self.left, self.waits = {}, [], [], {}, []
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(each,), daemon=True) for each in range(number)]
        for thread in self.threads:
            thread.start()

    def _run(self, number):
        caller = Caller(self.server, self.timeout)
        refused = 0
        for i in range(10_000_000):
            if self.ends.is_set():
                break
            key = f"{self.prefix}-{number}-{i}"
            began, open_before = time.monotonic(), False
            while True:
                status, headers, text = caller.ask("POST", "/v1/namespaces/default/jobs", self.job(key), {"Idempotency-Key": key})
                if status == 201:
                    self.acknowledged.setdefault(key, []).append(json.loads(text)["id"])
                    self.told_at.append(time.monotonic())
                    self.waits.append(time.monotonic() - began)
                    break
                refusal = Refusal(key, time.monotonic(), status, headers, text)
                self.refusals.append(refusal)
                refused += 1
                # What became of an earlier try is open: this refusal speaks of itself alone.
                open_before = open_before or not refusal.definite()
                if self.leaves and not open_before and refused % self.leaves == 0:
                    self.left[key] = refusal
                    break
                if self.ends.is_set():
                    break
                time.sleep(0.01)
            if self.pause:
                time.sleep(self.pause)
        caller.close()

    def until(self, count, timeout=120):
        """Waits for so many acknowledgements in all."""
        deadline = time.monotonic() + timeout
        while len(self.told_at) < count:
            assert time.monotonic() < deadline, (f"{len(self.told_at)} of {count} acknowledgements within {timeout} s; the last refusals: "
                                                 f"{[(one.status, one.text) for one in self.refusals[-3:]]}")
            time.sleep(0.002)

    def next_after(self, instant, timeout=120, meanwhile=lambda: None):
        """When the first acknowledgement came of what was answered after the instant; `meanwhile` is called until then."""
        deadline = time.monotonic() + timeout
        while not self.told_at or self.told_at[-1] < instant:
            meanwhile()
            assert time.monotonic() < deadline, f"no acknowledgement; the last refusals: {[(one.status, one.text) for one in self.refusals[-3:]]}"
            time.sleep(0.002)
        return next(at for at in self.told_at[-5000:] if at >= instant)

    def close(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(timeout=self.timeout + 60)
            assert not thread.is_alive(), "a client has no answer"
        return self


class Reader:
    """Asks one path again and again; what it was answered and how long that took."""

    def __init__(self, server, path, pause=0.02, timeout=60):
        self.caller, self.path, self.pause = Caller(server, timeout), path, pause
        self.seen = []  # (when asked, seconds, status, Retry-After, Muster-Copy-Age)
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ends.is_set():
            began = time.monotonic()
            status, headers, _ = self.caller.ask("GET", self.path)
            retry, age = (headers.get("Retry-After"), headers.get("Muster-Copy-Age")) if status else (None, None)
            self.seen.append((began, time.monotonic() - began, status, retry, age))
            time.sleep(self.pause)

    def close(self):
        self.ends.set()
        self.thread.join(timeout=120)
        self.caller.close()
        return self
