// The cohort tree and the amounts of its bars. Pure functions of what the daemon answers.
import type { Quota } from "../api/types";
import { amountOf, amountText } from "./quantity";

/** A configuration object as the Kubernetes paths answer it, as far as the page reads it. */
export interface Configured<Spec = Record<string, unknown>, Status = Record<string, unknown>> {
  kind?: string;
  metadata: { name: string; namespace?: string; creationTimestamp?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: Spec;
  status?: Status;
}
export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}
export type ClusterQueue = Configured<
  { cohort?: string; cohortName?: string; queueingStrategy?: string; stopPolicy?: string; fairSharing?: { weight?: string } },
  {
    conditions?: Condition[];
    pendingWorkloads?: number;
    reservingWorkloads?: number;
    admittedWorkloads?: number;
    fairSharing?: { weightedShare?: number };
  }
>;
export type Cohort = Configured<
  { parent?: string; parentName?: string },
  { flavorsUsage?: Array<{ flavor: string; resource: string; subtreeQuota: string; used: string }>; conditions?: Condition[]; fairSharing?: { weightedShare?: number } }
>;

export interface CohortNode {
  /** "" for the queues that are in no cohort. */
  name: string;
  cohort: Cohort | null;
  children: CohortNode[];
  queues: ClusterQueue[];
  /** Queues in it and below it. */
  total: number;
}

const byName = <T extends { metadata: { name: string } }>(a: T, b: T) => a.metadata.name.localeCompare(b.metadata.name);

/** The trees of all cohorts, queues without one last. A cohort that only a queue names is there too; a cycle is cut. */
export function cohortTree(queues: readonly ClusterQueue[], cohorts: readonly Cohort[]): CohortNode[] {
  const nodes = new Map<string, CohortNode>();
  const nodeOf = (name: string) => {
    let node = nodes.get(name);
    if (!node) nodes.set(name, (node = { name, cohort: null, children: [], queues: [], total: 0 }));
    return node;
  };
  const parentOf = new Map<string, string>();
  for (const cohort of cohorts) {
    nodeOf(cohort.metadata.name).cohort = cohort;
    const parent = cohort.spec?.parentName ?? cohort.spec?.parent ?? "";
    if (parent !== "") {
      parentOf.set(cohort.metadata.name, parent);
      nodeOf(parent);
    }
  }
  for (const queue of [...queues].sort(byName)) nodeOf(queue.spec?.cohortName ?? queue.spec?.cohort ?? "").queues.push(queue);
  const roots: CohortNode[] = [];
  const inCycle = (name: string) => {
    const seen = new Set<string>();
    for (let at: string | undefined = name; at !== undefined; at = parentOf.get(at)) {
      if (seen.has(at)) return true;
      seen.add(at);
    }
    return false;
  };
  for (const node of nodes.values()) {
    const parent = parentOf.get(node.name);
    if (parent === undefined || inCycle(node.name)) roots.push(node);
    else nodes.get(parent)!.children.push(node);
  }
  const count = (node: CohortNode): number => (node.total = node.queues.length + node.children.reduce((sum, child) => sum + count(child), 0));
  const order = (a: CohortNode, b: CohortNode) => Number(a.name === "") - Number(b.name === "") || a.name.localeCompare(b.name);
  for (const root of roots) count(root);
  for (const node of nodes.values()) node.children.sort(order);
  return roots.sort(order);
}

export interface Amount {
  value: number;
  text: string;
}
/** What a quota's bar shows. `own`, `borrowed`, `reserved`, `lent` and `free` do not overlap. */
export interface QuotaBar {
  own: Amount;
  borrowed: Amount;
  /** Held by jobs whose admission checks are not ready. */
  reserved: Amount;
  /** Of its own quota, what it could not get now because others hold it. */
  lent: Amount;
  free: Amount;
  nominal: Amount;
  /** The most it may use; null: no limit of its own. */
  most: Amount | null;
  /** The part of its own quota that nobody else may get; null: it lends everything. */
  kept: Amount | null;
  max: number;
}

