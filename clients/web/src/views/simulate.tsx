// Simulate: a week of the accounting played against the queues as they are and as a change would make them.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { query, setQuery } from "../app/router";
import { call } from "../api/client";
import { useData } from "../live/data";
import { durationText } from "../model/duration";
import { amountText } from "../model/quantity";
import type { Configured } from "../model/queues";
import { countText } from "../model/words";
import { documentsOf, heldCurve, meanWait, together, type Decision } from "../model/simulation";
import { Chart } from "../parts/chart";
import { Command, shellWord } from "../parts/command";
import { Choice, Field, Form } from "../parts/form";
import { listObjects, type GroupName } from "../parts/objects";
import { Sentence, SmallTable } from "../parts/sentence";
import { Failure } from "../parts/states";
import { readAccounting } from "./accounting_data";
import type { View } from "./view";
import "../style/views.css";

const spans: ReadonlyArray<readonly [string, string, number]> = [
  ["24h", "the last day", 86_400_000],
  ["168h", "the last week", 7 * 86_400_000],
  ["720h", "the last 30 days", 30 * 86_400_000],
];
// The limit of jobs of one run at the daemon.
const jobsAtMost = 20_000;

interface Summary {
  end: string;
  makespan: number;
  jobs: { total: number; finished: number; waiting: number; timedOut: number };
  preemptions: number;
  lostRunTime: number;
  waits: Array<{ priorityClass: string; started: number; neverStarted: number; mean: number; median: number; p95: number; max: number }>;
  use: Array<{ clusterQueue: string; flavor: string; resource: string; nominalQuota: string; percent: number }>;
}
interface Run {
  decisions: Decision[];
  summary: Summary;
}
interface Result {
  asIs: Run;
  changed: Run;
  change: string[];
  played: number;
  guessed: number;
  left: number;
  cut: boolean;
  wait: number | null;
  /** When the play begins, in seconds since 1970. */
  from: number;
}

const kinds: ReadonlyArray<readonly [GroupName, string, string]> = [
  ["kueue", "resourceflavors", "ResourceFlavor"],
  ["kueue", "workloadpriorityclasses", "WorkloadPriorityClass"],
  ["kueue", "topologies", "Topology"],
  ["kueue", "admissionchecks", "AdmissionCheck"],
  ["kueue", "cohorts", "Cohort"],
  ["kueue", "clusterqueues", "ClusterQueue"],
  ["kueue", "localqueues", "LocalQueue"],
  ["fleet", "memberclusters", "MemberCluster"],
];

// The objects of the fleet as documents: what they are, not what has become of them.
async function readFleet(): Promise<Array<Record<string, unknown>>> {
  const lists = await Promise.all(kinds.map(([group, plural]) => listObjects<Configured & { apiVersion?: string }>(group, plural)));
  return lists.flat().map((one) => ({ ...one, metadata: { name: one.metadata.name, namespace: one.metadata.namespace, labels: one.metadata.labels, annotations: one.metadata.annotations } }));
}

const changesOf = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

async function play(span: number, change: string[]): Promise<Result> {
  const now = Date.now();
  const from = now - span;
  const [fleet, accounting] = await Promise.all([readFleet(), readAccounting(from)]);
  const { documents, guessed, left } = documentsOf(accounting.rows as unknown as Parameters<typeof documentsOf>[0], from, now);
  if (documents.length === 0) throw new Error("no job ran or waited in this time, so there is nothing to play");
  const body = { documents: [...fleet, ...documents.slice(0, jobsAtMost)], decisions: true };
  // One run at a time is what the daemon takes.
  const asIs = (await call("simulate", {}, {}, { body })) as unknown as Run;
  const changed = (await call("simulate", {}, {}, { body: { ...body, set: change } })) as unknown as Run;
  return { asIs, changed, change, played: Math.min(documents.length, jobsAtMost), guessed, left, cut: accounting.cut || documents.length > jobsAtMost, wait: meanWait(accounting.rows), from: from / 1000 };
}

// Of all jobs, weighted by how many started.
function meanOf(summary: Summary): number | null {
  const started = summary.waits.reduce((sum, one) => sum + one.started, 0);
  return started === 0 ? null : summary.waits.reduce((sum, one) => sum + one.mean * one.started, 0) / started;
}
const wait = (value: number | null) => (value === null ? "–" : durationText(value * 1000));

