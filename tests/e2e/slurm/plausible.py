"""Values that the coverage test gives to options and variables, and which of those leave no mark on a job's record."""

# Long option: value. Those of a manual page that are not here take none.
VALUES = {
    "--account": "proj", "--acctg-freq": "task=30", "--array": "0-1", "--batch": "x86", "--bb": "capacity=1", "--bbf": "bb.txt",
    "--begin": "now+1hour", "--chdir": "/tmp", "--cluster-constraint": "x", "--clusters": "{cluster}", "--comment": "words", "--constraint": "x86",
    "--container": "/tmp", "--core-spec": "0", "--cores-per-socket": "1", "--cpu-freq": "Medium", "--cpus-per-gpu": "2", "--cpus-per-task": "2",
    "--deadline": "now+2hours", "--delay-boot": "1", "--dependency": "afterany:{job}", "--distribution": "cyclic", "--error": "err.txt",
    "--exclude": "n2", "--export": "PATH", "--export-file": "vars.txt", "--extra-node-info": "1:1:1", "--get-user-env": "", "--gid": "{gid}",
    "--gpu-bind": "closest", "--gpu-freq": "low", "--gpus": "1", "--gpus-per-node": "1", "--gpus-per-socket": "1", "--gpus-per-task": "1",
    "--gres": "gpu:1", "--gres-flags": "enforce-binding", "--hint": "nomultithread", "--input": "/dev/zero", "--job-name": "another",
    "--kill-on-invalid-dep": "yes", "--licenses": "matlab:1", "--mail-type": "END", "--mail-user": "someone@example.org", "--mcs-label": "label",
    "--mem": "100", "--mem-bind": "none", "--mem-per-cpu": "100", "--mem-per-gpu": "100", "--mincpus": "2", "--network": "none", "--nice": "7",
    "--nodefile": "nodes.txt", "--nodelist": "n1", "--nodes": "2", "--ntasks": "2", "--ntasks-per-core": "1", "--ntasks-per-gpu": "1",
    "--ntasks-per-node": "2", "--ntasks-per-socket": "1", "--open-mode": "append", "--output": "out.txt", "--partition": "short",
    "--power": "level", "--prefer": "x86", "--priority": "7", "--profile": "task", "--propagate": "NONE", "--qos": "high",
    "--reservation": "", "--signal": "USR1@60", "--sockets-per-node": "1", "--switches": "1@1", "--thread-spec": "1",
    "--threads-per-core": "1", "--time": "3", "--time-min": "1", "--tmp": "10", "--uid": "{uid}", "--wait-all-nodes": "1", "--wckey": "key",
    "--wrap": "true",
    # srun and salloc
    "--accel-bind": "g", "--bcast": "/tmp/bcast", "--bcast-exclude": "none", "--compress": "none", "--cpu-bind": "none", "--epilog": "none",
    "--het-group": "0", "--immediate": "20", "--jobid": "{job}", "--kill-on-bad-exit": "1", "--kill-command": "TERM", "--mpi": "none",
    "--msg-timeout": "10", "--prolog": "none", "--relative": "0", "--resv-ports": "1", "--send-libs": "no", "--slurmd-debug": "info",
    "--task-epilog": "/bin/true", "--task-prolog": "/bin/true", "--threads": "2", "--wait": "10", "--x11": "all",
    # scancel
    "--jobname": "another", "--nodelist ": "n1", "--state": "RUNNING", "--user": "nobody", "--sibling": "other",
    # queries
    "--accounts": "proj", "--format": "{format}", "--Format": "{names}", "--jobs": "{job}", "--name": "another", "--states": "PENDING", "--sort": "{sort}",
    "--iterate": "0", "--delimiter": "^", "--endtime": "now", "--starttime": "now-1hour", "--file": "/dev/null", "--flags": "SchedMain",
    "--nnodes": "1", "--ncpus": "1", "--reason": "x", "--timelimit-max": "10", "--timelimit-min": "1", "--units": "M", "--wckeys": "key",
    "--constraints": "x86", "--steps": "1.0",
}
# Options that need another beside them, or cannot stand beside what the test says itself.
BESIDE = {
    "--cpus-per-gpu": ["--gpus=1"], "--mem-per-gpu": ["--gpus=1"], "--ntasks-per-gpu": ["--gpus=1"], "--gpu-bind": ["--gpus=1"],
    "--gpu-freq": ["--gpus=1"], "--gres-flags": ["--gpus=1"], "--gpus-per-task": ["-n1"], "--gpus-per-socket": ["--sockets-per-node=1", "--gpus=1"],
    "--time-min": ["-t3"], "--deadline": ["-t3"], "--export-file": [], "--kill-on-invalid-dep": [], "--relative": [], "--threads-per-core": [],
}
# A variable of sbatch, srun or salloc: the value it is given; those that are not here take their option's.
VARIABLES = {
    "SLURM_UMASK": "0077", "SLURM_DEBUG": "1", "SBATCH_DEBUG": "1", "SALLOC_DEBUG": "1", "SLURMD_DEBUG": "1", "SBATCH_EXCLUSIVE": "user", "SALLOC_EXCLUSIVE": "user",
    "SBATCH_REQ_SWITCH": "1", "SALLOC_REQ_SWITCH": "1", "SLURM_REQ_SWITCH": "1", "SBATCH_WAIT4SWITCH": "60", "SALLOC_WAIT4SWITCH": "60",
    "SLURM_WAIT4SWITCH": "60", "SBATCH_ARRAY_INX": "0-1", "SBATCH_TIMELIMIT": "3", "SALLOC_TIMELIMIT": "3", "SLURM_TIMELIMIT": "3",
    "SBATCH_MEM_PER_NODE": "100", "SALLOC_MEM_PER_NODE": "100", "SLURM_MEM_PER_NODE": "100", "SLURM_EXIT_ERROR": "9", "SLURM_CONF": "/etc/slurm/slurm.conf",
    "SLURM_DEBUG_FLAGS": "Steps", "SLURM_STEP_KILLED_MSG_NODE_ID": "1", "SLURM_HINT": "nomultithread", "SLURM_NPROCS": "2", "SLURM_NNODES": "2",
    "SLURM_JOB_NUM_NODES": "2", "SLURM_EXPORT_ENV": "PATH", "SRUN_EXPORT_ENV": "PATH", "SRUN_CPUS_PER_TASK": "2", "SLURM_REMOTE_CWD": "/tmp",
    "SLURM_WORKING_DIR": "/tmp", "SLURM_MPI_TYPE": "none", "SLURM_STDOUTMODE": "out.txt", "SLURM_STDERRMODE": "err.txt", "SLURM_STDINMODE": "none",
    "SLURM_KILL_BAD_EXIT": "1", "SLURM_EXIT_IMMEDIATE": "9", "SALLOC_KILL_CMD": "TERM", "SLURM_STEP_GRES": "none", "SLURM_DIST_PLANESIZE": "2",
    "SLURM_CPU_FREQ_REQ": "Medium", "SLURM_JOB_ID": "{job}", "SLURM_NTASKS_PER_GPU": "1", "SLURM_BURST_BUFFER": "capacity=1", "SALLOC_BURST_BUFFER": "capacity=1",
    "SLURM_RESERVATION": "", "SBATCH_RESERVATION": "", "SALLOC_RESERVATION": "",
}
# They say how a command speaks or waits, or whom it asks; or a step's own doings, which test_steps and the golden corpus look at.
NO_MARK = {
    "--help", "--usage", "--version", "--verbose", "--quiet", "--parsable", "--test-only", "--wait", "--ignore-pbs", "--clusters", "--get-user-env",
    "--hold", "--wrap", "--uid", "--gid", "--reservation", "--no-shell", "--bell", "--no-bell", "--kill-command", "--immediate", "--export",
    "--accel-bind", "--bcast", "--bcast-exclude", "--compress", "--cpu-bind", "--disable-status", "--epilog", "--exact", "--het-group", "--jobid",
    "--kill-on-bad-exit", "--label", "--mpi", "--msg-timeout", "--multi-prog", "--no-allocate", "--overlap", "--preserve-env", "--prolog", "--pty",
    "--quit-on-interrupt", "--relative", "--resv-ports", "--send-libs", "--slurmd-debug", "--task-epilog", "--task-prolog", "--threads",
    "--unbuffered", "--x11", "--input", "--output", "--error", "--open-mode", "--export-file",
}
# Of salloc and srun, proven by their effect in test_coverage.py: the default account is named, and the soft limits are those of the tasks.
NO_MARK_OF_ALLOCATIONS = {"--account", "--propagate"}
# Those that make a job wait for longer than the test does: the command says that it waits.
WAITS = {"--begin", "--hold", "--dependency", "SLURM_DEPENDENCY"}
NO_MARK_VARIABLES = {
    "SLURM_CONF": "Slurm's own configuration file", "SLURM_DEBUG_FLAGS": "debug messages of Slurm's parts", "SLURM_EXIT_ERROR": "an exit status, golden corpus",
    "SLURM_STEP_KILLED_MSG_NODE_ID": "who says that a step was killed", "SBATCH_DEBUG": "speech", "SALLOC_DEBUG": "speech", "SLURM_DEBUG": "speech",
    "SLURMD_DEBUG": "speech", "SLURM_CLUSTERS": "whom to ask", "SBATCH_CLUSTERS": "whom to ask", "SALLOC_CLUSTERS": "whom to ask", "SLURM_EXIT_IMMEDIATE": "an exit status",
    "PMI_FANOUT": "PMI's own", "PMI_FANOUT_OFF_HOST": "PMI's own", "PMI_TIME": "PMI's own", "SLURM_PMI_KVS_NO_DUP_KEYS": "PMI's own",
    "SLURM_SRUN_REDUCE_TASK_EXIT_MSG": "speech", "SLURM_DIST_PLANESIZE": "only with -m plane", "SLURM_TEST_EXEC": "looks for the program at once",
    # Of allocations: the account is the default one anyway, and there are no switches to wait for.
    "SALLOC_ACCOUNT": "the default account", "SLURM_ACCOUNT": "the default account", "SALLOC_KILL_CMD": "how the command ends",
    "SALLOC_REQ_SWITCH": "no switches", "SALLOC_WAIT4SWITCH": "no switches", "SLURM_REQ_SWITCH": "no switches", "SLURM_WAIT4SWITCH": "no switches",
    # Of a step: test_ranks, test_world and the golden corpus look at them.
    "SLURM_EXPORT_ENV": "a step's environment", "SRUN_EXPORT_ENV": "a step's environment", "SLURM_MPI_TYPE": "a step's ranks",
    "SLURM_STDERRMODE": "a step's streams", "SLURM_STDOUTMODE": "a step's streams", "SLURM_STDINMODE": "a step's streams",
    "SLURM_STEP_GRES": "a step's devices",
    # Proven by its effect in test_coverage.py.
    "SLURM_UMASK": "the umask of the tasks",
}
