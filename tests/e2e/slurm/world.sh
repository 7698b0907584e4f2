#!/bin/bash
# Prints what a job finds around itself, one `name=value` a line; values with line ends are quoted.
say() { printf '%s=%q\n' "$1" "$2"; }
say id "$(id -u):$(id -g)"
say groups "$(id -G)"
say umask "$(umask)"
say directory "$(basename "$PWD")"
say program "$(basename "$0")"
say arguments "$*"
say functions "$(declare -Fx)"
say module "$(type -t module) $(module load x 2>/dev/null)"
say stdin "$(readlink /proc/self/fd/0)"
say nproc "$(nproc)"
say temporary "$([ -w "${TMPDIR:-/tmp}" ] && echo writable)"
say hosts "$(for host in $(scontrol show hostnames 2>/dev/null); do getent hosts "$host" >/dev/null && echo found; done | sort -u)"
for letter in c f n s t; do say "soft limit $letter" "$(ulimit -S -$letter)"; done
touch made && say mode "$(stat -c %a made)"
while IFS= read -r -d '' line; do say "environment ${line%%=*}" "${line#*=}"; done < <(env -0 | sort -z)
