// What the caller may do, as the daemon answers it (SelfSubjectAccessReview). Answers are kept for
// as long as the token stays. Parts of the page that one may not use are hidden by it; the daemon
// refuses them all the same.
import { effect, signal, type Signal } from "@preact/signals";
import { call, Refusal, token } from "./client";
import type { Answers } from "./types";

export interface Right {
  verb: string;
  group: string;
  resource: string;
  /** "own": of the caller's own jobs alone. */
  subresource?: string;
  /** "": in every namespace. */
  namespace?: string;
}

const answers = new Map<string, Signal<boolean | undefined>>();
effect(() => {
  void token.value;
  answers.clear();
});

/** Whether the caller has a right; undefined until the daemon has answered. */
export function may(right: Right): Signal<boolean | undefined> {
  const key = [right.verb, right.group, right.resource, right.subresource ?? "", right.namespace ?? ""].join(" ");
  let answer = answers.get(key);
  if (answer) return answer;
  const fresh = signal<boolean | undefined>(undefined);
  answer = fresh;
  answers.set(key, fresh);
  void call("reviewSelfAccess", {}, {}, {
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { subresource: "", namespace: "", ...right } },
    },
  }).then(
    (review) => (fresh.value = (review as { status?: { allowed?: boolean } }).status?.allowed === true),
    () => (fresh.value = false),
  );
  return answer;
}

export type Me = Answers["whoAmI"];
/** Who the caller is; null until it is known. */
export const me = signal<Me | null>(null);

const againMs = 2_000;
export async function readMe(): Promise<void> {
  try {
    me.value = await call("whoAmI");
  } catch (error) {
    me.value = null;
    // The daemon starts, or fetches the keys of a provider.
    if (error instanceof Refusal && (error.status === 0 || error.status === 503)) setTimeout(() => void readMe(), againMs);
  }
}

// The resource that roles name for each kind of job.
const resources: Record<string, readonly [group: string, resource: string]> = {
  Job: ["batch", "jobs"],
  RayJob: ["ray.io", "rayjobs"],
  RayCluster: ["ray.io", "rayclusters"],
  PyTorchJob: ["kubeflow.org", "pytorchjobs"],
  JobSet: ["jobset.x-k8s.io", "jobsets"],
  LeaderWorkerSet: ["leaderworkerset.x-k8s.io", "leaderworkersets"],
  BatchScript: ["muster.io", "batchscripts"],
  Workload: ["kueue.x-k8s.io", "workloads"],
};

/** Whether the caller may do this to a job; undefined until it is known. */
export function mayJob(verb: string, job: { kind: string; namespace: string; user: string }): boolean | undefined {
  const named = resources[job.kind];
  if (!named) return undefined;
  const right = { verb, group: named[0], resource: named[1], namespace: job.namespace };
  const all = may(right).value;
  if (all !== false || job.user !== me.value?.user) return all;
  return may({ ...right, subresource: "own" }).value;
}
