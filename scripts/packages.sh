#!/usr/bin/env bash
# Installs what Muster builds and runs with: Debian 12's own packages. Sourced by quickstart.sh and test.sh.
set -euo pipefail

MUSTER_PACKAGES="build-essential cmake ninja-build ccache mold pkg-config git ca-certificates curl jq python3
  libboost1.81-dev libboost-json1.81-dev libpistache-dev libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev
  protobuf-compiler libpqxx-dev libpq-dev postgresql-15 libspdlog-dev libfmt-dev libcli11-dev libyaml-dev
  prometheus-cpp-dev libssl-dev libsystemd-dev libjemalloc-dev"
MUSTER_TEST_PACKAGES="libgtest-dev libgmock-dev librapidcheck-dev"

install_packages() {
  local missing="" package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  echo "installing:$missing"
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo"
  # The packaged PostgreSQL cluster is not wanted: musterd owns a private one.
  $sudo mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
  $sudo apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
