// What became of a job, step by step with durations, and each of its attempts.
import type { Event, Job } from "../../api/types";
import { SmallTable } from "../../parts/sentence";
import { Duration, Said, Time } from "../../parts/time";

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

// Events as steps of a life; those that are not here stand among the events alone.
const named: Record<string, string> = {
  JobHeld: "held",
  JobReleased: "released",
  JobPending: "queued",
  JobReserved: "quota reserved",
  JobCheckUpdated: "checked",
  JobAdmissionGated: "waits for a gate",
  JobAdmissionGateCleared: "a gate opened",
  JobAdmitted: "admitted",
  JobNominated: "members asked",
  JobPlaced: "placed",
  JobStarted: "running",
  JobSuspended: "suspended",
  JobResumed: "resumed",
  JobResized: "resized",
  JobStopping: "stopping",
  JobPreempting: "preempts others",
  JobEvicted: "evicted",
  JobRequeued: "requeued",
  JobMoved: "moved",
  JobDeactivated: "deactivated",
  JobPriorityChanged: "priority changed",
  JobSucceeded: "succeeded",
  JobFailed: "failed",
  JobCancelled: "cancelled",
};

function stepsOf(job: Job, events: readonly Event[]): Step[] {
  const steps: Step[] = [{ name: "submitted", at: job.submitTime, note: job.queue ? `to queue ${job.namespace}/${job.queue}` : "" }];
  for (const event of events) {
    const name = named[event.type];
    if (name) steps.push({ name, at: event.time, note: event.message || event.reason });
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
            {step.note && (
              <span>
                {" "}
                <Said text={step.note} />
              </span>
            )}
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

// The accounting lists attempts that have ended; the one that has not is told by the job itself.
function underWay(job: Job): Attempt[] {
  if (job.endTime !== null || job.admitTime === null || (job.state !== "Admitted" && job.state !== "Running")) return [];
  return [{ attempt: job.attempt, cluster: job.cluster, admitTime: job.admitTime, startTime: job.startTime, endTime: null, outcome: "under way", reason: "", message: "", exitCode: null, exitSignal: 0 }];
}

export function Attempts(props: { job: Job; attempts: readonly Attempt[] }) {
  const attempts = [...props.attempts.filter((one) => one.endTime !== null), ...underWay(props.job)];
  if (attempts.length === 0) return <p class="faint">No attempt has begun yet.</p>;
  return (
    <SmallTable
      label="Attempts"
      head={["Attempt", "Member", "Quota", "Started", "Ended", "Ran", "Outcome", "Why"]}
      rows={attempts.map((one) => [
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
