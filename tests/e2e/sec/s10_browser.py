"""A Chromium without a window for S10, and a server that stands between it and a musterd and writes down what passes.

Chromium speaks the DevTools protocol over two pipes (--remote-debugging-pipe): JSON texts that end with a zero byte.
"""
import collections
import http.client
import http.server
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from muster_server import PATIENCE

Passed = collections.namedtuple("Passed", "tag method path origin site mode host status")


class Between(http.server.ThreadingHTTPServer):
    """Serves the page of somebody else at /page (at /sandboxed with an opaque origin), and passes all other requests on to musterd as they are,
    without `try`, the name that the test gives a request in its query.

    To a browser it is the address of musterd. Asked by another name it is what DNS rebinding makes: a name that led to the page first,
    and then to musterd.
    """
    daemon_threads = True

    def __init__(self, port_of_musterd):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port_of_musterd = port_of_musterd
        self.port = self.server_address[1]
        self.passed = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A browser that is closed leaves connections behind, which is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def page(self, sandboxed):
        body = b"<!doctype html><title>page</title><body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if sandboxed:
            self.send_header("Content-Security-Policy", "sandbox allow-scripts allow-forms allow-popups")
        self.end_headers()
        self.wfile.write(body)

    def pass_on(self):
        path = urllib.parse.urlsplit(self.path)
        if path.path in ("/page", "/sandboxed", "/favicon.ico"):
            self.page(path.path == "/sandboxed")
            return
        query = urllib.parse.parse_qsl(path.query)
        tag, rest = dict(query).get("try", ""), urllib.parse.urlencode([one for one in query if one[0] != "try"])
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        link = http.client.HTTPConnection("127.0.0.1", self.server.port_of_musterd, timeout=PATIENCE)
        try:
            link.putrequest(self.command, path.path + ("?" + rest if rest else ""), skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "keep-alive"):
                    link.putheader(name, value)
            link.endheaders(body)
            answer = link.getresponse()
            stream = answer.getheader("Content-Length") is None
            told = b"" if self.command == "HEAD" else answer.read1(65536) if stream else answer.read()
        finally:
            link.close()
        self.server.passed.append(Passed(tag, self.command, path.path, self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site"),
                                         self.headers.get("Sec-Fetch-Mode"), self.headers.get("Host"), answer.status))
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "keep-alive", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(told)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = pass_on


class Chromium:
    """One browser with one tab, and a name that leads to this host."""

    def __init__(self, name):
        self.dir = tempfile.mkdtemp(prefix="muster-chromium-", dir="/tmp")
        ours, theirs = os.pipe(), os.pipe()  # (what it reads, what we write), (what we read, what it writes)
        # The protocol's descriptors are 3 and 4. Root has no sandbox of Chromium's, and /dev/shm of a container is small.
        words = ["chromium", "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-popup-blocking",
                 f"--user-data-dir={self.dir}",
                 f"--host-resolver-rules=MAP {name} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", f'exec 3<&{ours[0]} 4>&{theirs[1]}; exec "$@"', "bash", *words],
                                        pass_fds=(ours[0], theirs[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True, env=dict(os.environ, HOME=self.dir))
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.answers = ours[1], theirs[0]
        self.count, self.rest, self.session = 0, b"", None
        self.version = self.call("Browser.getVersion")["product"]
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(timeout=20)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        finally:
            os.close(self.to)
            os.close(self.answers)
            shutil.rmtree(self.dir, ignore_errors=True)

    def message(self):
        while b"\0" not in self.rest:
            assert select.select([self.answers], [], [], PATIENCE)[0], "Chromium says nothing"
            piece = os.read(self.answers, 65536)
            assert piece, "Chromium has ended"
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (answer := self.message()).get("id") != self.count:
            pass
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def open(self, url):
        """Goes there and waits until the document is complete."""
        went = self.call("Page.navigate", url=url)
        assert "errorText" not in went, went
        deadline = time.monotonic() + PATIENCE
        while self.run("return document.readyState + ' ' + location.href") != "complete " + url:
            assert time.monotonic() < deadline, url
            time.sleep(0.02)

    def run(self, body):
        """What the body of an async function returns in the tab's page, as if the user had clicked; its error as a text, "" after ten seconds."""
        late = "new Promise(done => setTimeout(() => done(''), 10000))"
        answer = self.call("Runtime.evaluate", expression="Promise.race([(async () => {" + body + "})(), " + late + "])", awaitPromise=True,
                           returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            return "error: " + answer["exceptionDetails"].get("exception", {}).get("description", "").split("\n")[0]
        return answer["result"].get("value")
