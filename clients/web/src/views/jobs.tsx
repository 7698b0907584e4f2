// Jobs: a table that the daemon filters, sorts, searches and counts. All that it shows stands in
// its address; columns and saved views are kept in this browser.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { call, sentence } from "../api/client";
import { mayJob, me } from "../api/rights";
import type { Job, Queries } from "../api/types";
import { useKeys } from "../app/keys";
import { go, Link, query, setQuery } from "../app/router";
import { useData } from "../live/data";
import { durationText } from "../model/duration";
import { briefly } from "../model/messages";
import { Command, shellWord } from "../parts/command";
import { Dialog } from "../parts/dialog";
import { Check, Choice, Field, Form } from "../parts/form";
import { Empty, Failure, State, toldAbove } from "../parts/states";
import { fits, Steer, verbs, type Aim, type Verb } from "../parts/steer";
import { Table, type Column } from "../parts/table";
import { Duration, Time } from "../parts/time";
import type { View } from "./view";

interface JobColumn extends Column<Job> {
  /** The members of a job that the cell needs. */
  fields: readonly string[];
}

/** What all pods of a job ask of a resource, as the first pod set writes it; "" if nothing. */
function asked(job: Job, resource: string): string {
  const parts = (job.podSets ?? [])
    .map((one) => [one.count, (one.requests as Record<string, string>)[resource]] as const)
    .filter(([, amount]) => amount !== undefined);
  return parts.map(([count, amount]) => (count === 1 ? amount : `${count}×${amount}`)).join(" + ");
}

function gpus(job: Job): string {
  const names = new Set((job.podSets ?? []).flatMap((one) => Object.keys(one.requests)).filter((name) => name.includes("gpu")));
  return [...names].map((name) => asked(job, name)).join(", ");
}

const columns: readonly JobColumn[] = [
  { id: "id", title: "Number", width: 9, fields: [], sorts: true, right: true, cell: (job) => <Link to={`/jobs/${job.id}`}>{job.id}</Link> },
  { id: "name", title: "Name", width: 18, fields: ["name", "displayName"], sorts: true, cell: (job) => <span title={job.name}>{job.displayName || job.name}</span> },
  { id: "namespace", title: "Namespace", width: 11, fields: [], sorts: true, cell: (job) => job.namespace },
  { id: "user", title: "User", width: 9, fields: [], sorts: true, cell: (job) => job.user },
  { id: "queue", title: "Queue", width: 11, fields: ["queue"], sorts: true, cell: (job) => job.queue },
  { id: "clusterQueue", title: "ClusterQueue", width: 15, fields: ["clusterQueue"], sorts: true, cell: (job) => job.clusterQueue },
  { id: "kind", title: "Kind", width: 12, fields: [], sorts: true, cell: (job) => job.kind },
  { id: "state", title: "State", width: 14, fields: ["state", "stopping"], sorts: true, cell: (job) => <State state={job.state} stopping={job.stopping} /> },
  { id: "reason", title: "Why", width: 36, fields: ["reason", "message"], sorts: true, cell: (job) => <span title={job.message}>{briefly(job.message) || job.reason}</span> },
  { id: "cluster", title: "Member", width: 10, fields: ["cluster"], sorts: true, cell: (job) => job.cluster },
  { id: "priority", title: "Priority", width: 9, fields: ["priority"], sorts: true, right: true, cell: (job) => <span class="num">{job.priority}</span> },
  { id: "cpu", title: "CPU", width: 10, fields: ["podSets"], cell: (job) => asked(job, "cpu") },
  { id: "gpu", title: "GPU", width: 8, fields: ["podSets"], cell: gpus },
  { id: "submitTime", title: "Submitted", width: 19, fields: ["submitTime"], sorts: true, cell: (job) => <Time at={job.submitTime} /> },
  { id: "startTime", title: "Started", width: 19, fields: ["startTime"], sorts: true, cell: (job) => <Time at={job.startTime} /> },
  { id: "endTime", title: "Ended", width: 19, fields: ["endTime"], sorts: true, cell: (job) => <Time at={job.endTime} /> },
  { id: "waited", title: "Waited", width: 11, fields: ["submitTime", "startTime", "endTime"], cell: (job) => <Duration from={job.submitTime} to={job.startTime ?? job.endTime} /> },
  { id: "ran", title: "Ran", width: 11, fields: ["startTime", "endTime"], cell: (job) => <Duration from={job.startTime} to={job.endTime} /> },
  { id: "limit", title: "Time limit", width: 11, fields: ["timeLimitSeconds"], cell: (job) => (job.timeLimitSeconds ? durationText(job.timeLimitSeconds * 1_000) : "none") },
  { id: "attempt", title: "Attempt", width: 8, fields: ["attempt"], right: true, cell: (job) => <span class="num">{job.attempt}</span> },
];
const usual = ["id", "name", "namespace", "user", "queue", "state", "reason", "cluster", "submitTime", "waited", "ran"];

