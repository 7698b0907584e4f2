#!/usr/bin/env python3
"""The suite under sanitizers, in parts: python3 tests/sanitizers/rota.py [--show] [--next N] [--part PRESET/NAME] [--jobs N]

Without --part the parts whose last run is oldest are run. Each is one kind of tests under one preset: what it needs is built, ctest runs it, and its
line in rota.tsv says when, at which commit, how many tests passed and how many failed. --show prints the rota alone. A part that fails makes the
program fail, and its tests are named."""
import argparse
import datetime
import os
import subprocess
import sys
import xml.etree.ElementTree as tree

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROTA = os.path.join(HERE, "rota.tsv")
HEAD = ["part", "commit", "day", "passed", "failed", "seconds"]
PRESETS = ("asan", "tsan")
# ctest's choice of tests. Every test of the suite is in a part, but those labelled tidy, which look at the sources.
PARTS = {
    "unit": ["-L", "unit"],
    "property": ["-L", "property"],
    "chaos": ["-R", "^(R(0[1-6]|13|2[1347])|chaos_checkers)$"],
    "contract": ["-L", "^(contract|conformance|fuzz)$"],
    "sim": ["-L", "sim"],
    "postgres": ["-R", "^e2e_pg_"],
    "kube": ["-R", "^e2e_kube"],
    "sec": ["-L", "sec"],
    "slurm": ["-L", "slurm"],
    "e2e": ["-L", "e2e", "-LE", "sec|slurm", "-E", "^e2e_(pg_|kube)"],
}


def read_rota():
    lines = {f"{preset}/{part}": dict.fromkeys(HEAD[1:], "-") for preset in PRESETS for part in PARTS}
    if os.path.exists(ROTA):
        with open(ROTA, encoding="ascii") as file:
            for line in list(file)[1:]:
                part, *values = line.rstrip("\n").split("\t")
                if part in lines:
                    lines[part] = dict(zip(HEAD[1:], values))
    return lines


def write_rota(lines):
    with open(ROTA, "w", encoding="ascii") as file:
        file.write("\t".join(HEAD) + "\n")
        for part, values in sorted(lines.items()):
            file.write("\t".join([part, *(values[name] for name in HEAD[1:])]) + "\n")


def run(part, jobs):
    """(passed, failed tests, seconds) of one part."""
    preset, name = part.split("/")
    directory = os.path.join(ROOT, f"build-{preset}")
    subprocess.run(["cmake", "--preset", preset], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", preset, "-j", str(jobs)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    results = os.path.join(directory, "rota.xml")
    environment = {"LSAN_OPTIONS": "suppressions=" + os.path.join(HERE, "lsan.supp"),
                   # A test forks a process with threads, as a daemon's end by a signal needs one. Libraries that are not instrumented (gRPC, Abseil)
                   # have locks that ThreadSanitizer does not see.
                   "TSAN_OPTIONS": "die_after_fork=0 ignore_noninstrumented_modules=1 suppressions=" + os.path.join(HERE, "tsan.supp"),
                   "MUSTER_SLACK": "4", **os.environ}
    subprocess.run(["ctest", "--test-dir", directory, "--timeout", "1500", "--no-tests=error", "--output-on-failure", "--output-junit", results,
                    *PARTS[name]], env=environment)
    suite = tree.parse(results).getroot()
    failed = [case.get("name") for case in suite.iter("testcase") if case.get("status") != "run"]
    return int(suite.get("tests")) - len(failed), failed, float(suite.get("time"))


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--show", action="store_true")
    words.add_argument("--next", type=int, default=1, metavar="N")
    words.add_argument("--part", action="append", choices=sorted(read_rota()))
    words.add_argument("--jobs", type=int, default=2)
    options = words.parse_args()
    lines = read_rota()
    if options.show:
        for part, values in sorted(lines.items()):
            print(f"{part:16}" + " ".join(f"{name} {values[name]}" for name in HEAD[1:]))
        return 0
    due = sorted(lines, key=lambda part: (lines[part]["day"] != "-", lines[part]["day"], part))
    bad = []
    for part in options.part or due[: options.next]:
        passed, failed, seconds = run(part, options.jobs)
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        lines = read_rota()
        lines[part] = dict(zip(HEAD[1:], [commit, datetime.date.today().isoformat(), str(passed), str(len(failed)), f"{seconds:.0f}"]))
        write_rota(lines)
        print(f"{part}: {passed} passed, {len(failed)} failed in {seconds:.0f} s" + "".join(f"\n  {one}" for one in failed), flush=True)
        bad += failed
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
