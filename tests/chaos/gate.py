"""A TCP gate: what passes between a client and a server, and how it goes wrong.

The gate has one mode at a time, which holds for connections that are open and for new ones. Loopback only. A mode is an object with the hooks of
Mode; a mode that has damaged a stream leaves it cut when the next mode comes, for TCP never goes on behind bytes that were lost."""
import os
import select
import socket
import struct
import sys
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "daemon"))

from ports import free_port  # noqa: E402


class Cut(Exception):
    """The connection is to be closed. `hard`: by a reset."""

    def __init__(self, hard=False):
        super().__init__()
        self.hard = hard


class Mode:
    """Everything passes. `down`: from the server to the client."""

    damages = False  # streams that it has seen cannot go on

    def admits(self):
        return True

    def reads(self, down):
        return True

    def treat(self, link, data, down):
        """The pieces to be sent on. May wait, and may raise Cut."""
        yield data


class Refuse(Mode):
    """New connections are refused as those of a dead host's port are; open ones are cut."""
    damages = True

    def admits(self):
        return False

    def treat(self, link, data, down):
        raise Cut()
        yield  # pylint: disable=unreachable


class Reset(Mode):
    """Every connection ends by a reset at its first byte."""

    def treat(self, link, data, down):
        raise Cut(hard=True)
        yield  # pylint: disable=unreachable


class StopReading(Mode):
    """Nothing is read, so both sides' buffers fill up; all of it passes afterwards."""

    def __init__(self, up=True, down=True):
        self.up, self.down = up, down

    def reads(self, down):
        return not (self.down if down else self.up)


class Lose(Mode):
    """What comes in a direction is read and lost; the connection stays open: half-open for the other side."""
    damages = True

    def __init__(self, up=False, down=False):
        self.up, self.down = up, down

    def treat(self, link, data, down):
        if not (self.down if down else self.up):
            yield data


class Delay(Mode):
    def __init__(self, seconds):
        self.seconds = seconds

    def treat(self, link, data, down):
        time.sleep(self.seconds)
        yield data


class Slice(Mode):
    """Sent on in pieces of so many bytes, each a packet of its own."""

    def __init__(self, size):
        self.size = size

    def treat(self, link, data, down):
        for at in range(0, len(data), self.size):
            yield data[at:at + self.size]


