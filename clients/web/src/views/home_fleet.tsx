// What an administrator should know when he comes: members, placements and queues with which something is
// wrong, and what the daemon warns of. Who may not read one of them sees nothing of it.
import type { ComponentChildren } from "preact";
import { Link } from "../app/router";
import { call } from "../api/client";
import { may } from "../api/rights";
import { useData } from "../live/data";
import { addressOfPlacement, nameOfPlacement, troubleOf, wrongWith, type MemberCluster, type Placement } from "../model/placements";
import type { ClusterQueue } from "../model/queues";
import { fleetGroup, kueueGroup, listObjects, placementGroup } from "../parts/objects";

const shownAtMost = 10;
// What is wrong stays so for a while: configuration and members, not the coming and going of jobs.
const seldom = { on: (event: { job: number }) => event.job === 0, gap: 15_000, every: 60_000 };

function Wrong(props: { title: string; rows: ReadonlyArray<readonly [string, string, ComponentChildren]> }) {
  if (props.rows.length === 0) return null;
  return (
    <>
      <h2>{props.title}</h2>
      <ul class="plain">
        {props.rows.slice(0, shownAtMost).map(([to, name, what]) => (
          <li key={to} class="card bad">
            <Link to={to}>{name}</Link>: {what}
          </li>
        ))}
      </ul>
      {props.rows.length > shownAtMost && <p class="note">and {props.rows.length - shownAtMost} more</p>}
    </>
  );
}

function Members() {
  const data = useData("home-members", () => listObjects<MemberCluster>("fleet", "memberclusters"), seldom);
  const rows = (data.value.value ?? []).filter((one) => wrongWith(one) !== "").map((one) => [`/members/${encodeURIComponent(one.metadata.name)}`, one.metadata.name, wrongWith(one)] as const);
  return <Wrong title="Members that need you" rows={rows} />;
}

function Placements() {
  const data = useData(
    "home-placements",
    async () => (await Promise.all([listObjects<Placement>("placement", "clusterresourceplacements").catch(() => []), listObjects<Placement>("placement", "resourceplacements")])).flat(),
    seldom,
  );
  const rows = (data.value.value ?? [])
    .map((one) => [one, troubleOf(one)] as const)
    .filter(([, { failed, drifted, differ }]) => failed + drifted + differ > 0)
    .map(([one, { failed, drifted, differ }]) => [addressOfPlacement(one), nameOfPlacement(one), `${failed} failed, ${drifted} drifted, ${differ} differ`] as const);
  return <Wrong title="Placements that need you" rows={rows} />;
}

function Queues() {
  const data = useData("home-queues", () => listObjects<ClusterQueue>("kueue", "clusterqueues"), seldom);
  const rows = (data.value.value ?? []).flatMap((one) => {
    const active = one.status?.conditions?.find((condition) => condition.type === "Active");
    return active && active.status !== "True" ? [[`/queues/${encodeURIComponent(one.metadata.name)}`, one.metadata.name, `not active: ${active.message}`] as const] : [];
  });
  return <Wrong title="Queues that need you" rows={rows} />;
}

function Daemon() {
  const status = useData("home-status", () => call("status"), { gap: 10_000 });
  const warnings = status.value.value?.warnings ?? [];
  if (warnings.length === 0) return null;
  return (
    <>
      <h2>The daemon warns</h2>
      <ul class="plain">
        {warnings.map((one) => (
          <li key={one.type} class="card warn">
            <b>{one.type}</b>: {one.message}
          </li>
        ))}
      </ul>
    </>
  );
}

export function Fleet() {
  const members = may({ verb: "list", group: fleetGroup, resource: "memberclusters" }).value === true;
  const placements = may({ verb: "list", group: placementGroup, resource: "resourceplacements" }).value === true;
  const queues = may({ verb: "list", group: kueueGroup, resource: "clusterqueues" }).value === true;
  return (
    <>
      {members && <Members />}
      {placements && <Placements />}
      {queues && <Queues />}
      {members && <Daemon />}
    </>
  );
}
