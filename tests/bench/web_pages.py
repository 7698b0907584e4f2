"""What open pages of the web page cost, and how fast they are: python3 web_pages.py [--jobs 100000] [--pages 50] [--rate 200] [--seconds 10]
[--rounds 9] [--memory 360] [--only first|pages|memory]

first: from the begin of the navigation to the painted rows, in fresh tabs. pages: jobs submitted at a rate, in short stretches without and with open
pages in turn; each stretch with pages is compared with the two beside it, so that what the machine and its disk do over minutes is in both. In
every stretch 50 times a second 4 KiB are written and flushed on the same disk: what no submission can be faster than. memory: the JS heap of real
tabs after forced collections, while events come several times as fast as on a busy site.
MUSTER_TEST_DIR=/dev/shm: the database is in memory, which leaves the disk out.
MUSTER_BIN: the folder of the built programs; `muster-bench send` is the sender. The pages are clients that ask for what the page asks for
(web_pages.mjs), and two real tabs of Chromium. They and the browser run when nothing else wants the processor (SCHED_IDLE), because people's
browsers run elsewhere; a low nice value is not enough, since the kernel lets such a process finish its slice of some milliseconds. The sender does not."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
os.environ.setdefault("MUSTER_SOURCE", SOURCE)
os.environ.setdefault("MUSTER_BIN", os.path.join(SOURCE, "build", "bin"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "e2e", "daemon"))
from muster_server import Server  # noqa: E402

QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: bench}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: standard}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
spec:
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: standard
      resources: [{name: cpu, nominalQuota: 40}, {name: memory, nominalQuota: 8000Gi}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: bench, namespace: bench}
spec: {clusterQueue: team}
"""


def manifest(name):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "bench"}},
            "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "main", "image": "debian:12", "command": ["true"], "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]}}}}


class Part:
    """A part of web_pages.mjs in a process of its own. People's browsers run elsewhere: such a part gets the processor when nothing else wants it."""

    def __init__(self, name, url, *words, elsewhere=False):
        self.process = subprocess.Popen([*(["chrt", "--idle", "0"] if elsewhere else []), "node", os.path.join(SOURCE, "tests", "bench", "web_pages.mjs"), name, url, *words],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, **what):
        self.tell(what)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def load():
    return f"load {os.getloadavg()[0]:.1f}"


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_views(server, runs):
    tabs = Part("tabs", server.url())
    for path, wanted in (("/ui/jobs", "[role=row][aria-rowindex='2'] a"), ("/ui/jobs?sort=name&by=state", "[role=row][aria-rowindex='2'] a"), ("/ui/", "main .sentence"),
                         ("/ui/queues", "main .quota-bars"), ("/ui/queues/team", "main .sentence"), ("/ui/jobs/100", "main .sentence")):
        taken = [tabs.ask(do="first", path=path, wanted=wanted)["ms"] for _ in range(runs)]
        print(f"first view {path}: median {statistics.median(taken):.0f} ms, longest {max(taken):.0f} ms ({runs} tabs, {load()})", flush=True)
    tabs.close()


def send(server, options, seconds, disk=False):
    """Submits at the rate for so long; what `muster-bench send` says. Names go on where they ended."""
    run = subprocess.run([os.path.join(os.environ["MUSTER_BIN"], "muster-bench"), "send", "--port", str(server.port), "--rate", str(options.rate), "--seconds", str(seconds),
                          "--prefix", "change-", "--from", str(options.sent), *(["--disk", server.dir] if disk else [])], check=True, capture_output=True, text=True)
    options.sent += seconds * options.rate
    return json.loads(run.stdout)


class Stretch:
    """What one stretch of submissions saw, in ms."""

    def __init__(self, done, cpu):
        self.submit, self.disk, self.refused, self.seconds = done["submitMs"], done["diskMs"], done["refused"], done["seconds"]
        self.cpu = cpu / self.seconds

    def p(self, part):
        return percentile(self.submit, part)

    def __str__(self):
        return (f"{len(self.submit)} submitted, {self.refused} refused, {len(self.submit) / self.seconds:.0f}/s, p50 {self.p(.5):.2f} ms, p99 {self.p(.99):.2f} ms, "
                f"disk p50 {percentile(self.disk, .5):.2f} ms, p99 {percentile(self.disk, .99):.2f} ms, daemon {100 * self.cpu:.0f} % of a core, {load()}")


def paired(found, measure):
    """Each stretch with pages, as a multiple of the mean of the ones without pages before and after it."""
    return [measure(found[i]) / statistics.mean([measure(found[i - 1]), measure(found[i + 1])]) for i in range(1, len(found), 2)]


