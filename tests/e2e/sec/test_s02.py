"""S02: a real musterd with a real OpenID Connect provider and a real munged: 0 bad credentials are accepted, good ones name who they should.

The provider is npm's oidc-provider (oidc_provider/), which signs good tokens and, by /forge, tokens that are wrong in one thing only. Further
providers are in s02_second_provider.py.
"""
import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from muster_server import BIN, PATIENCE, Server
from providers import Browser, Provider
from s02_second_provider import FurtherProviders  # noqa: F401, its tests run with these

WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def encoded(value):
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def bad_tokens(provider, stranger):
    """Sentence and token; all but those of `stranger` and of other algorithms are signed by the provider's own key."""
    now = int(time.time())
    good = provider.forge()
    head, body, signature = good.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    public = json.dumps(provider.public_key()).encode()
    hs256 = f"{encoded({'alg': 'HS256', 'kid': provider.kid})}.{body}"
    twice = json.dumps(claims)[:-1] + ', "sub": "root"}'
    changed = encoded({**claims, "sub": "root"})
    return [
        ("too long", provider.forge(payload={"filler": "x" * 13000})),
        ("alg none, no signature", f"{encoded({'alg': 'none', 'kid': provider.kid})}.{body}."),
        ("alg none, good signature", provider.forge({"alg": "none"})),
        ("alg None", provider.forge({"alg": "None"})),
        ("HS256 with the public key as secret", f"{hs256}.{encoded(hmac.new(public, hs256.encode(), hashlib.sha256).digest())}"),
        ("PS256 named, RS256 made", provider.forge({"alg": "PS256"})),
        ("RS512 named, RS256 made", provider.forge({"alg": "RS512"})),
        ("ES256 named, RS256 made", provider.forge({"alg": "ES256"})),
        ("no alg", provider.forge(without=("alg",))),
        ("no kid", provider.forge(without=("kid",))),
        ("unknown kid", provider.forge({"kid": "nobody"})),
        ("a stranger's key of the same name", stranger.forge({"kid": provider.kid}, {"iss": provider.issuer})),
        ("a stranger's own token", stranger.token("alice")),
        ("a key in the header", provider.forge({"kid": "x", "jwk": stranger.public_key()})),
        ("crit", provider.forge({"crit": ["exp"]})),
        ("b64 false", provider.forge({"b64": False})),
        ("a token for logging out", provider.forge({"typ": "logout+jwt"})),
        ("changed payload", f"{head}.{changed}.{signature}"),
        ("no signature", f"{head}.{body}."),
        ("short signature", f"{head}.{body}.{signature[:-10]}"),
        ("two parts", f"{head}.{body}"),
        ("five parts", good + ".AAAA.AAAA"),
        ("padding", good + "="),
        ("a byte behind it", good + "A"),
        ("payload no JSON", provider.forge(payload="alice")),
        ("payload a list", provider.forge(payload="[]")),
        ("payload without claims", provider.forge(payload="{}")),
        ("a claim twice", provider.forge(payload=twice)),
        ("another issuer", provider.forge(payload={"iss": "http://127.0.0.1:1"})),
        ("issuer with a slash more", provider.forge(payload={"iss": provider.issuer + "/"})),
        ("another audience, by the provider", provider.token("alice", "urn:other")),
        ("a list of other audiences", provider.forge(payload={"aud": ["other", "muster2"]})),
        ("no audience", provider.forge(without=("aud",))),
        ("expired", provider.forge(payload={"exp": now - 61})),
        ("no exp", provider.forge(without=("exp",))),
        ("exp is text", provider.forge(payload={"exp": str(now + 300)})),
        ("exp is 1e400", provider.forge(payload=json.dumps(claims).replace(str(claims["exp"]), "1e400"))),
        ("nbf in the future", provider.forge(payload={"nbf": now + 300})),
        ("iat in the future", provider.forge(payload={"iat": now + 300})),
        ("no iat", provider.forge(without=("iat",))),
        ("no user", provider.forge(without=("sub",))),
        ("empty user", provider.forge(payload={"sub": ""})),
        ("user of the system", provider.forge(payload={"sub": "system:admin"})),
        ("user with a line feed", provider.forge(payload={"sub": "alice\nroot"})),
        ("user that is a number", provider.forge(payload={"sub": 0})),
        ("system:masters", provider.forge(payload={"groups": ["team-a", "system:masters"]})),
        ("system:masters, by the provider", provider.token("bob")),
        ("groups that are no texts", provider.forge(payload={"groups": [1]})),
    ]


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.provider = Provider().start("one")
        cls.addClassCleanup(cls.provider.stop)
        cls.dir = tempfile.mkdtemp(prefix="muster-s02-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        config = os.path.join(cls.dir, "musterd.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"loopback-peers": True, "oidc": [{
                "name": "corp", "issuer": cls.provider.issuer, "audience": ["muster", "muster-cli"],
                "user-prefix": "-", "groups-prefix": "-"}]}, file)
        cls.server = Server(["--config", config, "--local-cluster", "east,cpu=4"]).start()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        # Another test may have given the provider a new key.
        self.await_known(self.provider.token("alice"))

    def await_known(self, token):
        """Unknown keys are asked for every ten seconds at most."""
        deadline = time.monotonic() + 30
        while self.whoami(token)[0] == 401 and time.monotonic() < deadline:
            time.sleep(0.5)
        self.assertIn(self.whoami(token)[0], (200, 201))

    def whoami(self, token):
        """(status, user information)."""
        status, body = self.server.call("POST", WHOAMI, REVIEW, headers={"Authorization": "Bearer " + token})
        return status, body["status"]["userInfo"] if status in (200, 201) else body

    def by_grpc(self, token):
        return self.server.run(f"{BIN}/muster", "quota", "get", check=False, env={"MUSTER_TOKEN": token})

    def test_good_tokens_name_the_user_and_the_groups(self):
        status, who = self.whoami(self.provider.token("alice"))
        self.assertIn(status, (200, 201), who)
        self.assertEqual(who["username"], "alice")
        self.assertEqual(set(who["groups"]), {"team-a", "staff", "system:authenticated"})
        status, who = self.whoami(self.provider.forge())
        self.assertEqual((who["username"], set(who["groups"])), ("alice", {"team-a", "system:authenticated"}))
        self.assertNotIn("token", self.by_grpc(self.provider.token("alice")).stderr, "she may lack the right, but she is known")

    def test_bad_tokens_are_refused(self):
        stranger = Provider().start("theirs")
        self.addCleanup(stranger.stop)
        accepted, count = [], 0
        for sentence, token in bad_tokens(self.provider, stranger):
            count += 1
            status, body = self.whoami(token)
            # A token that is too long does not fit into the headers of a request either (431).
            if status not in (401, 431):
                accepted.append((sentence, status, body))
            # gRPC asks the same function: a few of each kind are enough there.
            if count % 6 == 0:
                answer = self.by_grpc(token)
                if answer.returncode != 1 or "token" not in answer.stderr:
                    accepted.append((sentence, "gRPC", answer.stdout + answer.stderr))
        self.assertGreaterEqual(count, 40)
        self.assertEqual(accepted, [])
        print(f"S02: {count} bad tokens, {len(accepted)} accepted")

    def test_keys_rotate_and_the_provider_goes_away(self):
        old = self.provider.token("alice")
        self.assertIn(self.whoami(old)[0], (200, 201))
        self.provider.stop()
        self.assertIn(self.whoami(old)[0], (200, 201), "a known key counts without the provider")
        self.provider.start("two")
        fresh = self.provider.token("alice")
        self.await_known(fresh)
        self.assertEqual(self.whoami(old)[0], 401, "the key is gone")
        self.provider.stop()
        self.addCleanup(self.provider.start, "four")
        stranger = Provider(self.provider.port)
        stranger.start("three")
        unverified = stranger.token("alice")
        stranger.stop()
        self.assertEqual(self.whoami(unverified)[0], 401, "no new key counts unseen")
        self.assertIn(self.whoami(fresh)[0], (200, 201))

    def test_login_by_device_code(self):
        home = tempfile.mkdtemp(dir=self.dir)
        environment = dict(self.server.environment(), HOME=home)
        login = subprocess.Popen([f"{BIN}/muster", "login", "--issuer", self.provider.issuer, "--client-id", "muster-cli"],
                                 env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        prompt = login.stderr.readline()
        browser = Browser()
        page = browser.open(re.search(r"Open (\S+) in", prompt).group(1))
        for _ in range(8):
            page_after = browser.send_form(*page, {"login": "alice", "password": "x"})
            if page_after is None:
                break
            page = page_after
        out, err = login.communicate(timeout=PATIENCE)
        self.assertEqual(login.returncode, 0, err + page[1])
        self.assertIn("Logged in", out)
        stored = os.path.join(home, ".cache", "muster", "login.json")
        self.assertEqual(os.stat(stored).st_mode & 0o777, 0o600)
        with open(stored, encoding="utf-8") as file:
            before = json.load(file)
        self.assertEqual(self.whoami(before["bearer"])[1]["username"], "alice")
        # A token that is about to end is renewed by the next command, also one that the server may refuse for other reasons.
        with open(stored, "w", encoding="utf-8") as file:
            json.dump({**before, "expires": 1}, file)
        time.sleep(1.1)  # so that the new token has another iat
        self.server.run(f"{BIN}/muster", "get", "jobs", check=False, env={"HOME": home})
        with open(stored, encoding="utf-8") as file:
            self.assertNotEqual(json.load(file)["bearer"], before["bearer"])
        self.server.run(f"{BIN}/muster", "logout", env={"HOME": home})
        self.assertFalse(os.path.exists(stored))


class Munged:
    """A munged with a key of its own that is not root's."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="muster-munge-", dir="/tmp")
        self.socket = os.path.join(self.dir, "munge.socket")
        key = os.path.join(self.dir, "munge.key")
        with open(key, "wb") as file:
            file.write(secrets.token_bytes(128))
        os.chmod(key, 0o400)
        os.chmod(self.dir, 0o755)
        if os.geteuid() == 0:
            for path in (self.dir, key):
                shutil.chown(path, "nobody", "nogroup")
        self.key = key

    def start(self):
        prefix = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [*prefix, "/usr/sbin/munged", "--foreground", "--force", "--key-file", self.key, "--socket", self.socket,
             "--pid-file", os.path.join(self.dir, "munged.pid"), "--seed-file", os.path.join(self.dir, "munged.seed"),
             "--log-file", os.path.join(self.dir, "munged.log")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(self.socket):
            assert self.process.poll() is None and time.monotonic() < deadline, "munged does not start"
            time.sleep(0.05)
        return self

    def end(self):
        """munged misses a signal that comes while it goes back to wait for a connection: it is told again."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "munged does not end"
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                pass

    def close(self):
        self.end()
        shutil.rmtree(self.dir, ignore_errors=True)

    def credential(self, method, target, body=b"", *options, account=None):
        """A credential for a request, made by this process's account or another."""
        text = f"{method}\n{target}\n{hashlib.sha256(body).hexdigest()}"
        return self.credential_of(hashlib.sha256(text.encode()).hexdigest(), *options, account=account)

    def credential_of(self, payload, *options, account=None):
        prefix = ["setpriv", "--reuid", account, "--regid", "nogroup", "--clear-groups"] if account else []
        return subprocess.run([*prefix, "munge", "--socket", self.socket, *options], input=payload, capture_output=True, text=True,
                              check=True).stdout.strip()


class Munge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.munged = Munged().start()
        cls.addClassCleanup(cls.munged.close)
        cls.server = Server(["--munge-socket", cls.munged.socket, "--loopback-peers", "true", "--local-cluster", "east,cpu=4"]).start()
        cls.addClassCleanup(cls.server.close)
        cls.body = json.dumps(REVIEW).encode()

    def ask(self, credential, target=WHOAMI, body=None):
        return self.server.call("POST", target, self.body if body is None else body, headers={"Authorization": "Munge " + credential})

    def made(self, *options, account=None):
        return self.munged.credential("POST", WHOAMI, self.body, *options, account=account)

    def test_a_credential_names_the_account_that_made_it(self):
        status, answer = self.ask(self.made())
        self.assertIn(status, (200, 201), answer)
        whoami = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(answer["status"]["userInfo"]["username"], whoami)
        self.assertNotIn("system:masters", answer["status"]["userInfo"]["groups"], "munge makes nobody an administrator")
        if os.geteuid() == 0:
            status, answer = self.ask(self.made(account="nobody"))
            self.assertEqual(answer["status"]["userInfo"]["username"], "nobody")

    def test_bad_credentials_are_refused(self):
        other = Munged().start()
        self.addCleanup(other.close)
        used = self.made()
        self.assertIn(self.ask(used)[0], (200, 201))
        expired = self.made("--ttl", "1")
        time.sleep(2.5)
        good = self.made()
        cases = [
            ("used before", used), ("expired", expired),
            ("made with another key", other.credential("POST", WHOAMI, self.body)),
            ("for another method", self.munged.credential("PUT", WHOAMI, self.body)),
            ("for another target", self.munged.credential("POST", "/v1/jobs", self.body)),
            ("for another body", self.munged.credential("POST", WHOAMI, b"{}")),
            ("without a payload", self.munged.credential_of("", "--no-input")),
            ("with a payload of another kind", self.munged.credential_of("alice")),
            ("changed", good[:-9] + ("AAAA" if good[-9:-5] != "AAAA" else "BBBB") + good[-5:]),
            ("cut off", good[: len(good) // 2]), ("no credential", "MUNGE:"), ("empty", ""), ("another text", "root")]
        accepted = [(sentence, answer) for sentence, credential in cases for answer in [self.ask(credential)] if answer[0] != 401]
        self.assertEqual(accepted, [])
        print(f"S02: {len(cases)} bad munge credentials, {len(accepted)} accepted")

    def test_the_commands_sign_each_request(self):
        environment = {"MUSTER_AUTH": "munge", "MUSTER_AUTH_SOCKET": self.munged.socket}
        for _ in range(2):
            self.server.run(f"{BIN}/muster", "version", env=environment)
        refused = self.server.run(f"{BIN}/muster", "version", check=False, env={**environment, "MUSTER_AUTH_SOCKET": "/nonexistent"})
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("munge", refused.stderr)

    def test_without_munged_nobody_is_let_in(self):
        credential = self.made()
        self.munged.end()
        self.addCleanup(self.munged.start)
        self.assertEqual(self.ask(credential)[0], 503)


if __name__ == "__main__":
    unittest.main()
