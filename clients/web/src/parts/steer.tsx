// Steering jobs: one or many, each with its own result. What cannot be undone is asked once more.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, sentence } from "../api/client";
import { Dialog } from "./dialog";

export type Verb = "hold" | "release" | "requeue" | "cancel";

export const verbs: Record<Verb, { title: string; right: string; does: string }> = {
  hold: { title: "Hold", right: "update", does: "keeps pending jobs from being admitted" },
  release: { title: "Release", right: "update", does: "undoes a hold" },
  requeue: { title: "Requeue", right: "update", does: "stops the attempt that runs and queues the job again" },
  cancel: { title: "Cancel", right: "delete", does: "ends the job; this cannot be undone" },
};

/** Whether a verb can do anything to a job in this state. */
export function fits(verb: Verb, state: string): boolean {
  if (verb === "hold") return state === "Pending";
  if (verb === "release") return state === "Held";
  if (verb === "requeue") return state === "Admitted" || state === "Running";
  return state === "Held" || state === "Pending" || state === "Admitted" || state === "Running";
}

function send(verb: Verb, id: string): Promise<unknown> {
  switch (verb) {
    case "hold":
      return call("holdJob", { id });
    case "release":
      return call("releaseJob", { id });
    case "requeue":
      return call("requeueJob", { id });
    case "cancel":
      return call("cancelJob", { id });
  }
}

export interface Aim {
  id: string;
  name: string;
}

interface Outcome extends Aim {
  error: string;
}

// Browsers open six connections to a server, and one of them is the feed.
const atOnce = 4;
const shownAtMost = 500;

export function Steer(props: { verb: Verb; jobs: readonly Aim[]; close: () => void }) {
  const { title, does } = verbs[props.verb];
  const started = useSignal(false);
  const stopped = useSignal(false);
  const done = useSignal<readonly Outcome[]>([]);
  useEffect(() => () => void (stopped.value = true), []);
  const run = async () => {
    started.value = true;
    let next = 0;
    const worker = async () => {
      while (next < props.jobs.length && !stopped.value) {
        const job = props.jobs[next++]!;
        let error = "";
        try {
          await send(props.verb, job.id);
        } catch (wrong) {
          error = sentence(wrong);
        }
        done.value = [...done.value, { ...job, error }];
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  };
  const many = props.jobs.length === 1 ? "1 job" : `${props.jobs.length} jobs`;
  const failed = done.value.filter((one) => one.error !== "");
  const over = started.value && (done.value.length === props.jobs.length || stopped.value);
  return (
    <Dialog title={`${title} ${many}`} close={props.close}>
      {!started.value ? (
        <>
          <p>
            {title} {does}.
          </p>
          <ul class="brief">
            {props.jobs.slice(0, 10).map((job) => (
              <li key={job.id}>
                {job.id} {job.name}
              </li>
            ))}
            {props.jobs.length > 10 && <li>and {props.jobs.length - 10} more</li>}
          </ul>
          <div class="row">
            <button type="button" class="main" onClick={run}>
              {title} {many}
            </button>
            <button type="button" onClick={props.close}>
              Leave as it is
            </button>
          </div>
        </>
      ) : (
        <>
          <p role="status">
            {done.value.length} of {props.jobs.length} asked: {done.value.length - failed.length} done, {failed.length} refused.
          </p>
          <progress max={props.jobs.length} value={done.value.length} aria-label="Jobs asked" />
          <ul class="outcomes">
            {[...failed, ...done.value.filter((one) => one.error === "")].slice(0, shownAtMost).map((one) => (
              <li key={one.id} class={one.error === "" ? "" : "wrong"}>
                <span aria-hidden="true">{one.error === "" ? "✓" : "✕"} </span>
                <b>{one.id}</b> {one.name}: {one.error === "" ? "done" : one.error}
              </li>
            ))}
            {done.value.length > shownAtMost && <li>and {done.value.length - shownAtMost} more</li>}
          </ul>
          {over ? (
            <button type="button" class="main" onClick={props.close}>
              Close
            </button>
          ) : (
            <button type="button" onClick={() => (stopped.value = true)}>
              Stop
            </button>
          )}
        </>
      )}
    </Dialog>
  );
}
