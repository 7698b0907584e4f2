"""What a job finds around itself under Muster and under Slurm: the same but for ids, times, names and a list of at most 10.

The answers of a real Slurm are recorded in golden/world.json (python3 test_world.py record DIR); MUSTER_SLURM_LIVE=1 asks one in the same run."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import corpus
import slurm_site

# {name of the job: options}
JOBS = {
    "plain": [],
    "exported_none": ["--export=NONE"],
    "tasks": ["-N1", "-n3", "-c2", "--mem-per-cpu=100"],
    "nodes": ["-N2", "--ntasks-per-node=2", "--mem=300"],
    "gpus": ["--gres=gpu:2"],
    # One task after the other, because both write to the one file.
    "array": ["-a", "3-5:2%1"],
    "options": ["-A", "proj", "-q", "high", "-p", "short", "-J", "with name", "-t", "5"],
}
# Ids, times and names: that they are there is compared, not what they say.
NAMED = re.compile(r"environment (SLURM(_JOB)?_?(JOB|ARRAY_JOB)?_?ID|SLURM_JOBID|SLURM_(ARRAY_)?JOB_ID|SLURM_TASK_PID|SLURM_JOB_(START|END)_TIME|SLURM_(JOB_)?NODELIST|SLURMD_NODENAME|"
                   r"SLURM_CLUSTER_NAME|SLURM_SUBMIT_(DIR|HOST)|SLURM_TOPOLOGY_ADDR|HOSTNAME|PATH|PWD|OLDPWD|TMPDIR|_)")
# Of the environment that a login makes (--export=NONE) only what no machine is without.
LOGIN = re.compile(r"(?!environment ).*|environment (HOME|LOGNAME|SHELL|USER|SLURM.*)")
# Nothing else differs: {pattern of the name: why}. At most 10.
OTHER = {
    r"hosts": "the nodes of the Slurm of the test have no names that resolve; Muster's have",
    r"nproc": "the Slurm of the test binds no CPUs (task/none), for its nodes claim more than the machine has; Muster shows the asked ones",
    r"environment SLURM_CONF": "Slurm's configuration file; Muster's commands need none",
    r"environment SLURM_WORKING_CLUSTER": "address and protocol of Slurm's controller",
    r"environment SLURM_JOB_(START|END)_TIME": "newer than 22.05 (slurm.md 2.5)",
    r"environment JOB_COMPLETION_INDEX": "which pod of the Job it is: Kubernetes' own, and the agent of a node asks it",
    r"environment (GPU_DEVICE_ORDINAL|ROCR_VISIBLE_DEVICES)": "the Slurm of the test has NVIDIA GPUs alone (nvidia_gpu_env); Muster does not know whose they are",
    r"environment MUSTER_.*": "where the commands find the daemon and the steps, and what the daemon tells its agent",
}


def read(text, place, login):
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if login and not LOGIN.fullmatch(name):
            continue
        found[name] = "something" if NAMED.fullmatch(name) else corpus.comparable(value, [], place)
    return found


def ask(environment, place):
    """{job: {name: value}} of a site."""
    os.makedirs(place)
    found = {}
    # Nothing of the machine's own: what is sent along is the same everywhere.
    kept = ("PATH", "USER", "LOGNAME", "SLURM_CONF", "MUSTER_URL")
    clean = {**{name: value for name, value in environment.items() if name in kept}, "HOME": "/tmp", "SHELL": "/bin/bash", "TZ": "UTC", "LANG": "C"}
    for job, options in JOBS.items():
        shell = f"""ulimit -S -n 700; ulimit -S -c 0; ulimit -S -s 4096; umask 027; module() {{ echo "module $*"; }}; export -f module; export A_VARIABLE='two words'
            sbatch -W -o {job}.out "$@" {corpus.HERE}/world.sh one 'two words'"""
        here = f"{place}/{job}"
        os.makedirs(here)
        done = subprocess.run(["bash", "-c", shell, "bash", *options], cwd=here, env=clean,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=corpus.PATIENCE)
        try:
            with open(f"{here}/{job}.out", encoding="utf-8") as file:
                found[job] = read(file.read(), here, job == "exported_none")
        except FileNotFoundError:
            found[job] = {"no output": f"{done.returncode} {done.stdout} {done.stderr}"}
    return found


class World(unittest.TestCase):
    maxDiff = None

    def test_a_job_finds_the_same_world(self):
        work = tempfile.mkdtemp(prefix="muster-world-", dir="/tmp")
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        os.chmod(work, 0o755)
        want = corpus.recorded("world")
        if os.environ.get("MUSTER_SLURM_LIVE") == "1":
            golden = slurm_site.Golden(os.environ.get("MUSTER_SLURM_DIR") or f"{work}/slurm").start()
            if not os.environ.get("MUSTER_SLURM_DIR"):
                self.addCleanup(golden.stop)
            want = ask(golden.environment(), f"{work}/golden")
        muster = slurm_site.Muster()
        self.addCleanup(muster.close)
        got = ask(muster.start().environment(), f"{work}/muster")
        self.assertLessEqual(len(OTHER), 10)
        wrong = []
        for job in JOBS:
            for name in sorted({*want[job], *got[job]}):
                one, other = want[job].get(name), got[job].get(name)
                if one != other and not any(re.fullmatch(pattern, name) for pattern in OTHER):
                    wrong.append(f"{job}: {name}: want {one}, got {other}")
        if wrong:
            self.fail("\n".join(wrong))


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        with tempfile.TemporaryDirectory(prefix="golden-world-", dir="/tmp") as folder:
            os.chmod(folder, 0o755)
            corpus.record("world", ask(slurm_site.Golden(sys.argv[2]).start().environment(), f"{folder}/golden"))
    else:
        unittest.main()
