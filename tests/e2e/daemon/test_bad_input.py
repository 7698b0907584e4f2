"""Bad input gets one clear sentence, loses nothing, changes nothing, and the daemon lives."""
import concurrent.futures
import copy
import os
import unittest

from muster_server import QUEUES, Server, shell_job


def with_field(job, path, value):
    job = copy.deepcopy(job)
    at = job
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return job


GOOD = shell_job("good", "true")
CONTAINER = ["spec", "template", "spec", "containers", 0]


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def refused(self, body, status, *words, content_type="application/json", path="/v1/namespaces/default/jobs"):
        before = len(self.server.jobs())
        got, problem = self.server.call("POST", path, body, content_type)
        self.assertEqual(got, status, problem)
        text = str(problem)
        for word in words:
            self.assertIn(word, text)
        for leak in ("SELECT", "INSERT", "pqxx", "std::", "/work"):
            self.assertNotIn(leak, text)
        self.assertEqual(len(self.server.jobs()), before)
        return problem

    def test_documents_that_do_not_parse(self):
        self.refused("{", 400)
        self.refused('{"a":1,"a":2}', 400, "a")
        self.refused("a: b: c", 400, content_type="application/yaml")
        self.refused("[" * 100_000, 400)
        self.refused("a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98+i)}: &{chr(98+i)} [{','.join(['*'+chr(97+i)]*9)}]\n" for i in range(9)),
                     400, content_type="application/yaml")

    @staticmethod
    def bound(megabytes):
        """Sanitizers keep memory that was freed: no bound with one."""
        return float("inf") if os.environ.get("MUSTER_SANITIZE") else megabytes

    def peak_while(self, work):
        """How many MB the daemon's memory was at most above what it had before."""
        proc = f"/proc/{self.server.process.pid}"

        def status(name):
            with open(f"{proc}/status", encoding="utf-8") as file:
                return next(int(line.split()[1]) for line in file if line.startswith(name + ":")) // 1024
        with open(f"{proc}/clear_refs", "w", encoding="utf-8") as file:
            file.write("5")  # the peak is counted anew
        before = status("VmRSS")
        work()
        return status("VmHWM") - before

    def test_documents_that_grow_in_memory_are_refused_by_the_limits_name(self):
        rows = ["a: &a [1,1,1,1,1,1,1,1,1,1]"] + [f"{b}: &{b} [{','.join(['*' + a] * 10)}]" for a, b in zip("abcd", "bcde")]
        anchors = ("---\n" + "\n".join(rows) + "\n") * 1000
        wide = "[" + ",".join(["[0]"] * 2_000_000) + "]"
        for body, content_type in ((anchors, "application/yaml"), (wide, "application/json")):
            grown = self.peak_while(lambda body=body, content_type=content_type: self.refused(
                body, 400, "more than 500000 values in one request", content_type=content_type, path="/v1/apply"))
            self.assertLessEqual(grown, self.bound(64))

        def eight_at_once():
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda _: self.server.call("POST", "/v1/apply", wide)[0], range(8)))
            self.assertLessEqual(set(answers), {400, 429})
        self.assertLessEqual(self.peak_while(eight_at_once), self.bound(256))

    def test_a_body_of_ten_megabytes(self):
        status, _ = self.server.call("POST", "/v1/namespaces/default/jobs", "x" * 10_000_000)
        self.assertIn(status, (0, 413))
        self.assertEqual(self.server.get("/livez")[0], 200)

    def test_unknown_kind_and_missing_queue(self):
        self.refused({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}, 400, "Deployment")
        nowhere = with_field(GOOD, ["metadata", "labels"], {"kueue.x-k8s.io/queue-name": "nowhere"})
        self.refused(nowhere, 400, "nowhere")

    def test_amounts_and_counts(self):
        for value in ("-1", "99999999999999999999", "1x", ""):
            self.refused(with_field(GOOD, CONTAINER + ["resources", "requests", "cpu"], value), 400, "spec.template.spec.containers[0].resources.requests")
        for value in (-1, 10**12):
            self.refused(with_field(GOOD, ["spec", "parallelism"], value), 400, "spec.parallelism")

    def test_a_resource_no_flavor_covers_waits_with_its_reason(self):
        status, job = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("uncovered", "true", requests={"example.com/fpga": "1"}))
        self.assertEqual(status, 201)
        reason = "resource example.com/fpga unavailable in ClusterQueue"
        self.server.wait(lambda: reason in self.server.job(job["id"])["message"], what=reason)

    def test_names(self):
        for name in ("a/b", "a\nb", "A", "-a", "x" * 300):
            self.refused(with_field(GOOD, ["metadata", "name"], name), 400, "metadata.name")
        self.refused(with_field(GOOD, ["metadata", "name"], "a\0b"), 400, "NUL")

    def test_a_duplicate_name_is_a_conflict(self):
        self.assertEqual(self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("twin", "true"))[0], 201)
        self.refused(shell_job("twin", "true"), 409, "twin")

    def test_a_file_with_one_bad_document_changes_nothing(self):
        text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: never}\n---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: q}\nspec: {clusterqueue: x}\n"
        result = self.server.run("muster", "apply", "-f", "-", stdin=text, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("clusterqueue", result.stderr)
        self.assertEqual(self.server.get("/api/v1/namespaces/never")[0], 404)

    def test_a_command_that_is_not_there_is_named(self):
        for words, named in ((["cancel", "2"], "cancel"), (["cluster", "frobnicate"], "cluster frobnicate"), (["-n", "a", "frobnicate"], "frobnicate")):
            done = self.server.run("muster", *words, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(f'there is no command "{named}"', done.stderr)
        self.assertIn("subcommand is required", self.server.run("muster", check=False).stderr.lower())

    def test_scripts(self):
        result = self.server.run("sbatch", stdin="echo no shebang\n", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("sbatch: error:", result.stderr)
        self.refused({"script": "echo no shebang\n"}, 400, "script")

    def test_sbatch_says_what_slurm_says(self):
        for words, exit_code, sentence in (
                (["-p", "nope", "--wrap", "true"], 1, "invalid partition specified: nope"),
                (["-p", "nope", "--wrap", "true"], 1, "Batch job submission failed: Invalid partition name specified"),
                (["-A", "nope", "--wrap", "true"], 1, "Invalid account or account/partition combination specified"),
                (["-q", "nope", "--wrap", "true"], 1, "Invalid qos specification"),
                (["--frobnicate"], 255, "unrecognized option '--frobnicate'"),
                (["nofile.sh"], 1, "Unable to open file nofile.sh"),
                (["--mem=1G", "--mem-per-cpu=1G", "--wrap", "true"], 1, "mutually exclusive"),
                (["-d", "afterok:99999999", "--wrap", "true"], 1, "Batch job submission failed: Job dependency problem")):
            result = self.server.run("sbatch", *words, check=False)
            self.assertEqual(result.returncode, exit_code, result.stderr)
            self.assertIn(sentence, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_a_client_that_goes_away_at_any_byte(self):
        import json
        import socket
        body = json.dumps(shell_job("half", "true")).encode()
        request = b"POST /v1/namespaces/default/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        for cut in range(1, len(request), 7):
            with socket.create_connection(("127.0.0.1", self.server.port)) as s:
                s.sendall(request[:cut])
        self.assertEqual(self.server.get("/livez")[0], 200)
        self.assertEqual([j for j in self.server.jobs() if j["name"] == "half"], [])

    def test_a_hundred_megabyte_log_and_a_fork_bomb_are_bounded(self):
        _, loud = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("loud", "head -c 104857600 /dev/zero | tr '\\0' x; echo the end"))
        ended = self.server.wait_state(loud["id"], "Succeeded", "Failed")
        self.assertEqual(ended["state"], "Succeeded")
        size = sum(os.path.getsize(os.path.join(root, f)) for root, _, files in os.walk(os.path.join(self.server.dir, "members")) for f in files)
        self.assertLess(size, 90 << 20)
        _, bomb = self.server.call("POST", "/v1/namespaces/default/jobs", shell_job("bomb", "bomb() { bomb | bomb & }; bomb; sleep 2", activeDeadlineSeconds=5))
        self.server.wait_state(bomb["id"], "Succeeded", "Failed")
        self.assertEqual(self.server.get("/livez")[0], 200)


if __name__ == "__main__":
    unittest.main()
