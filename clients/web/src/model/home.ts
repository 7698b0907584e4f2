// What a person's page tells out of the list of his jobs. Pure.
export interface Mine {
  id: number;
  name: string;
  namespace: string;
  state: string;
  reason: string;
  message: string;
  submitTime: string;
  admitTime: string | null;
  startTime: string | null;
  endTime: string | null;
}

/** Reasons of waiting jobs that no scheduler can lift: somebody has to do something. */
const stuck: Record<string, string> = {
  ExceedsMaxQuota: "It asks for more than its queue may ever use. Ask for less, or for more quota.",
  NoMatchingFlavor: "No flavor of its queue suits it. Change its node selector or its queue.",
  NoMemberCluster: "No member can hold it. Ask for less, or for another kind of machine.",
  Misconfigured: "Its queue is not usable as it is configured. Ask the administrator of the queue.",
  DependencyNeverSatisfied: "The job that it waits for did not end as it asks. Cancel it, or change its dependency.",
  Deactivated: "It was deactivated after too many attempts, or by somebody. Requeue or cancel it.",
  RequeuingLimitExceeded: "It was requeued too often. Look at its attempts, then submit it anew.",
  HeldByUser: "It is held. Release it when it may run.",
  HeldByAdmin: "An administrator holds it. Ask them.",
  HeldAfterRequeue: "It came back held. Release it when it may run.",
  Suspended: "It is suspended. Release it when it may run.",
  RequeueLimit: "It was requeued too often. Release it to try again.",
  PartitionTimeLimit: "Its time limit is above that of its partition. Lower it.",
  PartitionNodeLimit: "It asks for more nodes than its partition allows. Ask for fewer.",
  PartitionMemoryLimit: "It asks for more memory than its partition allows. Ask for less.",
};

/** What its owner should do about a job; "" for nothing. */
export function adviceOf(job: Mine): string {
  // Of a job that nobody suspended it is the queue that is stopped.
  if (job.state === "Pending" && job.reason === "Suspended") return "Its queue is stopped. Ask the administrator of the queue.";
  if (job.state === "Pending" || job.state === "Held") return stuck[job.reason] ?? (job.state === "Held" ? "It is held. Release it when it may run." : "");
  if (job.state !== "Failed") return "";
  if (job.reason === "OutOfMemory") return "It ran out of memory. Ask for more.";
  if (job.reason === "DeadlineExceeded" || job.reason === "MaximumExecutionTimeExceeded") return "It reached its time limit. Ask for more time.";
  return "It failed. Read the end of its log.";
}

export interface Change {
  job: Mine;
  at: string;
  what: "submitted" | "admitted" | "started" | "succeeded" | "failed" | "was cancelled" | "ended";
}

/** The latest change of each job since a time, the newest first. */
export function changesSince(jobs: readonly Mine[], since: number): Change[] {
  const out: Change[] = [];
  for (const job of jobs) {
    const ended = { Succeeded: "succeeded", Failed: "failed", Cancelled: "was cancelled" } as const;
    const steps: Array<[string | null, Change["what"]]> = [
      [job.submitTime, "submitted"],
      [job.admitTime, "admitted"],
      [job.startTime, "started"],
      [job.endTime, ended[job.state as keyof typeof ended] ?? "ended"],
    ];
    // Of times that are equal, the later step; a job that was requeued may have been submitted long before.
    let last: Change | null = null;
    for (const [at, what] of steps) if (at !== null && (last === null || Date.parse(at) >= Date.parse(last.at))) last = { job, at, what };
    if (last && Date.parse(last.at) >= since) out.push(last);
  }
  return out.sort((a, b) => Date.parse(b.at) - Date.parse(a.at) || b.job.id - a.job.id);
}

/** "2 run, 1 waits" of the states that there are. */
export function countsText(jobs: readonly Mine[]): string {
  const count = (...states: string[]) => jobs.filter((job) => states.includes(job.state)).length;
  const parts = [
    [count("Running"), "runs", "run"],
    [count("Admitted"), "starts", "start"],
    [count("Pending"), "waits", "wait"],
    [count("Held"), "is held", "are held"],
  ] as const;
  return parts
    .filter(([n]) => n > 0)
    .map(([n, one, more]) => `${n} ${n === 1 ? one : more}`)
    .join(", ");
}
