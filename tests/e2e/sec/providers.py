"""OpenID Connect providers on loopback, two real ones and one for unit tests, and who logs in at their pages."""
import base64
import contextlib
import hashlib
import html
import http.cookiejar
import json
import logging
import os
import re
import shutil
import subprocess
import time
import unittest.mock
import urllib.error
import urllib.parse
import urllib.request
import warnings

from muster_server import PATIENCE
from ports import free_port

HERE = os.path.dirname(os.path.abspath(__file__))

def installed_provider():
    """The directory of provider.js with its packages; installed once for each content of the directory."""
    names = ("package.json", "package-lock.json", "provider.js")
    content = hashlib.sha256()
    for name in names:
        with open(os.path.join(HERE, "oidc_provider", name), "rb") as file:
            content.update(file.read())
    cache = os.path.join(os.path.expanduser("~"), ".cache", "muster-tests")
    target = os.path.join(cache, "oidc-provider-" + content.hexdigest()[:16])
    if not os.path.exists(os.path.join(target, "installed")):
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        for name in names:
            shutil.copy(os.path.join(HERE, "oidc_provider", name), target)
        subprocess.run(["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts",
                        "--cache", os.path.join(cache, "npm")], cwd=target, check=True, capture_output=True, timeout=300)
        with open(os.path.join(target, "installed"), "w", encoding="utf-8"):
            pass
    return target


