"""Steps and measured use from a script's own steps.jsonl to REST: written by hand, so that neither srun nor its agent is in the path;
and signals and lines from REST to the script."""
import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from muster_server import Server, queues, shell_job, sql  # noqa: E402

SECOND = 1_000_000


def step(number, state="RUNNING", **more):
    """A line of steps.jsonl."""
    now = int(time.time() * SECOND)
    line = {"step": number, "name": "hostname", "nodes": "east", "nodeCount": 1, "tasks": 2, "cpus": 2, "state": state, "startUs": now,
            "endUs": 0 if state == "RUNNING" else now, "exitCode": 0, "exitSignal": 0, "userCpuUs": 0, "systemCpuUs": 0, "maxRssBytes": 0,
            "readBytes": 0, "writtenBytes": 0, **more}
    return json.dumps(line)


def tell(*lines):
    """Shell words that append these lines."""
    return "\n".join(f"cat >> \"$MUSTER_STEPS_DIR/steps.jsonl\" <<'END'\n{line}\nEND" for line in lines)


def script_job(name, script, **spec):
    """A Job whose pod is one of a batch script."""
    job = shell_job(name, script, **spec)
    job["spec"]["template"]["metadata"] = {"annotations": {"muster.io/batch": "true"}}
    return job


class StepsApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--local-cluster", "east,cpu=32,memory=64Gi"]).start()
        cls.addClassCleanup(cls.server.close)
        cls.server.run("muster", "apply", "-f", "-", stdin=queues())

    def submit(self, name, script, **spec):
        job = script_job(name, script, **spec)
        job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "default"}
        status, body = self.server.call("POST", "/v1/namespaces/default/jobs", job)
        self.assertEqual(status, 201, body)
        return body["id"]

    def steps(self, *ids):
        return self.server.get_when_ready("/v1/steps?" + "&".join(f"job={one}" for one in ids))["items"]

    def wait_steps(self, job, states):
        self.server.wait(lambda: [one["state"] for one in self.steps(job)] == states, what=f"steps {states}, are {self.steps(job)}")
        return self.steps(job)

    def test_steps_come_and_change_and_end(self):
        lines = [step(0), step(0, "COMPLETED", userCpuUs=1500, maxRssBytes=4096), step(1, name="train", tasks=4)]
        job = self.submit("change", "\n".join([tell(*lines), self.server.gate("change"), tell(step(1, "FAILED", exitCode=3))]))
        first = self.wait_steps(job, ["COMPLETED", "RUNNING"])
        self.assertEqual((first[0]["attempt"], first[0]["step"], first[0]["name"], first[0]["nodes"]), (1, 0, "hostname", "east"))
        self.assertEqual(first[0]["use"], {"userCpuUs": 1500, "systemCpuUs": 0, "maxRssBytes": 4096, "readBytes": 0, "writtenBytes": 0})
        self.assertEqual((first[1]["name"], first[1]["tasks"], first[1]["endTime"]), ("train", 4, None))
        self.server.open_gate("change")
        self.server.wait_state(job, "Succeeded")
        ended = self.wait_steps(job, ["COMPLETED", "FAILED"])
        self.assertEqual(ended[1]["exitCode"], 3)
        self.assertEqual(self.server.get_when_ready(f"/v1/jobs/{job}/steps")["items"], ended)
        self.assertEqual(self.steps(job, 9999), ended)

    def test_open_steps_end_with_their_job(self):
        job = self.submit("open", tell(step(0), step(1)) + "\nsleep 300")
        self.wait_steps(job, ["RUNNING", "RUNNING"])
        self.assertEqual(self.server.call("DELETE", f"/v1/jobs/{job}")[0], 202)
        self.server.wait_state(job, "Cancelled")
        for one in self.wait_steps(job, ["CANCELLED", "CANCELLED"]):
            self.assertIsNotNone(one["endTime"])

    def test_a_daemon_killed_among_steps_loses_none(self):
        """Steps begin and end all the time while the daemon is killed three times."""
        count = 300
        script = "\n".join([
            f"i=0; while [ $i -lt {count} ]; do",
            "n=$(date +%s)000000",
            "printf '{\"step\":%d,\"name\":\"s\",\"nodes\":\"east\",\"nodeCount\":1,\"tasks\":1,\"cpus\":1,\"state\":\"RUNNING\",\"startUs\":%s}\\n' $i $n"
            " >> \"$MUSTER_STEPS_DIR/steps.jsonl\"",
            "sleep 0.02",
            "printf '{\"step\":%d,\"name\":\"s\",\"nodes\":\"east\",\"nodeCount\":1,\"tasks\":1,\"cpus\":1,\"state\":\"COMPLETED\",\"startUs\":%s,"
            "\"endUs\":%s,\"exitCode\":0,\"userCpuUs\":%d}\\n' $i $n $n $i >> \"$MUSTER_STEPS_DIR/steps.jsonl\"",
            "i=$((i+1)); done"])
        job = self.submit("killed", script)
        for told in (20, 100, 180):
            self.server.wait(lambda: len(self.steps(job)) >= told, what=f"{told} steps")  # pylint: disable=cell-var-from-loop
            self.server.kill()
            self.server.start()
        self.server.wait_state(job, "Succeeded")
        self.wait_steps(job, ["COMPLETED"] * count)
        self.assertEqual([one["use"]["userCpuUs"] for one in self.steps(job)], list(range(count)))
        rows = sql(self.server, f"select count(*), count(distinct step) from steps where job_id = {job}")
        self.assertEqual(rows, [[str(count), str(count)]])
        print(f"steps: {count} told while the daemon was killed 3 times, {count - len(self.steps(job))} lost")

    def test_what_the_user_writes_harms_nobody(self):
        """Lines that are no steps, texts that no database takes, numbers out of range; what is sound among them counts."""
        odd = ["no json", "[]", "{}", step(-1), step(40_000), step(10 ** 12), step(1, state="HUGO"), step(2, name="a\u0000b"),
               step(3, startUs=-5, endUs=2 ** 63 - 1, tasks=0, exitSignal=4711)]
        job = self.submit("odd", "\n".join([tell(*odd), "head -c 300000 /dev/zero | tr '\\0' x >> \"$MUSTER_STEPS_DIR/steps.jsonl\"",
                                            "echo >> \"$MUSTER_STEPS_DIR/steps.jsonl\"", tell(step(5, "COMPLETED"))]))
        self.server.wait_state(job, "Succeeded")
        self.server.wait(lambda: any(one["step"] == 5 for one in self.steps(job)), what="the sound step")
        self.assertTrue(all(0 <= one["step"] < 40_000 for one in self.steps(job)))
        self.assertEqual(self.server.get("/readyz")[0], 200)

    def test_use_is_accounted(self):
        job = self.submit("use", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
        self.server.wait_state(job, "Succeeded")
        attempt = self.server.get_when_ready(f"/v1/accounting?ids={job}")["items"][0]["attempts"][0]
        self.assertGreater(attempt["use"]["userCpuUs"], 10_000, attempt)
        self.assertGreater(attempt["use"]["maxRssBytes"], 100_000, attempt)

    def test_signals_and_lines_reach_the_script(self):
        job = self.submit("signal", "trap 'echo got usr1; exit 7' USR1\necho ready\nwhile :; do sleep 0.1; done")
        self.server.wait_state(job, "Running")
        self.server.wait(lambda: "ready" in str(self.server.get(f"/v1/jobs/{job}/logs")[1]), what="the script is ready")
        self.assertEqual(self.server.call("POST", f"/v1/jobs/{job}:notify", {"message": "hurry up"})[0], 200)
        self.assertEqual(self.server.call("POST", f"/v1/jobs/{job}:signal", {"signal": "USR1", "target": "batch"})[0], 200)
        self.assertEqual(self.server.wait_state(job, "Failed")["exitCode"], 7)
        log = str(self.server.get(f"/v1/jobs/{job}/logs")[1])
        self.assertIn("got usr1", log)
        self.assertIn("hurry up", log)
        status, body = self.server.call("POST", f"/v1/jobs/{job}:signal", {"signal": "USR1"})
        self.assertEqual((status, body["detail"]), (409, f"job {job} has ended (Failed)"))
        rows = [row for row in self.server.get_when_ready("/v1/audit?object=job/default/signal")["items"] if row["verb"] in ("signal", "notify")]
        self.assertEqual([(row["verb"], row["detail"]) for row in rows if row["result"] == "allowed"],
                         [("notify", "hurry up"), ("signal", "USR1 to its batch shell")])


if __name__ == "__main__":
    unittest.main()
