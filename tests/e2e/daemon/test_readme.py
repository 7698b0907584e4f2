"""Every command of the README's shell blocks is typed, in order, at a fresh daemon with the quickstart's members and queues.

A block line, or a command between backquotes, that is neither in SHOWS nor in NOT_TYPED fails the test: a new line of the README
needs what it is to show, or the reason why it cannot be typed here.
"""
import os
import re
import subprocess
import time
import unittest

from muster_server import BIN, PATIENCE, SOURCE, Server, example

# What each command prints, as regular expressions over its output and its errors; it ends with 0.
SHOWS = {
    "muster status": [r"ready: +yes"],
    "export PATH=$PWD/build/bin:$PWD/build/bin/slurm:$PATH": [],
    "muster get jobs -A": [r"NAMESPACE +ID +NAME", r"vision +1 +count-images-\w+ +Job +gpu +Succeeded"],
    "muster get clusterqueues -o wide": [
        r"NAME +COHORT +PENDING WORKLOADS +ADMITTED WORKLOADS +STRATEGY +NOMINAL +USED +BORROWED",
        r"team-vision +campus +0 +0 +BestEffortFIFO +standard:cpu=16,memory=64Gi,nvidia.com/gpu=8 "
        r"+standard:cpu=0,memory=0,nvidia.com/gpu=0 +- "],
    "muster logs 1": [rf"(?m)^\[[\w-]+/count\] shard {shard} of 3: counting$" for shard in range(3)] +
                     [r"(?m)^\[[\w-]+/count\] shard 2: 3000 images$"],
    "muster describe jobs 1": [r"(?m)^state: +Succeeded$", r"Pods:\nPOD ", r"Conditions:\nTYPE ", r"Events:\nTIME ", "JobSucceeded"],
    "cat > train.sh": [],
    "sbatch train.sh; squeue; sacct -X": [r"Submitted batch job \d+", r"JOBID PARTITION", r"(?m)^\d+ +train +default"],
    "muster apply -f examples/mission/guide-queues.yaml": ["clusterqueue/cluster-queue created", "localqueue/local-queue created"],
    "muster submit examples/quickstart/jobs/job.yaml --wait": [r"job (\d+) submitted\njob \1 succeeded"],
    "muster apply -f examples/quickstart/gangs.yaml": ["job/first-gang created", "job/second-gang created"],
    "muster explain second-gang -n vision": [
        r"needs 12 nvidia.com/gpu; team-vision can use 16, 12 are used, 4 free", r"(?m)^Quota, flavor by flavor:$",
        r"(?m)^Member clusters:$", r"(?m)^Preemption:$", r"(?m)^Estimated start: "],
    "muster logs first-gang -n vision": [rf"(?m)^\[[\w-]+/worker\] worker {worker} of 12$" for worker in range(12)],
    "muster delete jobs first-gang -n vision": [r"job/\d+ cancelled"],
    "muster quota get team-vision": [r"team-vision +standard +nvidia.com/gpu +8"],
    "muster quota set team-vision standard nvidia.com/gpu --nominal 12 --dry-run": [r"nvidia.com/gpu"],
    "muster quota set team-vision standard nvidia.com/gpu --nominal 12": [r"nvidia.com/gpu"],
    "muster audit --limit 1": [r"update +clusterqueue/team-vision +standard/nvidia.com/gpu nominal 8 -> 12"],
    "muster simulate examples/simulate/queues.yaml examples/simulate/jobs.yaml": ["train-2", "InCohortReclamation"],
    "muster simulate examples/simulate/queues.yaml examples/simulate/jobs.yaml --compare "
    "--set clusterqueue/team-a:a100/nvidia.com/gpu=+8": [r"FIGURE +AS IS +WITH --set", r"finished +5 +6"],
    "muster apply -f examples/mission/guide-placements.yaml -f examples/mission/guide-jobs.yaml": [
        "resourceplacement/job1-placement created", "job/mock-workload created", "job/model-evaluation created"],
    "muster describe rp job1-placement -n compute-jobs": [r"Name: +job1-placement", r"ResourcePlacementScheduled", r"Events:"],
    "muster explain mock-workload -n compute-jobs": [r"Member clusters:", r"(?m)^  (east|west) ", r"Scores:"],
    "muster cluster taint west maintenance=true:NoSchedule": [r"membercluster/west tainted"],
    "muster cluster describe west": [r"Taints: +maintenance=true:NoSchedule", r"Resources:"],
    "muster cluster taint west maintenance-": [r"membercluster/west untainted"],
    "muster apply -f examples/mission/guide-configuration.yaml": [
        "clusterresourceplacement/sample-kueue created", "resourceplacement/queue-placement created"],
    "muster describe crp sample-kueue": [r"Name: +sample-kueue", r"ClusterResourcePlacementScheduled", r'Cluster "east" is not eligible for resource placement yet: it takes no configuration objects'],
    "muster cluster drain west --wait": [r"membercluster/west drained"],
    "muster cluster uncordon west": [r"membercluster/west uncordoned"],
}

