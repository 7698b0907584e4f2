"""Job arrays with a real daemon: the cost of a large one, and a small one through two kill -9."""
import collections
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "tests", "e2e", "daemon"))
from muster_server import Server, queues, sql  # noqa: E402

LARGE = 100_000
TASKS = 200
AT_ONCE = 20


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


class Arrays(unittest.TestCase):
    def setUp(self):
        self.server = Server(["--local-cluster", "east,cpu=64,memory=64Gi"]).start()
        self.server.run("muster", "apply", "-f", "-", stdin=queues(cpu="64", memory="64Gi", gpu="0"))

    def tearDown(self):
        self.server.close()

    def submit(self, script, **fields):
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs",
                                       {"script": "#!/bin/sh\n" + script, "queue": "default", "workDir": self.server.dir, **fields})
        self.assertEqual(status, 201, job)
        return job

    def records(self, array):
        return self.server.get_when_ready(f"/v1/jobs?limit=1000&array={array}")["items"]

    def test_a_large_array_costs_what_a_job_costs(self):
        self.submit("true", array="0-9", hold=True)  # warm: prepared statements, first allocations
        before = resident_kb(self.server.process.pid)
        times = []
        for _ in range(5):
            began = time.monotonic()
            job = self.submit("true", array=f"0-{LARGE - 1}", hold=True)
            times.append((time.monotonic() - began) * 1000)
        grown = resident_kb(self.server.process.pid) - before
        print(f"\narray of {LARGE}: accepted in {min(times):.1f} to {max(times):.1f} ms; five of them: {grown} kB more resident")
        self.assertLessEqual(grown / len(times), 1024)
        self.assertEqual(len(self.records(job["id"])), 1)
        self.assertEqual(sql(self.server, "select count(*) from jobs"), [[str(1 + len(times))]])
        # Its waiting tasks are found, held, and cancelled without becoming records each.
        self.assertEqual(self.server.job(f"{job['id']}_99999")["id"], job["id"])
        self.assertEqual(self.server.call("DELETE", f"/v1/jobs/{job['id']}_[5-50000]")[0], 202)
        self.assertEqual(sorted(one["state"] for one in self.records(job["id"])), ["Cancelled", "Held"])
        self.assertEqual(self.server.call("DELETE", f"/v1/jobs/{job['id']}")[0], 202)
        self.assertEqual(self.server.job(job["id"])["state"], "Cancelled")

    def test_each_index_runs_once_whatever_dies(self):
        marks = os.path.join(self.server.dir, "marks")
        job = self.submit(f"echo $SLURM_ARRAY_TASK_ID $SLURM_JOB_ID $SLURM_ARRAY_JOB_ID >> {marks}\ntrue\n", array=f"0-{TASKS - 1}%{AT_ONCE}")
        array = job["id"]

        def run_so_far():
            try:
                with open(marks, encoding="utf-8") as file:
                    return [tuple(int(word) for word in line.split()) for line in file]
            except FileNotFoundError:
                return []

        for enough in (TASKS // 4, TASKS // 2):
            self.server.wait(lambda: len(run_so_far()) >= enough, what="tasks run")
            self.server.kill()
            self.server.start()
        began = time.monotonic()

        def ended():
            records = self.records(array)
            held = sum(one["state"] in ("Admitted", "Running") for one in records)
            self.assertLessEqual(held, AT_ONCE)
            return records if len(records) == TASKS and all(one["state"] == "Succeeded" for one in records) else None

        records = self.server.wait(ended, what="all tasks succeed")
        print(f"\n{TASKS} tasks, {AT_ONCE} at once, two kill -9: the rest took {time.monotonic() - began:.1f} s")
        runs = run_so_far()
        self.assertEqual(sorted(index for index, _, _ in runs), list(range(TASKS)))
        self.assertEqual({of for _, _, of in runs}, {array})
        self.assertEqual(collections.Counter(one["batch"]["arrayTaskId"] for one in records), collections.Counter(range(TASKS)))
        ids = {index: job_id for index, job_id, _ in runs}
        self.assertEqual(ids, {one["batch"]["arrayTaskId"]: one["id"] for one in records})
        self.assertEqual(ids[TASKS - 1], array, "the last waiting task keeps the array's id")


if __name__ == "__main__":
    unittest.main()