class Provider:
    """One process of provider.js. Started again with another kid it has another key, at the same address."""

    def __init__(self, port=None):
        self.port = port or free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self, kid, web_redirect="", id_token_seconds=120):
        """web_redirect: the address at which the web page takes its users back; "": there is no such client."""
        self.kid = kid
        self.process = subprocess.Popen(["node", "provider.js", str(self.port), kid], cwd=installed_provider(),
                                        env={**os.environ, "WEB_REDIRECT": web_redirect, "ID_TOKEN_SECONDS": str(id_token_seconds)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert json.loads(self.process.stdout.readline())["issuer"] == self.issuer
        return self

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def post(self, path, data, headers=None):
        request = urllib.request.Request(self.issuer + path, data=data, headers=headers or {})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def token(self, client, resource="urn:muster"):
        """A real access token by the client credentials grant."""
        form = urllib.parse.urlencode({"grant_type": "client_credentials", "resource": resource, "scope": "use"}).encode()
        secret = base64.b64encode(f"{client}:s".encode()).decode()
        return json.loads(self.post("/token", form, {"Authorization": "Basic " + secret}))["access_token"]

    def forge(self, header=None, payload=None, without=()):
        """A token with a good signature; `header` and `payload` are laid over those of a good token. A text replaces the payload."""
        now = int(time.time())
        good = {"iss": self.issuer, "aud": "muster", "sub": "alice", "groups": ["team-a"], "iat": now - 5, "exp": now + 300}
        body = payload if isinstance(payload, str) else {k: v for k, v in {**good, **(payload or {})}.items() if k not in without}
        head = {k: v for k, v in {"alg": "RS256", "kid": self.kid, "typ": "at+jwt", **(header or {})}.items() if k not in without}
        return self.post("/forge", json.dumps({"header": head, "payload": body}).encode())

    def public_key(self):
        with urllib.request.urlopen(self.issuer + "/jwks", timeout=PATIENCE) as answer:
            return json.load(answer)["keys"][0]


class ZitadelProvider:
    """One process of zitadel_provider/, which changes its keys and how long its tokens last while it runs."""

    def __init__(self):
        self.program = subprocess.run([os.path.join(HERE, "zitadel_provider", "build.sh")], capture_output=True, text=True, check=True).stdout.strip()
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self, kid):
        self.process = subprocess.Popen([self.program, str(self.port), kid], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert json.loads(self.process.stdout.readline())["issuer"] == self.issuer
        return self

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def post(self, path, form=None, headers=None):
        request = urllib.request.Request(self.issuer + path, data=urllib.parse.urlencode(form or {}).encode(), headers=headers or {})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def token(self, client, audience="muster"):
        """A real access token by the client credentials grant."""
        secret = base64.b64encode(f"{client}:s".encode()).decode()
        form = {"grant_type": "client_credentials", "scope": f"openid audience:{audience}"}
        return json.loads(self.post("/oauth/token", form, {"Authorization": "Basic " + secret}))["access_token"]

    def rotate(self, kid, keep):
        self.post(f"/rotate?kid={kid}&keep={'true' if keep else 'false'}")

    def set_lifetime(self, seconds):
        self.post(f"/lifetime?seconds={seconds}")

    def revoke(self, refresh_token):
        """RFC 7009, as the public client that it was given to."""
        self.post("/revoke", {"token": refresh_token, "token_type_hint": "refresh_token", "client_id": "muster-cli"})

    def agree(self, address, user):
        """What the person does at the address of the prompt."""
        browser = Browser()
        browser.send_form(*browser.open(address), {"username": user, "password": "x"})
        browser.open(self.issuer + "/device/confirm?action=allowed")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class MockProvider:
    """The Python package oidc-provider-mock, in a thread of this process."""

    def __init__(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # They change what Python warns of, so only this test loads them.
            import oidc_provider_mock
            from oidc_provider_mock import _app
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.app = _app
        self.open = contextlib.ExitStack()
        server = self.open.enter_context(oidc_provider_mock.run_server_in_thread())
        self.issuer = f"http://127.0.0.1:{server.server_port}"

    def stop(self):
        self.open.close()

    def id_token(self, user, groups, client, kid=True):
        """By the authorization code grant. The package names no key in its tokens; with `kid` the test has it do so."""
        claims = urllib.request.Request(f"{self.issuer}/users/{user}", json.dumps({"groups": groups}).encode(), {"Content-Type": "application/json"},
                                        method="PUT")
        urllib.request.urlopen(claims, timeout=PATIENCE).close()
        back = "http://127.0.0.1/back"
        asked = urllib.parse.urlencode({"client_id": client, "redirect_uri": back, "response_type": "code", "scope": "openid"})
        form = urllib.parse.urlencode({"sub": user}).encode()
        try:
            urllib.request.build_opener(NoRedirect).open(f"{self.issuer}/oauth2/authorize?{asked}", form, timeout=PATIENCE)
            raise AssertionError("the provider gives no code")
        except urllib.error.HTTPError as answer:
            with answer:
                code = urllib.parse.parse_qs(urllib.parse.urlparse(answer.headers["Location"]).query)["code"][0]
        form = urllib.parse.urlencode({"grant_type": "authorization_code", "code": code, "redirect_uri": back, "client_id": client,
                                       "client_secret": "s"}).encode()
        with contextlib.ExitStack() as patched:
            patched.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")  # of the mock about its own libraries
            if kid:
                patched.enter_context(unittest.mock.patch.object(
                    self.app.OpenIDCode, "get_encode_header", lambda *_: {"alg": "RS256", "kid": self.app.storage.jwk.thumbprint()}))
            with urllib.request.urlopen(f"{self.issuer}/oauth2/token", form, timeout=PATIENCE) as answer:
                return json.load(answer)["id_token"]


class Browser:
    """Follows redirects, keeps cookies, and sends forms with what a person would type."""

    def __init__(self):
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def open(self, url, data=None):
        with self.opener.open(url, data=data, timeout=PATIENCE) as answer:
            return answer.geturl(), answer.read().decode()

    def send_form(self, url, page, typed):
        """Sends the first form of the page; None if there is none."""
        form = re.search(r"<form[^>]*>.*?</form>", page, re.S)
        if not form:
            return None
        action = re.search(r'<form[^>]*action="([^"]*)"', form.group(0))
        fields = {}
        for tag in re.findall(r"<input[^>]*>", form.group(0)):
            attributes = dict(re.findall(r'([a-z]+)="([^"]*)"', tag))
            if "name" in attributes:
                fields[attributes["name"]] = typed.get(attributes["name"], html.unescape(attributes.get("value", "")))
        target = urllib.parse.urljoin(url, html.unescape(action.group(1)) if action else url)
        return self.open(target, urllib.parse.urlencode(fields).encode())