// In a narrow window what says most stands first, and is narrower.
const narrowQuery = matchMedia("(max-width: 40rem)");
const narrow = signal(narrowQuery.matches);
narrowQuery.addEventListener("change", () => (narrow.value = narrowQuery.matches));
const firstWhereNarrow: Record<string, number> = { id: 9, name: 9, state: 12.5 };
const columnsOf = (ids: readonly string[], isNarrow: boolean): JobColumn[] => {
  const shown = columns.filter((one) => ids.includes(one.id));
  if (!isNarrow) return shown;
  const first = shown.filter((one) => one.id in firstWhereNarrow).map((one) => ({ ...one, width: firstWhereNarrow[one.id]! }));
  return [...first, ...shown.filter((one) => !(one.id in firstWhereNarrow))];
};

// What this browser keeps for the page; what is not as the page writes it counts as nothing.
function kept<T>(key: string, otherwise: T): T {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? "null") as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}

const columnsKey = "muster.jobs.columns";
const chosen = signal<readonly string[]>(kept(columnsKey, usual));
function choose(ids: readonly string[]): void {
  chosen.value = ids;
  localStorage.setItem(columnsKey, JSON.stringify(ids));
}

type Saved = Record<string, string>;
const savedKey = "muster.jobs.views";
const saved = signal<Saved>(kept<Saved>(savedKey, {}));
function keep(views: Saved): void {
  saved.value = views;
  localStorage.setItem(savedKey, JSON.stringify(views));
}

const states = ["Held", "Pending", "Admitted", "Running", "Succeeded", "Failed", "Cancelled"];
const dayMs = 86_400_000;
const spans: ReadonlyArray<readonly [string, string, number]> = [
  ["1h", "last hour", 3_600_000],
  ["", "last day", dayMs],
  ["7d", "last 7 days", 7 * dayMs],
  ["30d", "last 30 days", 30 * dayMs],
  ["all", "any time", 0],
];
const filterNames = ["state", "namespace", "queue", "user", "kind", "array"] as const;
const groupable = ["state", "user", "namespace", "queue", "clusterQueue", "kind", "reason", "cluster"];
const selectAtMost = 10_000;
const pieceRows = 150;

/** `within`: how long ago jobs may have ended, "" for any time; the rest as the daemon takes it. */
type Filter = Pick<Queries["countJobs"], "state" | "namespace" | "queue" | "user" | "kind" | "array" | "search"> & { within: string };

/** The filter of the address. */
function filterOf(at: URLSearchParams): Filter {
  const filter: Record<string, string> = {};
  for (const name of filterNames) if (at.get(name)) filter[name] = at.get(name)!;
  const search = at.get("search")?.trim();
  if (search) filter.search = search;
  const span = spans.find(([name]) => name === (at.get("since") ?? ""))?.[2] ?? dayMs;
  return { ...filter, within: span > 0 ? `${span / 3_600_000}h` : "" };
}

// What the daemon is asked for now. To the minute, so that it can go on with the list that it has.
function queryOf(filter: Filter): Omit<Filter, "within"> & { since?: string } {
  const { within, ...rest } = filter;
  if (within === "") return rest;
  const since = Date.now() - Number.parseInt(within, 10) * 3_600_000;
  return { ...rest, since: new Date(Math.floor(since / 60_000) * 60_000).toISOString() };
}