function Outcome(props: { result: Result }) {
  const { asIs, changed } = props.result;
  const resources = useMemo(() => [...new Set(asIs.summary.use.map((one) => one.resource))].sort(), [asIs]);
  const queues = useMemo(() => [...new Set(asIs.summary.use.map((one) => one.clusterQueue))].sort(), [asIs]);
  const asked = query.value.get("resource") ?? "";
  // What the change names is what one wants to see first.
  const named = resources.find((one) => props.result.change.some((word) => word.includes(`/${one}`))) ?? resources[0] ?? "cpu";
  const resource = resources.includes(asked) ? asked : named;
  const queue = query.value.get("queue") ?? "";
  const curves = useMemo(() => {
    const [times, before, after] = together(heldCurve(asIs.decisions, resource, queue), heldCurve(changed.decisions, resource, queue));
    return {
      times: times.map((at) => props.result.from + at),
      curves: [
        { label: "as it is", values: before, color: 1 as const },
        { label: "with the change", values: after, color: 2 as const, dashed: true },
      ],
    };
  }, [asIs, changed, resource, queue]);
  const [before, after] = [meanOf(asIs.summary), meanOf(changed.summary)];
  const stuck = [asIs, changed].map((run) => run.summary.waits.reduce((sum, one) => sum + one.neverStarted, 0)) as [number, number];
  const rows = (["p95", "median", "max"] as const).map((key) => [key === "max" ? "longest wait" : key === "median" ? "wait p50" : "wait p95", (run: Run) => wait(run.summary.waits.reduce((most, one) => Math.max(most, one[key]), 0))] as const);
  return (
    <>
      <Sentence tone={stuck[1] > stuck[0] || (after ?? 0) > (before ?? 0) ? "bad" : "good"}>
        With the change, the jobs that start wait {wait(after)} on average instead of {wait(before)}; {stuck[1]} never {stuck[1] === 1 ? "starts" : "start"} instead of {stuck[0]}; there {changed.summary.preemptions === 1 ? "is" : "are"}{" "}
        {countText(changed.summary.preemptions, "preemption")} instead of {asIs.summary.preemptions}.
      </Sentence>
      <p class="note">
        {props.result.played === 1 ? "1 job was" : `${props.result.played} jobs were`} played
        {props.result.guessed > 0 ? `; of those that have not started (${props.result.guessed}) it is taken that they run as long as others of their user and queue did (half of which ran longer), at most for their time limit` : ""}
        {props.result.left > 0 ? `; those that ended or are held without having run (${props.result.left}) are left out` : ""}
        {props.result.cut ? `; there were more, of which only the first were played` : ""}. In truth they waited {wait(props.result.wait)} on average: the play knows no holds, no failures of machines and no start times of members.
      </p>
      <div class="row">
        <Choice label="Resource" value={resource} set={(value) => setQuery({ resource: value })} options={resources.map((one) => [one, one] as const)} />
        <Choice label="Queue" value={queue} set={(value) => setQuery({ queue: value })} options={[["", "all"] as const, ...queues.map((one) => [one, one] as const)]} />
      </div>
      <Chart label={`${resource} held`} times={curves.times} curves={curves.curves} text={(value) => amountText(value, resource)} steps />
      <SmallTable
        label="Both runs"
        head={["Figure", "As it is", "With the change"]}
        rows={[
          ["wait, on average", wait(before), wait(after)],
          ...rows.map(([label, of]) => [label, of(asIs), of(changed)]),
          ["from the first arrival to the end", wait(asIs.summary.makespan), wait(changed.summary.makespan)],
          ["finished", asIs.summary.jobs.finished, changed.summary.jobs.finished],
          ["wait at the end", asIs.summary.jobs.waiting, changed.summary.jobs.waiting],
          ["preemptions", asIs.summary.preemptions, changed.summary.preemptions],
          ["run time lost", wait(asIs.summary.lostRunTime), wait(changed.summary.lostRunTime)],
          ...asIs.summary.use
            .filter((one) => one.resource === resource)
            .map((one) => {
              const other = changed.summary.use.find((two) => two.clusterQueue === one.clusterQueue && two.flavor === one.flavor && two.resource === one.resource);
              return [`use of ${one.clusterQueue}, ${one.flavor}`, `${Math.round(one.percent)} % of ${one.nominalQuota}`, other ? `${Math.round(other.percent)} % of ${other.nominalQuota}` : "–"];
            }),
        ]}
      />
    </>
  );
}

function Simulate() {
  const text = query.value.get("set") ?? "";
  const span = spans.find(([id]) => id === query.value.get("span")) ?? spans[1]!;
  const result = useSignal<Result | null>(null);
  const quotas = useData("simulate-quotas", () => call("listQuotas").then((answer) => answer.items), { on: () => false });
  const change = changesOf(text);
  const known = quotas.value.value ?? [];
  return (
    <>
      <h1>Simulate</h1>
      <p>
        What would have been, had the queues been otherwise: the jobs of the accounting are played, each as long as it ran or will probably run, against the queues and members of now, twice, with the scheduler's own decisions. Nothing is changed.
      </p>
      <Form
        action="Play"
        disabled={change.length === 0}
        send={async () => {
          result.value = null;
          result.value = await play(span[2], change);
        }}
      >
        <div class="row">
          <Choice label="Jobs of" value={span[0]} set={(value) => setQuery({ span: value })} options={spans.map(([id, words]) => [id, words] as const)} />
          <Choice
            label="Add the quota of"
            value=""
            set={(value) => value !== "" && setQuery({ set: [...change, value].join("\n") })}
            options={[["", "choose one …"] as const, ...known.map((one) => [`clusterqueue/${one.clusterQueue}:${one.flavor}/${one.resource}=${one.nominal}`, `${one.clusterQueue}: ${one.resource} of ${one.flavor}, now ${one.nominal}`] as const)]}
          />
        </div>
        <Field
          label="The change, one edit on a line"
          lines={4}
          value={text}
          set={(value) => setQuery({ set: value })}
          hint="clusterqueue/NAME:FLAVOR/RESOURCE=AMOUNT, or +8 and -8; .borrowingLimit and .lendingLimit after the resource; cohort/NAME:…; membercluster/NAME:RESOURCE=AMOUNT"
          required
        />
      </Form>
      {quotas.value.error !== "" && <Failure text={quotas.value.error} />}
      {result.value && <Outcome result={result.value} />}
      <p>
        <Command text={`muster simulate FILES --compare ${(change.length > 0 ? change : ["EDIT"]).map((one) => `--set ${shellWord(one)}`).join(" ")}`} />
      </p>
    </>
  );
}

export const simulate: View = {
  path: "/simulate",
  title: () => "Simulate",
  menu: "Simulate",
  key: "w",
  needs: { verb: "create", group: "muster.io", resource: "simulations" },
  show: Simulate,
};
