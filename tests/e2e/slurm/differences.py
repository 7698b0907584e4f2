"""Where Muster's answers to the golden corpus differ from those of Debian's Slurm 22.05: {line: (why, what Muster answers instead)}.

What Muster answers is a part of the answer: whatever of "out", "err" and "exit" is not named is Slurm's. An entry that makes no difference any
more fails the test."""

UNRECOGNIZED = "the option is newer than 22.05: sbatch(1) of the newest release"

# A newer Slurm answers otherwise, and Muster answers as it does.
VERSION = {
}

# Nothing but Muster answers so. At most 10.
OTHER = {
}
