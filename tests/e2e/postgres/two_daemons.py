"""Daemons that share one PostgreSQL, and a gate between a daemon and its database. For the tests of takeovers."""
import http.client
import json
import os
import socket
import tempfile
import threading

from muster_server import PATIENCE, Server


class Gate:
    """A TCP gate before a database. Closed, it keeps both sides' connections open and lets nothing through."""

    def __init__(self, port):
        self.target = port
        self.open = threading.Event()
        self.open.set()
        self.ends = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                inside, _ = self.listener.accept()
            except OSError:
                return
            if self.ends:
                return inside.close()
            threading.Thread(target=self._serve, args=(inside,), daemon=True).start()

    def _serve(self, inside):
        self.open.wait()
        try:
            outside = socket.create_connection(("127.0.0.1", self.target), timeout=PATIENCE)
            outside.settimeout(None)
        except OSError:
            inside.close()
            return
        for source, sink in ((inside, outside), (outside, inside)):
            threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source, sink):
        try:
            while data := source.recv(65536):
                self.open.wait()
                if self.ends:
                    return
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, sink):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.ends = True
        self.open.set()
        self.listener.close()


class Peer(Server):
    """A daemon beside others on one database. `url`: of the database. Without a member among the flags it has a simulated one."""

    def __init__(self, url, key, *flags):
        members = [] if "--member-cluster" in flags else ["--simulated-cluster", "sim,cpu=64,memory=64Gi,run-time-ms=300"]
        super().__init__(["--postgres", url, "--secrets-key", key, *members, *flags])

    def serve(self, event):
        """Starts it, and waits until it leads ("ready") or stands by ("standby")."""
        told = len(self.log())
        self.launch()
        return self.serving(event, told)

    def serving(self, event, told=0):
        said = self.wait(lambda: self.logged(event, told), what=f"musterd says {event}")
        self.port, self.grpc_port = said["rest_port"], said["grpc_port"]
        return self

    def ask(self, method, path, body=None):
        """(status, headers, body) of this very daemon; no redirect is followed. Status 0: no answer within seconds."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            return answer.status, dict(answer.getheaders()), text
        except (OSError, http.client.HTTPException):
            return 0, {}, b""

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()  # a stopped one too; its jobs only sleep
        self.close()


def key_file():
    """A path for the key that daemons of one database share; the first one makes the file."""
    directory = tempfile.mkdtemp(prefix="muster-key-", dir="/tmp")
    return os.path.join(directory, "key")
