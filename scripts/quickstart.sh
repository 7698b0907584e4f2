#!/usr/bin/env bash
# From a fresh Debian 12 to finished jobs: installs, builds, starts musterd with a private PostgreSQL and two local
# member clusters, applies examples/quickstart, runs one job of each shape and one batch script, and shows the result.
#   scripts/quickstart.sh [--data-dir DIR] [--exit]
# Leaves the daemon running unless --exit. A second run reuses the build, the daemon and its state.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/packages.sh
. "$root/scripts/packages.sh"

data_dir="" stop_at_end=0
while [ $# -gt 0 ]; do
  case "$1" in
    --data-dir) [ $# -ge 2 ] || { echo "quickstart.sh: --data-dir needs a directory" >&2; exit 2; }; data_dir=$2; shift 2 ;;
    --data-dir=*) data_dir=${1#*=}; shift ;;
    --exit) stop_at_end=1; shift ;;
    -h|--help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "quickstart.sh: unknown argument $1 (try --help)" >&2; exit 2 ;;
  esac
done
if [ -z "$data_dir" ]; then
  if [ "$(id -u)" = 0 ]; then data_dir=/var/lib/muster-quickstart
  else data_dir=${XDG_STATE_HOME:-$HOME/.local/state}/muster-quickstart; fi
fi
mkdir -p "$data_dir"
data_dir=$(cd "$data_dir" && pwd)
export PATH="$root/build/bin:$root/build/bin/slurm:$PATH"
export MUSTER_URL=${MUSTER_URL:-http://127.0.0.1:8686}
pid_file=$data_dir/musterd.pid
say() { printf '\n== %s\n' "$*"; }

say "1. packages and build"
# shellcheck disable=SC2086
install_packages $MUSTER_PACKAGES
mkdir -p "$root/build"
# A build directory that was configured with tests keeps them.
tests=OFF
grep -qs 'MUSTER_TESTS:BOOL=ON' "$root/build/CMakeCache.txt" && tests=ON
cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=$tests >"$root/build/configure.log" 2>&1 ||
  { cat "$root/build/configure.log"; exit 1; }
# Ninja's progress: percent, finished and all steps, seconds.
export NINJA_STATUS='[%p, %f of %t, %e s] '
cmake --build "$root/build" --target product

running() { [ -s "$pid_file" ] && kill -0 "$(cat "$pid_file")" 2>/dev/null; }
ready() { curl -fsS -o /dev/null --max-time 2 "$MUSTER_URL/readyz" 2>/dev/null; }

say "2. musterd"
if running && ready; then
  echo "already running (pid $(cat "$pid_file"))"
else
  if ready; then
    echo "quickstart.sh: another server answers at $MUSTER_URL; stop it, or set MUSTER_URL, MUSTER_REST and MUSTER_GRPC to free ports" >&2; exit 1
  fi
  setsid musterd --data-dir "$data_dir" --log-file "$data_dir/musterd.log" \
    --local-cluster east,cpu=16,memory=64Gi,nvidia.com/gpu=32 \
    --local-cluster west,cpu=16,memory=64Gi,nvidia.com/gpu=16 >"$data_dir/musterd.out" 2>&1 </dev/null &
  echo $! >"$pid_file"
  for _ in $(seq 300); do ready && break; running || break; sleep 0.1; done
  if ! ready; then
    echo "quickstart.sh: musterd did not become ready; it said:" >&2
    cat "$data_dir/musterd.out" >&2; tail -n 20 "$data_dir/musterd.log" >&2 2>/dev/null; exit 1
  fi
  echo "ready (pid $(cat "$pid_file"), state in $data_dir)"
fi

say "3. queues"
muster apply -f "$root/examples/quickstart/queues.yaml"

say "4. one job of each shape, and a batch script"
ids=() serving=""
submit() {
  local line
  line=$("$@")
  echo "$line  ($(basename "${*: -1}"))"
  last_id=$(grep -oE '[0-9]+' <<<"$line" | head -n 1)
  ids+=("$last_id")
}
for shape in job jobset pytorchjob rayjob leaderworkerset; do
  submit muster submit "$root/examples/quickstart/jobs/$shape.yaml"
  [ "$shape" = leaderworkerset ] && serving=$last_id
done
submit sbatch "$root/examples/quickstart/jobs/hello.sh"

say "5. waiting for them"
state_of() { muster get jobs "$1" -A -o json | jq -r '.state'; }
deadline=$(( $(date +%s) + 180 )) shown=""
while :; do
  line="" open=0
  for id in "${ids[@]}"; do
    state=$(state_of "$id")
    line="$line $id:$state"
    if [ "$id" = "$serving" ] && [ "$state" = Running ]; then
      # A LeaderWorkerSet serves until it is deleted.
      muster delete jobs "$id" >/dev/null
    fi
    case "$state" in Succeeded|Failed|Cancelled) ;; *) open=$((open + 1)) ;; esac
  done
  [ "$line" = "$shown" ] || echo " $line"
  shown=$line
  [ $open -gt 0 ] || break
  [ "$(date +%s)" -lt $deadline ] || { echo "quickstart.sh: the jobs did not end in time" >&2; break; }
  sleep 0.5
done

say "6. the queue, the jobs, the accounting"
squeue -t all
muster get jobs -A -o wide
sacct -X -o JobID,JobName%24,Partition,Account,AllocCPUS,State,ExitCode,Elapsed

failed=0
for id in "${ids[@]}"; do
  state=$(state_of "$id")
  want=Succeeded; [ "$id" = "$serving" ] && want=Cancelled
  if [ "$state" != "$want" ]; then
    failed=1
    echo "job $id is $state" >&2
    muster describe jobs "$id" >&2 || true
  fi
done

if [ $stop_at_end = 1 ]; then
  say "7. stopping musterd"
  kill -TERM "$(cat "$pid_file")"
  for _ in $(seq 150); do running || break; sleep 0.1; done
  running && { echo "quickstart.sh: musterd did not stop" >&2; exit 1; }
  rm -f "$pid_file"
  echo "stopped; its state stays in $data_dir"
else
  say "7. where it is"
  echo "REST $MUSTER_URL   gRPC ${MUSTER_GRPC:-127.0.0.1:8687}   log $data_dir/musterd.log   stop: kill $(cat "$pid_file")"
  echo "try: export PATH=$root/build/bin:$root/build/bin/slurm:\$PATH; muster get jobs -A; muster logs ${ids[0]}; squeue"
fi
exit $failed
