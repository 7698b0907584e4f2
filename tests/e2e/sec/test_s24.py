"""S24: TLS of our ports and of our clients: versions and ciphers, plain text, names and authorities, reload."""
import http.client
import os
import re
import shutil
import socket
import subprocess
import unittest

from muster_server import BIN, QUEUES, Server
from tls_site import GRPC_HELLO, REST_HELLO, Authority, TlsServer, replace, s_client, text_of

# Suites of TLS 1.2 without forward secrecy or without authenticated encryption, and null ones.
WEAK = ["AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA",
        "ECDHE-ECDSA-AES256-SHA384", "ECDHE-RSA-AES128-SHA", "DHE-RSA-AES256-GCM-SHA384", "CAMELLIA128-SHA", "NULL", "aNULL", "eNULL"]


class Tls(unittest.TestCase):
    def setUp(self):
        self.site = Authority("site")
        self.addCleanup(self.site.close)

    def serve(self, *flags, **more):
        server = TlsServer(self.site, flags=flags, **more)
        self.addCleanup(server.close)
        return server.start()

    def test_versions_and_ciphers_of_both_ports(self):
        server = self.serve()
        accepted, tried = [], 0
        for port, hello, more in ((server.port, REST_HELLO, []), (server.grpc_port, GRPC_HELLO, ["-alpn", "h2"])):
            for version in ("-tls1_2", "-tls1_3"):
                self.assertNotEqual(s_client(port, hello, version, *more), b"", f"{port} {version}")
            for version in ("-tls1", "-tls1_1"):
                tried += 1
                if s_client(port, hello, version, "-cipher", "ALL:@SECLEVEL=0", *more):
                    accepted.append(f"{port} {version}")
            for cipher in WEAK:
                tried += 1
                if s_client(port, hello, "-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0", *more):
                    accepted.append(f"{port} {cipher}")
            scan = subprocess.run(["sslscan", "--no-colour", f"127.0.0.1:{port}"], capture_output=True, text=True, check=True).stdout
            for version in ("SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1"):
                self.assertRegex(scan, rf"{re.escape(version)}\s+disabled")
            self.assertNotIn("renegotiation enabled", scan.replace("Secure session renegotiation supported", ""))
            self.assertNotIn("Compression enabled", scan)
            self.assertNotIn("vulnerable to", scan.replace("not vulnerable to", ""))
            for line in scan.split("\n"):
                if line.startswith(("Accepted", "Preferred")):
                    tried += 1
                    if not re.search(r"TLS_|ECDHE-\S+-(GCM|CHACHA20|POLY)", line.replace("CHACHA20-POLY1305", "CHACHA20")):
                        accepted.append(line)
        self.assertEqual(accepted, [])
        print(f"S24: {tried} versions and suites tried on 2 ports, {len(accepted)} weak ones accepted")

    def test_plain_text_is_refused(self):
        server = self.serve()
        for port in (server.port, server.grpc_port):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
                plain.sendall(REST_HELLO)
                answer = plain.makefile("rb").read()
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
            self.assertIn(b"this port speaks TLS", answer)
            with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
                plain.sendall(GRPC_HELLO)
                self.assertNotIn(bytes([0, 0, 0, 4]), plain.makefile("rb").read()[:9])
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=server.context(), timeout=60)
        connection.request("GET", "/livez")
        self.assertIn("max-age=", connection.getresponse().getheader("Strict-Transport-Security"))
        connection.close()

    def refused(self, *flags):
        """What a start with these flags says; it must be refused."""
        server = Server(list(flags))
        self.addCleanup(server.close)
        result = subprocess.run([f"{BIN}/musterd", "--data-dir", server.dir, *flags], capture_output=True, text=True, timeout=120,
                                check=False, env=server.environment())
        self.assertNotEqual(result.returncode, 0, flags)
        return result.stdout + result.stderr

    def test_beyond_loopback_it_needs_tls_and_a_way_to_know_clients(self):
        made = self.site.server()
        encrypted = ["--tls-cert", made.path, "--tls-key", made.key]
        for port in ("--rest", "--grpc"):
            for host in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0", "host.example:0"):
                self.assertIn("tls-cert", self.refused(port, host))
                self.assertIn("client-ca", self.refused(port, host, *encrypted))
        self.assertIn("tls-key", self.refused("--tls-cert", made.path))
        self.assertIn("client-ca", self.refused("--client-crl", made.path, *encrypted))
        os.chmod(made.key, 0o640)
        self.assertIn("chmod 600", self.refused("--rest", "127.0.0.1:0", "--grpc", "127.0.0.1:0", *encrypted))

    def test_it_listens_on_every_address(self):
        server = TlsServer(self.site, flags=["--tokens", "true"])
        self.addCleanup(server.close)
        # launch() gives the loopback addresses; the environment has less weight than flags, so they are exchanged there.
        launch = subprocess.Popen
        try:
            subprocess.Popen = lambda words, **more: launch([w.replace("127.0.0.1:0", "0.0.0.0:0") for w in words], **more)
            server.launch()
        finally:
            subprocess.Popen = launch
        ready = server.wait(lambda: server.logged("ready"), what="musterd is not ready")
        server.port, server.grpc_port = ready["rest_port"], ready["grpc_port"]
        self.assertEqual(server.get("/livez")[0], 200)
        listening = subprocess.run(["cat", "/proc/net/tcp"], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"00000000:{server.port:04X} 00000000:0000 0A", listening)
        self.assertIn(f"00000000:{server.grpc_port:04X} 00000000:0000 0A", listening)

    def test_clients_refuse_wrong_authorities_and_names(self):
        server = self.serve()
        strangers = Authority("strangers")
        self.addCleanup(strangers.close)

        def muster(*words, **env):
            return server.run("muster", *words, env=env, check=False)

        self.assertEqual(muster("version").returncode, 0)
        wrong = muster("status", MUSTER_CA=strangers.pem)
        self.assertEqual(wrong.returncode, 3)
        self.assertIn("unknown authority", wrong.stderr)
        wrong = muster("status", MUSTER_CA="")
        self.assertIn("unknown authority", wrong.stderr)
        wrong = muster("status", MUSTER_URL=f"https://127.0.0.2:{server.port}")
        self.assertNotEqual(wrong.returncode, 0)
        wrong = muster("status", MUSTER_URL=f"http://127.0.0.1:{server.port}")
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("TLS", wrong.stderr)
        plain = Server().start()
        self.addCleanup(plain.close)
        wrong = muster("status", MUSTER_URL=f"https://127.0.0.1:{plain.port}")
        self.assertEqual(wrong.returncode, 3)
        self.assertIn("does not speak TLS", wrong.stderr)
        wrong = muster("quota", "get", MUSTER_CA=strangers.pem, MUSTER_GRPC=f"grpcs://127.0.0.1:{server.grpc_port}")
        self.assertNotEqual(wrong.returncode, 0)
        # Skipping the check is possible in the file alone, and shows with every command.
        os.makedirs(f"{server.dir}/.config/muster", exist_ok=True)
        replace(f"{server.dir}/.config/muster/config.yaml", "insecure-skip-tls-verify: true\n")
        skipped = muster("version", MUSTER_CA=strangers.pem, XDG_CONFIG_HOME="")
        self.assertIn("insecure-skip-tls-verify", skipped.stderr)
        self.assertEqual(skipped.returncode, 0, skipped.stderr)
        # A token does not travel in plain text.
        wrong = muster("status", MUSTER_TOKEN="t", MUSTER_URL="http://192.0.2.1:8686")
        self.assertIn("in plain text", wrong.stderr)

    def test_the_slurm_named_commands_speak_tls_where_the_server_is_asked_by_https(self):
        server = self.serve()
        server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        sbatch = f"{BIN}/slurm/sbatch"
        told = server.run(sbatch, "--parsable", "-o", "/dev/null", stdin="#!/bin/sh\ntrue\n")
        self.assertRegex(told, r"^\d+")
        # The server of the configuration file counts as that of the environment.
        os.makedirs(f"{server.dir}/.config/muster", exist_ok=True)
        replace(f"{server.dir}/.config/muster/config.yaml", f"server: {server.url()}\nca: {self.site.pem}\n")
        shown = server.run(f"{BIN}/slurm/squeue", "--version", env={"MUSTER_URL": ""})
        self.assertIn("muster", shown.lower())
        listed = server.run(f"{BIN}/slurm/sacct", "-X", "-n", "-o", "jobid", env={"MUSTER_URL": "", "MUSTER_CA": "", "XDG_CONFIG_HOME": ""})
        self.assertEqual(listed.split(), told.split(";")[0].split())
        # The program without TLS says what it misses before it reads anything.
        alone = f"{server.dir}/sbatch"
        shutil.copy(os.path.realpath(sbatch), alone)
        refused = server.run(alone, "--parsable", check=False, stdin="#!/bin/sh\ntrue\n")
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"asked by https, but {alone}-tls: No such file", refused.stderr)

    def test_certificates_are_exchanged_without_a_restart(self):
        server = self.serve()
        old = server.served_serial()
        open_one = http.client.HTTPSConnection("127.0.0.1", server.port, context=server.context(), timeout=60)
        open_one.request("GET", "/livez")
        self.assertEqual(open_one.getresponse().read() and 200, 200)
        fresh = self.site.server()
        server.use(fresh)
        server.wait(lambda: server.served_serial() == fresh.serial(), what="the new certificate is served")
        self.assertNotEqual(fresh.serial(), old)
        self.assertEqual(server.served_serial(server.grpc_port), fresh.serial())
        open_one.request("GET", "/livez")
        self.assertEqual(open_one.getresponse().status, 200)
        open_one.close()
        # A bad file changes nothing and is told.
        replace(server.cert, "no certificate\n")
        server.wait(lambda: server.logged("tls_files_refused"), what="the bad file is told")
        self.assertEqual(server.served_serial(), fresh.serial())
        self.assertIn("tls-cert", text_of(f"{server.dir}/musterd.log"))


if __name__ == "__main__":
    unittest.main()
