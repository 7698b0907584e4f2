#!/usr/bin/env bash
# A small real Slurm on this machine, to compare Muster's Slurm commands with: Debian's ordinary packages, slurmdbd on a MariaDB of its own, two nodes
# (n1, n2) of 8 CPUs, 16,000 MB and 4 GPUs that are not there, two partitions (main, and short with limits), a licence, features, accounts, QOS.
# Jobs really run, as whoever submits them. Everything is kept below DIR and listens on 127.0.0.1 only.
#   scripts/slurm-golden.sh start DIR    installs what is missing, starts; a running one is left as it is
#   scripts/slurm-golden.sh env DIR      prints shell lines that make the ordinary commands talk to it
#   scripts/slurm-golden.sh stop DIR     ends the daemons that it started; DIR stays
# SLURM_GOLDEN_LINES: further lines of slurm.conf (such as MaxJobCount=200000), taken when DIR is made.
# Wanted: root, for only root may run jobs of several users. Another user gets a Slurm of his own, for his own jobs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; }
case "${1:-}" in start|stop|env) ;; -h|--help) usage; exit 0 ;; *) usage >&2; exit 2 ;; esac
[ $# -eq 2 ] || { usage >&2; exit 2; }
[ "$1" != start ] || mkdir -p "$2"
dir=$(cd "$2" && pwd)
run=$dir/run log=$dir/log etc=$dir/etc
say() { echo "slurm-golden.sh: $*" >&2; }

# The daemons that this script starts, in the order in which they end.
daemons="slurmctld n1 n2 slurmdbd mariadbd munged"
pid_of() { [ -s "$run/$1.pid" ] && cat "$run/$1.pid"; }
alive() { local pid; pid=$(pid_of "$1") && kill -0 "$pid" 2>/dev/null; }
end() {
  local pid step
  pid=$(pid_of "$1") || return 0
  kill "$pid" 2>/dev/null || true
  # A slurmd that waits for a dead controller outlives SIGTERM.
  for step in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    [ "$step" -lt 100 ] || kill -KILL "$pid" 2>/dev/null || true
    sleep 0.1
  done
  rm -f "$run/$1.pid"
}

print_environment() {
  echo "export SLURM_CONF='$etc/slurm.conf'"
  echo "unset SLURM_JWT SLURM_CLUSTERS SLURM_TIME_FORMAT"
}

free_ports() {
  python3 - "$1" <<'PYTHON'
import random, socket, sys
held = []
# Below the ports that outgoing connections take, which could sit on one of these before its server starts.
for port in random.SystemRandom().sample(range(10000, 32000), 2000):
    if len(held) == int(sys.argv[1]):
        break
    try:
        held.append(socket.create_server(("127.0.0.1", port)))
    except OSError:
        pass
print(*[one.getsockname()[1] for one in held])
PYTHON
}

write_configuration() {
  local me machine ctl dbd sql node1 node2
  me=$(id -un) machine=$(hostname -s)
  read -r ctl dbd sql node1 node2 < <(free_ports 5)
  echo "$sql" >"$run/mariadb.port"
  cat >"$etc/slurm.conf" <<CONF
FirstJobId=4001
ClusterName=golden
SlurmctldHost=$machine(127.0.0.1)
SlurmctldPort=$ctl
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$run/munge.sock
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$run/slurmctld.pid
SlurmdPidFile=$run/%n.pid
SlurmctldLogFile=$log/slurmctld.log
SlurmdLogFile=$log/%n.log
SlurmctldDebug=info
SlurmdDebug=info
# Two nodes stand on one machine: what they say they have counts, not what the machine has.
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=$etc/mail.sh
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=5,batch_sched_delay=1,sched_interval=5
DefMemPerCPU=500
GresTypes=gpu
Licenses=matlab:4
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$dbd
AccountingStoragePass=$run/munge.sock
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
AccountingStoreFlags=job_comment,job_env,job_script
NodeName=DEFAULT CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000 State=UNKNOWN
NodeName=n1 NodeHostName=$machine NodeAddr=127.0.0.1 Port=$node1 Feature=fast,x86 Gres=gpu:a100:4
NodeName=n2 NodeHostName=$machine NodeAddr=127.0.0.1 Port=$node2 Feature=x86 Gres=gpu:a100:4
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 State=UP
PartitionName=short Nodes=ALL MaxTime=10 DefaultTime=5 MaxNodes=1 State=UP
${SLURM_GOLDEN_LINES:-}
CONF
  echo "Name=gpu Type=a100 Flags=nvidia_gpu_env File=$dir/dev/gpu[0-3]" >"$etc/gres.conf"
  cat >"$etc/slurmdbd.conf" <<CONF
AuthType=auth/munge
AuthInfo=socket=$run/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$dbd
CommunicationParameters=NoInAddrAny
SlurmUser=$me
DebugLevel=info
LogFile=$log/slurmdbd.log
PidFile=$run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$sql
StorageUser=slurm
StoragePass=golden
StorageLoc=slurm_acct_db
CONF
  chmod 600 "$etc/slurmdbd.conf"
  printf '#!/bin/sh\n{ echo "$@"; cat; } >>%s/mail 2>&1\n' "$log" >"$etc/mail.sh"
  chmod 755 "$etc/mail.sh"
}

wait_for() {
  local what=$1 step
  shift
  for step in $(seq 300); do
    timeout 5 "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  say "$what does not answer; see $log (waited $step times)"
  return 1
}

start_munge() {
  alive munged && return 0
  [ -s "$run/munge.key" ] || { head -c 1024 /dev/urandom >"$run/munge.key"; chmod 400 "$run/munge.key"; }
  munged -f -S "$run/munge.sock" --key-file="$run/munge.key" --pid-file="$run/munged.pid" --log-file="$log/munged.log" \
    --seed-file="$run/munge.seed" --num-threads=4
}

start_mariadb() {
  alive mariadbd && return 0
  local sql
  sql=$(cat "$run/mariadb.port")
  [ -d "$dir/db/mysql" ] || mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$dir/db" --skip-test-db \
    --auth-root-authentication-method=socket --auth-root-socket-user="$(id -un)" >"$log/mariadb-install.log" 2>&1
  setsid mariadbd --no-defaults --user="$(id -un)" --datadir="$dir/db" --socket="$run/db.sock" --bind-address=127.0.0.1 --port="$sql" \
    --pid-file="$run/mariadbd.pid" --innodb-lock-wait-timeout=900 >"$log/mariadbd.log" 2>&1 </dev/null &
  wait_for MariaDB mariadb --no-defaults -S "$run/db.sock" -u root -e 'select 1'
  mariadb --no-defaults -S "$run/db.sock" -u root -e "create database if not exists slurm_acct_db;
    create or replace user slurm@'127.0.0.1' identified by 'golden'; grant all on slurm_acct_db.* to slurm@'127.0.0.1'"
}

# Cluster, accounts, users and QOS. What is there already is said so and left.
fill_accounting() {
  local me
  me=$(id -un)
  {
    sacctmgr -i add cluster golden
    sacctmgr -i add account proj Description=project Organization=lab
    sacctmgr -i add account other Description=other Organization=lab
    sacctmgr -i add qos high Priority=100
    sacctmgr -i add qos tight MaxSubmitJobsPerUser=1 MaxTRESPerUser=cpu=4
    sacctmgr -i add user "$me" Account=proj DefaultAccount=proj AdminLevel=Admin
    sacctmgr -i add user "$me" Account=other
    sacctmgr -i modify user where name="$me" set DefaultAccount=proj
    sacctmgr -i modify account where name=proj,other set QOS=normal,high,tight
  } >>"$log/sacctmgr.log" 2>&1 || true
}

start() {
  # shellcheck source=scripts/packages.sh
  . "$root/scripts/packages.sh"
  install_packages slurmctld slurmd slurm-client slurmdbd slurm-wlm-basic-plugins slurm-wlm-mysql-plugin munge mariadb-server python3 >&2
  mkdir -p "$run" "$log" "$etc" "$dir/bin" "$dir/state" "$dir/spool" "$dir/dev" "$dir/db"
  chmod 755 "$dir" "$run" "$etc"
  # The daemons look at their own program name, and Debian's programs have another.
  local daemon
  for daemon in slurmctld slurmd slurmstepd; do ln -sf "/usr/sbin/$daemon-wlm" "$dir/bin/$daemon"; done
  # A GPU is any device file: each is /dev/null under a name with its number.
  local gpu
  for gpu in 0 1 2 3; do ln -sf /dev/null "$dir/dev/gpu$gpu"; done
  [ -s "$etc/slurm.conf" ] || write_configuration
  eval "$(print_environment)"
  start_munge
  start_mariadb
  if ! alive slurmdbd; then
    (cd "$etc" && slurmdbd)
    wait_for slurmdbd sacctmgr -n list cluster
    fill_accounting
  fi
  alive slurmctld || "$dir/bin/slurmctld" -f "$etc/slurm.conf"
  wait_for slurmctld scontrol ping
  local node
  for node in n1 n2; do alive "$node" || "$dir/bin/slurmd" -f "$etc/slurm.conf" -N "$node" -d "$dir/bin/slurmstepd"; done
  wait_for "node" bash -c '[ "$(sinfo -h -N -t idle,mix,alloc -o %N -p main | wc -l)" = 2 ]'
  say "ready; eval \"\$($0 env $dir)\""
}

case "$1" in
  start) start ;;
  env) print_environment ;;
  stop) for daemon in $daemons; do end "$daemon"; done ;;
esac
