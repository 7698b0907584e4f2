import assert from "node:assert/strict";
import { test } from "node:test";
import { manyEvents, Pace, quietMs } from "../src/live/pace";
import { durationText } from "../src/model/duration";
import { begins, groups, percentile, useSeries, waitOf, waitSeries, withLive, type Accounted } from "../src/model/history";
import { adviceOf, changesSince, countsText, type Mine } from "../src/model/home";
import { LineReader, LogPlace, longestLine, merged, plainText, type Line } from "../src/model/log";
import { briefly } from "../src/model/messages";
import { amountOf, amountText, readable } from "../src/model/quantity";
import { barOf, borrowingSince, borrowsSince, cohortTree, lendersOf, type ClusterQueue, type Cohort } from "../src/model/queues";
import { kindOf } from "../src/model/script";
import { countText, cutAtTimes, percentText } from "../src/model/words";
import { documentsOf, heldCurve, together } from "../src/model/simulation";

test("quantities become numbers and back", () => {
  assert.equal(amountOf("1200m"), 1.2);
  assert.equal(amountOf("64Gi"), 64 * 2 ** 30);
  assert.equal(amountOf("10k"), 10_000);
  assert.equal(amountOf("1e3"), 1000);
  assert.equal(amountOf("<b>"), 0);
  assert.equal(amountOf(null), 0);
  assert.equal(amountText(1.2, "cpu"), "1.2");
  assert.equal(readable("130304Mi", "memory"), "127 Gi");
  assert.equal(amountText(0, "memory"), "0");
});

const queue = (name: string, cohort = ""): ClusterQueue => ({ metadata: { name }, spec: { cohort } });
const cohort = (name: string, parent?: string): Cohort => ({ metadata: { name }, spec: parent === undefined ? {} : { parent } });

test("the cohort tree has every queue once, also below cohorts that are not declared", () => {
  const tree = cohortTree([queue("b", "campus"), queue("a", "campus"), queue("alone"), queue("x", "undeclared")], [cohort("campus", "university"), cohort("university")]);
  assert.deepEqual(tree.map((node) => node.name), ["undeclared", "university", ""]);
  const university = tree[1]!;
  assert.equal(university.total, 2);
  assert.deepEqual(university.children[0]!.queues.map((one) => one.metadata.name), ["a", "b"]);
  assert.equal(tree[2]!.queues[0]!.metadata.name, "alone");
});

test("a cycle of cohorts is cut", () => {
  const tree = cohortTree([queue("q", "a")], [cohort("a", "b"), cohort("b", "a")]);
  assert.deepEqual(tree.map((node) => node.name), ["a", "b"]);
  assert.equal(tree.reduce((sum, node) => sum + node.total, 0), 1);
});

const quota = (more: object) => ({
  clusterQueue: "vision", flavor: "standard", resource: "nvidia.com/gpu", nominal: "8", borrowingLimit: null, lendingLimit: null,
  used: "0", reserved: "0", borrowed: "0", available: "8", etag: "1", ...more,
});

test("the parts of a quota's bar do not overlap", () => {
  const borrows = barOf(quota({ used: "12", reserved: "13", borrowed: "4", available: "3", borrowingLimit: "8" }));
  assert.deepEqual(
    [borrows.own, borrows.borrowed, borrows.reserved, borrows.lent, borrows.free].map((one) => one.value),
    [8, 4, 1, 0, 0],
  );
  assert.equal(borrows.most!.value, 16);
  assert.equal(borrows.max, 16);
  const lends = barOf(quota({ used: "1", reserved: "1", available: "3", lendingLimit: "6" }));
  assert.deepEqual([lends.own.value, lends.lent.value, lends.free.value, lends.kept!.value], [1, 4, 3, 2]);
  assert.deepEqual(lendersOf([quota({ used: "1", reserved: "1", available: "3" })], "standard", "nvidia.com/gpu").map((one) => one.lent.text), ["4"]);
  assert.deepEqual(lendersOf([quota({})], "standard", "cpu"), []);
});

