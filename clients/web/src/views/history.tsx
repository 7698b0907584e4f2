// History: how long jobs waited and what was used against quota, out of the accounting.
import { useMemo } from "preact/hooks";
import { Link, query, setQuery } from "../app/router";
import { call } from "../api/client";
import { useData } from "../live/data";
import { begins, groups, resourcesOf, useSeries, waitSeries, type Accounted, type Window } from "../model/history";
import { durationText } from "../model/duration";
import { amountOf, amountText } from "../model/quantity";
import { countText, percentText } from "../model/words";
import { Chart } from "../parts/chart";
import { Command } from "../parts/command";
import { Choice, ReadAgain } from "../parts/form";
import { Sentence, SmallTable } from "../parts/sentence";
import { Empty, Loaded } from "../parts/states";
import { readAccounting, rowsAtMost } from "./accounting_data";
import type { View } from "./view";
import "../style/views.css";

const spans: ReadonlyArray<readonly [string, string, number]> = [
  ["1h", "1 hour", 3_600_000],
  ["6h", "6 hours", 6 * 3_600_000],
  ["24h", "1 day", 86_400_000],
  ["168h", "1 week", 7 * 86_400_000],
  ["720h", "30 days", 30 * 86_400_000],
  ["2160h", "90 days", 90 * 86_400_000],
];
const buckets = 60;
const seconds = (value: number | null) => (value === null ? "–" : durationText(value * 1000));

function Curves(props: { rows: readonly Accounted[]; resource: string; window: Window; quota: number; cut: boolean }) {
  const { rows, resource, window, quota } = props;
  const made = useMemo(() => {
    const times = begins(window);
    const waits = waitSeries(rows, window);
    const use = useSeries(rows, resource, window);
    // A step holds until the next one begins: the last one until the end of the time.
    const steps = [...times, window.to / 1_000];
    const held = [...use, use[use.length - 1] ?? 0];
    return {
      steps,
      use,
      waits: [
        { label: "p50", values: [...waits.p50, null], color: 1 as const },
        { label: "p95", values: [...waits.p95, null], color: 2 as const, dashed: true },
      ],
      used: [
        { label: "used", values: held, color: 1 as const },
        ...(quota > 0 ? [{ label: "quota now", values: steps.map(() => quota), color: 2 as const, dashed: true }] : []),
      ],
      users: groups(rows, "user", resource, window),
      queues: groups(rows, "clusterQueue", resource, window),
    };
  }, [rows, resource, window, quota]);
  const table = (label: string, list: typeof made.users, name: (one: string) => string) => (
    <SmallTable
      label={label}
      head={[label, "Jobs", "Failed", "Wait p50", "Wait p95", `${resource} hours`]}
      rows={list
        .slice(0, 50)
        .map((one) => [
          <Link to={name(one.name)}>{one.name || "none"}</Link>,
          <span class="num">{one.jobs}</span>,
          <span class="num">{one.failed}</span>,
          seconds(one.p50),
          seconds(one.p95),
          <span class="num">{amountText(one.hours, resource)}</span>,
        ])}
    />
  );
  const whole = made.use.reduce((a, b) => a + b, 0) / buckets;
  return (
    <>
      <Sentence>
        {countText(rows.length, "job")}; on average {amountText(whole, resource)} {resource} used
        {quota > 0 ? ` of ${amountText(quota, resource)} (${percentText(whole, quota)})` : ""}.
      </Sentence>
      {props.cut && <p class="note">There are more than {rowsAtMost} jobs in this time; these are the first of them. Choose a shorter time, a user or a queue to see all.</p>}
      <Chart label="Wait from submission to start" times={made.steps} curves={made.waits} text={seconds} />
      <Chart label={`${resource} used against quota`} times={made.steps} curves={made.used} text={(value) => amountText(value, resource)} steps />
      <h2>By queue</h2>
      {table("Queue", made.queues, (one) => (one === "" ? "/queues" : `/queues/${encodeURIComponent(one)}`))}
      <h2>By user</h2>
      {table("User", made.users, (one) => `/history?user=${encodeURIComponent(one)}`)}
      {made.users.length > 50 && <p class="note">The first 50 of {made.users.length}.</p>}
    </>
  );
}

function History() {
  const at = (name: string) => query.value.get(name) ?? "";
  const span = spans.find(([id]) => id === at("span")) ?? spans[2]!;
  const user = at("user");
  const queue = at("queue");
  const data = useData(
    `history ${span[0]} ${user}`,
    async () => {
      const to = Date.now();
      const window: Window = { from: to - span[2], to, buckets };
      const [accounting, quotas] = await Promise.all([
        readAccounting(window.from, user === "" ? {} : { user }),
        // Who may not see quotas sees the use alone.
        call("listQuotas").then(
          (answer) => answer.items,
          () => [],
        ),
      ]);
      return { ...accounting, quotas, window };
    },
    { on: () => false, every: 300_000 },
  );
  const known = data.value.value?.rows ?? [];
  const rows = useMemo(() => (queue === "" ? known : known.filter((row) => row.job.clusterQueue === queue)), [known, queue]);
  const resources = useMemo(() => resourcesOf(known), [known]);
  const resource = resources.includes(at("resource")) ? at("resource") : (resources[0] ?? "cpu");
  const names = (of: (row: Accounted) => string) => [...new Set(known.map(of))].filter((one) => one !== "").sort();
  const options = (list: readonly string[], chosen: string) => [["", "all"], ...[...new Set([...list, ...(chosen === "" ? [] : [chosen])])].map((one) => [one, one])] as Array<[string, string]>;
  return (
    <>
      <h1>History</h1>
      <div class="row">
        <Choice label="Time" value={span[0]} set={(value) => setQuery({ span: value })} options={spans.map(([id, text]) => [id, text] as const)} />
        <Choice label="User" value={user} set={(value) => setQuery({ user: value })} options={options(names((row) => row.job.user), user)} />
        <Choice label="Queue" value={queue} set={(value) => setQuery({ queue: value })} options={options(names((row) => row.job.clusterQueue), queue)} />
        <Choice label="Resource" value={resource} set={(value) => setQuery({ resource: value })} options={(resources.length > 0 ? resources : ["cpu"]).map((one) => [one, one] as const)} />
        <ReadAgain again={data.again} />
      </div>
      <Loaded data={data.value} again={data.again}>
        {({ cut, quotas, window }) =>
          rows.length === 0 ? (
            <Empty>
              <p>No job ran, waited or ended in this time.</p>
              <p>
                Choose a longer time, or <Link to="/submit">submit one</Link>.
              </p>
            </Empty>
          ) : (
            <Curves
              rows={rows}
              resource={resource}
              window={window}
              cut={cut}
              quota={quotas.filter((quota) => quota.resource === resource && (queue === "" || quota.clusterQueue === queue)).reduce((sum, quota) => sum + amountOf(quota.nominal), 0)}
            />
          )
        }
      </Loaded>
      <p>
        <Command text={`sacct -X -S now-${span[0].replace("h", "hours")}${user === "" ? " -a" : ` -u ${user}`}`} />
      </p>
    </>
  );
}

export const history: View = {
  path: "/history",
  title: () => "History",
  menu: "History",
  key: "y",
  show: History,
};
