// What the caller may do, as the daemon answers it (SelfSubjectAccessReview). Answers are kept for
// as long as the token stays. Parts of the page that one may not use are hidden by it; the daemon
// refuses them all the same.
import { effect, signal, type Signal } from "@preact/signals";
import { call, token } from "./client";
import type { Answers } from "./types";

export interface Right {
  verb: string;
  group: string;
  resource: string;
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
  const key = [right.verb, right.group, right.resource, right.namespace ?? ""].join(" ");
  let answer = answers.get(key);
  if (answer) return answer;
  const fresh = signal<boolean | undefined>(undefined);
  answer = fresh;
  answers.set(key, fresh);
  void call("reviewSelfAccess", {}, {}, {
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { verb: right.verb, group: right.group, resource: right.resource, namespace: right.namespace ?? "" } },
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

export async function readMe(): Promise<void> {
  try {
    me.value = await call("whoAmI");
  } catch {
    me.value = null;
  }
}
