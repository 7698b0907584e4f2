#!/bin/bash
# Builds kubebed once and keeps it, keyed by its sources and Go's version, under
# the user's cache; prints the program's path. The manifests of JobSet and
# PyTorchJob come out of the module cache and lie beside the program.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}
export GOMODCACHE=${GOMODCACHE:-$cache/go-mod} GOCACHE=${GOCACHE:-$cache/go-build} GOFLAGS=-mod=readonly

# Go's own tool fetches the version that go.mod names, but only since 1.21.
# shellcheck source=scripts/packages.sh
. "$here/../../scripts/packages.sh"
go_command=$(install_go "$cache/muster/go")
PATH=$(dirname "$go_command"):$PATH
cd "$here"
key=$({ go version; cat go.mod go.sum build.sh *.go *.yaml crds/*.yaml; } | sha256sum | cut -c1-16)
target=$cache/muster/kubebed/$key
if [ ! -x "$target/kubebed" ]; then
  echo "building kubebed (5 to 9 minutes from nothing)" >&2
  mkdir -p "$cache/muster/kubebed"
  work=$(mktemp -d "$cache/muster/kubebed/build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  version=k8s.io/component-base/version
  # The servers' version comes from the module that is compiled in.
  release=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  minor=$(echo "$release" | cut -d. -f2)
  go build -trimpath -o "$work/kubebed" \
    -ldflags="-s -w -X $version.gitVersion=$release -X $version.gitMajor=1 -X $version.gitMinor=$minor" . >&2
  jobset=$(go list -m -f '{{.Dir}}' sigs.k8s.io/jobset)
  training=$(go list -m -f '{{.Dir}}' github.com/kubeflow/training-operator)
  mkdir "$work/manifests"
  cp "$jobset/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml" "$work/manifests/jobset-crd.yaml"
  cp "$jobset/config/components/webhook/manifests.yaml" "$work/manifests/jobset-webhooks.yaml"
  cp "$training/manifests/base/crds/kubeflow.org_pytorchjobs.yaml" "$work/manifests/pytorchjob-crd.yaml"
  cp "$training/manifests/base/webhook/manifests.yaml" "$work/manifests/training-webhooks.yaml"
  chmod -R u+w "$work/manifests"
  # Another builder may have been faster; one of the two is as good as the other.
  mv -T "$work" "$target" 2>/dev/null || [ -x "$target/kubebed" ]
fi
# Tests that need only kubectl ask kubectl.sh themselves.
"$here/kubectl.sh" >/dev/null
echo "$target/kubebed"
