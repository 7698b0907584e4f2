// One member: its health and facts, its room by resource and by size of machine, what runs there, and draining it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Link } from "../app/router";
import { call, sentence } from "../api/client";
import { may } from "../api/rights";
import type { Job } from "../api/types";
import { useData } from "../live/data";
import { durationText } from "../model/duration";
import { addressOfPlacement, nameOfPlacement, pickedBy, type Budget, type MemberCluster, type Placement } from "../model/placements";
import { readable } from "../model/quantity";
import { Command, shellWord } from "../parts/command";
import { ConditionList } from "../parts/conditions";
import { Dialog } from "../parts/dialog";
import { Check, Form } from "../parts/form";
import { fleetGroup, getObject, listObjects } from "../parts/objects";
import { Room } from "../parts/room";
import { Facts, Sentence, SmallTable } from "../parts/sentence";
import { Loaded, State } from "../parts/states";
import { Duration, Time } from "../parts/time";
import type { View, ViewProps } from "./view";
import "../style/views.css";

const jobsAtMost = 5_000;
const shownAtMost = 200;

async function readMember(name: string) {
  const [member, facts, jobs, placements] = await Promise.all([
    getObject<MemberCluster>("fleet", "memberclusters", name),
    call("clusterFacts", { name }),
    call("listJobs", {}, { state: "Admitted,Running", fields: "id,name,displayName,namespace,user,state,cluster,clusterQueue,startTime,stopping,podSets", limit: jobsAtMost }),
    Promise.all([listObjects<Placement>("placement", "clusterresourceplacements").catch(() => []), listObjects<Placement>("placement", "resourceplacements").catch(() => [])]),
  ]);
  return {
    member,
    facts,
    jobs: (jobs.items as Array<Job & { displayName?: string }>).filter((job) => job.cluster === name).map((job) => ({ ...job, name: job.displayName || job.name })),
    placements: placements.flat().filter((one) => pickedBy(one).includes(name)),
  };
}

interface Progress {
  evicting: number;
  blocked: number;
  waiting: number;
  reasons: string[];
}

