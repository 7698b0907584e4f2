"""muster simulate on this machine, and the same question asked of a server."""
import json
import tempfile
import unittest

from muster_server import QUEUES, Server, example

FIGURES = ("team-a", "a100", "nvidia.com/gpu")


class Locally(unittest.TestCase):
    """No server: what answers is the command itself."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()  # never started
        cls.queues = example("simulate", "queues.yaml")
        cls.jobs = example("simulate", "jobs.yaml")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def simulate(self, *words, **kwargs):
        return self.server.run("muster", "simulate", *words, **kwargs)

    def summary(self, *words):
        return json.loads(self.simulate(*words, "--summary-only", "-o", "json"))["summary"]

    def test_one_line_a_decision_and_a_summary(self):
        shown = self.simulate(self.queues, self.jobs)
        lines = [line.split() for line in shown.splitlines()]
        self.assertIn(["1800s", "Preempted", "team-a/train-2", "(2)", "team-a", "for", "team-b/serve", "(3):",
                       "InCohortReclamation"], lines)
        self.assertIn(["makespan", "14400s"], lines)
        self.assertIn("team-a/huge (6)", shown)
        self.assertIn("maximum capacity (16)", shown)
        self.assertEqual(shown, self.simulate(self.queues, self.jobs), "equal files, equal runs")

    def test_figures_as_json(self):
        summary = self.summary(self.queues, self.jobs)
        self.assertEqual(summary["makespan"], 14400)
        self.assertEqual(summary["preemptions"], 3)
        self.assertEqual(summary["lostRunTime"], 4500)
        self.assertEqual(summary["jobs"]["waiting"], 1)
        use = {(one["clusterQueue"], one["flavor"], one["resource"]): one["percent"] for one in summary["use"]}
        self.assertEqual(use[FIGURES], 130.2)

    def test_what_if_side_by_side(self):
        edit = "clusterqueue/team-a:a100/nvidia.com/gpu=+8"
        both = json.loads(self.simulate(self.queues, self.jobs, "--set", edit, "--compare", "-o", "json"))
        self.assertEqual(both["asIs"], self.summary(self.queues, self.jobs))
        self.assertEqual(both["summary"], self.summary(self.queues, self.jobs, "--set", edit))
        self.assertEqual(both["summary"]["jobs"]["finished"], 6)
        table = [line.split() for line in self.simulate(self.queues, self.jobs, "--set", edit, "--compare").splitlines()]
        self.assertIn(["finished", "5", "6"], table)

    def test_a_trace(self):
        result = self.simulate(self.queues, "--swf", example("simulate", "trace.swf"), "--swf-resource", "nvidia.com/gpu",
                               "--swf-queue-by", "queue", "--swf-map", "1=team-a/main", "--swf-map", "2=team-b/main",
                               "-o", "json", check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("8 jobs of the trace taken; left out: 1 that never ran, 1 without processors", result.stderr)
        answer = json.loads(result.stdout)
        self.assertEqual(answer["summary"]["jobs"]["timedOut"], 1)
        self.assertEqual(answer["summary"]["makespan"], 9300)
        ended = [one["job"] for one in answer["decisions"] if one["decision"] == "TimedOut"]
        self.assertEqual(ended, ["team-b/swf-5"], "its run time is longer than it asked for")

    def test_settings_of_the_daemon_count(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("rest: 127.0.0.1:1\nadmission:\n  fairSharing: {}\n")
            file.flush()
            self.assertEqual(self.summary(self.queues, self.jobs, "--settings", file.name)["end"], "Idle")
            file.seek(0)
            file.truncate()
            file.write("admission: {nonsense: 1}\n")
            file.flush()
            refused = self.simulate(self.queues, self.jobs, "--settings", file.name, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("nonsense", refused.stderr)

    def test_what_is_wrong_is_said(self):
        for status, words, why in (
                (2, [self.queues, "--compare"], "--compare needs --set"),
                (2, [self.queues, self.jobs, "--until", "soon"], "--until must be a duration"),
                (2, [self.queues, self.jobs, "-o", "table"], "-o is text, json or yaml"),
                (2, [self.queues, "--swf-queue", "a/b"], "need --swf TRACE"),
                (1, [self.queues], "there is no job"),
                (1, [self.queues, self.jobs, "--set", "clusterqueue/none:a/b=1"], "\"none\" does not exist"),
                (1, [example("teams", "queues.yaml"), example("teams", "gang.yaml")], "muster.io/run-time")):
            result = self.simulate(*words, check=False)
            self.assertEqual(result.returncode, status, words)
            self.assertIn(why, result.stderr)


class OfAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def test_its_own_queues_answer_and_nothing_changes(self):
        job = {"apiVersion": "batch/v1", "kind": "Job",
               "metadata": {"name": "what-if", "annotations": {"muster.io/run-time": "1h"}},
               "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
                   {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}}}}
        status, answer = self.server.call("POST", "/v1/simulate", {"current": True, "documents": [job]})
        self.assertEqual(status, 200, answer)
        self.assertEqual([one["decision"] for one in answer["decisions"]], ["Admitted", "Finished"])
        self.assertEqual(answer["summary"]["makespan"], 3600)
        self.assertEqual(self.server.jobs(), [], "a simulated job is no job")
        status, problem = self.server.call("POST", "/v1/simulate", {"documents": [job]})
        self.assertEqual(status, 400, "without the server's objects there is no queue")
        self.assertIn("LocalQueue", json.dumps(problem))


if __name__ == "__main__":
    unittest.main()
