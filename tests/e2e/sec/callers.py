"""Requests by processes of other accounts, over the server's Unix socket or over TCP."""
import http.client
import json
import os
import socket

NOBODY = 65534


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the socket at `path`."""

    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def connection(server, way):
    """way: "unix" or "tcp"."""
    return UnixConnection(f"{server.dir}/run/muster.sock") if way == "unix" else http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)


def ask(server, way, method, path, body=None, headers=None):
    """(status, parsed body) of one request of this very process."""
    link = connection(server, way)
    try:
        data = None if body is None else json.dumps(body).encode()
        link.request(method, path, body=data, headers={"Content-Type": "application/json", **(headers or {})})
        answer = link.getresponse()
        raw = answer.read()
        try:
            return answer.status, json.loads(raw)
        except ValueError:
            return answer.status, raw.decode(errors="replace")
    finally:
        link.close()


def ask_as(uid, server, way, method, path, body=None, headers=None, environment=None):
    """The same by a child process whose account is `uid` (its group too), with more variables in its environment."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            os.environ.update(environment or {})
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            answer = json.dumps(ask(server, way, method, path, body, headers))
        except BaseException as error:  # pylint: disable=broad-except
            answer = json.dumps([0, repr(error)])
        with os.fdopen(write, "w", encoding="utf-8") as out:
            out.write(answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as answer:
        status, told = json.loads(answer.read())
    os.waitpid(child, 0)
    return status, told
