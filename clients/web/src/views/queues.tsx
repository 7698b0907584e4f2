// Queues: the cohort tree with the quota of each queue, who borrows from whom, and since when.
import { query, setQuery, Link } from "../app/router";
import { may } from "../api/rights";
import { useData } from "../live/data";
import { cohortTree, type ClusterQueue, type CohortNode } from "../model/queues";
import { amountOf, readable } from "../model/quantity";
import { Bar } from "../parts/bar";
import { Command } from "../parts/command";
import { Field } from "../parts/form";
import { kueueGroup } from "../parts/objects";
import { QuotaBars } from "../parts/quota_bars";
import { Sentence, SmallTable } from "../parts/sentence";
import { Empty, Loaded } from "../parts/states";
import { concernsQueues, readLocalQueues, readQueues, type QueueWorld } from "./queue_data";
import type { View } from "./view";
import "../style/views.css";

const shownAtMost = 100;

function QueueCard(props: { queue: ClusterQueue; world: QueueWorld }) {
  const { metadata, status, spec } = props.queue;
  const name = metadata.name;
  const active = status?.conditions?.find((one) => one.type === "Active");
  const share = status?.fairSharing?.weightedShare;
  return (
    <li class={`card ${active && active.status !== "True" ? "bad" : ""}`}>
      <h2>
        <Link to={`/queues/${encodeURIComponent(name)}`}>{name}</Link>
      </h2>
      <p class="note">
        {status?.admittedWorkloads ?? 0} admitted, {(status?.reservingWorkloads ?? 0) - (status?.admittedWorkloads ?? 0)} reserve, {status?.pendingWorkloads ?? 0} wait
        {share !== undefined && `; weighted share ${share}`}
        {spec?.fairSharing?.weight !== undefined && `, weight ${spec.fairSharing.weight}`}
        {spec?.queueingStrategy === "StrictFIFO" && "; strict order"}
      </p>
      {active && active.status !== "True" && (
        <p class="off">
          <span aria-hidden="true">✕ </span>Not active: {active.message}
        </p>
      )}
      <QuotaBars quotas={props.world.quotas.filter((quota) => quota.clusterQueue === name)} all={props.world.quotas} holders={props.world.holders} />
    </li>
  );
}

function CohortBranch(props: { node: CohortNode; world: QueueWorld }) {
  const { node, world } = props;
  const totals = node.cohort?.status?.flavorsUsage ?? [];
  const broken = node.cohort?.status?.conditions?.find((one) => one.status === "False");
  return (
    <li>
      <details open>
        <summary>
          <b>{node.name === "" ? "Queues in no cohort" : `Cohort ${node.name}`}</b> <span class="note">{node.total === 1 ? "1 queue" : `${node.total} queues`}</span>
        </summary>
        {broken && <p class="off">{broken.message}</p>}
        {totals.length > 0 && (
          <div class="card">
            <h2>All of {node.name}</h2>
            <div class="quota-bars">
              {totals.map((one) => {
                const whole = amountOf(one.subtreeQuota);
                const used = amountOf(one.used);
                return (
                  <div key={`${one.flavor} ${one.resource}`}>
                    <h3>
                      {one.resource} of {one.flavor}
                    </h3>
                    <Bar
                      label={`${one.resource} of ${one.flavor} in cohort ${node.name}`}
                      max={Math.max(whole, used)}
                      parts={[
                        { label: "used", value: used, kind: 1, text: readable(one.used, one.resource) },
                        { label: "free", value: Math.max(0, whole - used), kind: 5, text: readable(String(Math.max(0, whole - used)), one.resource) },
                      ]}
                      ticks={[{ label: "quota", value: whole, text: readable(one.subtreeQuota, one.resource) }]}
                    />
                  </div>
                );
              })}
            </div>
          </div>
        )}
        <ul class="tree">
          {node.children.map((child) => (
            <CohortBranch key={child.name} node={child} world={world} />
          ))}
          {node.queues.map((queue) => (
            <QueueCard key={queue.metadata.name} queue={queue} world={world} />
          ))}
        </ul>
      </details>
    </li>
  );
}

