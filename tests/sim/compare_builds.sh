#!/bin/sh
# Equal seeds give equal worlds in the product's own build and in the one with fault points, which
# is optimized less: R08. Arguments: the two programs, and how many seeds.
set -eu
with=$("$1" hashes --count "$3")
without=$("$2" hashes --count "$3")
different=$(printf '%s\n%s\n' "$with" "$without" | sort | uniq -u | wc -l)
echo "R08 figure=$different of $3 seeds differ between the builds bar=0"
test "$different" -eq 0 && test "$(printf '%s\n' "$with" | wc -l)" -eq "$3"
