"""S03: client certificates. None that is bad in any way gets a handshake; a good one is known by its names."""
import os
import unittest

from tls_site import GRPC_HELLO, REST_HELLO, Authority, Identity, TlsServer, openssl, replace, s_client, text_of

WEAK = ["-cipher", "DEFAULT:@SECLEVEL=0"]


def flip_signature(identity, folder):
    """The same certificate with one bit of its signature changed."""
    der, pem = f"{folder}/flipped.der", f"{folder}/flipped.pem"
    openssl("x509", "-in", identity.path, "-outform", "DER", "-out", der)
    with open(der, "rb") as file:
        raw = bytearray(file.read())
    raw[-1] ^= 1
    with open(der, "wb") as file:
        file.write(raw)
    openssl("x509", "-inform", "DER", "-in", der, "-out", pem)
    return Identity(pem, identity.key)


class ClientCertificates(unittest.TestCase):
    def setUp(self):
        self.people = Authority("people")
        self.addCleanup(self.people.close)
        self.site = Authority("site")
        self.addCleanup(self.site.close)
        self.revocations = f"{self.people.dir}/served-crl.pem"
        replace(self.revocations, self.people.revocations())
        self.server = TlsServer(self.site, flags=["--client-ca", self.people.pem, "--client-crl", self.revocations])
        self.addCleanup(self.server.close)
        self.server.start()

    def answers(self, identity, version, grpc=False, chain=None):
        """True if the server takes the handshake and answers."""
        options = ["-cert", identity.path, "-key", identity.key, version, *WEAK]
        if chain:
            options += ["-cert_chain", chain]
        port = self.server.grpc_port if grpc else self.server.port
        if grpc:
            options += ["-alpn", "h2"]
        return s_client(port, GRPC_HELLO if grpc else REST_HELLO, *options) != b""

    def bad_ones(self):
        """(what is wrong, identity, chain) of certificates that the server must not take."""
        people, strangers = self.people, Authority("strangers")
        self.addCleanup(strangers.close)
        forged = Authority("people")  # the same name, another key
        self.addCleanup(forged.close)
        leaf = people.issue("/CN=leaf")
        leaf_as_ca = Authority("leaf", issuer=people, extensions="basicConstraints=critical,CA:FALSE")
        self.addCleanup(leaf_as_ca.close)
        unlisted = Authority("branch", issuer=people)  # an authority without a list of revocations
        self.addCleanup(unlisted.close)
        revoked = people.issue("/CN=revoked")
        people.revoke(revoked)
        self.revoked = revoked
        yield "of an unknown authority", strangers.issue("/CN=alice"), None
        yield "the unknown authority's own", Identity(strangers.pem, f"{strangers.dir}/ca.key"), None
        yield "of a forged authority of the same name", forged.issue("/CN=alice"), None
        yield "expired", people.issue("/CN=alice", begin=-7200, end=-60), None
        yield "not valid yet", people.issue("/CN=alice", begin=3600, end=7200), None
        yield "of another purpose (server)", people.issue("/CN=alice", extensions="extendedKeyUsage=serverAuth"), None
        yield "of another purpose (code)", people.issue("/CN=alice", extensions="extendedKeyUsage=codeSigning"), None
        yield "of another purpose (key usage)", people.issue("/CN=alice", extensions="keyUsage=critical,keyEncipherment,keyCertSign"), None
        yield "signed by one that is no authority", leaf_as_ca.issue("/CN=alice"), leaf_as_ca.pem
        yield "of an authority whose revocations nobody knows", unlisted.issue("/CN=alice"), unlisted.pem
        yield "changed after it was signed", flip_signature(leaf, people.dir), None
        yield "with a key that is too short", people.issue("/CN=alice", key="1024"), None
        yield "signed with SHA-1", people.issue("/CN=alice", digest="sha1"), None
        yield "expired and of an unknown authority", strangers.issue("/CN=alice", begin=-7200, end=-60), None
        yield "revoked", revoked, None

    def test_bad_certificates_get_no_handshake(self):
        bad = list(self.bad_ones())
        # The list with the revoked one comes while the server runs.
        before = text_of(self.server.dir + "/musterd.log").count("tls_files_taken")
        self.assertTrue(self.answers(self.revoked, "-tls1_3"), "not on the server's list yet")
        replace(self.revocations, self.people.revocations())
        self.server.wait(lambda: text_of(self.server.dir + "/musterd.log").count("tls_files_taken") > before, what="the list is read")
        taken = []
        for what, identity, chain in bad:
            for version in ("-tls1_2", "-tls1_3"):
                for grpc in (False, True):
                    if self.answers(identity, version, grpc, chain):
                        taken.append(f"{what} {version}{' gRPC' if grpc else ''}")
        self.assertGreaterEqual(len(bad), 12)
        self.assertEqual(taken, [])
        # The same clients with a good certificate are answered, so the refusals are of the certificates.
        good = self.people.issue("/CN=alice/O=team-a/O=team-b")
        for version in ("-tls1_2", "-tls1_3"):
            self.assertTrue(self.answers(good, version))
            self.assertTrue(self.answers(good, version, grpc=True))
        print(f"S03: {len(bad)} bad certificates, 2 versions, 2 ports: {len(taken)} handshakes succeeded")

    def test_a_good_certificate_is_known_by_its_names(self):
        good = self.people.issue("/CN=alice/O=team-a/O=team-b")
        status, who = self.server.call("GET", "/v1/whoami", identity=good)
        self.assertEqual(status, 200, who)
        self.assertEqual(who["user"], "alice")
        self.assertLessEqual({"team-a", "team-b", "system:authenticated"}, set(who["groups"]))
        self.assertEqual(who["method"], "certificate")
        # Without a certificate there is nobody: the account behind a TCP connection counts no more.
        self.assertEqual(self.server.call("GET", "/v1/whoami")[0], 401)

    def test_the_clients_side_refuses_wrong_names(self):
        good = self.people.issue("/CN=alice")
        environment = {"MUSTER_CERT": good.path, "MUSTER_KEY": good.key}
        self.server.use(self.site.server(names="DNS:elsewhere.example"))
        self.server.wait(lambda: self.server.logged("tls_files_taken"), what="the certificate is read")
        result = self.server.run("muster", "status", env=environment, check=False)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("its certificate is not for 127.0.0.1", result.stderr)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
