// The stories of the views of jobs and of the frame of the page, against the world of test_page.py (harness.mjs).
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import assert from "node:assert/strict";
import { api, base, becomes, fits, forgive, forgiveRefusals, readsWell, run, settled, showsTexts, until, visit } from "./harness.mjs";

// A line to the daemon that can be cut, on a port that is its own meanwhile too.
async function line() {
  const open = new Set();
  const server = createServer((socket) => {
    const to = connect(Number(new URL(base).port), "127.0.0.1");
    for (const [one, other] of [[socket, to], [to, socket]]) {
      open.add(one);
      one.on("error", () => other.destroy()).on("close", () => (open.delete(one), other.destroy()));
      one.pipe(other);
    }
  });
  const port = Number(process.env.LINE_PORT);
  const mend = () => new Promise((done) => server.listen(port, "127.0.0.1", done));
  await mend();
  const cut = () => new Promise((done) => (server.close(done), open.forEach((one) => one.destroy())));
  return { address: `http://127.0.0.1:${port}`, cut, mend };
}
const jobs = async () => (await api("GET", "/v1/jobs?limit=1000")).items;
const numberOf = async (name) => (await jobs()).find((one) => one.name === name).id;
// A job that waits.
const submit = (name) =>
  api("POST", "/v1/namespaces/vision/jobs", {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: "vision", labels: { "kueue.x-k8s.io/queue-name": "main" } },
    spec: { suspend: true, template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "debian:12", command: ["true"], resources: { requests: { cpu: "4" } } }] } } },
  });
const rows = (page) => page.locator(".table [role=row][aria-rowindex]:not([aria-rowindex='1'])");