// The same jobs on the command line.
function commandOf(filter: Filter): string {
  const parts = ["muster get jobs", filter.namespace ? `-n ${shellWord(filter.namespace)}` : "-A"];
  for (const name of ["state", "queue", "user", "kind", "array", "search"] as const) if (filter[name]) parts.push(`--${name} ${shellWord(String(filter[name]))}`);
  if (filter.within !== "") parts.push(`--since ${filter.within}`);
  return parts.join(" ");
}

interface Piece {
  offset: number;
  rows: Job[];
  total: number;
}

function Columns(props: { close: () => void }) {
  const ids = chosen.value;
  const set = (id: string, on: boolean) =>
    choose(columns.map((one) => one.id).filter((one) => (one === id ? on : ids.includes(one))));
  return (
    <Dialog title="Columns" close={props.close}>
      <div class="checks">
        {columns.map((one) => (
          <Check key={one.id} label={one.title} on={ids.includes(one.id)} set={(on) => set(one.id, on)} />
        ))}
      </div>
      <button type="button" onClick={() => choose(usual)}>
        The usual ones
      </button>
    </Dialog>
  );
}

function SavedViews(props: { close: () => void }) {
  const name = useSignal("");
  const at = query.value.toString();
  const names = Object.keys(saved.value);
  return (
    <Dialog title="Saved views" close={props.close}>
      {names.length === 0 && <p>None is saved yet. A saved view is the filter, order and grouping of now under a name, in this browser.</p>}
      <ul class="brief">
        {names.map((one) => (
          <li key={one}>
            <Link to={`/jobs${saved.value[one] ? `?${saved.value[one]}` : ""}`}>{one}</Link>{" "}
            <button
              type="button"
              class="quiet"
              aria-label={`Forget ${one}`}
              onClick={() => keep(Object.fromEntries(Object.entries(saved.value).filter(([other]) => other !== one)))}
            >
              forget
            </button>
          </li>
        ))}
      </ul>
      <Form
        action="Save this view"
        send={async () => {
          keep({ ...saved.value, [name.value.trim()]: at });
          name.value = "";
        }}
      >
        <Field label="Name" value={name.value} set={(text) => (name.value = text)} required />
      </Form>
    </Dialog>
  );
}

function Filters() {
  const at = query.value;
  const text = useSignal(at.get("search") ?? "");
  const timer = useRef(0);
  useEffect(() => void (text.value = at.get("search") ?? ""), [at.get("search")]);
  const typed = (value: string) => {
    text.value = value;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setQuery({ search: value.trim() }), 250);
  };
  const own = me.value?.user;
  const filtered = [...at.keys()].some((name) => ["search", "since", ...filterNames].includes(name));
  const later = (name: string) => (value: string) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setQuery({ [name]: value.trim() }), 350);
  };
  return (
    <div class="row filters" role="search" aria-label="Jobs">
      <div class="field grow">
        <label for="job-search">Search</label>
        <input
          id="job-search"
          type="search"
          placeholder="number, name, uid, pod or task"
          value={text.value}
          spellcheck={false}
          onInput={(event) => typed(event.currentTarget.value)}
        />
      </div>
      <Choice
        label="State"
        value={at.get("state") ?? ""}
        set={(value) => setQuery({ state: value })}
        options={[["", "any"], ["Held,Pending", "waiting"], ["Admitted,Running", "has quota"], ...states.map((one) => [one, one] as const)]}
      />
      <Choice label="Ended within" value={at.get("since") ?? ""} set={(value) => setQuery({ since: value })} options={spans.map(([value, words]) => [value, words] as const)} />
      {(["namespace", "queue", "user"] as const).map((name) => (
        <div class="short" key={name + (at.get(name) ?? "")}>
          <Field label={name.charAt(0).toUpperCase() + name.slice(1)} value={at.get(name) ?? ""} set={later(name)} />
        </div>
      ))}
      <Choice
        label="Kind"
        value={at.get("kind") ?? ""}
        set={(value) => setQuery({ kind: value })}
        options={[["", "any"], ...["Job", "BatchScript", "RayJob", "RayCluster", "PyTorchJob", "JobSet", "LeaderWorkerSet", "Workload"].map((one) => [one, one] as const)]}
      />
      <Choice label="Count by" value={at.get("by") ?? ""} set={(value) => setQuery({ by: value })} options={[["", "nothing"], ...groupable.map((one) => [one, one] as const)]} />
      {own && at.get("user") !== own && (
        <button type="button" onClick={() => setQuery({ user: own })}>
          Mine
        </button>
      )}
      {filtered && (
        <button type="button" onClick={() => setQuery(Object.fromEntries(["search", "since", ...filterNames].map((one) => [one, ""])))}>
          Clear all
        </button>
      )}
    </div>
  );
}

