// What stands where there is nothing to show, or not yet: empty, error and loading.
import type { ComponentChildren } from "preact";
import type { Data } from "../live/data";
import { liveState, trouble } from "../live/feed";

export function Empty(props: { children: ComponentChildren }) {
  return <div class="empty">{props.children}</div>;
}

export function Failure(props: { text: string; again?: () => void }) {
  return (
    <div class="failure" role="alert">
      <span aria-hidden="true">✕ </span>
      {props.text}
      {props.again && (
        <button type="button" class="quiet" onClick={props.again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Whether the frame of the page says already that the daemon is away, and there is something to show meanwhile. */
export const toldAbove = (data: Data<unknown>): boolean => data.away === true && data.value !== undefined && liveState.value === "stale" && trouble.value !== "";

/** The data once it is there; while old data is shown a failure to renew it stands above it. */
export function Loaded<T>(props: { data: Data<T>; again?: () => void; children: (value: T) => ComponentChildren }) {
  const { data } = props;
  return (
    <>
      {data.error !== "" && !toldAbove(data) && <Failure text={data.error} {...(props.again ? { again: props.again } : {})} />}
      {data.value !== undefined ? props.children(data.value) : data.error === "" && <p class="loading" role="status">Loading …</p>}
    </>
  );
}

const marks: Record<string, string> = {
  Pending: "◷",
  Held: "‖",
  Admitted: "◔",
  Running: "▶",
  Succeeded: "✓",
  Failed: "✕",
  Cancelled: "⊘",
};

/** A state of a job, with a sign beside its colour. */
export function State(props: { state: string; stopping?: boolean }) {
  return (
    <span class={`state state-${props.state.toLowerCase()}`}>
      <span aria-hidden="true">{marks[props.state] ?? "•"} </span>
      {props.state}
      {props.stopping ? " (stopping)" : ""}
    </span>
  );
}
