"""Ports for servers that cannot choose one themselves, and that are started again at the same one. Standard library only."""
import random
import socket

# Below the ports that the kernel gives to outgoing connections and to servers on port 0, which could take a port between the choice and
# the server's start, or while it is down; above those of kubebed (tests/kubebed/process.go).
RANGE = range(22000, 32000)

_held = []  # for the life of this process


def free_port():
    """A port on which nothing listens, and which no other process gets from here while this process lives."""
    first = random.SystemRandom().randrange(len(RANGE))
    for port in (*RANGE[first:], *RANGE[:first]):
        mark = socket.socket(socket.AF_UNIX)
        try:
            # An abstract name has no file: it is free again when this process has ended, however that was.
            mark.bind(f"\0muster-test-port-{port}")
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do: a connection of the past is no hindrance
                probe.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
            continue
        _held.append(mark)
        return port
    raise AssertionError(f"no free port from {RANGE.start} to {RANGE.stop - 1}")