function Groups(props: { filter: Filter; by: string }) {
  const data = useData(`counts ${props.by} ${JSON.stringify(props.filter)}`, (stop) => call("countJobs", {}, { ...queryOf(props.filter), by: props.by }, { signal: stop }), {
    gap: 5_000,
  });
  const { value, error } = data.value;
  if (error !== "") return <Failure text={error} again={data.again} />;
  if (!value) return null;
  const groups = [...value.groups].sort((a, b) => b.count - a.count).slice(0, 100);
  const mayFilter = (filterNames as readonly string[]).includes(props.by);
  return (
    <ul class="groups" aria-label={`Jobs by ${props.by}`}>
      {groups.map((one) => {
        const words = Object.entries(one.states).map(([state, count]) => `${count} ${state}`).join(", ");
        const name = one.value === "" ? "(none)" : one.value;
        return (
          <li key={one.value}>
            {mayFilter && one.value !== "" ? (
              <button type="button" title={words} onClick={() => setQuery({ [props.by]: one.value })}>
                {name} <b class="num">{one.count}</b>
              </button>
            ) : (
              <span title={words}>
                {name} <b class="num">{one.count}</b>
              </span>
            )}
            {props.by !== "state" && <small>{words}</small>}
          </li>
        );
      })}
      {value.groups.length > 100 && <li>and {value.groups.length - 100} more</li>}
    </ul>
  );
}

function Bulk(props: { selected: ReadonlyMap<string, Job>; clear: () => void; steer: (verb: Verb, jobs: Aim[]) => void }) {
  const jobs = [...props.selected.values()];
  return (
    <div class="row bulk" role="toolbar" aria-label="What to do with the selected jobs">
      <b role="status">{jobs.length} selected</b>
      {(Object.keys(verbs) as Verb[]).map((verb) => {
        const may = jobs.slice(0, 50).some((job) => mayJob(verbs[verb].right, job) !== false);
        if (!may) return null;
        const aims = jobs.filter((job) => fits(verb, job.state));
        return (
          <button
            key={verb}
            type="button"
            disabled={aims.length === 0}
            title={`${verbs[verb].title} ${verbs[verb].does}`}
            onClick={() => props.steer(verb, aims.map((job) => ({ id: String(job.id), name: job.displayName || job.name })))}
          >
            {verbs[verb].title} <span class="num">{aims.length}</span>
          </button>
        );
      })}
      <button type="button" class="quiet" onClick={props.clear}>
        Select none
      </button>
    </div>
  );
}

// What every row is read with, for links, rights and steering.
const always = ["id", "name", "displayName", "namespace", "user", "kind", "state"];

