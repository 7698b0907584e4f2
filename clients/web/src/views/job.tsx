// Job: why it waits or is where it is, what became of it, what it prints, and its manifest.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { call } from "../api/client";
import { mayJob } from "../api/rights";
import type { Event, Job as JobView } from "../api/types";
import { useKeys } from "../app/keys";
import { go, Link } from "../app/router";
import { useData } from "../live/data";
import { durationText } from "../model/duration";
import { countText } from "../model/words";
import { Command } from "../parts/command";
import { Facts, SmallTable } from "../parts/sentence";
import { Failure, Loaded, State, toldAbove } from "../parts/states";
import { fits, Steer, verbs, type Verb } from "../parts/steer";
import { Time } from "../parts/time";
import { Logs, type Pod } from "./job/logs";
import { Manifest } from "./job/manifest";
import { Attempts, Spans, Timeline, type Attempt } from "./job/timeline";
import { Why } from "./job/why";
import type { View, ViewProps } from "./view";

interface MemberEvent {
  time: string;
  type: string;
  reason: string;
  object: string;
  message: string;
  count: number;
}

const over = (job: JobView) => ["Succeeded", "Failed", "Cancelled"].includes(job.state);

function Title(props: { job: JobView; steer: (verb: Verb) => void }) {
  const { job } = props;
  return (
    <div class="row title">
      <h1>
        <span class="num">{job.id}</span> {job.displayName || job.name}
      </h1>
      <State state={job.state} stopping={job.stopping} />
      {(Object.keys(verbs) as Verb[])
        .filter((verb) => fits(verb, job.state) && mayJob(verbs[verb].right, job) !== false)
        .map((verb) => (
          <button key={verb} type="button" title={verbs[verb].does} onClick={() => props.steer(verb)}>
            {verbs[verb].title}
          </button>
        ))}
    </div>
  );
}

function About(props: { job: JobView }) {
  const { job } = props;
  const pods = job.podSets.map((one) => `${one.name}: ${one.count} × ${Object.entries(one.requests as Record<string, string>).map(([name, amount]) => `${amount} ${name}`).join(", ")}`);
  return (
    <Facts
      rows={[
        ["user", <Link to={`/jobs?user=${encodeURIComponent(job.user)}`}>{job.user}</Link>],
        ["object", `${job.kind} ${job.namespace}/${job.name}`],
        ["queue", `${job.queue || "none"} → ${job.clusterQueue || "none"}`],
        ["priority", `${job.priority}${job.priorityClass ? ` (${job.priorityClass})` : ""}`],
        ["pods", pods.join("; ") || "none"],
        ["member", job.nodeList || job.cluster || "none yet"],
        ["time limit", job.timeLimitSeconds ? durationText(job.timeLimitSeconds * 1_000) : "none"],
        job.requeueAt !== null && ["not before", <Time at={job.requeueAt} />],
        job.exitCode !== null && ["exit code", `${job.exitCode}${job.exitSignal ? `, signal ${job.exitSignal}` : ""}`],
        job.batch !== null && job.batch.arrayJobId !== 0 && ["array", <Link to={`/jobs?array=${job.batch.arrayJobId}`}>{`all tasks of ${job.batch.arrayJobId}`}</Link>],
        job.batch !== null && job.batch.dependency !== "" && ["waits for", job.batch.dependency],
        ["uid", job.uid],
      ]}
    />
  );
}

const exitOf = (pod: Pod) => [pod.exitCode !== null ? String(pod.exitCode) : "", pod.exitSignal ? `signal ${pod.exitSignal}` : ""].filter(Boolean).join(", ");
const podColumns: ReadonlyArray<readonly [string, (pod: Pod) => ComponentChildren, ((pod: Pod) => boolean)?]> = [
  ["Pod", (pod) => pod.name],
  ["Phase", (pod) => pod.phase],
  ["Node", (pod) => pod.node, (pod) => pod.node !== ""],
  ["Started", (pod) => <Time at={pod.startTime} />],
  ["Ended", (pod) => <Time at={pod.endTime} />, (pod) => pod.endTime !== null],
  ["Exit", exitOf, (pod) => exitOf(pod) !== ""],
  ["Message", (pod) => pod.message, (pod) => pod.message !== ""],
];

function Pods(props: { pods: readonly Pod[] }) {
  // What no pod has is no column.
  const columns = podColumns.filter(([, , has]) => !has || props.pods.some(has));
  return (
    <SmallTable label="Pods" head={columns.map(([title]) => title)} rows={props.pods.map((one) => columns.map(([, cell]) => cell(one)))} />
  );
}