test("a queue borrows since the admission that went beyond its own quota", () => {
  const job = (id: number, admitTime: string, count: number) => ({
    id, name: `j${id}`, namespace: "n", user: "ann", clusterQueue: "vision", admitTime,
    podSets: [{ count, flavors: { "nvidia.com/gpu": "standard" }, requests: { "nvidia.com/gpu": "2" } }],
  });
  const jobs = [job(3, "2026-01-03T00:00:00Z", 1), job(1, "2026-01-01T00:00:00Z", 3), job(2, "2026-01-02T00:00:00Z", 2)];
  assert.equal(borrowsSince(jobs, "vision", quota({})), "2026-01-02T00:00:00Z");
  assert.equal(borrowsSince(jobs, "vision", quota({ nominal: "12" })), "");
  assert.equal(borrowsSince(jobs, "speech", quota({ nominal: "0" })), "");
});

test("percentiles are of the nearest rank", () => {
  assert.equal(percentile([], 50), null);
  assert.equal(percentile([3, 1, 2, 4], 50), 2);
  assert.equal(percentile([1, 2, 3, 4], 95), 4);
  assert.equal(percentile([7], 5), 7);
});

const at = (s: number) => new Date(s * 1000).toISOString();
const row = (submit: number, admit: number | null, start: number | null, end: number | null, more: Partial<Accounted["job"]> = {}): Accounted => ({
  job: { id: submit, user: "ann", namespace: "n", clusterQueue: "q", state: "Succeeded", submitTime: at(submit), startTime: start === null ? null : at(start), endTime: end === null ? null : at(end), ...more },
  attempts: admit === null ? [] : [{ admitTime: at(admit), startTime: start === null ? null : at(start), endTime: end === null ? null : at(end), usage: { cpu: "2" } }],
});
const window = { from: 0, to: 100_000, buckets: 10 };

