"""S10: a web page of another origin can make a user's browser send requests, and none of them is carried out or may be read.

Muster serves no page of its own yet. What a page of somebody else can do is known from the Fetch standard: requests without a preflight
(GET, HEAD and POST with the content type of a form), with Origin and Host as the browser sets them; a name of its own that leads here
(DNS rebinding); and anything else after a preflight that was allowed. Requests made by hand say each of these in every combination; a real
Chromium then does what its page can (s10_browser.py), so that none of it is only our idea of a browser.
"""
import http.client
import json
import time
import unittest

from muster_server import QUEUES, Server, shell_job
from s10_browser import Between, Chromium

EVIL = "http://evil.example"
FORMS = ("text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None)
PATHS = ("/v1/jobs", "/v1/whoami", "/v1/audit", "/metrics", "/openapi.yaml", "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/secrets",
         "/v1/events?since=0")
CHANGES = (("POST", "/v1/namespaces/default/jobs"), ("POST", "/v1/apply"), ("POST", "/v1/tokens"), ("POST", "/v1/jobs/1:hold"), ("POST", "/v1/memberclusters"),
           ("POST", "/v1/memberclusters/east:cordon"), ("POST", "/apis/batch/v1/namespaces/default/jobs"), ("POST", "/v1/simulate"),
           ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"), ("PUT", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main"),
           ("PATCH", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main"), ("DELETE", "/v1/jobs/1"))


# The name that the owner of the page lets lead to this host.
NAME = "evil.test"
# What a page does, by the name that its request carries in the query. TO is the address of musterd, JOB a manifest. What a script returns
# is what the page could read, and must hold nothing of musterd's.
SENT = {
    "form": "await form('text/plain', TO + '/v1/namespaces/default/jobs?try=form')",
    "form-urlencoded": "await form('application/x-www-form-urlencoded', TO + '/v1/apply?try=form-urlencoded')",
    "form-multipart": "await form('multipart/form-data', TO + '/v1/jobs/1:hold?try=form-multipart')",
    "fetch": "return await read('/v1/jobs?try=fetch', {})",
    "fetch-with-credentials": "return await read('/v1/whoami?try=fetch-with-credentials', {credentials: 'include'})",
    "fetch-no-cors": "return await read('/v1/jobs?try=fetch-no-cors', {mode: 'no-cors', credentials: 'include'})",
    "post": "return await read('/v1/namespaces/default/jobs?try=post', {method: 'POST', body: JOB, headers: {'Content-Type': 'text/plain'}})",
    "post-no-cors": "return await read('/v1/jobs/1:hold?try=post-no-cors', {method: 'POST', mode: 'no-cors', credentials: 'include'})",
    "post-kept-alive": "return await read('/v1/jobs/1:hold?try=post-kept-alive', {method: 'POST', mode: 'no-cors', keepalive: true})",
    "post-json": "return await read('/v1/namespaces/default/jobs?try=post-json', "
                 "{method: 'POST', body: JOB, headers: {'Content-Type': 'application/json'}})",
    "put": "return await read('/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main?try=put', {method: 'PUT', body: '{}'})",
    "patch": "return await read('/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main?try=patch', {method: 'PATCH', body: '{}'})",
    "delete": "return await read('/v1/jobs/1?try=delete', {method: 'DELETE'})",
    "header": "return await read('/v1/jobs?try=header', {headers: {'X-Muster-User': 'root'}})",
    "xhr": "return await new Promise(done => { const x = new XMLHttpRequest(); x.withCredentials = true; x.onloadend = () => done(x.responseText);"
           " x.open('POST', TO + '/v1/jobs/1:hold?try=xhr'); x.send(); })",
    "beacon": "navigator.sendBeacon(TO + '/v1/jobs/1:hold?try=beacon', 'x')",
    "beacon-json": "navigator.sendBeacon(TO + '/v1/namespaces/default/jobs?try=beacon-json', new Blob([JOB], {type: 'application/json'}))",
    "image": "return await element('img', {src: TO + '/v1/jobs?try=image'})",
    "script": "return await element('script', {src: TO + '/v1/jobs?try=script'})",
    "module": "return await element('script', {type: 'module', src: TO + '/v1/jobs?try=module'})",
    "style": "return await element('link', {rel: 'stylesheet', href: TO + '/v1/jobs?try=style'})",
    "video": "return await element('video', {src: TO + '/v1/jobs?try=video'})",
    "events": "return await new Promise(done => { const e = new EventSource(TO + '/v1/events?since=0&try=events');"
              " e.onerror = () => { e.close(); done('') }; for (const kind of ['message', 'job', 'event']) e.addEventListener(kind, m => done(m.data)); })",
    "socket": "return await new Promise(done => { const s = new WebSocket(TO.replace('http', 'ws') + '/v1/events?since=0&try=socket');"
              " s.onclose = () => done(''); s.onmessage = m => done(m.data); })",
    "frame": "return await frame('/v1/jobs?try=frame')",
}
# What has no answer of musterd's as its outcome: a browser asks for leave first (OPTIONS), and never sends what was meant.
PREFLIGHTS = {"post-json", "put", "patch", "delete", "header", "beacon-json"}
# Following a link and showing a document are no requests of the page, and what they show is not the page's to read (rule U43).
NAVIGATIONS = {"frame"}
PRELUDE = """
const read = async (path, how) => { try { return await (await fetch(TO + path, how)).text() } catch (e) { return '' } };
const rules = sheet => { try { return sheet ? [...sheet.cssRules].map(rule => rule.cssText).join() : '' } catch (e) { return '' } };
const element = (name, fields) => new Promise(done => { const e = Object.assign(document.createElement(name), fields);
  e.onload = e.onerror = e.onloadeddata = () => done(e.naturalWidth || rules(e.sheet));
  document.body.append(e); });
const loaded = url => new Promise(done => { const e = document.createElement('iframe'); e.name = 'f' + Math.random(); e.onload = () => done(e);
  if (url) e.src = url; document.body.append(e); });
const frame = async path => { try { return (await loaded(TO + path)).contentWindow.document.body.innerText } catch (e) { return '' } };
const form = (kind, action) => new Promise(async done => { const e = await loaded(''), f = document.createElement('form');
  Object.assign(f, {method: 'POST', enctype: kind, action, target: e.name}); const i = document.createElement('input');
  i.name = JOB.split('=')[0]; i.value = JOB.split('=')[1]; f.append(i); document.body.append(f); e.onload = done; f.submit(); });
"""


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.addClassCleanup(cls.server.close)
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)
        status, job = cls.server.call("POST", "/v1/namespaces/default/jobs", shell_job("victim", "sleep 600", requests={"cpu": "100"}))
        assert status == 201 and job["id"] == 1, job
        cls.here = f"127.0.0.1:{cls.server.port}"

    def send(self, method, path, headers, body=b"", host=None):
        """(status, headers, body) of a request with exactly these headers."""
        link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": host or self.here, **headers, "Content-Length": str(len(body))}.items():
                if value is not None:
                    link.putheader(name, value)
            link.endheaders(body)
            answer = link.getresponse()
            stream = answer.status == 200 and answer.getheader("Content-Length") is None
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, b"" if stream else answer.read()
        finally:
            link.close()

    def state(self):
        """All that a request could have changed, but for the audit trail."""
        paths = ("/v1/jobs?limit=1000", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                 "/apis/muster.io/v1/accesstokens", "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters")

        def without_times(value):
            if isinstance(value, dict):
                return {key: without_times(each) for key, each in value.items() if "time" not in key.lower() and key not in ("resourceVersion", "status")}
            return [without_times(each) for each in value] if isinstance(value, list) else value
        return [without_times(self.server.get(path)[1]) for path in paths]

    def test_requests_of_foreign_pages_do_nothing_and_tell_nothing(self):
        before, tried, wrong = self.state(), 0, []

        def judge(what, answer, allowed=(403,)):
            nonlocal tried
            tried += 1
            status, headers, body = answer
            shown = [name for name in headers if name.startswith("access-control-")]
            if status not in allowed or shown or b"victim" in body:
                wrong.append((what, status, shown, body[:200]))
        manifest = str(shell_job("planted", "true")).replace("'", '"').encode()
        for origin in (EVIL, "https://evil.example", "null", "http://127.0.0.1", f"http://localhost:{self.server.port + 1}", f"https://{self.here}",
                       f"http://{self.here}.evil.example", f"http://evil.example/?{self.here}", "file://"):
            for path in PATHS:
                judge(("GET", path, origin), self.send("GET", path, {"Origin": origin}))
                judge(("HEAD", path, origin), self.send("HEAD", path, {"Origin": origin}))
            for method, path in CHANGES:
                for kind in (*FORMS, "application/json"):
                    judge((method, path, origin, kind), self.send(method, path, {"Origin": origin, "Content-Type": kind}, manifest))
        # A name that the page's owner lets lead here: the page is of the same origin then.
        for host in ("evil.example", f"evil.example:{self.server.port}", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example",
                     f"127.0.0.1:{self.server.port}@evil.example", "evil.example.", "[::1].evil.example", "0x7f000001.evil"):
            for path in PATHS:
                judge(("GET", path, "rebound", host), self.send("GET", path, {}, host=host), (400, 403))
            for method, path in CHANGES:
                judge((method, path, "rebound", host),
                      self.send(method, path, {"Origin": f"http://{host}", "Content-Type": "application/json"}, manifest, host=host), (400, 403))
        # A preflight: never allowed, also for the server's own origin.
        for origin in (EVIL, "null", f"http://{self.here}"):
            for method, path in CHANGES:
                judge(("OPTIONS", path, origin), self.send("OPTIONS", path, {
                    "Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "content-type,authorization",
                    "Access-Control-Request-Private-Network": "true"}), (403, 405))
        print(f"\nS10: {tried} requests of foreign web pages, {len(wrong)} carried out or readable")
        self.assertEqual(wrong[:20], [])
        self.assertEqual(self.state(), before)
        self.assertGreater(tried, 900)

    def test_forms_without_an_origin_are_not_json(self):
        """No form can have the content type of a manifest; where no body is needed, the browser tells that the form is of another site."""
        before, tried, taken = self.state(), 0, []
        # What a form of type text/plain can send: one field whose name and value are the document around a "=".
        manifest = shell_job("planted", "true")
        manifest["metadata"]["annotations"] = {"a": "="}
        for method, path in CHANGES:
            if method != "POST":
                continue
            for kind in FORMS[:4]:
                for site in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"},
                             *([] if path.endswith((":hold", ":cordon")) else [{}])):
                    status, _, told = self.send(method, path, {"Content-Type": kind, **site}, json.dumps(manifest).encode())
                    tried += 1
                    if status not in (400, 403, 415):
                        taken.append((path, kind, site, status, told[:200]))
        for path in PATHS:
            for mode in ("no-cors", "cors"):
                status, _, told = self.send("GET", path, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode})
                tried += 1
                if status != 403:
                    taken.append((path, mode, status, told[:200]))
        print(f"\nS10: {tried} forms and images without an origin, {len(taken)} taken")
        self.assertEqual(taken, [])
        self.assertEqual(self.state(), before)

    def tried(self, between, chromium, page):
        """Lets the page try everything: what it could read, by the name of the try."""
        chromium.open(page)
        manifest = shell_job("planted", "true")
        manifest["metadata"]["annotations"] = {"a": "="}
        known = f"const TO = {json.dumps(f'http://127.0.0.1:{between.port}')}, JOB = {json.dumps(json.dumps(manifest))};"
        if f"//{NAME}:{between.port}/" in page:
            known = known.replace("127.0.0.1", NAME)
        del between.passed[:]
        read = {name: chromium.run(known + PRELUDE + script) for name, script in SENT.items()}
        # Beacons are sent when the browser likes.
        deadline = time.monotonic() + 30
        while {one.tag for one in between.passed} < set(SENT) and time.monotonic() < deadline:
            time.sleep(0.1)
        return read

    def test_a_real_browser_shows_and_sends_nothing_for_foreign_pages(self):
        between, elsewhere, chromium = Between(self.server.port), Between(self.server.port), Chromium(NAME)
        for one in (between, elsewhere, chromium):
            self.addCleanup(one.close)
        before, count, wrong = self.state(), 0, []
        for page in (f"http://127.0.0.1:{elsewhere.port}/page", f"http://localhost:{elsewhere.port}/page", f"http://{NAME}:{elsewhere.port}/page",
                     f"http://127.0.0.1:{elsewhere.port}/sandboxed", f"http://{NAME}:{between.port}/page"):
            rebound = f":{between.port}/" in page
            read = self.tried(between, chromium, page)
            self.assertEqual({one.tag for one in between.passed}, set(SENT), page)
            for one in between.passed:
                count += 1
                shown = one.tag in NAVIGATIONS and not rebound
                if one.status not in ((200,) if shown else (403,)):
                    wrong.append((page, one))
                if one.tag in PREFLIGHTS and not rebound and one.method != "OPTIONS":
                    wrong.append((page, "sent without leave", one))
            for name, text in read.items():
                # A rebound page may read that it is refused.
                if text and not (rebound and "the Host header names neither" in text):
                    wrong.append((page, name, "read", text[:200]))
        print(f"\nS10: {count} requests of foreign pages in {chromium.version}, {len(wrong)} carried out or readable")
        self.assertEqual(wrong, [])
        self.assertEqual(self.state(), before)

    def test_a_page_of_the_servers_own_origin_works(self):
        """The same browser may do all of it on a page of musterd's own address, so that what was refused above was refused for its origin."""
        between, chromium = Between(self.server.port), Chromium(NAME)
        self.addCleanup(between.close)
        self.addCleanup(chromium.close)
        chromium.open(f"http://127.0.0.1:{between.port}/v1/jobs")
        self.assertIn("victim", chromium.run("return document.body.innerText"))
        chromium.open(f"http://127.0.0.1:{between.port}/page")
        self.assertIn("victim", chromium.run("return await (await fetch('/v1/jobs')).text()"))
        job = json.dumps(json.dumps(shell_job("of-its-own-page", "sleep 600", requests={"cpu": "100"})))
        self.assertEqual(chromium.run("return (await fetch('/v1/namespaces/default/jobs', {method: 'POST', body: " + job + ", headers: "
                                      "{'Content-Type': 'application/json'}})).status"), 201)
        mine = next(one["id"] for one in self.server.jobs() if one["name"] == "of-its-own-page")
        self.assertEqual(chromium.run(f"return (await fetch('/v1/jobs/{mine}', {{method: 'DELETE'}})).ok"), True)

    def test_no_answer_invites_a_page(self):
        for path in (*PATHS[:-1], "/", "/nothing"):
            status, headers, _ = self.send("GET", path, {})
            self.assertNotIn("set-cookie", headers, path)
            self.assertFalse([name for name in headers if name.startswith("access-control-")], path)
            if status == 200:
                self.assertNotIn("html", headers.get("content-type", ""), path)


if __name__ == "__main__":
    unittest.main()
