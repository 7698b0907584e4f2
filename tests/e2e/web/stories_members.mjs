// The stories of the web page with real Kubernetes members, against the world of test_members_page.py (harness.mjs).
import assert from "node:assert/strict";
import { api, base, fits, readsWell, run, until, visit } from "./harness.mjs";

const numberOf = async (name) => (await api("GET", "/v1/jobs?limit=1000")).items.find((one) => one.name === name).id;
const budget = "/apis/placement.kubernetes-fleet.io/v1beta1/namespaces/default/resourceplacementdisruptionbudgets/kept";

const stories = {
  async "what drifted is told with its paths and both values"() {
    const page = await visit("/ui/placements");
    await page.getByText(/something failed, drifted or differs in .*team\/settings/).waitFor();
    await page.getByRole("link", { name: "team/settings" }).click();
    await page.getByText(/It places 1 object on member-[12], member-[12]; 1 failed, 1 drifted, 0 differ\./).waitFor();
    const cells = await page.getByRole("region", { name: "Drifted" }).locator("tbody td").allTextContents();
    assert.equal(cells[0], "ConfigMap team/settings");
    assert.match(cells[1], /\d\d:\d\d:\d\d/);
    assert.deepEqual(cells.slice(2), ["/data/a", "by hand", "1"]);
    await page.getByText("Applied no").first().waitFor();
  },
  async "what failed is told with its condition"() {
    const page = await visit("/ui/placements/team/not-ours");
    await page.getByText(/1 failed, 0 drifted/).waitFor();
    const failed = page.getByRole("region", { name: "Failed" });
    await failed.getByText("ConfigMap team/not-ours").waitFor();
    assert.match(await failed.textContent(), /NotTakenOver/);
    await page.getByText("ApplyFailed").first().waitFor();
  },
  async "a member has its machines, the room on them, and its taints"() {
    const page = await visit("/ui/members/member-2");
    await page.getByText("4 ready of 4").waitFor();
    await page.getByText("bed=out:NoSchedule").waitFor();
    const machines = page.getByRole("region", { name: "Machines by what is free on them" });
    assert.match(await machines.textContent(), /cpu.*4 with/);
    await page.goto(`${base}/ui/members`);
    await page.getByText("All 2 members are healthy.").waitFor();
    await page.getByText("taints bed=out:NoSchedule").waitFor();
  },
  async "the logs of all pods of a job are read, more than are followed at once"() {
    const page = await visit(`/ui/jobs/${await numberOf("talkative")}`);
    const log = page.getByRole("log");
    for (let pod = 0; pod < 5; ++pod) await until(`${pod + 1} pods`, async () => new Set(await log.locator(".log-pod").allTextContents()).size >= pod + 1);
    await page.getByText(/more than 3 pods are read again/).waitFor();
    await page.getByLabel("Times", { exact: true }).check();
    assert.equal(await log.locator("time[datetime]").count(), await log.locator(":scope > div").count());
    await page.getByText(/\d+ events of Muster, [1-9]\d* of its member/).click();
    await page.getByRole("region", { name: "Events of its member" }).getByText("SuccessfulCreate").first().waitFor();
    await page.getByRole("button", { name: "Difference" }).click();
    await page.locator(".plus", { hasText: "muster.io/" }).first().waitFor();
  },
  async "nothing is wrong for those who read with other means"() {
    await readsWell(looks);
  },
  async "every view fits its window"() {
    await fits(looks);
  },
  async "a drain tells the budget that holds, waits for it, and ends"() {
    // So that its jobs have somewhere to go.
    const untainted = await fetch(`${base}/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/member-2`, { method: "PATCH", headers: { "Content-Type": "application/merge-patch+json" }, body: '{"spec":{"taints":null}}' });
    assert.equal(untainted.status, 200, await untainted.text());
    const page = await visit("/ui/members/member-1");
    await page.getByRole("button", { name: "Drain …" }).click();
    await page.getByText("default/kept: at least 2 there").waitFor();
    await page.getByRole("button", { name: "Drain it" }).click();
    await page.getByText(/2 are kept by a budget/).waitFor();
    await page.getByText(/ResourcePlacementDisruptionBudget default\/kept keeps it/).first().waitFor();
    const { metadata } = await api("GET", budget);
    await api("PUT", budget, { apiVersion: "placement.kubernetes-fleet.io/v1beta1", kind: "ResourcePlacementDisruptionBudget", metadata, spec: { minAvailable: 1 } });
    await page.getByText("It is drained.").waitFor({ timeout: 60_000 });
    await page.goto(`${base}/ui/jobs/${await numberOf("kept-0")}`);
    await until("it runs on the other member", async () => (await api("GET", `/v1/jobs/${await numberOf("kept-0")}`)).cluster === "member-2");
    await page.getByRole("region", { name: "Attempts" }).getByText("member-1").first().waitFor();
  },
};

const looks = [
  ["/ui/placements", null, "placements-trouble"],
  ["/ui/placements/team/settings", null, "placement-drifted"],
  ["/ui/placements/team/not-ours", null, ""],
  ["/ui/members/member-2", null, "member-cluster"],
];

await run(stories);
