// What the views of queues read.
import { call, Refusal } from "../api/client";
import type { Event, Quota } from "../api/types";
import type { ClusterQueue, Cohort, Configured, Holder } from "../model/queues";
import { listObjects } from "../parts/objects";

export type LocalQueue = Configured<
  { clusterQueue?: string; stopPolicy?: string },
  { pendingWorkloads?: number; reservingWorkloads?: number; admittedWorkloads?: number; flavorsUsage?: Array<{ name: string; resources: Array<{ name: string; total: string }> }> }
>;

export interface QueueWorld {
  queues: ClusterQueue[];
  cohorts: Cohort[];
  quotas: Quota[];
  /** Jobs that hold quota, if any queue borrows; those that the caller may see. */
  holders: Holder[];
}

const holdersAtMost = 5_000;
const fields = "id,name,displayName,namespace,user,clusterQueue,admitTime,podSets,cluster,state,startTime,priority";

/** The jobs that hold quota and that the caller may see. */
export async function readHolders(): Promise<Holder[]> {
  const answer = await call("listJobs", {}, { state: "Admitted,Running", fields, limit: holdersAtMost });
  return (answer.items as unknown as Array<Holder & { displayName: string }>).map((job) => ({ ...job, name: job.displayName || job.name }));
}

// A kind that the caller may not list is an empty list; every other failure is one.
async function ifAllowed<T>(read: Promise<T[]>): Promise<T[]> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Refusal && error.status === 403) return [];
    throw error;
  }
}

export async function readQueues(): Promise<QueueWorld> {
  const [queues, cohorts, quotas] = await Promise.all([
    listObjects<ClusterQueue>("kueue", "clusterqueues"),
    ifAllowed(listObjects<Cohort>("kueue", "cohorts")),
    call("listQuotas").then((answer) => answer.items),
  ]);
  const someBorrow = quotas.some((quota) => quota.borrowed !== "0");
  return { queues, cohorts, quotas, holders: someBorrow ? await readHolders() : [] };
}

/** The LocalQueues that a tenant may list: of everywhere, or else of the namespaces of the jobs that he sees. */
export async function readLocalQueues(): Promise<LocalQueue[]> {
  const everywhere = await listObjects<LocalQueue>("kueue", "localqueues").catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 403) return null;
    throw error;
  });
  if (everywhere) return everywhere;
  const jobs = await call("listJobs", {}, { fields: "namespace", limit: 1_000 });
  const namespaces = [...new Set(jobs.items.map((job) => job.namespace))].slice(0, 20);
  const lists = await Promise.all(namespaces.map((one) => ifAllowed(listObjects<LocalQueue>("kueue", "localqueues", one))));
  return lists.flat();
}

/** Events that change what a queue uses, or its configuration. */
export const concernsQueues = (event: Event): boolean => event.job !== 0 || /^(clusterqueue|cohort|localqueue|resourceflavor)/i.test(event.object);