test("waits go into the bucket of the start", () => {
  const rows = [row(1, 5, 11, 20), row(2, 3, 15, 30), row(50, null, null, null)];
  assert.equal(waitOf(rows[0]!), 10);
  assert.equal(waitOf(rows[2]!), null);
  const series = waitSeries(rows, window);
  assert.deepEqual(series.starts, [0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
  assert.equal(series.p50[1], 10);
  assert.equal(series.p95[1], 13);
  assert.equal(series.p50[0], null);
  assert.deepEqual(begins(window).slice(0, 3), [0, 10, 20]);
});

test("use is the mean of a bucket, from admission to end", () => {
  const use = useSeries([row(1, 5, 11, 20), row(60, 85, 86, null)], "cpu", window);
  assert.deepEqual(use, [1, 2, 0, 0, 0, 0, 0, 0, 1, 2]);
  assert.deepEqual(useSeries([row(1, 5, 6, 7)], "memory", window), new Array(10).fill(0));
});

test("an attempt that runs counts with what its pods ask for", () => {
  const runs = { ...row(1, null, null, null, { state: "Running", admitTime: at(40), startTime: at(41), podSets: [{ count: 3, requests: { cpu: "500m" } }] }) };
  assert.deepEqual(useSeries([withLive(runs)], "cpu", window), [0, 0, 0, 0, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]);
  const ended = row(1, 5, 6, 7);
  assert.equal(withLive(ended), ended);
  assert.equal(withLive(withLive(runs)).attempts.length, 1);
});

test("groups have the most use first", () => {
  const found = groups([row(1, 0, 1, 36), row(2, 0, 2, 72, { user: "bob", state: "Failed" })], "user", "cpu", window);
  assert.deepEqual(found.map((one) => [one.name, one.jobs, one.failed]), [["bob", 1, 1], ["ann", 1, 0]]);
  assert.equal(Math.round(found[0]!.hours * 1000), 40);
});

test("what was pasted is told apart", () => {
  assert.equal(kindOf("  "), "nothing");
  assert.equal(kindOf("#!/bin/sh\n---\n"), "script");
  assert.equal(kindOf("kind: Job\n"), "manifest");
  assert.equal(kindOf("# one\n---\nkind: Job\n"), "manifest");
  assert.equal(kindOf("kind: Job\n---\nkind: Job\n"), "manifests");
  assert.equal(kindOf('[{"kind":"Job"}]'), "manifests");
  assert.equal(kindOf("kind: List\nitems:\n- kind: Job\n"), "manifests");
});

const mine = (more: Partial<Mine>): Mine => ({
  id: 1, name: "train", namespace: "n", state: "Pending", reason: "WaitingForQuota", message: "", submitTime: at(10), admitTime: null, startTime: null, endTime: null, ...more,
});

test("advice comes from the state and the reason", () => {
  assert.equal(adviceOf(mine({})), "");
  assert.match(adviceOf(mine({ reason: "ExceedsMaxQuota" })), /Ask for less/);
  assert.match(adviceOf(mine({ state: "Held", reason: "HeldByUser" })), /Release/);
  assert.match(adviceOf(mine({ state: "Failed", reason: "Failed" })), /log/);
  assert.equal(adviceOf(mine({ state: "Running", reason: "HeldByUser" })), "");
});

test("the latest change of each job", () => {
  const changes = changesSince([mine({}), mine({ id: 2, state: "Succeeded", admitTime: at(12), startTime: at(12), endTime: at(20) }), mine({ id: 3, submitTime: at(1) })], 5_000);
  assert.deepEqual(changes.map((one) => [one.job.id, one.what]), [[2, "succeeded"], [1, "submitted"]]);
  assert.equal(countsText([mine({}), mine({ state: "Running" }), mine({ state: "Running" })]), "2 run, 1 waits");
});

test("accounting becomes documents that keep amounts, arrival and run time", () => {
  const one = row(10, 12, 14, 20);
  const played = { ...one, job: { ...one.job, name: "train", queue: "gpu", kind: "JobSet", podSets: [{ name: "a", count: 1, requests: { cpu: "1" } }, { name: "b", count: 3, requests: { cpu: "500m", memory: "1Ki" } }] } };
  const { documents, left } = documentsOf([played, { ...played, attempts: [] }], 0, 100_000);
  assert.equal(left, 1);
  const document = documents[0] as any;
  assert.equal(document.metadata.annotations["muster.io/arrival"], "10000ms");
  assert.equal(document.metadata.annotations["muster.io/run-time"], "6000ms");
  assert.equal(document.spec.parallelism, 4);
  assert.deepEqual(document.spec.template.spec.containers[0].resources.requests, { cpu: "625m", memory: "768" });
});

test("decisions become a curve of what is held", () => {
  const decision = (time: number, what: string, job: string, amount?: string) => ({
    at: time, decision: what, job, clusterQueue: "q", ...(amount ? { held: [{ flavor: "f", resource: "cpu", amount }] } : {}),
  });
  const curve = heldCurve([decision(1, "Admitted", "a", "3"), decision(1, "Admitted", "b", "2"), decision(4, "Preempted", "b"), decision(4, "Requeued", "b"), decision(9, "Finished", "a")], "cpu", "");
  assert.deepEqual(curve, [[1, 5], [4, 3], [9, 0]]);
  assert.deepEqual(heldCurve([decision(1, "Admitted", "a", "3")], "cpu", "other"), [[1, 0]]);
  assert.deepEqual(together([[0, 0], [2, 5]], [[0, 1], [3, 4]]), [[0, 2, 3], [0, 5, 5], [1, 1, 4]]);
});

test("borrowing began when the sum of what is held last went beyond the quota", () => {
  const hour = (n: number) => `2026-01-01T${String(n).padStart(2, "0")}:00:00Z`;
  const held = (from: number, to: number | null, amount: string, clusterQueue = "vision") => ({
    attempts: [{ admitTime: hour(from), endTime: to === null ? null : hour(to), clusterQueue, held: [{ flavor: "standard", resource: "gpu", amount }] }],
  });
  const of = { clusterQueue: "vision", flavor: "standard", resource: "gpu", nominal: "8" };
  const before = Date.parse(hour(0));
  assert.equal(borrowingSince([held(1, null, "6"), held(2, null, "6")], of, before), hour(2));
  // A job that has ended made it borrow earlier; others took its place at once.
  assert.equal(borrowingSince([held(1, null, "6"), held(2, 5, "6"), held(5, null, "6")], of, before), hour(2));
  // A break in between.
  assert.equal(borrowingSince([held(1, null, "6"), held(2, 4, "6"), held(5, null, "6")], of, before), hour(5));
  assert.equal(borrowingSince([held(1, null, "6"), held(2, 4, "6")], of, before), null);
  assert.equal(borrowingSince([held(1, null, "12")], of, Date.parse(hour(3))), "");
  assert.equal(borrowingSince([held(1, null, "12", "speech")], of, before), null);
});

test("jobs that wait are played for as long as others of their user ran, and not beyond their limit", () => {
  const at = "2026-01-01T00:00:00Z";
  const row = (id: number, user: string, state: string, seconds: number | null, timeLimitSeconds = 0) => ({
    job: { id, name: `j${id}`, user, namespace: "ns", queue: "q", clusterQueue: "cq", kind: "Job", state, submitTime: at, startTime: null, endTime: null, timeLimitSeconds, podSets: [{ name: "main", count: 1, requests: { cpu: "1" } }] },
    attempts: seconds === null ? [] : [{ admitTime: at, startTime: at, endTime: new Date(Date.parse(at) + seconds * 1000).toISOString(), usage: {} }],
  });
  const played = documentsOf(
    [row(1, "ann", "Succeeded", 100), row(2, "ann", "Pending", null), row(3, "ann", "Pending", null, 30), row(4, "bob", "Pending", null), row(5, "bob", "Held", null), row(6, "bob", "Cancelled", null)],
    Date.parse(at),
    Date.parse(at),
  );
  const runs = played.documents.map((one) => (one.metadata as { annotations: Record<string, string> }).annotations["muster.io/run-time"]);
  assert.deepEqual(runs, ["100000ms", "100000ms", "30000ms", "100000ms"]);
  assert.deepEqual([played.guessed, played.left], [3, 2]);
});

test("what changes now and then is read again after its gap", () => {
  const pace = new Pace();
  assert.equal(pace.due(0), Infinity);
  pace.begins(0);
  pace.ended(10);
  pace.changed(3_000, 1, 500);
  assert.equal(pace.due(500), 3_000);
  pace.changed(1_000, 1, 600);
  assert.equal(pace.due(600), 1_000, "the shortest gap counts");
  pace.begins(1_000);
  assert.equal(pace.due(1_000), Infinity, "a reading makes it new");
  pace.ended(1_100);
  pace.changed(500, 0, 1_200);
  assert.equal(pace.due(1_200), 6_000, "what took 100 ms is read every 5 s");
  pace.begins(6_000);
  pace.ended(7_000_000);
  pace.changed(500, 1, 7_000_001);
  assert.equal(pace.due(7_000_001), 7_000_001, "a reading over which the computer slept does not stop the page");
  pace.begins(7_000_001);
  pace.changed(500, 1, 7_000_002);
  assert.equal(pace.due(7_000_002), 7_060_001);
});

test("while many events come it is read more seldom, and soon after they pause", () => {
  const pace = new Pace();
  const readings: number[] = [];
  pace.begins(0);
  pace.ended(10);
  let now = 0;
  const step = (events: number) => {
    now += 100;
    if (events > 0) pace.changed(3_000, events, now);
    if (pace.due(now) > now) return;
    readings.push(now);
    pace.begins(now);
    pace.ended(now + 10);
  };
  while (now < 40_000) step(manyEvents / 10);
  assert.deepEqual(readings, [3_000, 9_000, 21_000, 33_000], "3, 6 and 12 s later, no longer");
  const last = now;
  while (now < 60_000) step(0);
  assert.deepEqual(readings.slice(4), [last + quietMs], "the last state is not waited for");
  while (now < 90_000) step(1);
  assert.ok(readings.length > 12, "few events: every 3 s again");
  const slow = new Pace();
  slow.begins(0);
  slow.changed(10_000, manyEvents, 0);
  slow.begins(10_000);
  slow.changed(10_000, manyEvents, 10_000);
  for (let at = 10_000; at < 25_000; at += 100) slow.changed(10_000, 1, at);
  assert.equal(slow.due(24_900), 25_000, "no gap becomes longer than 15 s");
});

test("a message says in a narrow cell what tells it from others", () => {
  assert.equal(briefly("couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor standard, 1 more needed"), "insufficient unused quota for cpu in flavor standard, 1 more needed");
  assert.equal(briefly("couldn't assign flavors to pod set a: x. couldn't assign flavors to pod set b: y"), "x. y");
  assert.equal(briefly("ClusterQueue closed is stopped"), "ClusterQueue closed is stopped");
});

test("durations leave out what is nothing", () => {
  assert.deepEqual([0, 40, 999, 1_000, 9_970, 59_999, 60_000, 61_000].map(durationText), ["0 s", "40 ms", "999 ms", "1.0 s", "9.9 s", "59 s", "1 min", "1 min 1 s"]);
  assert.deepEqual([3_600_000, 7_620_000, 86_400_000, 100 * 3_600_000].map(durationText), ["1 h", "2 h 7 min", "1 d", "4 d 4 h"]);
});

test("numbers stand with their words", () => {
  assert.deepEqual([countText(1, "job"), countText(0, "job"), countText(2, "cohort")], ["1 job", "0 jobs", "2 cohorts"]);
  assert.deepEqual([percentText(0, 20), percentText(0.07, 20), percentText(0.001, 20), percentText(7, 20), percentText(1, 0)], ["0 %", "0.4 %", "under 0.1 %", "35 %", "–"]);
});

test("the times in a sentence of the daemon are found", () => {
  assert.deepEqual(cutAtTimes("submitted 2026-11-27T23:30:40Z (8s ago)"), [
    { text: "submitted ", at: false },
    { text: "2026-11-27T23:30:40Z", at: true },
    { text: " (8s ago)", at: false },
  ]);
  assert.deepEqual(cutAtTimes("<b>2026</b>"), [{ text: "<b>2026</b>", at: false }]);
});

const linesOf = (...pieces: string[]): Line[] => {
  const found: Line[] = [];
  const reader = new LineReader("pod", (line) => found.push(line));
  for (const piece of pieces) reader.text(piece);
  reader.end();
  return found;
};

test("lines are put together of pieces, with the times before them", () => {
  assert.deepEqual(linesOf("2026-11-27T23:30:40.5Z o", "ne\ntwo\n", "thr", "ee").map((one) => [one.at, one.text]), [["2026-11-27T23:30:40.5Z", "one"], ["", "two"], ["", "three"]]);
  assert.equal(linesOf("x".repeat(longestLine + 1)).length, 1);
});

test("of colours, titles and progress bars the text stays that a terminal shows", () => {
  assert.deepEqual(linesOf("\u001b[31mred\u001b[0m \u001b]0;title\u0007plain\u0001\n 10 %\r 20 %\r100 %\r\nend\r\n").map((one) => one.text), ["red plain", "100 %", "end"]);
  assert.equal(plainText("\u001b[?25l\u001b[2Kx"), "x");
});

test("a log that broke off goes on behind the bytes that came of it", () => {
  const place = new LogPlace();
  assert.equal(place.text(), "");
  place.came(7);
  assert.equal(place.text(), "");
  place.begins("4096.12");
  place.came(30);
  place.came(5);
  assert.equal(place.text(), "4096.47");
  place.begins("what is that");
  assert.equal(place.text(), "4096.47");
  place.begins("5000");
  assert.equal(place.text(), "5000.0");
});

test("lines that come late are put between those of other pods", () => {
  const line = (pod: string, at: string, text: string): Line => ({ pod, at, text });
  const shown = [line("a", "2026-01-01T00:00:01Z", "a1"), line("a", "2026-01-01T00:00:03Z", "a3")];
  assert.deepEqual(merged(shown, [line("b", "2026-01-01T00:00:02Z", "b2"), line("b", "", "b2 goes on")]).map((one) => one.text), ["a1", "b2", "b2 goes on", "a3"]);
});
