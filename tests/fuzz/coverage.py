#!/usr/bin/env python3
"""How many lines of each parser the fuzz targets reach by their kept corpus and its changes (R31: at least 80 %).

    coverage.py BUILD_DIRECTORY     # a build of the preset `coverage`, with its target `fuzzers`

Prints a line for each target, the sources that stay below the bar, and last R31's figure: that of the target that reaches least.
Ends with 1 below the bar."""
import json
import os
import shutil
import subprocess
import sys
from fnmatch import fnmatch

BAR = 80.0
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# The sources that read the text from outside, by the target that tries them; for manifests and scripts also what becomes of a job that was taken.
PARSERS = {
    "quantity": ["schedd/base/quantity*"],
    "manifest": ["schedd/text/documents.*", "schedd/text/yaml.*", "schedd/text/yaml_scalar.*", "schedd/text/json.*", "schedd/shapes/kinds/*",
                 "schedd/shapes/parts/*", "schedd/shapes/security/*", "schedd/shapes/config/*_readers.cc", "schedd/shapes/config/placement_*", "schedd/shapes/config/queue_*",
                 "schedd/shapes/config/quota_groups.cc"],
    "batch_script": ["schedd/shapes/batch/*"],
    "watch_frames": ["backends/k8s/client/response_reader.*", "backends/k8s/member_json.*", "backends/k8s/status/*"],
    "rest_body": ["api/rest/body.*", "api/rest/kube_protobuf.*", "api/rest/http/guard.*", "api/rest/http/target.*"],
    "patch": ["api/rest/json_patch.*", "api/rest/strategic_patch.*"],
    "kubeconfig": ["backends/k8s/client/kubeconfig.*"],
    "swf": ["schedd/simulate/swf.*"],
}


def install_gcovr():
    if shutil.which("gcovr") is None:
        subprocess.run(["bash", "-c", ". scripts/packages.sh; install_packages gcovr"], cwd=SOURCE, check=True)


def remove_counts(build):
    """Counts of earlier runs would be added to."""
    for folder, _, files in os.walk(build):
        for name in files:
            if name.endswith(".gcda"):
                os.remove(os.path.join(folder, name))


def count(build):
    """{path: (lines that ran, lines)} of every source of the product."""
    out = subprocess.run(["gcovr", "--root", SOURCE, "--object-directory", build, "--json-summary", "-", "--gcov-ignore-parse-errors",
                          "--filter", f"{SOURCE}/(schedd|api|backends)/", build], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {one["filename"]: (one["line_covered"], one["line_total"]) for one in json.loads(out)["files"]}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    install_gcovr()
    remove_counts(build)
    subprocess.run(["ctest", "--test-dir", build, "-L", "fuzz", "--output-on-failure"], check=True)
    counts = count(build)
    least = 100.0
    for target, patterns in PARSERS.items():
        files = {path: counts[path] for path in sorted(counts) if any(fnmatch(path, pattern) for pattern in patterns)}
        ran, lines = (sum(column) for column in zip(*files.values()))
        least = min(least, 100 * ran / lines)
        print(f"{target:14s} {100 * ran / lines:5.1f} % of {lines} lines")
        for path, (ran, lines) in files.items():
            if 100 * ran < BAR * lines:
                print(f"    {100 * ran / lines:5.1f} % of {lines} lines of {path}")
    print(f"R31 figure={least:.1f}% of the lines of the parser that is reached least, bar={BAR:.0f}%: {'met' if least >= BAR else 'missed'}")
    return 0 if least >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
