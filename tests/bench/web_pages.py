"""What open pages of the web page cost, and how fast they are: python3 web_pages.py [--jobs 100000] [--pages 50] [--rate 200] [--seconds 20]
[--rounds 3] [--memory 360] [--only first|pages|memory]

first: from the begin of the navigation to the painted rows, in fresh tabs. pages: jobs submitted at a rate, in stretches without and with open pages in
turn; the ratio of their p99. memory: the JS heap of real tabs after forced collections, while events come several times as fast as on a busy site.
MUSTER_BIN: the folder of the built programs. The pages are clients that ask for what the page asks for (web_pages.mjs), and two real tabs of
Chromium. They and the browser run when nothing else wants the processor (SCHED_IDLE), because people's browsers run elsewhere; a low nice value
is not enough, since the kernel lets such a process finish its slice of some milliseconds. The sender has not."""
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
metadata: {name: main, namespace: bench}
spec: {clusterQueue: team}
"""


def manifest(name):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "main"}},
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


def open_pages(server, options, sent):
    sender, pages = Part("send", server.url()), Part("pages", server.url(), str(options.pages), elsewhere=True)
    tabs = Part("tabs", server.url(), elsewhere=True)
    found = {False: [], True: []}
    for stretch in range(2 * options.rounds):
        with_pages = stretch % 2 == 1
        if with_pages:
            pages.ask(do="open")
            if options.without != "tabs":
                tabs.ask(do="open", paths=["/ui/jobs", "/ui/queues/team"])
            time.sleep(5)
        cpu = cpu_seconds(server.process.pid)
        done = sender.ask(seconds=options.seconds, rate=options.rate, **{"from": sent})
        sent += options.seconds * options.rate
        used = (cpu_seconds(server.process.pid) - cpu) / done["took"]
        asked = {}
        if with_pages:
            asked = pages.ask(do="close")
            tabs.ask(do="close")
        p50, p99 = percentile(done["taken"], .5), percentile(done["taken"], .99)
        found[with_pages].append(p99)
        more = f"; {asked['requests'] / (done['took'] + 5):.1f} requests/s of {asked['ms'] / max(1, asked['requests']):.0f} ms, {asked['events'] / (done['took'] + 5):.0f} events/s, {asked['bad']} refused" if asked else ""
        print(f"{'with' if with_pages else 'without'} {options.pages} pages: {len(done['taken'])} submitted, {done['bad']} refused, {len(done['taken']) / done['took']:.0f}/s, "
              f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, daemon {100 * used:.0f} % of a core, {load()}{more}", flush=True)
        time.sleep(2)
    ratio = statistics.median(found[True]) / statistics.median(found[False])
    print(f"submit p99 with {options.pages} pages / without: {ratio:.2f} (medians of {options.rounds} stretches each; bar 1.10)", flush=True)
    for part in (sender, pages, tabs):
        part.close()
    return sent


def memory(server, options, sent):
    tabs, sender = Part("tabs", server.url(), elsewhere=True), Part("send", server.url())
    tabs.ask(do="open", paths=["/ui/jobs", "/ui/jobs/100", "/ui/queues", "/ui/home"])
    samples = []
    step = 15
    for _ in range(max(6, options.memory // step)):
        sender.ask(seconds=step, rate=options.rate, **{"from": sent})
        sent += step * options.rate
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
    for part in (tabs, sender):
        part.close()
    return sent


def main():
    words = argparse.ArgumentParser()
    for name, value in (("jobs", 100_000), ("pages", 50), ("rate", 200), ("seconds", 20), ("rounds", 3), ("runs", 5), ("memory", 360)):
        words.add_argument(f"--{name}", type=int, default=value)
    words.add_argument("--only", choices=["first", "pages", "memory"])
    words.add_argument("--without", choices=["tabs", "requests"], default="", help="pages: no tabs, or clients that only follow events, to find what costs")
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
        sent = 0
        if options.only in (None, "first"):
            first_views(server, options.runs)
        if options.only in (None, "pages"):
            sent = open_pages(server, options, sent)
        if options.only in (None, "memory"):
            memory(server, options, sent)
    finally:
        server.stop()
        shutil.rmtree(server.dir, ignore_errors=True)


if __name__ == "__main__":
    main()
