// Signing in at an OpenID Connect provider (authorization code with PKCE) with the policy of the page on.
// Arguments: the daemon's address, the provider's.
import { createRequire } from "node:module";
import assert from "node:assert/strict";

const [base, issuer] = process.argv.slice(2);
const require = createRequire(`${process.env.MUSTER_WEB}/package.json`);
const { chromium } = require("playwright-core");

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage();
page.setDefaultTimeout(60_000);
const complaints = [];
// Pages of the provider write what they like; only ours must be silent. That a call was refused the browser
// writes by itself: alice has no rights here, and the keys of the provider are fetched when they are needed.
page.on("console", (message) => page.url().startsWith(base) && !/status of (401|403|503)/.test(message.text()) && complaints.push(message.text()));
page.on("pageerror", (error) => page.url().startsWith(base) && complaints.push(error.message));
const asked = [];
page.on("request", (request) => request.url().startsWith(`${issuer}/token`) && asked.push(request.postData()));
const sent = [];
page.on("request", (request) => request.url().startsWith(`${issuer}/auth?`) && sent.push(new URL(request.url()).searchParams));

const policy = (await page.goto(`${base}/ui/me?from=here`)).headers()["content-security-policy"];
assert.match(policy, new RegExp(`connect-src 'self' ${issuer};`));
// A wrong token, so that the page asks who is there.
await page.evaluate(() => sessionStorage.setItem("muster.token", "mst_wrong_token"));
await page.reload();
await page.getByRole("button", { name: "Sign in at corp" }).click();
await page.waitForURL(`${issuer}/**`);
await page.locator("input[name=login]").fill("alice");
await page.locator("input[name=password]").fill("x");
await page.locator("button[type=submit]").click();
await page.locator("button[type=submit]", { hasText: "Continue" }).click();
await page.waitForURL(`${base}/ui/me?from=here`);
await page.getByText("You are corp:alice").waitFor();
assert.equal(sent[0].get("code_challenge_method"), "S256");
assert.match(asked[0], /code_verifier=[\w-]{43}/);
assert.ok(!asked[0].includes("client_secret"));

// The token is renewed before it ends, more than once, and the page goes on with the new one.
const tokens = new Set();
for (let left = 300; tokens.size < 3 && left > 0; --left) {
  tokens.add(await page.evaluate(() => sessionStorage.getItem("muster.token")));
  await page.waitForTimeout(200);
}
assert.equal(tokens.size, 3, "it is renewed");
assert.ok(asked.slice(1).every((one) => /grant_type=refresh_token/.test(one) && !one.includes("client_secret")));
assert.ok(sent[0].get("scope").includes("offline_access"));
await page.reload();
await page.getByText("You are corp:alice").waitFor();
assert.equal(await page.getByRole("dialog").count(), 0, "nobody is asked to sign in again");

// A code that this tab did not ask for is not used.
const codes = () => asked.filter((one) => one.includes("authorization_code")).length;
const before = codes();
await page.goto(`${base}/ui/signed-in?code=stolen&state=other`);
await page.getByText("No sign-in of this tab is under way").waitFor();
assert.equal(codes(), before);
assert.deepEqual(complaints, []);
await browser.close();
