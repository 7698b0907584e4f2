#!/bin/sh
# Runs the reference's conformance cases if they are there: MUSTER_CONFORMANCE_DIR, or beside the
# project. Usage: run_reference.sh PROGRAM (from the project's root).
set -eu
cases="${MUSTER_CONFORMANCE_DIR:-../shared/conformance}"
if [ ! -d "$cases" ]; then
  echo "No reference cases at $cases: nothing to compare with. Set MUSTER_CONFORMANCE_DIR to run them."
  exit 0
fi
exec "$1" "$cases" --list-failures