# Why a command is not typed. The keys are whole commands.
PLACEHOLDER = "its words stand for a name of the reader's; tests of its own type it"
KUBECONFIG = "it needs a Kubernetes cluster: e2e_kube_* and e2e_kube_registry type it"
NOT_TYPED = {
    "scripts/quickstart.sh": "it installs packages and builds; this test starts the daemon with its members and queues",
    "scripts/test.sh": "it runs this test",
    "musterd --data-dir ~/muster --local-cluster desk,cpu=8,memory=32Gi,nvidia.com/gpu=1": "it listens on the default ports",
    "musterd --config musterd.yaml": "the reader's own file; unit tests of the daemon's configuration read one",
    "musterd --postgres postgresql:///muster": "it needs another PostgreSQL: e2e_postgres starts one",
    "musterd --member-cluster paris,kubeconfig=paris.yaml": KUBECONFIG,
    "muster": "the program's name",
    "sbatch": "the program's name",
    "sbatch squeue scancel sacct sinfo scontrol": "a list of programs",
    "muster apply -f": "an option, named",
    "muster explain": "a command, named; the blocks type it",
    "muster get memberclusters": KUBECONFIG,
    "muster describe jobs NAME": PLACEHOLDER,
    "muster logs -f NAME": PLACEHOLDER,
    "muster cluster add paris --kubeconfig paris.yaml": KUBECONFIG,
    "muster cluster remove paris": KUBECONFIG,
    "muster describe rp NAME": PLACEHOLDER,
    "muster cluster taint NAME key=value:NoSchedule": PLACEHOLDER,
    "muster cluster describe NAME": PLACEHOLDER,
    "muster cluster drain NAME --wait": PLACEHOLDER,
    "muster cluster fence NAME": PLACEHOLDER,
    "muster-bench recover": "a benchmark",
}

READS = re.compile(r"muster (get|logs|describe|explain|audit|quota get|cluster describe)\b")


def blocks(text):
    """The shell blocks as lists of (command, what to type): a comment is cut off, a here-document belongs to its line."""
    out = []
    for block in re.findall(r"(?ms)^```sh\n(.*?)^```", text):
        commands, lines = [], iter(block.splitlines())
        for line in lines:
            typed = re.sub(r"(^|\s{2,})#.*$", "", line).rstrip()
            if not typed:
                continue
            command = typed
            if (here := re.search(r"\s*<<'?(\w+)'?$", typed)) is not None:
                command = typed[:here.start()]
                for more in lines:
                    typed += "\n" + more
                    if more == here.group(1):
                        break
                typed += "\n"
            commands.append((command, typed))
        out.append(commands)
    return out


def named(text):
    """Commands of ours between backquotes, outside of the blocks."""
    prose = re.sub(r"(?ms)^```.*?^```", "", text)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose)
            if re.match(r"(muster|musterd|muster-bench|sbatch|squeue|sacct|scancel|scontrol|sinfo)( |$)", code)]


def members():
    """The flags by which the quickstart starts its daemon."""
    with open(os.path.join(SOURCE, "scripts", "quickstart.sh"), encoding="utf-8") as script:
        return [word for member in re.findall(r"--local-cluster (\S+)", script.read()) for word in ("--local-cluster", member)]


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
            cls.text = file.read()

    def test_every_command_is_typed_or_has_a_reason_not_to_be(self):
        commands = [command for block in blocks(self.text) for command, _ in block] + named(self.text)
        self.assertEqual([one for one in commands if one not in SHOWS and one not in NOT_TYPED], [], "on no list")
        self.assertEqual([one for one in [*SHOWS, *NOT_TYPED] if one not in commands], [], "no longer in the README")

    def test_every_file_and_directory_that_is_named_exists(self):
        for code in re.findall(r"`([\w./-]+/[\w./-]+)`", self.text):
            if re.match(r"(examples|schedd|api|backends|scripts|tests|clients|db)/", code):
                self.assertTrue(os.path.exists(os.path.join(SOURCE, code)), code)

    def test_every_test_that_is_named_is_there(self):
        listed = subprocess.run(["ctest", "--test-dir", os.path.dirname(BIN), "-N"], capture_output=True, text=True, check=True).stdout
        for pattern in re.findall(r"`ctest (?:--test-dir build )?-R ([^`]+)`", self.text):
            self.assertRegex(listed, pattern)
        for label in re.findall(r"`ctest -L ([^`]+)`", self.text):
            labels = subprocess.run(["ctest", "--test-dir", os.path.dirname(BIN), "-N", "-L", label], capture_output=True, text=True,
                                    check=True).stdout
            self.assertNotIn("Total Tests: 0", labels)

    def test_every_line_of_the_blocks_shows_what_the_readme_says(self):
        server = Server(members()).start()
        self.addCleanup(server.close)
        server.run("muster", "apply", "-f", example("quickstart", "queues.yaml"))
        server.run("muster", "submit", example("quickstart", "jobs", "job.yaml"), "--wait")
        home = os.path.join(server.dir, "readme")
        os.mkdir(home)
        os.symlink(os.path.join(SOURCE, "examples"), os.path.join(home, "examples"))
        os.symlink(os.path.dirname(BIN), os.path.join(home, "build"))
        environment = dict(server.environment(), PATH=os.environ["PATH"])
        before = ""
        for command, typed in (each for block in blocks(self.text) for each in block):
            if command not in SHOWS:
                continue
            if command.startswith("export "):
                before += typed + "\n"
            with self.subTest(command):
                self.type(command, before + typed, home, environment)

    def type(self, command, script, home, environment):
        """What only reads is read again until it shows what it has to: jobs take their time."""
        deadline = time.monotonic() + PATIENCE
        while True:
            done = subprocess.run(["bash", "-c", script], cwd=home, env=environment, capture_output=True, text=True, timeout=PATIENCE)
            shown = done.stdout + done.stderr
            missing = [want for want in SHOWS[command] if not re.search(want, shown)]
            if done.returncode == 0 and not missing:
                return
            if not READS.match(command) or time.monotonic() > deadline:
                self.fail(f"{command}: exit {done.returncode}, not shown: {missing}; it printed:\n{shown}")
            time.sleep(0.2)


if __name__ == "__main__":
    unittest.main()
