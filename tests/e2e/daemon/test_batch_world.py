"""What a batch script finds on a local member, and what it is told when it dies: a real daemon, real sbatch."""
import os
import re
import unittest

import muster_server
from muster_server import Server


class BatchWorld(unittest.TestCase):
    def setUp(self):
        self.server = Server(["--local-cluster", "east,cpu=32,memory=128Gi,nvidia.com/gpu=4"]).start()
        self.addCleanup(self.server.close)
        self.server.run("muster", "apply", "-f", "-", stdin=muster_server.queues())

    def submit(self, script, *options, env=None):
        """The job's number. The script is of bash."""
        out = self.server.run("sbatch", "--parsable", "-o", "%j.out", *options, stdin="#!/bin/bash\n" + script + "\n", env=env)
        return int(out.strip().split(";")[0])

    def output(self, job):
        with open(os.path.join(self.server.dir, f"{job}.out"), encoding="utf-8") as file:
            return file.read()

    def ends(self, job, state="Succeeded"):
        seen = self.server.wait_state(job, "Succeeded", "Failed", "Cancelled")
        self.assertEqual(seen["state"], state, seen)
        return self.output(job)

    def test_the_submitters_umask_limits_and_functions(self):
        words = "ulimit -Sn 321; ulimit -Sc 0; umask 027; hello() { echo \"hello $(( $1 + 1 )) \\$HOME\"; }; export -f hello; " \
                "exec sbatch --parsable -o %j.out world.sh"
        with open(os.path.join(self.server.dir, "world.sh"), "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\nulimit -Sn; umask; hello 1; nproc; hostname; echo $HOSTNAME; echo $TMPDIR; basename $0\n")
        job = int(self.server.run("bash", "-c", words, env={"TMPDIR": ""}).strip().split(";")[0])
        lines = self.ends(job).splitlines()
        self.assertEqual(lines[:4], ["321", "0027", "hello 2 $HOME", "1"])
        self.assertEqual(lines[7:], ["slurm_script"])
        mode = os.stat(os.path.join(self.server.dir, f"{job}.out")).st_mode & 0o777
        self.assertEqual(mode, 0o640)

    def test_hosts_of_two_nodes_resolve_and_listen_at_one_port(self):
        script = ("hosts=$(scontrol show hostnames); for h in $hosts; do getent hosts $h > /dev/null && echo found; done\n"
                  "python3 - $hosts <<'END'\nimport socket, sys\nopen_ = []\nfor name in sys.argv[1:]:\n"
                  "    s = socket.socket(); s.bind((socket.gethostbyname(name), 39123)); s.listen(); open_.append(s)\n"
                  "print('listening', len(open_))\nEND\n"
                  "[ \"$(hostname)\" = \"$(scontrol show hostnames | head -1)\" ] && echo first\n")
        self.assertEqual(self.ends(self.submit(script, "-N", "2")).splitlines(), ["found", "found", "listening 2", "first"])

    def test_gpus_by_index(self):
        first = self.submit("echo $CUDA_VISIBLE_DEVICES; " + self.server.gate("gpu"), "--gres=gpu:2")
        self.server.wait(lambda: os.path.exists(os.path.join(self.server.dir, f"{first}.out")) and self.output(first), what="output")
        self.assertEqual(self.ends(self.submit("echo $CUDA_VISIBLE_DEVICES", "--gres=gpu:2")), "2,3\n")
        self.server.open_gate("gpu")
        self.assertEqual(self.ends(first), "0,1\n")

    def test_a_dying_job_says_why(self):
        late = self.submit("echo began; sleep 600", "-t", "0:08")
        cancelled = self.submit("echo began; sleep 600")
        for job in (late, cancelled):
            self.server.wait(lambda job=job: os.path.exists(os.path.join(self.server.dir, f"{job}.out")) and self.output(job), what="output")
        # The limit comes while no daemon is there, or soon after the next one is.
        self.server.kill()
        self.server.start()
        self.server.run("scancel", str(cancelled))
        line = r"\Abegan\nslurmstepd: error: \*\*\* JOB {} ON east CANCELLED AT \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d{} \*\*\*\n"
        self.server.wait_state(cancelled, "Cancelled")
        self.assertRegex(self.output(cancelled), re.compile(line.format(cancelled, "")))
        self.assertRegex(self.ends(late, "Failed"), re.compile(line.format(late, " DUE TO TIME LIMIT")))

    def test_a_warning_comes_before_the_limit(self):
        job = self.submit("trap 'echo warned; exit 7' USR1; echo began; while :; do sleep 0.1; done", "-t", "1", "--signal=B:USR1@45")
        self.assertEqual(self.ends(job, "Failed"), "began\nwarned\n")


if __name__ == "__main__":
    unittest.main()
