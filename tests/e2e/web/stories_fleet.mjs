// The stories of the views of queues, members, placements, submission, history, simulation and audit, against the
// world of test_fleet_page.py (harness.mjs).
import assert from "node:assert/strict";
import { api, base, becomes, fits, forEach, forgiveRefusals, readsWell, run, settled, showsTexts, until, visit } from "./harness.mjs";

const gpu = "nvidia.com/gpu";
const nominal = async () => (await api("GET", "/v1/quotas?clusterQueue=team-vision")).items.find((one) => one.resource === gpu).nominal;

const stories = {
  async "home tells what is mine, what needs me and what changed"() {
    const page = await visit("/ui/");
    await page.getByRole("heading", { name: "Home of root" }).waitFor();
    await page.getByText(/Since yesterday \d+ succeeded, 1 failed/).waitFor();
    await page.getByText("It failed. Read the end of its log.").waitFor();
    await page.getByRole("region", { name: "My open jobs" }).getByRole("link", { name: /big-gang/ }).click();
    await page.getByRole("heading", { name: "big-gang" }).waitFor();
  },
  async "the cohort tree says who borrows, from whom and since when"() {
    const page = await visit("/ui/queues");
    await page.getByText("team-vision borrows.").waitFor();
    await page.getByText(/Borrows 4 at least since .* for root\. Lent by team-speech/).waitFor();
    await page.getByRole("img", { name: /nvidia.com\/gpu of standard: own 8, borrowed 4, .*nominal 8, at most 16/ }).waitFor();
    await page.getByLabel("Queue or cohort").fill("spare");
    await until("the others are gone", async () => (await page.getByRole("link", { name: "team-vision" }).count()) === 0);
    assert.match(page.url(), /search=spare/);
  },
  async "a queue shows its order, and an edit of its quota shows what it would do before it is saved"() {
    const page = await visit("/ui/queues/team-vision");
    const order = page.getByRole("region", { name: "Jobs that wait, in order" });
    await order.getByText("second-gang").waitFor();
    const cells = await order.locator("tbody tr td:first-child").allTextContents();
    assert.deepEqual(cells, ["1", "2"]);
    await page.getByRole("button", { name: `Edit ${gpu} of standard` }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Nominal quota").fill("many");
    await dialog.getByRole("button", { name: "Show what it would do" }).click();
    await dialog.getByRole("alert").getByText(/nominal/i).waitFor();
    await dialog.getByLabel("Nominal quota").fill("16");
    assert.equal(await dialog.getByRole("button", { name: "Save" }).count(), 0, "nothing is saved unseen");
    await dialog.getByRole("button", { name: "Show what it would do" }).click();
    await dialog.getByText("It would admit 1").waitFor();
    await dialog.getByText("vision/second-gang").waitFor();
    await dialog.getByText("It would preempt no job.").waitFor();
    assert.equal(await nominal(), "8");
    await dialog.getByLabel("Nominal quota").fill("9");
    assert.equal(await dialog.getByRole("button", { name: "Save" }).count(), 0, "another value is looked at anew");
    await dialog.getByRole("button", { name: "Show what it would do" }).click();
    await dialog.getByText("It would admit no job.").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await until("it is saved", async () => (await nominal()) === "9");
    await page.getByRole("region", { name: "Quotas" }).getByText("9", { exact: true }).waitFor();
    forgiveRefusals();
  },
  async "a member is cordoned, drained and taken back"() {
    const page = await visit("/ui/members");
    await page.getByText("All 3 members are healthy.").waitFor();
    await page.getByRole("link", { name: "west" }).click();
    await page.getByRole("heading", { name: "Member west" }).waitFor();
    await page.getByRole("region", { name: "Jobs of this member" }).getByText("placed").waitFor();
    await page.getByRole("link", { name: "vision/to-west" }).waitFor();
    await page.getByRole("button", { name: "Cordon", exact: true }).click();
    await page.getByText("it is cordoned and takes no new jobs").waitFor();
    await page.getByRole("button", { name: "Uncordon" }).click();
    await page.getByRole("button", { name: "Cordon", exact: true }).waitFor();
    await page.goto(`${base}/ui/members/sim`);
    await page.getByRole("button", { name: "Drain …" }).click();
    await page.getByText("None: all of them are evicted at once.").waitFor();
    await page.getByRole("button", { name: "Drain it" }).click();
    await page.getByText("It is drained.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("it is being drained").waitFor();
    await page.getByRole("button", { name: "Uncordon" }).click();
    await page.getByRole("button", { name: "Cordon", exact: true }).waitFor();
  },
  async "a placement has its six conditions, in all and on its member"() {
    const page = await visit("/ui/placements");
    await page.getByRole("link", { name: "vision/to-west" }).click();
    await page.getByText("It places 1 object on west; 0 failed, 0 drifted, 0 differ.").waitFor();
    for (const type of ["Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available"]) {
      assert.equal(await page.getByText(`${type} yes`).count(), 2, type);
    }
  },
  async "a script and manifests are checked before they are submitted"() {
    const page = await visit("/ui/submit?namespace=vision&queue=gpu");
    assert.ok(await page.getByRole("button", { name: "Check" }).isDisabled());
    const text = page.getByLabel("Manifests (YAML or JSON), or a batch script");
    await text.fill("apiVersion: batch/v1\nkind: Job\nmetadata: {name: wrong}\nspec: {template: {spec: {restartPolicy: Sometimes}}}\n");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByRole("alert").getByText("spec.template.spec.containers").waitFor();
    await page.getByRole("button", { name: "Example of a script" }).click();
    await page.getByText("This is a batch script.").waitFor();
    const before = (await api("GET", "/v1/jobs?limit=1000")).items.length;
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText(/It would go to queue gpu, with 2 CPUs/).waitFor();
    assert.equal((await api("GET", "/v1/jobs?limit=1000")).items.length, before);
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByRole("link", { name: /^Job \d+ vision\// }).waitFor();
    assert.equal((await api("GET", "/v1/jobs?limit=1000")).items.length, before + 1);
    await text.fill("apiVersion: v1\nkind: Namespace\nmetadata: {name: fresh}\n---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: q, namespace: fresh}\nspec: {clusterQueue: spare}\n");
    await page.getByText("These are several manifests").waitFor();
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("LocalQueue fresh/q would be created").waitFor();
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByText("LocalQueue fresh/q created").waitFor();
    forgiveRefusals();
  },
  async "the audit trail is filtered, and the address says how"() {
    const page = await visit("/ui/audit?object=clusterqueue/team-vision&verb=update");
    await page.getByText(/nominal 8 → 9/).waitFor();
    await page.getByLabel("Result").selectOption("refused");
    await page.getByText("No row matches.").waitFor();
    assert.match(page.url(), /result=refused/);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("region", { name: "The audit trail, the newest first" }).getByText("membercluster/sim").first().waitFor();
  },
  async "history has waits and use, as curves and as tables"() {
    const page = await visit(`/ui/history?span=1h&resource=${encodeURIComponent(gpu)}`);
    await page.getByRole("img", { name: /Wait from submission to start\. p50: at most/ }).waitFor();
    await page.getByRole("img", { name: /nvidia.com\/gpu used against quota\. used: at most \d.*quota now: at most 21/ }).waitFor();
    await page.getByRole("button", { name: "As a table" }).first().click();
    await page.getByRole("region", { name: "Wait from submission to start" }).waitFor();
    await page.getByRole("region", { name: "User" }).getByRole("link", { name: "root" }).click();
    await until("the user stands in the address", async () => /user=root/.test(page.url()));
    await page.getByLabel("Time", { exact: true }).selectOption("2160h");
    assert.match(page.url(), /span=2160h/);
  },
  async "a change is played against the accounting, two curves beside each other"() {
    const page = await visit("/ui/simulate");
    assert.ok(await page.getByRole("button", { name: "Play" }).isDisabled());
    await page.getByLabel("Add the quota of").selectOption({ label: `team-vision: ${gpu} of standard, now 9` });
    const change = page.getByLabel("The change, one edit on a line");
    assert.equal(await change.inputValue(), `clusterqueue/team-vision:standard/${gpu}=9`);
    await change.fill("clusterqueue/none:standard/cpu=+1");
    await page.getByRole("button", { name: "Play" }).click();
    await page.getByRole("alert").getByText(/none/).waitFor();
    await change.fill(`clusterqueue/team-vision:standard/${gpu}=1\nclusterqueue/team-vision:standard/${gpu}.borrowingLimit=1`);
    await page.getByRole("button", { name: "Play" }).click();
    const outcome = page.getByText(/With the change, the jobs that start wait .*; \d+ never starts? instead of \d+/);
    await outcome.waitFor();
    const [, changed, asIs] = /(\d+) never starts? instead of (\d+)/.exec(await outcome.textContent());
    // The gang that runs does not fit any more, and those that wait behind it are played too.
    assert.ok(Number(changed) > Number(asIs), `${changed} and ${asIs}`);
    await page.getByText(/of those that have not started \(\d+\) it is taken that they run as long as others/).waitFor();
    const name = await page.getByRole("img", { name: /gpu held/ }).getAttribute("aria-label");
    assert.match(name, /as it is: at most 1\d.*with the change: at most 2/, name);
    forgiveRefusals();
  },
  async "keys lead to each view"() {
    const page = await visit("/ui/me");
    await page.getByText("You are root").waitFor();
    for (const [key, title] of Object.entries({ h: "Home of root", s: "Submit", q: "Queues", m: "Members", l: "Placements", y: "History", w: "Simulate", a: "Audit" })) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.getByRole("heading", { name: title, exact: true }).waitFor();
      await page.locator("body").click({ position: { x: 1, y: 1 } });
    }
  },
  async "what a tenant may not do is hidden, and refused with verb, resource and namespace"() {
    const page = await visit("/ui/me");
    await becomes(page, process.env.BOBS_TOKEN);
    await page.getByText("You are bob").waitFor();
    await until("the menu is short", async () => (await page.getByRole("navigation").getByRole("link", { name: "Audit" }).count()) === 0);
    await page.goto(`${base}/ui/members/west`);
    await page.getByRole("heading", { name: "Member west" }).waitFor();
    await settled(page);
    assert.equal(await page.getByRole("button", { name: /Cordon|Drain/ }).count(), 0, "what bob may not is hidden");
    await page.goto(`${base}/ui/queues/team-vision`);
    await page.getByRole("heading", { name: "Queue team-vision" }).waitFor();
    await settled(page);
    assert.equal(await page.getByRole("button", { name: /^Edit/ }).count(), 0, "what bob may not is hidden");
    await page.goto(`${base}/ui/audit`);
    await page.getByRole("alert").getByText(/list/).getByText(/audit/).waitFor();
    await page.goto(`${base}/ui/submit?namespace=speech`);
    await page
      .getByLabel("Manifests (YAML or JSON), or a batch script")
      .fill("apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: mine, namespace: speech}\nspec: {clusterQueue: team-speech}\n");
    await page.getByRole("button", { name: "Check" }).click();
    const refusal = page.locator("form").getByRole("alert");
    await refusal.waitFor();
    const words = await refusal.textContent();
    assert.match(words, /create/);
    assert.match(words, /localqueues/);
    assert.match(words, /speech/);
    console.log(`     ${words}`);
    // Shown by a page that was lied to, it is refused all the same.
    await page.route("**/selfsubjectaccessreviews", (route) => route.fulfill({ json: { status: { allowed: true } } }));
    await page.goto(`${base}/ui/members/west`);
    await page.getByRole("button", { name: "Cordon", exact: true }).click();
    const cordon = page.getByRole("alert").filter({ hasText: "memberclusters" });
    await cordon.waitFor();
    assert.match(await cordon.textContent(), /update/);
    await page.goto(`${base}/ui/queues/team-vision`);
    await page.getByRole("button", { name: `Edit ${gpu} of standard` }).click();
    await page.getByRole("button", { name: "Show what it would do" }).click();
    await page.getByRole("dialog").getByRole("alert").getByText(/update.*clusterqueues/).waitFor();
    forgiveRefusals();
  },
  async "two thousand hostile texts stay texts"() {
    const paths = ["/ui/home", "/ui/jobs?search=__hit", "/ui/queues/team-speech", "/ui/history?span=1h", "/ui/audit?object=job/", "/ui/members/west", "/ui/simulate"];
    const hostile = (await api("GET", "/v1/jobs?limit=2000&search=__hit&sort=-id")).items.map((one) => one.id);
    assert.ok(hostile.length >= 400, `${hostile.length} jobs with hostile names`);
    await forEach([...paths, ...hostile.filter((_, i) => i % 40 === 0).map((id) => `/ui/jobs/${id}`)], async (page, path) => {
      await page.goto(base + path);
      await settled(page);
      const seen = await page.evaluate(() => [globalThis.__hit, document.querySelectorAll("main :is(script, iframe, object, embed, img, [onerror], [onload], [onclick], a[href^=javascript])").length, document.title]);
      assert.deepEqual(seen.slice(0, 2), [undefined, 0], path);
    });
    const page = await visit("/ui/jobs?search=__hit");
    const table = page.getByRole("table").or(page.getByRole("grid")).first();
    await table.waitFor();
    for (let at = 0; at < 40; ++at) await page.evaluate((n) => document.querySelector(".table").scrollTo(0, n * 400), at);
    await settled(page);
    assert.equal(await page.evaluate(() => globalThis.__hit), undefined);
    assert.ok((await page.locator("main").textContent()).includes("<"), "they are shown as text");
  },
  async "a hostile text in any field of a manifest is shown as text"() {
    const accepted = JSON.parse(process.env.ACCEPTED ?? "[]");
    assert.ok(accepted.length > 40, `${accepted.length} accepted`);
    await forEach(accepted.filter((_, i) => i % 7 === 0), async (page, id) => {
      await page.goto(`${base}/ui/jobs/${id}`);
      await page.getByRole("button", { name: "As submitted" }).click();
      await page.locator("pre.code").waitFor();
      assert.deepEqual(await page.evaluate(() => [globalThis.__hit, document.querySelectorAll("main :is(script, iframe, object, embed, img, [onerror], [onload], [onclick], a[href^=javascript])").length]), [undefined, 0], `job ${id}`);
    });
  },
  async "hostile strings in every text of every answer stay texts in every other view"() {
    const used = await showsTexts(looks.filter(([, act]) => act === null).map(([path]) => path));
    assert.ok(used >= 2_000, `${used} strings`);
    forgiveRefusals();
  },
  async "texts in addresses and fields stay texts"() {
    const bad = '"><img src=x onerror=globalThis.__hit=1>';
    await forEach([`/ui/queues/${encodeURIComponent(bad)}`, `/ui/members/${encodeURIComponent(bad)}`, `/ui/placements/${encodeURIComponent(bad)}/x`, `/ui/queues?search=${encodeURIComponent(bad)}`, `/ui/history?user=${encodeURIComponent(bad)}`, `/ui/audit?user=${encodeURIComponent(bad)}`, `/ui/simulate?set=${encodeURIComponent(bad)}`, `/ui/submit?namespace=${encodeURIComponent(bad)}`], async (page, path) => {
      await page.goto(base + path);
      await settled(page);
      assert.deepEqual(await page.evaluate(() => [globalThis.__hit, document.querySelectorAll("main img").length]), [undefined, 0], path);
    });
    forgiveRefusals();
  },
  async "nothing is wrong for those who read with other means"() {
    await readsWell(looks);
  },
  async "every view fits its window"() {
    await fits(looks);
  },
};

const edit = async (page) => {
  await page.getByRole("button", { name: `Edit ${gpu} of standard` }).click();
  await page.getByLabel("Nominal quota").fill("24");
  await page.getByRole("button", { name: "Show what it would do" }).click();
  await page.getByText(/It would admit/).first().waitFor();
};
const play = async (page) => {
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByText(/With the change, the jobs that start/).waitFor();
};
const check = async (page) => {
  await page.getByRole("button", { name: "Example of a script" }).click();
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("It is accepted").waitFor();
};
const drain = async (page) => {
  await page.getByRole("button", { name: "Drain …" }).click();
  await page.getByText(/None: all/).waitFor();
};
const looks = [
  ["/ui/home", null, "home"],
  ["/ui/queues", null, "queues"],
  ["/ui/queues/team-vision", null, "queue"],
  ["/ui/queues/team-vision", edit, "queue-edit"],
  ["/ui/members", null, "members"],
  ["/ui/members/west", null, "member"],
  ["/ui/members/west", drain, "member-drain"],
  ["/ui/placements", null, "placements"],
  ["/ui/placements/vision/to-west", null, "placement"],
  ["/ui/submit?namespace=vision&queue=gpu", check, "submit"],
  ["/ui/audit?object=clusterqueue/", null, "audit"],
  [`/ui/history?span=1h&resource=${encodeURIComponent(gpu)}`, null, "history"],
  [`/ui/simulate?span=24h&set=${encodeURIComponent(`clusterqueue/team-vision:standard/${gpu}=1\nclusterqueue/team-vision:standard/${gpu}.borrowingLimit=1`)}`, play, "simulate"],
];

await run(stories);
