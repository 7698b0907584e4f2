"""S21: one tenant at full speed from many connections is told to wait; another one's submissions go on."""
import asyncio
import json
import os
import resource
import tempfile
import time
import traceback
import unittest

from muster_server import Server, queues, shell_job

CONNECTIONS = 2000
SECONDS = 10
SUBMISSIONS = 200
ALICE, BOB = 64_001, 64_002  # accounts without names: the kernel tells their numbers
LIMITS = """
limits:
  pending-jobs-per-user: 1500
  requests-per-second-per-user: 300
  burst: 300
"""


def request(name):
    body = json.dumps(shell_job(name, "true")).encode()
    head = (f"POST /v1/namespaces/default/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


async def exchange(reader, writer, data):
    """(status, headers) of one request on an open connection."""
    writer.write(data)
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
    await reader.readexactly(length)
    return int(head.split(" ", 2)[1]), head


async def flood(port, seconds, connections):
    """As fast as it goes, over all connections; how often each status came, and whether every 429 said when to try again."""
    counts, told = {}, [0]
    end = time.monotonic() + seconds

    async def one(number):
        sent = 0
        while time.monotonic() < end:
            writer = None
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                while time.monotonic() < end:
                    status, head = await exchange(reader, writer, request(f"a-{number}-{sent}"))
                    sent += 1
                    counts[status] = counts.get(status, 0) + 1
                    told[0] += status == 429 and "retry-after:" in head
            except (OSError, asyncio.IncompleteReadError, ValueError):
                counts["closed"] = counts.get("closed", 0) + 1
                await asyncio.sleep(0.05)
            finally:
                if writer is not None:
                    writer.close()
    await asyncio.gather(*[one(number) for number in range(connections)])
    return {"counts": counts, "told": told[0]}


async def measure(port, name, count):
    """Seconds of each of so many submissions, one after another, and their statuses."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    took, statuses = [], {}
    for number in range(count):
        begin = time.monotonic()
        status, _ = await exchange(reader, writer, request(f"{name}-{number}"))
        took.append(time.monotonic() - begin)
        statuses[status] = statuses.get(status, 0) + 1
        await asyncio.sleep(0.01)
    writer.close()
    return {"p99": sorted(took)[int(len(took) * 0.99) - 1], "statuses": statuses}


class As:
    """A coroutine in a process of this account; result() is what it returned."""

    def __init__(self, uid, make):
        self.read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.read)
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
                with os.fdopen(write, "w", encoding="utf-8") as out:
                    json.dump(asyncio.run(make()), out)
            except BaseException:  # pylint: disable=broad-except
                traceback.print_exc()
            os._exit(0)
        os.close(write)

    def result(self):
        with os.fdopen(self.read, encoding="utf-8") as answer:
            text = answer.read()
        os.waitpid(self.pid, 0)
        assert text, "the process ended without an answer"
        return json.loads(text)


class S21(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        assert os.geteuid() == 0, "this test makes processes of two accounts: run it as root"
        cls.config = tempfile.NamedTemporaryFile("w", suffix=".yaml")  # pylint: disable=consider-using-with
        cls.config.write(LIMITS)
        cls.config.flush()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        cls.connections = min(CONNECTIONS, (hard - 256) // 3)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 3 * CONNECTIONS + 256)), hard))
        cls.server = Server(["--config", cls.config.name, "--local-cluster", "east,cpu=4,memory=8Gi"]).start()
        # No job is ever admitted: all of them wait.
        cls.server.run("muster", "apply", "-f", "-", stdin=queues(cpu="0"))

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.config.close()

    def test_one_tenant_at_full_speed(self):
        port = self.server.port
        alone = As(BOB, lambda: measure(port, "alone", SUBMISSIONS)).result()
        alice = As(ALICE, lambda: flood(port, SECONDS, self.connections))
        time.sleep(2)
        beside = As(BOB, lambda: measure(port, "beside", SUBMISSIONS)).result()
        flooded = alice.result()
        counts = flooded["counts"]
        print(f"S21: {self.connections} connections of one tenant got {counts}; another's p99 {alone['p99'] * 1000:.1f} ms alone, "
              f"{beside['p99'] * 1000:.1f} ms beside it, ratio {beside['p99'] / alone['p99']:.2f}")
        self.assertGreater(counts.get("429", 0), 0, counts)
        self.assertEqual(flooded["told"], counts["429"], "a 429 without Retry-After")
        self.assertEqual(alone["statuses"], {"201": SUBMISSIONS})
        self.assertEqual(beside["statuses"], {"201": SUBMISSIONS}, "the other tenant was refused too")
        self.assertLessEqual(counts.get("201", 0), 1500)

    def test_the_cap_on_waiting_jobs_names_itself(self):
        async def fill():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for number in range(1600):
                writer.write(request(f"fill-{number}"))
                await writer.drain()
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next(int(line.split(":")[1]) for line in head.lower().split("\r\n") if line.startswith("content-length:"))
                body = (await reader.readexactly(length)).decode()
                status = int(head.split(" ", 2)[1])
                if status == 429 and "pending-jobs-per-user" in body:
                    return {"accepted": number, "body": body}
                await asyncio.sleep(0.005 if status == 201 else 0.5)
            return {"accepted": 1600, "body": ""}
        port = self.server.port
        filled = As(ALICE + 10, fill).result()
        self.assertIn("may have at most 1500 waiting jobs", filled["body"])


if __name__ == "__main__":
    unittest.main()