export function barOf(quota: Quota): QuotaBar {
  const amount = (value: number): Amount => ({ value: Math.max(0, value), text: amountText(Math.max(0, value), quota.resource) });
  const nominal = amountOf(quota.nominal);
  const used = amountOf(quota.used);
  const held = Math.max(used, amountOf(quota.reserved));
  const borrowed = Math.max(0, used - nominal);
  const left = Math.max(0, nominal - held);
  const lent = Math.max(0, left - amountOf(quota.available));
  const most = quota.borrowingLimit === null ? null : amount(nominal + amountOf(quota.borrowingLimit));
  return {
    own: amount(Math.min(used, nominal)),
    borrowed: amount(borrowed),
    reserved: amount(held - used),
    lent: amount(lent),
    free: amount(left - lent),
    nominal: amount(nominal),
    most,
    kept: quota.lendingLimit === null ? null : amount(nominal - amountOf(quota.lendingLimit)),
    max: Math.max(nominal, held, most ? most.value : 0, 1e-9),
  };
}

/** What a job holds of a flavor and resource, over all its pods. */
export interface Holder {
  id: number;
  name: string;
  namespace: string;
  user: string;
  clusterQueue: string;
  admitTime: string | null;
  podSets: ReadonlyArray<{ count: number; flavors: Record<string, unknown>; requests: Record<string, unknown> }>;
}
export function heldBy(job: Holder, flavor: string, resource: string): number {
  let sum = 0;
  for (const podSet of job.podSets) {
    if (podSet.flavors[resource] === flavor) sum += podSet.count * amountOf(String(podSet.requests[resource] ?? ""));
  }
  return sum;
}

/**
 * Since when a queue borrows, at the least: the admission of the first of its present jobs, in the
 * order of their admissions, with which they hold more than its own quota. Jobs that have ended since may have
 * made it borrow before. "" if they do not hold more.
 */
export function borrowsSince(jobs: readonly Holder[], queue: string, quota: Pick<Quota, "flavor" | "resource" | "nominal">): string {
  const nominal = amountOf(quota.nominal);
  let sum = 0;
  const inOrder = jobs.filter((job) => job.clusterQueue === queue && job.admitTime).sort((a, b) => a.admitTime!.localeCompare(b.admitTime!));
  for (const job of inOrder) {
    sum += heldBy(job, quota.flavor, quota.resource);
    if (sum > nominal) return job.admitTime!;
  }
  return "";
}

/** What an attempt of the accounting held, from its admission to its end. */
export interface HeldAttempt {
  admitTime: string | null;
  endTime: string | null;
  clusterQueue?: string;
  held?: ReadonlyArray<{ flavor: string; resource: string; amount: string }>;
}

/**
 * Since when a queue holds more than its own quota without a break, by all attempts that ended after `from` or have
 * not ended: "" if it did so at `from` already, null if they do not hold more.
 */
export function borrowingSince(rows: ReadonlyArray<{ attempts: readonly HeldAttempt[] }>, quota: Pick<Quota, "clusterQueue" | "flavor" | "resource" | "nominal">, from: number): string | null {
  const steps: Array<{ at: number; text: string; amount: number }> = [];
  for (const attempt of rows.flatMap((row) => row.attempts)) {
    if (attempt.clusterQueue !== quota.clusterQueue || attempt.admitTime === null) continue;
    const held = attempt.held?.find((one) => one.flavor === quota.flavor && one.resource === quota.resource);
    if (!held) continue;
    const amount = amountOf(held.amount);
    steps.push({ at: Date.parse(attempt.admitTime), text: attempt.admitTime, amount });
    if (attempt.endTime !== null) steps.push({ at: Date.parse(attempt.endTime), text: attempt.endTime, amount: -amount });
  }
  // Of one time what begins goes before what ends, so that a change of hands is no break.
  steps.sort((a, b) => a.at - b.at || b.amount - a.amount);
  const nominal = amountOf(quota.nominal);
  let sum = 0;
  let since: string | null = null;
  for (const step of steps) {
    sum += step.amount;
    if (sum <= nominal) since = null;
    else if (since === null) since = step.at <= from ? "" : step.text;
  }
  return since;
}

/** Queues that hold more than their own of it, and queues that lend, of the same root of the tree. */
export function lendersOf(quotas: readonly Quota[], flavor: string, resource: string): Array<{ queue: string; lent: Amount }> {
  return quotas
    .filter((quota) => quota.flavor === flavor && quota.resource === resource)
    .map((quota) => ({ queue: quota.clusterQueue, lent: barOf(quota).lent }))
    .filter((one) => one.lent.value > 0);
}
