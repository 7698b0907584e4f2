// Members: the clusters that run jobs, their health, and what room they have.
import { Link } from "../app/router";
import { useData } from "../live/data";
import { wrongWith, type MemberCluster } from "../model/placements";
import { Command } from "../parts/command";
import { fleetGroup, listObjects } from "../parts/objects";
import { Room } from "../parts/room";
import { Sentence } from "../parts/sentence";
import { Empty, Loaded } from "../parts/states";
import { Duration } from "../parts/time";
import type { View } from "./view";
import "../style/views.css";

function Card(props: { member: MemberCluster }) {
  const { metadata, spec, status } = props.member;
  const wrong = wrongWith(props.member);
  const taints = spec?.taints ?? [];
  return (
    <li class={`card ${wrong !== "" ? "bad" : status?.cordoned ? "warn" : ""}`}>
      <h2>
        <Link to={`/members/${encodeURIComponent(metadata.name)}`}>{metadata.name}</Link>
      </h2>
      <p>
        <span class={wrong === "" ? "ok" : "off"}>
          <span aria-hidden="true">{wrong === "" ? "✓" : "✕"} </span>
          {wrong === "" ? "healthy" : wrong}
        </span>
        {status?.cordoned && <span class="unsure"> ‖ {status.draining ? "draining" : "cordoned"}</span>}
        <span class="note">
          {" "}
          {metadata.annotations?.["muster.io/backend"] ?? ""}
          {status?.observedAt && (
            <>
              ; facts are <Duration from={status.observedAt} /> old
            </>
          )}
          {taints.length > 0 && `; taints ${taints.map((one) => `${one.key}${one.value ? `=${one.value}` : ""}:${one.effect}`).join(", ")}`}
        </span>
      </p>
      <Room name={metadata.name} allocatable={status?.resourceUsage?.allocatable ?? {}} free={status?.resourceUsage?.available ?? {}} />
    </li>
  );
}

function Members() {
  const data = useData("members", () => listObjects<MemberCluster>("fleet", "memberclusters"), { gap: 3_000 });
  return (
    <>
      <h1>Members</h1>
      <Loaded data={data.value} again={data.again}>
        {(all) => {
          const bad = all.filter((one) => wrongWith(one) !== "");
          const cordoned = all.filter((one) => one.status?.cordoned);
          if (all.length === 0) {
            return (
              <Empty>
                <p>There is no member, so no job can run.</p>
                <p>
                  <Command text="muster cluster add NAME --kubeconfig FILE" /> adds a Kubernetes cluster.
                </p>
              </Empty>
            );
          }
          return (
            <>
              <Sentence tone={bad.length > 0 ? "bad" : cordoned.length > 0 ? "wait" : "good"}>
                {bad.length === 0 ? all.length === 1 ? "The one member is healthy" : `All ${all.length} members are healthy` : `Something is wrong with ${bad.map((one) => one.metadata.name).join(", ")}`}
                {cordoned.length > 0 ? `; ${cordoned.map((one) => one.metadata.name).join(", ")} ${cordoned.length === 1 ? "takes" : "take"} no new jobs` : ""}.
              </Sentence>
              <ul class="plain cards">
                {all.map((member) => (
                  <Card key={member.metadata.name} member={member} />
                ))}
              </ul>
              <p>
                <Command text="muster cluster list" />
              </p>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

export const members: View = {
  path: "/members",
  title: () => "Members",
  menu: "Members",
  key: "m",
  needs: { verb: "list", group: fleetGroup, resource: "memberclusters" },
  show: Members,
};
