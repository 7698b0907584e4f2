#!/usr/bin/env bash
# Unpacks Debian's Patroni and etcd into the folder $1, for tests/e2e/replica/patroni.py: `scripts/patroni.sh FOLDER`. Nothing is
# installed, so that no service of theirs starts; it needs apt's package lists (apt-get update) and no root.
set -euo pipefail

folder=$1
[ -e "$folder/complete" ] && exit 0
mkdir -p "$folder/archives"
cd "$folder/archives"
# What apt would install here: both packages and everything of theirs that is missing. The second field is the file, NAME_VERSION_ARCH.deb.
apt-get install -y --no-install-recommends --print-uris patroni etcd-server 2>/dev/null |
  sed -n "s/^'[^']*' \([^_ ]*\)_[^ ]* .*/\1/p" | sort -u >names
for name in patroni etcd-server; do
  grep -qx "$name" names || echo "$name" >>names  # it is installed, but its copy is still wanted
done
# shellcheck disable=SC2046
apt-get download -qq $(cat names)
for archive in *.deb; do
  dpkg -x "$archive" "$folder"
done
chmod -R a+rX "$folder"
touch "$folder/complete"