const stories = {
  async "jobs are filtered, sorted, searched and counted, and the address says how"() {
    const page = await visit("/ui/jobs");
    await page.getByText("11 jobs").waitFor();
    await page.getByLabel("Search").fill("waiting");
    await page.getByText("6 jobs").waitFor();
    assert.match(page.url(), /search=waiting/);
    await page.getByText("muster get jobs -A --search waiting --since 24h").waitFor();
    await page.getByRole("button", { name: "Name", exact: true }).click();
    await until("the order", async () => (await rows(page).first().textContent()).includes("waiting-0"));
    await page.getByRole("button", { name: "Name", exact: true }).click();
    await until("the other order", async () => (await rows(page).first().textContent()).includes("waiting-5"));
    const again = await visit(page.url().slice(base.length));
    await until("the same by its address", async () => (await rows(again).first().textContent()).includes("waiting-5"));
    await again.getByRole("button", { name: "Clear all" }).click();
    await again.getByText("11 jobs").waitFor();
    await again.getByLabel("Count by").selectOption("state");
    await again.getByRole("list", { name: "Jobs by state" }).getByText("Failed").click();
    await again.getByText("1 job", { exact: true }).waitFor();
    assert.match(again.url(), /state=Failed/);
    await again.getByLabel("State", { exact: true }).selectOption("Cancelled");
    await again.getByText("No job matches.").waitFor();
  },
  async "columns are chosen, and views are saved"() {
    const page = await visit("/ui/jobs?search=waiting");
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByLabel("Priority").check();
    await page.keyboard.press("Escape");
    await page.getByRole("columnheader", { name: "Priority" }).waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Saved views" }).click();
    await page.getByLabel("Name", { exact: true }).fill("those that wait");
    await page.getByRole("button", { name: "Save this view" }).click();
    await page.getByRole("link", { name: "those that wait" }).waitFor();
    await page.goto(base + "/ui/jobs");
    await page.getByText("11 jobs").waitFor();
    await page.getByRole("button", { name: "Saved views" }).click();
    await page.getByRole("link", { name: "those that wait" }).click();
    await page.getByText("6 jobs").waitFor();
  },
  async "jobs are held, released and cancelled in bulk, each with its result"() {
    const page = await visit("/ui/jobs?search=waiting&sort=name");
    await page.getByText("6 jobs").waitFor();
    await page.getByLabel("Select all").check();
    await page.getByText("6 selected").waitFor();
    await page.getByRole("button", { name: "Hold 6" }).click();
    await page.getByRole("button", { name: "Hold 6 jobs" }).click();
    await page.getByText("6 of 6 asked: 6 done, 0 refused.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await until("they are held", async () => (await jobs()).filter((one) => one.state === "Held").length === 6);
    await until("the table says so", async () => (await page.locator(".state-held").count()) === 6);
    await page.getByRole("button", { name: "Select none" }).click();
    await page.getByLabel("Select all").check();
    await page.getByRole("button", { name: "Release 6" }).click();
    await page.getByRole("button", { name: "Release 6 jobs" }).click();
    await page.getByText("6 of 6 asked: 6 done, 0 refused.").waitFor();
    await page.keyboard.press("Escape");
    await until("they are released", async () => (await jobs()).every((one) => one.state !== "Held"));
    // One of the two has ended when it is asked: its refusal stands beside the other's success.
    await page.getByRole("button", { name: "Select none" }).click();
    await page.getByLabel(`Select ${await numberOf("waiting-0")}`).check();
    await page.getByLabel(`Select ${await numberOf("waiting-1")}`).check();
    await page.getByRole("button", { name: "Hold 2" }).click();
    await api("DELETE", `/v1/jobs/${await numberOf("waiting-1")}`);
    await page.getByRole("button", { name: "Hold 2 jobs" }).click();
    await page.getByText("2 of 2 asked: 1 done, 1 refused.").waitFor();
    await api("POST", `/v1/jobs/${await numberOf("waiting-0")}:release`);
    forgiveRefusals();
  },
  async "a job tells why it waits before anything else"() {
    const page = await visit(`/ui/jobs/${await numberOf("too-large")}`);
    await page.getByRole("heading", { name: "too-large" }).waitFor();
    const sentence = await page.locator(".sentence").textContent();
    assert.match(sentence, /needs 3 cpu/i);
    await page.getByText("position").waitFor();
    await page.getByRole("region", { name: "Quota by flavor" }).getByText("2 are used").waitFor();
    await page.getByText(`muster explain ${await numberOf("too-large")}`).waitFor();
  },
  async "a job shows what all its pods print, followed and searched"() {
    const page = await visit(`/ui/jobs/${await numberOf("printing")}`);
    const log = page.getByRole("log");
    await log.getByText(/step \d+ of pod 0/).first().waitFor();
    await log.getByText(/step \d+ of pod 1/).first().waitFor();
    const before = await log.locator("div").count();
    await until("more is printed", async () => (await log.locator("div").count()) > before + 2);
    await page.getByLabel("Search (regular expression)").fill("step [12] of pod 1");
    await page.getByText(/^2 of \d+ lines match/).waitFor();
    assert.equal(await log.locator("mark").count(), 2);
    await page.getByLabel("Search (regular expression)").fill("(");
    await page.getByText("is no regular expression").waitFor();
    await page.getByLabel("Search (regular expression)").fill("");
    await page.getByLabel("Times", { exact: true }).check();
    const stamped = log.locator("div", { hasText: "of pod 0" }).locator("time[datetime]");
    await until("several lines", async () => (await stamped.count()) > 4);
    const printed = await stamped.evaluateAll((all) => all.map((one) => Date.parse(one.dateTime)));
    const order = await log.locator("time[datetime]").evaluateAll((all) => all.map((one) => Date.parse(one.dateTime)));
    const begun = order.slice(0, 2 * printed.length - 4);
    assert.deepEqual(begun, [...begun].sort((a, b) => a - b), "the lines of all pods are in the order of their times");
    const waits = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const file = await waits;
    assert.match(file.suggestedFilename(), /^job-\d+\.log$/);
    const downloaded = readFileSync(await file.path(), "utf-8");
    assert.match(downloaded, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z step 0 of pod 0$/m);
    // The page shows when the lines were printed, as the file does; they came to the page at once.
    const lines = [...downloaded.matchAll(/^(\S+Z) step \d+ of pod 0$/gm)].map((one) => Date.parse(one[1]));
    assert.deepEqual(printed, lines.slice(0, printed.length));
    assert.ok(printed.at(-1) > printed[0]);
    await page.getByRole("button", { name: "Difference" }).click();
    await page.locator(".minus", { hasText: "suspend: true" }).waitFor();
    await page.locator(".plus", { hasText: "suspend: false" }).waitFor();
    await page.getByText(/events of Muster/).click();
    await page.getByRole("region", { name: "Events of Muster" }).getByText("JobStarted").waitFor();
  },
  async "the page is live, and can be paused"() {
    const page = await visit("/ui/jobs?search=comes-later");
    await page.getByText("No job matches.").waitFor();
    await page.locator(".live-live").waitFor();
    await submit("comes-later-1");
    await page.getByText("1 job", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused").waitFor();
    await submit("comes-later-2");
    await page.waitForTimeout(3_000);
    assert.equal(await page.getByText("1 job", { exact: true }).count(), 1);
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByText("2 jobs").waitFor();
    for (const name of ["comes-later-1", "comes-later-2"]) await api("DELETE", `/v1/jobs/${await numberOf(name)}`);
  },
  async "after a break the page goes on where it was"() {
    const { address, cut, mend } = await line();
    const page = await visit("/ui/jobs?search=meanwhile", {}, address);
    await page.locator(".live-live").waitFor();
    await cut();
    await page.locator(".live-stale").waitFor();
    await page.getByText("stale since").waitFor();
    await submit("meanwhile");
    await mend();
    await page.locator(".live-live").waitFor();
    await page.getByText("1 job", { exact: true }).waitFor();
    await api("DELETE", `/v1/jobs/${await numberOf("meanwhile")}`);
    await until("it is cancelled on the page", async () => (await page.locator("[role=row] .state-cancelled").count()) === 1);
    await page.context().close();
    await cut();
    forgive((one) => one.includes("net::ERR_"));
  },
  async "output that broke off goes on without a line lost or told twice"() {
    const { address, cut, mend } = await line();
    const page = await visit(`/ui/jobs/${await numberOf("printing")}`, {}, address);
    const log = page.getByRole("log");
    await page.getByLabel("Pod", { exact: true }).selectOption({ index: 1 });
    const steps = () => log.locator(":scope > div").evaluateAll((all) => all.map((one) => Number(/step (\d+) of/.exec(one.textContent)?.[1] ?? -1)));
    await until("its output", async () => (await steps()).length > 2);
    for (let round = 0; round < 2; ++round) {
      await cut();
      await page.getByText("The output broke off.").waitFor();
      const before = (await steps()).length;
      // Printed while nobody is there to hear it.
      await page.waitForTimeout(2_500);
      await mend();
      await until("more than before", async () => (await steps()).length > before + 2);
      assert.equal(await page.getByText("The output broke off.").count(), 0);
      const told = await steps();
      assert.deepEqual(told, Array.from({ length: told.length }, (_, i) => told[0] + i));
    }
    await page.context().close();
    await cut();
    forgive((one) => one.includes("net::ERR_"));
  },
  async "a log that is ended by a daemon that stops goes on while its pod runs"() {
    const number = await numberOf("printing");
    const pod = (await api("GET", `/v1/jobs/${number}/pods`)).items[0].name;
    const all = await (await fetch(`${base}/v1/jobs/${number}/logs?pod=${pod}&timestamps=true`)).text();
    const begin = `${all.split("\n").slice(0, 2).join("\n")}\n${all.split("\n")[2].slice(0, 40)}`;
    const page = await visit("/ui/me");
    const asked = [];
    await page.route(/\/logs\?.*follow=true/, (route) => {
      const { searchParams } = new URL(route.request().url());
      if (searchParams.get("pod") !== pod) return route.continue();
      asked.push(searchParams.get("offset"));
      // The first answer ends in the middle of a line, in good order.
      return asked.length > 1 ? route.continue() : route.fulfill({ contentType: "text/plain", headers: { "Muster-Log-Offset": "0.0" }, body: begin });
    });
    await page.goto(`${base}/ui/jobs/${number}`);
    const lines = page.getByRole("log").locator(":scope > div", { hasText: pod });
    await until("the rest of it", async () => (await lines.count()) > 4);
    assert.deepEqual(asked, [null, `0.${Buffer.byteLength(begin)}`]);
    const steps = await lines.evaluateAll((some) => some.map((one) => Number(/step (\d+) of/.exec(one.textContent)?.[1] ?? -1)));
    assert.deepEqual(steps, steps.map((_, i) => i));
  },
  async "a page that nobody looks at follows nothing, and shows what is when it is looked at again"() {
    const page = await visit("/ui/nowhere");
    await page.clock.install();
    const feeds = [];
    page.on("request", (request) => request.url().includes("/v1/events") && feeds.push(request));
    await page.goto(`${base}/ui/jobs?search=unseen`);
    await page.getByText("No job matches.").waitFor();
    await page.locator(".live-live").waitFor();
    const seen = (how) =>
      page.evaluate((value) => {
        Object.defineProperty(document, "visibilityState", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, how);
    const followed = () => feeds.filter((one) => one.failure() === null).length;
    await seen("hidden");
    await page.clock.fastForward(30_000);
    await settled(page);
    assert.equal(followed(), 1, "a short while is nothing");
    await page.clock.fastForward(35_000);
    await until("the feed has ended", async () => followed() === 0);
    const before = feeds.length;
    await submit("unseen");
    await page.clock.fastForward(30_000);
    await settled(page);
    assert.equal(feeds.length, before, "it is not followed again");
    await page.getByText("No job matches.").waitFor();
    await seen("visible");
    await page.locator(".live-live").waitFor();
    await settled(page);
    assert.equal(feeds[before].headers()["last-event-id"], undefined, "what came meanwhile is read, not followed");
    await page.clock.fastForward(5_000);
    await page.getByText("1 job", { exact: true }).waitFor();
    await settled(page);
    await api("DELETE", `/v1/jobs/${await numberOf("unseen")}`);
    await until("it is cancelled on the page", async () => (await page.locator("[role=row] .state-cancelled").count()) === 1);
  },
  async "everything can be reached by keys"() {
    const page = await visit("/ui/me");
    await page.getByText("You are root").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    // The page is busy before it hears the second key, which was pressed at once.
    await page.evaluate(() => {
      const busy = (event) => {
        if (event.key !== "j") return;
        removeEventListener("keydown", busy, true);
        for (const end = performance.now() + 1_500; performance.now() < end; );
      };
      addEventListener("keydown", busy, true);
    });
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    const ended = String(await numberOf("ended"));
    // What is typed at once goes into the box, on a slow machine too, which has not painted it yet.
    const machine = await page.context().newCDPSession(page);
    await machine.send("Emulation.setCPUThrottlingRate", { rate: 20 });
    await page.keyboard.press("/");
    await page.keyboard.type(ended);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "ended" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "main", "one goes on in the view that was opened");
    await machine.send("Emulation.setCPUThrottlingRate", { rate: 1 });
    await page.keyboard.press("b");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await until("rows", async () => (await rows(page).count()) > 5);
    await page.keyboard.press("t");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Space");
    await page.getByText("1 selected").waitFor();
    await page.keyboard.press("Enter");
    await until("a job opens", async () => /\/ui\/jobs\/\d+$/.test(page.url()));
    await page.keyboard.press("u");
    await page.getByRole("button", { name: /Times are UTC/ }).waitFor();
  },
  async "text of a job stays text"() {
    const page = await visit("/ui/jobs?search=onerror");
    await page.getByText(process.env.HOSTILE).waitFor();
    await page.locator("[role=row] a").click();
    await page.getByRole("heading", { name: process.env.HOSTILE }).waitFor();
    await until("its output", async () => (await page.getByRole("log").textContent()).includes("<script>alert(2)"));
    assert.equal(await page.locator("main img, main script").count(), 0);
  },
  async "2,000 hostile strings in every text of every answer stay text"() {
    const used = await showsTexts(["/ui/jobs?by=reason", "/ui/me", `/ui/jobs/${await numberOf("printing")}`, `/ui/jobs/${await numberOf("too-large")}`]);
    assert.ok(used >= 2_000, `${used} strings`);
  },
  async "an address of nothing says so"() {
    const page = await visit("/ui/nowhere");
    await page.getByText("There is nothing here").waitFor();
    await page.goto(`${base}/ui/jobs/4711`);
    await page.getByText("does not exist").first().waitFor();
    forgiveRefusals();
  },
  async "a token signs in, and a refusal names what was refused"() {
    const page = await visit("/ui/me");
    await becomes(page, process.env.BOBS_TOKEN);
    await page.getByText("You are bob").waitFor();
    await page.goto(`${base}/ui/jobs/${await numberOf("printing")}`);
    await page.getByRole("heading", { name: "printing" }).waitFor();
    await settled(page);
    assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0, "what bob may not is hidden");
    // Shown by a page that was lied to, it is refused all the same.
    await page.route("**/selfsubjectaccessreviews", (route) => route.fulfill({ json: { status: { allowed: true } } }));
    await page.reload();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel 1 job" }).click();
    await page.getByText("1 of 1 asked: 0 done, 1 refused.").waitFor();
    const refusal = await page.locator(".outcomes").textContent();
    assert.match(refusal, /delete/);
    assert.match(refusal, /jobs/);
    assert.match(refusal, /vision/);
    console.log(`     ${refusal}`);
    await becomes(page, "mst_wrong_token");
    await page.getByRole("dialog", { name: "Sign in" }).waitFor();
    await page.getByLabel("Token").fill(process.env.BOBS_TOKEN);
    await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "bob" }).waitFor();
    forgiveRefusals();
  },
  async "nothing is wrong for those who read with other means"() {
    await readsWell([...(await looks()), ["/ui/nowhere"]]);
  },
  async "every view fits its window"() {
    await fits(await looks(), (name) => name.startsWith("job-"));
  },
};

const printed = (page) => page.getByRole("log").getByText(/step \d+ of pod 1/).first().waitFor();
const looks = async () => [
  ["/ui/jobs?by=state", null, "jobs"],
  [`/ui/jobs/${await numberOf("printing")}`, printed, "job-running"],
  [`/ui/jobs/${await numberOf("too-large")}`, null, "job-waiting"],
  ["/ui/me", null, "me"],
];

await run(stories);
