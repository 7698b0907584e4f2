// Placements as a page reads them. Pure.
import type { PlacementStatus } from "../api/types";
import type { Condition, Configured } from "./queues";

export type Placement = Configured<
  { resourceSelectors?: Array<{ group?: string; version?: string; kind: string; name?: string }>; policy?: { placementType?: string; numberOfClusters?: number } },
  Partial<PlacementStatus>
>;
export type MemberCluster = Configured<
  { taints?: Array<{ key: string; value?: string; effect: string }> },
  {
    conditions?: Condition[];
    cordoned?: boolean;
    draining?: boolean;
    observedAt?: string;
    properties?: Record<string, { value: string }>;
    resourceUsage?: { capacity?: Record<string, string>; allocatable?: Record<string, string>; available?: Record<string, string> };
    leftAlone?: Array<{ kind: string; namespace: string; name: string; why: string; released: boolean; firstSeen: string }>;
  }
>;
export type Budget = Configured<{ maxUnavailable?: string | number; minAvailable?: string | number }>;

export const six = ["Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available"] as const;

/** The name of a condition without the kind before it: "ResourcePlacementApplied" is "Applied". */
export const shortType = (type: string): string => type.replace(/^(?:Cluster)?ResourcePlacement/, "");

/** The six conditions in their order, and others behind them; those that are not told yet are null. */
export function conditionsInOrder(conditions: readonly Condition[] | undefined): Array<{ type: string; condition: Condition | null }> {
  const found = new Map((conditions ?? []).map((one) => [shortType(one.type), one]));
  const others = [...found.keys()].filter((type) => !(six as readonly string[]).includes(type));
  const wanted = found.has("DiffReported") ? six.slice(0, 4) : six;
  return [...wanted, ...others].map((type) => ({ type, condition: found.get(type) ?? null }));
}

/** How many objects differ, failed or drifted on all members of a placement. */
export function troubleOf(placement: Placement): { failed: number; drifted: number; differ: number } {
  const all = placement.status?.placementStatuses ?? [];
  const sum = (key: "failedPlacements" | "driftedPlacements" | "diffedPlacements") => all.reduce((n, one) => n + (one[key]?.length ?? 0), 0);
  return { failed: sum("failedPlacements"), drifted: sum("driftedPlacements"), differ: sum("diffedPlacements") };
}

/** How much is wrong with a placement on one member. */
export const troubleOn = (one: { failedPlacements?: readonly unknown[]; driftedPlacements?: readonly unknown[]; diffedPlacements?: readonly unknown[] }): number =>
  (one.failedPlacements?.length ?? 0) + (one.driftedPlacements?.length ?? 0) + (one.diffedPlacements?.length ?? 0);

/** The members that a placement picked. */
export const pickedBy = (placement: Placement): string[] => (placement.status?.placementStatuses ?? []).map((one) => one.clusterName ?? "").filter((name) => name !== "");

/** Where the page has the view of a placement. */
export const addressOfPlacement = (one: Placement): string => `/placements/${encodeURIComponent(one.metadata.namespace ?? "-")}/${encodeURIComponent(one.metadata.name)}`;
export const nameOfPlacement = (one: Placement): string => `${one.metadata.namespace ? `${one.metadata.namespace}/` : ""}${one.metadata.name}`;

/** What is wrong with a member; "" if nothing is. */
export function wrongWith(member: MemberCluster): string {
  const conditionOf = (type: string) => member.status?.conditions?.find((one) => one.type === type);
  const healthy = conditionOf("Healthy");
  if (healthy?.status !== "True") return healthy?.message ?? "it has not been seen yet";
  const quarantined = conditionOf("Quarantined");
  return quarantined?.status === "True" ? (quarantined.message ?? "objects on it are quarantined") : "";
}