function Tree() {
  const data = useData("queues", readQueues, { on: concernsQueues, gap: 2_000 });
  const search = query.value.get("search") ?? "";
  return (
    <Loaded data={data.value} again={data.again}>
      {(world) => {
        const found = world.queues.filter((queue) => queue.metadata.name.includes(search) || (queue.spec?.cohort ?? "").includes(search));
        const shown = found.slice(0, shownAtMost);
        const borrowers = [...new Set(world.quotas.filter((quota) => quota.borrowed !== "0").map((quota) => quota.clusterQueue))];
        const waiting = world.queues.reduce((sum, queue) => sum + (queue.status?.pendingWorkloads ?? 0), 0);
        const waited = world.queues.filter((queue) => (queue.status?.pendingWorkloads ?? 0) > 0).length;
        const cohorts = search === "" ? world.cohorts : world.cohorts.filter((one) => shown.some((queue) => (queue.spec?.cohort ?? "") === one.metadata.name));
        if (world.queues.length === 0) {
          return (
            <Empty>
              <p>There is no ClusterQueue yet. Queues say who may use how much.</p>
              <p>
                <Command text="muster apply -f examples/quickstart/queues.yaml" /> makes two; <Link to="/submit">Submit</Link> takes them too.
              </p>
            </Empty>
          );
        }
        return (
          <>
            <Sentence tone={borrowers.length > 0 ? "wait" : "good"}>
              {waiting} {waiting === 1 ? "job waits" : "jobs wait"} in {waited} of {world.queues.length} {world.queues.length === 1 ? "queue" : "queues"}.{" "}
              {borrowers.length === 0 ? "None borrows." : `${borrowers.slice(0, 5).join(", ")}${borrowers.length > 5 ? ` and ${borrowers.length - 5} more` : ""} ${borrowers.length === 1 ? "borrows" : "borrow"}.`}
            </Sentence>
            <div class="row">
              <Field label="Queue or cohort" type="search" value={search} set={(text) => setQuery({ search: text })} />
            </div>
            {found.length > shown.length && (
              <p class="note">
                The first {shown.length} of {found.length} queues are shown. Name one to see the others.
              </p>
            )}
            {found.length === 0 && <Empty>No queue or cohort has “{search}” in its name.</Empty>}
            <ul class="tree">
              {cohortTree(shown, cohorts).map((node) => (
                <CohortBranch key={node.name} node={node} world={world} />
              ))}
            </ul>
            <p>
              <Command text="muster get clusterqueues -o wide" />
            </p>
          </>
        );
      }}
    </Loaded>
  );
}

// For tenants, who may not list ClusterQueues: their own LocalQueues and what is used through them.
function Locals() {
  const data = useData("localqueues", readLocalQueues, { on: concernsQueues, gap: 2_000 });
  return (
    <Loaded data={data.value} again={data.again}>
      {(queues) =>
        queues.length === 0 ? (
          <Empty>
            <p>There is no queue that you may see.</p>
            <p>
              Ask the administrator for the right to list {kueueGroup}/localqueues in your namespace; <Command text="muster auth can-i --list" /> tells what you may do.
            </p>
          </Empty>
        ) : (
          <SmallTable
            label="Local queues"
            head={["Queue", "ClusterQueue", "Wait", "Admitted", "In use"]}
            rows={queues.map((queue) => [
              <Link to={`/jobs?namespace=${encodeURIComponent(queue.metadata.namespace ?? "")}&queue=${encodeURIComponent(queue.metadata.name)}`}>
                {queue.metadata.namespace}/{queue.metadata.name}
              </Link>,
              queue.spec?.clusterQueue ?? "",
              queue.status?.pendingWorkloads ?? 0,
              queue.status?.admittedWorkloads ?? 0,
              (queue.status?.flavorsUsage ?? []).flatMap((flavor) => flavor.resources.map((one) => `${readable(one.total, one.name)} ${one.name}`)).join(", "),
            ])}
          />
        )
      }
    </Loaded>
  );
}

function Queues() {
  const all = may({ verb: "list", group: kueueGroup, resource: "clusterqueues" }).value;
  return (
    <>
      <h1>Queues</h1>
      {all === undefined && (
        <p class="loading" role="status">
          Loading …
        </p>
      )}
      {all === true && <Tree />}
      {all === false && <Locals />}
    </>
  );
}

export const queues: View = { path: "/queues", title: () => "Queues", menu: "Queues", key: "q", show: Queues };
