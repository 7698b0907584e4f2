"""Certificates by the openssl command, and a musterd that speaks TLS with them."""
import http.client
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from muster_server import PATIENCE, Server, parse

CONFIG = """
[ca]
default_ca = this
[this]
database = {dir}/index.txt
new_certs_dir = {dir}
serial = {dir}/serial
crlnumber = {dir}/crlnumber
certificate = {dir}/ca.pem
private_key = {dir}/ca.key
default_md = sha256
default_days = 1
default_crl_days = 1
policy = any
unique_subject = no
[any]
commonName = optional
organizationName = optional
"""


def openssl(*words):
    result = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"openssl {' '.join(words)}: {result.stderr}"
    return result.stdout


def at(seconds):
    """The time so many seconds from now, as `openssl ca` takes it."""
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))


class Identity:
    """A certificate with its key, as paths."""

    def __init__(self, path, key):
        self.path, self.key = path, key

    def serial(self):
        return openssl("x509", "-in", self.path, "-noout", "-serial").strip().split("=")[1]


class Authority:
    """A certificate authority in a directory of its own."""

    def __init__(self, name="site", issuer=None, extensions="basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign,cRLSign"):
        self.dir = tempfile.mkdtemp(prefix="muster-ca-", dir="/tmp")
        self.made = 0
        for file, text in (("index.txt", ""), ("serial", "1000\n"), ("crlnumber", "01\n"), ("ca.cnf", CONFIG.format(dir=self.dir))):
            with open(os.path.join(self.dir, file), "w", encoding="utf-8") as out:
                out.write(text)
        self.pem = os.path.join(self.dir, "ca.pem")
        if issuer is None:
            self.key_pair("ca.key", "ec")
            openssl("req", "-x509", "-new", "-key", f"{self.dir}/ca.key", "-out", self.pem, "-subj", f"/CN={name}", "-days", "2",
                    "-addext", "keyUsage=keyCertSign,cRLSign")
        else:
            made = issuer.issue(f"/CN={name}", extensions=extensions)
            shutil.copy(made.path, self.pem)
            shutil.copy(made.key, f"{self.dir}/ca.key")

    def key_pair(self, name, kind):
        path = os.path.join(self.dir, name)
        options = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else \
            ["-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{kind}"]
        openssl("genpkey", *options, "-out", path)
        os.chmod(path, 0o600)
        return path

    def issue(self, subject, extensions="extendedKeyUsage=clientAuth", begin=-3600, end=3600, key="ec", digest="sha256"):
        self.made += 1
        stem = os.path.join(self.dir, f"c{self.made}")
        key_path = self.key_pair(f"c{self.made}.key", key)
        openssl("req", "-new", "-key", key_path, "-out", f"{stem}.csr", "-subj", subject)
        with open(f"{stem}.ext", "w", encoding="utf-8") as out:
            out.write(extensions + "\n")
        openssl("ca", "-config", f"{self.dir}/ca.cnf", "-batch", "-notext", "-preserveDN", "-in", f"{stem}.csr", "-out", f"{stem}.pem",
                "-extfile", f"{stem}.ext", "-startdate", at(begin), "-enddate", at(end), "-md", digest)
        return Identity(f"{stem}.pem", key_path)

    def server(self, names="DNS:localhost,IP:127.0.0.1", **more):
        return self.issue("/CN=muster", extensions=f"extendedKeyUsage=serverAuth\nsubjectAltName={names}", **more)

    def revoke(self, identity):
        openssl("ca", "-config", f"{self.dir}/ca.cnf", "-revoke", identity.path)

    def revocations(self):
        """The present list of revoked certificates, as PEM text."""
        path = f"{self.dir}/crl.pem"
        openssl("ca", "-config", f"{self.dir}/ca.cnf", "-gencrl", "-out", path)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def replace(path, text, mode=0o600):
    """As certificate managers write: a new file under the old name."""
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path + ".new", mode)
    os.rename(path + ".new", path)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class TlsServer(Server):
    """musterd with TLS on both ports. `shown`: the identity that call() and the commands show."""

    def __init__(self, authority, identity=None, flags=(), shown=None):
        super().__init__(["--local-cluster", "east,cpu=4,memory=8Gi"])
        self.authority, self.shown = authority, shown
        self.cert, self.key = f"{self.dir}/server.pem", f"{self.dir}/server.key"
        self.use(identity or authority.server())
        self.flags += ["--tls-cert", self.cert, "--tls-key", self.key, *flags]

    def use(self, identity):
        replace(self.key, text_of(identity.key))
        replace(self.cert, text_of(identity.path))

    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def environment(self):
        shown = {"MUSTER_CERT": self.shown.path, "MUSTER_KEY": self.shown.key} if self.shown else {}
        return dict(super().environment(), MUSTER_CA=self.authority.pem, **shown)

    def context(self, identity=None):
        made = ssl.create_default_context(cafile=self.authority.pem)
        if identity or self.shown:
            made.load_cert_chain((identity or self.shown).path, (identity or self.shown).key)
        return made

    def call(self, method, path, body=None, content_type="application/json", headers=None, identity=None):
        request = urllib.request.Request(self.url() + path, data=body, method=method, headers={"Content-Type": content_type, **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE, context=self.context(identity)) as answer:
                return answer.status, parse(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, parse(error.read())
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError):
            return 0, None

    def served_serial(self, port=None):
        """The serial number of the certificate that a new connection is shown."""
        shown = ssl.get_server_certificate(("127.0.0.1", port or self.port))
        result = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=shown, capture_output=True, text=True, check=True)
        return result.stdout.strip().split("=")[1]

    def close(self):
        try:
            self.stop()
        finally:
            if self.process and self.process.poll() is None:
                self.kill()
            shutil.rmtree(self.dir, ignore_errors=True)


REST_HELLO = b"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
# HTTP/2's preface and an empty SETTINGS frame, which the server answers with its own.
GRPC_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def s_client(port, hello, *options, timeout=10):
    """What the server answers to `hello` through `openssl s_client`: b"" if the handshake fails."""
    words = ["openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{port}", *options]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        try:
            client.stdin.write(hello)
            client.stdin.flush()
        except BrokenPipeError:
            pass
        os.set_blocking(client.stdout.fileno(), False)
        deadline, out = time.monotonic() + timeout, b""
        while time.monotonic() < deadline and not out:
            out = client.stdout.read() or b""
            if client.poll() is not None:
                out += client.stdout.read() or b""
                break
            time.sleep(0.02)
        client.kill()
        try:
            client.stdin.close()
        except BrokenPipeError:
            pass
    return out
