#!/usr/bin/env bash
# Prints the path of a python3 that has independent counterparts for the tests: Kubernetes' official client, an OpenAPI validator, and an
# OpenID Connect provider, from the Python package index. They are kept below the user's cache and installed once for each set of versions.
# With the argument `slurm`: tools that drive Slurm through its commands. With `mpi`: MPI programs, and an MPICH for them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages="kubernetes==37.0.2 openapi-spec-validator==0.9.0 oidc-provider-mock==0.3.4"
case "${1:-}" in
  "") ;;
  slurm) packages="submitit==1.5.4 hydra-core==1.3.2 hydra-submitit-launcher==1.2.0 dask==2026.8.0 distributed==2026.8.0 dask-jobqueue==0.9.0 simple_slurm==0.3.6 clusterfutures==0.5" ;;
  mpi) packages="mpi4py==4.1.2 mpich==5.0.2" ;;
  *) echo "python_clients.sh: unknown argument $1" >&2; exit 2 ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/python-clients
key=$({ python3 --version; echo "$packages"; } | sha256sum | cut -c1-16)
target=$cache/$key
if [ ! -e "$target/complete" ]; then
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9  # several tests may ask at the same time
  if [ ! -e "$target/complete" ]; then
    # shellcheck source=scripts/packages.sh
    . "$here/packages.sh"
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv >&2
    rm -rf "$target"
    python3 -m venv "$target" >&2
    # shellcheck disable=SC2086
    "$target/bin/python" -m pip install -q --disable-pip-version-check $packages >&2
    touch "$target/complete"
  fi
fi
echo "$target/bin/python"
