// Configuration objects over the Kubernetes paths.
import { call } from "../api/client";
import type { Configured } from "../model/queues";

const groups = {
  kueue: ["kueue.x-k8s.io", "v1beta1"],
  fleet: ["cluster.kubernetes-fleet.io", "v1beta1"],
  placement: ["placement.kubernetes-fleet.io", "v1beta1"],
} as const;
export type GroupName = keyof typeof groups;

const pageSize = 500;

/** All objects of a kind, of a namespace or, without one, of all. */
export async function listObjects<T extends Configured>(group: GroupName, plural: string, namespace = ""): Promise<T[]> {
  const [name, version] = groups[group];
  const items: T[] = [];
  for (let more = ""; ; ) {
    const query = { limit: pageSize, continue: more };
    const page = (await (namespace === ""
      ? call("listGroupCluster", { group: name, version, plural }, query)
      : call("listGroupNamespaced", { group: name, version, plural, namespace }, query))) as { items: T[]; metadata?: { continue?: string } };
    items.push(...page.items);
    more = page.metadata?.continue ?? "";
    if (more === "") return items;
  }
}

export async function getObject<T extends Configured>(group: GroupName, plural: string, name: string, namespace = ""): Promise<T> {
  const [groupName, version] = groups[group];
  return (await (namespace === ""
    ? call("getGroupCluster", { group: groupName, version, plural, name })
    : call("getGroupNamespaced", { group: groupName, version, plural, name, namespace }))) as T;
}

export const kueueGroup = groups.kueue[0];
export const fleetGroup = groups.fleet[0];
export const placementGroup = groups.placement[0];
