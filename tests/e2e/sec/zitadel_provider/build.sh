#!/usr/bin/env bash
# Builds the provider once and keeps it, keyed by its sources and Go's version, under the user's cache; prints the program's path.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}
export GOMODCACHE=${GOMODCACHE:-$cache/go-mod} GOCACHE=${GOCACHE:-$cache/go-build} GOFLAGS=-mod=readonly
# shellcheck source=scripts/packages.sh
. "$here/../../../../scripts/packages.sh"
go_command=$(install_go "$cache/muster/go")
PATH=$(dirname "$go_command"):$PATH
cd "$here"
key=$({ go version; cat go.mod go.sum build.sh main.go; } | sha256sum | cut -c1-16)
target=$cache/muster/zitadel-provider/$key
if [ ! -x "$target/zitadel_provider" ]; then
  mkdir -p "$cache/muster/zitadel-provider"
  work=$(mktemp -d "$cache/muster/zitadel-provider/build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  go build -trimpath -o "$work/zitadel_provider" -ldflags="-s -w" . >&2
  # Another builder may have been faster; one of the two is as good as the other.
  mv -T "$work" "$target" 2>/dev/null || [ -x "$target/zitadel_provider" ]
fi
echo "$target/zitadel_provider"