class Throttle(Mode):
    def __init__(self, bytes_per_s):
        self.rate = bytes_per_s

    def treat(self, link, data, down):
        step = max(1, self.rate // 50)
        for at in range(0, len(data), step):
            yield data[at:at + step]
            time.sleep(step / self.rate)


class CloseOnData(Mode):
    """Every connection ends at the first byte in a direction, before or after it has passed."""

    def __init__(self, down, after=False):
        self.down, self.after = down, after

    def treat(self, link, data, down):
        if down == self.down and not self.after:
            raise Cut()
        yield data
        if down == self.down:
            raise Cut()


class HalfClose(Mode):
    """After the first byte the client's side of a connection is closed towards the server; answers still pass."""
    damages = True

    def treat(self, link, data, down):
        yield data
        if not down:
            link.outside.shutdown(socket.SHUT_WR)
            raise EOFError


class Garble(Mode):
    """Messages of PostgreSQL get another type, or another length, so that the client can no longer tell where they end."""
    damages = True

    def __init__(self, length=False):
        self.length = length

    def treat(self, link, data, down):
        if not down:
            yield data
            return
        starts = link.frames.feed(data)
        data = bytearray(data)
        for start in starts:
            if self.length and start + 1 < len(data):
                data[start + 1] = 0x3f
            elif not self.length:
                data[start] = 0x01
        yield bytes(data)


class CutAnswer(Mode):
    """Cuts connections while a transaction that has `marker` among its statements is under way, one after `every` such transactions.

    where: "before" the request reaches the server, right "behind" it, or when the server's answer to it has come and is not passed on ("answer")."""

    def __init__(self, marker, where, every=1):
        self.marker, self.where, self.every = marker, where, every
        self.seen, self.cuts = 0, 0
        self.lock = threading.Lock()

    def _due(self):
        with self.lock:
            self.seen += 1
            due = self.seen % self.every == 0
            self.cuts += due
            return due

    def treat(self, link, data, down):
        if down:
            if link.doomed:
                raise Cut()
            yield data
            return
        if self.marker not in data or not self._due():
            yield data
            return
        if self.where == "before":
            raise Cut()
        link.doomed = self.where == "answer"
        yield data
        if not link.doomed:
            raise Cut()


# A client of PostgreSQL asks first whether the server speaks TLS or GSSAPI; the answer is one byte and no message.
ENCRYPTION_ASKED = (struct.pack(">II", 8, 80877103), struct.pack(">II", 8, 80877104))


class Frames:
    """Where messages of PostgreSQL begin in what a server sends. `bare`: single bytes that come before the next message."""

    def __init__(self):
        self.left, self.header, self.bare = 0, b"", 0

    def feed(self, data):
        starts, at = [], min(self.bare, len(data))
        self.bare -= at
        while at < len(data):
            if self.left:
                step = min(self.left, len(data) - at)
                self.left -= step
                at += step
                continue
            if not self.header:
                starts.append(at)
            take = min(5 - len(self.header), len(data) - at)
            self.header += data[at:at + take]
            at += take
            if len(self.header) == 5:
                self.left, self.header = max(0, struct.unpack(">I", self.header[1:])[0] - 4), b""
        return starts


class Link:
    """One connection through the gate."""

    def __init__(self, inside, outside):
        self.inside, self.outside, self.frames = inside, outside, Frames()
        self.doomed = self.damaged = False

    def close(self, hard=False):
        for one in (self.inside, self.outside):
            try:
                if hard:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()


class Gate:
    """target: the server's port on loopback, or a function that tells it for each new connection."""

    def __init__(self, target):
        self.target, self.mode, self.ends = target, Mode(), False
        self.links, self.lock = set(), threading.Lock()
        self.listener = None
        self.port = free_port()  # its own also while nothing listens there
        self._listen()

    def _listen(self):
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def set(self, mode=None):
        """Changes the mode; without one everything passes again, but for what was damaged."""
        before, self.mode = self.mode, mode or Mode()
        if before.damages:
            for link in self._open():
                if link.damaged:
                    link.close()
        if not self.mode.admits():
            self._unlisten()
            self.cut()
        elif self.listener is None:
            self._listen()

    def cut(self, hard=False):
        for link in self._open():
            link.close(hard)

    def _open(self):
        with self.lock:
            return list(self.links)

    def _unlisten(self):
        # A thread that waits in accept keeps a closed listener alive: it is shut down first.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.listener = None

    def _accept(self, listener):
        while True:
            try:
                inside, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(inside,), daemon=True).start()

    def _serve(self, inside):
        while not self.mode.reads(False) and not self.ends:
            time.sleep(0.02)
        try:
            outside = socket.create_connection(("127.0.0.1", self.target() if callable(self.target) else self.target), timeout=30)
        except OSError:
            inside.close()
            return
        for one in (inside, outside):
            one.settimeout(None)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(inside, outside)
        with self.lock:
            self.links.add(link)
        pumps = [threading.Thread(target=self._carry, args=(link, down), daemon=True) for down in (False, True)]
        for pump in pumps:
            pump.start()
        for pump in pumps:
            pump.join()
        link.close()
        with self.lock:
            self.links.discard(link)

    def _carry(self, link, down):
        source, sink = (link.outside, link.inside) if down else (link.inside, link.outside)
        try:
            while not self.ends:
                if not self.mode.reads(down):
                    time.sleep(0.02)
                    continue
                # Not for long, so that a mode that stops reading stops it soon.
                if not select.select([source], [], [], 0.05)[0]:
                    continue
                if not self.mode.reads(down):
                    continue
                data = source.recv(65536)
                if not data:
                    break
                if not down and data in ENCRYPTION_ASKED:
                    link.frames.bare += 1
                mode = self.mode
                link.damaged = link.damaged or mode.damages
                if not isinstance(mode, Garble) and down:
                    link.frames.feed(data)
                for piece in mode.treat(link, data, down):
                    sink.sendall(piece)
        except EOFError:
            return  # half-closed: the other direction goes on
        except Cut as cut:
            return link.close(cut.hard)
        except (OSError, ValueError):
            pass
        link.close()

    def close(self):
        self.ends = True
        if self.listener:
            self._unlisten()
        self.cut()