// The drain: what it will do and which budgets hold, then how far it is, asked again until it is done.
function Drain(props: { name: string; jobs: number; placements: readonly Placement[]; close: () => void }) {
  const force = useSignal(false);
  const progress = useSignal<Progress | null>(null);
  const error = useSignal("");
  const budgets = useData(
    "budgets",
    async () =>
      (
        await Promise.all([
          listObjects<Budget>("placement", "clusterresourceplacementdisruptionbudgets").catch(() => []),
          listObjects<Budget>("placement", "resourceplacementdisruptionbudgets").catch(() => []),
        ])
      ).flat(),
    { on: () => false },
  );
  const ask = async () => {
    progress.value = (await call("drainCluster", { name: props.name }, { force: force.value })) as Progress;
  };
  const left = progress.value ? progress.value.evicting + progress.value.blocked + progress.value.waiting : -1;
  useEffect(() => {
    if (left <= 0) return;
    const timer = setInterval(() => {
      ask().then(
        () => (error.value = ""),
        (wrong: unknown) => (error.value = sentence(wrong)),
      );
    }, 2_000);
    return () => clearInterval(timer);
  }, [left > 0]);
  const now = progress.value;
  // A budget is of the placement of its own name.
  const ofThis = (one: Budget) => props.placements.some((placement) => placement.metadata.name === one.metadata.name && (placement.metadata.namespace ?? "") === (one.metadata.namespace ?? ""));
  const holding = (budgets.value.value ?? []).filter(ofThis);
  return (
    <Dialog title={`Drain ${props.name}`} close={props.close}>
      {now === null ? (
        <Form action="Drain it" send={ask}>
          <p>
            It takes no new jobs, and its {props.jobs} {props.jobs === 1 ? "job is stopped there and starts" : "jobs are stopped there and start"} elsewhere, as fast as disruption budgets allow. Uncordoning it ends the drain.
          </p>
          <h3>Budgets that hold</h3>
          <ul class="plain">
            {holding.map((one) => (
              <li key={`${one.metadata.namespace} ${one.metadata.name}`}>
                {one.metadata.namespace ? `${one.metadata.namespace}/` : ""}
                {one.metadata.name}: {one.spec?.maxUnavailable !== undefined ? `at most ${one.spec.maxUnavailable} away` : `at least ${one.spec?.minAvailable} there`}
              </li>
            ))}
            {budgets.value.value && holding.length === 0 && <li>None: all of them are evicted at once.</li>}
          </ul>
          <Check label="Cancel jobs that may not be requeued, instead of waiting for them" on={force.value} set={(on) => (force.value = on)} />
        </Form>
      ) : (
        <div role="status">
          {left === 0 ? (
            <p class="ok">✓ It is drained.</p>
          ) : (
            <p>
              {now.evicting} are being evicted, {now.blocked} are kept by a budget for now, {now.waiting} are waited for.
            </p>
          )}
          <ul class="plain">
            {now.reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
          {error.value !== "" && <p class="failure">{error.value}</p>}
          {left > 0 && <p class="note">It goes on when this is closed.</p>}
        </div>
      )}
      <p>
        <Command text={`muster cluster drain ${shellWord(props.name)}${force.value ? " --force" : ""} --wait`} />
      </p>
    </Dialog>
  );
}

function Actions(props: { name: string; cordoned: boolean; jobs: number; placements: readonly Placement[]; again: () => void }) {
  const drains = useSignal(false);
  const error = useSignal("");
  const change = async () => {
    try {
      await call(props.cordoned ? "uncordonCluster" : "cordonCluster", { name: props.name });
      error.value = "";
      props.again();
    } catch (wrong) {
      error.value = sentence(wrong);
    }
  };
  return (
    <>
      <div class="row">
        <button type="button" onClick={() => void change()}>
          {props.cordoned ? "Uncordon" : "Cordon"}
        </button>
        <button type="button" onClick={() => (drains.value = true)}>
          Drain …
        </button>
      </div>
      {error.value !== "" && (
        <p class="failure" role="alert">
          {error.value}
        </p>
      )}
      {drains.value && (
        <Drain
          name={props.name}
          jobs={props.jobs}
          placements={props.placements}
          close={() => {
            drains.value = false;
            props.again();
          }}
        />
      )}
    </>
  );
}

function Member({ params }: ViewProps) {
  const name = params.name ?? "";
  const data = useData(`member ${name}`, () => readMember(name), { gap: 3_000 });
  const mayChange = may({ verb: "update", group: fleetGroup, resource: "memberclusters" }).value === true;
  return (
    <>
      <p>
        <Link to="/members">Members</Link>
      </p>
      <h1>Member {name}</h1>
      <Loaded data={data.value} again={data.again}>
        {({ member, facts, jobs, placements }) => {
          const machines = facts.machines;
          const left = member.status?.leftAlone ?? [];
          return (
            <>
              <Sentence tone={!facts.healthy || facts.stale ? "bad" : facts.cordoned ? "wait" : "good"}>
                {facts.healthy ? "It answers" : facts.answers ? "It answers and takes no jobs" : "It does not answer"}
                {facts.stale ? ", and its facts are stale" : ""}
                {facts.cordoned ? (member.status?.draining ? "; it is being drained" : "; it is cordoned and takes no new jobs") : ""}. {jobs.length} {jobs.length === 1 ? "job" : "jobs"} that you may see{" "}
                {jobs.length === 1 ? "is" : "are"} there.
              </Sentence>
              {mayChange && <Actions name={name} cordoned={facts.cordoned} jobs={jobs.length} placements={placements} again={data.again} />}
              <Facts
                rows={[
                  ["kind", facts.backend],
                  facts.healthy ? null : ["says", facts.message],
                  facts.version ? ["version", facts.version] : null,
                  ["machines", machines ? `${machines.ready} ready of ${facts.nodeCount}` : String(facts.nodeCount)],
                  [
                    "facts",
                    facts.observedAt ? (
                      <>
                        <Duration from={facts.observedAt} /> old, told at least every {durationText((facts.heartbeatPeriodSeconds ?? 0) * 1000)}
                      </>
                    ) : (
                      "always those of now: it is of this host"
                    ),
                  ],
                  ["taints", (facts.taints ?? []).map((one) => `${one.key}${one.value ? `=${one.value}` : ""}:${one.effect}`).join(", ") || "none"],
                  ["labels", Object.entries(facts.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(", ") || "none"],
                  facts.datasets?.length > 0 ? ["data sets", facts.datasets.join(", ")] : null,
                  ["command", <Command text={`muster describe memberclusters ${shellWord(name)}`} />],
                ]}
              />
              <h2>Room</h2>
              <Room name={name} allocatable={facts.allocatable} free={facts.free} others={facts.usedByOthers} />
              {machines && (
                <SmallTable
                  label="Machines by what is free on them"
                  head={["Resource", "Most on one machine", "Machines with at least that much free"]}
                  rows={Object.entries(machines.freeSlots ?? {}).map(([resource, slots]) => [
                    resource,
                    readable(machines.largestFree?.[resource], resource),
                    slots.map((one) => `${one.machines} with ${readable(one.atLeast, resource)}`).join(", ") || "none",
                  ])}
                />
              )}
              <h2>Health</h2>
              <ConditionList conditions={(member.status?.conditions ?? []).map((condition) => ({ type: condition.type, condition }))} />
              {left.length > 0 && (
                <>
                  <h2>Left alone there</h2>
                  <SmallTable
                    label="Objects that are left alone"
                    head={["Object", "Why", "Since"]}
                    rows={left.map((one) => [`${one.kind} ${one.namespace}/${one.name}`, one.why, <Time at={one.firstSeen} />])}
                  />
                </>
              )}
              <h2>What runs there</h2>
              {jobs.length === 0 ? (
                <p>Nothing that you may see.</p>
              ) : (
                <SmallTable
                  label="Jobs of this member"
                  head={["Job", "User", "Queue", "State", "Runs for"]}
                  rows={jobs
                    .slice(0, shownAtMost)
                    .map((job) => [
                      <Link to={`/jobs/${job.id}`}>
                        {job.id} {job.namespace}/{job.name}
                      </Link>,
                      job.user,
                      job.clusterQueue,
                      <State state={job.state} stopping={job.stopping} />,
                      <Duration from={job.startTime} />,
                    ])}
                />
              )}
              {jobs.length > shownAtMost && (
                <p class="note">
                  The first {shownAtMost} of {jobs.length}.
                </p>
              )}
              <h2>Placements that picked it</h2>
              {placements.length === 0 ? (
                <p>None that you may see.</p>
              ) : (
                <ul class="plain">
                  {placements.map((one) => (
                    <li key={`${one.metadata.namespace} ${one.metadata.name}`}>
                      <Link to={addressOfPlacement(one)}>{nameOfPlacement(one)}</Link>
                    </li>
                  ))}
                </ul>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

export const member: View = { path: "/members/:name", title: (params) => `Member ${params.name}`, show: Member };
