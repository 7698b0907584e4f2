"""Every command of the shell blocks of README.md and of the guide is typed, in order, at one fresh daemon with the quickstart's
members and queues. A command that stands on several pages is typed where it comes first.

A block line, or a command between backquotes, that is neither in SHOWS nor in NOT_TYPED fails the test: a new line of a page
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
    "export PATH=$PWD/build/bin:$PWD/build/bin/slurm:$PATH": [],
    "muster get jobs -A": [r"NAMESPACE +ID +NAME", r"vision +1 +count-images-\w+ +Job +gpu +Succeeded"],
    "muster submit examples/quickstart/jobs/job.yaml --wait": [r"job (\d+) submitted\njob \1 succeeded"],
    "cat > train.sh": [],
    "sbatch train.sh; squeue; sacct -X": [r"Submitted batch job \d+", r"JOBID PARTITION", r"(?m)^\d+ +train +default"],
    "muster apply -f examples/quickstart/gangs.yaml": ["job/first-gang created", "job/second-gang created"],
    "muster get clusterqueues -o wide": [
        r"NAME +COHORT +PENDING WORKLOADS +ADMITTED WORKLOADS +STRATEGY +NOMINAL +USED +BORROWED",
        r"team-vision +campus +1 +1 +BestEffortFIFO +standard:cpu=16,memory=64Gi,nvidia.com/gpu=8 "
        r"+standard:cpu=1200m,memory=768Mi,nvidia.com/gpu=12 +standard:nvidia.com/gpu=4 "],
    "muster explain second-gang -n vision": [
        r"needs 12 nvidia.com/gpu; team-vision can use 16, 12 are used, 4 free", r"(?m)^Quota, flavor by flavor:$",
        r"(?m)^Member clusters:$", r"(?m)^Preemption:$", r"(?m)^What would let it run:$", r"(?m)^Estimated start: "],
    "muster quota get team-vision": [r"team-vision +standard +nvidia.com/gpu +8"],
    "muster quota set team-vision standard nvidia.com/gpu --nominal 16 --dry-run": [
        r"nothing was changed", r"would be admitted: 1\n", r"vision/second-gang +Job +team-vision", r"would be preempted: 0"],
    "muster logs first-gang -n vision": [rf"(?m)^\[[\w-]+/worker\] worker {worker} of 12$" for worker in range(12)],
    "muster delete jobs first-gang -n vision": [r"job/\d+ cancelled"],
    "muster whoami": [r"(?m)^user: +\S", r"(?m)^groups: +.*system:authenticated", r"(?m)^method: +loopback$"],
    "muster delete clusterrolebinding muster-local-users": ["clusterrolebinding/muster-local-users deleted"],
    # docs/guide/install-and-run.md
    "muster version": [r"client: muster (\d+\.\d+\.\d+)\nserver: \1 at http://127.0.0.1:\d+"],
    "muster status": [r"ready: +yes", r"version: +\d"],
    # docs/guide/jobs.md
    "muster apply -f examples/mission/guide-queues.yaml": ["clusterqueue/cluster-queue created", "localqueue/local-queue created"],
    "muster apply --dry-run -f examples/teams/queues.yaml": [r"clusterqueue/gangs-research created \(dry run\)"],
    "muster get jobs -n vision --state Succeeded -o name": [r"(?m)^job/1$"],
    "muster get jobs -A --search count --since 24h": [r"\A.*\n(vision +\d+ +count-images-\w+ .*\n)+\Z"],
    "muster logs 1": [rf"(?m)^\[[\w-]+/count\] shard {shard} of 3: counting$" for shard in range(3)] +
                     [r"(?m)^\[[\w-]+/count\] shard 2: 3000 images$"],
    "muster describe jobs 1": [r"(?m)^state: +Succeeded$", r"Pods:\nPOD ", r"Conditions:\nTYPE ", r"Events:\nTIME ", "JobSucceeded"],
    "muster wait 1 --timeout 60s -n vision": [r"(?m)^job 1 succeeded$"],
    # docs/guide/batch-scripts.md
    "cat > ranks.sh": [],
    "sbatch --wait --output=ranks.out ranks.sh": [r"(?m)^Submitted batch job \d+$"],
    "cat ranks.out; sacct": [r"(?m)^0: \S+-0$", r"(?m)^3: \S+-1$", r"(?m)^rank 0 of 1$",
                             r"(?m)^\d+\.batch +batch .*COMPLETED", r"(?m)^\d+\.0 +hostname .*COMPLETED", r"(?m)^\d+\.1 +sh .*COMPLETED"],
    "sbatch --hold --parsable --wrap 'echo held' --job-name held": [r"(?m)^\d+$"],
    "squeue --name held -o '%j %T %r'": [r"(?m)^NAME STATE REASON\nheld PENDING JobHeldUser$"],
    "scancel --name=held": [],
    "sinfo -N -l": [r"(?m)^west +1 +default\* ", r"(?m)^east +1 +vision/gpu "],
    "scontrol show partition vision/gpu": [r"PartitionName=vision/gpu\n", r"AllowAccounts=team-vision ", r"Nodes=east,west\n"],
    "scontrol ping": [r"Slurmctld\(primary\) at http://127.0.0.1:\d+ is UP"],
    # docs/guide/queues-and-quota.md
    "muster get localqueues -A": [r"(?m)^vision +gpu +team-vision ", r"(?m)^compute-jobs +local-queue +cluster-queue "],
    "muster quota set team-vision standard nvidia.com/gpu --nominal 12 --dry-run": [r"team-vision +standard +nvidia.com/gpu +12 ",
                                                                                   "nothing was changed"],
    "muster quota set team-vision standard nvidia.com/gpu --nominal 12": [r"team-vision +standard +nvidia.com/gpu +12 "],
    "muster audit --verb update --limit 1": [r"update +clusterqueue/team-vision +allowed +standard/nvidia.com/gpu nominal 8 -> 12"],
    # docs/guide/members.md
    "muster cluster list": [r"(?m)^west +Ready +cpu=16,memory=64Gi,nvidia.com/gpu=16 "],
    "muster get memberclusters": [r"(?m)^east +Ready +cpu=16,memory=64Gi,nvidia.com/gpu=32 "],
    "muster cluster describe west": [r"Backend: +local", r"Taints: +<none>", r"(?m)^  nvidia.com/gpu +16 +16 "],
    "muster top --once": [r"(?m)^west +nvidia.com/gpu +\d+/16 ", r"(?m)^team-vision .*standard:nvidia.com/gpu=\d+/12\b"],
    "muster cluster taint west maintenance=true:NoSchedule": [r"membercluster/west tainted"],
    "muster cluster taint west maintenance-": [r"membercluster/west untainted"],
    "muster cluster cordon west": [r"membercluster/west cordoned"],
    "muster cluster uncordon west": [r"membercluster/west uncordoned"],
    "muster cluster drain west --wait": [r"membercluster/west drained"],
    # docs/guide/placements.md
    "muster apply -f examples/mission/guide-placements.yaml -f examples/mission/guide-jobs.yaml": [
        "resourceplacement/job1-placement created", "job/mock-workload created", "job/model-evaluation created"],
    "muster describe rp job1-placement -n compute-jobs": [r"Name: +job1-placement", r"ResourcePlacementScheduled", r"Events:"],
    "muster explain mock-workload -n compute-jobs": [r"Member clusters:", r"(?m)^  (east|west) ", r"Scores:"],
    # docs/guide/configuration-objects.md
    "muster apply -f examples/mission/guide-configuration.yaml": [
        "clusterresourceplacement/sample-kueue created", "resourceplacement/queue-placement created"],
    "muster describe crp sample-kueue": [r"Name: +sample-kueue", r"ClusterResourcePlacementScheduled",
                                         r'Cluster "east" is not eligible for resource placement yet: it takes no configuration objects'],
    # docs/guide/simulate.md
    "muster simulate examples/simulate/queues.yaml examples/simulate/jobs.yaml": ["train-2", "InCohortReclamation"],
    "muster simulate examples/simulate/queues.yaml examples/simulate/jobs.yaml --compare "
    "--set clusterqueue/team-a:a100/nvidia.com/gpu=+8": [r"FIGURE +AS IS +WITH --set", r"finished +5 +6"],
    "muster simulate examples/simulate/queues.yaml --swf examples/simulate/trace.swf --swf-resource nvidia.com/gpu "
    "--swf-queue-by queue --swf-map 1=team-a/main --swf-map 2=team-b/main --summary-only": [
        "8 jobs of the trace taken", r"(?m)^makespan +9300s$", r"(?m)^preemptions +1$"],
    # docs/guide/observe.md
    "muster get workloads -A": [r"(?m)^vision +job-count-images-\w+-[0-9a-f]{5} +gpu +- +True +True "],
    "muster get clusterqueues team-vision -o yaml": [r"(?m)^kind: ClusterQueue$", r"(?m)^ +nominalQuota: \"?12\"?$"],
    "muster describe clusterqueues team-vision": [r"(?m)^kind: ClusterQueue$", "Can admit new workloads"],
    "muster audit --verb create --object resourceplacement/ --limit 3": [r"create +resourceplacement/compute-jobs/queue-placement"],
    "muster audit --since 1h -o json": [r'"object": "clusterqueue/team-vision"', r'"detail": "standard/nvidia.com/gpu nominal 8 -> 12"'],
    'curl -sS "${MUSTER_URL:-http://127.0.0.1:8686}/readyz"': [r"\Aok\s*\Z"],
    'curl -sS "${MUSTER_URL:-http://127.0.0.1:8686}/metrics"': [
        r'(?m)^kueue_admitted_workloads_total\{cluster_queue="team-vision",priority_class=""\} [1-9]', r"(?m)^muster_inbox_depth \d",
        r"(?m)^muster_backend_calls_failed_total 0$"],
    # docs/guide/access.md
    "muster auth can-i create jobs -n vision": [r"(?m)^yes$"],
    "muster auth can-i --list -n vision": [r"RESOURCES +GROUPS +NAMES +PATHS +VERBS"],
    "muster doctor": [r"(?m)^daemon +ok +ready$", r"(?m)^member west +ok "],
    "muster doctor auth": [r"(?m)^server: +http://127.0.0.1:\d+", r"(?m)^user: +\S",
                           r"(?m)^jobs: +the server answers questions about namespace "],
    "muster apply -f examples/access/two-teams.yaml": ["clusterqueue/team-a created", "rolebinding/users created",
                                                       "clusterrole/clusterqueue-team-a created"],
    "muster get rolebindings -A": [r"(?m)^team-a +users ", r"(?m)^team-b +batch-admins "],
    "muster get clusterroles": [r"(?m)^cluster-admin ", r"(?m)^kueue-batch-user-role "],
    "muster token create --for ci --group team-a --ttl 12h --description pipeline": [r"(?m)^mst_\S+_[\w-]{43}$", "of ci, valid until "],
    "muster token list": [r"(?m)^NAME +USER +GROUPS +EXPIRES", r"(?m)^\S+ +ci +team-a"],
    "muster audit --limit 20 -o wide": [r" accesstoken/\S+ "],
    "muster audit --verify": [r"The audit trail is whole: \d+ rows"],
    # docs/guide/apis.md
    'curl -sS "${MUSTER_URL:-http://127.0.0.1:8686}/v1/jobs/1"': [r'"id":1,', r'"state":"Succeeded"', r'"clusterQueue":"team-vision"'],
    'curl -sS "${MUSTER_URL:-http://127.0.0.1:8686}/apis/kueue.x-k8s.io/v1beta1/clusterqueues/team-vision"': [
        r'"kind":"ClusterQueue"', r'"nominalQuota":"12"'],
    'curl -sS "${MUSTER_URL:-http://127.0.0.1:8686}/openapi.yaml"': [r"(?m)^openapi: 3\.", "/v1/jobs/{id}:nominate"],
}

# Why a command is not typed. The keys are whole commands.
PLACEHOLDER = "its words stand for a name of the reader's; the blocks or tests of its own type it"
KUBECONFIG = "it needs a Kubernetes cluster: e2e_kube_registry and the other e2e_kube_* start musterd with them"
NAMED = "a program, command or option, named; the blocks type it"
NOT_TYPED = {
    "muster token create": "the line of the page about access types it with its options",
    "scripts/quickstart.sh": "it installs packages and builds; this test starts the daemon with its members and queues",
    "scripts/test.sh": "it runs this test",
    "musterd --data-dir ~/muster --local-cluster desk,cpu=8,memory=32Gi,nvidia.com/gpu=1": "it listens on the default ports",
    "musterd --config musterd.yaml": "the reader's own file; unit tests of the daemon's configuration read one",
    "musterd --postgres postgresql:///muster": "it needs another PostgreSQL: e2e_standby and e2e_pg_* start one",
    "musterd --member-cluster paris,kubeconfig=paris.yaml": KUBECONFIG,
    "musterd --local-cluster NAME,cpu=N,memory=Q,...": PLACEHOLDER,
    "muster cluster add paris --kubeconfig paris.yaml": KUBECONFIG,
    "muster cluster remove paris": KUBECONFIG,
    **{f"kubectl {words}": "S06 types the block with a kubectl of its own" for words in (
        "config set-cluster muster --server https://batch.example.org:8686 --certificate-authority /etc/ssl/site-ca.pem",
        'config set-credentials muster --token "$MUSTER_TOKEN"',
        "config set-context muster --cluster muster --user muster --namespace team-a",
        "config use-context muster",
        "auth whoami",
        "auth can-i create jobs",
        "auth can-i --list",
        "get jobs,localqueues",
        "create rolebinding zoe --clusterrole kueue-batch-user-role --user zoe",
        "create role readers --verb get,list --resource configmaps",
        "delete rolebinding zoe")},
    "muster login": "it needs an OpenID Connect provider: S02 starts one",
    "muster logout": "it removes what `muster login` has kept: unit tests of the client",
    "muster audit --export FILE": PLACEHOLDER,
    "muster token revoke NAME": PLACEHOLDER,
    "muster audit -o wide": "named in running text; the blocks type it with a limit",
    "muster auth can-i --list": "named in running text; the blocks type it with a namespace",
    **dict.fromkeys(["muster", "musterd", "sbatch", "squeue", "scancel", "sacct", "sinfo", "scontrol",
                     "sbatch srun salloc sattach squeue scancel sacct sinfo scontrol sacctmgr sstat seff"], NAMED),
    **dict.fromkeys(["scontrol show job", "scontrol show hostnames", "scontrol requeuehold", "squeue -s", "squeue -o %E", "squeue -t all"],
                    "named in running text; tests/e2e/slurm types it"),
    "scancel ID.0": PLACEHOLDER,
    "musterd --mail-program": NAMED,
    **dict.fromkeys(["muster apply", "muster apply -f", "muster get", "muster submit", "muster explain", "muster logs", "muster describe",
                     "muster quota", "muster simulate", "muster get jobs", "muster top", "muster wait --for"], NAMED),
    **dict.fromkeys(["muster explain JOB", "muster hold JOB", "muster release JOB", "muster requeue JOB", "muster delete jobs JOB",
                     "muster describe jobs JOB", "muster describe jobs NAME", "muster logs -f NAME", "muster get KIND [NAME]",
                     "muster describe rp NAME", "muster cluster describe NAME", "muster cluster fence NAME",
                     "muster cluster collect NAME"], PLACEHOLDER),
    "muster get jobs -w": "it goes on until it is interrupted",
    "muster get memberclusters -o yaml": "named in running text; the blocks type the table",
    "muster completion bash": "it prints a script, which unit tests of the client read",
    "muster get --help": "the program's own help",
    "muster simulate --help": "the program's own help",
    "muster-bench recover": "a benchmark",
    **dict.fromkeys(["musterd doctor", "musterd migrate", "muster restore FILE"], "tests/e2e/postgres types them at databases of its own"),
    "muster cluster collect MEMBER": PLACEHOLDER,
    "scontrol release": "named in running text; tests/e2e/slurm types it",
}

READS = re.compile(r"(muster (get|logs|describe|explain|audit|top|quota get|cluster (describe|list))|curl|squeue|sinfo|scontrol (show|ping))\b")


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


def pages():
    """README.md, then the pages of the guide in the order of its index: (path, text)."""
    def text(path):
        with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
            return file.read()
    index = text("docs/guide/README.md")
    return [(path, text(path)) for path in
            ["README.md", "docs/guide/README.md"] + [f"docs/guide/{name}" for name in re.findall(r"(?m)^\| \[[\w-]+\.md\]\(([\w-]+\.md)\)", index)]]


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = pages()
        cls.text = "\n".join(text for _, text in cls.pages)

    def test_every_page_of_the_guide_is_in_its_index(self):
        here = sorted(name for name in os.listdir(os.path.join(SOURCE, "docs", "guide")))
        self.assertEqual(sorted(os.path.basename(path) for path, _ in self.pages[1:]), here)

    def test_every_command_is_typed_or_has_a_reason_not_to_be(self):
        commands = [(path, command) for path, text in self.pages
                    for command in [command for block in blocks(text) for command, _ in block] + named(text)]
        self.assertEqual([one for one in commands if one[1] not in SHOWS and one[1] not in NOT_TYPED], [], "on no list")
        known = {command for _, command in commands}
        self.assertEqual([one for one in [*SHOWS, *NOT_TYPED] if one not in known], [], "no longer on a page")

    def test_every_test_that_is_named_is_there(self):
        listed = subprocess.run(["ctest", "--test-dir", os.path.dirname(BIN), "-N"], capture_output=True, text=True, check=True).stdout
        for pattern in re.findall(r"`ctest (?:--test-dir build )?-R ([^`]+)`", self.text):
            self.assertRegex(listed, pattern)
        for label in re.findall(r"`ctest -L ([^`]+)`", self.text):
            labels = subprocess.run(["ctest", "--test-dir", os.path.dirname(BIN), "-N", "-L", label], capture_output=True, text=True,
                                    check=True).stdout
            self.assertNotIn("Total Tests: 0", labels)

    def test_every_line_of_the_blocks_shows_what_the_pages_say(self):
        server = Server(members()).start()
        self.addCleanup(server.close)
        server.run("muster", "apply", "-f", example("quickstart", "queues.yaml"))
        server.run("muster", "submit", example("quickstart", "jobs", "job.yaml"), "--wait")
        home = os.path.join(server.dir, "readme")
        os.mkdir(home)
        os.symlink(os.path.join(SOURCE, "examples"), os.path.join(home, "examples"))
        os.symlink(os.path.dirname(BIN), os.path.join(home, "build"))
        environment = dict(server.environment(), PATH=os.environ["PATH"])
        before, earlier = "", set()  # what each shell needs first; commands of the pages before
        for path, text in self.pages:
            lines = [each for block in blocks(text) for each in block if each[0] in SHOWS and each[0] not in earlier]
            for command, typed in lines:
                if command.startswith("export "):
                    before += typed + "\n"
                with self.subTest(command, page=path):
                    self.type(command, before + typed, home, environment)
            earlier.update(command for command, _ in lines)

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
