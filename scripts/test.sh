#!/usr/bin/env bash
# Installs, builds with warnings as errors, runs every test; ends with ctest's own summary.
#   scripts/test.sh [ctest arguments, e.g. -L unit]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/packages.sh
. "$root/scripts/packages.sh"
# shellcheck disable=SC2086
install_packages $MUSTER_PACKAGES $MUSTER_TEST_PACKAGES
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G}
cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=ON >"$root/build.configure.log" 2>&1 ||
  { cat "$root/build.configure.log"; exit 1; }
mv "$root/build.configure.log" "$root/build/configure.log"
# Ninja's progress: percent, finished and all steps, seconds.
export NINJA_STATUS='[%p, %f of %t, %e s] '
cmake --build "$root/build"
"$root/tests/kubebed/build.sh" >/dev/null
"$root/tests/e2e/sec/zitadel_provider/build.sh" >/dev/null
"$root/scripts/python_clients.sh" >/dev/null
"$root/scripts/web_tools.sh" >/dev/null
# Three at a time on two cores: tests wait more than they compute.
ctest --test-dir "$root/build" --output-on-failure --no-tests=error -j 3 "$@"
