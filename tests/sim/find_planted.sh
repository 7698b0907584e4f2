#!/bin/sh
# The daemon has neither planted bugs nor fault points; the simulation, which has both, shows that
# this looks in the right way. Arguments: muster-sim, musterd.
set -eu
found=0
names=$("$1" names)
for name in $names ReachFaultPoint IsPlanted; do
  grep -q "$name" "$1" || { echo "muster-sim lacks $name: this test would find nothing"; exit 1; }
  if grep -q "$name" "$2"; then echo "musterd has $name"; found=$((found + 1)); fi
done
echo "R09 figure=$found of $(echo $names | wc -w) planted bugs in the daemon bar=0"
test "$found" -eq 0
