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

/** A page in a context of its own, as a new visitor has it. */
export async function visit(path, options = {}, from = base) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.on("console", (message) => complaints.push(`${path}: ${message.type()} ${message.text()}`));
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

export async function until(what, check) {
  for (let left = 150; left > 0; --left) {
    if (await check()) return;
    await new Promise((done) => setTimeout(done, 200));
  }
  assert.fail(`did not come: ${what}`);
}

/** Signs in with a token, as its field does, and loads the page anew. */
export async function becomes(page, token) {
  await page.evaluate((text) => sessionStorage.setItem("muster.token", text), token);
  await page.reload();
}

/** What is looked at: its address, what is done there first, and the name of its picture. */
async function each(looks, options, look) {
  for (const [path, act, name] of looks) {
    const page = await visit(path, options);
    await page.locator("main h1").waitFor();
    await page.waitForTimeout(900);
    if (act) await act(page);
    await look(page, path, name);
    await page.context().close();
  }
}

/** axe finds nothing in either theme. The policy of the page refuses its script, so the policy is off for this alone. */
export async function readsWell(looks) {
  for (const colorScheme of ["light", "dark"]) {
    await each(looks, { bypassCSP: true, colorScheme }, async (page, path) => {
      await page.addScriptTag({ path: axe });
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`), [], `${path} in ${colorScheme}`);
    });
  }
}

/** No view is wider than its window; leaves the pictures. `long`: names of views of which the whole length is pictured. */
export async function fits(looks, long = () => false) {
  if (screens !== "") mkdirSync(screens, { recursive: true });
  for (const width of [360, 1280, 1920]) {
    await each(looks, { viewport: { width, height: width === 360 ? 740 : 900 }, colorScheme: width === 1920 ? "dark" : "light" }, async (page, path, name) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${path} is ${wide} pixels wide in a window of ${width}`);
      if (screens !== "" && name) await page.screenshot({ path: `${screens}/${name}-${width}.png`, fullPage: long(name) });
    });
  }
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
