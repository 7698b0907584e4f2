// One ClusterQueue: its quotas and their edit, its order with positions, and who holds its quota.
import { useSignal, type Signal } from "@preact/signals";
import { Link, query, setQuery } from "../app/router";
import { call } from "../api/client";
import { may } from "../api/rights";
import type { Quota } from "../api/types";
import { useData } from "../live/data";
import { briefly } from "../model/messages";
import { readable } from "../model/quantity";
import { borrowingSince, heldBy, type ClusterQueue, type Holder } from "../model/queues";
import { Command, shellWord } from "../parts/command";
import { Dialog } from "../parts/dialog";
import { Check, Field, Form } from "../parts/form";
import { getObject, kueueGroup, listObjects } from "../parts/objects";
import { QuotaBars } from "../parts/quota_bars";
import { Facts, Sentence, SmallTable } from "../parts/sentence";
import { Failure, Loaded, State } from "../parts/states";
import { Duration, Time } from "../parts/time";
import { readAccounting } from "./accounting_data";
import { concernsQueues, readHolders, type LocalQueue } from "./queue_data";
import type { View, ViewProps } from "./view";
import "../style/views.css";

type Mention = { id: number; namespace: string; name: string; state: string; priority: number };

const pageSize = 50;
// How far back the accounting is read for the begin of borrowing.
const borrowedAtMost = 7 * 86_400_000;

const JobLink = (props: { job: { id: number; namespace: string; name: string; displayName?: string } }) => (
  <Link to={`/jobs/${props.job.id}`}>
    {props.job.id} {props.job.namespace}/{props.job.displayName || props.job.name}
  </Link>
);

