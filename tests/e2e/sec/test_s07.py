"""S07: a job of others cannot be told from one that does not exist, neither by the answer nor by its time."""
import statistics
import time
import unittest
import uuid

from teams import OTHER, OWN, Teams

ROUNDS = 60
WAYS = [("GET", ""), ("GET", "/explain"), ("GET", "/events"), ("GET", "/pods"), ("GET", "/member-events"), ("GET", "/logs"),
        ("DELETE", ""), ("POST", ":hold"), ("POST", ":release"), ("POST", ":requeue")]


class ForeignJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.teams = Teams()
        cls.foreign = cls.teams.job(OTHER, "team-b")

    @classmethod
    def tearDownClass(cls):
        cls.teams.close()

    def pairs(self):
        """A foreign id and a missing one of the same form and length."""
        number = str(self.foreign["id"])
        return [(number, "9" * len(number)), (self.foreign["uid"], str(uuid.uuid4())),
                ("team-b%2F" + self.foreign["name"], "team-b%2F" + "x" * len(self.foreign["name"]))]

    def test_answers_are_equal(self):
        compared = apart = 0
        for foreign, missing in self.pairs():
            for method, tail in WAYS:
                answers = []
                for name in (foreign, missing):
                    status, told = self.teams.ask(OWN, method, f"/v1/jobs/{name}{tail}")
                    answers.append((status, str(told).replace(name.replace("%2F", "/"), "ID")))
                compared += 1
                apart += answers[0] != answers[1]
                self.assertEqual(answers[0], answers[1], (method, tail, foreign))
                self.assertEqual(answers[0][0], 404)
        print(f"\nS07: {compared} pairs of answers compared, {apart} told apart")

    def test_times_are_shown(self):
        for foreign, missing in self.pairs():
            spent = {foreign: [], missing: []}
            for _ in range(ROUNDS):
                for name, times in spent.items():  # in turns, so that the machine's load falls on both
                    begin = time.perf_counter()
                    self.teams.ask(OWN, "GET", f"/v1/jobs/{name}")
                    times.append(time.perf_counter() - begin)
            of_foreign, of_missing = (statistics.median(spent[name]) for name in (foreign, missing))
            print(f"\nS07: median {of_foreign * 1000:.2f} ms for a foreign id, {of_missing * 1000:.2f} ms for a missing one, "
                  f"{abs(of_foreign / of_missing - 1) * 100:.0f} % apart")


if __name__ == "__main__":
    unittest.main()
