#!/bin/bash
# run.sh PROGRAM SETS [SEED]: gives the oracle's lines to a program that compares its own answers.
set -euo pipefail
oracle=$("$(dirname "${BASH_SOURCE[0]}")/build.sh")
"$oracle" -sets "$2" -seed "${3:-1}" | "$1"
