// Waits and use out of the accounting. Pure.
import { amountOf } from "./quantity";

export interface Attempt {
  admitTime: string | null;
  startTime: string | null;
  endTime: string | null;
  usage: Record<string, string>;
  clusterQueue?: string;
  held?: ReadonlyArray<{ flavor: string; resource: string; amount: string }>;
}
export interface Accounted {
  job: {
    id: number;
    user: string;
    namespace: string;
    clusterQueue: string;
    state: string;
    submitTime: string;
    startTime: string | null;
    endTime: string | null;
    admitTime?: string | null;
    podSets?: ReadonlyArray<{ count: number; requests: Record<string, unknown>; flavors?: Record<string, unknown> }>;
  };
  attempts: Attempt[];
}

/** The row with the attempt that has not ended, which the accounting does not list: it holds what its pods ask for. */
export function withLive(row: Accounted): Accounted {
  const { state, admitTime, startTime, podSets } = row.job;
  if ((state !== "Admitted" && state !== "Running") || !admitTime || row.attempts.some((attempt) => attempt.endTime === null)) return row;
  const sums: Record<string, number> = {};
  const byFlavor = new Map<string, { flavor: string; resource: string; sum: number }>();
  for (const podSet of podSets ?? []) {
    for (const [resource, text] of Object.entries(podSet.requests)) {
      const amount = podSet.count * amountOf(String(text));
      sums[resource] = (sums[resource] ?? 0) + amount;
      const flavor = String(podSet.flavors?.[resource] ?? "");
      if (flavor === "") continue;
      const key = `${flavor} ${resource}`;
      byFlavor.set(key, { flavor, resource, sum: (byFlavor.get(key)?.sum ?? 0) + amount });
    }
  }
  const usage = Object.fromEntries(Object.entries(sums).map(([resource, sum]) => [resource, String(sum)]));
  const held = [...byFlavor.values()].map(({ sum, ...one }) => ({ ...one, amount: String(sum) }));
  return { ...row, attempts: [...row.attempts, { admitTime, startTime, endTime: null, usage, clusterQueue: row.job.clusterQueue, held }] };
}

/** By nearest rank; null of nothing. */
export function percentile(values: readonly number[], p: number): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil((p / 100) * sorted.length) - 1))]!;
}

/** How long a job waited for its first start, in seconds; null if it has not started. */
export function waitOf(one: Accounted): number | null {
  const starts = one.attempts.map((attempt) => attempt.startTime).filter((start): start is string => start !== null);
  const first = starts.length > 0 ? starts.reduce((a, b) => (Date.parse(a) < Date.parse(b) ? a : b)) : one.job.startTime;
  if (first === null) return null;
  return Math.max(0, (Date.parse(first) - Date.parse(one.job.submitTime)) / 1000);
}

export interface Window {
  from: number;
  to: number;
  buckets: number;
}
/** The begins of the buckets of a window, in seconds since 1970. */
export const begins = (window: Window): number[] =>
  Array.from({ length: window.buckets }, (_, i) => (window.from + (i * (window.to - window.from)) / window.buckets) / 1000);

const bucketOf = (window: Window, at: number) => Math.floor(((at - window.from) * window.buckets) / (window.to - window.from));

/** p50 and p95 of the waits of the jobs that started in each bucket; null where none did. */
export function waitSeries(rows: readonly Accounted[], window: Window): { p50: Array<number | null>; p95: Array<number | null>; starts: number[] } {
  const waits: number[][] = Array.from({ length: window.buckets }, () => []);
  for (const row of rows) {
    const wait = waitOf(row);
    if (wait === null) continue;
    const at = bucketOf(window, Date.parse(row.job.submitTime) + wait * 1000);
    if (at >= 0 && at < window.buckets) waits[at]!.push(wait);
  }
  return { p50: waits.map((one) => percentile(one, 50)), p95: waits.map((one) => percentile(one, 95)), starts: waits.map((one) => one.length) };
}

/** The mean use of a resource in each bucket: what attempts held, from admission to end. */
export function useSeries(rows: readonly Accounted[], resource: string, window: Window): number[] {
  const sums = new Array<number>(window.buckets).fill(0);
  const width = (window.to - window.from) / window.buckets;
  for (const row of rows) {
    for (const attempt of row.attempts) {
      const amount = amountOf(attempt.usage[resource]);
      if (amount === 0 || attempt.admitTime === null) continue;
      const from = Math.max(window.from, Date.parse(attempt.admitTime));
      const to = Math.min(window.to, attempt.endTime === null ? window.to : Date.parse(attempt.endTime));
      for (let i = Math.max(0, bucketOf(window, from)); i < window.buckets && window.from + i * width < to; ++i) {
        const begin = window.from + i * width;
        const overlap = Math.min(to, begin + width) - Math.max(from, begin);
        if (overlap > 0) sums[i]! += (amount * overlap) / width;
      }
    }
  }
  return sums;
}

export interface Group {
  name: string;
  jobs: number;
  started: number;
  failed: number;
  p50: number | null;
  p95: number | null;
  /** Amount times hours within the window. */
  hours: number;
}

/** Jobs, waits and use by user or queue, those with the most use first. */
export function groups(rows: readonly Accounted[], by: "user" | "clusterQueue" | "namespace", resource: string, window: Window): Group[] {
  const found = new Map<string, Accounted[]>();
  for (const row of rows) {
    const name = row.job[by];
    const list = found.get(name);
    if (list) list.push(row);
    else found.set(name, [row]);
  }
  const one: Window = { ...window, buckets: 1 };
  return [...found]
    .map(([name, list]) => {
      const waits = list.map(waitOf).filter((wait): wait is number => wait !== null);
      return {
        name,
        jobs: list.length,
        started: waits.length,
        failed: list.filter((row) => row.job.state === "Failed").length,
        p50: percentile(waits, 50),
        p95: percentile(waits, 95),
        hours: (useSeries(list, resource, one)[0]! * (window.to - window.from)) / 3_600_000,
      };
    })
    .sort((a, b) => b.hours - a.hours || b.jobs - a.jobs || a.name.localeCompare(b.name));
}

/** The resources that any attempt held, those of most attempts first. */
export function resourcesOf(rows: readonly Accounted[]): string[] {
  const counts = new Map<string, number>();
  for (const row of rows) for (const attempt of row.attempts) for (const resource of Object.keys(attempt.usage)) counts.set(resource, (counts.get(resource) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([name]) => name);
}
