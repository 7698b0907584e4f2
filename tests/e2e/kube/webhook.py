"""An admission webhook of a member that a test lays: it changes, refuses or delays the Jobs that carry its name."""
import base64
import http.server
import json
import os
import ssl
import threading
import time

from bed_client import JOBS, PATIENCE, job

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
LABEL = "hook"


class Webhook:
    """Asked about each create and update of a Job with the label hook=NAME. answer(request) gives a JSON Patch, or a text: why
    not. While `gate` is clear nothing is answered."""

    def __init__(self, member, name, answer, timeout=30):
        self.member, self.name, self.answer = member, name, answer
        self.gate = threading.Event()
        self.gate.set()
        self.seen = []  # (operation, name of the object) as they came
        self.probed = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        keys = os.path.join(member.folder, "pki")
        tls.load_cert_chain(os.path.join(keys, "tls.crt"), os.path.join(keys, "tls.key"))
        self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        with open(os.path.join(keys, "ca.crt"), "rb") as file:
            authority = base64.b64encode(file.read()).decode()
        member.call("POST", CONFIGURATIONS, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": name},
            "webhooks": [{
                "name": f"{name}.bed.test", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                "timeoutSeconds": timeout, "objectSelector": {"matchLabels": {LABEL: name}},
                "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_address[1]}/", "caBundle": authority},
                "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["jobs"]}]}]})
        self.await_first_call()

    def close(self):
        self.gate.set()
        self.member.call("DELETE", f"{CONFIGURATIONS}/{self.name}")
        self.server.shutdown()
        self.server.server_close()

    def await_first_call(self):
        """The API server takes up a configuration when it likes."""
        probe = job("probe")
        probe["metadata"]["labels"] = {LABEL: self.name}
        deadline = time.monotonic() + PATIENCE
        while not self.probed.is_set():
            assert time.monotonic() < deadline, "the webhook is never called"
            self.member.status_of("POST", JOBS + "?dryRun=All", probe)
            self.probed.wait(0.1)

    def handler(self):
        webhook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                                   "response": {"uid": asked["uid"], **webhook.decide(asked)}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass  # the API server waits no longer

        return Handler

    def decide(self, asked):
        if asked.get("dryRun"):
            self.probed.set()
            return {"allowed": True}
        self.seen.append((asked["operation"], asked["name"]))
        self.gate.wait(PATIENCE)
        answer = self.answer(asked)
        if isinstance(answer, str):
            return {"allowed": False, "status": {"message": answer}}
        return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(answer).encode()).decode()}


def on_create(*patch):
    """An answer that changes what is made, and nothing afterwards."""
    return lambda asked: list(patch) if asked["operation"] == "CREATE" else []
