// A played week: the accounting as the documents of POST /v1/simulate, and the decisions of a run
// as a curve. Pure.
import { percentile, waitOf, type Accounted } from "./history";
import { amountOf } from "./quantity";

interface Played extends Accounted {
  job: Accounted["job"] & {
    name: string;
    queue: string;
    kind: string;
    priorityClass?: string;
    timeLimitSeconds?: number | null;
    podSets: ReadonlyArray<{ name: string; count: number; requests: Record<string, unknown> }>;
  };
}

export interface Playable {
  documents: Array<Record<string, unknown>>;
  /** Of them those that have not started: how long they run is a guess. */
  guessed: number;
  /** Jobs that are not played: they ended or are held without having run, or have no pods or queue. */
  left: number;
}

/** How long a job ran: its last attempt that started, in seconds; null if none did. */
export function runOf(row: Accounted, now: number): number | null {
  const ran = row.attempts.filter((attempt) => attempt.startTime !== null);
  const last = ran[ran.length - 1];
  if (!last) return null;
  return Math.max(0.001, ((last.endTime === null ? now : Date.parse(last.endTime)) - Date.parse(last.startTime!)) / 1000);
}

/**
 * How long a job that waits will run, in seconds, as far as it can be guessed: as the jobs of its user in its queue
 * ran, half of them longer; else as those of the queue, else as all; but not beyond its time limit.
 */
function guesses(rows: readonly Played[], now: number): (job: Played["job"]) => number {
  const runs = new Map<string, number[]>();
  for (const row of rows) {
    const run = runOf(row, now);
    if (run === null) continue;
    for (const key of [`${row.job.queue} ${row.job.user}`, row.job.queue, ""]) {
      const list = runs.get(key);
      if (list) list.push(run);
      else runs.set(key, [run]);
    }
  }
  const medians = new Map([...runs].map(([key, list]) => [key, percentile(list, 50)!]));
  return (job) => {
    const run = medians.get(`${job.queue} ${job.user}`) ?? medians.get(job.queue) ?? medians.get("") ?? 0;
    const limit = job.timeLimitSeconds ?? 0;
    if (limit > 0) return run > 0 ? Math.min(run, limit) : limit;
    return run;
  };
}

/**
 * Each job as a plain Job with the same amounts, queue, arrival and run time. The pods of several pod
 * sets become equal pods that ask for the same in sum.
 */
export function documentsOf(rows: readonly Played[], from: number, now: number): Playable {
  const documents: Array<Record<string, unknown>> = [];
  let left = 0;
  let guessed = 0;
  const guess = guesses(rows, now);
  for (const row of rows) {
    const { job } = row;
    const ran = runOf(row, now);
    const run = ran ?? (job.state === "Pending" || job.state === "Admitted" ? guess(job) : 0);
    const pods = job.podSets.reduce((sum, podSet) => sum + podSet.count, 0);
    if (run === 0 || pods === 0 || job.queue === "") {
      ++left;
      continue;
    }
    if (ran === null) ++guessed;
    const arrival = Math.max(0, (Date.parse(job.submitTime) - from) / 1000);
    documents.push({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: {
        name: `job-${job.id}`,
        namespace: job.namespace,
        labels: {
          "kueue.x-k8s.io/queue-name": job.queue,
          ...(job.priorityClass ? { "kueue.x-k8s.io/priority-class": job.priorityClass } : {}),
        },
        annotations: { "muster.io/arrival": `${Math.round(arrival * 1000)}ms`, "muster.io/run-time": `${Math.max(1, Math.round(run * 1000))}ms` },
      },
      spec: {
        parallelism: pods,
        completions: pods,
        suspend: true,
        template: {
          spec: {
            restartPolicy: "Never",
            containers: [{ name: "main", image: "played", command: ["true"], resources: { requests: meanRequests(job.podSets, pods), limits: meanRequests(job.podSets, pods) } }],
          },
        },
      },
    });
  }
  return { documents, guessed, left };
}

// What one pod asks for if all pods ask for the same and the sum stays; whole units, rounded up.
function meanRequests(podSets: Played["job"]["podSets"], pods: number): Record<string, string> {
  const sums: Record<string, number> = {};
  for (const podSet of podSets) {
    for (const [resource, text] of Object.entries(podSet.requests)) {
      if (resource !== "pods") sums[resource] = (sums[resource] ?? 0) + podSet.count * amountOf(String(text));
    }
  }
  return Object.fromEntries(
    Object.entries(sums).map(([resource, sum]) => [resource, resource === "cpu" ? `${Math.ceil((sum / pods) * 1000)}m` : String(Math.ceil(sum / pods))]),
  );
}

export interface Decision {
  at: number;
  decision: string;
  job: string;
  clusterQueue: string;
  held?: Array<{ flavor: string; resource: string; amount: string }>;
  waited?: number;
}

// Only these give quota; an end or an eviction takes it.
const givesQuota = new Set(["Admitted", "Reserved"]);

/** What jobs of a queue ("": of all) hold of a resource after each decision: steps of [seconds, amount]. */
export function heldCurve(decisions: readonly Decision[], resource: string, queue: string): Array<[number, number]> {
  const holds = new Map<string, number>();
  const points: Array<[number, number]> = [[decisions[0]?.at ?? 0, 0]];
  let sum = 0;
  for (const one of decisions) {
    if (queue !== "" && one.clusterQueue !== queue) continue;
    const before = holds.get(one.job) ?? 0;
    const gives = givesQuota.has(one.decision);
    const after = gives ? (one.held ?? []).reduce((all, held) => all + (held.resource === resource ? amountOf(held.amount) : 0), 0) : 0;
    if (!gives && !holds.has(one.job)) continue;
    if (after === 0) holds.delete(one.job);
    else holds.set(one.job, after);
    if (after === before) continue;
    sum += after - before;
    const last = points[points.length - 1]!;
    if (last[0] === one.at) last[1] = sum;
    else points.push([one.at, sum]);
  }
  return points;
}

/** Two step curves over the same times, each null nowhere: for a chart. */
export function together(a: ReadonlyArray<[number, number]>, b: ReadonlyArray<[number, number]>): [number[], number[], number[]] {
  const times = [...new Set([...a, ...b].map(([at]) => at))].sort((x, y) => x - y);
  const at = (curve: ReadonlyArray<[number, number]>) => {
    let i = 0;
    let value = 0;
    return times.map((time) => {
      while (i < curve.length && curve[i]![0] <= time) value = curve[i++]![1];
      return value;
    });
  };
  return [times, at(a), at(b)];
}

/** The mean wait that the accounting has, to compare the play of the week with what happened. */
export function meanWait(rows: readonly Accounted[]): number | null {
  const waits = rows.map(waitOf).filter((wait): wait is number => wait !== null);
  return waits.length === 0 ? null : waits.reduce((a, b) => a + b, 0) / waits.length;
}
