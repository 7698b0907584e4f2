"""A wire between musterd and a member that can be cut, or swallow answers: partitions of the network, the member unhurt."""
import select
import socket
import threading


class Wire:
    """Listens on a port of its own and carries bytes to `port`; close() ends it."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.whole = True  # false: connections are refused, those that were open are reset
        self.answers = True  # false: what the member says is thrown away
        self.pairs = {}  # socket: its other end; both ways
        self.members = set()  # the ends that lead to the member
        self.wake, self.waker = socket.socketpair()
        self.lock = threading.Lock()
        self.closing = False
        self.thread = threading.Thread(target=self.carry, daemon=True)
        self.thread.start()

    def cut(self):
        self.change(whole=False)

    def mute(self):
        self.change(answers=False)

    def heal(self):
        """Whole again. Connections that lost bytes are reset: no protocol goes on after a hole."""
        with self.lock:
            for one in list(self.pairs):
                self.drop(one)
        self.change(whole=True, answers=True)

    def change(self, **to):
        with self.lock:
            self.__dict__.update(to)
            if not self.whole:
                for one in list(self.pairs):
                    self.drop(one)
        self.waker.send(b"x")

    def close(self):
        self.closing = True
        self.waker.send(b"x")
        self.thread.join()
        self.change(whole=False)
        for each in (self.listener, self.wake, self.waker):
            each.close()

    def drop(self, one):
        other = self.pairs.pop(one, None)
        if other is None:
            return
        self.pairs.pop(other, None)
        for each in (one, other):
            self.members.discard(each)
            each.close()

    def accept(self):
        client, _ = self.listener.accept()
        if not self.whole:
            client.close()
            return
        try:
            member = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            client.close()
            return
        self.pairs[client], self.pairs[member] = member, client
        self.members.add(member)

    def pass_on(self, one):
        try:
            data = one.recv(1 << 16)
            if data and (self.answers or one not in self.members):
                self.pairs[one].sendall(data)
        except OSError:
            data = b""
        if not data:
            self.drop(one)

    def carry(self):
        while not self.closing:
            with self.lock:
                waiting = [self.listener, self.wake, *self.pairs]
            try:
                ready, _, _ = select.select(waiting, [], [], 1)
            except (OSError, ValueError):
                continue  # one of them was closed meanwhile
            with self.lock:
                for one in ready:
                    if one is self.listener:
                        self.accept()
                    elif one is self.wake:
                        self.wake.recv(4096)
                    elif one in self.pairs:
                        self.pass_on(one)
