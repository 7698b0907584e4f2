// What became of a job, step by step with durations, and each of its attempts.
import type { Event, Job } from "../../api/types";
import { SmallTable } from "../../parts/sentence";
import { Duration, Time } from "../../parts/time";

export interface Attempt {
  attempt: number;
  cluster: string;
  admitTime: string | null;
  startTime: string | null;
  endTime: string | null;
  outcome: string;
  reason: string;
  message: string;
  exitCode: number | null;
  exitSignal: number;
}

interface Step {
  name: string;
  at: string;
  note: string;
}

const named: Record<string, string> = {
  Accepted: "submitted",
  Submitted: "submitted",
  Held: "held",
  Released: "released",
  QuotaReserved: "quota reserved",
  Admitted: "admitted",
  Dispatched: "placed",
  Started: "running",
  Running: "running",
  Requeued: "requeued",
  Evicted: "evicted",
  Preempted: "preempted",
  Succeeded: "succeeded",
  Failed: "failed",
  Cancelled: "cancelled",
};

function stepsOf(job: Job, events: readonly Event[]): Step[] {
  const steps: Step[] = [{ name: "submitted", at: job.submitTime, note: job.queue ? `to queue ${job.namespace}/${job.queue}` : "" }];
  for (const event of events) {
    const name = named[event.type] ?? event.type;
    if (name === "submitted") continue;
    steps.push({ name, at: event.time, note: event.message || event.reason });
  }
  return steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

export function Timeline(props: { job: Job; events: readonly Event[] }) {
  const { job } = props;
  const steps = stepsOf(job, props.events);
  const ended = job.endTime !== null;
  return (
    <ol class="timeline">
      {steps.map((step, index) => {
        const next = steps[index + 1];
        return (
          <li key={index}>
            <b>{step.name}</b> <Time at={step.at} />
            {step.note && <span> {step.note}</span>}
            {(next || !ended) && (
              <span class="faint">
                {" "}
                · for <Duration from={step.at} to={next?.at ?? null} />
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** How long each part of the job took, in one line. */
export function Spans(props: { job: Job }) {
  const { job } = props;
  return (
    <p>
      waited <Duration from={job.submitTime} to={job.admitTime ?? job.endTime} />
      {job.admitTime && (
        <>
          {" "}
          → placed and started in <Duration from={job.admitTime} to={job.startTime ?? job.endTime} />
        </>
      )}
      {job.startTime && (
        <>
          {" "}
          → {job.endTime ? "ran" : "runs for"} <Duration from={job.startTime} to={job.endTime} />
        </>
      )}
    </p>
  );
}

export function Attempts(props: { attempts: readonly Attempt[] }) {
  if (props.attempts.length === 0) return <p class="faint">No attempt has ended yet.</p>;
  return (
    <SmallTable
      label="Attempts"
      head={["Attempt", "Member", "Quota", "Started", "Ended", "Ran", "Outcome", "Why"]}
      rows={props.attempts.map((one) => [
        one.attempt,
        one.cluster,
        <Time at={one.admitTime} />,
        <Time at={one.startTime} />,
        <Time at={one.endTime} />,
        <Duration from={one.startTime} to={one.endTime} />,
        [one.outcome, one.exitCode !== null ? `exit ${one.exitCode}` : "", one.exitSignal ? `signal ${one.exitSignal}` : ""].filter(Boolean).join(", "),
        one.message || one.reason,
      ])}
    />
  );
}