def open_pages(server, options):
    pages = Part("pages", server.url(), str(options.pages), elsewhere=True)
    tabs = Part("tabs", server.url(), elsewhere=True)
    found = []
    # Without, with, without and so on: every stretch with pages has a neighbour on both sides.
    for number in range(2 * options.rounds + 1):
        with_pages = number % 2 == 1
        if with_pages:
            pages.ask(do="open")
            if options.without not in ("tabs", "parsing", "readers"):
                tabs.ask(do="open", paths=["/ui/jobs", "/ui/queues/team"])
            time.sleep(3)
        # What starting a process and the first requests cost is not in the stretch.
        send(server, options, 1)
        opened, cpu = time.monotonic(), cpu_seconds(server.process.pid)
        if with_pages:
            pages.ask(do="count")
        done = send(server, options, options.seconds, disk=True)
        found.append(Stretch(done, cpu_seconds(server.process.pid) - cpu))
        more = ""
        if with_pages:
            asked, took = pages.ask(do="close"), time.monotonic() - opened
            tabs.ask(do="close")
            more = (f"; {asked['requests'] / took:.1f} requests/s of {asked['ms'] / max(1, asked['requests']):.0f} ms, {asked['bytes'] / took / 1e6:.2f} MB/s of answers, "
                    f"{asked['events'] / took:.0f} events/s, {asked['bad']} refused")
        print(f"{'with   ' if with_pages else 'without'} {options.pages} pages: {found[-1]}{more}", flush=True)
        time.sleep(1)
    sides = {"without": found[::2], "with": found[1::2]}
    for name, stretches in sides.items():
        disk = [one for stretch in stretches for one in stretch.disk]
        print(f"{name} {options.pages} pages, medians of {len(stretches)} stretches of {options.seconds} s: submit p50 {statistics.median(one.p(.5) for one in stretches):.2f} ms, "
              f"p99 {statistics.median(one.p(.99) for one in stretches):.2f} ms; disk p50 {percentile(disk, .5):.2f} ms, p99 {percentile(disk, .99):.2f} ms; "
              f"daemon {100 * statistics.median(one.cpu for one in stretches):.0f} % of a core")
    for name, measure in (("submit p50", lambda one: one.p(.5)), ("submit p99", lambda one: one.p(.99)), ("disk p99", lambda one: percentile(one.disk, .99))):
        ratios = sorted(paired(found, measure))
        print(f"{name} with pages / mean of its neighbours without: median {statistics.median(ratios):.2f} ({', '.join(f'{one:.2f}' for one in ratios)}); "
              f"of the medians {statistics.median(map(measure, sides['with'])) / statistics.median(map(measure, sides['without'])):.2f}{'; bar 1.10' if name == 'submit p99' else ''}", flush=True)
    for part in (pages, tabs):
        part.close()


def memory(server, options):
    tabs = Part("tabs", server.url(), elsewhere=True)
    tabs.ask(do="open", paths=["/ui/jobs", "/ui/jobs/100", "/ui/queues", "/ui/home"])
    samples = []
    step = 15
    for _ in range(max(6, options.memory // step)):
        send(server, options, step)
        samples.append(tabs.ask(do="heap")["heaps"])
    third = len(samples) // 3
    changes = options.rate * step * len(samples)
    print(f"{changes} changes in {step * len(samples)} s: as many as an hour of {changes / 3600:.0f} a second; {load()}")
    for at, one in enumerate(samples[0]):
        series = [sample[at]["bytes"] / 1e6 for sample in samples]
        # What is read and compiled at first is left out of the comparison.
        early, late = statistics.mean(series[third:2 * third]), statistics.mean(series[2 * third:])
        nodes = [sample[at]["nodes"] for sample in samples]
        print(f"heap of {one['path']}: first {series[0]:.2f} MB, middle third {early:.2f} MB, last third {late:.2f} MB ({100 * (late / early - 1):+.1f} %), "
              f"most {max(series):.2f} MB; {nodes[0]} nodes at first, {nodes[-1]} at the end", flush=True)
    tabs.close()


def main():
    words = argparse.ArgumentParser()
    for name, value in (("jobs", 100_000), ("pages", 50), ("rate", 200), ("seconds", 10), ("rounds", 9), ("runs", 5), ("memory", 360)):
        words.add_argument(f"--{name}", type=int, default=value)
    words.add_argument("--only", choices=["first", "pages", "memory"])
    words.add_argument("--without", choices=["tabs", "requests", "parsing", "readers"], default="",
                       help="pages: no tabs; clients that only follow events; no tabs, and clients that ask and follow and parse nothing of it; the same, and they only follow: to find what costs")
    words.add_argument("--ended", action="store_true", help="the jobs have ended instead of waiting")
    options = words.parse_args()
    os.environ["WITHOUT"] = options.without
    web = subprocess.run([f"{SOURCE}/scripts/web_tools.sh"], check=True, capture_output=True, text=True).stdout.strip()
    os.environ["MUSTER_WEB"] = web
    server = Server(["--simulated-cluster", f"sim,cpu=1000,memory=1000Ti,run-time-ms={1 if options.ended else 1_000_000_000}"]).start()
    try:
        assert server.call("POST", "/v1/apply", QUEUES, "application/yaml")[0] == 200
        for at in range(0, options.jobs, 1000):
            status, answer = server.call("POST", "/v1/namespaces/bench/jobs:batch", [manifest(f"deep-{i}") for i in range(at, min(options.jobs, at + 1000))])
            assert status == 200, answer
        if options.ended:
            server.wait(lambda: server.get("/v1/jobcounts?state=Pending,Admitted,Running")[1]["total"] == 0, timeout=900, what="all have ended")
        print(f"{options.jobs} jobs {'have ended' if options.ended else 'wait'}; {os.cpu_count()} cores, {load()}", flush=True)
        options.sent = 0
        if options.only in (None, "first"):
            first_views(server, options.runs)
        if options.only in (None, "pages"):
            open_pages(server, options)
        if options.only in (None, "memory"):
            memory(server, options)
    finally:
        server.stop()
        shutil.rmtree(server.dir, ignore_errors=True)


if __name__ == "__main__":
    main()
