"""The checkers see what is wrong: each is shown faults that were planted, and histories that are legal and illegal."""
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

from gate import CutAnswer, Frames, Garble, Gate, Lose, Refuse, StopReading
from job_model import DONE, REFUSED, JobModel
from linear import OPEN, Operation, linearizable
from snapshots import torn
from verdict import SETTLED, Accepts, unsettled

import ports  # its directory is in the path because of gate


def op(name, outcome, called, returned=OPEN, **detail):
    return Operation(name, outcome, called, returned, detail)


SUBMIT = op("submit", 7, 0, 1)


class Histories(unittest.TestCase):
    def legal(self, *operations, inert=True):
        self.assertTrue(linearizable([SUBMIT, *operations], JobModel(inert)))

    def illegal(self, *operations, inert=True):
        self.assertFalse(linearizable([SUBMIT, *operations], JobModel(inert)))

    def test_what_is_acknowledged_is_seen(self):
        self.legal(op("get", ("Pending", ""), 2, 3))
        self.illegal(op("get", None, 2, 3))
        self.illegal(op("list", None, 2, 3))
        # While the submission is under way, both may be seen; but not the absence after the presence.
        self.legal(op("get", None, 0.2, 0.4), op("get", ("Pending", ""), 0.5, 0.6))
        self.illegal(op("get", ("Pending", ""), 0.2, 0.4), op("get", None, 0.5, 0.6))

    def test_changes_take_effect_between_call_and_return(self):
        held = op("hold", DONE, 2, 4)
        self.legal(held, op("get", ("Held", ""), 5, 6))
        self.illegal(held, op("get", ("Pending", ""), 5, 6))
        self.legal(held, op("get", ("Pending", ""), 2.5, 3), op("get", ("Held", ""), 3.1, 3.2))
        self.illegal(held, op("get", ("Held", ""), 2.5, 3), op("get", ("Pending", ""), 3.1, 3.2))
        self.legal(held, op("release", DONE, 3, 5), op("get", ("Held", ""), 6, 7))
        self.illegal(held, op("release", DONE, 5, 6), op("get", ("Held", ""), 7, 8))

    def test_refusals_have_a_reason(self):
        self.illegal(op("hold", REFUSED, 2, 3))
        self.legal(op("cancel", DONE, 2, 3), op("hold", REFUSED, 4, 5))
        self.illegal(op("cancel", DONE, 2, 3), op("hold", DONE, 4, 5))
        self.illegal(op("cancel", DONE, 2, 3), op("cancel", DONE, 4, 5))

    def test_a_cancelled_job_that_waited_never_begins(self):
        self.legal(op("cancel", DONE, 2, 3), op("get", ("Cancelled", ""), 4, 5), inert=False)
        self.legal(op("cancel", DONE, 2, 3), op("get", ("Running", ""), 4, 5), op("get", ("Cancelled", ""), 6, 7), inert=False)
        self.illegal(op("hold", DONE, 1.5, 1.8), op("get", ("Held", ""), 1.9, 2), op("cancel", DONE, 2, 3), op("get", ("Running", ""), 4, 5), inert=False)

    def test_the_system_moves_by_itself_only_where_it_may(self):
        self.legal(op("get", ("Running", ""), 2, 3), op("get", ("Succeeded", ""), 4, 5), inert=False)
        self.legal(op("get", ("Succeeded", ""), 4, 5), inert=False)
        self.illegal(op("get", ("Succeeded", ""), 2, 3), op("get", ("Running", ""), 4, 5), inert=False)
        self.illegal(op("get", ("Running", ""), 2, 3))
        self.illegal(op("hold", DONE, 2, 3), op("get", ("Held", ""), 3.2, 3.5), op("get", ("Running", ""), 4, 5), inert=False)
        # One that runs is marked, and held if it comes back into its queue.
        began = op("get", ("Running", ""), 2, 3)
        self.legal(began, op("hold", DONE, 4, 5), op("get", ("Running", ""), 6, 7), op("get", ("Held", ""), 8, 9), inert=False)
        self.illegal(began, op("hold", DONE, 4, 5), op("get", ("Pending", ""), 6, 7), inert=False)

    def test_an_outcome_that_is_not_known_stays_open(self):
        lost = op("hold", None, 2)
        self.legal(lost, op("get", ("Pending", ""), 3, 4))
        self.legal(lost, op("get", ("Held", ""), 3, 4))
        self.legal(lost, op("get", ("Pending", ""), 3, 4), op("get", ("Held", ""), 5, 6))  # late
        self.illegal(lost, op("get", ("Held", ""), 3, 4), op("get", ("Pending", ""), 5, 6))  # undone
        self.illegal(op("get", ("Held", ""), 1.2, 1.4), lost)  # before its call

    def test_a_comment_is_the_last_one_that_was_written(self):
        first, second = op("update", DONE, 2, 3, comment="a"), op("update", DONE, 4, 5, comment="b")
        self.legal(first, second, op("get", ("Pending", "b"), 6, 7))
        self.illegal(first, second, op("get", ("Pending", "a"), 6, 7))
        self.legal(first, op("update", "conflict", 4, 5, comment="b"), op("get", ("Pending", "a"), 6, 7))
        self.illegal(first, op("update", "conflict", 4, 5, comment="b"), op("get", ("Pending", "b"), 6, 7))

    def test_a_repeated_key_makes_no_second_job(self):
        self.legal(op("hold", DONE, 2, 3), op("submit", 7, 4, 5), op("get", ("Held", ""), 6, 7))

    def test_open_operations_that_are_alike_cost_no_branches(self):
        lost = [op(name, None, 2 + i / 100) for i in range(30) for name in ("hold", "release")]
        reads = [op("get", ("Held" if i % 3 else "Pending", ""), 10 + i, 10.9 + i) for i in range(30)]
        self.legal(*lost, *reads)
        self.illegal(*lost, *reads, op("get", ("Cancelled", ""), 50, 51))

    def test_a_lost_write_that_is_seen_late_counts(self):
        unseen = [op("update", None, 2, comment=str(i)) for i in range(20)]
        self.legal(*unseen, op("get", ("Pending", ""), 4, 5), op("get", ("Pending", "7"), 6, 7))
        self.illegal(*unseen, op("get", ("Pending", "7"), 4, 5), op("get", ("Pending", ""), 6, 7))

    def test_long_histories_are_judged_quickly(self):
        reads = [op("get", ("Pending", ""), 2 + i, 2.9 + i) for i in range(300)]
        overlapping = [op("update", DONE, 400 + i / 10, 402 + i / 10, comment=str(i)) for i in range(12)]
        last = op("get", ("Pending", "11"), 500, 501)
        self.legal(*reads, *overlapping, last)
        self.illegal(*reads, *overlapping, op("get", ("Pending", "x"), 500, 501))


