"""Commit latency on one PostgreSQL and beside a synchronous standby: a submission over REST, answered when durable, beside plain SQL that
inserts the same manifest in a transaction of its own (pgbench), on the same servers in the same run.

    replica_latency.py [--seconds N] [--connections 1,8]

Needs MUSTER_BIN and MUSTER_SOURCE; the target `replica-latency` sets them. Primary, standby, daemon and clients share the machine, and both
servers the disk, so the network of a real standby comes on top."""
import argparse
import glob
import http.client
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.environ["MUSTER_SOURCE"], "tests", "e2e", room) for room in ("daemon", "postgres")]

from muster_server import QUEUES, Server, shell_job  # noqa: E402
from pg_pair import PROGRAMS, Postgres, synchronous  # noqa: E402

HELD = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {}\n  stopPolicy: Hold")
NOTE = "x" * 900  # manifests of about 1.4 KB, as `muster-bench submit`


def manifest(name):
    job = shell_job(name, "true")
    job["metadata"]["annotations"] = {"note": NOTE}
    return json.dumps(job)


def percentiles(latencies):
    """(count, p50, p99), times in milliseconds."""
    times = sorted(latencies)
    return len(times), times[len(times) // 2] * 1e3, times[min(len(times) * 99 // 100, len(times) - 1)] * 1e3


def client(port, prefix, seconds, answers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    times, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        body = manifest(f"{prefix}-{len(times)}")
        began = time.perf_counter()
        connection.request("POST", "/v1/namespaces/default/jobs", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        times.append(time.perf_counter() - began)
        assert answer.status == 201, answer.status
    answers.put(times)


def submissions(server, prefix, connections, seconds):
    answers = multiprocessing.Queue()
    clients = [multiprocessing.Process(target=client, args=(server.port, f"{prefix}-{connections}-{number}", seconds, answers))
               for number in range(connections)]
    for one in clients:
        one.start()
    times = [moment for _ in clients for moment in answers.get(timeout=seconds + 120)]
    for one in clients:
        one.join()
    return percentiles(times)


def plain_sql(primary, connections, seconds):
    with tempfile.TemporaryDirectory(prefix="muster-bench-", dir="/tmp") as folder:
        script = os.path.join(folder, "insert.sql")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"insert into plain (manifest) values ('{manifest('plain')}');\n")
        subprocess.run([os.path.join(PROGRAMS, "pgbench"), "-n", "-M", "prepared", "-c", str(connections), "-j", "1", "-T", str(seconds), "-f", script,
                        "-l", "--log-prefix", os.path.join(folder, "log"), primary.conninfo("plain")], check=True, capture_output=True)
        times = []
        for log in glob.glob(os.path.join(folder, "log*")):
            with open(log, encoding="ascii") as file:
                times += [int(line.split()[2]) / 1e6 for line in file]
    return percentiles(times)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--seconds", type=int, default=5)
    words.add_argument("--connections", default="1,8")
    options = words.parse_args()
    primary = Postgres()
    standby = server = None
    rows = []
    try:
        primary.sql("create database plain", database="postgres")
        primary.sql("create table plain (id bigint generated always as identity primary key, manifest json not null)", database="plain")
        standby = Postgres("reserve", primary)
        server = Server(["--postgres", primary.url(standby), "--simulated-cluster", "sim,cpu=64,memory=64Gi"]).start()
        server.run("muster", "apply", "-f", "-", stdin=HELD)
        for place in ("asynchronous standby", "synchronous standby"):
            if place.startswith("synchronous"):
                synchronous(primary, standby)
            for connections in map(int, options.connections.split(",")):
                plain_sql(primary, connections, 1)  # both are warm
                submissions(server, f"warm-{place.split()[0]}", connections, 1)
                rows.append((place, connections, plain_sql(primary, connections, options.seconds),
                             submissions(server, place.split()[0], connections, options.seconds)))
    finally:
        if server:
            server.kill()
            server.close()
        for one in (standby, primary):
            if one:
                one.close()
    print("| beside | connections | plain SQL p50; p99 | submission p50; p99 | ratio p50; p99 |\n|---|---|---|---|---|")
    for place, connections, (_, sql50, sql99), (_, our50, our99) in rows:
        print(f"| {place} | {connections} | {sql50:.2f}; {sql99:.2f} ms | {our50:.2f}; {our99:.2f} ms | {our50 / sql50:.2f}; {our99 / sql99:.2f} |")
    place, connections, (_, sql50, sql99), (_, our50, our99) = rows[-1]
    print(f"REPLICA-LATENCY figure=p50 {our50:.2f} ms, p99 {our99:.2f} ms; plain SQL p50 {sql50:.2f} ms, p99 {sql99:.2f} ms ({place}, {connections} connections)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