function Events(props: { events: readonly Event[]; member: readonly MemberEvent[]; trouble: string }) {
  return (
    <details>
      <summary>
        {countText(props.events.length, "event")} of Muster, {props.member.length} of its member
      </summary>
      <SmallTable
        label="Events of Muster"
        head={["Time", "Number", "Type", "Reason", "Message"]}
        rows={props.events.map((one) => [<Time at={one.time} />, one.seq, one.type, one.reason, one.message])}
      />
      {props.trouble !== "" && <Failure text={props.trouble} />}
      {props.member.length > 0 && (
        <SmallTable
          label="Events of its member"
          head={["Time", "Object", "Type", "Reason", "Times", "Message"]}
          rows={props.member.map((one) => [<Time at={one.time} />, one.object, one.type, one.reason, one.count, one.message])}
        />
      )}
    </details>
  );
}

const commands = (job: JobView): ReadonlyArray<readonly [string, string]> => [
  [waits(job) ? "why it waits" : "why", `muster explain ${job.id}`],
  ["all about it", `muster describe job ${job.id}`],
  ["its output", `muster logs ${job.id}`],
  ["its manifest", `muster get job ${job.id} -o yaml`],
  ...steering.filter(([verb]) => fits(verb, job.state)).map(([verb, words]) => [verb, `muster ${words} ${job.id}`] as const),
];
const steering: ReadonlyArray<readonly [Verb, string]> = [
  ["hold", "hold"],
  ["release", "release"],
  ["requeue", "requeue"],
  ["cancel", "delete job"],
];
const waits = (job: JobView) => job.state === "Pending" || job.state === "Held";

function Whole(props: { job: JobView; id: string }) {
  const { job } = props;
  // Only events of this job make its parts old.
  const on = (event: Event) => event.job === job.id;
  const why = useData(`explain ${props.id}`, (stop) => call("explainJob", { id: props.id }, {}, { signal: stop }), { on, gap: 1_000, others: 15_000 });
  const events = useData(`events ${props.id}`, (stop) => call("jobEvents", { id: props.id }, {}, { signal: stop }), { on });
  const pods = useData(`pods ${props.id}`, async (stop) => ((await call("jobPods", { id: props.id }, {}, { signal: stop })) as { items: Pod[] }).items, { on, gap: 2_000 });
  const told = useData(`told ${props.id}`, async (stop) => ((await call("jobMemberEvents", { id: props.id }, {}, { signal: stop })) as { items: MemberEvent[] }).items, { on, gap: 5_000 });
  const account = useData(
    `account ${props.id}`,
    async (stop) => {
      const answer = await call("accounting", {}, { ids: String(job.id) }, { signal: stop });
      return (answer.items[0]?.attempts ?? []) as unknown as Attempt[];
    },
    { on, gap: 2_000 },
  );
  const aim = useSignal<Verb | null>(null);
  return (
    <>
      <Title job={job} steer={(verb) => (aim.value = verb)} />
      <Loaded data={why.value} again={why.again}>
        {(value) => <Why why={value} />}
      </Loaded>
      <About job={job} />
      <h2>What became of it</h2>
      <Spans job={job} />
      <Loaded data={events.value} again={events.again}>
        {(value) => <Timeline job={job} events={value.items} />}
      </Loaded>
      <h3>Attempts</h3>
      <Loaded data={account.value} again={account.again}>
        {(value) => <Attempts job={job} attempts={value} />}
      </Loaded>
      <h2>Pods and what they print</h2>
      <Loaded data={pods.value} again={pods.again}>
        {(value) => (
          <>
            {value.length > 0 && <Pods pods={value} />}
            <Logs id={props.id} pods={value} running={!over(job)} />
          </>
        )}
      </Loaded>
      <h2>Events</h2>
      <Events events={events.value.value?.items ?? []} member={told.value.value ?? []} trouble={toldAbove(told.value) ? "" : told.value.error} />
      <h2>Manifest</h2>
      <Manifest id={props.id} version={`${job.attempt} ${job.state}`} />
      <h2>On the command line</h2>
      <Facts rows={commands(job).map(([what, text]) => [what, <Command text={text} />] as const)} />
      {aim.value && (
        <Steer verb={aim.value} jobs={[{ id: String(job.id), name: job.displayName || job.name }]} close={() => (aim.value = null)} />
      )}
    </>
  );
}

function Job(props: ViewProps) {
  const id = props.params.id ?? "";
  const number = useRef(0);
  const data = useData<JobView>(
    `job ${id}`,
    async (stop) => {
      const found = await call("getJob", { id }, {}, { signal: stop });
      number.current = found.id;
      return found;
    },
    { on: (event) => event.job === number.current, gap: 500 },
  );
  useKeys([
    { keys: "b", what: "Job: back to the jobs", run: () => go("/jobs") },
    { keys: "l", what: "Job: search its output", run: () => document.getElementById("log-search")?.focus() },
  ]);
  return (
    <Loaded data={data.value} again={data.again}>
      {(job) => <Whole key={job.id} job={job} id={String(job.id)} />}
    </Loaded>
  );
}

export const job: View = { path: "/jobs/:id", title: (params) => `Job ${params.id ?? ""}`, show: Job };
