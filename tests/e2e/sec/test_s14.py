"""S14: what a user writes (script, environment, names, arguments) arrives byte by byte and is never a command of the daemon's."""
import json
import os
import unittest

from muster_server import QUEUES, Server, shell_job
from people import ENDED

# Every character that some shell, format or terminal gives a meaning, and beyond ASCII.
VALUES = ["$(touch {0})", "`touch {0}`", "; touch {0};", "| touch {0}", "&& touch {0}", "\ntouch {0}\n", "$HOME ${{PATH}} $$(X)", "'; touch {0}; '",
          "\"; touch {0}; \"", "\\\\\\n\\x41\\0", "%n%s%x{{}}", "../../../{0}", "-rf", "--help", "*?[a-z]~!#", "\t \r\n\x0b\x7f", "\u202e\u00e4\U0001f600",
          "a=b=c", "<script>", "' or 1=1; drop table jobs; --", "{{\"a\":1}}", " ", "=", "\x1b[31m"]


class S14(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--local-cluster", "east,cpu=32,memory=128Gi"]).start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        cls.planted = os.path.join(cls.server.dir, "planted")
        cls.values = [value.format(cls.planted) for value in VALUES]

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def end_of(self, job):
        ended = self.server.wait_state(job["id"], *ENDED)
        _, log = self.server.get(f"/v1/jobs/{job['id']}/logs")
        return ended, log

    def told(self, log):
        """What the container's program saw of its arguments and environment."""
        return json.loads(log if isinstance(log, str) else json.dumps(log))

    def test_arguments_and_environment_arrive_byte_by_byte(self):
        # $(NAME) is a reference in Kubernetes, and $$ stands for $ there.
        escaped = [value.replace("$", "$$") for value in self.values]
        job = shell_job("values", "", requests={"cpu": "10m"})
        job["spec"]["template"]["spec"]["containers"][0].update({
            "command": ["python3", "-c", "import json, os, sys; print(json.dumps([sys.argv[1:], "
                        "[os.environ[f'V{i}'] for i in range(len(sys.argv) - 1)]]))", *escaped],
            "env": [{"name": f"V{i}", "value": value} for i, value in enumerate(escaped)]})
        status, submitted = self.server.call("POST", "/v1/namespaces/default/jobs", job)
        self.assertEqual(status, 201, submitted)
        ended, log = self.end_of(submitted)
        self.assertEqual(ended["state"], "Succeeded", log)
        self.assertEqual(self.told(log), [self.values, self.values])
        self.assertFalse(os.path.exists(self.planted))
        type(self).arrived = 2 * len(self.values)

    def test_scripts_their_names_and_their_environment_arrive_byte_by_byte(self):
        script = ("#!/usr/bin/python3\nimport json, os\n# $(touch %s) `touch %s`\n"
                  "print(json.dumps([os.environ['SLURM_JOB_NAME'], os.environ['VALUE']]))\n" % (self.planted, self.planted))
        arrived = 0
        for name in self.values:
            # A job's name is one line of text (rule B6); what is not is refused, not changed.
            status, submitted = self.server.call("POST", "/v1/namespaces/default/jobs", {
                "script": script, "name": name, "environment": {"VALUE": name}, "workDir": self.server.dir})
            if status != 201:
                self.assertEqual(status, 400, submitted)
                continue
            ended, log = self.end_of(submitted)
            self.assertEqual(ended["state"], "Succeeded", log)
            self.assertEqual(self.told(log), [name, name])
            arrived += 2
        self.assertFalse(os.path.exists(self.planted))
        print(f"S14: {getattr(self, 'arrived', 0) + arrived} values arrived byte by byte, 0 were evaluated")

    def test_a_nul_is_refused(self):
        job = shell_job("nul", "true", requests={"cpu": "10m"})
        job["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "a\0b"}]
        status, answer = self.server.call("POST", "/v1/namespaces/default/jobs", job)
        if status == 201:
            # What cannot be a variable must not be cut silently.
            self.assertEqual(self.end_of(answer)[0]["state"], "Failed")
        else:
            self.assertEqual(status, 400, answer)


if __name__ == "__main__":
    unittest.main()
