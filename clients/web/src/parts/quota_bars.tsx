// The bars of a queue's quotas, one per flavor and resource, and who borrows since when.
import type { Quota } from "../api/types";
import { barOf, borrowsSince, heldBy, lendersOf, type Holder } from "../model/queues";
import { Bar, type Part, type Tick } from "./bar";
import { Time } from "./time";

const nameOf = (quota: Quota) => `${quota.resource} of ${quota.flavor}`;

export function QuotaBars(props: { quotas: readonly Quota[]; all: readonly Quota[]; holders: readonly Holder[] }) {
  return (
    <div class="quota-bars">
      {props.quotas.map((quota) => {
        const bar = barOf(quota);
        const parts: Part[] = [
          { label: "own", value: bar.own.value, kind: 1, text: bar.own.text },
          { label: "borrowed", value: bar.borrowed.value, kind: 2, text: bar.borrowed.text },
          { label: "reserved", value: bar.reserved.value, kind: 3, text: bar.reserved.text },
          { label: "lent", value: bar.lent.value, kind: 4, text: bar.lent.text },
          { label: "free", value: bar.free.value, kind: 5, text: bar.free.text },
        ];
        const said = parts.filter((part) => part.value > 0 || part.label === "own" || part.label === "free");
        const ticks: Tick[] = [{ label: "nominal", value: bar.nominal.value, text: bar.nominal.text }];
        if (bar.most) ticks.push({ label: "at most", value: bar.most.value, text: bar.most.text });
        if (bar.kept) ticks.push({ label: "never lent", value: bar.kept.value, text: bar.kept.text });
        const key = `${quota.flavor} ${quota.resource}`;
        return (
          <div key={key}>
            <h3>{nameOf(quota)}</h3>
            <Bar label={nameOf(quota)} parts={said} ticks={ticks} max={bar.max} />
            {bar.borrowed.value > 0 && <Borrows quota={quota} all={props.all} holders={props.holders} />}
          </div>
        );
      })}
    </div>
  );
}

function Borrows(props: { quota: Quota; all: readonly Quota[]; holders: readonly Holder[] }) {
  const { quota } = props;
  const since = borrowsSince(props.holders, quota.clusterQueue, quota);
  const lenders = lendersOf(props.all, quota.flavor, quota.resource).filter((one) => one.queue !== quota.clusterQueue);
  const jobs = props.holders.filter((job) => job.clusterQueue === quota.clusterQueue && heldBy(job, quota.flavor, quota.resource) > 0);
  const borrowed = barOf(quota).borrowed.value;
  // What is lent counts only where it could not be had from elsewhere in the cohort.
  const missed = lenders.reduce((sum, one) => sum + one.lent.value, 0);
  const users = [...new Set(jobs.map((job) => job.user))];
  return (
    <p class="note">
      Borrows {barOf(quota).borrowed.text}
      {since !== "" && (
        <>
          {" "}
          at least since <Time at={since} />
        </>
      )}
      {users.length > 0 && `, for ${users.slice(0, 3).join(", ")}${users.length > 3 ? ` and ${users.length - 3} more` : ""}`}
      {lenders.length > 0 &&
        `. Lent by ${lenders
          .slice(0, 3)
          .map((one) => `${one.queue} (${one.lent.text})`)
          .join(", ")}${lenders.length > 3 ? ` and ${lenders.length - 3} more` : ""}${missed < borrowed ? "; nobody lacks the rest" : ""}`}
      .
    </p>
  );
}