class Lists(unittest.TestCase):
    def test_a_list_is_one_version(self):
        # Jobs are updated in turn, so a list shows a higher number only before lower ones.
        self.assertIsNone(torn([3, 3, 2, 2]))
        self.assertIsNone(torn([2, 2, 2]))
        self.assertIsNotNone(torn([3, 2, 3]))
        self.assertIsNotNone(torn([4, 2, 2]))


class Losses(unittest.TestCase):
    told = {"a": [1], "b": [2], "c": [3]}
    rows = [("1", "a"), ("2", "b"), ("3", "c")]

    def test_nothing_is_wrong(self):
        self.assertTrue(Accepts(self.told, self.rows, left={"d": None}).sound())

    def test_a_dropped_row_is_a_loss(self):
        self.assertEqual(Accepts(self.told, self.rows[:-1]).lost, ["c"])

    def test_another_job_under_the_acknowledged_number_is_a_loss(self):
        self.assertEqual(Accepts(self.told, [*self.rows[:-1], ("3", "z")]).lost, ["c"])

    def test_a_second_row_or_number_is_a_double(self):
        self.assertEqual(Accepts(self.told, [*self.rows, ("4", "a")]).doubled, ["a"])
        self.assertEqual(Accepts({**self.told, "a": [1, 4]}, self.rows).doubled, ["a"])
        self.assertEqual(Accepts({**self.told, "d": [1]}, self.rows).doubled, ["a", "d"])

    def test_what_was_refused_for_certain_is_not_there(self):
        self.assertEqual(Accepts(self.told, [*self.rows, ("9", "d")], left={"d": None}).falsely_refused, ["d"])


class Settled(unittest.TestCase):
    def test_each_invariant_names_its_offenders(self):
        self.assertEqual(unsettled(lambda statement: []), [])
        for name, own in SETTLED.items():
            found = unsettled(lambda statement, own=own: [["7"]] if statement == own else [])
            self.assertEqual([sentence.startswith(name) for sentence in found], [True])


