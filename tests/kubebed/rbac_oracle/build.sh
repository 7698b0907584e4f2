#!/bin/bash
# Builds rbac_oracle once and keeps it under the user's cache, keyed by its source, the versions of
# its modules and Go's version; prints the program's path. kubebed itself is not built for it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}
export GOMODCACHE=${GOMODCACHE:-$cache/go-mod} GOCACHE=${GOCACHE:-$cache/go-build} GOFLAGS=-mod=readonly

# shellcheck source=scripts/packages.sh
. "$here/../../../scripts/packages.sh"
go_command=$(install_go "$cache/muster/go")
PATH=$(dirname "$go_command"):$PATH
cd "$here"
key=$({ go version; cat ../go.mod ../go.sum build.sh main.go; } | sha256sum | cut -c1-16)
target=$cache/muster/rbac_oracle/$key
if [ ! -x "$target" ]; then
  echo "building rbac_oracle (a few minutes from nothing)" >&2
  mkdir -p "$cache/muster/rbac_oracle"
  work=$(mktemp "$cache/muster/rbac_oracle/build.XXXXXX")
  trap 'rm -f "$work"' EXIT
  go build -trimpath -o "$work" . >&2
  mv "$work" "$target"
fi
echo "$target"
