"""A job that is only an environment and a directory: what srun and the agents see of one, without a daemon."""
import json
import os
import signal
import shutil
import subprocess
import tempfile
import time

BIN = os.environ["MUSTER_BIN"]


def lives(pid):
    """False for a process that is gone or waits to be reaped by whoever inherited it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until_gone(pids, seconds=60):
    until = time.monotonic() + seconds
    while left := [pid for pid in pids if lives(pid)]:
        assert time.monotonic() < until, f"still there: {left}"
        time.sleep(0.02)


class FakeJob:
    """`nodes` nodes of `cpus` CPUs. The agents of the nodes behind the first run as in a pod; that of the first one is started by srun."""

    def __init__(self, nodes=1, cpus=4, tasks=None, **more):
        self.directory = tempfile.mkdtemp(prefix="muster-steps-test-")
        self.steps = os.path.join(self.directory, "steps")
        os.mkdir(self.steps, 0o700)
        hosts = "c1" if nodes == 1 else f"job-7-[0-{nodes - 1}]"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SRUN_", "SBATCH_", "SALLOC_", "PMI", "MUSTER_"))}
        self.environment = dict(
            clean, PATH=f"{BIN}/slurm:{os.environ['PATH']}", MUSTER_STEPS_DIR=self.steps, MUSTER_STEP_AGENT=f"{BIN}/muster-step-agent",
            SLURM_JOB_ID="7", SLURM_JOB_NODELIST=hosts, SLURM_JOB_NUM_NODES=str(nodes), SLURM_NNODES=str(nodes),
            SLURM_JOB_CPUS_PER_NODE=str(cpus) + (f"(x{nodes})" if nodes > 1 else ""), JOB_COMPLETION_INDEX="0", SLURM_JOB_NAME="fake", **more)
        if tasks:
            self.environment["SLURM_NTASKS"] = str(tasks)
        self.agents = []
        for index in range(1, nodes):
            self.agents.append(subprocess.Popen([f"{BIN}/muster-step-agent", "serve"], stdin=subprocess.DEVNULL, start_new_session=True,
                                                env=dict(self.environment, JOB_COMPLETION_INDEX=str(index))))

    def start(self, *words, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        environment = dict(self.environment, **options.pop("env", {}))
        options.setdefault("cwd", self.directory)
        return subprocess.Popen(["srun", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def run(self, *words, timeout=60, **options):
        """(exit status, stdout, stderr)"""
        data = options.pop("input", None)
        if data is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*words, **options)
        out, err = process.communicate(data, timeout=timeout)
        return process.returncode, out, err

    def manager(self):
        """The pid of the first node's agent: it holds the lock."""
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{name}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
            except OSError:
                continue
            if (words[0].endswith(b"muster-step-agent") and f"MUSTER_STEPS_DIR={self.steps}".encode() in variables
                    and b"JOB_COMPLETION_INDEX=0" in variables):
                return int(name)
        return None

    def records(self):
        """The last line of each step, by its number."""
        out = {}
        with open(os.path.join(self.steps, "steps.jsonl"), encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                out[record["step"]] = record
        return out

    def wait_for_record(self, step, state, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                record = self.records().get(step)
            except OSError:
                record = None
            if record and record["state"] == state:
                return record
            time.sleep(0.02)
        raise AssertionError(f"step {step} is not {state}: {self.records()}")

    def close(self):
        manager = self.manager()
        if manager:
            os.kill(manager, signal.SIGKILL)
        for agent in self.agents:
            agent.kill()
            agent.wait()
        shutil.rmtree(self.directory)
