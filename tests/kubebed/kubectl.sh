#!/bin/bash
# Builds kubectl as it is, from the Kubernetes of go.mod, once for each version of the modules and
# of Go, and keeps it under the user's cache; prints the program's path. kubebed itself is not built
# for it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}
export GOMODCACHE=${GOMODCACHE:-$cache/go-mod} GOCACHE=${GOCACHE:-$cache/go-build} GOFLAGS=-mod=readonly

# shellcheck source=scripts/packages.sh
. "$here/../../scripts/packages.sh"
go_command=$(install_go "$cache/muster/go")
PATH=$(dirname "$go_command"):$PATH
cd "$here"
key=$({ go version; cat go.mod go.sum kubectl.sh; } | sha256sum | cut -c1-16)
target=$cache/muster/kubectl/$key/kubectl
if [ ! -x "$target" ]; then
  echo "building kubectl (a few minutes from nothing)" >&2
  mkdir -p "$(dirname "$target")"
  work=$(mktemp "$cache/muster/kubectl/build.XXXXXX")
  trap 'rm -f "$work"' EXIT
  release=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  minor=$(echo "$release" | cut -d. -f2)
  # The modules' version is what a release of kubectl says of itself.
  flags="-s -w"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags="$flags -X $package.gitVersion=$release -X $package.gitMajor=1 -X $package.gitMinor=$minor"
  done
  go build -trimpath -o "$work" -ldflags="$flags" k8s.io/kubernetes/cmd/kubectl >&2
  mv "$work" "$target"
fi
echo "$target"
