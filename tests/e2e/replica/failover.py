"""A synchronous pair of PostgreSQLs under two daemons and eight clients: the primary is killed, the standby is promoted, a new standby is
made of the lost one, and so on.

    failover.py [--rounds N] [--clients N]

Exit 1 if an acknowledged job is lost or a job was made twice. The last line has the figure: the longest time from the end of the
promotion to the next acknowledgement, beside its bar of 3 s."""
import argparse
import os
import shutil
import sys
import time

from muster_server import QUEUES
from pg_pair import Postgres, synchronous
from two_daemons import Peer, key_file

from clients import Clients

BAR = 3.0


class Rounds:
    def __init__(self):
        self.key = key_file()
        self.primary = Postgres()
        self.standby = Postgres("reserve", self.primary)
        synchronous(self.primary, self.standby)
        self.peers, self.nexts, self.silences, self.kept = [], [], [], 0

    def peer(self, event, *flags):
        peer = Peer(self.primary.url(self.standby), self.key, *flags)
        self.peers.append(peer)
        return peer.serve(event)

    def leader(self):
        return next((peer for peer in self.peers if peer.ask("GET", "/readyz")[0] == 200), None)

    def one(self, clients):
        clients.await_more(40)
        leader = self.leader()
        killed = time.monotonic()
        self.primary.kill()
        self.standby.promote()
        promoted = time.monotonic()
        clients.await_more(40)
        first = clients.first_after(promoted)
        self.nexts.append(first - promoted)
        self.silences.append(clients.silence_after(killed))
        self.kept += self.leader() is leader
        lost, twice = clients.verdict(self.standby)
        # The lost server comes back as a standby on the address that the daemons know.
        port, gone = self.primary.port, self.primary
        gone.close()
        self.primary, self.standby = self.standby, Postgres("reserve", self.standby, port=port)
        synchronous(self.primary, self.standby)
        return lost, twice

    def run(self, rounds, count):
        first = self.peer("ready")
        first.run("muster", "apply", "-f", "-", stdin=QUEUES)
        second = self.peer("standby", "--standby")
        clients = Clients([first, second], count, "load")
        try:
            for number in range(rounds):
                lost, twice = self.one(clients)
                print(f"round {number + 1}: {self.silences[-1]:.2f} s without an acknowledgement, the next one {self.nexts[-1]:.2f} s after the "
                      f"promotion; {len(clients.acknowledged)} acknowledged, {len(lost)} lost, {len(twice)} twice", flush=True)
                assert not lost and not twice, (lost[:5], twice[:5])
            clients.await_more(40)
        finally:
            clients.close()
        # Both daemons follow the database: one leads, the other one has a copy of what was written last.
        leader = self.leader()
        other = second if leader is first else first
        other.wait(lambda: other.ask("GET", "/v1/jobs?limit=1")[0] == 200, what="the other daemon has a copy")
        assert other.get("/v1/status")[1]["role"] == "standby"
        promise = leader.wait(lambda: (lambda told: told if told.get("standbysStreaming") == 1 else None)(leader.get("/v1/status")[1]["database"]),
                              what="the promise is known")
        assert promise["promise"] == "server-loss", promise
        return clients, clients.verdict(self.primary)

    def close(self):
        for peer in self.peers:
            peer.end()
        self.standby.close()
        self.primary.close()
        shutil.rmtree(os.path.dirname(self.key))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--rounds", type=int, default=20)
    words.add_argument("--clients", type=int, default=8)
    options = words.parse_args()
    rounds = Rounds()
    try:
        clients, (lost, twice) = rounds.run(options.rounds, options.clients)
    finally:
        rounds.close()
    nexts = sorted(rounds.nexts)
    print(f"{len(nexts)} failovers under {options.clients} clients, {len(clients.acknowledged)} acknowledged, {len(lost)} lost, {len(twice)} twice; the "
          f"same daemon led on after {rounds.kept}; without an acknowledgement for at most {max(rounds.silences):.2f} s; refused meanwhile {clients.refused}")
    met = nexts[-1] <= BAR and not lost and not twice
    print(f"FAILOVER figure={nexts[-1]:.2f} s (median {nexts[len(nexts) // 2]:.2f} s), {len(lost)} lost, {len(twice)} twice bar={BAR} s, 0 lost, 0 twice "
          f"{'met' if met else 'MISSED'}")
    return 1 if lost or twice else 0


if __name__ == "__main__":
    sys.exit(main())
