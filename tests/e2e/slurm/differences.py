"""Where Muster's answers to the golden corpus differ from those of Debian's Slurm 22.05: {line: (why, what Muster answers instead)}.

What Muster answers is a part of the answer: whatever of "out", "err" and "exit" is not named is Slurm's. An entry that makes no difference any
more fails the test."""

NEW_OPTION = "the option is newer than 22.05: sbatch(1) of the newest release"
TAKEN = {"out": "COMPLETED\nhello\n", "err": "", "exit": 0}

# A newer Slurm answers otherwise, and Muster answers as it does.
VERSION = {
    "bad_dependency_id": ("a job that never was is refused as a parent: sbatch(1) of the newest release, --dependency",
                          {"out": "", "err": "sbatch: error: Batch job submission failed: Job dependency problem\n", "exit": 1}),
    "bad_nice": ("a value that is no number is refused: sbatch(1) of the newest release, --nice",
                 {"out": "", "err": "sbatch: error: Invalid --nice specification\nscancel: error: No job identification provided\n", "exit": 1}),
    "consolidate_segments": (NEW_OPTION, TAKEN),
    "extra": (NEW_OPTION, TAKEN),
    "oom_kill_step": (NEW_OPTION, TAKEN),
    "requeue_expedite": (NEW_OPTION, {"out": "Requeue=1\n", "err": "", "exit": 0}),
    "segment": (NEW_OPTION, TAKEN),
    "stepmgr": (NEW_OPTION, TAKEN),
    "tres_per_task": (NEW_OPTION, TAKEN),
    "gres_shown": ("TresPerNode=gres/gpu:2 since 23.02: scontrol(1)", {"out": "TresPerNode=gres/gpu:2\n"}),
    "srun_killed": ("recorded with 26.11: no line of its own says that the step was ended by force",
                    {"out": "COMPLETED\nsrun: error: HOST: task 0: Killed\n137\n"}),
}

# Nothing but Muster answers so. At most 10.
OTHER = {
    "burst_buffer": ("refused by name: there are no burst buffers, and Slurm without a plugin for them takes the option in silence",
                     {"out": "", "err": "sbatch: error: --bb: burst buffers do not exist here; use a shared directory\n", "exit": 1}),
    "container": ("refused by name: Slurm without a runtime for containers takes the option in silence",
                  {"out": "", "err": "sbatch: error: --container: containers are chosen by the queue's image; start one inside the script\n", "exit": 1}),
    "resv_ports": ("refused by name: ports are not reserved",
                   {"out": "", "err": "sbatch: error: --resv-ports: ports are not reserved for a job; let it choose a free one\n", "exit": 1}),
    "acctg_freq": ("use is sampled as often as the member does, so any frequency is taken; the recorded Slurm samples nothing and refuses",
                   TAKEN),
    "mem_zero": ("all memory of a node is shown as the amount that it comes to", {"out": "MinMemoryNode=16000M\n"}),
    "pbs_lines": ("#PBS lines are comments: Muster reads no PBS scripts", {"out": "COMPLETED\nscript.sh\n"}),
    "too_many_cpus": ("what no member can ever hold is refused at once; Slurm keeps such a job waiting for a change of its partition",
                      {"out": "", "err": "sbatch: error: Batch job submission failed: Requested node configuration is not available\n", "exit": 1}),
    "too_many_nodes": ("it waits as Slurm's does, with the reason of the quota that it exceeds: there is no size of a partition beside it",
                       {"out": "PENDING AccountingPolicy\n"}),
    "qos_submit_limit": ("a QOS is a priority class and limits no submissions", {"out": "Submitted batch job N\n", "err": ""}),
}
