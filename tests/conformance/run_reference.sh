#!/bin/sh
# Runs Kueue's conformance cases if they are there: MUSTER_CONFORMANCE_DIR, or beside the
# project. Passes if the cases that fail are exactly those that differences.md gives a reason for.
# Usage: run_reference.sh PROGRAM (from the project's root).
set -eu
cases="${MUSTER_CONFORMANCE_DIR:-../shared/conformance}"
if [ ! -d "$cases" ]; then
  echo "No reference cases at $cases: nothing to compare with. Set MUSTER_CONFORMANCE_DIR to run them."
  exit 0
fi
told=$(mktemp)
trap 'rm -f "$told"' EXIT
"$1" "$cases" --list-failures >"$told" || true
cat "$told"
tail -n 1 "$told" | grep -q '^[0-9]* passed, [0-9]* failed$' || exit 1
failed=$(sed -n 's/^FAILED \(.*\)\.json$/\1/p' "$told" | sort -u)
known=$(sed -n 's/^- `\([^`]*\)`.*/\1/p' tests/conformance/differences.md | sort -u)
if [ "$failed" != "$known" ]; then
  echo "The cases that fail are not those of differences.md, which are: $known"
  exit 1
fi
