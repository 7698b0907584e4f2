// The clients of web_pages.py, one part for each run: `pages` does what open pages of the web page ask
// for, `tabs` opens real ones in Chromium. Each is told by lines of JSON on its standard input and
// answers with one line each.
import http from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [part, base, count] = process.argv.slice(2);
const address = new URL(base);
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function ask(agent, path) {
  return new Promise((done) => {
    const request = http.request({ host: address.hostname, port: address.port, agent, path }, (answer) => {
      let size = 0;
      answer.on("data", (piece) => (size += piece.length));
      answer.on("end", () => done({ status: answer.statusCode, size }));
    });
    request.on("error", () => done({ status: 0, size: 0 }));
    request.end();
  });
}

// --- pages: {"do": "open"}, {"do": "count"} or {"do": "close"} -> what was asked since the last line.
// A part of a view is read when it opens and again after events, as src/live/data.ts does it, at the pace of the page's own source.
const without = process.env.WITHOUT ?? "";
const need = createRequire(`${process.env.MUSTER_WEB}/package.json`);
const { Pace } = await (async () => {
  const made = need("esbuild").buildSync({ entryPoints: [`${process.env.MUSTER_WEB}/src/live/pace.ts`], write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].contents).toString("base64")}`);
})();
const day = () => encodeURIComponent(new Date(Math.floor((Date.now() - 86_400_000) / 60_000) * 60_000).toISOString());
const jobFields = "id,name,displayName,namespace,user,kind,state,queue,stopping,reason,message,cluster,submitTime,startTime,endTime";
const views = [
  ...Array(4).fill(() => [{ path: () => `/v1/jobs?since=${day()}&sort=-id&fields=${jobFields}&offset=0&limit=150`, gap: 3_000 }]),
  () => [{ path: () => `/v1/jobs?since=${day()}&search=change&sort=name&fields=${jobFields}&offset=0&limit=150`, gap: 3_000 }, { path: () => `/v1/jobcounts?since=${day()}&search=change&by=state`, gap: 5_000 }],
  () => [{ path: () => `/v1/jobs?since=${day()}&state=Running&sort=-id&fields=${jobFields}&offset=0&limit=150`, gap: 3_000 }],
  ...Array(2).fill((n) => {
    const id = 100 + n;
    const own = (event) => event.job === id;
    return [{ path: () => `/v1/jobs/${id}`, on: own, gap: 500 }, { path: () => `/v1/jobs/${id}/explain`, on: own, gap: 1_000, others: 15_000 }, { path: () => `/v1/jobs/${id}/events`, on: own, gap: 1_000 },
      { path: () => `/v1/jobs/${id}/pods`, on: own, gap: 2_000 }];
  }),
  () => [{ path: () => "/v1/quotas", gap: 2_000 }, { path: () => "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", gap: 2_000 }, { path: () => "/apis/kueue.x-k8s.io/v1beta1/cohorts", gap: 2_000 }],
  () => [{ path: () => `/v1/jobs?user=root&since=${day()}&sort=-id&limit=2000&fields=id,name,displayName,namespace,queue,state,reason,message,submitTime,admitTime,startTime,endTime`, gap: 4_000 }],
];

// What an event takes of a stream, about: clients that parse nothing count by it.
const eventBytes = 250;

class Page {
  constructor(number, asked) {
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 5 });
    this.asked = asked;
    this.open = true;
    this.parts = views[number % views.length](number).map((one) => ({ ...one, pace: new Pace(), timer: null, busy: false, wanted: false }));
  }
  start() {
    if (without === "requests" || without === "readers") this.parts = [];
    for (const one of this.parts) void this.read(one);
    this.stream = http.get({ host: address.hostname, port: address.port, path: "/v1/events" }, (answer) => {
      let rest = "";
      answer.on("data", (piece) => {
        if (without === "parsing" || without === "readers") return this.changed(Math.ceil(piece.length / eventBytes), []);
        const lines = (rest + piece).split("\n");
        rest = lines.pop();
        const events = lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6)));
        this.asked.events += events.length;
        if (events.length === 0) return;
        this.changed(events.length, events);
      });
      answer.on("error", () => undefined);
    });
    this.stream.on("error", () => undefined);
  }
  /** So many events came; `events`: those that may be of its own job. */
  changed(count, events) {
    for (const one of this.parts) {
      const own = one.on ? events.filter(one.on).length : count;
      if (own > 0) this.soon(one, one.gap, own);
      else if (one.others) this.soon(one, one.others, 0);
    }
  }
  soon(one, gap, events) {
    if (!this.open) return;
    one.pace.changed(gap, events, Date.now());
    clearTimeout(one.timer);
    one.timer = setTimeout(() => void this.read(one), Math.max(0, one.pace.due(Date.now()) - Date.now()));
  }
  async read(one) {
    if (one.busy) return void (one.wanted = true);
    one.busy = true;
    one.wanted = false;
    clearTimeout(one.timer);
    const from = Date.now();
    one.pace.begins(from);
    const { status, size } = await ask(this.agent, one.path());
    one.pace.ended(Date.now());
    one.busy = false;
    if (!this.open) return;
    ++this.asked.requests;
    this.asked.bytes += size;
    this.asked.ms += Date.now() - from;
    if (status !== 200) ++this.asked.bad;
    if (one.wanted) this.soon(one, one.gap, 0);
  }
  close() {
    this.open = false;
    this.stream.destroy();
    for (const one of this.parts) clearTimeout(one.timer);
    this.agent.destroy();
  }
}

async function pages() {
  let open = [];
  let asked = {};
  for await (const line of createInterface({ input: process.stdin })) {
    const before = asked;
    asked = { requests: 0, events: 0, bytes: 0, ms: 0, bad: 0 };
    const { do: told } = JSON.parse(line);
    if (told === "open") {
      open = Array.from({ length: Number(count) }, (_, number) => new Page(number, asked));
      for (const one of open) {
        one.start();
        await sleep(20);
      }
    } else if (told === "count") {
      for (const one of open) one.asked = asked;
    } else {
      for (const one of open) one.close();
      open = [];
    }
    say(before);
  }
}

// --- tabs: {"do": "open", "paths"}, {"do": "first", "path"}, {"do": "heap"}, {"do": "close"}
async function tabs() {
  const { chromium } = need("playwright-core");
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  let open = [];
  const visit = async (path) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.goto(base + path);
    const debug = await context.newCDPSession(page);
    return { path, page, context, debug };
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const told = JSON.parse(line);
    if (told.do === "open") {
      open = await Promise.all(told.paths.map(visit));
      say({});
    } else if (told.do === "first") {
      // From the begin of the navigation until the rows of the view are in the document and were painted.
      const { page, context } = await visit("/ui/nowhere");
      await context.addInitScript((wanted) => {
        const look = () => {
          if (document.querySelector(wanted)) requestAnimationFrame(() => (globalThis.seenAt = performance.now()));
          else requestAnimationFrame(look);
        };
        look();
      }, told.wanted);
      await page.goto(base + told.path);
      await page.waitForFunction(() => globalThis.seenAt !== undefined);
      say({ ms: await page.evaluate(() => globalThis.seenAt) });
      await context.close();
    } else if (told.do === "heap") {
      const heaps = [];
      for (const { path, debug } of open) {
        await debug.send("HeapProfiler.enable");
        await debug.send("HeapProfiler.collectGarbage");
        await debug.send("HeapProfiler.collectGarbage");
        const { usedSize } = await debug.send("Runtime.getHeapUsage");
        const { nodes, jsEventListeners } = await debug.send("Memory.getDOMCounters");
        heaps.push({ path, bytes: usedSize, nodes, listeners: jsEventListeners });
      }
      say({ heaps });
    } else {
      for (const { context } of open) await context.close();
      open = [];
      say({});
    }
  }
  await browser.close();
}

await { pages, tabs }[part]();
