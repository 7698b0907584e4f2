"""The daemon is killed in the midst of a chain of dependencies, and while steps run: nothing is lost, and nothing runs twice.

test_arrays has the same for an array, test_steps_api for steps that begin and end all the time."""
import collections
import os
import subprocess
import time
import unittest

import slurm_site

# Each job depends on the one before it. MUSTER_CHAIN: its length; 1,000 take minutes on two cores.
CHAIN = int(os.environ.get("MUSTER_CHAIN", "150"))


class Recovery(unittest.TestCase):
    def setUp(self):
        self.muster = slurm_site.Muster()
        self.addCleanup(self.muster.close)
        self.muster.start()

    def sacct(self, job, fields):
        return subprocess.run(["sacct", "-n", "-P", "-j", job, "-o", fields], env=self.muster.environment(), capture_output=True, text=True, check=True).stdout.splitlines()

    def lines(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def test_a_chain_of_dependencies(self):
        marks = os.path.join(self.muster.dir, "marks")
        ids = []
        for link in range(CHAIN):
            body = {"script": f"#!/bin/sh\necho {link} >> {marks}\n", "name": f"link-{link}", "queue": "main", "workDir": "/tmp", "output": "/dev/null"}
            if ids:
                body["dependency"] = f"afterok:{ids[-1]}"
            else:
                body["hold"] = True
            status, job = self.muster.call("POST", "/v1/namespaces/default/jobs", body)
            self.assertLess(status, 300, job)
            ids.append(job["id"])
        self.assertEqual(self.muster.call("POST", f"/v1/jobs/{ids[0]}:release")[0] // 100, 2)
        began = time.monotonic()
        for enough in (CHAIN // 5, CHAIN // 2, CHAIN * 4 // 5):
            self.muster.wait(lambda: len(self.lines(marks)) >= enough, timeout=600, what="links run")
            self.muster.kill()
            self.muster.start()
        self.muster.wait(lambda: self.muster.job(ids[-1])["state"] == "Succeeded", timeout=600, what="the last link succeeds")
        print(f"\n{CHAIN} links, three kill -9: {time.monotonic() - began:.1f} s")
        self.assertEqual(self.lines(marks), [str(link) for link in range(CHAIN)], "each link ran once, after the one before it")
        states = collections.Counter(self.muster.job(one)["state"] for one in ids)
        self.assertEqual(states, {"Succeeded": CHAIN})
        self.assertEqual({self.muster.job(one)["attempt"] for one in ids}, {1})

    def test_steps_go_on_without_a_daemon(self):
        place = self.muster.dir
        script = f"""#!/bin/bash
srun sh -c 'echo long begins >> {place}/marks; until [ -e {place}/go-on ]; do sleep 0.1; done; echo long ends >> {place}/marks'
srun sh -c 'echo alone $SLURM_STEP_ID >> {place}/marks'
srun sh -c 'exit 3'
echo script ends >> {place}/marks
"""
        done = subprocess.run(["sbatch", "--parsable", "-N2", "-o", f"{place}/out", "-D", "/tmp"], input=script, env=self.muster.environment(), capture_output=True, text=True, check=True)
        job = done.stdout.strip()
        self.muster.wait(lambda: len(self.lines(f"{place}/marks")) == 2, what="the first step runs on both nodes")
        self.muster.kill()
        with open(f"{place}/go-on", "w", encoding="utf-8"):
            pass
        # No daemon is there: the step ends, others begin and end, and so does the script.
        for _ in range(600):
            if "script ends" in self.lines(f"{place}/marks"):
                break
            time.sleep(0.1)
        self.muster.start()
        self.muster.wait_state(job, "Succeeded")
        self.assertEqual(self.lines(f"{place}/marks"), ["long begins"] * 2 + ["long ends"] * 2 + ["alone 1"] * 2 + ["script ends"])
        want = [f"{job}|COMPLETED|0:0|2", f"{job}.batch|COMPLETED|0:0|1", f"{job}.0|COMPLETED|0:0|2", f"{job}.1|COMPLETED|0:0|2", f"{job}.2|FAILED|3:0|2"]
        self.assertEqual(self.sacct(job, "jobid,state,exitcode,nnodes"), want)


if __name__ == "__main__":
    unittest.main()
