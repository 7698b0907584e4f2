// Submit: paste manifests or a batch script, have them checked, see when they would start, submit them.
import { useSignal } from "@preact/signals";
import { Link, query, setQuery } from "../app/router";
import { call, Refusal, sentence } from "../api/client";
import type { Applied, Job, SubmittedJob } from "../api/types";
import { useData } from "../live/data";
import { countText } from "../model/words";
import { kindOf } from "../model/script";
import { Command, shellWord } from "../parts/command";
import { Field, Form } from "../parts/form";
import { listObjects } from "../parts/objects";
import { Failure } from "../parts/states";
import { Time } from "../parts/time";
import type { LocalQueue } from "./queue_data";
import type { View } from "./view";
import "../style/views.css";

interface Estimate {
  id: number;
  startTime: string;
  text: string;
  queue: string;
  nodeList: string;
  cpus: number;
}
interface Checked {
  /** Of what was typed: another text has to be checked again. */
  text: string;
  estimate: Estimate | null;
  items: Applied[];
}
interface Submitted {
  id: number;
  name: string;
  namespace: string;
  warnings: string[];
  /** Why it waits, or that it runs. */
  summary: string;
  when: string;
}
interface Problem {
  text: string;
  fields: Array<{ field: string; message: string }>;
  /** For want of a right; `right` names it where the sentence does not. */
  refused: boolean;
  right: string;
}

const yaml = "application/yaml";
const examples = {
  script: "#!/bin/sh\n#SBATCH --job-name=train --cpus-per-task=2 --mem=1G --time=10\necho \"training as job $SLURM_JOB_ID\"\n",
  manifest:
    'apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: train-\n  labels:\n    kueue.x-k8s.io/queue-name: QUEUE\nspec:\n  suspend: true\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - name: main\n        image: debian:12\n        command: ["/bin/sh", "-c", "echo training"]\n        resources:\n          requests: {cpu: "1", memory: 1Gi}\n',
};

