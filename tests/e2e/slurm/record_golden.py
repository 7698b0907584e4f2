"""Records what a real Slurm answers to the golden corpus: python3 record_golden.py DIR [NAME...]

DIR: of scripts/slurm-golden.sh, which is started if it does not run and is left running. Without names the whole corpus is recorded."""
import subprocess
import sys
import tempfile

import corpus
import slurm_site


def main():
    golden = slurm_site.Golden(sys.argv[1]).start()
    only = set(sys.argv[2:])
    sections = corpus.read()
    with tempfile.TemporaryDirectory(prefix="golden-record-", dir="/tmp") as work:
        subprocess.run(["chmod", "755", work], check=True)
        answers = corpus.run(sections, golden.environment(), work, only=only or None)
    for section, found in answers.items():
        if found:
            corpus.record(section, {**(corpus.recorded(section) if only else {}), **found})


if __name__ == "__main__":
    main()
