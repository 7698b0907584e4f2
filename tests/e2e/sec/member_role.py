"""A member cluster whose user may do nothing: an API server of a few answers, which makes `muster cluster add` print its ClusterRole."""
import http.server
import json
import threading


class Member:
    """Serves on loopback until close()."""

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.kubeconfig = json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server.server_port}"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]})

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):  # pylint: disable=invalid-name
        path = self.path.partition("?")[0]
        if path == "/api/v1/namespaces":
            self.answer(200, {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [
                {"metadata": {"name": "kube-system", "uid": "00000000-0000-4000-8000-000000000001", "resourceVersion": "1"}}]})
        elif path == "/version":
            self.answer(200, {"major": "1", "minor": "33", "gitVersion": "v1.33.0"})
        elif path == "/apis/batch/v1":
            self.answer(200, {"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [{"name": "jobs", "kind": "Job", "namespaced": True}]})
        else:
            self.answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})

    def do_POST(self):  # pylint: disable=invalid-name
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(201, {**review, "status": {"allowed": False}})
