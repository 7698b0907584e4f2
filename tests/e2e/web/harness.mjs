// What the stories of the web page share: Debian's Chromium, a visit of the page, calls of the API, and the run of
// stories one after the other. A message on the console of the page that is no plain refusal of a call ends a story.
// Argument: the daemon's address. Variables: MUSTER_WEB, the folder with node_modules; STORY, a part of the names of
// the stories to run; SCREENS, a folder for pictures of the views.
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import assert from "node:assert/strict";

export const base = process.argv[2];
const require = createRequire(`${process.env.MUSTER_WEB}/package.json`);
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");
const screens = process.env.SCREENS ?? "";
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
export const complaints = [];

// The calls of each page that have not been answered. Of a stream the beginning is its answer.
const underWay = new WeakMap();
const streams = /\/v1\/events|\/logs\?/;
function keepAccount(page) {
  const calls = new Set();
  underWay.set(page, calls);
  const over = (request) => calls.delete(request);
  page.on("request", (request) => {
    // Of what the document before asked for nothing more is heard.
    if (request.isNavigationRequest()) calls.clear();
    calls.add(request);
  });
  page.on("response", (response) => streams.test(response.url()) && over(response.request()));
  page.on("requestfinished", over).on("requestfailed", over);
}

/** A page in a context of its own, as a new visitor has it. */
export async function visit(path, options = {}, from = base) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  keepAccount(page);
  // Trials beside this one make network interfaces, and the browser then gives up what is under way: no complaint of the page.
  const givenUp = (text) => text.includes("net::ERR_NETWORK_CHANGED");
  page.on("console", (message) => givenUp(message.text()) || complaints.push(`${path}: ${message.type()} ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`${path}: ${error.message}`));
  page.on("dialog", (dialog) => complaints.push(`${path}: a dialog says ${dialog.message()}`));
  await page.goto(from + path);
  return page;
}

export const api = async (method, path, body) => {
  const answer = await fetch(base + path, { method, headers: { "Content-Type": "application/json" }, ...(body ? { body: JSON.stringify(body) } : {}) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.json();
};

/** Forgets the complaints of which this is true. */
export const forgive = (one) => complaints.splice(0, complaints.length, ...complaints.filter((text) => !one(text)));
/** The browser itself writes to the console that a call was refused. */
export const forgiveRefusals = () => forgive((text) => /status of 4\d\d/.test(text));

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const patienceMs = 60_000;
const lookEveryMs = 25;

export async function until(what, check) {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(lookEveryMs)) if (await check()) return;
  assert.fail(`did not come: ${typeof what === "string" ? what : what()}`);
}

// So often in a row nothing may be under way: one answer leads to the next call.
const quietLooks = 5;

/** Waits until the page has read what its view shows, also what follows from answers, and has painted it. */
export async function settled(page) {
  await page.locator("main h1").waitFor();
  let quiet = 0;
  const calls = underWay.get(page);
  const waitsFor = () => `the view has read what it shows; on the way: ${[...calls].map((one) => one.url()).join(", ")}`;
  await until(waitsFor, async () => {
    const busy = calls.size > 0 || (await page.locator("main .loading").count()) > 0;
    quiet = busy ? 0 : quiet + 1;
    return quiet >= quietLooks;
  });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

const atOnce = 3;

/** Does the work for each of a list on a page that is used again; a few at a time, since most of the time is spent on waiting. */
export async function forEach(list, work, options = {}) {
  const rest = [...list];
  const some = async () => {
    try {
      const page = await visit("/ui/nowhere", options);
      // A call that is cut off by the next address may never be reported as over.
      await settled(page);
      while (rest.length > 0) await work(page, rest.shift());
      await page.context().close();
    } finally {
      rest.length = 0; // after a failure nothing more is begun
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(atOnce, rest.length) }, some));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

/** Signs in with a token, as its field does, and loads the page anew. */
export async function becomes(page, token) {
  await page.evaluate((text) => sessionStorage.setItem("muster.token", text), token);
  await page.reload();
}

const cores = ["<script>owned()</script>", "<img src=x onerror=owned()>", "<svg onload=owned()>", "javascript:owned()", "\"><iframe srcdoc='<script>parent.owned()</script>'>",
  "'-owned()-'", "${owned()}", "{{owned()}}", "</style><script>owned()</script>", "<a href=javascript:owned()>x</a>", "<math><mtext></form><form><mglyph><style></math><img src onerror=owned()>",
  "\u202egnp.exe", "\u0000<b>", "\u001b]0;owned\u0007", "__proto__", "constructor", "<template><script>owned()</script></template>", "<body onpageshow=owned()>", "\\u003cscript\\u003eowned()", "&lt;script&gt;owned()"];
// Words that the page compares with, and times.
const kept = /^\d{4}-\d\d-\d\dT|^(Held|Pending|Admitted|Running|Succeeded|Failed|Cancelled|True|False|Unknown|Job\w+)$/;

/** Each view with a hostile string in place of each text of each answer: all stay text. The number of the strings. */
export async function showsTexts(paths) {
  let used = 0;
  const next = () => `${cores[used % cores.length]}${"<".repeat(used % 7)}${used++}`;
  const spoilt = (value) => {
    if (typeof value === "string") return kept.test(value) ? value : next();
    if (Array.isArray(value)) return value.map(spoilt);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, key === "next_page_token" || key === "continue" ? "" : spoilt(one)]));
  };
  const answer = async (route) => {
    const url = route.request().url();
    if (url.includes("/v1/events")) return route.continue();
    if (url.includes("/logs")) return route.fulfill({ contentType: "text/plain", body: Array.from({ length: 300 }, next).join("\n") });
    const came = await route.fetch();
    // What the caller may do is no text.
    if (url.includes("accessreviews") || !came.headers()["content-type"]?.includes("json")) return route.fulfill({ response: came });
    const json = await came.json();
    // One row for each of many strings.
    if (json.items?.[0]?.namespace && /\/v1\/jobs\?/.test(url)) {
      json.items = Array.from({ length: 150 }, (_, index) => ({ ...json.items[index % json.items.length], id: index + 1 }));
      json.total = 150;
    }
    await route.fulfill({ status: came.status(), json: spoilt(json) });
  };
  const harmless = async (page, path) => {
    assert.equal(await page.locator("main img, main script, main iframe, main form[action], main svg:not(.bar svg, .chart svg), main style, main object").count(), 0, path);
    for (const link of await page.locator("a").evaluateAll((all) => all.map((one) => one.href))) assert.ok(link.startsWith(`${base}/ui`), `${path}: ${link}`);
  };
  const spoiltPages = new WeakSet();
  await forEach(paths, async (page, path) => {
    if (!spoiltPages.has(page)) {
      spoiltPages.add(page);
      await page.exposeFunction("owned", () => complaints.push(`${page.url()}: owned`));
      await page.route(/\/(v1|apis)\//, answer);
    }
    await page.goto(base + path);
    await settled(page);
    const log = page.getByRole("log");
    if (path.startsWith("/ui/jobs/") && (await log.count()) > 0 && (await page.getByRole("region", { name: "Pods" }).count()) > 0)
      await until("its output", async () => (await log.locator(":scope > div").count()) > 0);
    await harmless(page, path);
    for (const name of ["Difference", "As sent to its member", "Drain …", /^Edit /, "As a table"]) {
      const button = page.getByRole("button", { name }).first();
      if ((await button.count()) > 0 && (await page.getByRole("dialog").count()) === 0) await button.click();
    }
    await settled(page);
    await harmless(page, path);
  });
  return used;
}

/** What is looked at: its address, what is done there first, and the name of its picture. Each is opened once. */
const each = (looks, options, look) =>
  forEach(
    looks,
    async (page, [path, act, name]) => {
      await page.goto(base + path);
      await settled(page);
      if (act) {
        await act(page);
        await settled(page);
      }
      await look(page, path, name);
    },
    options,
  );

/** axe finds nothing in either theme; of the rules only those about colours can tell the themes of one document apart. The policy of the page refuses its script, so the policy is off for this alone. */
export async function readsWell(looks) {
  await each(looks, { bypassCSP: true, colorScheme: "light" }, async (page, path) => {
    await page.addScriptTag({ path: axe });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await settled(page);
      assert.equal(await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches), colorScheme === "dark");
      const colours = colorScheme === "dark" ? { runOnly: { type: "tag", values: ["cat.color"] } } : {};
      const found = await page.evaluate((only) => globalThis.axe.run(document, { resultTypes: ["violations"], ...only }), colours);
      assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`), [], `${path} in ${colorScheme}`);
    }
  });
}

