# Words of the golden corpus, the same under Slurm and under Muster. Each case runs in a directory of its own. `.ids` collects the ids that it saw.
export LC_ALL=C TZ=UTC
printf '#!/bin/sh\necho hello\n' >job.sh
chmod +x job.sh

# submit OPTION...: sbatch, whose id is kept in $id.
submit() {
  local code
  id=$(sbatch --parsable "$@")
  code=$?
  id=${id%%;*}
  [ -z "$id" ] || echo "$id" >>.ids
  return $code
}

# state: the states of the job, each once.
state() { [ -z "$id" ] || squeue -h -j "$id" -t all -o %T | sort -u | tr '\n' ' '; }

# until_state STATE: waits until the job is in it, at most 30 s.
until_state() {
  local step
  for step in $(seq 150); do
    [ "$(state)" = "$1 " ] && return 0
    sleep 0.2
  done
  echo "no $1 after $step steps, but $(state)"
}

# ended: waits until no part of the job waits or runs, at most 60 s.
ended() {
  local step
  for step in $(seq 300); do
    case "$(state)" in *PENDING*|*RUNNING*|*COMPLETING*|*CONFIGURING*|*SUSPENDED*) sleep 0.2 ;; *) return 0 ;; esac
  done
  echo "not ended after $step steps, but $(state)"
}

# run OPTION...: submits, waits for the end, shows state and output.
run() {
  submit -o out "$@" || return
  ended
  state
  echo
  cat out
}

# script OPTION... with the script's text on standard input: as run, with a script file that may hold directives.
script() {
  cat >script.sh
  run "$@" script.sh
}

# fields 'A|B': these fields of `scontrol show job`.
fields() { [ -z "$id" ] || scontrol show job "$id" | grep -oE "(^| )($1)=[^ ]*" | tr -d ' '; }

# held 'A|B' OPTION...: submits a held job, shows these fields, cancels it.
held() {
  local names=$1
  shift
  submit -H -o out "$@" || return
  fields "$names"
  scancel "$id"
}

# keep OPTION...: submits a held job and leaves it.
keep() { submit -H -o out "$@"; }

# pends OPTION...: submits, shows state and reason when the scheduler has looked at it, cancels.
pends() {
  submit -o out "$@" || return
  sleep 3
  squeue -h -j "$id" -o '%T %r'
  scancel "$id"
}

# late COMMAND...: sacct's records come late.
late() { sleep 5; "$@"; }