function Jobs() {
  const at = query.value;
  const filter = useMemo(() => filterOf(at), [at]);
  const sort = at.get("sort") ?? "-id";
  const by = at.get("by") ?? "";
  const shown = columnsOf(chosen.value, narrow.value);
  // In one order for every width of the window, so that another width asks for nothing anew.
  const fields = [...new Set([...always, ...columns.filter((one) => chosen.value.includes(one.id)).flatMap((one) => one.fields)])].join(",");
  const range = useRef<[number, number]>([0, 60]);
  const selected = useSignal<ReadonlyMap<string, Job>>(new Map());
  const aim = useSignal<{ verb: Verb; jobs: Aim[] } | null>(null);
  const open = useSignal<"" | "columns" | "saved">("");
  const trouble = useSignal("");
  useKeys([
    { keys: "f", what: "Jobs: search", run: () => document.getElementById("job-search")?.focus() },
    { keys: "t", what: "Jobs: go into the table", run: () => document.querySelector<HTMLElement>("[role=grid]")?.focus() },
    { keys: "c", what: "Jobs: columns", run: () => (open.value = "columns") },
    { keys: "v", what: "Jobs: saved views", run: () => (open.value = "saved") },
  ]);

  const key = JSON.stringify([filter, sort, fields]);
  const data = useData<Piece>(
    key,
    async (stop) => {
      const offset = Math.max(0, Math.floor(range.current[0] - 40));
      const limit = Math.max(pieceRows, range.current[1] - offset + 40);
      const answer = await call("listJobs", {}, { ...queryOf(filter), sort, fields, offset, limit } as Queries["listJobs"], { signal: stop });
      return { offset, rows: answer.items, total: answer.total };
    },
    { gap: 3_000 },
  );
  const piece = data.value.value;
  // While another order or filter is read the old rows stay in sight.
  const last = useRef<Piece | null>(null);
  if (piece) last.current = piece;
  const now = piece ?? last.current;
  const row = useMemo(() => (index: number) => now?.rows[index - now.offset], [now]);
  const inSight = (from: number, to: number) => {
    range.current = [from, to];
    if (piece && (from < piece.offset || to >= Math.min(piece.total, piece.offset + piece.rows.length))) data.again();
  };
  const select = (id: string, on: boolean) => {
    const next = new Map(selected.value);
    const job = now?.rows.find((one) => String(one.id) === id);
    if (on && job) next.set(id, job);
    else next.delete(id);
    selected.value = next;
  };
  const selectAll = async (on: boolean) => {
    trouble.value = "";
    if (!on) {
      selected.value = new Map();
      return;
    }
    try {
      const all = await call("listJobs", {}, { ...queryOf(filter), sort, fields: always.join(","), limit: selectAtMost } as Queries["listJobs"]);
      selected.value = new Map(all.items.map((job) => [String(job.id), job]));
      if (all.total > all.items.length) trouble.value = `The first ${selectAtMost} of ${all.total} jobs are selected.`;
    } catch (error) {
      trouble.value = sentence(error);
    }
  };
  const keys = useMemo(() => new Set(selected.value.keys()), [selected.value]);
  return (
    <>
      <div class="row title">
        <h1>Jobs</h1>
        <span role="status" class="faint">
          {now ? `${now.total.toLocaleString("en")} ${now.total === 1 ? "job" : "jobs"}` : ""}
        </span>
        <button type="button" onClick={() => (open.value = "columns")}>
          Columns
        </button>
        <button type="button" onClick={() => (open.value = "saved")}>
          Saved views
        </button>
      </div>
      <Filters />
      {by !== "" && <Groups filter={filter} by={by} />}
      {data.value.error !== "" && !toldAbove(data.value) && <Failure text={data.value.error} again={data.again} />}
      {trouble.value !== "" && <Failure text={trouble.value} />}
      {selected.value.size > 0 && <Bulk selected={selected.value} clear={() => (selected.value = new Map())} steer={(verb, jobs) => (aim.value = { verb, jobs })} />}
      {now && now.total === 0 && !data.value.loading ? (
        <Empty>
          <p>
            <b>No job matches.</b>
          </p>
          {filter.within !== "" && (
            <p>
              <button type="button" onClick={() => setQuery({ since: "all" })}>
                Look at any time
              </button>
            </p>
          )}
          <p>
            {[...at.keys()].length > 0 ? "Clear the filter, or look further back by “Ended within”." : "Nothing runs, waits or has ended in the last day."} To submit one:{" "}
            <Command text="muster submit job.yaml" />
          </p>
        </Empty>
      ) : (
        <Table
          label="Jobs"
          columns={shown}
          count={now?.total ?? 0}
          row={row}
          keyOf={(job) => String(job.id)}
          inSight={inSight}
          sort={sort}
          setSort={(next) => setQuery({ sort: next === "-id" ? "" : next })}
          selected={keys}
          select={select}
          selectAll={selectAll}
          open={(job) => go(`/jobs/${job.id}`)}
        />
      )}
      <p class="faint">
        On the command line: <Command text={commandOf(filter)} />
      </p>
      {open.value === "columns" && <Columns close={() => (open.value = "")} />}
      {open.value === "saved" && <SavedViews close={() => (open.value = "")} />}
      {aim.value && <Steer {...aim.value} close={() => ((aim.value = null), data.again())} />}
    </>
  );
}

export const jobs: View = { path: "/jobs", title: () => "Jobs", menu: "Jobs", key: "j", show: Jobs };