// A key for one submission: the same text sent twice, after a break of the line, is one job.
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `ui-${[...bytes].map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}

async function explained(job: Job, warnings: string[]): Promise<Submitted> {
  const { id, name, namespace } = job;
  try {
    const why = await call("explainJob", { id });
    return { id, name, namespace, warnings, summary: why.summary, when: why.estimatedStart?.text ?? "" };
  } catch (error) {
    return { id, name, namespace, warnings, summary: sentence(error), when: "" };
  }
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof Refusal)) return { text: sentence(error), fields: [], refused: false, right: "" };
  // What a document needs a right for depends on its kind; the daemon's own sentence names it.
  const named = error.status === 403 && !error.resource.includes("{");
  const right = named ? `${error.verb} ${error.resource}${error.namespace === "" ? "" : ` in namespace ${error.namespace}`}` : "";
  return { text: sentence(error), fields: error.fields, refused: error.status === 403, right };
}

function Checks(props: { checked: Checked }) {
  const { estimate, items } = props.checked;
  return (
    <div class="answer" role="status">
      <h2>It is accepted</h2>
      {estimate && (
        <p>
          It would go to queue {estimate.queue}
          {estimate.cpus > 0 ? `, with ${countText(estimate.cpus, "CPU")}` : ""}
          {estimate.nodeList !== "" ? `, on ${estimate.nodeList}` : ""}. It would start{" "}
          {Date.parse(estimate.startTime) > Date.now() && (
            <>
              at the latest <Time at={estimate.startTime} />:{" "}
            </>
          )}
          {estimate.text}.
        </p>
      )}
      {items.length > 0 && (
        <ul class="plain">
          {items.map((one) => (
            <li key={`${one.kind} ${one.namespace} ${one.name}`}>
              {one.kind} {one.namespace === "" ? "" : `${one.namespace}/`}
              {one.name} would be {one.outcome}
              {one.warnings.map((warning) => (
                <div class="unsure" key={warning}>
                  <span aria-hidden="true">! </span>
                  {warning}
                </div>
              ))}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Done(props: { jobs: readonly Submitted[]; others: readonly Applied[] }) {
  return (
    <div class="answer" role="status">
      <h2>Submitted</h2>
      <ul class="plain">
        {props.jobs.map((job) => (
          <li key={job.id}>
            <Link to={`/jobs/${job.id}`}>
              Job {job.id} {job.namespace}/{job.name}
            </Link>
            : {job.summary}.
            {job.when !== "" && <span class="note"> Start: {job.when}.</span>}
            {job.warnings.map((warning) => (
              <div class="unsure" key={warning}>
                <span aria-hidden="true">! </span>
                {warning}
              </div>
            ))}
          </li>
        ))}
        {props.others.map((one) => (
          <li key={`${one.kind} ${one.namespace} ${one.name}`}>
            {one.kind} {one.namespace === "" ? "" : `${one.namespace}/`}
            {one.name} {one.outcome}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Submit() {
  const text = useSignal("");
  const namespace = query.value.get("namespace") ?? "default";
  const queue = query.value.get("queue") ?? "";
  const checked = useSignal<Checked | null>(null);
  const problem = useSignal<Problem | null>(null);
  const done = useSignal<{ jobs: Submitted[]; others: Applied[] } | null>(null);
  const key = useSignal(newKey());
  const queues = useData("submit-queues", () => listObjects<LocalQueue>("kueue", "localqueues").catch(() => []), { on: () => false });
  const kind = kindOf(text.value);
  const all = queues.value.value ?? [];
  const id = `${namespace} ${queue} ${text.value}`;
  const ready = checked.value !== null && checked.value.text === id;

  const check = async () => {
    if (kind === "script" || kind === "manifest") {
      const options = kind === "script" ? { body: { script: text.value, ...(queue === "" ? {} : { queue }) } } : { body: text.value, type: yaml };
      try {
        const estimate = (await call("submitJob", { namespace }, { dryRun: true }, options)) as unknown as Estimate;
        checked.value = { text: id, estimate, items: [] };
        return;
      } catch (error) {
        // An object that is no job is applied, as several documents are.
        const other = kind === "manifest" && error instanceof Refusal && error.fields.some((one) => one.field === "kind");
        if (!other) throw error;
      }
    }
    const answer = await call("apply", {}, { namespace, dryRun: true }, { body: text.value, type: yaml });
    checked.value = { text: id, estimate: null, items: answer.items };
  };
  const submit = async () => {
    if (checked.value?.estimate) {
      const headers = { "Idempotency-Key": key.value };
      const options = kind === "script" ? { body: { script: text.value, ...(queue === "" ? {} : { queue }) }, headers } : { body: text.value, type: yaml, headers };
      const job = (await call("submitJob", { namespace }, {}, options)) as unknown as SubmittedJob;
      done.value = { jobs: [await explained(job, job.warnings)], others: [] };
    } else {
      const answer = await call("apply", {}, { namespace }, { body: text.value, type: yaml });
      const jobs = answer.items.filter((one) => one.job);
      done.value = { jobs: await Promise.all(jobs.slice(0, 20).map((one) => explained(one.job, one.warnings))), others: answer.items.filter((one) => !one.job).concat(jobs.slice(20)) };
    }
    checked.value = null;
    key.value = newKey();
  };
  const send = async () => {
    problem.value = null;
    done.value = null;
    try {
      await (ready ? submit() : check());
    } catch (error) {
      checked.value = null;
      problem.value = problemOf(error);
    }
  };
  const typed = (value: string) => {
    text.value = value;
    checked.value = null;
    problem.value = null;
  };
  const wrong = problem.value;
  return (
    <>
      <h1>Submit</h1>
      <Form action={ready ? "Submit" : "Check"} send={send} disabled={kind === "nothing"}>
        <div class="row">
          <Field label="Namespace" value={namespace} set={(value) => setQuery({ namespace: value })} list={[...new Set(all.map((one) => one.metadata.namespace ?? ""))]} required />
          {kind === "script" && (
            <Field
              label="Queue, unless the script has --partition"
              value={queue}
              set={(value) => setQuery({ queue: value })}
              list={all.filter((one) => one.metadata.namespace === namespace).map((one) => one.metadata.name)}
            />
          )}
        </div>
        <Field label="Manifests (YAML or JSON), or a batch script" value={text.value} set={typed} lines={18} required />
        <p class="note">
          {kind === "nothing" ? "Paste something, or begin with an example." : kind === "script" ? "This is a batch script." : kind === "manifest" ? "This is one manifest." : "These are several manifests: all are applied, or none."}
        </p>
        {wrong && (
          <div class="failure" role="alert">
            {wrong.fields.length === 0 ? wrong.text : "It is not accepted:"}
            {wrong.fields.length > 0 && (
              <ul class="plain">
                {wrong.fields.map((one) => (
                  <li key={`${one.field} ${one.message}`}>
                    <code>{one.field || "(all of it)"}</code> {one.message}
                  </li>
                ))}
              </ul>
            )}
            {wrong.refused && <p>Ask an administrator for {wrong.right === "" ? "this right" : `the right to ${wrong.right}`}.</p>}
          </div>
        )}
        {ready && checked.value && <Checks checked={checked.value} />}
      </Form>
      {done.value && <Done jobs={done.value.jobs} others={done.value.others} />}
      <p class="row examples">
        <button type="button" onClick={() => typed(examples.script)}>
          Example of a script
        </button>
        <button type="button" onClick={() => typed(examples.manifest)}>
          Example of a manifest
        </button>
      </p>
      <p>
        <Command text={kind === "script" ? `sbatch ${queue === "" ? "" : `-p ${shellWord(`${namespace}/${queue}`)} `}FILE` : `muster apply -n ${shellWord(namespace)} -f FILE`} />
      </p>
      {queues.value.error !== "" && <Failure text={queues.value.error} />}
    </>
  );
}

export const submit: View = { path: "/submit", title: () => "Submit", menu: "Submit", key: "s", show: Submit };
