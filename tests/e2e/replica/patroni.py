"""The runbook of docs/guide/high-availability.md, played: three nodes of Patroni with a synchronous standby, two daemons, clients that submit.
The host of the primary is killed; it comes back; a planned switchover; both standbys are lost, and one comes back; both are lost again, and the
administrator goes on alone until they are back.

    patroni.py [--clients N]

Exit 1 if an acknowledged job is lost or a job was made twice. The last line has the figure: from the promotion after the host's loss to the
next acknowledgement, beside its bar of 5 s."""
import argparse
import os
import shutil
import sys
import time

from muster_server import QUEUES
from two_daemons import Peer, key_file

from clients import Clients
from patroni_cluster import TTL, Cluster

BAR = 5.0


class Play:
    def __init__(self, count):
        self.key, self.peers, self.clients = key_file(), [], None
        self.cluster = Cluster()
        try:
            for event, flags in (("ready", ()), ("standby", ("--standby",))):
                self.peers.append(Peer(self.cluster.url(), self.key, *flags))
                self.peers[-1].serve(event)
                if event == "ready":
                    self.peers[0].run("muster", "apply", "-f", "-", stdin=QUEUES)
            self.clients = Clients(self.peers, count, "load")
            self.clients.await_more(50)
        except BaseException:
            self.close()
            raise

    def say(self, what):
        print(f"{what}; {len(self.clients.acknowledged)} acknowledged so far", flush=True)

    def lost_host(self):
        """The host of the primary is lost. Seconds from the promotion to the next acknowledgement."""
        old = self.cluster.leader()
        killed = time.monotonic()
        old.kill()
        self.cluster.wait(lambda: any(node.leads() for node in self.cluster.nodes if node is not old), "a standby is promoted")
        promoted = time.monotonic()
        self.clients.await_more(50, within=300)
        first = self.clients.first_after(promoted)
        self.say(f"host lost: promoted after {promoted - killed:.1f} s (ttl {TTL} s), the next acknowledgement {first - promoted:.2f} s later, "
                 f"{self.clients.silence_after(killed):.1f} s without one")
        back = time.monotonic()
        old.start()
        self.cluster.await_standbys(2)
        self.say(f"the lost node is started again: a standby after {time.monotonic() - back:.1f} s")
        return first - promoted

    def switchover(self):
        old = self.cluster.leader()
        asked = time.monotonic()
        self.cluster.control("switchover", "--leader", old.name, "--force")
        self.cluster.wait(lambda: any(node.leads() for node in self.cluster.nodes if node is not old), "another node is the primary")
        self.clients.await_more(50)
        silence = self.clients.silence_after(asked)
        self.cluster.await_standbys(2)
        self.say(f"planned switchover: {silence:.2f} s without an acknowledgement")

    def no_standby(self):
        """Both standbys are lost: nothing is acknowledged, and it is named."""
        leader = self.cluster.leader()
        standbys = [node for node in self.cluster.nodes if node is not leader]
        for node in standbys:
            node.kill()
        lost = time.monotonic()
        peer = self.peers[0]
        peer.wait(lambda: all("waiting for a synchronous standby" in str(one.get("/readyz")) or one.get("/v1/status")[1]["role"] == "standby"
                              for one in self.peers), what="the wait is named")
        named = time.monotonic()
        time.sleep(10)
        late = [at for _, at, asked in list(self.clients.acknowledged.values()) if asked > lost]
        assert not late, "acknowledged without a standby"
        back = time.monotonic()
        standbys[0].start()
        self.clients.await_more(50, within=300)
        self.say(f"no standby left: named after {named - lost:.1f} s, nothing acknowledged; again {self.clients.first_after(back) - back:.1f} s after "
                 "one standby was started")
        standbys[1].start()
        self.cluster.await_standbys(2)
        self.await_promise("server-loss")

    def await_promise(self, promise):
        """Until the daemon that leads says so."""
        def told():
            status = next((body for _, body in (peer.get("/v1/status") for peer in self.peers) if body and body["role"] == "leader"), {})
            return status.get("database", {}).get("promise") == promise
        self.peers[0].wait(told, what=f"the promise is {promise}")

    def alone(self):
        """Both standbys are lost for longer, and the administrator decides to go on with one server."""
        leader = self.cluster.leader()
        standbys = [node for node in self.cluster.nodes if node is not leader]
        for node in standbys:
            node.kill()
        self.peers[0].wait(lambda: not any(peer.get("/readyz")[0] == 200 for peer in self.peers), what="nobody is ready")
        decided = time.monotonic()
        self.cluster.control("edit-config", "--force", "-s", "synchronous_mode=false")
        self.clients.await_more(50, within=300)
        self.await_promise("crash")
        self.say(f"the administrator goes on alone: acknowledged again {self.clients.first_after(decided) - decided:.1f} s after edit-config, and the promise "
                 "is crash")
        self.cluster.control("edit-config", "--force", "-s", "synchronous_mode=true")
        for node in standbys:
            node.start()
        self.cluster.await_standbys(2)
        self.await_promise("server-loss")

    def close(self):
        if self.clients:
            self.clients.close()
        for peer in self.peers:
            peer.end()
        self.cluster.close()
        shutil.rmtree(os.path.dirname(self.key), ignore_errors=True)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--clients", type=int, default=8)
    play = Play(words.parse_args().clients)
    try:
        figure = play.lost_host()
        play.switchover()
        play.no_standby()
        play.alone()
        play.clients.close()
        lost, twice = play.clients.verdict(play.cluster.leader())
        count = len(play.clients.acknowledged)
    finally:
        play.close()
    met = figure <= BAR and not lost and not twice
    print(f"PATRONI figure={figure:.2f} s, {len(lost)} lost of {count}, {len(twice)} twice bar={BAR} s, 0 lost, 0 twice {'met' if met else 'MISSED'}")
    return 1 if lost or twice else 0


if __name__ == "__main__":
    sys.exit(main())
