#!/usr/bin/env bash
# Installs what builds and tests the web page: Node, and the packages of clients/web/package-lock.json, once for each version of that file.
# Prints the folder of the page.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
web=$root/clients/web
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/npm
key=$(sha256sum "$web/package-lock.json" | cut -c1-16)
if [ ! -e "$web/node_modules/complete-$key" ]; then
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9  # several tests may ask at the same time
  if [ ! -e "$web/node_modules/complete-$key" ]; then
    # shellcheck source=scripts/packages.sh
    . "$root/scripts/packages.sh"
    command -v npm >/dev/null || install_packages nodejs npm >&2
    npm ci --prefix "$web" --cache "$cache" --no-audit --no-fund --loglevel=error >&2
    touch "$web/node_modules/complete-$key"
  fi
fi
echo "$web"