// The daemon's own order, piece by piece; the address says from which position on.
function Order(props: { queue: string }) {
  const from = Math.max(0, Number(query.value.get("from") ?? 0) || 0);
  const data = useData(`order ${props.queue} ${from}`, (stop) => call("queueOrder", { name: props.queue }, { offset: from, limit: pageSize }, { signal: stop }), { on: (event) => event.job !== 0, gap: 3_000 });
  const go = (to: number) => setQuery({ from: to <= 0 ? "" : String(to) }, false);
  return (
    <Loaded data={data.value} again={data.again}>
      {({ waiting, items }) => {
        const last = Math.min(waiting, from + pageSize);
        const hidden = Math.max(0, last - from) - items.length;
        return (
          <>
            {waiting === 0 ? <p>No job waits here for its turn. Jobs that are held, or wait before they may be tried again, have no position.</p> : null}
            {items.length > 0 && (
              <SmallTable
                label="Jobs that wait, in order"
                head={["Position", "Job", "User", "Priority", "Waits", "Why"]}
                rows={items.map((job) => [
                  <span class="num">{job.position}</span>,
                  <JobLink job={job} />,
                  job.user,
                  <span class="num">{job.priority}</span>,
                  <Duration from={job.submitTime} />,
                  briefly(job.message) || job.reason,
                ])}
              />
            )}
            {waiting > 0 && (
              <p class="note">
                {from < waiting ? `Positions ${from + 1} to ${last} of ${waiting}.` : `There are only ${waiting} positions.`}
                {hidden > 0 && ` ${hidden} of them are of jobs that you may not see.`}
              </p>
            )}
            {(from > 0 || last < waiting) && (
              <div class="row">
                <button type="button" disabled={from === 0} onClick={() => go(from - pageSize)}>
                  Before
                </button>
                <button type="button" disabled={last >= waiting} onClick={() => go(from + pageSize)}>
                  Behind
                </button>
              </div>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

// Since when the queue borrows: exactly, where the accounting may be read, by the quota of now.
function Borrows(props: { page: QueuePage }) {
  const borrowed = props.page.quotas.filter((quota) => quota.borrowed !== "0");
  const data = useData(
    `borrows ${borrowed.map((quota) => `${quota.clusterQueue} ${quota.flavor} ${quota.resource} ${quota.nominal}`).join(",")}`,
    async () => {
      const from = Date.now() - borrowedAtMost;
      const { rows, cut } = await readAccounting(from);
      return borrowed.map((quota) => ({ quota, since: cut ? "" : borrowingSince(rows, quota, from) }));
    },
    { on: () => false, every: 600_000 },
  );
  if (borrowed.length === 0) return null;
  return (
    <ul class="plain">
      {(data.value.value ?? []).map(({ quota, since }) => (
        <li key={`${quota.flavor} ${quota.resource}`}>
          It borrows {readable(quota.borrowed, quota.resource)} {quota.resource} of {quota.flavor}{" "}
          {since === "" ? (
            "for longer than the accounting tells"
          ) : since === null ? (
            "since just now"
          ) : (
            <>
              since <Time at={since} /> (<Duration from={since} />)
            </>
          )}
          <span class="note"> by the quota of now</span>
        </li>
      ))}
    </ul>
  );
}

interface Effect {
  quota: Quota;
  wouldAdmit: Mention[];
  wouldPreempt: Mention[];
}

function Jobs(props: { title: string; none: string; jobs: readonly Mention[] }) {
  if (props.jobs.length === 0) return <p>{props.none}</p>;
  return (
    <>
      <h3>{props.title}</h3>
      <ul class="plain">
        {props.jobs.slice(0, 50).map((job) => (
          <li key={job.id}>
            {job.id} {job.namespace}/{job.name} <State state={job.state} /> <span class="note">priority {job.priority}</span>
          </li>
        ))}
      </ul>
      {props.jobs.length > 50 && <p class="note">and {props.jobs.length - 50} more</p>}
    </>
  );
}

function Limit(props: { label: string; amount: string; value: Signal<string>; on: Signal<boolean>; touched: () => void }) {
  return (
    <div class="row">
      <Check
        label={props.label}
        on={props.on.value}
        set={(on) => {
          props.on.value = on;
          props.touched();
        }}
      />
      {props.on.value && (
        <Field
          label={props.amount}
          value={props.value.value}
          required
          set={(text) => {
            props.value.value = text;
            props.touched();
          }}
        />
      )}
    </div>
  );
}

// The edit of one quota: what it would do is shown before it can be saved.
function Edit(props: { quota: Quota; close: () => void; saved: () => void }) {
  const { quota } = props;
  const nominal = useSignal(quota.nominal);
  const borrowing = useSignal(quota.borrowingLimit ?? "0");
  const limitsBorrowing = useSignal(quota.borrowingLimit !== null);
  const lending = useSignal(quota.lendingLimit ?? "0");
  const limitsLending = useSignal(quota.lendingLimit !== null);
  const effect = useSignal<Effect | null>(null);
  const touched = () => (effect.value = null);
  const { clusterQueue, flavor, resource, etag } = quota;
  const borrowingLimit = limitsBorrowing.value ? borrowing.value.trim() : null;
  const lendingLimit = limitsLending.value ? lending.value.trim() : null;
  const send = async () => {
    const body = { clusterQueue, flavor, resource, etag, nominal: nominal.value.trim(), borrowingLimit, lendingLimit };
    if (effect.value === null) {
      effect.value = (await call("editQuota", {}, { dryRun: true }, { body })) as unknown as Effect;
      return;
    }
    await call("editQuota", {}, {}, { body });
    props.saved();
    props.close();
  };
  const command = ["muster quota set", clusterQueue, flavor, resource, "--nominal", nominal.value.trim(), "--borrowing-limit", borrowingLimit ?? "none", "--lending-limit", lendingLimit ?? "none"]
    .map((word, i) => (i === 0 ? word : shellWord(word)))
    .join(" ");
  const seen = effect.value;
  return (
    <Dialog title={`Quota of ${clusterQueue}: ${resource} of ${flavor}`} close={props.close}>
      <Form action={seen === null ? "Show what it would do" : "Save"} send={send}>
        <Field
          label="Nominal quota"
          value={nominal.value}
          required
          hint={`now ${quota.nominal}; ${readable(quota.used, resource)} used`}
          set={(text) => {
            nominal.value = text;
            touched();
          }}
        />
        <Limit label="Limit what it may borrow" amount="It may borrow at most" value={borrowing} on={limitsBorrowing} touched={touched} />
        <Limit label="Limit what it lends" amount="It lends at most" value={lending} on={limitsLending} touched={touched} />
        {seen !== null && (
          <div class="answer" role="status">
            <Jobs title={`It would admit ${seen.wouldAdmit.length}`} none="It would admit no job." jobs={seen.wouldAdmit} />
            <Jobs title={`It would preempt ${seen.wouldPreempt.length}`} none="It would preempt no job." jobs={seen.wouldPreempt} />
            <p class="note">
              After it: {readable(seen.quota.used, resource)} used, {readable(seen.quota.borrowed, resource)} borrowed, {readable(seen.quota.available, resource)} available. Jobs that you may not see are not
              listed.
            </p>
          </div>
        )}
      </Form>
      <p>
        <Command text={command} />
      </p>
    </Dialog>
  );
}

interface QueuePage {
  queue: ClusterQueue;
  quotas: Quota[];
  all: Quota[];
  holders: Array<Holder & { state: string; startTime: string | null; priority: number; cluster: string }>;
  locals: LocalQueue[];
}

async function readPage(name: string): Promise<QueuePage> {
  const [queue, all, holders, locals] = await Promise.all([
    getObject<ClusterQueue>("kueue", "clusterqueues", name),
    call("listQuotas").then((answer) => answer.items),
    readHolders(),
    listObjects<LocalQueue>("kueue", "localqueues").catch(() => []),
  ]);
  return {
    queue,
    all,
    quotas: all.filter((quota) => quota.clusterQueue === name),
    holders: (holders as QueuePage["holders"]).filter((job) => job.clusterQueue === name),
    locals: locals.filter((one) => one.spec?.clusterQueue === name),
  };
}

function Quotas(props: { page: QueuePage; again: () => void; name: string }) {
  const edited = useSignal<Quota | null>(null);
  const mayEdit = may({ verb: "update", group: kueueGroup, resource: "clusterqueues" }).value === true;
  return (
    <>
      <QuotaBars quotas={props.page.quotas} all={props.page.all} holders={props.page.holders} />
      <Borrows page={props.page} />
      <SmallTable
        label="Quotas"
        head={["Flavor", "Resource", "Nominal", "May borrow", "Lends at most", "Used", "Borrowed", "Available", ...(mayEdit ? ["Edit"] : [])]}
        rows={props.page.quotas.map((quota) => [
          quota.flavor,
          quota.resource,
          readable(quota.nominal, quota.resource),
          quota.borrowingLimit === null ? "no limit" : readable(quota.borrowingLimit, quota.resource),
          quota.lendingLimit === null ? "no limit" : readable(quota.lendingLimit, quota.resource),
          readable(quota.used, quota.resource),
          readable(quota.borrowed, quota.resource),
          readable(quota.available, quota.resource),
          ...(mayEdit
            ? [
                <button type="button" aria-label={`Edit ${quota.resource} of ${quota.flavor}`} onClick={() => (edited.value = quota)}>
                  Edit
                </button>,
              ]
            : []),
        ])}
      />
      {edited.value && <Edit quota={edited.value} close={() => (edited.value = null)} saved={props.again} />}
    </>
  );
}

function Queue({ params }: ViewProps) {
  const name = params.name ?? "";
  const data = useData(`queue ${name}`, () => readPage(name), { on: concernsQueues, gap: 2_000 });
  return (
    <>
      <p>
        <Link to="/queues">Queues</Link>
      </p>
      <h1>Queue {name}</h1>
      <Loaded data={data.value} again={data.again}>
        {(page) => {
          const { spec, status } = page.queue;
          const active = status?.conditions?.find((one) => one.type === "Active");
          const borrows = page.quotas.filter((quota) => quota.borrowed !== "0").map((quota) => `${readable(quota.borrowed, quota.resource)} ${quota.resource}`);
          return (
            <>
              <Sentence tone={active && active.status !== "True" ? "bad" : borrows.length > 0 ? "wait" : "good"}>
                {active && active.status !== "True" ? `It is not active: ${active.message}. ` : ""}
                {status?.pendingWorkloads ?? 0} {status?.pendingWorkloads === 1 ? "waits" : "wait"}, {status?.admittedWorkloads ?? 0} {status?.admittedWorkloads === 1 ? "is" : "are"} admitted; {borrows.length === 0 ? "it borrows nothing" : `it borrows ${borrows.join(", ")}`}.
              </Sentence>
              <Facts
                rows={[
                  ["cohort", spec?.cohort ?? "none"],
                  ["order", spec?.queueingStrategy ?? "BestEffortFIFO"],
                  status?.fairSharing?.weightedShare !== undefined ? ["weighted share", <span class="num">{status.fairSharing.weightedShare}</span>] : null,
                  spec?.fairSharing?.weight !== undefined ? ["weight", spec.fairSharing.weight] : null,
                  spec?.stopPolicy !== undefined && spec.stopPolicy !== "None" ? ["stopped", spec.stopPolicy] : null,
                  ["fed by", page.locals.length === 0 ? "no local queue that you may see" : page.locals.map((one) => `${one.metadata.namespace}/${one.metadata.name}`).join(", ")],
                  ["command", <Command text={`muster describe clusterqueues ${shellWord(name)}`} />],
                ]}
              />
              <h2>Quota</h2>
              {page.quotas.length === 0 ? <Failure text="It has no quota, so it admits nothing. Add resourceGroups to its manifest." /> : <Quotas page={page} again={data.again} name={name} />}
              <h2>The order</h2>
              <Order queue={name} />
              <h2>Who holds its quota</h2>
              {page.holders.length === 0 ? (
                <p>No job that you may see.</p>
              ) : (
                <SmallTable
                  label="Jobs that hold quota"
                  head={["Job", "User", "State", "Member", "Admitted", "Holds"]}
                  rows={page.holders.slice(0, 200).map((job) => [
                    <JobLink job={job} />,
                    job.user,
                    <State state={job.state} />,
                    job.cluster,
                    <Time at={job.admitTime} />,
                    page.quotas
                      .map((quota) => [heldBy(job, quota.flavor, quota.resource), quota] as const)
                      .filter(([amount]) => amount > 0)
                      .map(([amount, quota]) => `${readable(String(amount), quota.resource)} ${quota.resource}`)
                      .join(", "),
                  ])}
                />
              )}
              {page.holders.length > 200 && <p class="note">The first 200 of {page.holders.length}.</p>}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

export const queue: View = { path: "/queues/:name", title: (params) => `Queue ${params.name}`, show: Queue };
