"""S02, further providers: zitadel's (Go, ES256) beside npm's, its logins and their renewal, and the mock of the Python package index.

One musterd trusts both under their own names, so that the users and groups of each have its prefix.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from muster_server import BIN, PATIENCE, QUEUES, Server
from providers import MockProvider, ZitadelProvider

# Whoever is in the group team-a of the provider "second", and nobody else, may see jobs.
BINDING = """
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: second-team-a, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kueue-batch-user-role}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "second:team-a"}]
"""
JOBS = "/v1/jobs?namespace=default"


def claims(token):
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


class FurtherProviders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.provider = ZitadelProvider().start("one")
        cls.addClassCleanup(cls.provider.stop)
        cls.mock = MockProvider()
        cls.addClassCleanup(cls.mock.stop)
        cls.dir = tempfile.mkdtemp(prefix="muster-s02-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        config = os.path.join(cls.dir, "musterd.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"loopback-peers": True, "oidc": [
                {"name": "second", "issuer": cls.provider.issuer, "audience": ["muster", "muster-cli"]},
                {"name": "mock", "issuer": cls.mock.issuer, "audience": "muster"}]}, file)
        cls.server = Server(["--config", config, "--local-cluster", "east,cpu=4"]).start()
        cls.addClassCleanup(cls.server.close)
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES + BINDING)

    def setUp(self):
        self.home = tempfile.mkdtemp(dir=self.dir)
        self.stored = os.path.join(self.home, ".cache", "muster", "login.json")
        # Another test may have given the provider a new key.
        self.assertEqual(self.status_soon(self.provider.token("alice"), 200), 200)

    def who(self, token):
        """(status, user, groups)."""
        status, body = self.server.call("GET", "/v1/whoami", headers={"Authorization": "Bearer " + token})
        return (status, body["user"], set(body["groups"])) if status == 200 else (status, None, body)

    def status_soon(self, token, wanted):
        """The status of a request with the token, once it is `wanted` or half a minute has passed: unknown keys are asked for every 10 s."""
        deadline = time.monotonic() + 30
        while (status := self.who(token)[0]) != wanted and time.monotonic() < deadline:
            time.sleep(0.5)
        return status

    # The provider's tokens.

    def test_the_second_providers_tokens_have_its_prefix(self):
        self.assertEqual(self.who(self.provider.token("alice")), (200, "second:alice", {"second:team-a", "second:staff", "system:authenticated"}))
        # system:masters of a provider with a prefix is a group like any other.
        status, user, groups = self.who(self.provider.token("bob"))
        self.assertEqual((status, user, groups), (200, "second:bob", {"second:team-b", "second:system:masters", "system:authenticated"}))
        for client, status in (("alice", 200), ("bob", 403)):
            answer = self.server.call("GET", JOBS, headers={"Authorization": "Bearer " + self.provider.token(client)})
            self.assertEqual(answer[0], status, (client, answer))

    def test_the_second_providers_bad_tokens_are_refused(self):
        good = self.provider.token("alice")
        head, body, signature = good.split(".")
        other = self.provider.token("alice", "other")
        self.assertEqual(claims(other)["aud"], ["other"])
        stranger = ZitadelProvider().start("one")
        self.addCleanup(stranger.stop)
        cases = [("another audience", other), ("a stranger's", stranger.token("alice")),
                 ("another's payload", ".".join([head, other.split(".")[1], signature])), ("without its signature", f"{head}.{body}."), ("the signature of another", f"{head}.{body}.{other.split('.')[2]}")]
        accepted = [sentence for sentence, token in cases if self.who(token)[0] != 401]
        print(f"S02: {len(cases)} bad tokens of a second provider, {len(accepted)} accepted")
        self.assertEqual(accepted, [])
        self.assertEqual(self.who(good)[0], 200)

    def test_the_second_providers_keys_rotate_while_it_runs_and_it_goes_away(self):
        first = self.provider.token("alice")
        self.provider.rotate("two", keep=True)
        second = self.provider.token("alice")
        self.assertEqual(self.status_soon(second, 200), 200, "a new key beside the old one")
        self.assertEqual(self.who(first)[0], 200, "both are published")
        self.provider.rotate("three", keep=False)
        third = self.provider.token("alice")
        self.assertEqual(self.status_soon(third, 200), 200)
        self.assertEqual([self.who(first)[0], self.who(second)[0]], [401, 401], "their keys are gone")
        self.provider.rotate("four", keep=False)
        unseen = self.provider.token("alice")
        self.provider.stop()
        try:
            self.assertEqual(self.who(third)[0], 200, "a known key counts without the provider")
            self.assertEqual(self.who(unseen)[0], 401, "no new key counts unseen")
        finally:
            self.provider.start("five")

    # Logins.

    def log_in(self, user, client="muster-cli"):
        """The login that is kept after somebody has agreed to it."""
        environment = dict(self.server.environment(), HOME=self.home)
        login = subprocess.Popen([f"{BIN}/muster", "login", "--issuer", self.provider.issuer, "--client-id", client],
                                 env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        prompt = login.stderr.readline()
        self.provider.agree(prompt.split()[1], user)
        out, err = login.communicate(timeout=PATIENCE)
        self.assertEqual(login.returncode, 0, prompt + err)
        self.assertIn("Logged in", out)
        return self.login()

    def login(self):
        self.assertEqual(os.stat(self.stored).st_mode & 0o777, 0o600)
        with open(self.stored, encoding="utf-8") as file:
            return json.load(file)

    def keep(self, login):
        with open(self.stored, "w", encoding="utf-8") as file:
            json.dump(login, file)

    def run_command(self, *words):
        return self.server.run(*words, check=False, env={"HOME": self.home})

    def test_an_expired_login_is_renewed_by_the_next_command_until_it_is_revoked(self):
        self.provider.set_lifetime(-90)  # further back than what the server forgives
        expired = self.log_in("alice")
        self.assertEqual(self.who(expired["bearer"])[0], 401, "it has really expired")
        self.provider.set_lifetime(300)
        shown = self.run_command(f"{BIN}/muster", "whoami", "-o", "json")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertEqual(json.loads(shown.stdout)["user"], "second:alice")
        renewed = self.login()
        self.assertEqual(self.who(renewed["bearer"])[:2], (200, "second:alice"))
        self.assertNotEqual(renewed["refresh_token"], expired["refresh_token"], "the provider gives a new one each time")
        # While the token lasts, nobody asks the provider.
        self.assertEqual(self.run_command(f"{BIN}/muster", "login", "--renew").returncode, 0)
        self.assertEqual(self.login(), renewed)
        # The Slurm-named commands have it renewed likewise. A refresh token counts once, and commands at the same time share it.
        self.keep({**renewed, "expires": 1})
        commands = [subprocess.Popen([f"{BIN}/slurm/squeue"], env=dict(self.server.environment(), HOME=self.home), stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True) for _ in range(6)]
        told = [(command.communicate(timeout=PATIENCE)[1], command.returncode) for command in commands]
        self.assertEqual(told, [("", 0)] * 6)
        self.assertNotEqual(self.login()["refresh_token"], renewed["refresh_token"])
        self.refused_renewals()

    def refused_renewals(self):
        """What is said when the provider has ended the login, and when it does not answer; the login is kept as it is."""
        ended = {**self.login(), "expires": 1}
        self.keep(ended)
        self.provider.revoke(ended["refresh_token"])
        for words in (["muster", "login", "--renew"], ["muster", "whoami"], ["slurm/squeue"]):
            refused = self.run_command(f"{BIN}/{words[0]}", *words[1:])
            self.assertEqual((refused.returncode, refused.stdout), (1, ""), words)
            self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)
            self.assertIn("the provider has ended the login (invalid_grant); run muster login", refused.stderr)
        self.assertEqual(self.login(), ended)
        self.provider.stop()
        try:
            refused = self.run_command(f"{BIN}/muster", "whoami")
        finally:
            self.provider.start("six")
        self.assertEqual((refused.returncode, refused.stdout, len(refused.stderr.splitlines())), (1, "", 1), refused.stderr)
        self.assertIn("cannot reach the provider", refused.stderr)

    def test_a_login_for_another_audience_is_refused_by_the_server(self):
        self.assertEqual(claims(self.log_in("alice", client="elsewhere")["bearer"])["aud"], ["elsewhere"])
        refused = self.run_command(f"{BIN}/muster", "whoami")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))

    # The mock.

    def test_tokens_of_the_mock_name_their_subject_for_their_audience(self):
        self.assertEqual(self.who(self.mock.id_token("carol", ["team-c"], "muster")), (200, "mock:carol", {"mock:team-c", "system:authenticated"}))
        self.assertEqual(self.who(self.mock.id_token("dave", [], "muster"))[1], "mock:dave")
        cases = [("another audience", self.mock.id_token("carol", ["team-c"], "other")),
                 ("without the name of a key", self.mock.id_token("carol", ["team-c"], "muster", kid=False))]
        self.assertEqual([sentence for sentence, token in cases if self.who(token)[0] != 401], [])


if __name__ == "__main__":
    unittest.main()
