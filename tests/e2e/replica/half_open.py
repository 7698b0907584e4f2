"""A half-open connection: the database's server runs in a network namespace, and from one moment on nothing that it sends arrives. Nothing
is reset or refused. Once while clients submit, once while the daemon is idle.

    half_open.py

Exit 1 if something was acknowledged meanwhile, is lost or was made twice. The last line has the figure: the longest time from the cut until
/readyz was 503, beside its bar of 10 s."""
import sys
import threading
import time

from muster_server import QUEUES, Server
from pg_pair import Postgres

from clients import Clients
from network_space import Space

BAR = 10.0
WITHIN = 120


class Watch:
    """Asks /readyz again and again; `seen` has when it was asked and the answer."""

    def __init__(self, server):
        self.server, self.seen, self.ends = server, [], threading.Event()
        self.thread = threading.Thread(target=self._look)
        self.thread.start()

    def _look(self):
        while not self.ends.is_set():
            asked = time.monotonic()
            self.seen.append((asked, *self.server.get("/readyz")))
            time.sleep(0.02)

    def first(self, status, after):
        """When it was asked first for this answer after that moment."""
        until = time.monotonic() + WITHIN
        while time.monotonic() < until:
            if found := next(((at, body) for at, told, body in self.seen if at > after and told == status), None):
                return found
            time.sleep(0.02)
        raise AssertionError(f"/readyz never said {status}")

    def close(self):
        self.ends.set()
        self.thread.join()


def sessions_gone(database):
    """When the server has ended the sessions of the daemon by itself."""
    database.wait(lambda: database.sql("select count(*) from pg_stat_activity where application_name like 'musterd%'") == [["0"]],
                  "the server ends the sessions")
    return time.monotonic()


def one(space, database, server, watch, clients):
    """(time until it was seen, until the server's side was gone, until it was ready again) in seconds"""
    if clients:
        clients.await_more(20)
    else:
        time.sleep(3)
    cut = time.monotonic()
    space.cut()
    is_cut = time.monotonic()
    seen, body = watch.first(503, cut)
    gone = sessions_gone(database)
    if clients:
        # An answer that was on its way at the cut is an acknowledgement of before.
        late = [name for name, (_, _, asked) in list(clients.acknowledged.items()) if asked > is_cut]
        assert not late, late
    healed = time.monotonic()
    space.heal()
    ready, _ = watch.first(200, healed)
    if clients:
        clients.await_more(20)
        lost, twice = clients.verdict(database)
        assert not lost and not twice, (lost[:5], twice[:5])
    print(f"{'under load' if clients else 'idle'}: seen after {seen - cut:.2f} s ({'; '.join(body['reasons'])}); the server ended its sessions after "
          f"{gone - cut:.2f} s; ready {ready - healed:.2f} s after the link was whole", flush=True)
    return seen - cut


def main():
    space = Space()
    database = server = watch = clients = None
    try:
        database = Postgres(space=space)
        server = Server(["--postgres", database.url(), "--simulated-cluster", "sim,cpu=64,memory=64Gi,run-time-ms=300"]).start()
        server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        watch = Watch(server)
        idle = one(space, database, server, watch, None)
        clients = Clients([server], 4, "load")
        loaded = one(space, database, server, watch, clients)
    finally:
        for part in (clients, watch, server, database, space):
            if part:
                part.close()
    worst = max(idle, loaded)
    print(f"HALF-OPEN figure={worst:.2f} s bar={BAR} s {'met' if worst <= BAR else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