/** No view is wider than its window; leaves the pictures. `long`: names of views of which the whole length is pictured. */
export async function fits(looks, long = () => false) {
  if (screens !== "") mkdirSync(screens, { recursive: true });
  await each(looks, { viewport: { width: 360, height: 740 } }, async (page, path, name) => {
    for (const width of [360, 1280, 1920]) {
      await page.setViewportSize({ width, height: width === 360 ? 740 : 900 });
      await page.emulateMedia({ colorScheme: width === 1920 ? "dark" : "light" });
      await settled(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${path} is ${wide} pixels wide in a window of ${width}`);
      if (screens !== "" && name) await page.screenshot({ path: `${screens}/${name}-${width}.png`, fullPage: long(name) });
    }
    await page.setViewportSize({ width: 360, height: 740 });
  });
}

/** Runs the stories, then ends this process: with 1 if one failed. */
export async function run(stories) {
  let failed = 0;
  const only = process.env.STORY ?? "";
  for (const [name, story] of Object.entries(stories)) {
    if (!name.includes(only)) continue;
    const from = Date.now();
    complaints.length = 0;
    try {
      await story();
      assert.deepEqual(complaints, []);
      console.log(`ok   ${name} (${Date.now() - from} ms)`);
    } catch (error) {
      ++failed;
      console.log(`FAIL ${name}: ${error.message}`);
    }
    for (const context of browser.contexts()) await context.close();
  }
  await browser.close();
  process.exit(failed === 0 ? 0 : 1);
}