class Echo:
    """A server that answers every chunk with a message of PostgreSQL's form."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heard = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                while data := connection.recv(65536):
                    self.heard.append(data)
                    connection.sendall(b"D" + struct.pack(">I", 4 + len(data)) + data)
            except OSError:
                pass


class Ports(unittest.TestCase):
    def test_no_two_processes_get_the_same_port(self):
        # Of so few ports two that choose without regard to each other choose the same ones.
        choose = "import ports; ports.RANGE = range(22000, 22400); print(*(ports.free_port() for _ in range(150)), flush=True); input()"
        others = [subprocess.Popen([sys.executable, "-c", choose], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=os.path.dirname(ports.__file__)) for _ in range(2)]
        theirs = [set(map(int, other.stdout.readline().split())) for other in others]
        for other in others:
            other.communicate("\n")
        self.assertEqual([len(one) for one in theirs], [150, 150])
        self.assertEqual(theirs[0] & theirs[1], set())

    def test_a_port_with_a_listener_is_passed_over_and_one_whose_holder_has_ended_is_free(self):
        port = ports.free_port()
        with unittest.mock.patch.object(ports, "RANGE", range(port, port + 1)):
            with self.assertRaisesRegex(AssertionError, "no free port"):
                ports.free_port()
            ports._held.pop().close()
            with socket.create_server(("127.0.0.1", port)):
                with self.assertRaisesRegex(AssertionError, "no free port"):
                    ports.free_port()
            self.assertEqual(ports.free_port(), port)


class Gates(unittest.TestCase):
    def setUp(self):
        self.echo = Echo()
        self.gate = Gate(self.echo.port)
        self.addCleanup(self.gate.close)
        self.addCleanup(self.echo.listener.close)

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.gate.port), timeout=60)
        self.addCleanup(client.close)
        return client

    def ask(self, client, data=b"x", within=60):
        """The answer; None for none within that time, b"" for an end."""
        client.settimeout(within)
        try:
            client.sendall(data)
            return client.recv(100)
        except TimeoutError:
            return None
        except OSError:
            return b""

    def await_heard(self, wanted):
        until = time.monotonic() + 60
        while self.echo.heard != wanted and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(self.echo.heard, wanted)

    def test_each_mode_does_what_it_says(self):
        client = self.connect()
        self.assertEqual(self.ask(client), b"D\0\0\0\5x")
        self.gate.set(StopReading())
        self.assertIsNone(self.ask(client, within=0.5))
        self.assertEqual(self.echo.heard, [b"x"])
        self.gate.set()
        client.settimeout(60)
        self.assertEqual(client.recv(100), b"D\0\0\0\5x")  # late, and whole
        self.gate.set(Lose(down=True))
        self.assertIsNone(self.ask(client, within=0.5))
        self.await_heard([b"x"] * 3)
        self.gate.set()
        self.assertEqual(self.ask(client), b"")  # cut, for bytes are missing
        self.gate.set(Garble())
        self.assertEqual(self.ask(self.connect()), b"\1\0\0\0\5x")
        self.gate.set(Garble(length=True))
        self.assertEqual(self.ask(self.connect()), b"D\x3f\0\0\5x")
        self.gate.set(Refuse())
        with self.assertRaises(OSError):
            self.connect()
        self.gate.set()
        self.assertEqual(self.ask(self.connect()), b"D\0\0\0\5x")

    def test_an_answer_is_cut_when_the_server_has_given_it(self):
        for where, heard in (("answer", [b"COMMIT"]), ("before", []), ("behind", [b"COMMIT"])):
            self.echo.heard.clear()
            client = self.connect()
            self.gate.set(CutAnswer(b"COMMIT", where))
            answer = self.ask(client, b"COMMIT")
            if answer and where == "behind":  # the answer may be faster than the cut
                answer = self.ask(client, b"")
            self.assertEqual(answer, b"", where)
            if not heard:
                time.sleep(0.1)  # it could come late
            self.await_heard(heard)

    def test_messages_are_found_across_pieces(self):
        frames = Frames()
        self.assertEqual(frames.feed(b"D\0\0"), [0])
        self.assertEqual(frames.feed(b"\0\5xC\0\0\0\4Z"), [3, 8])
        frames = Frames()
        frames.bare = 1
        self.assertEqual(frames.feed(b"N"), [])
        self.assertEqual(frames.feed(b"R\0\0\0\4"), [0])


if __name__ == "__main__":
    unittest.main()
